"""Whatever a child reports, the file that a session writes of it loads again, and nothing that is computed or
printed of it is infinite or not a number."""

from __future__ import annotations

import contextlib
import io
import json
import math
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwise import checks, store, workloads
from gpuwise.cli.main import run
from gpuwise.errors import NoDataError
from gpuwise.facts import catalog
from gpuwise.measure import events
from gpuwise.measure.assemble import Limits, MeasurementBuilder, assemble
from gpuwise.measure.prepare import ResultWriter
from gpuwise.measure.session import with_framework
from gpuwise.measure.telemetry.sensor import Sample
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import BatchTrial, Group, KernelTime, Profile, Rank, Result, Window, records_of
from gpuwise.stats.comparison import compare

READY = events.Ready(version="2.11.0", device="NVIDIA H200", memory_bytes=141 * 10**9, cuda="13.0")
HOST = with_framework(Environment(device="NVIDIA H200", gpu_id="h200-sxm", sm_clock_max_hz=1.98e9), READY)
GROUP = Group(
    backend="nccl", ranks=tuple(Rank(rank=r, device="x", alone_s=s) for r, s in enumerate((None, 1e-9, 1e3)))
)
ASKED = (("matmul", "limit"), ("copy", "limit"), ("resnet50", "train"), ("bert-large", "infer"))
# Digits and quotes, as the error of a workload may hold them.
SAID = 'AssertionError: " \\ \n' + 400 * "9"


def steps(luck: random.Random) -> tuple[float, ...]:
    """One window: steps of 150 ns to an hour that are equal, alike, or quite different; with a stall."""
    usual, noise = luck.uniform(math.log(150e-9), math.log(3600)), luck.choice((0.0, 1e-6, 0.01, 1.0, 12.0))
    count = luck.choice((1, 2, 3, 20, 100))
    times = [math.exp(usual + luck.uniform(-noise, noise)) for _ in range(count)]
    times[luck.randrange(count)] *= luck.choice((1, 1, 1e4))
    return tuple(min(max(each, 150e-9), 3600.0) for each in times)


def reported(luck: random.Random, mode: str) -> Iterator[events.Event]:
    """The events of one child."""
    some = lambda *values: luck.choice(values)  # noqa: E731
    cost, now = (None, 0.0, 1.0, 1e9, 1e15), 100.0
    yield READY
    yield BatchTrial(batch=some(1, 2**20), fits=some(True, False), items_per_s=some(None, 1e-4, 1e13))
    items = some(10**9, 10**13) if mode == "limit" else some(1, 256, 2**20)
    yield events.Built(
        batch=some(1, 2**20), items=items, flop_per_item=some(*cost), bytes_per_item=some(*cost)
    )
    if some(True, False):
        yield events.Ranked(group=GROUP, pids=(1, 2, 3))
    yield events.Checked(
        mismatch=some(None, 0.0, 1e38, math.nan, math.inf), gradient_norm=some(None, 0.0, 1e38),
        reference_norm=some(None, 1e-38, 1e38),
    )  # fmt: skip
    yield events.First(seconds=some(0.0, 1e5))
    if some(True, False):
        yield events.Fed(workers=some(1, 64), pipeline_s=(steps(luck), steps(luck)), alone_s=(steps(luck),))
    yield events.Warmup(step_s=steps(luck))
    each = [steps(luck) for _ in range(some(1, 2, 5))]
    for number in range(some(1, 2, 3, 12, 60)):
        own = each[number % len(each)]
        yield Window(step_s=own, started_s=now, ended_s=now + sum(own), each=some(1, 1334))
        now += sum(own)
    yield events.Done(
        memory_peak_bytes=some(None, 0, 2**40), loss=some((), (0.0, 0.0), (1e38, 1e-38), (1e-38, 1e38))
    )
    if some(True, False):
        kernels = tuple(
            KernelTime(kind=kind, count=0.1, seconds=some(1e-9, 1e3)) for kind in ("copy", "matmul")
        )
        yield Profile(steps=3, wall_s=1.0, busy_s=0.0, link_s=0.0, longest_gap_s=0.0, kernels=kernels)


