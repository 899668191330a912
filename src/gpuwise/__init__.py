"""gpuwise: measure any GPU for deep learning, keep the result, and see where it stands.

The public names, loaded on first use. A job takes a request and returns an Answer:

    bench(BenchRequest)             measure this machine; a Request names workloads, modes, precisions
    predict_speed(PredictRequest)   speed, memory and watts on GPUs that are not here
    choose(Need)                    which GPU to buy or rent, and why; need_for makes a Need
    compare(CompareRequest)         results against the first; compare_gpus sets GPUs side by side
    audit(AuditRequest)             wrong figures in an article, a table or a result
    accept(AcceptRequest)           pass or fail of every card
    report(ReportRequest)           results as one page

    load, save, find_result         result files; compare_results pairs two of them
    all_gpus, find_gpu, prices      the catalog and dated offers
    Question, Record, Issue         what was run, its speed with its origin, what to know of it
    Result, Measurement, Interval   what a result file holds
    GpuSpec, WorkloadSpec, Offer, Precision
    GpuwiseError                    the root of every error raised on purpose: InputError, MachineError,
                                    RunError, NoDataError
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from gpuwise.errors import GpuwiseError, InputError, MachineError, NoDataError, RunError
    from gpuwise.facts.catalog import all_gpus
    from gpuwise.facts.catalog import find as find_gpu
    from gpuwise.jobs import Answer
    from gpuwise.jobs.accepting import AcceptRequest, accept
    from gpuwise.jobs.auditing import AuditRequest, audit
    from gpuwise.jobs.choosing import CompareRequest, choose, compare, compare_gpus
    from gpuwise.jobs.facts import prices
    from gpuwise.jobs.measuring import BenchRequest, bench
    from gpuwise.jobs.predicting import PredictRequest
    from gpuwise.jobs.predicting import predict as predict_speed
    from gpuwise.jobs.reporting import ReportRequest, report
    from gpuwise.judge.choose.need import need_for
    from gpuwise.measure.request import Request
    from gpuwise.model.gpu import GpuSpec, Offer
    from gpuwise.model.judgement import Need
    from gpuwise.model.precision import Precision
    from gpuwise.model.question import Question, WorkloadSpec
    from gpuwise.model.result import Interval, Issue, Measurement, Record, Result
    from gpuwise.stats.comparison import pair as compare_results
    from gpuwise.store import find as find_result
    from gpuwise.store import load, save

_HOMES = {
    **dict.fromkeys(("GpuwiseError", "InputError", "MachineError", "NoDataError", "RunError"), "errors"),
    **dict.fromkeys(("all_gpus", "find_gpu"), "facts.catalog"),
    "Answer": "jobs",
    **dict.fromkeys(("AcceptRequest", "accept"), "jobs.accepting"),
    **dict.fromkeys(("AuditRequest", "audit"), "jobs.auditing"),
    **dict.fromkeys(("CompareRequest", "choose", "compare", "compare_gpus"), "jobs.choosing"),
    "prices": "jobs.facts",
    **dict.fromkeys(("BenchRequest", "bench"), "jobs.measuring"),
    **dict.fromkeys(("PredictRequest", "predict_speed"), "jobs.predicting"),
    **dict.fromkeys(("ReportRequest", "report"), "jobs.reporting"),
    "need_for": "judge.choose.need",
    "Request": "measure.request",
    **dict.fromkeys(("GpuSpec", "Offer"), "model.gpu"),
    "Need": "model.judgement",
    "Precision": "model.precision",
    **dict.fromkeys(("Question", "WorkloadSpec"), "model.question"),
    **dict.fromkeys(("Interval", "Issue", "Measurement", "Record", "Result"), "model.result"),
    "compare_results": "stats.comparison",
    **dict.fromkeys(("find_result", "load", "save"), "store"),
}
# What its module calls otherwise.
_THERE = {"compare_results": "pair", "find_gpu": "find", "find_result": "find", "predict_speed": "predict"}

__all__ = [
    "AcceptRequest",
    "Answer",
    "AuditRequest",
    "BenchRequest",
    "CompareRequest",
    "GpuSpec",
    "GpuwiseError",
    "InputError",
    "Interval",
    "Issue",
    "MachineError",
    "Measurement",
    "Need",
    "NoDataError",
    "Offer",
    "Precision",
    "PredictRequest",
    "Question",
    "Record",
    "ReportRequest",
    "Request",
    "Result",
    "RunError",
    "WorkloadSpec",
    "accept",
    "all_gpus",
    "audit",
    "bench",
    "choose",
    "compare",
    "compare_gpus",
    "compare_results",
    "find_gpu",
    "find_result",
    "load",
    "need_for",
    "predict_speed",
    "prices",
    "report",
    "save",
]


def __dir__() -> list[str]:
    """For Tab in a notebook, before anything is loaded."""
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        near = [known for known in __all__ if name in known.split("_")]
        guess = f"; did you mean {' or '.join(near)}?" if near else ""
        raise AttributeError(f"module 'gpuwise' has no attribute {name!r}{guess}")
    from importlib import import_module

    return getattr(import_module(f"gpuwise.{_HOMES[name]}"), _THERE.get(name, name))
