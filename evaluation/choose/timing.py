"""How long an answer takes: 300 GPUs, 5,000 offers, 1 to 8 GPUs of each.

    python -m evaluation.choose.timing results/choose/timing.json

Offers are drawn with a seed from the rents that ship and given to GPUs and counts in turn; GPUs beside those
that have an offer are drawn from the catalog. Seconds of the processor and of the clock: `first` has every
speed to predict, as a new process does; `again` is the median of five answers to the same question with
the speeds in memory.
"""

from __future__ import annotations

import json
import platform
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from gpuwise import Need, choose, need_for
from gpuwise.facts import catalog
from gpuwise.jobs.facts import Facts
from gpuwise.model.gpu import Offer

SEED, GPUS, OFFERS, COUNTS, TIMES = 27, 300, 5_000, 8, 5
WORK = ("resnet50", "llama-3.1-70b")
RENTED = ("on-demand", "spot", "reserved", "community")


def market(known: Sequence[Offer]) -> tuple[Offer, ...]:
    """5,000 offers of 300 GPUs, 1 to 8 of each."""
    drawn = random.Random(SEED)
    names = sorted({o.gpu_ids[0] for o in known if o.gpu_ids})
    rest = [spec.id for spec in catalog.all_gpus() if spec.id not in names]
    names = [*names, *drawn.sample(rest, len(rest))][:GPUS]
    return tuple(
        replace(
            drawn.choice(known), gpu=names[i % GPUS], gpu_ids=(names[i % GPUS],), provider=f"host {i}",
            count=1 + i // GPUS % COUNTS,
        )
        for i in range(OFFERS)
    )  # fmt: skip


def seconds(need: Need, facts: Facts, times: int) -> dict[str, float]:
    """Medians of some answers."""
    taken = list[tuple[float, float]]()
    for _ in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        choose(need, facts)
        taken.append((time.process_time() - cpu, time.perf_counter() - wall))
    cpus, walls = zip(*taken, strict=True)
    return {"cpu_s": round(median(cpus), 3), "wall_s": round(median(walls), 3)}


def main(out: Path) -> None:
    known = tuple(o for o in Facts().offers if o.kind in RENTED and o.seen_on)
    facts = Facts(offers=market(known))
    found: dict[str, Any] = {"python": platform.python_version(), "machine": platform.machine()}
    for name in WORK:
        need = replace(need_for(name), gpus=(1, COUNTS))
        found[name] = {"first": seconds(need, facts, 1), "again": seconds(need, facts, TIMES)}
        print(name, found[name])
    out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
