"""What documents state about GPUs: the words for each field, its dimension and what can be meant.

The words are data: `data/words.csv` in the order in which they are tried, `data/units.csv` likewise. A row
without a field holds what looks like a field of a GPU and is not, such as "memory clock" or "system RAM":
it is recognised so that it takes no value. Memory sizes are counted in GiB, as products are named.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_DATA = Path(__file__).with_name("data")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the catalog. `low` and `high` bound a plausible value, in the catalog's unit."""

    name: str
    words: str
    """Alternatives of a regular expression, without their boundaries."""
    dimension: str
    """Of `UNITS`; "count" for bare numbers, "text", "date", "none"."""
    low: float
    high: float
    scales: tuple[float, ...]
    """What a number without a unit may be counted in, the most likely first."""


def _rows(name: str) -> list[dict[str, str]]:
    with (_DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


FIELDS: Mapping[str, Field] = {
    row["field"]: Field(
        name=row["field"],
        words=row["words"],
        dimension=row["dimension"],
        low=float(row["low"]),
        high=float(row["high"]),
        scales=tuple(map(float, row["scales"].split())),
    )
    for row in _rows("words.csv")
}
COUNTS = frozenset(
    {
        *("cuda_cores", "stream_processors", "tensor_cores", "rt_cores", "sm_count"),
        *("memory_bus_bits", "slots", "pcie_generation", "process_nm", "compute_capability"),
    }
)
"""Fields that are right or wrong to the last digit."""
# Of two fields whose words begin at one place the earlier one is meant: "FP32 cores" are cores.
FIELD_GROUPS = {f"f{number}": name for number, name in enumerate(FIELDS)}
FIELD_PATTERN = "|".join(f"(?P<f{number}>{field.words})" for number, field in enumerate(FIELDS.values()))
UNITS = tuple((row["dimension"], row["unit"], float(row["factor"])) for row in _rows("units.csv"))
"""(dimension, regular expression, factor to the catalog's unit), in the order in which they are tried."""
