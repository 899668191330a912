"""A team's results: projects, newest speeds, how one changed, cards, alerts, members and their log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpuwise.errors import NoDataError
from gpuwise.jobs.facts import Facts
from gpuwise.model.result import Interval, grouped
from gpuwise.model.units import some, times
from gpuwise.show.charts import SERIES, over_time
from gpuwise.show.page import Figure
from gpuwise.show.table import Table, speed
from gpuwise.web.team import ROLES, Row, Team, alert_words
from gpuwise.web.view import Asked, Sheet, View
from gpuwise.web.views.results import shown

# What a page shows beside its tables: nothing, unless it says so.
PLAIN: Mapping[str, Any] = {
    "empty": "", "token": "", "filters": (), "pushes": False, "tagged": False, "roles": (), "figure": None,
}  # fmt: skip
# What the list of a project's results may be narrowed to.
FILTERS = ("owner", "host", "card", "device", "tag")


def projects(team: Team, facts: Facts, asked: Asked) -> View:
    """Every project: how many results, how many are kept apart, what became slower."""
    rows = team.projects()
    table = Table.of(
        [{"project": row["name"], "results": str(row["results"]), "kept apart": str(row["apart"]),
          "became slower": str(row["slower"]), "last push": _when(row["last"])} for row in rows],
        every=True, numeric=frozenset({"results", "kept apart", "became slower"}),
    )  # fmt: skip
    links = {row["name"]: f"/team/{row['name']}" for row in rows}
    return _view("Team", [table] if rows else [], rows, links, pushes=True, empty="Nothing was pushed yet.")


def project(team: Team, facts: Facts, asked: Asked) -> View:
    """The newest speed of each question of a project, slower ones first; below them its results."""
    name, wanted = asked.path[0], {key: asked.text(key) for key in FILTERS if asked.text(key)}
    kept, speeds = team.results(name, **wanted), [] if wanted else team.latest(name)
    if not kept:
        raise NoDataError(f"no project is called {name!r}" if not wanted else "no result is like that")
    named = _named(speeds, "device")
    newest = _speeds(named, "What was measured last", "question", "device")
    pushed = Table.of(
        [{"result": row["id"], "device": row["device"], "software": row["software"], "host": row["host"],
          "card": row["card"], "tags": " ".join(row["tags"]),
          "owner": row["owner"] + (", signed" if row["signed"] else ""), "pushed": _when(row["pushed_at"]),
          "kept apart because": some(row["problem"].split("; "))} for row in kept],
        title="Results" if not wanted else f"Results, {', '.join(' '.join(pair) for pair in wanted.items())}",
    )  # fmt: skip
    links = {row["id"]: f"/results/files/{row['id']}" for row in kept if not row["problem"]}
    links |= {row["label"]: f"/team/{name}/{row['series']}" for row in named}
    links |= {row["card"]: f"/cards/{row['card']}" for row in kept if row["card"]}
    return _view(
        f"Project {name}", [*([newest] if speeds else []), pushed], {"speeds": speeds, "results": kept},
        links, filters=FILTERS, asked=asked, tagged=True,
    )  # fmt: skip


def history(team: Team, facts: Facts, asked: Asked) -> View:
    """One question on one kind of GPU over time, the newest first, each against the one before."""
    rows = [row for row in team.history(asked.path[1]) if row["project"] == asked.path[0]]
    if not rows:
        raise NoDataError("no such history", hint="start from a project's page")
    return _over_time(rows, f"{rows[0]['label']} on {rows[0]['device']}", "card", "measured", "card")


def cards(team: Team, facts: Facts, asked: Asked) -> View:
    """Every card that measured, on which host: how often, from when to when, and its software now."""
    rows = team.cards(asked.text("host"))
    table = Table.of(
        [{"card": row["card"] or "unknown", "host": row["host"] or "unknown", "device": row["device"],
          "results": str(row["results"]), "first": _when(row["first"]), "last": _when(row["last"]),
          "software": row["software"]} for row in rows],
        numeric=frozenset({"results"}),
    )  # fmt: skip
    links = {row["card"]: f"/cards/{row['card']}" for row in rows if row["card"]}
    empty = "No card measured yet."
    return _view("Cards", [table] if rows else [], rows, links, filters=("host",), asked=asked, empty=empty)


def card(team: Team, facts: Facts, asked: Asked) -> View:
    """One card over time: the newest first, each speed against the last one of its question."""
    rows = team.of_card(asked.path[0])
    if not rows:
        raise NoDataError("no speed of that card is kept", hint="start from the page Cards")
    title = f"Card {asked.path[0][:12]}, {rows[0]['device']}"
    return _over_time(rows, title, "label", "measured", "question")


def alerts(team: Team, facts: Facts, asked: Asked) -> View:
    """What became slower, after what change, and on how many cards."""
    rows = [{**row, "text": alert_words(row)} for row in team.alerts()]
    named = _named(rows, "device", "project")
    table = Table.of(
        [{"question": row["label"], "ratio": times(row["ratio"], row["ratio_low"], row["ratio_high"], 3),
          "on": f"{row['slower']} of {row['cards']} cards", "after": row["change"] or "no change of software",
          "device": row["device"], "project": row["project"], "since": _when(row["raised_at"])}
         for row in named],
        before=tuple(row["text"] for row in named),
    )  # fmt: skip
    links = {row["label"]: f"/team/{row['project']}/{row['series']}" for row in named}
    return _view("Alerts", [table] if rows else [], rows, links, empty="Nothing became slower.")


def members(team: Team, facts: Facts, asked: Asked | None = None, *, token: str = "") -> View:
    """Who has a token, and the log of who did what; `token` is a new one, which is shown once."""
    users, log = team.users(), team.log()
    table = Table.of(
        [{"name": user.name, "role": user.role, "since": _when(user.made_at), "ssh key": user.public_key[:40]}
         for user in users], title="Tokens",
    )  # fmt: skip
    done = Table.of(
        [{"at": _when(row["at"]), **{key: row[key] for key in ("who", "what", "detail")}} for row in log],
        title="Log",
    )
    document = {"members": [{"name": u.name, "role": u.role, "since": u.made_at} for u in users], "log": log}
    return _view("Members", [table, *([done] if log else [])], document, {}, token=token, roles=ROLES)


def kept(team: Team, facts: Facts, asked: Asked) -> View:
    """One result in its place: of this machine's own, or of the team's, however old."""
    name = asked.path[0]
    found = next((result for result in facts.results if result.id == name), None)
    return shown(facts, found if found is not None else team.result(name))


def _view(
    title: str, tables: Sequence[Table], document: Any, links: Mapping[str, str], **content: Any
) -> View:
    """A page of tables; JSON is `document`, CSV the first table."""
    return View(
        title=title, template="team.html", table=tables[0] if tables else Table(columns=("none",), rows=()),
        document=lambda: document, links=links,
        content={**PLAIN, "sheets": [Sheet(table=table) for table in tables], **content},
    )  # fmt: skip


def _over_time(rows: Sequence[Row], title: str, line: str, *shown: str) -> View:
    """Speeds with their results, and as lines over time, one for each value of the field `line`: as multiples
    of its first speed, so that several questions have one axis."""
    table, first = _speeds(rows, title, *shown, history=False), {row[line]: row["value"] for row in rows}
    # Of many questions those that were measured most often.
    often = [name for name, _ in Counter(row[line] for row in rows).most_common(len(SERIES))]
    shown_as = {name: name[:12] if line == "card" else name for name in often}
    kept = (row for row in reversed(rows) if row[line] in shown_as)
    lines = grouped((shown_as[r[line]], (r["measured_at"], r["value"] / first[r[line]])) for r in kept)
    caption = f"Speed over the first one of each {'card' if line == 'card' else 'question'}, 1 is as fast."
    drawn = over_time(lines, title="over the first", near=True)
    figure = Figure(charts=(drawn,), table=replace(table, title=""), caption=caption, opened=True)
    links = {row["result"]: f"/results/files/{row['result']}" for row in rows}
    if len(rows) == len(first):  # one speed of each: no line to draw
        return _view(title, [replace(table, title="")], rows, links)
    return _view(title, [table], rows, links, figure=figure, sheets=[])


def _when(time: str) -> str:
    """`2026-11-23 13:21`, UTC."""
    return time[:16].replace("T", " ")


def _named(rows: Sequence[Row], *by: str) -> list[Row]:
    """The rows with labels that lead to one history each: several of one label say what else they are of."""
    alike = Counter(label for label, _ in {(row["label"], row["series"]) for row in rows})
    longer = [", ".join((row["label"], *(row[name] for name in by))) for row in rows]
    return [
        {**row, "label": label} if alike[row["label"]] > 1 else row
        for row, label in zip(rows, longer, strict=True)
    ]


def _speeds(rows: Sequence[Row], title: str, *shown: str, history: bool = True) -> Table:
    """Speeds, each with its ratio to the one before; `shown` are the columns that tell rows apart. Where they
    lead to their `history`, the results are left to it."""
    made = []
    for row in rows:
        known = {
            "question": row["label"],
            "device": row["device"],
            "measured": _when(row["measured_at"]),
            "card": row["card"][:12],
        }
        ratio = row["ratio"]
        found = Interval(value=row["value"], low=row["low"], high=row["high"], method="kept")
        made.append({
            **{name: known[name] for name in shown},
            "speed": speed(found, row["item"]),
            "to the one before":
                "" if ratio is None else times(ratio, row["ratio_low"], row["ratio_high"], 3),
            "verdict": row["verdict"] or "", "change": row["change"], "software": row["software"],
            **({} if history else {"result": row["result"]}),
        })  # fmt: skip
    return Table.of(made, title=title)
