"""Owners, hosts, cards, tags, signatures, alerts and a log; and what each push keeps ready for the pages."""

import json
import zlib

import sqlalchemy as sql
from alembic import op

revision, down_revision = "0002", "0001"


def upgrade() -> None:
    """Add them, filled from what is there."""
    op.drop_table("version")  # alembic has its own
    for table, name, length in (
        ("users", "public_key", None), ("results", "owner", 63), ("results", "host", 63),
        ("results", "card", 64), ("results", "signature", None), ("speeds", "card", 64),
        ("speeds", "change", 300),
    ):  # fmt: skip
        op.add_column(table, sql.Column(name, sql.String(length), nullable=False, server_default=""))
    op.drop_index("ix_results_project", "results")
    op.create_index("of_a_project", "results", ["project", "pushed_at"])
    op.create_table(
        "tags",
        sql.Column("result", sql.String(128), sql.ForeignKey("results.id"), primary_key=True),
        sql.Column("tag", sql.String(63), primary_key=True),
    )
    op.create_index("of_a_tag", "tags", ["tag", "result"])
    op.create_table(
        "newest",
        sql.Column("series", sql.String(16), primary_key=True),
        sql.Column("project", sql.String(63), nullable=False, index=True),
        sql.Column("measured_at", sql.String(25), nullable=False),
        sql.Column("result", sql.String(128), nullable=False),
        sql.Column("place", sql.Integer, nullable=False),
    )
    op.create_table(
        "projects",
        sql.Column("name", sql.String(63), primary_key=True),
        *(sql.Column(name, sql.Integer, nullable=False) for name in ("results", "apart", "slower")),
        sql.Column("last", sql.String(25), nullable=False),
    )
    op.create_table(
        "cards",
        sql.Column("host", sql.String(63), primary_key=True),
        sql.Column("card", sql.String(64), primary_key=True),
        sql.Column("device", sql.String(200), primary_key=True),
        sql.Column("software", sql.String(200), nullable=False),
        sql.Column("results", sql.Integer, nullable=False),
        *(sql.Column(name, sql.String(25), nullable=False) for name in ("first", "last")),
    )
    op.create_table(
        "alerts",
        sql.Column("series", sql.String(16), primary_key=True),
        sql.Column("change", sql.String(300), primary_key=True),
        sql.Column("project", sql.String(63), nullable=False),
        sql.Column("label", sql.String(300), nullable=False),
        sql.Column("device", sql.String(200), nullable=False),
        sql.Column("raised_at", sql.String(25), nullable=False),
        *(sql.Column(name, sql.Integer, nullable=False) for name in ("cards", "slower")),
        *(sql.Column(name, sql.Float, nullable=False) for name in ("ratio", "ratio_low", "ratio_high")),
    )
    op.create_index("of_a_time", "alerts", ["raised_at"])
    op.create_table(
        "outbox",
        sql.Column("id", sql.Integer, primary_key=True),
        sql.Column("body", sql.Text, nullable=False),
    )
    op.create_table(
        "log",
        sql.Column("id", sql.Integer, primary_key=True),
        sql.Column("at", sql.String(25), nullable=False),
        sql.Column("who", sql.String(63), nullable=False),
        sql.Column("what", sql.String(40), nullable=False),
        sql.Column("detail", sql.Text, nullable=False),
    )
    op.execute("UPDATE results SET owner = pushed_by")
    to = op.get_bind()
    for name, data in to.execute(sql.text("SELECT id, data FROM results")).all():
        card = json.loads(zlib.decompress(data))["environment"].get("card")
        for table, key in (("results", "id"), ("speeds", "result")) if card else ():
            known = sql.text(f"UPDATE {table} SET card = :card WHERE {key} = :name")
            to.execute(known, {"card": card[:64], "name": name})
    op.create_index("of_a_card", "speeds", ["card", "measured_at"])
    op.create_index("of_a_series_and_card", "speeds", ["series", "card", "measured_at"])
    op.create_index("of_a_change", "speeds", ["series", "change", "measured_at"])
    op.execute(
        "INSERT INTO newest SELECT series, project, at, result, place FROM (SELECT s.series, r.project, "
        "s.measured_at AS at, s.result, s.place, row_number() OVER (PARTITION BY s.series "
        "ORDER BY s.measured_at DESC, s.result, s.place) AS rank FROM speeds s JOIN results r "
        "ON r.id = s.result) AS ranked WHERE rank = 1"
    )
    op.execute(
        "INSERT INTO projects SELECT project, count(*), sum(CASE WHEN problem = '' THEN 0 ELSE 1 END), "
        "(SELECT count(*) FROM speeds s JOIN results x ON x.id = s.result "
        "WHERE x.project = r.project AND s.verdict = 'slower'), max(pushed_at) "
        "FROM results r GROUP BY project"
    )
    op.execute(
        "INSERT INTO cards SELECT host, card, device, max(software), count(*), min(measured_at), "
        "max(measured_at) FROM results GROUP BY host, card, device"
    )
