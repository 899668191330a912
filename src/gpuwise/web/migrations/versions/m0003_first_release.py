"""The tables of the first release; a new database gets those of today from `web.tables`."""

revision, down_revision = "0003", None


def upgrade() -> None:
    """Nothing comes before them."""
