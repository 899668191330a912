"""Measure many recipes of the built-in workloads, each in a process of its own, and rank them.

    python experiments/explore_recipes.py OUT.json [--only NAME,NAME] [--seconds 520] [--workers 3]

A variant compiles while another is timed; a lock on the GPU keeps what runs alone on it. Three windows of
about a second follow a warm-up: enough to rank changes of 1 % and more, while `gpuwise bench` and
`gpuwise tune` measure. A failure is a line; variants that ask for it bring kernel times by class. The
first variant holds the project's own kernels against torch.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WINDOWS, WINDOW_S, WARM_S = 3, 1.2, 1.5
BRIEF = ("per_s", "watts", "first", "gradient_norms", "last", "compile_s", "peak_gb")

Variant = dict[str, Any]
Step = Callable[[], Any]


def variant(
    name: str,
    workload: str,
    batch: int,
    precision: str = "fp16",
    mode: str = "train",
    *,
    profile: bool = False,
    plain: bool = False,
    **switches: str,
) -> Variant:
    """`plain` is eager, channels-first autocast with torch's defaults; else compiled with the switches."""
    config = {"workload": workload, "mode": mode, "precision": precision, "batch": batch}
    config |= {"recipe": "script" if plain else "stock", "compile": not plain}
    return {"name": name, "config": config, "switches": switches, "profile": profile}


TRITON, HALF, OWN = {"pooling": "triton"}, {"residual_dtype": "half"}, {"residual_dtype": "triton"}
VARIANTS: list[Variant] = [
    {"name": "kernels"},
    variant("bert-own", "bert-large", 128, "bf16", **OWN, profile=True),
    variant("bert-own-half", "bert-large", 128, "bf16", **OWN, master_weights="on"),
    variant("bert-own-b256", "bert-large", 256, "bf16", **OWN),
    variant("bert-own-b192", "bert-large", 192, "bf16", **OWN),
    variant("bert-own-graph", "bert-large", 128, "bf16", **OWN, graph="on"),
    variant("bert-stream", "bert-large", 128, "bf16", **HALF, profile=True),
    variant("bert-fp8", "bert-large", 128, "fp8", **OWN, profile=True),
    variant("bert-fp8-b256", "bert-large", 256, "fp8", **OWN),
    variant("r50-pool", "resnet50", 1024, **TRITON),
    variant("r50-graph", "resnet50", 1024, **TRITON, graph="on"),
    variant("r50-pool-b512", "resnet50", 512, **TRITON),
    variant("r50-pool-b2048", "resnet50", 2048, **TRITON),
    variant("r50-pool-b1536", "resnet50", 1536, **TRITON),
    variant("r50-norms-b2048", "resnet50", 2048, **TRITON, norms="triton", profile=True),
    variant("r152-norms", "resnet152", 512, **TRITON, norms="triton", profile=True),
    variant("r50-descent", "resnet50", 1024, **TRITON, compiler="descent"),
    variant("r50-half", "resnet50", 1024, **TRITON, master_weights="on"),
    variant("r50-pool-bf16", "resnet50", 1024, "bf16", **TRITON),
    variant("r50-infer-graph", "resnet50", 1024, mode="infer", graph="on"),
    variant("incep-pool-b512", "inception-v3", 512, **TRITON, profile=True),
    variant("incep-plain", "inception-v3", 256, plain=True),
    variant("r152-pool-b256", "resnet152", 256, **TRITON, profile=True),
    variant("r152-pool", "resnet152", 512, **TRITON),
    variant("incep-plain-b512", "inception-v3", 512, plain=True),
    variant("r152-infer", "resnet152", 512, mode="infer"),
    variant("r152-infer-plain", "resnet152", 256, mode="infer", plain=True),
    variant("incep-infer", "inception-v3", 512, mode="infer", **TRITON),
    variant("incep-infer-plain", "inception-v3", 256, mode="infer", plain=True),
    variant("goog-infer", "googlenet", 1024, mode="infer", **TRITON),
    variant("goog-infer-plain", "googlenet", 512, mode="infer", plain=True),
    variant("goog-pool", "googlenet", 1024, **TRITON),
    variant("goog-pool-b512", "googlenet", 512, **TRITON),
]


