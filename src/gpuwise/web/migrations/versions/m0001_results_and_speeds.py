"""The first tables: who may push, results, and each speed against the one before."""

import sqlalchemy as sql
from alembic import op

revision, down_revision = "0001", None


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "users",
        sql.Column("name", sql.String(63), primary_key=True),
        sql.Column("role", sql.String(8), nullable=False),
        sql.Column("token", sql.String(64), nullable=False, unique=True),
        sql.Column("made_at", sql.String(25), nullable=False),
    )
    op.create_table(
        "results",
        sql.Column("id", sql.String(128), primary_key=True),
        *(sql.Column(name, sql.String(63), nullable=False) for name in ("project", "pushed_by")),
        *(sql.Column(name, sql.String(25), nullable=False) for name in ("pushed_at", "measured_at")),
        *(sql.Column(name, sql.String(200), nullable=False) for name in ("device", "software")),
        sql.Column("problem", sql.Text, nullable=False),
        sql.Column("data", sql.LargeBinary, nullable=False),
    )
    op.create_index("ix_results_project", "results", ["project"])
    op.create_index("ix_results_pushed_at", "results", ["pushed_at"])
    op.create_table(
        "speeds",
        sql.Column("result", sql.String(128), sql.ForeignKey("results.id"), primary_key=True),
        sql.Column("place", sql.Integer, primary_key=True),
        sql.Column("series", sql.String(16), nullable=False),
        sql.Column("label", sql.String(300), nullable=False),
        *(sql.Column(name, sql.String(200), nullable=False) for name in ("device", "software")),
        sql.Column("measured_at", sql.String(25), nullable=False),
        sql.Column("item", sql.String(40), nullable=False),
        *(sql.Column(name, sql.Float, nullable=False) for name in ("value", "low", "high")),
        sql.Column("before", sql.String(128)),
        *(sql.Column(name, sql.Float) for name in ("ratio", "ratio_low", "ratio_high")),
        sql.Column("verdict", sql.String(20)),
    )
    op.create_index("of_a_series", "speeds", ["series", "measured_at"])
    op.create_table("version", sql.Column("schema", sql.Integer, primary_key=True))
