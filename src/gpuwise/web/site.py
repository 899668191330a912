"""Every address with its view; a view as HTML, JSON or CSV; and all pages as files, which need no server.

Every link is relative, so that pages work under any prefix and as files. HTML is made by templates that
escape everything; they take the tables, sections and colours of the report.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from gpuwise.errors import GpuwiseError, InputError
from gpuwise.jobs.facts import Facts
from gpuwise.jobs.predicting import traced
from gpuwise.judge.choose.need import presets
from gpuwise.show import html
from gpuwise.show.gpus import products
from gpuwise.show.table import comma_separated
from gpuwise.web.view import Asked, View
from gpuwise.web.views import audit, choose, gpus, predict, prices, results

if TYPE_CHECKING:
    from gpuwise.web.team import Role, User

STATIC = Path(__file__).with_name("static")
# The only files that are served, by name.
FILES = {"live.js": "text/javascript", "icon.svg": "image/svg+xml"}
# The library of the charts: a browser keeps it until another one has another name.
LIBRARY = sha256(html.library()).hexdigest()[:8]
FORMATS = {"json": "application/json", "csv": "text/csv; charset=utf-8"}
TEAM = ("/team", "Team"), ("/cards", "Cards"), ("/alerts", "Alerts")
ADMIN = (("/members", "Members"),)
# Names that are files as they are; others become their hash.
_PLAIN = re.compile(r"[a-z0-9][a-z0-9._,:+-]{0,150}", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page stands, and so how it links to others."""

    path: str
    query: str = ""
    static: bool = False  # Pages are files in a folder: no forms, and addresses end in .html
    user: User | None = None  # Who opens the page of a server that keeps a team's results
    form_secret: str = ""  # What a form must send back to change something (guard.form_secret)
    gpus: frozenset[str] | None = None  # Ids of the GPUs that have a page here; None for all of the catalog

    def to(self, path: str, **query: Any) -> str:
        """A relative address of another page."""
        up = "../" * (self.path.count("/") - 1) or "./"
        name = path.lstrip("/")
        if not self.static:
            return up + quote(name, safe="/,:") + (f"?{urlencode(query)}" if query else "")
        return up + quote(name if name.startswith("static/") else f"{file_stem(path)}.html", safe="/,:")

    def form(self, form: str) -> str:
        """This page as JSON or CSV, relative; the same question."""
        path = file_stem(self.path) if self.static else self.path
        last = path.rsplit("/", 1)[-1] or "index"
        query = f"?{self.query}" if self.query and not self.static else ""
        return f"{quote(last, safe=',:')}.{form}{query}"

    def again(self, asked: Asked, **changed: str) -> str:
        """This page with some values of its question changed."""
        pairs = [pair for pair in asked.pairs if pair[0] not in changed]
        last = self.path.rsplit("/", 1)[-1]
        return f"{quote(last, safe=',:') or './'}?{urlencode([*pairs, *changed.items()])}"


def file_stem(path: str) -> str:
    """The file of an exported page, relative and without its suffix.

    A name out of a result file may be anything (`../../x`): a part that is not plain becomes its hash, so
    that no page is written outside the folder.
    """
    parts = path.strip("/").split("/") if path.strip("/") else ["index"]
    hashes = (f"x{sha256(part.encode('utf-8', 'replace')).hexdigest()[:16]}" for part in parts)
    return "/".join(p if _PLAIN.fullmatch(p) else x for p, x in zip(parts, hashes, strict=True))


def page(view: View, place: Place) -> str:
    """The view as HTML."""
    linked = partial(cell, place, links=view.links)
    return _rendered(
        view.template, place, title=view.title, cell=linked, message=view.message, **view.content
    )


def data(view: View, form: str) -> bytes:
    """The view as JSON or CSV."""
    if form == "csv":
        return comma_separated(view.table).encode()
    found = view.document()
    return found if isinstance(found, bytes) else json.dumps(found, ensure_ascii=False, indent=1).encode()


def failure(problem: GpuwiseError, place: Place, title: str) -> str:
    """Why there is no such page, as a page."""
    return _rendered("error.html", place, title=title, message=problem)


def _rendered(template: str, place: Place, **content: Any) -> str:
    shared: Mapping[str, Any] = {
        "place": place, "link": place.to, "cell": partial(cell, place, links={}), "message": None,
        "library": LIBRARY,
        "tabled": not place.static or place.path in FILED,
        "menu": [
            *(entry for entry in MENU if not place.static or entry[0] in FILED),
            *(TEAM if place.user is not None else ()),
            *(ADMIN if place.user is not None and place.user.may("admin") else ()),
        ],
    }  # fmt: skip
    return templates().get_template(template).render({**shared, **content})


def style() -> str:
    """The style sheet: the report's, with what only the explorer has."""
    return "".join(templates().get_template(name).render() for name in ("style.css", "web.css"))


