"""Results of a team in a database: who pushed what to which project, and how each speed changed over time.

SQLite by default, PostgreSQL by its URL. A push is one transaction: it is there whole, with its comparisons,
or not at all. Tokens are random and kept as their SHA-256, so that a copy of the database opens nothing. What
contradicts its own steps or physics is kept apart with the reason, and never shown as a speed.
"""

from __future__ import annotations

import secrets
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal, get_args

import sqlalchemy as sql
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError

from gpuwise import store
from gpuwise.checks import judge_measured
from gpuwise.errors import InputError, MachineError, NoDataError
from gpuwise.model.result import Measurement, Result
from gpuwise.stats.comparison import compare

Role = Literal["read", "push"]
ROLES: tuple[Role, ...] = get_args(Role)
# Of one line of a page.
MOST_ROWS = 500
# So long a token that was taken back may still open the server.
REMEMBERED_S = 2.0
# How long a writer waits for another one.
BUSY_S = 30

TABLES = sql.MetaData()
USERS = sql.Table(
    "users", TABLES,
    sql.Column("name", sql.String(63), primary_key=True),
    sql.Column("role", sql.String(8), nullable=False),
    sql.Column("token", sql.String(64), nullable=False, unique=True),  # SHA-256, hexadecimal
    sql.Column("made_at", sql.String(25), nullable=False),
)  # fmt: skip
RESULTS = sql.Table(
    "results", TABLES,
    sql.Column("id", sql.String(128), primary_key=True),
    sql.Column("project", sql.String(63), nullable=False, index=True),
    sql.Column("pushed_by", sql.String(63), nullable=False),
    sql.Column("pushed_at", sql.String(25), nullable=False, index=True),
    sql.Column("measured_at", sql.String(25), nullable=False),
    sql.Column("device", sql.String(200), nullable=False),
    sql.Column("software", sql.String(200), nullable=False),
    sql.Column("problem", sql.Text, nullable=False),  # Why it is not shown as a speed; empty where it is
    sql.Column("data", sql.LargeBinary, nullable=False),  # The result file, compressed
)  # fmt: skip
SPEEDS = sql.Table(
    "speeds", TABLES,
    sql.Column("result", sql.ForeignKey("results.id"), primary_key=True),
    sql.Column("place", sql.Integer, primary_key=True),  # Among the measurements of the result
    sql.Column("series", sql.String(16), nullable=False),  # Of one question on one kind of GPU in one project
    sql.Column("label", sql.String(300), nullable=False),
    sql.Column("device", sql.String(200), nullable=False),
    sql.Column("software", sql.String(200), nullable=False),
    sql.Column("measured_at", sql.String(25), nullable=False),
    sql.Column("item", sql.String(40), nullable=False),
    sql.Column("value", sql.Float, nullable=False),  # Items per second
    sql.Column("low", sql.Float, nullable=False),
    sql.Column("high", sql.Float, nullable=False),
    # Of the same question the last time before; empty where this was the first.
    sql.Column("before", sql.String(128)),
    sql.Column("ratio", sql.Float),
    sql.Column("ratio_low", sql.Float),
    sql.Column("ratio_high", sql.Float),
    sql.Column("verdict", sql.String(20)),
    sql.Index("of_a_series", "series", "measured_at"),
)  # fmt: skip
# What the tables above are; another number in the file is another gpuwise.
SCHEMA = 1
VERSION = sql.Table("version", TABLES, sql.Column("schema", sql.Integer, primary_key=True))

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who has a token, and what it allows."""

    name: str
    role: Role
    made_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """What became of a result."""

    id: str
    project: str
    new: bool  # False where the same file was there already
    problem: str  # Why it is kept apart; empty where it is shown
    speeds: tuple[Row, ...]

    @property
    def document(self) -> dict[str, Any]:
        """Plain data of the answer to a push."""
        slower = [row["label"] for row in self.speeds if row["verdict"] == "slower"]
        return {
            "id": self.id, "project": self.project, "new": self.new, "problem": self.problem,
            "slower": slower, "speeds": list(self.speeds),
        }  # fmt: skip


class Team:
    """The database. Raises InputError for an address that names none, MachineError where it refuses."""

    def __init__(self, url: str) -> None:
        try:
            self._engine = sql.create_engine(url, pool_pre_ping=True)
        except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
            raise InputError(
                f"cannot use the database {url.partition('//')[0]}//...: {error}",
                hint="sqlite:///team.db, or postgresql+psycopg://user:password@host/name",
            ) from error
        if self._engine.dialect.name == "sqlite":
            sql.event.listen(self._engine, "connect", _connected)
            sql.event.listen(self._engine, "begin", _begun)
        self._users: dict[str, User] = {}
        self._looked = -REMEMBERED_S
        with self._writing() as to:
            TABLES.create_all(to)
            found = to.execute(sql.select(VERSION.c.schema)).scalar()
            if found is None:
                to.execute(VERSION.insert().values(schema=SCHEMA))
            elif found != SCHEMA:
                raise InputError(
                    f"the database has schema {found}; this gpuwise reads {SCHEMA}", hint="", code="upgrade"
                )

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    @contextmanager
    def _writing(self) -> Iterator[sql.Connection]:
        """A transaction that is durable when it ends. Raises MachineError where the database refuses."""
        with _said(), self._engine.connect().execution_options(writes=True) as to, to.begin():
            yield to

    def _read(self, query: sql.Select[Any]) -> Sequence[Row]:
        with _said(), self._engine.connect() as to:
            return [dict(row) for row in to.execute(query).mappings()]

    def add_user(self, name: str, role: Role) -> str:
        """A new user's token, which is nowhere kept. Raises InputError for a name that is taken."""
        token = secrets.token_urlsafe(24)
        made = {"name": name, "role": role, "token": _digest(token), "made_at": _now()}
        try:
            with self._writing() as to:
                to.execute(USERS.insert().values(made))
        except IntegrityError as error:
            raise InputError(f"{name} has a token already", hint="revoke it first") from error
        return token

    def revoke(self, name: str) -> None:
        """Take a token back. Raises NoDataError where nobody has that name."""
        with self._writing() as to:
            if not to.execute(USERS.delete().where(USERS.c.name == name)).rowcount:
                raise NoDataError(f"nobody is called {name!r}", hint="see the list of tokens")

    def users(self) -> tuple[User, ...]:
        """Everybody who has a token, by name."""
        query = sql.select(USERS.c.name, USERS.c.role, USERS.c.made_at).order_by(USERS.c.name)
        return tuple(User(**row) for row in self._read(query))

    def user(self, token: str) -> User | None:
        """Whose token it is."""
        if time.monotonic() - self._looked > REMEMBERED_S:
            rows = self._read(sql.select(USERS))
            self._users = {
                row["token"]: User(name=row["name"], role=row["role"], made_at=row["made_at"]) for row in rows
            }
            self._looked = time.monotonic()
        # Looked up by its digest: how long that takes says nothing of the token.
        return self._users.get(_digest(token))

    def push(self, result: Result, *, by: str, project: str) -> Pushed:
        """Keep a result with each speed against the same question's last one in the project.

        The same file again changes nothing. Raises InputError where another result has its id, and for
        published figures.
        """
        if result.origin != "measured":
            raise InputError(f"{result.id} holds published figures", hint="push what you measured")
        data = store.compact(result)
        kept = judge_measured(result.measurements, result.environment)
        problem = "; ".join(dict.fromkeys(
            f"{m.config.label()}: {issue.detail}" for m in kept for issue in m.cautions
            if issue.severity == "invalid"
        ))  # fmt: skip
        head = {
            "id": result.id, "project": project, "pushed_by": by, "pushed_at": _now(),
            "measured_at": result.created_at, "device": result.environment.device[:200],
            "software": ", ".join(result.environment.software)[:200], "problem": problem,
            "data": zlib.compress(data),
        }  # fmt: skip
        try:
            return self._keep(result, head, data)
        except IntegrityError:  # another writer was faster with the same file
            return self._keep(result, head, data)

    def _keep(self, result: Result, head: Row, data: bytes) -> Pushed:
        """One transaction: the result with its speeds, or what is there already."""
        project, problem = head["project"], head["problem"]
        with self._writing() as to:
            there = to.execute(sql.select(RESULTS).where(RESULTS.c.id == result.id)).mappings().first()
            if there is not None:
                if zlib.decompress(there["data"]) != data:
                    raise InputError(
                        f"another result is called {result.id}", hint="measure again", code="taken"
                    )
                return Pushed(
                    id=result.id, project=there["project"], new=False, problem=there["problem"],
                    speeds=tuple(dict(row) for row in to.execute(_speeds_of(result.id)).mappings()),
                )  # fmt: skip
            to.execute(RESULTS.insert().values(head))
            # A result that is kept apart has no speeds.
            rows = [] if problem else [
                self._speed(to, result, place, project) for place, m in enumerate(result.measurements)
                if m.status == "ok" and m.throughput is not None and m.config.size == "full"
            ]  # fmt: skip
            if rows:
                to.execute(SPEEDS.insert(), rows)
        return Pushed(id=result.id, project=project, new=True, problem=problem, speeds=tuple(rows))

    def _speed(self, to: sql.Connection, result: Result, place: int, project: str) -> dict[str, Any]:
        """The row of one measurement, compared with the last one of its series."""
        m, there = result.measurements[place], result.environment
        assert m.throughput is not None
        question = m.question.key()
        series = sha256(repr((project, there.gpu_id or there.device, question)).encode()).hexdigest()[:16]
        software = (*there.software, *([f"driver {there.driver}"] if there.driver else ()))
        row: dict[str, Any] = {
            "result": result.id, "place": place, "series": series, "label": m.question.label()[:300],
            "device": there.device[:200], "measured_at": result.created_at, "item": m.item[:40],
            "software": ", ".join(software)[:200],
            "value": m.throughput.value, "low": m.throughput.low, "high": m.throughput.high,
            "before": None, "ratio": None, "ratio_low": None, "ratio_high": None, "verdict": None,
        }  # fmt: skip
        earlier = sql.select(SPEEDS.c.result, SPEEDS.c.place).where(
            SPEEDS.c.series == series, SPEEDS.c.measured_at < result.created_at
        )
        last = to.execute(earlier.order_by(SPEEDS.c.measured_at.desc(), SPEEDS.c.result).limit(1)).first()
        if last is not None:
            before = self._measurement(to, last.result, last.place)
            found = compare(before, m)
            row |= {"before": last.result, "verdict": found.verdict}
            if found.ratio is not None:
                row |= {
                    "ratio": found.ratio.value,
                    "ratio_low": found.ratio.low,
                    "ratio_high": found.ratio.high,
                }
        return row

    def _measurement(self, to: sql.Connection, name: str, place: int) -> Measurement:
        data = to.execute(sql.select(RESULTS.c.data).where(RESULTS.c.id == name)).scalar_one()
        return store.decode(zlib.decompress(data), name).measurements[place]

    def shown(self) -> tuple[Result, ...]:
        """Results that are no problem, the newest MOST_ROWS, oldest first."""
        query = sql.select(RESULTS.c.data, RESULTS.c.id).where(RESULTS.c.problem == "")
        rows = self._read(query.order_by(RESULTS.c.pushed_at.desc()).limit(MOST_ROWS))
        return tuple(store.decode(zlib.decompress(row["data"]), row["id"]) for row in reversed(rows))

    def projects(self) -> Sequence[Row]:
        """name, results, apart (how many are kept apart), last (when one was pushed), slower (speeds)."""
        slower = (
            sql.select(RESULTS.c.project, sql.func.count().label("slower"))
            .join_from(SPEEDS, RESULTS).where(SPEEDS.c.verdict == "slower")
            .group_by(RESULTS.c.project).subquery()
        )  # fmt: skip
        return self._read(
            sql.select(
                RESULTS.c.project.label("name"), sql.func.count().label("results"),
                sql.func.sum(sql.case((RESULTS.c.problem != "", 1), else_=0)).label("apart"),
                sql.func.max(RESULTS.c.pushed_at).label("last"),
                sql.func.coalesce(sql.func.max(slower.c.slower), 0).label("slower"),
            ).select_from(RESULTS.outerjoin(slower, slower.c.project == RESULTS.c.project))
            .group_by(RESULTS.c.project).order_by(RESULTS.c.project)
        )  # fmt: skip

    def results(self, project: str) -> Sequence[Row]:
        """The newest results of a project, those that are kept apart too, without their data."""
        columns = [column for column in RESULTS.c if column.name != "data"]
        query = sql.select(*columns).where(RESULTS.c.project == project)
        return self._read(query.order_by(RESULTS.c.pushed_at.desc(), RESULTS.c.id).limit(MOST_ROWS))

    def latest(self, project: str) -> Sequence[Row]:
        """The newest speed of each series of a project, those that became slower first."""
        newest = sql.select(
            SPEEDS, sql.func.row_number().over(
                partition_by=SPEEDS.c.series, order_by=(SPEEDS.c.measured_at.desc(), SPEEDS.c.result)
            ).label("rank"),
        ).join_from(SPEEDS, RESULTS).where(RESULTS.c.project == project).subquery()  # fmt: skip
        first = sql.case((newest.c.verdict == "slower", 0), else_=1)
        query = sql.select(newest).where(newest.c.rank == 1)
        return self._read(query.order_by(first, newest.c.label, newest.c.device).limit(MOST_ROWS))

    def history(self, series: str) -> Sequence[Row]:
        """Every speed of one question on one kind of GPU, the newest first."""
        query = sql.select(SPEEDS, RESULTS.c.project, RESULTS.c.pushed_by).join_from(SPEEDS, RESULTS)
        query = query.where(SPEEDS.c.series == series)
        return self._read(query.order_by(SPEEDS.c.measured_at.desc(), SPEEDS.c.result).limit(MOST_ROWS))


def _speeds_of(result: str) -> sql.Select[Any]:
    return sql.select(SPEEDS).where(SPEEDS.c.result == result).order_by(SPEEDS.c.place)


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "replace")).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def _said() -> Iterator[None]:
    """A database that refuses, in words: a full disk, a server that is gone."""
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        reason = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else "it does not answer"
        raise MachineError(f"the database refuses: {reason}", hint="see its disk and its log") from error


def _connected(connection: Any, _: object) -> None:
    """SQLite as a server needs it: readers beside one writer, and what is acknowledged is on the disk."""
    connection.isolation_level = None  # transactions begin where `_begun` says
    for setting in (
        "journal_mode=WAL",
        "synchronous=FULL",
        f"busy_timeout={BUSY_S * 1000}",
        "foreign_keys=ON",
    ):
        connection.execute(f"PRAGMA {setting}")


def _begun(connection: sql.Connection) -> None:
    # A writer takes its turn at once: two that began as readers could both wait for the other.
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
