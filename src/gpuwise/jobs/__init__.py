"""The public Python API: one typed function a job, request in, `Answer` out.

    bench(BenchRequest)       measure this machine
    predict(PredictRequest)   speed, memory and watts on GPUs that are not here
    choose(Need)              which GPU to buy or rent, and why; `need_for` makes a Need
    compare(CompareRequest)   results against the first of them; `compare_gpus` sets GPUs side by side
    audit(AuditRequest)       wrong figures in an article, a table or a result
    accept(AcceptRequest)     pass or fail of every card in result files
    report(ReportRequest)     results as one page
    gpus, prices, results     what is known: the catalog, dated offers, measured and published speeds

The command line, the explorer and the pytest plug-in translate options and forms into these requests, and
answers into tables and pages. Values are typed: seconds, bytes, USD, shares from 0 to 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuwise.jobs.accepting import AcceptRequest, accept
    from gpuwise.jobs.answer import Answer
    from gpuwise.jobs.auditing import AuditRequest, audit
    from gpuwise.jobs.choosing import choose, need_for
    from gpuwise.jobs.comparing import CompareRequest, compare, compare_gpus
    from gpuwise.jobs.facts import Facts, gpus, prices, results
    from gpuwise.jobs.measuring import BenchRequest, bench
    from gpuwise.jobs.predicting import PredictRequest, predict
    from gpuwise.jobs.reporting import ReportRequest, report

# Each job loads what it needs when it is named first: `choose` never loads the engine that measures.
# No module has the name of its job, since importing it would then hide the function.
_HOMES = {
    **dict.fromkeys(("AcceptRequest", "accept"), "accepting"),
    **dict.fromkeys(("AuditRequest", "audit"), "auditing"),
    **dict.fromkeys(("BenchRequest", "bench"), "measuring"),
    **dict.fromkeys(("choose", "need_for"), "choosing"),
    **dict.fromkeys(("CompareRequest", "compare", "compare_gpus"), "comparing"),
    **dict.fromkeys(("Facts", "gpus", "prices", "results"), "facts"),
    **dict.fromkeys(("PredictRequest", "predict"), "predicting"),
    **dict.fromkeys(("ReportRequest", "report"), "reporting"),
    "Answer": "answer",
}

__all__ = [
    "AcceptRequest",
    "Answer",
    "AuditRequest",
    "BenchRequest",
    "CompareRequest",
    "Facts",
    "PredictRequest",
    "ReportRequest",
    "accept",
    "audit",
    "bench",
    "choose",
    "compare",
    "compare_gpus",
    "gpus",
    "need_for",
    "predict",
    "prices",
    "report",
    "results",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
