"""The first page: what is here."""

from __future__ import annotations

from gpuwise.jobs.facts import Facts
from gpuwise.jobs.forecasts import traced
from gpuwise.show.table import Table
from gpuwise.web.asked import Asked
from gpuwise.web.view import View


def home(facts: Facts, asked: Asked) -> View:
    """How much is known, and where it is shown."""
    counts = {
        "GPUs": len(facts.gpus), "dated offers": len(facts.offers), "published speeds": len(facts.published),
        "workloads forecast": len(traced()), "results measured here": len(facts.results),
    }  # fmt: skip
    table = Table(columns=("what", "number"), rows=tuple((k, f"{v:,}") for k, v in counts.items()))
    return View(
        title="gpuwise",
        template="home.html",
        table=table,
        document=lambda: counts,
        content={"counts": counts},
    )
