"""Measure a zoo of networks on one NVIDIA GPU by a fast protocol: a few seconds a row, profiles of some.

    python experiments/zoo.py results/zoo --time 17
    python experiments/zoo.py OUT --phase compiled --time 9 --done results/zoo/zoo.jsonl.gz
    python experiments/zoo.py --list
    python experiments/zoo.py OUT --toy --time 1

A row is one network in one mode, precision and batch, as `gpuwise` runs it. Two phases: eager rows, then
compiled ones. Networks are built, and code is compiled, in worker processes side by side; but they take turns
at the GPU, so whatever is timed has it alone. Networks come in a random order that is always the same, so a
run that is cut off anywhere leaves a balanced sample, and a row that fails is kept with its error.

Writes zoo.jsonl.gz (rows), profiles.jsonl.gz (kernels and operators of two steps) and environment.json. While
it runs they are plain .jsonl, which a run that is killed leaves behind.
"""

from __future__ import annotations

import argparse
import collections
import fcntl
import gc
import gzip
import importlib.metadata
import json
import math
import multiprocessing
import multiprocessing.connection
import multiprocessing.process
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TextIO

import torch
from torch import Tensor, nn
from zoo_networks import LARGEST, SEED, Network, find, listing

from gpuwise.measure.telemetry.nvml import sensors
from gpuwise.measure.telemetry.sensor import Sampler, Sensor
from gpuwise.model.question import RunConfig
from gpuwise.workloads.job import Job, inference_job, set_precision, training_job

WARM, WINDOWS = 3, 3
IMAGE = 4
"""Dimensions of a batch of images."""
WINDOW_S, WINDOW_STEPS = 0.25, 20
"""A window ends after so long or so many steps, whichever comes first."""
SLOW_S = 1.5
"""Steps longer than this are timed twice, not in three windows."""
LAUNCHES = 300
TRIES, TRY_S, TRIED_S = 40, 0.06, 1.2
"""At most so many short windows more, each between two readings of the core, in so many seconds."""
LOOPS = 20
"""Of a reading of the core, a quarter of a millisecond."""
PROFILED_STEPS, PROFILED_OPERATORS = 2, 60
EXTRA = {"fp32": 0.25, "tf32": 0.25, "fp16": 0.1, "bf16": 0.4}
"""Share of each precision in the third eager row, which two thirds of the networks have."""
EXTRA_SHARE, PROFILED_SHARE = 0.65, 0.5
VISIT_S = {False: 90.0, True: 240.0}
"""Longest visit, eager and compiled, waiting for its turns included; then its worker is ended."""
TURN_S = 25.0
"""An eager visit that has had the GPU for so long gives up its other rows."""
CROWDED = "the rows before it took too long"
EAGER_SHARE = 0.6
"""Of the time, where both phases run."""
POWER_PERIOD_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is asked of one measurement."""

    network: str
    mode: str
    precision: str
    compiled: bool
    batch: int
    profile: bool = False

    @property
    def key(self) -> str:
        how = "compiled" if self.compiled else "eager"
        return f"{self.network}:{self.mode}:{self.precision}:{how}:b{self.batch}"


Visit = tuple[Row, ...]
"""Rows of one network, which is built once."""
Keep = Callable[[dict[str, Any]], None]


def visits(network: Network, chance: random.Random) -> tuple[Visit, Visit]:
    """The eager and the compiled rows of a network, drawn at random.

    What is profiled comes last: launches are slower for good where a profiler has run.
    """

    def row(mode: str, precision: str, batch: int, *, compiled: bool = False) -> Row:
        return Row(network=network.name, mode=mode, precision=precision, compiled=compiled, batch=batch)

    eager = [row(mode, "bf16", chance.choice(network.batches)) for mode in ("train", "infer")]
    if chance.random() < EXTRA_SHARE:
        precision = chance.choices(list(EXTRA), list(EXTRA.values()))[0]
        batch = network.batches[0] if precision == "fp32" else chance.choice(network.batches)
        extra = row(chance.choice(("train", "infer")), precision, batch)
        eager += [extra] if extra not in eager else []
    mode = chance.choice(("train", "infer"))
    compiled = [row(mode, "bf16", chance.choice(network.batches), compiled=True)]
    for rows in (eager, compiled):
        chance.shuffle(rows)
        if chance.random() < PROFILED_SHARE:
            rows[-1] = replace(rows[-1], profile=True)
    return tuple(eager), tuple(compiled)


class Turn:
    """The GPU, which one process has at a time. A process that ends gives it back."""

    def __init__(self, path: Path) -> None:
        self._file: TextIO = path.open("w")
        self.taken_s: float | None = None

    def take(self) -> None:
        if self.taken_s is None:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            self.taken_s = time.monotonic()

    def give(self) -> None:
        if self.taken_s is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self.taken_s = None


def take_turns_when_compiled(turn: Turn) -> None:
    """Compile without the GPU, and take it before compiled code runs for the first time."""
    from torch._inductor import compile_fx as inductor

    compile_fx = inductor.compile_fx

    def waiting(*arguments: Any, **options: Any) -> Callable[..., Any]:
        run = compile_fx(*arguments, **options)

        def wait_and_run(*values: Any) -> Any:
            turn.take()
            return run(*values)

        return wait_and_run

    inductor.compile_fx = waiting  # type: ignore[assignment]


def squares(outputs: tuple[Tensor, ...]) -> Tensor:
    """A loss that any network has: the sum of the mean squares of its outputs."""
    return torch.stack([output.float().square().mean() for output in outputs]).sum()


def job_of(row: Row, network: Network, model: nn.Module, device: str) -> Job:
    """The step of a row in gpuwise's tuned recipe; `model` is on the device."""
    config = RunConfig(
        workload=row.network,
        mode=row.mode,  # type: ignore[arg-type]
        precision=row.precision,  # type: ignore[arg-type]
        compile=row.compiled,
        batch=row.batch,
        device=device,  # type: ignore[arg-type]
    )
    set_precision(config)
    with torch.device(device):
        inputs = network.inputs(row.batch)
    if any(x.is_floating_point() and x.dtype != torch.float32 for x in model.parameters()):
        model = model.float()  # 16-bit inference came before
    if network.images:
        layout = torch.channels_last if channels_last(row, network) else torch.contiguous_format
        model = model.to(memory_format=layout)  # type: ignore[call-overload]
        inputs = tuple(x.to(memory_format=layout) if x.dim() == IMAGE else x for x in inputs)
    if row.mode == "infer":
        return inference_job(model, inputs, config, row.batch)
    fused = device == "cuda"
    optimizer: torch.optim.Optimizer
    if network.optimiser == "sgd":
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-6, momentum=0.9, weight_decay=1e-4, fused=fused)
        # Fused SGD leaves them unwritten where the fp16 scaler skips the first step (torch 2.11).
        for parameter in model.parameters():
            optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=fused)
    return training_job(model, inputs, squares, optimizer, config, row.batch)


