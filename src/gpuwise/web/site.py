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
from gpuwise.web.pages import FILES, STATIC, Place
from gpuwise.web.view import Asked, View
from gpuwise.web.views import audit, choose, compare, gpus, leaderboard, predict, results


@dataclass(frozen=True, slots=True)
class Address:
    """A path, with `{name}` in place of what varies, and its view."""

    path: str
    view: Callable[[Facts, Asked], View]
    names: Callable[[Facts], Sequence[str]] = lambda facts: ("",)
    """What `{name}` is in the pages that become files."""
    data: bool = False  # Its table stands beside the file
    live: bool = False  # It answers questions, so that a file of it would hold one answer of very many


ADDRESSES = (
    Address("/", leaderboard.leaderboard, data=True),
    Address("/leaderboard/{name}", leaderboard.leaderboard, lambda facts: leaderboard.boards()),
    Address("/gpus", gpus.listing, data=True),
    Address("/gpus/{name}", gpus.one, lambda facts: facts.studied),
    Address("/compare", compare.form, live=True),
    Address("/compare/{name}", compare.several, compare.pairs, live=True),
    Address("/compare/{name}/article", compare.article, compare.pairs, live=True),
    Address("/results", results.listing, data=True),
    Address("/results/{name}", results.workload, lambda facts: results.workloads(facts)),
    Address("/results/files/{name}", results.kept, lambda facts: [r.id for r in facts.results]),
    Address("/scaling", predict.scaling, live=True),
    Address("/scaling/{name}", predict.scaling, lambda facts: predict.trained(), live=True),
    Address("/predict", predict.predict, live=True),
    Address("/predict/{name}", predict.predict, lambda facts: tuple(traced()), live=True),
    Address("/choose", choose.choose, live=True),
    Address("/choose/{name}", choose.choose, lambda facts: tuple(presets()), live=True),
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
        for name in () if address.live else address.names(facts):
            place = Place(address.path.replace("{name}", name), static=True, gpus=shown)
            try:
                view = address.view(facts, Asked(path=(name,) if name else ()))
            except GpuwiseError:  # nothing to say of it, so no page links to it
                continue
            stem = pages.file_stem(place.path)
            yield f"{stem}.html", pages.page(view, place).encode()
            if address.data:
                yield f"{stem}.csv", pages.data(view, "csv")


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
