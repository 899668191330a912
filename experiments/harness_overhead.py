"""What the timing costs: the engine's timed steps against a bare loop of the same step.

    python experiments/harness_overhead.py OUT.json

Both run the same compiled ResNet-50 step in one process, in turn, eleven times each. A bare round is
one synchronisation, N steps, one synchronisation, timed by the host; a timed round is what the engine
reports of N steps. Training at batch 256 is the usual case, inference at batch 16 the hardest: its host
is barely ahead of the device.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch

from gpuwise import workloads
from gpuwise.measure.engine import run_steps
from gpuwise.measure.frameworks.torch import EventClock
from gpuwise.model.question import RunConfig

ROUNDS, WARM = 11, 20


def bare(step: Callable[[], object], count: int) -> float:
    """Seconds a step, from the host's clock around an undisturbed loop."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / count


def timed(step: Callable[[], object], clock: EventClock, count: int) -> float:
    """Seconds a step as the engine reports them, which times every step."""
    torch.cuda.synchronize()
    return sum(run_steps(step, clock, count)) / count


def compare(config: RunConfig, batch: int, count: int) -> dict[str, object]:
    """Step times of both, round by round, and the ratio of their medians."""
    step = workloads.get(config.workload).build(config, batch).step
    clock = EventClock("cuda")
    bare(step, WARM)
    timed(step, clock, count)
    rounds = [(bare(step, count), timed(step, clock, count)) for _ in range(ROUNDS)]
    plain, harness = ([pair[i] for pair in rounds] for i in (0, 1))
    return {
        "config": config.key(),
        "batch": batch,
        "steps_a_round": count,
        "bare_s": plain,
        "engine_s": harness,
        "cost_share": median(harness) / median(plain) - 1,
    }


def main() -> None:
    train = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)
    small = RunConfig(workload="resnet50", mode="infer", precision="bf16", compile=True)
    found = [compare(train, 256, 30), compare(small, 16, 300)]
    document = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "rounds": found}
    Path(sys.argv[1]).write_text(json.dumps(document, indent=1) + "\n")
    for row in found:
        print(f"{row['config']} batch {row['batch']}: the engine costs {row['cost_share']:+.3%}")


if __name__ == "__main__":
    main()