def channels_last(row: Row, network: Network) -> bool:
    """As gpuwise's tuned recipe has it: of images, but not in IEEE fp32, where cuDNN has no fast kernels."""
    return network.images and row.precision != "fp32"


def synchronise(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def window(step: Callable[[], object], steps: int, device: str) -> list[float]:
    """Seconds of each step; the device is waited for at the end only."""
    if device != "cuda":
        marks = [time.perf_counter()]
        for _ in range(steps):
            step()
            marks.append(time.perf_counter())
        return [b - a for a, b in pairwise(marks)]
    events = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    events[0].record()
    for event in events[1:]:
        step()
        event.record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) / 1e3 for a, b in pairwise(events)]


def memory(device: str) -> dict[str, int]:
    """Most bytes since the last call: what tensors took, and what the driver had given."""
    if device != "cuda":
        return {}
    found = {"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}
    torch.cuda.reset_peak_memory_stats()
    return found


def launch_s(device: str) -> float:
    """What the host needs to start a kernel now: a slow one here explains a slow eager row."""
    tiny = torch.zeros(1, device=device)
    tiny.add_(1)
    synchronise(device)
    began = time.perf_counter()
    for _ in range(LAUNCHES):
        tiny.add_(1)
    taken = time.perf_counter() - began
    synchronise(device)
    return taken / LAUNCHES


def core_s() -> float:
    """What a loop of Python takes now, which no GPU and no memory slows: longer where the core is slow, most
    likely since its other thread works for somebody else."""
    began = time.perf_counter()
    for _ in range(LOOPS):
        sum(range(1000))
    return (time.perf_counter() - began) / LOOPS


def tries(step: Callable[[], object], warm_s: float, device: str) -> list[tuple[float, float, float]]:
    """Seconds of a step in short windows between readings of the core before and after: where both are fast
    the host was this process's own. The first step of a window starts with an empty queue and is left out."""
    steps = max(3, min(WINDOW_STEPS, math.ceil(TRY_S / warm_s)))
    found: list[tuple[float, float, float]] = []
    ends_s = time.monotonic() + TRIED_S
    while len(found) < TRIES and time.monotonic() < ends_s:
        before = core_s()
        taken = statistics.fmean(window(step, steps, device)[1:])
        found.append((round(before, 8), round(taken, 8), round(core_s(), 8)))
    return found


def timed(step: Callable[[], object], turn: Turn, device: str) -> dict[str, Any]:
    """First step, warm-up, windows. The turn is taken by the first step, where that compiles, or before."""
    memory(device)
    began = time.perf_counter()
    step()
    turn.take()
    synchronise(device)
    found: dict[str, Any] = {"first_step_s": round(time.perf_counter() - began, 4)}
    found["launch_s"] = round(launch_s(device), 8)
    for _ in range(WARM - 1):
        synchronise(device)
        began = time.perf_counter()
        step()
        synchronise(device)
        warm_s = time.perf_counter() - began
    found["peak_first"] = memory(device)
    steps = max(1, min(WINDOW_STEPS, math.ceil(WINDOW_S / warm_s)))
    count = WINDOWS if warm_s < SLOW_S else WINDOWS - 1
    found["begin_s"] = time.monotonic()
    each = [window(step, steps, device) for _ in range(count)]
    found["end_s"] = time.monotonic()
    if warm_s < SLOW_S:
        found["tries"] = tries(step, warm_s, device)
    means = [statistics.fmean(one) for one in each]
    return found | {
        "step_s": round(statistics.median(means), 8),
        "spread": round((max(means) - min(means)) / statistics.median(means), 5),
        "windows_s": [[round(seconds, 8) for seconds in one] for one in each],
        "peak": memory(device),
    }


def profiled(step: Callable[[], object], device: str) -> torch.profiler.profile:
    """A trace of `PROFILED_STEPS` steps, from which `summary` is made when the GPU is free again."""
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if device == "cuda":
        kinds.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=kinds, record_shapes=True) as trace:
        for _ in range(PROFILED_STEPS):
            step()
        synchronise(device)
    return trace


