"""What a team's database holds, and the way to it from every released schema (alembic, folder `migrations`).

Times are text: ISO 8601, UTC, to the second, so that they sort; those of pushes to the microsecond, so that
no two are alike. What a page lists has an index, or a table that each push keeps up to date: `projects`,
`newest`, `cards`, `alerts`.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sql
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory

from gpuwise.errors import InputError

TABLES = sql.MetaData()


def _name(name: str, **more: Any) -> sql.Column[str]:
    """Of a person, project, host or tag."""
    return sql.Column(name, sql.String(63), nullable=False, **more)


def _text(name: str, length: int | None = None, **more: Any) -> sql.Column[str]:
    """Text that is empty where nothing is known."""
    return sql.Column(name, sql.String(length), nullable=False, server_default="", **more)


def _time(name: str) -> sql.Column[str]:
    return sql.Column(name, sql.String(25), nullable=False)


def _numbers(*names: str) -> list[sql.Column[float]]:
    return [sql.Column(name, sql.Float, nullable=False) for name in names]


def _table(name: str, *parts: sql.Column[Any] | sql.Index) -> sql.Table:
    return sql.Table(name, TABLES, *parts)


USERS = _table(
    "users",
    _name("name", primary_key=True),
    sql.Column("role", sql.String(8), nullable=False),
    sql.Column("token", sql.String(64), nullable=False, unique=True),  # SHA-256, hexadecimal
    _time("made_at"),
    _text("public_key"),  # Of ssh, as in its .pub file: what this user signs is theirs
)
RESULTS = _table(
    "results",
    sql.Column("id", sql.String(128), primary_key=True),
    _name("project"),
    _name("pushed_by"),
    # To the microsecond; SQLite has no lengths.
    sql.Column("pushed_at", sql.String(25).with_variant(sql.String(32), "postgresql"), nullable=False),
    _time("measured_at"),
    sql.Column("device", sql.String(200), nullable=False),
    sql.Column("software", sql.String(200), nullable=False),
    sql.Column("problem", sql.Text, nullable=False),  # Why it is not shown as a speed; empty where it is
    sql.Column("data", sql.LargeBinary, nullable=False),  # The result file, compressed
    _text("owner", 63),  # Who signed it, else who pushed it
    _text("host", 63),
    _text("card", 64),
    _text("signature"),  # Of ssh-keygen -Y sign over the file, by the key of its owner
    sql.Index("of_a_project", "project", "pushed_at"),
    sql.Index("ix_results_pushed_at", "pushed_at"),
)
TAGS = _table(
    "tags",
    sql.Column("result", sql.String(128), sql.ForeignKey("results.id"), primary_key=True),
    _name("tag", primary_key=True),
    sql.Index("of_a_tag", "tag", "result"),
)
SPEEDS = _table(
    "speeds",
    sql.Column("result", sql.String(128), sql.ForeignKey("results.id"), primary_key=True),
    sql.Column("place", sql.Integer, primary_key=True),  # Among the measurements of the result
    sql.Column("series", sql.String(16), nullable=False),  # Of one question on one kind of GPU in one project
    sql.Column("label", sql.String(300), nullable=False),
    sql.Column("device", sql.String(200), nullable=False),
    sql.Column("software", sql.String(200), nullable=False),
    _time("measured_at"),
    sql.Column("item", sql.String(40), nullable=False),
    *_numbers("value", "low", "high"),  # Items per second
    # Of the same question the last time before, on the same card where it was on it; empty for the first.
    sql.Column("before", sql.String(128)),
    *(sql.Column(name, sql.Float) for name in ("ratio", "ratio_low", "ratio_high")),
    sql.Column("verdict", sql.String(20)),
    _text("card", 64),
    _text("change", 300),  # `driver 580.1 -> 585.2`: what differs from `before`
    sql.Index("of_a_series", "series", "measured_at"),
    sql.Index("of_a_card", "card", "measured_at"),
    sql.Index("of_a_series_and_card", "series", "card", "measured_at"),
    sql.Index("of_a_change", "series", "change", "measured_at"),
)
NEWEST = _table(
    "newest",
    sql.Column("series", sql.String(16), primary_key=True),
    _name("project", index=True),
    _time("measured_at"),
    sql.Column("result", sql.String(128), nullable=False),
    sql.Column("place", sql.Integer, nullable=False),
)
PROJECTS = _table(
    "projects",
    _name("name", primary_key=True),
    sql.Column("results", sql.Integer, nullable=False),
    sql.Column("apart", sql.Integer, nullable=False),
    sql.Column("slower", sql.Integer, nullable=False),  # Speeds, since the first push
    _time("last"),
)
CARDS = _table(
    "cards",
    _name("host", primary_key=True),
    sql.Column("card", sql.String(64), primary_key=True),
    sql.Column("device", sql.String(200), primary_key=True),
    sql.Column("software", sql.String(200), nullable=False),
    sql.Column("results", sql.Integer, nullable=False),
    _time("first"),
    _time("last"),
)
ALERTS = _table(
    "alerts",
    sql.Column("series", sql.String(16), primary_key=True),
    sql.Column("change", sql.String(300), primary_key=True),
    _name("project"),
    sql.Column("label", sql.String(300), nullable=False),
    sql.Column("device", sql.String(200), nullable=False),
    _time("raised_at"),
    sql.Column("cards", sql.Integer, nullable=False),
    sql.Column("slower", sql.Integer, nullable=False),
    *_numbers("ratio", "ratio_low", "ratio_high"),
    sql.Index("of_a_time", "raised_at"),
)
OUTBOX = _table(
    "outbox",
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("body", sql.Text, nullable=False),  # JSON, for the webhook
)
LOG = _table(
    "log",
    sql.Column("id", sql.Integer, primary_key=True),
    _time("at"),
    _name("who"),
    sql.Column("what", sql.String(40), nullable=False),
    sql.Column("detail", sql.Text, nullable=False),
)

# One server at a time may migrate a database of PostgreSQL; any number that no one else takes.
LOCK = 0x67707577


def upgrade(to: sql.Connection) -> None:
    """Bring the database to the tables above, in the transaction of `to`. Raises InputError where a newer
    gpuwise made it, or one of before the first release with a database."""
    if to.dialect.name == "postgresql":
        to.execute(sql.select(sql.func.pg_advisory_xact_lock(LOCK)))
    config = Config()
    config.set_main_option("script_location", "gpuwise.web:migrations")
    script = ScriptDirectory.from_config(config)
    context = MigrationContext.configure(to, opts={"fn": lambda now, _: script._upgrade_revs("head", now)})
    now = context.get_current_revision()
    known = {each.revision for each in script.walk_revisions()}
    if now is None and not sql.inspect(to).has_table(RESULTS.name):
        TABLES.create_all(to)
        context.stamp(script, "head")
    elif now not in known:
        raise InputError(f"another gpuwise made the database (schema {now})", hint="", code="upgrade")
    with Operations.context(context):
        context.run_migrations()