def sensed(luck: random.Random, windows: list[Window]) -> list[Sample]:
    """What a sensor says meanwhile: nothing, parts of it, what stands still or runs back, too late."""
    if not windows or luck.random() < 0.3:
        return []
    began, took, count = (
        windows[0].started_s,
        windows[-1].ended_s - windows[0].started_s,
        luck.choice((1, 30)),
    )
    names = luck.sample(("power_w", "energy_j", "sm_clock_hz", "temperature_c"), luck.randrange(5))
    scale, change, late = luck.choice((0.0, 700.0)), luck.choice((-1, 0, 5)), luck.choice((0.0, 1.0))
    return [
        Sample(
            at_s=began + late + took * place, throttle=luck.choice(((), ("power-cap", "thermal"))),
            **{name: scale * max(0.0, 1 + change * place) for name in names},  # type: ignore[arg-type]
        )
        for place in (i / max(1, count - 1) for i in range(count))
    ]  # fmt: skip


def session(seed: int) -> Result:
    """Up to four measurements, each of up to three children that end somewhere."""
    luck, limits = random.Random(seed), Limits()
    result = store.begun("gpuwise bench", HOST)
    for workload, mode in luck.sample(ASKED, luck.randint(1, 4)):
        config = RunConfig(
            workload=workload, mode=mode, precision="bf16", quick=luck.choice((True, False)),  # type: ignore[arg-type]
            gpus=luck.choice((1, 3)), repeat=luck.choice((1, 1, 3)),
        )  # fmt: skip
        builder = MeasurementBuilder()
        for number in range(config.repeat):
            builder.begin(number)
            every = list(reported(luck, mode))
            if luck.random() < 0.3:
                ending = events.Failed(kind=luck.choice(("oom", "failed")), message=luck.choice(("", SAID)))
                every[luck.randrange(len(every)) :] = luck.choice(([], [ending]))
            for event in every:
                builder.add(events.decode(events.encode(event)))
        samples = sensed(luck, builder.windows)
        measured = assemble(
            config, workloads.get(workload).spec, builder, started_at="2026-11-26T00:00:00+00:00",
            samples=samples, others=[samples] * (config.gpus - 1), limits=limits, environment=HOST,
            gpu=luck.choice((None, catalog.get("h200-sxm"))), interrupted=luck.choice((True, False)),
            error=luck.choice((None, SAID)),
        )  # fmt: skip
        limits = limits.with_measured(measured)
        result = replace(result, measurements=checks.judge_measured((*result.measurements, measured), HOST))
    return result


def finite(value: Any) -> bool:
    """Whether JSON, which has neither NaN nor infinity, can be made of it."""
    return bool(json.dumps(value, default=lambda o: {n: getattr(o, n) for n in o.__slots__}, allow_nan=False))


SEEDS = st.integers(0, 2**64)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_what_a_session_writes_loads_again(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    result = session(seed)
    writer = ResultWriter(tmp_path_factory.getbasetemp() / f"{seed}.json")
    writer(result)
    assert (writer.kept, writer.trouble) == (writer.path, None)
    kept = store.load(writer.path)
    assert kept == result  # nor does any throughput contradict its steps
    assert finite([replace(record, raw=None) for record in records_of([kept])])
    assert finite([(found.ratio, found.verdict) for found in (compare(m, m) for m in kept.measurements)])


VERBS = (
    ("show", "FILE", "--full"),
    ("show", "FILE", "--json"),
    ("compare", "FILE", "FILE"),
    ("results", "--file", "FILE"),
)


@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_what_is_printed_of_it_is_finite(
    tmp_path_factory: pytest.TempPathFactory, verb: tuple[str, ...], seed: int
) -> None:
    path = store.save(session(seed), tmp_path_factory.getbasetemp() / f"{seed}.json")
    said, code = io.StringIO(), 0
    with contextlib.redirect_stdout(said):
        try:
            run([str(path) if word == "FILE" else word for word in verb])
        except SystemExit as leave:
            code = int(leave.code or 0)
    assert code in (0, NoDataError.exit_code)
    assert not re.search(r"(?<![a-z])(nan|inf|infinity)(?![a-z])", said.getvalue(), re.IGNORECASE)
