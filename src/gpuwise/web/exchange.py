"""A team's database as files: backup and restore, and every table as Parquet for other programs."""

from __future__ import annotations

import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import sqlalchemy as sql

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.show.table import parquet_library
from gpuwise.web.tables import OUTBOX, RESULTS, TABLES, USERS
from gpuwise.web.team import Team

# Rows that are in memory at once; a result has some 10 to 100 kB.
AT_ONCE = 500


def backup(team: Team, path: Path) -> int:
    """Copy a database, as it is at one moment, into a new file of SQLite; returns its number of results.
    Raises InputError where the file is there already or cannot be written."""
    if path.exists():
        raise InputError(f"{path} is there already", hint="give the name of a new file")
    with store.placed(path) as temporary:
        temporary.touch(mode=0o600)  # it holds everybody's results
        copy = Team(f"sqlite:///{temporary}")
        try:
            _copy(team, copy)
            with copy.engine.connect() as to:  # what is in the log of SQLite must be in the file
                to.connection.driver_connection.execute("PRAGMA journal_mode=DELETE")  # type: ignore[union-attr]
                return int(to.execute(sql.select(sql.func.count()).select_from(RESULTS)).scalar_one())
        finally:
            copy.close()


def restore(path: Path, team: Team) -> int:
    """Fill an empty database from a backup, of this gpuwise or an older one; returns its number of results.
    Raises InputError where the database is not empty, or the file is no backup."""
    with team.engine.connect() as to:
        if any(to.execute(sql.select(table).limit(1)).first() for table in (USERS, RESULTS)):
            raise InputError("the database is not empty", hint="give a new one: --db sqlite:///NEW.db")
    beginning = b""
    if path.is_file():
        with path.open("rb") as file:
            beginning = file.read(15)
    if beginning != b"SQLite format 3":
        raise InputError(f"{path} is not a backup", hint="gpuwise team backup FILE makes one")
    with tempfile.TemporaryDirectory(prefix="gpuwise-") as folder:
        # A copy, since an older one is migrated.
        made = Team(f"sqlite:///{shutil.copy(path, folder)}")
        try:
            return _copy(made, team)
        finally:
            made.close()


def _copy(source: Team, target: Team) -> int:
    """Every row, in one transaction of each side; returns the number of results."""
    kept = 0
    with target.writing() as to:
        for table, rows in _tables(source):
            left_out = () if table is RESULTS else ("id",)
            made = [{name: value for name, value in row.items() if name not in left_out} for row in rows]
            to.execute(table.insert(), made)
            kept += len(made) if table is RESULTS else 0
    return kept


def _tables(team: Team) -> Iterator[tuple[sql.Table, list[dict[str, Any]]]]:
    """Tables in the order in which they refer to each other, some rows at a time, as of one moment."""
    # What SQLite reads in one transaction is of one moment anyway.
    level = {} if team.engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
    with team.engine.connect().execution_options(**level) as to, to.begin():
        for table in TABLES.sorted_tables:
            found = to.execution_options(stream_results=True).execute(
                sql.select(table).order_by(*table.primary_key)
            )
            for rows in found.mappings().partitions(AT_ONCE):
                yield table, [dict(row) for row in rows]


def parquet(team: Team, folder: Path) -> tuple[str, ...]:
    """Write each table to a Parquet file of its name, result files as JSON text, tokens left out. Returns the
    names. Raises InputError where the folder is not empty, MachineError without pyarrow."""
    arrow, files = parquet_library()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not an empty folder", hint="give the name of a new one")
    folder.mkdir(parents=True, exist_ok=True)
    kinds = {sql.Integer: arrow.int64(), sql.Float: arrow.float64()}
    writers: dict[str, Any] = {}
    try:
        with ExitStack() as opened:
            for table in (table for table in TABLES.sorted_tables if table is not OUTBOX):
                columns = [column for column in table.c if column.name != "token"]
                typed = [(column.name, kinds.get(type(column.type), arrow.string())) for column in columns]
                writer = files.ParquetWriter(folder / f"{table.name}.parquet", arrow.schema(typed))
                writers[table.name] = opened.enter_context(writer)
            for table, rows in _tables(team):
                if table is RESULTS:
                    rows = [{**row, "data": zlib.decompress(row["data"]).decode()} for row in rows]
                if writer := writers.get(table.name):
                    writer.write_table(arrow.Table.from_pylist(rows, schema=writer.schema))
    except OSError as error:
        raise store.unwritable(folder, error) from error
    return tuple(sorted(f"{name}.parquet" for name in writers))
