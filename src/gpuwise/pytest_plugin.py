"""pytest plugin: time a step on the GPU inside a test, and fail where it became slower.

    def test_forward(gpu_bench):
        model, x = ...
        gpu_bench(lambda: model(x), items=32, item="image")

    pytest --gpu-bench-save base.json
    pytest --gpu-bench-compare base.json --gpu-bench-fail 'slower>5%'

The step is warmed up and timed as `gpuwise bench` does it, in the test's own process; the file is a
gpuwise result. Without a GPU the test is skipped with the reason; `--gpu-bench-device cpu` times the
host instead.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import pytest

from gpuwise.errors import GpuwiseError

if TYPE_CHECKING:
    from gpuwise.model.record import Comparison
    from gpuwise.model.result import Measurement, Result
    from gpuwise.model.run import Device, Environment
    from gpuwise.stats import Condition

GROUP = "gpuwise"
COMMAND = "pytest"
"""What its results name as the command that makes them; `gpuwise reproduce` has no step of theirs."""
Step = Callable[[], object]


@dataclass(slots=True, kw_only=True)
class _State:
    """What one pytest run was asked for and has measured."""

    device: Device
    time_s: float
    save: Path | None
    baseline: Result | None
    condition: Condition | None
    measured: list[Measurement] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


_STATE: pytest.StashKey[_State] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin; nothing of gpuwise or torch is imported before they are used."""
    group = parser.getgroup(GROUP, "speed of steps on the GPU")
    group.addoption(
        "--gpu-bench-compare", metavar="FILE", help="Hold each measured step against this result."
    )
    group.addoption("--gpu-bench-fail", metavar="CONDITION", help="Fail a test when met, e.g. 'slower>5%%'.")
    group.addoption("--gpu-bench-save", metavar="FILE", help="Write what was measured to this result file.")
    group.addoption("--gpu-bench-time", metavar="TIME", default="10s", help="Longest timing of a step.")
    group.addoption("--gpu-bench-device", choices=("cuda", "cpu"), default="cuda", help="Where steps run.")


def pytest_configure(config: pytest.Config) -> None:
    """Read the options; a wrong one ends the run before any test."""
    options = ("compare", "fail", "save")
    wanted = {name: config.getoption(f"--gpu-bench-{name}") for name in options}
    try:
        config.stash[_STATE] = _state(config, wanted)
    except GpuwiseError as error:
        hint = f"; next: {error.hint}" if error.hint else ""
        raise pytest.UsageError(f"gpuwise: {error}{hint}") from error


def _state(config: pytest.Config, wanted: dict[str, str | None]) -> _State:
    from gpuwise import store
    from gpuwise.errors import InputError
    from gpuwise.model.units import parse_seconds
    from gpuwise.stats import parse_condition

    if wanted["fail"] and not wanted["compare"]:
        raise InputError("--gpu-bench-fail needs a baseline", hint="add --gpu-bench-compare FILE")
    save = Path(wanted["save"]) if wanted["save"] else None
    if save is not None:
        store.check_writable(save)
    return _State(
        device=cast("Literal['cuda', 'cpu']", config.getoption("--gpu-bench-device")),
        time_s=parse_seconds(config.getoption("--gpu-bench-time")),
        save=save,
        baseline=store.load(store.find(wanted["compare"])) if wanted["compare"] else None,
        condition=parse_condition(wanted["fail"]) if wanted["fail"] else None,
    )


class GpuBench:
    """The fixture: call it with a step; it returns the measurement and holds it against the baseline."""

    def __init__(self, name: str, state: _State) -> None:
        self._name = name
        self._state = state
        self._calls = 0

    def __call__(
        self, step: Step, *, items: int = 1, item: str = "step", precision: str = "fp32"
    ) -> Measurement:
        """Time `step`, which handles `items` items on the device and leaves its result there.

        `precision` is a label: two results of different precisions are never compared. The second call in
        a test is a measurement of its own, `name #2`. Raises InputError for what is no step, number or label.
        """
        from gpuwise.stats import violations

        _check(step, items, precision)
        self._calls += 1
        name = self._name if self._calls == 1 else f"{self._name} #{self._calls}"
        measured = _measure(name, step, items, item, precision, self._state)
        self._state.measured.append(measured)
        comparison = _compared(measured, self._state)
        self._state.lines.append(_line(measured, comparison, self._state))
        condition = self._state.condition
        if comparison is not None and condition is not None and violations((comparison,), condition):
            pytest.fail(self._state.lines[-1], pytrace=False)
        return measured


@pytest.fixture
def gpu_bench(request: pytest.FixtureRequest) -> GpuBench:
    """Times a step on the GPU; skips the test where there is none."""
    state = request.config.stash[_STATE]
    why = _missing(state.device)
    if hasattr(request.config, "workerinput"):  # a process of pytest-xdist
        why = "gpu_bench measures alone; run it without processes beside it: pytest -n 0"
    if why is not None:
        pytest.skip(why)
    return GpuBench(request.node.nodeid, state)