def summary(trace: torch.profiler.profile) -> dict[str, Any]:
    """Kernels by name and operators by name and shapes; counts and microseconds of all profiled steps."""
    on_device = torch.autograd.DeviceType.CUDA
    kernels = [
        (event.key, event.count, round(event.self_device_time_total, 1))
        for event in trace.key_averages()
        if event.device_type == on_device and not getattr(event, "is_user_annotation", False)
    ]
    operators = [
        (event.key, event.input_shapes, event.count, round(event.self_device_time_total, 1))
        for event in trace.key_averages(group_by_input_shape=True)
        if event.device_type != on_device and event.key.startswith(("aten::", "triton", "torch"))
    ]
    operators.sort(key=lambda operator: -operator[3])
    return {
        "steps": PROFILED_STEPS,
        "kernels": sorted(kernels, key=lambda kernel: -kernel[2]),
        "operators": operators[:PROFILED_OPERATORS],
    }


def rows_of(visit: Visit, turn: Turn, device: str, *, toy: bool) -> Iterator[dict[str, Any]]:
    """Measure the rows of one network. A failed row has its `error`; one that spoilt the GPU raises."""
    began = time.monotonic()
    try:
        network = find(visit[0].network, toy=toy)
        about = {
            "source": network.name.partition(":")[0],
            "family": network.family,
            "split": network.split,
            "settings": dict(network.settings),
            "optimiser": network.optimiser,
        }
        torch.manual_seed(SEED)
        model = network.make()
        about["parameters"] = sum(parameter.numel() for parameter in model.parameters())
        if about["parameters"] > LARGEST:
            raise ValueError(f"more than {LARGEST:,} parameters")
        about["build_s"] = round(time.monotonic() - began, 3)
        turn.take()
        model.to(device)
    except Exception as error:  # noqa: BLE001  a library may raise anything for one of its networks
        turn.give()
        yield from (asdict(row) | {"key": row.key, "error": told(error)} for row in visit)
        return
    for row in visit:
        record = asdict(row) | {"key": row.key} | about
        turn.take()
        if not row.compiled and turn.taken_s is not None and time.monotonic() - turn.taken_s > TURN_S:
            yield record | {"error": CROWDED}
            continue
        job = trace = None
        try:
            job = job_of(row, network, model, device)
            record["shapes"] = [list(x.shape) for x in job.inputs]
            record["dtypes"] = [str(x.dtype).removeprefix("torch.") for x in job.inputs]
            record["layout"] = "channels-last" if channels_last(row, network) else "contiguous"
            if row.compiled:
                turn.give()
            record |= timed(job.step, turn, device)
            if row.profile:
                trace = profiled(job.step, device)
        except Exception as error:  # noqa: BLE001  as above
            record["error"] = told(error)
        job = None
        model.zero_grad(set_to_none=True)
        cleared(device)
        if row.compiled:
            torch.compiler.reset()
            turn.give()
        if trace is not None:
            # Reading a trace takes seconds of a processor and nothing of the GPU.
            turn.give()
            record["profiled"] = summary(trace)
        yield record
    del model
    cleared(device)
    turn.give()


