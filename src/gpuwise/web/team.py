"""Results of a team in a database: who pushed what to which project, and how each speed changed over time.

SQLite by default, PostgreSQL by its URL. A push is one transaction: it is there whole, with its comparisons
and alerts, or not at all. Tokens are random and kept as their SHA-256, so that a copy of the database opens
nothing. What contradicts its own steps or physics is kept apart with the reason, and never shown as a speed.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from math import exp, log
from typing import Any, Literal, get_args

import sqlalchemy as sql
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from gpuwise import store
from gpuwise.checks import judge_foreign
from gpuwise.errors import GpuwiseError, InputError, MachineError, NoDataError, check_wanted
from gpuwise.model.result import Result, firsts, grouped
from gpuwise.stats.comparison import SAME, VERDICT_LEVEL, compare, pooled
from gpuwise.stats.interval import Spread
from gpuwise.store import signing
from gpuwise.web.send import post
from gpuwise.web.tables import (
    ALERTS,
    CARDS,
    LOG,
    NEWEST,
    OUTBOX,
    PROJECTS,
    RESULTS,
    SPEEDS,
    TAGS,
    USERS,
    upgrade,
)

Role = Literal["read", "push", "admin"]
"""Each may do what the one before may: open pages, send results, see the log and hand out tokens."""
ROLES: tuple[Role, ...] = get_args(Role)
# Of people, projects, hosts and tags: they stand in addresses, and in the allowed signers of ssh.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)
# Of one line of a page.
MOST_ROWS = 200
# Results that the pages of GPUs and workloads read.
MOST_SHOWN = 200
MOST_TAGS = 20
# Earlier speeds from which it is known how runs on that kind of GPU differ.
EARLIER = 400
# Cards from which on several small losses are one that is sure.
SEVERAL_CARDS = 3
# So long a token that was taken back may still open the server.
REMEMBERED_S = 2.0
# How long a writer waits for another one.
BUSY_S = 30
ANOTHER = "another card"
# Series; each is a part of a query, and SQLite allows 500.
IN_ONE_QUERY = 200
# Connections to PostgreSQL: as many writers at once.
CONNECTIONS = 20

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who has a token, and what it allows."""

    name: str
    role: Role
    made_at: str
    public_key: str = ""

    def may(self, role: Role) -> bool:
        """Whether the token allows what that role does."""
        return ROLES.index(self.role) >= ROLES.index(role)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """What became of a result."""

    id: str
    project: str
    new: bool  # False where the same file was there already
    problem: str  # Why it is kept apart; empty where it is shown
    owner: str
    speeds: tuple[Row, ...]
    alerts: tuple[Row, ...] = ()  # That it raised or changed

    @property
    def document(self) -> dict[str, Any]:
        slower = [row["label"] for row in self.speeds if row["verdict"] == "slower"]
        said = {name: getattr(self, name) for name in ("id", "project", "new", "problem", "owner")}
        alerts = [alert_words(row) for row in self.alerts]
        return {**said, "slower": slower, "alerts": alerts, "speeds": list(self.speeds)}


