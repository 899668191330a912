"""Count the cells that one source states and none confirms: `python tools/witnesses.py [FIELD ...]`.

Two counts, of the GPUs that prices and published results name most often (MOST) and of all. With fields
(`power_w`, `peak:fp32:fp32:vector`), the GPUs themselves, with the sources of each cell.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Iterable

from gpuwise.facts import catalog, prices, published
from gpuwise.model.gpu import GpuSpec

MOST = 100
KEY = ("memory_bytes", "memory_bytes_per_s", "memory_bus_bits", "power_w", "sm_count", "cuda_cores",
       "stream_processors")  # fmt: skip
NAMED = ((prices.DATA / "offers.csv", "gpu_ids"), (prices.DATA / "history.csv", "gpu_ids"),
         (published.DATA / "results.csv", "gpu_id"))  # fmt: skip


def most_used() -> list[GpuSpec]:
    """The GPUs that the data on prices and speeds names most often, the most often named first."""
    counts = Counter[str]()
    for path, column in NAMED:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                counts.update(filter(None, row[column].split(";")))
    return [catalog.get(gpu_id) for gpu_id, _ in counts.most_common(MOST)]


def single(specs: Iterable[GpuSpec]) -> dict[str, list[GpuSpec]]:
    """Per key field and peak, the GPUs of which one source states it; empty where all are confirmed."""
    found: dict[str, list[GpuSpec]] = {}
    for spec in specs:
        known = catalog.confirmed(spec)
        for field in (*(name for name in KEY if name in spec.facts), *(peak.field for peak in spec.peaks)):
            found.setdefault(field, []).extend([] if field in known else [spec])
    return found


def main() -> None:
    used, every = single(most_used()), single(catalog.all_gpus())
    wanted = sys.argv[1:]
    for field in wanted or sorted(every):
        print(f"{field:36} {len(used.get(field, ())):4} of {MOST}  {len(every[field]):4} of all")
        for spec in every[field] if wanted else ():
            sources = ", ".join(f"{fact.source.id}={fact.value}" for fact in spec.values(field))
            print(f"    {spec.id:34} {sources}{'  (used)' if spec in used.get(field, ()) else ''}")


if __name__ == "__main__":
    main()