def cleared(device: str) -> None:
    """Give memory back, what cuBLAS's handles hold included, so that the next row does not count it."""
    gc.collect()
    if device == "cuda":
        torch._C._cuda_clearCublasWorkspaces()
        torch.cuda.empty_cache()


def told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:400]


def spoilt(error: str) -> bool:
    """Whether no kernel runs in this process any more. Memory that ran out spoils nothing."""
    return "CUDA error" in error or "CUDNN_STATUS_EXECUTION_FAILED" in error or "device-side" in error


def serve(pipe: Connection, lock: Path, device: str, toy: bool, compiling: bool) -> None:
    """A worker: visits in; rows out, then whether it ends. It does so after a profile, which slows the
    launches after it down, and when no kernel runs any more."""
    torch.set_num_threads(4)
    turn = Turn(lock)
    if compiling:
        take_turns_when_compiled(turn)
    over = False
    while not over:
        visit: Visit = pipe.recv()
        for record in rows_of(visit, turn, device, toy=toy):
            over = over or "profiled" in record or spoilt(record.get("error", ""))
            pipe.send(record)
        pipe.send(over)


@dataclass(slots=True)
class Worker:
    """A worker process as its parent sees it; `owed` are the rows still to come, None when it is idle."""

    process: multiprocessing.process.BaseProcess
    pipe: Connection
    owed: list[Row] | None = None
    until_s: float = math.inf

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Crew:
    """Workers side by side. One that hangs or dies loses its visit's other rows, and is replaced."""

    def __init__(self, size: int, lock: Path, device: str, keep: Keep, *, toy: bool, compiling: bool) -> None:
        self._arguments, self._keep = (lock, device, toy, compiling), keep
        self._workers = [self._started() for _ in range(size)]

    def _started(self) -> Worker:
        spawn = multiprocessing.get_context("spawn")
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=serve, args=(theirs, *self._arguments))
        process.start()
        theirs.close()
        return Worker(process, ours)

    def run(self, queue: list[Visit], until_s: float) -> None:
        """All visits of `queue`, or as many as end before `until_s` (monotonic)."""
        waiting = collections.deque(queue)
        while time.monotonic() < until_s:
            for worker in self._workers:
                if worker.owed is None and waiting:
                    visit = waiting.popleft()
                    worker.owed, worker.until_s = list(visit), time.monotonic() + VISIT_S[visit[0].compiled]
                    # A worker that died while idle is heard of below.
                    with suppress(OSError):
                        worker.pipe.send(visit)
            busy = [worker for worker in self._workers if worker.owed is not None]
            if not busy:
                break
            ready = multiprocessing.connection.wait([worker.pipe for worker in busy], timeout=0.5)
            for worker in busy:
                if worker.pipe in ready:
                    self._hear(worker)
                elif time.monotonic() > worker.until_s:
                    self._replace(worker, "the visit took too long")
        for worker in self._workers:
            worker.end()

    def _hear(self, worker: Worker) -> None:
        try:
            message: dict[str, Any] | bool = worker.pipe.recv()
        except (EOFError, OSError):
            self._replace(worker, "the process died")
            return
        if isinstance(message, dict):
            worker.owed = [row for row in worker.owed or () if row.key != message["key"]]
            self._keep(message)
        elif message:
            self._replace(worker, "")
        else:
            worker.owed = None

    def _replace(self, worker: Worker, why: str) -> None:
        for row in worker.owed or ():
            self._keep(asdict(row) | {"key": row.key, "error": why})
        worker.end()
        self._workers[self._workers.index(worker)] = self._started()