def _missing(device: Device) -> str | None:
    """Why nothing can be measured on `device`; None where it can."""
    try:
        import torch
    except ImportError:
        return 'gpu_bench needs torch: pip install "gpuwise[torch]"'
    if device == "cuda" and not torch.cuda.is_available():
        return "no GPU that torch can use; --gpu-bench-device cpu times the host"
    return None


def _check(step: object, items: object, precision: str) -> None:
    from gpuwise.errors import InputError
    from gpuwise.model.precision import PRECISIONS

    if not callable(step):
        raise InputError(f"a step is a function without arguments, not {step!r}")
    if not isinstance(items, int) or items < 1:
        raise InputError(f"items is a positive whole number, not {items!r}")
    if precision not in PRECISIONS:
        raise InputError(f"precision is one of {', '.join(PRECISIONS)}, not {precision!r}")


def _measure(name: str, step: Step, items: int, item: str, precision: str, state: _State) -> Measurement:
    from dataclasses import replace

    from gpuwise.measure import events
    from gpuwise.measure.checks import check
    from gpuwise.measure.engine import measure, timing_plan
    from gpuwise.measure.frameworks.torch.adapter import clock_for
    from gpuwise.model.precision import Precision
    from gpuwise.model.result import Measurement, Window
    from gpuwise.model.run import RunConfig
    from gpuwise.stats import throughput

    config = RunConfig(
        workload=name,
        mode="infer",
        precision=Precision(precision),
        batch=items,
        time_s=state.time_s,
        device=state.device,
    )
    heard: list[events.Event] = []
    started = datetime.now(UTC).isoformat(timespec="seconds")
    measure(step, items, clock_for(state.device), timing_plan(replace(config, quick=True)), heard.append)
    windows = tuple(
        Window(step_s=e.step_s, started_s=e.started_s, ended_s=e.ended_s)
        for e in heard
        if isinstance(e, events.Timed)
    )
    found = Measurement(
        config=config,
        workload_version=1,
        status="ok",
        item=item,
        started_at=started,
        batch=items,
        items_per_step=items,
        throughput=throughput([window.step_s for window in windows], items),
        windows=windows,
        warmup_s=next((e.step_s for e in heard if isinstance(e, events.Warmup)), ()),
    )
    return replace(found, cautions=check(found))


def _compared(measured: Measurement, state: _State) -> Comparison | None:
    from gpuwise.stats import compare

    if state.baseline is None:
        return None
    cell = measured.config.key("batch")
    before = next((m for m in state.baseline.measurements if m.config.key("batch") == cell), None)
    return None if before is None else compare(before, measured)


def _line(measured: Measurement, comparison: Comparison | None, state: _State) -> str:
    from gpuwise.show.results import measured_speed as speed

    text = f"{measured.config.workload}: {speed(measured)}"
    if comparison is not None:
        ratio = comparison.ratio
        found = f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f}) of the baseline, " if ratio else ""
        text += f", {found}{comparison.verdict}"
    elif state.baseline is not None:
        text += ", not in the baseline"
    codes = dict.fromkeys(caution.code for caution in measured.cautions)
    return f"{text}  ! {', '.join(codes)}" if codes else text


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line a measured step, and how the baseline's machine was another."""
    state = config.stash.get(_STATE, None)
    if state is None or not state.lines:
        return
    terminalreporter.section("gpuwise")
    for line in state.lines:
        terminalreporter.write_line(line)
    if state.baseline is not None:
        for name, was, is_now in state.baseline.environment.diff(_environment(state.device)):
            terminalreporter.write_line(f"since the baseline: {name} was {was}, is {is_now}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the result file, also when tests failed."""
    state = session.config.stash.get(_STATE, None)
    if state is not None and state.save is not None and state.measured:
        from gpuwise import store

        store.save(_result(state), state.save)


def _result(state: _State) -> Result:
    from gpuwise import store
    from gpuwise.model.result import Result

    now, found = datetime.now(UTC), _environment(state.device)
    return Result(
        id=store.new_id(now, found.gpu_id or found.device, secrets.token_hex(2)),
        created_at=now.isoformat(timespec="seconds"),
        command=COMMAND,
        environment=found,
        measurements=tuple(state.measured),
    )


def _environment(device: Device) -> Environment:
    """Of the first GPU that torch sees, or of the host."""
    from dataclasses import replace

    from gpuwise.facts import catalog
    from gpuwise.measure import telemetry
    from gpuwise.measure.device import visible

    there = visible(telemetry.sensors(), os.environ) if device == "cuda" else ()
    sensor = next(iter(there), None)
    info = sensor.info() if sensor else None
    spec = catalog.resolve_device(info.name, info.memory_bytes) if info else None
    name = info.name if info else telemetry.cpu_name()
    found = telemetry.environment(info, device=name, gpu_id=spec.id if spec else None, other_processes=None)
    if (build := telemetry.torch_build()) is not None:
        found = replace(found, torch=build.version, cuda=build.cuda or build.hip)
    return found