class GpuLock:
    """Only its holder runs on the GPU; the kernel frees it when the process dies."""

    def __init__(self, path: str) -> None:
        self.file, self.held = Path(path).open("w"), False  # noqa: SIM115  held as long as the process

    def take(self) -> None:
        if not self.held:
            fcntl.flock(self.file, fcntl.LOCK_EX)
            self.held = True


def child(asked: Variant, lock: GpuLock) -> None:
    """Measure one variant and print its figures."""
    import torch

    if "config" not in asked:
        from own_kernels import compared

        lock.take()
        print("RESULT " + json.dumps({"kernels_right": compared()}), flush=True)
        return
    job, began = built(asked, lock), time.monotonic()
    out: dict[str, Any] = {}
    if job.gradient_norm is not None:
        out["gradient_norms"] = [round(job.gradient_norm(), 4) for _ in range(2)]
    out["first"] = mean(job.step())
    lock.take()
    out["compile_s"] = round(time.monotonic() - began, 1)
    out |= timed(job.step, asked["config"]["batch"])
    if torch.cuda.is_available():
        out["peak_gb"] = round(torch.cuda.max_memory_allocated() / 1e9, 1)
        if asked["profile"]:
            out["kernels"] = profiled(job.step)
    print("RESULT " + json.dumps(out), flush=True)


def built(asked: Variant, lock: GpuLock) -> Any:
    """The job that gpuwise builds; what is compiled takes the lock before it first runs."""
    import torch
    from torch._inductor.compile_fx import compile_fx

    from gpuwise import workloads
    from gpuwise.model.question import RunConfig, Switches
    from gpuwise.workloads import job as jobs
    from gpuwise.workloads.job import SEARCHES

    def compiled(function: Step, config: RunConfig) -> Step:
        patches = dict(SEARCHES[config.switches.compiler])
        if config.switches.graph == "on":
            patches["triton.cudagraphs"] = True

        def backend(graph: Any, examples: Any) -> Any:
            code = compile_fx(graph, examples, config_patches=patches)

            def run(*arguments: Any) -> Any:
                lock.take()
                return code(*arguments)

            return run

        return torch.compile(function, backend=backend, dynamic=False)

    jobs.compiled = compiled
    config = RunConfig(**asked["config"], switches=Switches(**asked["switches"]))
    if not torch.cuda.is_available():
        config = RunConfig(
            **asked["config"] | {"compile": False}, switches=config.switches, device="cpu", size="toy"
        )
    if not config.compile:
        lock.take()
    torch.manual_seed(0)
    return workloads.get(config.workload).build(config, asked["config"]["batch"])