class Team:
    """The database; `webhook` says that alerts are put aside for one. Raises InputError for an address that
    names none, MachineError where it refuses."""

    def __init__(self, url: str, *, webhook: bool = False) -> None:
        # Such a path is of an SQLite file, no result to be shown; PostgreSQL has the driver that gpuwise
        # installs.
        scheme, mark, rest = url.partition("://")
        if not mark and url.endswith((".db", ".sqlite", ".sqlite3")):
            url = f"sqlite:///{url}"
        elif scheme in ("postgresql", "postgres"):
            url = f"postgresql+psycopg://{rest}"
        try:
            more = {"pool_size": CONNECTIONS, "pool_timeout": BUSY_S} if "postgres" in url else {}
            self.engine = sql.create_engine(url, pool_pre_ping=True, **more)
        except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
            named = f"{scheme}://..." if mark else url  # what follows may hold a password
            problem = f"cannot use the database {named}: {error}"
            raise InputError(problem, hint="team.db, or postgresql://user:password@host/name") from error
        if self.engine.dialect.name == "sqlite":
            as_a_server_needs(self.engine)
        self._insert = sqlite_insert if self.engine.dialect.name == "sqlite" else postgresql_insert
        self._webhook = webhook
        self._users: dict[str, User] = {}
        self._looked = -REMEMBERED_S
        with self.writing() as to:
            upgrade(to)

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[sql.Connection]:
        """A transaction that is durable when it ends. Raises MachineError where the database refuses."""
        with _said(), self.engine.connect().execution_options(writes=True) as to, to.begin():
            yield to

    def _read(self, query: sql.Select[Any]) -> Sequence[Row]:
        check_wanted()
        with _said(), self.engine.connect() as to:
            return [dict(row) for row in to.execute(query).mappings()]

    def note(self, who: str, what: str, detail: str = "") -> None:
        """A line of the log: who did what."""
        with self.writing() as to:
            _note(to, who, what, detail)

    def log(self) -> Sequence[Row]:
        """The newest lines of the log: at, who, what, detail."""
        return self._read(sql.select(LOG).order_by(LOG.c.id.desc()).limit(MOST_ROWS))

    def add_user(self, name: str, role: Role, *, public_key: str = "", by: str = "") -> str:
        """A new user's token, which is nowhere kept; `public_key` is the line of an ssh .pub file. Raises
        InputError for a name that is taken, or for what is none; for a key that is none."""
        _check_name("user", name)
        token = secrets.token_urlsafe(24)
        key = signing.public_key(public_key) if public_key else ""
        made = {"name": name, "role": role, "token": _digest(token), "made_at": _now(), "public_key": key}
        try:
            with self.writing() as to:
                to.execute(USERS.insert().values(made))
                _note(to, by or name, "token made", f"{name}, role {role}")
        except IntegrityError as error:
            problem = f"{name} has a token already"
            raise InputError(problem, hint="revoke it first", code="revoke", name=name) from error
        return token

    def revoke(self, name: str, *, by: str = "") -> None:
        """Take a token back. Raises NoDataError for an unknown name."""
        with self.writing() as to:
            if not to.execute(USERS.delete().where(USERS.c.name == name)).rowcount:
                problem = f"no token has the name {name!r}"
                raise NoDataError(problem, hint="see the list of tokens", code="tokens")
            _note(to, by or name, "token revoked", name)

    def users(self) -> tuple[User, ...]:
        """Everybody who has a token, by name."""
        columns = (USERS.c.name, USERS.c.role, USERS.c.made_at, USERS.c.public_key)
        return tuple(User(**row) for row in self._read(sql.select(*columns).order_by(USERS.c.name)))

    def user(self, token: str) -> User | None:
        """Whose token it is."""
        if time.monotonic() - self._looked > REMEMBERED_S:
            self._users = {row.pop("token"): User(**row) for row in self._read(sql.select(USERS))}
            self._looked = time.monotonic()
        # Looked up by its digest: how long that takes says nothing of the token.
        return self._users.get(_digest(token))

    def push(
        self, result: Result, *, by: str, project: str, tags: Sequence[str] = (), host: str = "",
        data: bytes = b"", signed: tuple[bytes, str] | None = None,
    ) -> Pushed:  # fmt: skip
        """Keep a result with each speed against the same question's last one in the project.

        `data` is the result as `store.compact` wrote it, where that is at hand.
        `signed` is the file as it was signed, and the signature: the result then belongs to whose key that
        is, and the file is kept as it is. The same result again changes nothing but its tags. Raises
        InputError where another result has its id, for published figures, and for a signature of nobody here.
        """
        if result.origin != "measured":
            raise InputError(f"{result.id} holds published figures", hint="push what you measured")
        names = [("project", project), *(("tag", tag) for tag in tags), *([("host", host)] if host else [])]
        for what, name in names:
            _check_name(what, name)
        if len(tags) > MOST_TAGS:
            raise InputError(f"a result has at most {MOST_TAGS} tags", hint="give fewer")
        owner, data, signature = by, data or store.compact(result), ""
        if signed is not None:
            data, signature = signed
            keys = {user.name: user.public_key for user in self.users() if user.public_key}
            owner = signing.signer(data, signature, keys)
        kept = judge_foreign(result.measurements, result.environment)
        faults = ((m, issue) for m in kept for issue in m.cautions if issue.severity == "invalid")
        problem = "; ".join(dict.fromkeys(f"{m.config.label()}: {issue.detail}" for m, issue in faults))
        there = result.environment
        software = (*there.software, *([f"driver {there.driver}"] if there.driver else ()))
        head = {
            "id": result.id, "project": project, "pushed_by": by, "pushed_at": _now("microseconds"),
            "measured_at": result.created_at, "device": there.device[:200],
            "software": ", ".join(software)[:200], "problem": problem, "data": zlib.compress(data),
            "owner": owner, "host": host, "card": (there.card or "")[:64], "signature": signature,
        }  # fmt: skip
        try:
            return self._keep(result, head, tags)
        except IntegrityError:  # another writer was faster with the same file
            return self._keep(result, head, tags)

    def _keep(self, result: Result, head: Row, tags: Sequence[str]) -> Pushed:
        """One transaction: the result with its speeds, or what is there already."""
        project = head["project"]
        with self.writing() as to:
            there = to.execute(sql.select(RESULTS).where(RESULTS.c.id == result.id)).mappings().first()
            if there is None:
                to.execute(RESULTS.insert().values(head))
            elif _decoded(there) != result:
                raise InputError(f"another result is called {result.id}", hint="measure again", code="taken")
            if tags:
                rows = [{"result": result.id, "tag": tag} for tag in dict.fromkeys(tags)]
                to.execute(self._insert(TAGS).values(rows).on_conflict_do_nothing())
            if there is not None:
                mine = sql.select(SPEEDS).where(SPEEDS.c.result == result.id).order_by(SPEEDS.c.place)
                return _pushed(dict(there), new=False, speeds=map(dict, to.execute(mine).mappings()))
            # A result that is kept apart has no speeds, and counts for no card.
            places = range(0 if head["problem"] else len(result.measurements))
            rows = [row for place in places if (row := _row(result, place, head)) is not None]
            alerts = self._compare(to, result, rows, project) if rows else ()
            if not head["problem"]:
                card = {name: head[name] for name in ("host", "card", "device", "software")}
                card |= {"results": 1, "first": head["measured_at"], "last": head["measured_at"]}
                self._count(to, CARDS, card, replaced=("software",))
            # Last, since it is one row for all who push: it is held for as short as can be.
            slower = sum(row["verdict"] == "slower" for row in rows)
            self._count(to, PROJECTS, {
                "name": project, "results": 1, "apart": int(bool(head["problem"])), "slower": slower,
                "last": _now(),
            })  # fmt: skip
            _note(to, head["pushed_by"], "push", f"{result.id} to {project}, of {head['owner']}")
        return _pushed(head, new=True, speeds=rows, alerts=alerts)

    def _compare(self, to: sql.Connection, result: Result, rows: list[Row], project: str) -> tuple[Row, ...]:
        """Keep the speeds, each against the one before; returns the alerts that changed."""
        # One writer at a time in a series, so that each is compared with the last one. Always in one order,
        # so that no two wait for each other.
        names = sorted({row["series"] for row in rows})
        empty = {"project": project, "measured_at": "", "result": "", "place": 0}
        made = [{"series": name, **empty} for name in names]
        to.execute(self._insert(NEWEST).values(made).on_conflict_do_nothing())
        locked = sql.select(NEWEST).where(NEWEST.c.series.in_(names)).order_by(NEWEST.c.series)
        newest = {row["series"]: row for row in to.execute(locked.with_for_update()).mappings()}
        # Of each series the last speed: on the same card, else on whichever was measured.
        earlier, own = SPEEDS.c.measured_at < rows[0]["measured_at"], SPEEDS.c.card == rows[0]["card"]
        last_ones = (*_newest(to, names, 1, earlier), *_newest(to, names, 1, earlier, own))
        before = {last.series: last for last in last_ones}
        query = sql.select(RESULTS).where(RESULTS.c.id.in_({found.result for found in before.values()}))
        files = {row["id"]: _decoded(row) for row in to.execute(query).mappings()}
        # How runs of one question on one card with the same software differ.
        ran = _newest(to, names, max(2, EARLIER // len(names))) if files else ()
        runs = grouped(((one.series, one.card, one.software), log(one.value)) for one in ran)
        stored = pooled(runs.values())
        for row in rows:
            last = before.get(row["series"])
            if last is not None:
                then, now = files[last.result].measurements[last.place], result.measurements[row["place"]]
                found = compare(then, now, stored)
                # What is different since: versions, and whether it is another card.
                old, new = (
                    dict(part.rsplit(" ", 1) for part in text.split(", ") if " " in part)
                    for text in (last.software, row["software"])
                )
                moved = [name for name in old if name in new and old[name] != new[name]]
                parts = [f"{name} {old[name]} -> {new[name]}" for name in moved]
                parts += [ANOTHER] if "" != last.card != row["card"] != "" else []
                change = ", ".join(parts)[:300]
                row |= {"before": last.result, "verdict": found.verdict, "change": change}
                if found.ratio is not None:
                    ratio = found.ratio
                    row |= {"ratio": ratio.value, "ratio_low": ratio.low, "ratio_high": ratio.high}
        to.execute(SPEEDS.insert(), rows)
        later = {
            row["series"]: row for row in rows if row["measured_at"] >= newest[row["series"]]["measured_at"]
        }
        if later:
            values: Row = {name: sql.bindparam(f"new_{name}") for name in ("measured_at", "result", "place")}
            to.execute(
                NEWEST.update().where(NEWEST.c.series == sql.bindparam("old")).values(values),
                [{"old": name, **{f"new_{key}": row[key] for key in values}} for name, row in later.items()],
            )
        raised = to.execute(sql.select(ALERTS).where(ALERTS.c.series.in_(names))).mappings()
        there = {(row["series"], row["change"]): row for row in raised}
        # What may raise an alert, and what may change one; that one card is slower than another is no loss.
        own_cards = [row for row in rows if row["ratio"] is not None and ANOTHER not in row["change"]]
        lost = {(row["series"], row["change"]) for row in own_cards if row["ratio"] < 1 - SAME}
        known = {(row["series"], row["change"]) for row in own_cards} & there.keys()
        changed = (self._alert(to, project, *each, there.get(each)) for each in sorted(lost | known))
        return tuple(row for row in changed if row is not None)

    def _alert(
        self, to: sql.Connection, project: str, series: str, change: str, there: sql.RowMapping | None
    ) -> Row | None:
        """Raise, change or withdraw the alert of one change of one series; None where it stays as it was."""
        query = sql.select(SPEEDS).where(SPEEDS.c.series == series, SPEEDS.c.change == change)
        query = query.where(SPEEDS.c.ratio.is_not(None)).order_by(SPEEDS.c.measured_at.desc())
        rows = to.execute(query.limit(MOST_ROWS)).mappings().all()
        found = alert(rows)
        same = (ALERTS.c.series == series) & (ALERTS.c.change == change)
        if found is None:
            to.execute(ALERTS.delete().where(same))
            return None
        raised_at = _now() if there is None else there["raised_at"]
        made = {"series": series, "change": change, "project": project, "raised_at": raised_at, **found}
        made |= {name: rows[0][name] for name in ("label", "device")}
        if there is None:
            to.execute(ALERTS.insert().values(made))
        else:
            to.execute(ALERTS.update().where(same).values(found))
        if there is not None and there["slower"] == found["slower"]:
            return None
        if self._webhook:
            body = {"text": alert_words(made), "new": there is None, **made}
            to.execute(OUTBOX.insert().values(body=json.dumps(body)))
        return made

    def _count(self, to: sql.Connection, table: sql.Table, row: Row, replaced: Sequence[str] = ()) -> None:
        """Add a row, or its counts to the one that is there, with the later `last` and what is `replaced`."""
        made = self._insert(table).values(row)
        new, there = made.excluded, table.c
        changed = {name: there[name] + new[name] for name, value in row.items() if isinstance(value, int)}
        changed |= {name: new[name] for name in replaced}
        changed["last"] = sql.case((new["last"] > there["last"], new["last"]), else_=there["last"])
        keys = [column.name for column in table.primary_key]
        to.execute(made.on_conflict_do_update(index_elements=keys, set_=changed))

    def mark(self, result: str, *, tags: Sequence[str], by: User) -> str:
        """Give a result these tags in place of the ones it has; returns its project. Raises NoDataError for
        one that is not there, InputError where it is another's and `by` no admin."""
        names = list(dict.fromkeys(tags))[:MOST_TAGS]
        for tag in names:
            _check_name("tag", tag)
        with self.writing() as to:
            found = sql.select(RESULTS.c.owner, RESULTS.c.project).where(RESULTS.c.id == result)
            head = to.execute(found).first()
            if head is None:
                raise NoDataError(f"no result is called {result!r}")
            if head.owner != by.name and not by.may("admin"):
                problem = f"{result} belongs to {head.owner}"
                raise InputError(problem, hint="ask them, or an admin", code="role")
            to.execute(TAGS.delete().where(TAGS.c.result == result))
            if names:
                to.execute(TAGS.insert(), [{"result": result, "tag": tag} for tag in names])
            _note(to, by.name, "tags", f"{result}: {', '.join(names) or 'none'}")
            return str(head.project)

    def shown(self) -> tuple[Result, ...]:
        """Results that are no problem, the newest MOST_SHOWN, oldest first."""
        query = sql.select(RESULTS).where(RESULTS.c.problem == "")
        rows = self._read(query.order_by(RESULTS.c.pushed_at.desc()).limit(MOST_SHOWN))
        return tuple(map(_decoded, reversed(rows)))

    def result(self, name: str) -> Result:
        """One result. Raises NoDataError where there is none of that name, or it is kept apart."""
        head = self.head(name)
        if head["problem"]:
            raise NoDataError(f"{name} is kept apart: {head['problem']}")
        return _decoded(head)

    def head(self, name: str) -> Row:
        """All that is kept of one result. Raises NoDataError where there is none of that name."""
        rows = self._read(sql.select(RESULTS).where(RESULTS.c.id == name))
        if not rows:
            raise NoDataError(f"no kept result is called {name!r}", hint="choose one on the page Results")
        return rows[0]

    def projects(self) -> Sequence[Row]:
        """name, results, apart (how many are kept apart), slower (speeds), last (when one was pushed)."""
        return self._read(sql.select(PROJECTS).order_by(PROJECTS.c.name).limit(MOST_ROWS))

    def results(self, project: str, **wanted: str) -> Sequence[Row]:
        """The newest results of a project, those that are kept apart too, without their data; each with its
        `tags`. `wanted` are an owner, host, card, device or tag."""
        columns = [column for column in RESULTS.c if column.name not in ("data", "signature")]
        query = sql.select(*columns, (RESULTS.c.signature != "").label("signed"))
        query = query.where(RESULTS.c.project == project)
        for name, value in wanted.items():
            tagged = sql.select(TAGS.c.result).where(TAGS.c.tag == value)
            query = query.where(RESULTS.c.id.in_(tagged) if name == "tag" else RESULTS.c[name] == value)
        rows = self._read(query.order_by(RESULTS.c.pushed_at.desc(), RESULTS.c.id).limit(MOST_ROWS))
        named = sql.select(TAGS).where(TAGS.c.result.in_([row["id"] for row in rows])).order_by(TAGS.c.tag)
        tags = grouped((row["result"], row["tag"]) for row in self._read(named))
        return [{**row, "tags": tags.get(row["id"], [])} for row in rows]

    def latest(self, project: str) -> Sequence[Row]:
        """The newest speed of each series of a project, those that became slower first."""
        newest = (SPEEDS.c.result == NEWEST.c.result) & (SPEEDS.c.place == NEWEST.c.place)
        first = sql.case((SPEEDS.c.verdict == "slower", 0), else_=1)
        query = sql.select(SPEEDS).join_from(NEWEST, SPEEDS, newest).where(NEWEST.c.project == project)
        return self._read(query.order_by(first, SPEEDS.c.label, SPEEDS.c.device).limit(MOST_ROWS))

    def history(self, series: str) -> Sequence[Row]:
        """Every speed of one question on one kind of GPU, the newest first."""
        query = sql.select(SPEEDS, RESULTS.c.project, RESULTS.c.owner).join_from(SPEEDS, RESULTS)
        query = query.where(SPEEDS.c.series == series)
        return self._read(query.order_by(SPEEDS.c.measured_at.desc(), SPEEDS.c.result).limit(MOST_ROWS))

    def cards(self, host: str = "") -> Sequence[Row]:
        """Cards that measured, the last one first; of one host, or of all."""
        query = sql.select(CARDS).where(CARDS.c.host == host) if host else sql.select(CARDS)
        return self._read(query.order_by(CARDS.c.last.desc(), CARDS.c.card).limit(MOST_ROWS))

    def of_card(self, card: str) -> Sequence[Row]:
        query = sql.select(SPEEDS).where(SPEEDS.c.card == card).order_by(SPEEDS.c.measured_at.desc())
        return self._read(query.limit(MOST_ROWS))

    def alerts(self) -> Sequence[Row]:
        """What became slower, and after what change, the newest first."""
        newest = sql.select(ALERTS).order_by(ALERTS.c.raised_at.desc(), ALERTS.c.label)
        return self._read(newest.limit(MOST_ROWS))


def alert(rows: Sequence[Row | sql.RowMapping]) -> Row | None:
    """What comparisons after one change say together: cards, how many are slower, mean ratio and interval.

    `rows` are of one series, the newest first; of each card the newest counts. None where neither one card is
    slower by its own verdict, nor several by their mean: sure by how they differ, and more than equal runs
    differ by. So a loss is seen that is too small to be sure of on any one card.
    """
    cards = list(firsts((row["card"], row) for row in rows).values())
    logs = [log(row["ratio"]) for row in cards]
    mean, spread = sum(logs) / len(logs), pooled([logs])
    of_mean = Spread(spread.error / len(logs) ** 0.5, spread.degrees) if spread is not None else None
    together = (
        of_mean is not None
        and len(cards) >= SEVERAL_CARDS
        and mean < log(1 - SAME)
        and mean + of_mean.reach(VERDICT_LEVEL) < 0
    )
    if not together and not any(row["verdict"] == "slower" for row in cards):
        return None
    slower = sum(row["verdict"] == "slower" or row["ratio"] < 1 - SAME for row in cards)
    own = (cards[0]["ratio_low"], cards[0]["ratio_high"])
    reach = 0.0 if of_mean is None else of_mean.reach(0.95)
    low, high = own if of_mean is None else (exp(mean - reach), exp(mean + reach))
    return {"cards": len(cards), "slower": slower, "ratio": exp(mean), "ratio_low": low, "ratio_high": high}


def alert_words(row: Mapping[str, Any]) -> str:
    """`driver 580 -> 585: bert-large train fp16 -4.2 % on 7 of 8 cards (NVIDIA H200)`."""
    change = row["change"] or "without a change of software"
    cards = f"{row['slower']} of {row['cards']} card{'s' * (row['cards'] > 1)}"
    return f"{change}: {row['label']} {(row['ratio'] - 1) * 100:+.1f} % on {cards} ({row['device']})"


def _pushed(kept: Row, *, new: bool, speeds: Iterable[Row], alerts: tuple[Row, ...] = ()) -> Pushed:
    known = {name: kept[name] for name in ("id", "project", "problem", "owner")}
    return Pushed(**known, new=new, speeds=tuple(speeds), alerts=alerts)


def _row(result: Result, place: int, head: Row) -> Row | None:
    """A measurement as a speed that is not compared yet; None for what has none, and for a toy."""
    m = result.measurements[place]
    if m.status != "ok" or m.throughput is None or m.config.size != "full":
        return None
    asked = (head["project"], result.environment.gpu_id or result.environment.device, m.question.key())
    return {
        "result": result.id, "place": place, "series": sha256(repr(asked).encode()).hexdigest()[:16],
        "label": m.question.label()[:300], "device": head["device"], "software": head["software"],
        "measured_at": result.created_at, "item": m.item[:40], "value": m.throughput.value,
        "low": m.throughput.low, "high": m.throughput.high, "card": head["card"], "change": "",
        "before": None, "ratio": None, "ratio_low": None, "ratio_high": None, "verdict": None,
    }  # fmt: skip


def _newest(
    to: sql.Connection, series: Sequence[str], most: int, *where: sql.ColumnElement[bool]
) -> Iterator[sql.Row[Any]]:
    """The newest speeds of each series, each by its index, however many are kept."""
    columns = [SPEEDS.c[name] for name in ("series", "result", "place", "software", "card", "value")]
    query = sql.select(*columns).where(*where).order_by(SPEEDS.c.measured_at.desc(), SPEEDS.c.result)
    for start in range(0, len(series), IN_ONE_QUERY):
        some = (query.where(SPEEDS.c.series == name) for name in series[start : start + IN_ONE_QUERY])
        yield from to.execute(sql.union_all(*(sql.select(one.limit(most).subquery()) for one in some)))


def _decoded(row: Row | sql.RowMapping) -> Result:
    return store.decode(zlib.decompress(row["data"]), row["id"])


def _note(to: sql.Connection, who: str, what: str, detail: str) -> None:
    to.execute(LOG.insert().values(at=_now(), who=who[:63], what=what, detail=detail[:1000]))


def _check_name(what: str, name: str) -> None:
    if not NAME.fullmatch(name):
        problem = f"a {what} is up to 63 letters, digits, . _ and -, not {name[:80]!r}"
        raise InputError(problem, hint=f"a {what} like lab-2")


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "replace")).hexdigest()