@cache
def templates() -> Environment:
    """Own templates before the report's, with the report's filters."""
    shared = html.templates()
    return shared.overlay(loader=ChoiceLoader([PackageLoader("gpuwise.web"), PackageLoader("gpuwise.show")]))


def cell(place: Place, text: str, sources: int, *, links: Mapping[str, str]) -> Markup:
    """A cell's text; where `links` has it, or it names a GPU of the catalog (`2 x l40s`), it leads there."""
    if text in links and not (place.static and links[text].startswith("/prices/")):
        shown = products().get(text, text)
        return Markup('<a class="given" href="{}">{}</a>').format(place.to(links[text]), shown)
    before, found, name = text.rpartition(" x ")
    product = products().get(name)
    if product is None or not (place.gpus is None or name in place.gpus):
        return html.cited(product or text, sources)
    counted = (before + found).replace(" ", "\u00a0")  # a count stays on its GPU's line
    # The id stands in the address; people know the product by its name.
    return Markup('{}<a href="{}">{}</a>').format(counted, place.to(f"/gpus/{name}"), html.cited(product, 0))


@dataclass(frozen=True, slots=True)
class Address:
    """A path, with `{name}` in place of what varies, and its view."""

    path: str
    view: Callable[[Facts, Asked], View]
    names: Callable[[Facts], Sequence[str]] = lambda facts: ("",)
    """What `{name}` is in the pages that become files."""
    data: bool = False  # Its table stands beside the file
    role: Role | None = None  # The least that its reader must be allowed, of a team's pages
    live: bool = False  # It answers questions, so that a file of it would hold one answer of very many
    menu: str = ""  # What the menu of every page calls it, in the order below


ADDRESSES = (
    Address("/", predict.leaderboard, data=True, menu="Leaderboard"),
    Address("/leaderboard/{name}", predict.leaderboard, lambda facts: predict.boards()),
    Address("/gpus", gpus.listing, data=True, menu="GPUs"),
    Address("/gpus/{name}", gpus.one, lambda facts: facts.studied),
    Address("/compare", gpus.form, live=True, menu="Compare"),
    Address("/compare/{name}", gpus.several, gpus.pairs, live=True),
    Address("/compare/{name}/article", gpus.article, gpus.pairs, live=True),
    Address("/prices", prices.listing, data=True, menu="Prices"),
    Address("/prices/{name}", prices.one, prices.offered, live=True),
    Address("/results", results.listing, data=True, menu="Results"),
    Address("/results/{name}", results.workload, results.workloads),
    Address("/results/files/{name}", results.kept, lambda facts: [r.id for r in facts.results]),
    Address("/scaling", predict.scaling, live=True, menu="Scaling"),
    Address("/scaling/{name}", predict.scaling, lambda facts: predict.trained(), live=True),
    Address("/predict", predict.predict, live=True, menu="Predict"),
    Address("/predict/{name}", predict.predict, lambda facts: tuple(traced()), live=True),
    Address("/fit", predict.fit, live=True, menu="Fit"),
    Address("/choose", choose.choose, live=True, menu="Choose"),
    Address("/choose/{name}", choose.choose, lambda facts: tuple(presets()), live=True),
)
# Those of which files have their table beside them.
FILED = frozenset(address.path for address in ADDRESSES if address.data)
# Pages that need a server.
LIVE = (Address("/audit", audit.form, menu="Audit"), Address("/upload", results.upload, menu="Upload"))
MENU = tuple((address.path, address.menu) for address in (*ADDRESSES, *LIVE) if address.menu)


def export(facts: Facts, folder: Path) -> Iterator[str]:
    """Write every page with its JSON and CSV, and yield each path. Raises InputError where the folder is not
    empty or cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            problem = f"{folder} is not empty"
            raise InputError(problem, hint="give a new folder, so that no file is overwritten")
        for name, content in files(facts):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            yield name
    except OSError as error:
        problem = f"cannot write to {folder}: {error.strerror}"
        raise InputError(problem, hint="choose another folder") from error


def files(facts: Facts) -> Iterator[tuple[str, bytes]]:
    """(path, content) of everything that the site is."""
    yield "static/web.css", style().encode()
    yield "static/charts.js", html.script().encode()
    yield "static/vega.js", gzip.decompress(html.library())
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
            stem = file_stem(place.path)
            yield f"{stem}.html", page(view, place).encode()
            if address.data:
                yield f"{stem}.csv", data(view, "csv")


def warm(facts: Facts) -> None:
    """Render one page of every address before the first visitor comes.

    That loads what all questions need: tables, templates, traces, the rates of each card. A question that
    nobody asked before is then answered as fast as the limits ask for (tests/web/test_first_answers.py).
    """
    for address in (*LIVE, *ADDRESSES):
        for name in address.names(facts)[:1]:
            with suppress(GpuwiseError):  # nothing is known that the page would show
                view = address.view(facts, Asked(path=(name,) if name else ()))
                page(view, Place(address.path.replace("{name}", name)))
