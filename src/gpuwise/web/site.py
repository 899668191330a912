"""Which address shows which view; and the same pages as files, which a web server, or none, shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gpuwise.errors import GpuwiseError, InputError
from gpuwise.jobs.facts import Facts
from gpuwise.jobs.forecasts import traced
from gpuwise.judge.choose.need import presets
from gpuwise.web import pages
from gpuwise.web.pages import FILES, FORMATS, STATIC, Place
from gpuwise.web.view import Asked, View
from gpuwise.web.views import audit, choose, compare, gpus, leaderboard, predict, results


@dataclass(frozen=True, slots=True)
class Address:
    """A path, with `{name}` in place of what varies, and its view."""

    path: str
    view: Callable[[Facts, Asked], View]
    names: Callable[[Facts], Sequence[str]] = lambda facts: ("",)
    """What `{name}` is in the pages that become files."""


ADDRESSES = (
    Address("/", leaderboard.leaderboard),
    Address("/leaderboard/{name}", leaderboard.leaderboard, lambda facts: leaderboard.boards()),
    Address("/gpus", gpus.listing),
    Address("/gpus/{name}", gpus.one, lambda facts: facts.studied),
    Address("/compare", compare.form),
    Address("/compare/{name}", compare.several, compare.pairs),
    Address("/compare/{name}/article", compare.article, compare.pairs),
    Address("/results", results.listing),
    Address("/results/{name}", results.workload, lambda facts: results.workloads(facts)),
    Address("/results/files/{name}", results.kept, lambda facts: [r.id for r in facts.results]),
    Address("/scaling", predict.scaling),
    Address("/scaling/{name}", predict.scaling, lambda facts: predict.trained()),
    Address("/predict", predict.predict),
    Address("/predict/{name}", predict.predict, lambda facts: tuple(traced())),
    Address("/choose", choose.choose),
    Address("/choose/{name}", choose.choose, lambda facts: tuple(presets())),
)
# Pages that need a server.
LIVE = (Address("/audit", audit.form), Address("/upload", results.upload))


def export(facts: Facts, folder: Path) -> Iterator[str]:
    """Write every page with its JSON and CSV, and yield each path. Raises InputError where the folder is not
    empty or cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(
                f"{folder} is not empty", hint="give a new folder, so that no file is overwritten"
            )
        for name, content in files(facts):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            yield name
    except OSError as error:
        raise InputError(
            f"cannot write to {folder}: {error.strerror}", hint="choose another folder"
        ) from error


def files(facts: Facts) -> Iterator[tuple[str, bytes]]:
    """(path, content) of everything that the site is."""
    yield "static/web.css", pages.style().encode()
    for name in FILES:
        yield f"static/{name}", (STATIC / name).read_bytes()
    shown = frozenset(facts.studied)
    for address in ADDRESSES:
        for name in address.names(facts):
            place = Place(address.path.replace("{name}", name), static=True, gpus=shown)
            try:
                view = address.view(facts, Asked(path=(name,) if name else ()))
            except GpuwiseError:  # nothing to say of it, so no page links to it
                continue
            stem = pages.file_stem(place.path)
            yield f"{stem}.html", pages.page(view, place).encode()
            for form in FORMATS:
                yield f"{stem}.{form}", pages.data(view, form)


def warm(facts: Facts) -> None:
    """Render one page of every address before the first visitor comes.

    That loads what all questions need: tables, templates, traces, the rates of each card. A question that
    nobody asked before is then answered as fast as the limits ask for (tests/web/test_first_answers.py).
    """
    for address in (*LIVE, *ADDRESSES):
        for name in address.names(facts)[:1]:
            with suppress(GpuwiseError):  # nothing is known that the page would show
                view = address.view(facts, Asked(path=(name,) if name else ()))
                pages.page(view, Place(address.path.replace("{name}", name)))
