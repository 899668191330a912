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

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gpuwise.errors import GpuwiseError

if TYPE_CHECKING:
    from gpuwise.model.question import Device
    from gpuwise.model.result import Measurement, Result
    from gpuwise.stats.comparison import Condition

# What its results name as the command that makes them; `gpuwise reproduce` cannot run the steps of tests.
COMMAND = "pytest"


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


# Every run of pytest loads the plug-in, so what it needs is imported where it is used.
def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    add = parser.getgroup("gpuwise", "speed of steps on the GPU").addoption
    add("--gpu-bench-compare", metavar="FILE", help="Compare each measured step with this result.")
    add("--gpu-bench-fail", metavar="CONDITION", help="Fail a test when met, e.g. 'slower>5%%'.")
    add("--gpu-bench-save", metavar="FILE", help="Write what was measured to this result file.")
    add("--gpu-bench-time", metavar="TIME", default="10s", help="Longest timing of a step.")
    add("--gpu-bench-device", choices=("cuda", "cpu"), default="cuda", help="Where steps run.")


def pytest_configure(config: pytest.Config) -> None:
    """Read the options; a wrong one ends the run before any test."""
    from gpuwise import store
    from gpuwise.errors import InputError
    from gpuwise.model.units import parse_seconds
    from gpuwise.stats.comparison import parse_condition

    compare, fail, save = (config.getoption(f"--gpu-bench-{name}") for name in ("compare", "fail", "save"))
    try:
        if fail and not compare:
            raise InputError("--gpu-bench-fail needs a baseline", hint="add --gpu-bench-compare FILE")
        if save:
            store.check_writable(Path(save))
        config.stash[_STATE] = _State(
            device=config.getoption("--gpu-bench-device"),
            time_s=parse_seconds(config.getoption("--gpu-bench-time")),
            save=Path(save) if save else None,
            baseline=store.load(store.find(compare)) if compare else None,
            condition=parse_condition(fail) if fail else None,
        )
    except GpuwiseError as error:
        hint = f"; next: {error.hint}" if error.hint else ""
        raise pytest.UsageError(f"gpuwise: {error}{hint}") from error


class GpuBench:
    """The fixture: call it with a step; it returns the measurement and compares it with the baseline."""

    def __init__(self, name: str, state: _State) -> None:
        self._name = name
        self._state = state
        self._calls = 0

    def __call__(
        self, step: Callable[[], object], *, items: int = 1, item: str = "step", precision: str = "fp32"
    ) -> Measurement:
        """Time `step`, which handles `items` items on the device and leaves its result there.

        `precision` is a label: two results of different precisions are never compared. The second call in
        a test is a measurement of its own, `name #2`. Raises InputError for what is not a
        step, number or label.
        """
        from gpuwise.jobs import steps
        from gpuwise.show.comparisons import ratio
        from gpuwise.show.results import codes, measured_speed
        from gpuwise.stats.comparison import violations

        state = self._state
        self._calls += 1
        name = self._name if self._calls == 1 else f"{self._name} #{self._calls}"
        measured = steps.time_step(
            step, name=name, items=items, item=item, precision=precision, device=state.device,
            time_s=state.time_s,
        )  # fmt: skip
        state.measured.append(measured)
        line = f"{name}: {measured_speed(measured)}"
        comparison = steps.against(state.baseline, measured) if state.baseline is not None else None
        if comparison is not None:
            times = f"{ratio(comparison.ratio)} of the baseline, " if comparison.ratio else ""
            line += f", {times}{comparison.verdict}"
        elif state.baseline is not None:
            line += ", not in the baseline"
        if doubts := codes(measured.cautions):
            line += f"  ! {doubts}"
        state.lines.append(line)
        if (
            comparison is not None
            and state.condition is not None
            and violations((comparison,), state.condition)
        ):
            pytest.fail(line, pytrace=False)
        return measured


@pytest.fixture
def gpu_bench(request: pytest.FixtureRequest) -> GpuBench:
    """Times a step on the GPU; skips the test where there is none."""
    state = request.config.stash[_STATE]
    # A process of pytest-xdist shares the device with the others.
    if hasattr(request.config, "workerinput"):
        pytest.skip("gpu_bench measures alone; run it without processes beside it: pytest -n 0")
    try:
        import torch
    except ImportError:
        pytest.skip('gpu_bench needs torch: pip install "gpuwise[torch]"')
    if state.device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU that torch can use; --gpu-bench-device cpu times the host")
    return GpuBench(request.node.nodeid, state)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line a measured step, and how the baseline's machine differs."""
    state = config.stash.get(_STATE, None)
    if state is None or not state.lines:
        return
    terminalreporter.section("gpuwise")
    for line in state.lines:
        terminalreporter.write_line(line)
    if state.baseline is not None:
        from gpuwise.jobs import steps

        for name, was, is_now in state.baseline.environment.diff(steps.environment(state.device)):
            terminalreporter.write_line(f"since the baseline: {name} was {was}, is {is_now}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the result file, also when tests failed."""
    state = session.config.stash.get(_STATE, None)
    if state is not None and state.save is not None and state.measured:
        from gpuwise import store
        from gpuwise.jobs import steps

        store.save(store.begun(COMMAND, steps.environment(state.device), state.measured), state.save)
