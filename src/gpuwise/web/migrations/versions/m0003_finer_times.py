"""Results that came within one second are in the order in which they came."""

import sqlalchemy as sql
from alembic import op

revision, down_revision = "0003", "0002"


def upgrade() -> None:
    """Room for microseconds; SQLite has no lengths."""
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("results", "pushed_at", type_=sql.String(32))