class Book:
    """The files of a run. Rows are written as they come, with the power and the clock of their windows."""

    def __init__(self, folder: Path, sampler: Sampler) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._sampler, self.rows = sampler, list[dict[str, Any]]()
        self._paths = [folder / name for name in ("zoo.jsonl", "profiles.jsonl")]
        self._files = [path.open("w", encoding="utf-8") for path in self._paths]

    def keep(self, record: dict[str, Any]) -> None:
        found = record.pop("profiled", None)
        if found is not None:
            record["kernel_count"] = sum(count for _, count, _ in found["kernels"]) / PROFILED_STEPS
            self._write(1, {"key": record["key"]} | found)
        if "begin_s" in record:
            record |= self._watts(record.pop("begin_s"), record.pop("end_s"))
        self.rows.append(record)
        self._write(0, record)

    def _watts(self, begin_s: float, end_s: float) -> dict[str, float | None]:
        """Means of what was sampled from `begin_s` to `end_s`. The driver's own power is that of a second,
        which is longer than the windows: the energy counter says more."""
        found = [sample for sample in self._sampler.samples if begin_s <= sample.at_s <= end_s]
        counted = [(s.at_s, s.energy_j) for s in found if s.energy_j is not None]
        # The counter moves every 20 to 100 ms: over less than a third of a second it says little.
        long = len(counted) > 1 and counted[-1][0] - counted[0][0] > 0.3
        clocks = [s.sm_clock_hz / 1e6 for s in found if s.sm_clock_hz is not None]
        watts = [s.power_w for s in found if s.power_w is not None]
        return {
            "energy_w": round((counted[-1][1] - counted[0][1]) / (counted[-1][0] - counted[0][0]), 1)
            if long
            else None,
            "power_w": round(watts[-1], 1) if watts else None,
            "sm_clock_mhz": round(statistics.fmean(clocks)) if clocks else None,
            "temperature_c": found[-1].temperature_c if found else None,
            "throttle": sorted({reason for s in found for reason in s.throttle}),
            "samples": len(found),
        }

    def _write(self, which: int, record: dict[str, Any]) -> None:
        print(json.dumps(record, separators=(",", ":")), file=self._files[which], flush=True)

    def close(self) -> None:
        """Pack what was written."""
        for path, file in zip(self._paths, self._files, strict=True):
            file.close()
            with gzip.open(f"{path}.gz", "wb") as packed:
                packed.write(path.read_bytes())
            path.unlink()


