"""Tables of facts as CSV files, and the sources that their rows cite. The stdlib only, for speed."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import cast

from gpuwise.model.gpu import Source, SourceKind


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file with a header."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_sources(path: Path) -> Mapping[str, Source]:
    """Sources by id, from columns id, title, kind, read_on, url, licence and perhaps copy_of."""
    return MappingProxyType(
        {
            row["id"]: Source(
                id=row["id"],
                title=row["title"],
                # The data tests hold this column to the allowed kinds.
                kind=cast(SourceKind, row["kind"]),
                read_on=row["read_on"],
                url=row["url"] or None,
                licence=row["licence"] or None,
                copy_of=row.get("copy_of") or None,
            )
            for row in rows(path)
        }
    )
