"""Why recipe script is faster than the benchmark article's script: the input it copies each step.

    python experiments/parity_input.py OUT.json

The script moves a new fp32 batch from host memory to the device in every step, on the stream
that computes; gpuwise measures with a batch that is already there. This times the script step of
ResNet-50 (fp16, batch 256) with a static input, with a copy from pageable and from pinned memory.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from gpuwise import workloads
from gpuwise.measure.engine import run_steps, timing_plan, warm_up
from gpuwise.measure.frameworks.torch import EventClock
from gpuwise.model.question import RunConfig
from gpuwise.stats.interval import throughput

BATCH = 256
WINDOWS, STEPS = 5, 30


def windows(step: Callable[[], object]) -> list[tuple[float, ...]]:
    """Step times of WINDOWS windows after warm-up."""
    clock = EventClock("cuda")
    config = RunConfig(workload="resnet50", mode="train", precision="fp16", time_s=10)
    warm_up(step, clock, timing_plan(config))
    return [run_steps(step, clock, STEPS) for _ in range(WINDOWS)]


def measure(*, compiled: bool) -> list[dict[str, object]]:
    """Static, pageable and pinned input of one job."""
    config = RunConfig(workload="resnet50", mode="train", precision="fp16", compile=compiled, recipe="script")
    step = workloads.get("resnet50").build(config, BATCH).step
    pageable = torch.randn(BATCH, 3, 224, 224)
    target = torch.empty_like(pageable, device="cuda")
    sources = {"static": None, "pageable": pageable, "pinned": pageable.pin_memory()}
    rows = []
    for name, source in sources.items():

        def with_input(source: torch.Tensor | None = source) -> None:
            if source is not None:
                target.copy_(source, non_blocking=True)
            step()

        times = windows(with_input)
        speed = throughput(times, BATCH)
        rows.append({"input": name, "compiled": compiled, "step_s": times, "images_per_s": speed.value})
        print(f"{'compiled' if compiled else 'eager'} {name}: {speed.value:,.0f} images/s")
    return rows


def main() -> None:
    rows = [row for compiled in (False, True) for row in measure(compiled=compiled)]
    document = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "batch": BATCH,
        "rows": rows,
    }
    Path(sys.argv[1]).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