def timed(step: Step, batch: int) -> dict[str, Any]:
    """Items per second of the windows, and the watts meanwhile."""
    begin = time.monotonic()
    while (spent := time.monotonic() - begin) < WARM_S:
        last = lap(step, 1)
    count = max(3, int(WINDOW_S / last))
    before = energy_j()
    rates = [count * batch / lap(step, count) for _ in range(WINDOWS)]
    after, spent = energy_j(), sum(count * batch / rate for rate in rates)
    return {
        "per_s": round(sorted(rates)[WINDOWS // 2], 2),
        "rates": [round(rate, 2) for rate in rates],
        "watts": None if before is None or after is None else round((after - before) / spent),
        "last": mean(step()),
    }


def lap(step: Step, count: int) -> float:
    """Seconds of so many steps."""
    import torch

    began = time.monotonic()
    for _ in range(count):
        step()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.monotonic() - began


def mean(x: Any) -> float:
    return round(float(x.detach().float().mean()), 5)


def energy_j() -> float | None:
    """The GPU's energy counter, where it can be read."""
    try:
        import pynvml

        pynvml.nvmlInit()
        return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(pynvml.nvmlDeviceGetHandleByIndex(0))) / 1e3
    except Exception:  # noqa: BLE001  no counter, no watts
        return None


CLASSES = [
    ("own", r"^_(norm|gelu|max_pool)_|^_cast"),
    ("attention", r"flash|fmha|sdpa|cudnn_generated_fort|dot_do_o|convert_dq"),
    ("optimiser", r"multi_tensor"),
    ("convolution", r"conv\b|wgrad|dgrad|fprop|implicit|nhwcTo|nchwTo"),
    ("matmul", r"gemm|nvjet|cutlass|cublas|splitK|triton_tem"),
    ("generated", r"triton"),
    ("copy", r"memcpy|memset"),
]


def profiled(step: Step, steps: int = 3) -> dict[str, Any]:
    """Milliseconds a step by class and of the slowest kernels, and the time from first to last."""
    import torch
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as found:
        lap(step, steps)
    torch.cuda.synchronize()
    kernels: dict[str, list[float]] = {}
    ends: list[tuple[float, float]] = []
    for event in found.events():
        if event.device_type == DeviceType.CUDA and not event.name.startswith("Optimizer."):
            kernels.setdefault(event.name, []).append(event.time_range.elapsed_us())
            ends.append((event.time_range.start, event.time_range.end))
    by_class: dict[str, float] = {}
    for name, times in kernels.items():
        kind = next((k for k, pattern in CLASSES if re.search(pattern, name, re.IGNORECASE)), "other")
        by_class[kind] = by_class.get(kind, 0.0) + sum(times) / steps / 1e3
    slowest = sorted(kernels.items(), key=lambda item: -sum(item[1]))[:45]
    return {
        "span_ms": round((max(e for _, e in ends) - min(s for s, _ in ends)) / steps / 1e3, 2),
        "classes_ms": {k: round(x, 2) for k, x in sorted(by_class.items(), key=lambda i: -i[1])},
        "top": [[name[:110], len(x) // steps, round(sum(x) / steps / 1e3, 3)] for name, x in slowest],
    }


def work(todo: queue.Queue[Variant], results: list[Any], lock: str, deadline: float, out: Path) -> None:
    """Take variants until there are none, or no time."""
    while time.monotonic() < deadline - 15:
        try:
            asked = todo.get_nowait()
        except queue.Empty:
            return
        began = time.monotonic()
        results.append(
            row := asked | one(asked, lock, deadline) | {"took_s": round(time.monotonic() - began)}
        )
        brief = {key: row[key] for key in BRIEF if key in row}
        print(f"{row['name']:18s}", row.get("error", "")[-300:] or brief, f"{row['took_s']} s", flush=True)
        if "kernels_right" in row:
            print(json.dumps(row["kernels_right"], indent=1), flush=True)
        if kernels := row.get("kernels"):
            print("   ", kernels["span_ms"], kernels["classes_ms"], flush=True)
        out.write_text(json.dumps(results, indent=1), encoding="utf-8")


def one(asked: Variant, lock: str, deadline: float) -> dict[str, Any]:
    """The figures of one variant, or its error."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--child", json.dumps(asked), "--lock", lock],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    limit = min(deadline - time.monotonic(), 240)
    try:
        text, talk = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return {"error": f"stopped after {limit:.0f} s; {process.communicate()[1][-300:]}"}
    found = [line for line in text.splitlines() if line.startswith("RESULT ")]
    return json.loads(found[-1][7:]) if found else {"error": talk[-1500:] or text[-500:]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--only")
    parser.add_argument("--seconds", type=float, default=520)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--lock", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(json.loads(args.child), GpuLock(args.lock))
        return
    deadline = time.monotonic() + args.seconds
    todo: queue.Queue[Variant] = queue.Queue()
    for each in VARIANTS:
        if not args.only or each["name"] in args.only.split(","):
            todo.put(each)
    results: list[Any] = []
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = str(max(4, (os.cpu_count() or 4) // args.workers))
    os.environ["PYTHONWARNINGS"] = "ignore"
    with tempfile.NamedTemporaryFile() as lock:
        arguments = (todo, results, lock.name, deadline, args.out)
        threads = [threading.Thread(target=work, args=arguments) for _ in range(args.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for left in list(todo.queue):
        print(f"{left['name']:18s} not run: out of time")


if __name__ == "__main__":
    main()
