"""Which address shows which view, and what is prepared of each where the pages become files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpuwise.jobs.facts import Facts
from gpuwise.jobs.forecasts import traced
from gpuwise.judge.choose.need import presets
from gpuwise.web.asked import Asked
from gpuwise.web.view import View
from gpuwise.web.views import audit, choose, compare, gpus, home, predict, results, scaling

Viewer = Callable[[Facts, Asked], View]


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A path, with `{name}` in place of what varies, and its view."""

    path: str
    view: Viewer
    prepared: Callable[[Facts], Sequence[str]] = lambda facts: ("",)
    """What stands for `{name}` in the pages that are exported."""


ADDRESSES = (
    Address(path="/", view=home.home),
    Address(path="/gpus", view=gpus.listing),
    Address(path="/gpus/{name}", view=gpus.one, prepared=lambda facts: facts.studied),
    Address(path="/compare", view=compare.form),
    Address(path="/compare/{name}", view=compare.several, prepared=compare.pairs),
    Address(path="/compare/{name}/article", view=compare.article, prepared=compare.pairs),
    Address(path="/results", view=results.listing),
    Address(path="/results/{name}", view=results.workload, prepared=lambda f: results.workloads(f)),
    Address(path="/results/files/{name}", view=results.kept, prepared=lambda f: [r.id for r in f.results]),
    Address(path="/scaling", view=scaling.scaling),
    Address(path="/scaling/{name}", view=scaling.scaling, prepared=lambda facts: scaling.shown(facts)),
    Address(path="/predict", view=predict.predict),
    Address(path="/predict/{name}", view=predict.predict, prepared=lambda facts: tuple(traced())),
    Address(path="/choose", view=choose.choose),
    Address(path="/choose/{name}", view=choose.choose, prepared=lambda facts: tuple(presets())),
)
# Pages that need a server.
LIVE = (Address(path="/audit", view=audit.form), Address(path="/upload", view=results.upload))
