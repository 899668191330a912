"""gpuwise: measure any GPU for deep learning, keep the result, and see where it stands.

The public names, loaded on first use. A job takes a request and returns an Answer:

    bench(BenchRequest)             measure this machine; a Request names workloads, modes, precisions
    predict(PredictRequest)         speed, memory and watts elsewhere; also predict(module, batch)
    fit(model, gpus=...)            does a language model fit, in which format, and how fast
    choose(Need)                    which GPU to buy or rent, and why; need_for makes a Need
    compare(CompareRequest)         results against the first; compare_gpus sets GPUs side by side
    audit(AuditRequest)             wrong figures in an article, a table or a result
    accept(AcceptRequest)           pass or fail of every card
    report(ReportRequest)           results as one page

    load, save, find_result         result files
    all_gpus, find_gpu, prices      the catalog and dated offers
    Question, Record, Issue         what was run, its speed with its origin, what to know of it
    Result, Measurement, Interval   what a result file holds
    GpuSpec, WorkloadSpec, Offer, Precision
    GpuwiseError                    the root of every error raised on purpose: InputError, MachineError,
                                    RunError, NoDataError
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.errors import on_first_use

__version__ = "0.2.0"

if TYPE_CHECKING:
    from gpuwise.errors import GpuwiseError, InputError, MachineError, NoDataError, RunError
    from gpuwise.facts.catalog import all_gpus
    from gpuwise.facts.catalog import find as find_gpu
    from gpuwise.jobs.accepting import AcceptRequest, accept
    from gpuwise.jobs.auditing import AuditRequest, audit
    from gpuwise.jobs.choosing import choose
    from gpuwise.jobs.comparing import CompareRequest, compare, compare_gpus
    from gpuwise.jobs.facts import prices
    from gpuwise.jobs.measuring import BenchRequest, bench
    from gpuwise.jobs.predicting import PredictRequest, fit, predict
    from gpuwise.jobs.reporting import ReportRequest, report
    from gpuwise.judge.choose.need import need_for
    from gpuwise.measure.request import Request
    from gpuwise.model.gpu import GpuSpec, Offer
    from gpuwise.model.judgement import Need
    from gpuwise.model.precision import Precision
    from gpuwise.model.question import Question, WorkloadSpec
    from gpuwise.model.result import Interval, Issue, Measurement, Record, Result
    from gpuwise.show.table import Answer
    from gpuwise.store import find as find_result
    from gpuwise.store import load, save

_MODULES = {
    "errors": ("GpuwiseError", "InputError", "MachineError", "NoDataError", "RunError"),
    "facts.catalog": ("all_gpus", "find as find_gpu"),
    "jobs.accepting": ("AcceptRequest", "accept"),
    "jobs.auditing": ("AuditRequest", "audit"),
    "jobs.choosing": ("choose",),
    "jobs.comparing": ("CompareRequest", "compare", "compare_gpus"),
    "jobs.facts": ("prices",),
    "jobs.measuring": ("BenchRequest", "bench"),
    "jobs.predicting": ("PredictRequest", "fit", "predict"),
    "jobs.reporting": ("ReportRequest", "report"),
    "judge.choose.need": ("need_for",),
    "measure.request": ("Request",),
    "model.gpu": ("GpuSpec", "Offer"),
    "model.judgement": ("Need",),
    "model.precision": ("Precision",),
    "model.question": ("Question", "WorkloadSpec"),
    "model.result": ("Interval", "Issue", "Measurement", "Record", "Result"),
    "show.table": ("Answer",),
    "store": ("find as find_result", "load", "save"),
}

__all__ = [
    "AcceptRequest", "Answer", "AuditRequest", "BenchRequest", "CompareRequest", "GpuSpec", "GpuwiseError",
    "InputError", "Interval", "Issue", "MachineError", "Measurement", "Need", "NoDataError", "Offer",
    "Precision", "PredictRequest", "Question", "Record", "ReportRequest", "Request", "Result", "RunError",
    "WorkloadSpec", "accept", "all_gpus", "audit", "bench", "choose", "compare", "compare_gpus",
    "find_gpu", "find_result", "fit", "load", "need_for", "predict", "prices", "report", "save",
]  # fmt: skip


def __dir__() -> list[str]:
    """For Tab in a notebook, before anything is loaded."""
    return [*__all__, "__version__"]


__getattr__ = on_first_use(__name__, _MODULES)
