"""How long an answer takes: 300 GPUs, 5,000 offers, 1 to 8 GPUs of each.

    python -m evaluation.choose.timing results/choose/timing.json

The offers are drawn with a seed from those that ship and given to the GPUs and counts in turn; GPUs beside
those that have an offer are drawn from the catalog. Medians of five answers of one process, of the processor
and of the wall clock: `first` predicts every speed (a new process has to), `again` is the same question to the
same process with the speeds in its memory, `judged` is the ranking alone.
"""

from __future__ import annotations

import json
import platform
import random
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from gpuwise.facts import catalog
from gpuwise.facts.prices import Offer
from gpuwise.jobs.choosing import _Market
from gpuwise.jobs.choosing import choose, need_for
from gpuwise.jobs.facts import Facts
from gpuwise.judge.choose import decide
from gpuwise.judge.choose import need as needs
from gpuwise.predictor.forecast import forecast

SEED, GPUS, OFFERS, COUNTS, TIMES = 27, 300, 5_000, 8, 5
WORK = ("resnet50", "llama-3.1-70b")
RENTED = ("on-demand", "spot", "reserved", "community")


def market(known: tuple[Offer, ...]) -> tuple[Offer, ...]:
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


def timed(what: Callable[[], Any], times: int = TIMES) -> dict[str, float]:
    """Median seconds."""
    taken = []
    for _ in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        what()
        taken.append((time.process_time() - cpu, time.perf_counter() - wall))
    return {"cpu_s": round(median(t[0] for t in taken), 3), "wall_s": round(median(t[1] for t in taken), 3)}


def main(out: Path) -> None:
    known = tuple(o for o in Facts().offers if o.kind in RENTED and o.seen_on)
    facts = Facts(offers=market(known))
    found: dict[str, Any] = {"python": platform.python_version(), "machine": platform.machine()}
    for name in WORK:
        need = replace(need_for(name), gpus=(1, COUNTS))
        row = found[name] = {"first": timed(lambda: choose(need, facts), 1)}
        row["again"] = timed(lambda: choose(need, facts))
        print(name, row)
    out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