def _now(to_the: str = "seconds") -> str:
    return datetime.now(UTC).isoformat(timespec=to_the)


@contextmanager
def _said() -> Iterator[None]:
    """A database that refuses, in words: a full disk, a server that is gone."""
    try:
        yield
    except IntegrityError:
        raise
    except (DBAPIError, PoolTimeout) as error:
        said = str(getattr(error, "orig", error)).strip() or "it does not answer"
        problem = f"the database refuses: {said.splitlines()[0]}"
        raise MachineError(problem, hint="see its disk and its log") from error


def as_a_server_needs(engine: sql.Engine) -> None:
    """Set up SQLite: readers beside one writer, and what is acknowledged is on the disk."""

    @sql.event.listens_for(engine, "connect")
    def connected(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions begin where `begun` says
        timeout = f"busy_timeout={BUSY_S * 1000}"
        for setting in ("journal_mode=WAL", "synchronous=FULL", timeout, "foreign_keys=ON"):
            connection.execute(f"PRAGMA {setting}")

    @sql.event.listens_for(engine, "begin")
    def begun(connection: sql.Connection) -> None:
        # A writer takes its turn at once: two that began as readers could both wait for the other.
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


# How often it is looked for alerts, also of other servers on the database; after a failure longer and longer.
EVERY_S, LONGEST_S = 2.0, 600.0
PATIENCE_S = 10.0


class Courier:
    """A thread that sends what the transactions of pushes left in the outbox, until `end`."""

    def __init__(self, team: Team, address: str) -> None:
        self._team, self._address = team, address
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop; what was not taken stays for the next time."""
        self._ends.set()
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        wait = EVERY_S
        while not self._ends.wait(wait):
            try:
                wait = EVERY_S if self._sent() else min(2 * wait, LONGEST_S)
            except GpuwiseError:  # the database or the receiver is gone
                wait = min(2 * wait, LONGEST_S)

    def _sent(self) -> bool:
        """Whether the receiver took everything."""
        with self._team.engine.connect() as to:
            waiting = to.execute(sql.select(OUTBOX).order_by(OUTBOX.c.id)).all()
        for number, body in waiting:
            if not 200 <= post(self._address, body.encode(), {}, within_s=PATIENCE_S).status < 300:
                return False
            with self._team.writing() as to:
                to.execute(OUTBOX.delete().where(OUTBOX.c.id == number))
        return True
