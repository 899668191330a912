"""What watching costs: the same step timed while the sensor is sampled and while it is not, in turn.

    python experiments/telemetry_cost.py OUT.json [--rounds 20] [--device cpu]

As in `gpuwise bench`, another process samples: a watcher, which imports no torch, starts and stops the
sampler on request. Each round times a window with and a window without it, the order changing from
round to round, so that heat and clocks favour neither. The cost is 1 minus the mean ratio of the two
speeds, with its 95 % interval (Student's t over rounds). On a CPU a scripted sensor stands for the GPU's.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from gpuwise.measure import telemetry
from gpuwise.measure.engine import run_steps, timing_plan, warm_up
from gpuwise.measure.frameworks.torch import clock_for
from gpuwise.measure.telemetry.sensor import DeviceInfo, Sample, Sampler
from gpuwise.model.question import Device, RunConfig
from gpuwise.stats.interval import throughput

WINDOW_S = 1.0
CONFIGS = (
    # The usual case, and the hardest: a step so short that the host is barely ahead of the device.
    ("resnet50", "train", 256),
    ("resnet50", "infer", 16),
)


def watch(device: Device, orders: Connection) -> None:
    """Body of the watcher: sample between True and False, and answer with (samples, share of a core)."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
    from scripted_sensor import ScriptedSensor

    scripted = ScriptedSensor(DeviceInfo(index=0, name="Scripted"), [Sample(at_s=0.0, power_w=100.0)])
    sensor = scripted if device == "cpu" else telemetry.sensors()[0]
    while orders.recv() is not None:
        began, busy = time.monotonic(), time.process_time()
        with Sampler(sensor) as sampler:
            orders.send("sampling")
            orders.recv()
        share = (time.process_time() - busy) / (time.monotonic() - began)
        orders.send((len(sampler.samples), share, sampler.error))


def compare(config: RunConfig, batch: int, rounds: int, orders: Connection) -> dict[str, object]:
    """Window times of both, round by round, and what the sampling took from the speed."""
    from gpuwise import workloads

    step, clock = workloads.get(config.workload).build(config, batch).step, clock_for(config.device)
    warm = warm_up(step, clock, timing_plan(config))
    count = max(1, round(WINDOW_S / warm[-1]))
    times: dict[bool, list[float]] = {True: [], False: []}
    sampled = []
    for number in range(rounds):
        for watched in (True, False) if number % 2 else (False, True):
            if watched:
                orders.send(True)
                orders.recv()
            times[watched].append(sum(run_steps(step, clock, count)) / count)
            if watched:
                orders.send(False)
                sampled.append(orders.recv())
    ratios = [(on / off,) for on, off in zip(times[True], times[False], strict=True)]
    speed = throughput(ratios, 1.0)
    return {
        "config": config.key(),
        "batch": batch,
        "steps_a_window": count,
        "watched_s": times[True],
        "unwatched_s": times[False],
        "samples": [each[0] for each in sampled],
        "watcher_core_share": sum(each[1] for each in sampled) / len(sampled),
        "errors": sorted({each[2] for each in sampled if each[2]}),
        "cost_share": 1 - speed.value,
        "cost_low": 1 - speed.high,
        "cost_high": 1 - speed.low,
    }


def run(device: Device, rounds: int, say: Callable[[str], object] = print) -> dict[str, object]:
    """The whole document."""
    import torch

    context = multiprocessing.get_context("spawn")
    mine, its = context.Pipe()
    watcher = context.Process(target=watch, args=(device, its), daemon=True)
    watcher.start()
    found = []
    for workload, mode, batch in CONFIGS:
        toy = device == "cpu"
        config = RunConfig(
            workload=workload,
            mode=mode,  # type: ignore[arg-type]
            precision="fp32" if toy else "bf16",
            compile=not toy,
            device=device,
            size="toy" if toy else "full",
            quick=toy,
            time_s=1.0 if toy else 60.0,
        )
        row = compare(config, 2 if toy else batch, rounds, mine)
        say(
            f"{row['config']} batch {row['batch']}: watching costs {row['cost_share']:+.3%} "
            f"({row['cost_low']:+.3%} to {row['cost_high']:+.3%})"
        )
        found.append(row)
    mine.send(None)
    watcher.join(5)
    name = telemetry.cpu_name() if device == "cpu" else torch.cuda.get_device_name()
    return {"device": name, "torch": torch.__version__, "period_s": 0.1, "rounds": found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    asked = parser.parse_args()
    document = run(asked.device, asked.rounds)
    asked.output.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