def environment(device: str, sensor: Sensor | None) -> dict[str, Any]:
    """What the rows were measured with."""
    versions: dict[str, str | None] = {}
    for library in ("torch", "torchvision", "timm", "transformers", "triton"):
        try:
            versions[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            versions[library] = None
    info = sensor.info() if sensor is not None else None
    asked = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    commit = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return versions | {
        "python": platform.python_version(),
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version() if device == "cuda" else None,
        "device": torch.cuda.get_device_name() if device == "cuda" else platform.processor(),
        "driver": info.driver if info is not None else None,
        "power_limit_w": info.power_limit_w if info is not None else None,
        "sm_clock_max_mhz": info.sm_clock_max_hz / 1e6
        if info is not None and info.sm_clock_max_hz is not None
        else None,
        "cores": os.cpu_count(),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "command": ["python", "experiments/zoo.py", *sys.argv[2:]],
        "commit": commit or None,
        "seed": SEED,
        "cleared": True,
    }


def planned(asked: argparse.Namespace) -> dict[str, list[Visit]]:
    """The visits of each phase that this run has to make, in its order."""
    known: set[str] = set()
    for path in asked.done:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
            known |= {row["key"] for row in map(json.loads, lines) if row.get("error") != CROWDED}
    plan: dict[str, list[Visit]] = {"eager": [], "compiled": []}
    part, parts = asked.part
    for name in asked.only or listing(toy=asked.toy)[part - 1 :: parts]:
        drawn = visits(find(name, toy=asked.toy), random.Random(f"{SEED}:{name}"))
        for phase, visit in zip(plan, drawn, strict=True):
            left = tuple(row for row in visit if row.key not in known)
            if left and asked.phase in ("both", phase):
                plan[phase].append(left)
    return plan


def table(rows: list[dict[str, Any]], elapsed_s: float) -> str:
    """Rows by source and mode: measured, failed."""
    count: collections.Counter[tuple[str, str]] = collections.Counter()
    for row in rows:
        how = "compiled" if row["compiled"] else "eager"
        count[f"{row['network'].partition(':')[0]:12}{row['mode']:6}{how:9}", "error" in row] += 1
    kinds = sorted({kind for kind, _ in count})
    lines = [f"{kind}{count[kind, False]:5} measured{count[kind, True]:5} failed" for kind in kinds]
    good = [row for row in rows if "error" not in row]
    networks, profiles = {row["network"] for row in good}, sum("kernel_count" in row for row in good)
    return "\n".join(
        (*lines, f"{len(good)} rows of {len(networks)} networks, {profiles} profiles, {elapsed_s:.0f} s")
    )


def part_of(text: str) -> tuple[int, int]:
    part, parts = map(int, text.split("/"))
    if not 1 <= part <= parts:
        raise ValueError(text)
    return part, parts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="where the three files go")
    parser.add_argument("--time", type=float, default=17.0, help="minutes, starting included")
    parser.add_argument("--phase", choices=("both", "eager", "compiled"), default="both")
    parser.add_argument("--done", type=Path, action="append", default=[], help="rows not to measure again")
    parser.add_argument("--part", type=part_of, default=(1, 1), help="as 1/2: this half of the networks")
    parser.add_argument("--builders", type=int, default=3, help="workers that build, in the eager phase")
    parser.add_argument("--compilers", type=int, default=6, help="workers of the compiled phase")
    parser.add_argument("--toy", action="store_true", help="own networks, tiny, on the CPU")
    parser.add_argument("--most", type=int, help="at most so many networks a phase")
    parser.add_argument("--only", action="append", default=[], help="these networks, as own:nerf")
    parser.add_argument("--list", action="store_true", help="print the rows in their order and measure none")
    asked = parser.parse_args()
    began = time.monotonic()
    plan = planned(asked)
    if asked.list:
        for row in (row for phase in plan.values() for visit in phase for row in visit):
            print(f"{find(row.network, toy=asked.toy).split:6}{row.key}{' profile' * row.profile}")
        return
    if asked.folder is None:
        parser.error("say where the files go")
    device = "cpu" if asked.toy else "cuda"
    # Workers inherit these: one cache of compiled code, and no more compilers than cores.
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(tempfile.gettempdir()) / "zoo-inductor"))
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")
    card = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
    lock = Path(tempfile.gettempdir()) / f"zoo-turn-{card}.lock"
    sensor = dict(enumerate(() if asked.toy else sensors())).get(int(card) if card.isdigit() else 0)
    ends = {"eager": began + 60 * asked.time, "compiled": began + 60 * asked.time}
    if asked.phase == "both":
        ends["eager"] = began + EAGER_SHARE * 60 * asked.time
    with Sampler(sensor, POWER_PERIOD_S) as sampler:
        book = Book(asked.folder, sampler)
        (asked.folder / "environment.json").write_text(
            json.dumps(environment(device, sensor), indent=1) + "\n", encoding="utf-8"
        )
        for phase, size in (("eager", asked.builders), ("compiled", asked.compilers)):
            if plan[phase]:
                crew = Crew(size, lock, device, book.keep, toy=asked.toy, compiling=phase == "compiled")
                crew.run(plan[phase][: asked.most], ends[phase])
                print(table(book.rows, time.monotonic() - began), flush=True)
        book.close()


if __name__ == "__main__":
    main()
