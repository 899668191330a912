"""Which GPUs hold a language model, in which formats, and how fast they answer or train."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from gpuwise.errors import GpuwiseError
from gpuwise.facts import catalog, llms
from gpuwise.jobs.facts import Facts
from gpuwise.jobs.predicting import USUAL_GPUS, FitRequest
from gpuwise.jobs.predicting import fit as fit_model
from gpuwise.model.judgement import TASKS, Task
from gpuwise.model.precision import CACHES, WEIGHTS, Precision
from gpuwise.predictor.fit import Fit
from gpuwise.show import predictions as report
from gpuwise.show.table import Table
from gpuwise.web.view import Asked, Sheet, View, bars

COUNTS = ("1", "2", "4", "8")
USUAL, MOST_CONTEXT, MOST_BATCH = "llama-3.1-8b", 2**20, 1024


def fit(facts: Facts, asked: Asked) -> View:
    """A model by its name on some usual GPUs, or on those that the words leave; files are not read."""
    model = asked.one_of("model", llms.names(), USUAL)
    task, weights = asked.one_of("for", tuple(TASKS)), asked.one_of("weights", ("", *WEIGHTS))
    cache, gpus = asked.one_of("cache", CACHES), asked.one_of("gpus", COUNTS)
    rows: tuple[Fit, ...] = ()
    problem = None
    try:
        context, batch = asked.whole("context", most=MOST_CONTEXT), asked.whole("batch", most=MOST_BATCH)
        words = asked.text("q")
        ids = tuple(match.spec.id for match in catalog.matching([words])) if words else USUAL_GPUS
        formats = (Precision(weights),) if weights else ()
        contexts, tasks = (context,) if context else (), (cast(Task, task),)
        request = FitRequest(
            model=model, gpus=ids, tasks=tasks, weights=formats, cache=cache, contexts=contexts,
            batches=(batch or 1,), counts=(int(gpus),),
        )  # fmt: skip
        rows = fit_model(request).value
    except GpuwiseError as error:
        problem = error
    table = report.fit_table(rows) if rows else Table(columns=("GPU",), rows=())
    # What the form says stands in no column, and the answer before what it follows from.
    shown = replace(table.without({"for", "context", "batch"}), title="")
    shown = shown.last(("needs", "of", "first token", "why no speed")).second("tokens/s (80 %)")
    return View(
        title=f"Fit: {model}", template="fit.html", table=table, message=problem,
        document=lambda: report.fit_document(rows),
        content={
            "sheet": Sheet(
                table=shown, bars=bars([row.tokens_per_s for row in rows], "predicted"),
                legend="tokens/s and their 80 % interval",
            ),
            "asked": asked, "names": llms.names(), "model": model, "tasks": tuple(TASKS), "task": task,
            "formats": WEIGHTS, "weights": weights, "caches": CACHES, "cache": cache, "counts": COUNTS,
            "gpus": gpus, "heading": table.title,
        },
    )  # fmt: skip
