"""A team's results: its projects, the newest speed of each question, and how one changed over time."""

from __future__ import annotations

from collections.abc import Sequence

from gpuwise.errors import NoDataError
from gpuwise.jobs.facts import Facts
from gpuwise.model.result import Interval
from gpuwise.model.units import times
from gpuwise.show import results
from gpuwise.show.table import Table
from gpuwise.web.team import Row, Team
from gpuwise.web.view import Asked, Sheet, View, bars


def projects(team: Team, facts: Facts, asked: Asked) -> View:
    """Every project: how many results, how many are kept apart, what became slower."""
    rows = team.projects()
    table = Table.of(
        [{"project": row["name"], "results": str(row["results"]), "kept apart": str(row["apart"]),
          "speeds that became slower": str(row["slower"]), "last push": row["last"]} for row in rows],
        every=True,
    )  # fmt: skip
    return View(
        title="Team", template="team.html", table=table, document=lambda: rows,
        content={"sheets": [Sheet(table=table)] if rows else [], "empty": "Nothing was pushed yet."},
        links={row["name"]: f"/team/{row['name']}" for row in rows},
    )  # fmt: skip


def project(team: Team, facts: Facts, asked: Asked) -> View:
    """The newest speed of each question of a project, slower ones first; below them its results."""
    name = asked.path[0]
    kept, speeds = team.results(name), team.latest(name)
    if not kept:
        raise NoDataError(f"no project is called {name!r}")
    newest = _speeds(speeds, "What was measured last", history=True)
    pushed = Table.of(
        [{"result": row["id"], "device": row["device"], "software": row["software"], "by": row["pushed_by"],
          "pushed": row["pushed_at"], "kept apart because": row["problem"]} for row in kept],
        title="Results",
    )  # fmt: skip
    shown = {row["id"]: f"/results/files/{row['id']}" for row in kept if not row["problem"]}
    return View(
        title=f"Project {name}", template="team.html", table=newest,
        document=lambda: {"speeds": speeds, "results": kept},
        content={"sheets": [*([Sheet(table=newest)] if speeds else []), Sheet(table=pushed)], "empty": ""},
        links={**shown, **{row["series"]: f"/team/{name}/{row['series']}" for row in speeds}},
    )  # fmt: skip


def history(team: Team, facts: Facts, asked: Asked) -> View:
    """One question on one kind of GPU over time, the newest first, each against the one before."""
    rows = [row for row in team.history(asked.path[1]) if row["project"] == asked.path[0]]
    if not rows:
        raise NoDataError("no such history", hint="start from a project's page")
    table = _speeds(rows, f"{rows[0]['label']} on {rows[0]['device']}", history=False)
    found = [Interval(value=row["value"], low=row["low"], high=row["high"], method="kept") for row in rows]
    return View(
        title=rows[0]["label"], template="team.html", table=table,
        document=lambda: rows,
        content={"sheets": [Sheet(table=table, bars=bars(found), legend=results.unit(rows[0]["item"]))],
                 "empty": ""},
        links={row["result"]: f"/results/files/{row['result']}" for row in rows},
    )  # fmt: skip


def _speeds(rows: Sequence[Row], title: str, *, history: bool) -> Table:
    """Speeds, each with its ratio to the one before; `history` links them instead of saying when and how."""
    return Table.of(
        [
            {
                **({"question": row["label"], "device": row["device"]} if history else
                   {"measured": row["measured_at"]}),
                "speed": results.speed(
                    Interval(value=row["value"], low=row["low"], high=row["high"], method="kept"), row["item"]
                ),
                "to the one before": ""
                if row["ratio"] is None else times(row["ratio"], row["ratio_low"], row["ratio_high"], 3),
                "verdict": row["verdict"] or "",
                "software": row["software"],
                **({"history": row["series"]} if history else {"result": row["result"]}),
            }
            for row in rows
        ],
        title=title,
    )  # fmt: skip
