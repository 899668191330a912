"""Whole sessions with real children, toy models on the CPU: deaths, memory, interruption."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, NoReturn

import pytest

from gpuwise.measure import events
from gpuwise.measure.assemble import MeasurementBuilder
from gpuwise.measure.session import (
    Child,
    Progress,
    Session,
    TelemetryLog,
    child_environment,
    foreign_processes,
)
from gpuwise.measure.telemetry.sensor import DeviceInfo, Process, Sample, Sampler
from gpuwise.model.question import RunConfig
from gpuwise.model.result import Issue, Measurement, Result
from tools.scripted_sensor import ScriptedSensor

from ..pretended import Pretended, new_session

TOY = RunConfig(
    workload="resnet50", mode="train", precision="fp32", device="cpu", size="toy", time_s=0.3, quick=True
)
H200 = DeviceInfo(
    index=3, name="NVIDIA H200", uuid="GPU-abc", memory_bytes=150754820096, sm_clock_max_hz=1980e6
)


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a sensor says is tested, not what is measured beside it."""
    monkeypatch.setattr("gpuwise.measure.session.Child", Pretended)


def session(kept: list[Result], sensor: ScriptedSensor | None = None) -> Session:
    return new_session(kept, sensor)


def final(updates: list[object]) -> list[Measurement]:
    return [update for update in updates if isinstance(update, Measurement)]


def test_a_real_session_keeps_the_result_after_each_measurement() -> None:
    kept: list[Result] = []
    limit = replace(TOY, workload="matmul", mode="limit")
    updates = list(session(kept).measure_all([limit, TOY]))
    assert [m.status for m in final(updates)] == ["ok", "ok"]
    assert [len(r.measurements) for r in kept] == [1, 2]
    train = kept[-1].measurements[1]
    assert train.batch == 8
    assert train.throughput is not None
    assert train.throughput.low <= train.throughput.value <= train.throughput.high
    assert train.loss[1] < train.loss[0]
    assert kept[-1].environment.torch is not None
    assert any(isinstance(u, Progress) and "timing" in u.doing for u in updates)


@pytest.mark.usefixtures("pretended")
def test_repeats_are_fresh_processes_of_one_measurement() -> None:
    kept: list[Result] = []
    (m,) = final(list(session(kept).measure_all([replace(TOY, repeat=3)])))
    assert [window.run for window in m.windows] == [0] * 5 + [1] * 5 + [2] * 5
    assert m.throughput is not None
    assert m.throughput.method == "long-run of processes"
    assert (m.status, m.cold_start_s) == ("ok", 1.0)
    (alone,) = final(list(session(kept).measure_all([TOY])))
    assert alone.throughput is not None
    assert alone.throughput.method == "long-run"


def test_the_next_process_starts_while_nothing_is_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[str] = []  # What the first process said before each process began

    class Watched(Pretended):
        said: ClassVar[list[str]] = ["nothing"]

        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)
            begun.append(self.said[-1])

        def serves(self, environment: object) -> bool:
            return True

        def events(self) -> Iterator[events.Event]:
            for event in super().events():
                self.said.append(type(event).__name__)
                yield event

    monkeypatch.setattr("gpuwise.measure.session.Child", Watched)
    on_gpu = replace(TOY, device="cuda")
    list(session([]).measure_all([on_gpu, replace(on_gpu, precision="bf16"), replace(on_gpu, batch=3)]))
    assert begun == ["nothing", "Done", "Done"]  # while the first is profiled, never while it is timed
    begun.clear()
    compiled = replace(on_gpu, compile=True)
    list(session([]).measure_all([compiled, replace(on_gpu, batch=3), replace(compiled, batch=3)]))
    assert begun == ["Done", "Done", "Done"]  # the first two are of the session above: one is compiled
    begun.clear()
    list(session([]).measure_all([TOY, replace(TOY, batch=3)]))
    assert len(begun) == 2  # on a CPU it would take cores from the profile


def test_repetitions_have_one_process_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []  # How many had ended when each process began

    class Counted(Pretended):
        ended: ClassVar[list[int]] = []

        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)
            begun.append(len(self.ended))

        def serves(self, environment: object) -> bool:
            return True

        def close(self) -> None:
            self.ended.append(1)

    monkeypatch.setattr("gpuwise.measure.session.Child", Counted)
    row = replace(TOY, device="cuda", compile=True, batch=3, repeat=3, quick=False)
    list(new_session([], together=4).measure_all([row]))
    assert begun == [0, 0, 1]


@pytest.mark.usefixtures("pretended")
def test_a_repeat_that_fails_ends_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []

    class Second(Pretended):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)
            begun.append(len(begun))

        def ending(self) -> str | None:
            return "the measuring process exited with 1" if len(begun) == 2 else None

    monkeypatch.setattr("gpuwise.measure.session.Child", Second)
    (m,) = final(list(session([]).measure_all([replace(TOY, repeat=4)])))
    assert len(begun) == 2
    assert len(m.windows) == 10


def test_a_killed_child_is_a_row_and_the_rest_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    pids: list[int] = []
    start = Child.__init__

    def remember(child: Child, *arguments: object, **options: object) -> None:
        start(child, *arguments, **options)  # type: ignore[arg-type]
        pids.append(child.pid)

    monkeypatch.setattr(Child, "__init__", remember)
    kept: list[Result] = []
    endless = replace(TOY, time_s=600.0, target_ci=1e-9)
    updates = []
    for update in session(kept).measure_all([endless, TOY]):
        updates.append(update)
        if isinstance(update, Progress) and "timing" in update.doing and update.number == 1:
            os.kill(pids[0], signal.SIGKILL)
    killed, after = final(updates)
    assert (killed.status, after.status) == ("failed", "ok")
    assert killed.error is not None
    assert "SIGKILL" in killed.error
    assert killed.windows  # what was timed before is kept
    assert len(kept[-1].measurements) == 2


def test_a_batch_that_does_not_fit_is_a_row_and_the_rest_go_on() -> None:
    kept: list[Result] = []
    updates = list(session(kept).measure_all([replace(TOY, batch=10**10), TOY]))
    assert [m.status for m in final(updates)] == ["oom", "ok"]
    assert kept[-1].measurements[0].throughput is None


def test_an_interrupted_measurement_keeps_its_windows() -> None:
    kept: list[Result] = []
    updates = session(kept).measure_all([replace(TOY, time_s=600.0, target_ci=1e-9)])
    for update in updates:
        if isinstance(update, Progress) and "timing" in update.doing:
            break
    with pytest.raises(KeyboardInterrupt):
        updates.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    (interrupted,) = kept[-1].measurements
    assert interrupted.status == "interrupted"
    assert interrupted.throughput is not None


def test_an_unsupported_precision_is_told_by_the_child() -> None:
    kept: list[Result] = []
    list(session(kept).measure_all([replace(TOY, precision="tf32")]))
    (m,) = kept[-1].measurements
    assert (m.status, m.error) == ("failed", "a CPU has no tf32")


def test_aime_runs_three_times_each_from_a_cool_device(monkeypatch: pytest.MonkeyPatch) -> None:
    hot = Issue(code="hot-start", severity="warning", detail="started at 61 C", fix="")
    gates = [None, hot, None]

    def wait(sensor: ScriptedSensor) -> Issue | None:
        time.sleep(0.3)
        return gates.pop(0)

    monkeypatch.setattr("gpuwise.measure.session.wait_until_cool", wait)
    sensor = ScriptedSensor(H200, [Sample(at_s=0, temperature_c=40.0)])
    kept: list[Result] = []
    # steps of microseconds: fifty are fifty, however busy the machine is
    aime = replace(TOY, workload="stencil", mode="compute", protocol="aime", quick=False, batch=2)
    list(session(kept, sensor).measure_all([aime]))
    (m,) = kept[-1].measurements
    assert m.status == "ok"
    assert [len(w.step_s) for w in m.windows] == [50, 50, 50]
    assert m.throughput is not None
    assert m.throughput.method == "long-run"
    assert (m.profile is not None, m.verdict is not None) == (True, True)
    assert gates == []
    assert hot in m.cautions
    spent = dict(m.phases_s)
    assert spent["waiting"] >= 0.9 > spent["warm-up"]  # what was waited for is no warm-up


@pytest.mark.usefixtures("pretended")
def test_company_during_the_measurement_is_a_caution() -> None:
    sensor = ScriptedSensor(H200, [Sample(at_s=0, temperature_c=30.0)], (Process(pid=1), Process(pid=2)))
    kept: list[Result] = []
    list(session(kept, sensor).measure_all([TOY]))
    assert "contended" in [c.code for c in kept[-1].measurements[0].cautions]


class Dying(ScriptedSensor):
    """Answers twice; every later question raises, as of a card that fell off the bus."""

    asked = 0

    def sample(self) -> Sample:
        self.asked += 1
        return super().sample() if self.asked <= 2 else self.die()

    def processes(self) -> tuple[Process, ...]:
        return super().processes() if self.asked <= 2 else self.die()

    def die(self) -> NoReturn:
        raise OSError("GPU is lost\nreboot")


def test_a_sensor_that_dies_is_a_caution_and_the_measurement_goes_on() -> None:
    kept: list[Result] = []
    list(session(kept, Dying(H200, [Sample(at_s=0, temperature_c=30.0)])).measure_all([TOY]))
    (m,) = kept[-1].measurements
    assert m.status == "ok"
    (caution,) = [c for c in m.cautions if c.code == "telemetry"]
    assert caution.detail.endswith("are unknown: OSError: GPU is lost")
    assert caution.fix


@pytest.mark.usefixtures("pretended")
def test_a_sensor_that_answers_is_no_caution() -> None:
    kept: list[Result] = []
    sensor = ScriptedSensor(H200, [Sample(at_s=0, temperature_c=30.0)])
    list(session(kept, sensor).measure_all([replace(TOY, workload="matmul", mode="limit")]))
    assert "telemetry" not in [c.code for c in kept[-1].measurements[0].cautions]


def test_one_failure_of_a_sensor_is_told_and_not_replaced_by_a_later_one() -> None:
    dying = Dying(H200, [Sample(at_s=0)])
    watched = TelemetryLog(dying)
    watched.look(7)
    assert (watched.foreign_pids, watched.error) == (set(), None)
    dying.asked = 3
    watched.look(7)
    sampler = Sampler(dying)
    sampler.error = "later"
    watched.take(sampler)
    assert watched.error == "OSError: GPU is lost\nreboot"


def test_foreign_processes() -> None:
    def seen(*pids: int) -> ScriptedSensor:
        return ScriptedSensor(H200, [Sample(at_s=0)], tuple(Process(pid=pid) for pid in pids))

    assert foreign_processes(None, 7) == set()
    assert foreign_processes(seen(7), 7) == set()
    assert foreign_processes(seen(7, 8), 7) == {8}
    assert foreign_processes(seen(99), 7) == set()  # the child under another number
    assert foreign_processes(seen(98, 99), 7) == {98, 99}


def test_the_child_sees_the_one_device_by_its_unique_id() -> None:
    sensor = ScriptedSensor(H200, [Sample(at_s=0)])
    own = child_environment({"PATH": "x", "CUDA_VISIBLE_DEVICES": "0,1"}, replace(TOY, device="cuda"), sensor)
    assert own["CUDA_VISIBLE_DEVICES"] == "GPU-abc"
    assert own["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert child_environment({"A": "b"}, TOY, None) == {"A": "b"}
    two = child_environment(
        {},
        replace(TOY, device="cuda"),
        sensor,
        [ScriptedSensor(replace(H200, uuid="GPU-def"), [Sample(at_s=0)])],
    )
    assert two["CUDA_VISIBLE_DEVICES"] == "GPU-abc,GPU-def"


def test_the_catalog_entry_of_the_device_is_found() -> None:
    made = session([], ScriptedSensor(H200, [Sample(at_s=0)]))
    assert made.gpu is not None
    assert made.result.environment.gpu_id == "h200-sxm"


def test_no_child_is_left_behind(tmp_path: Path) -> None:
    child = Child(dict(os.environ))
    child.order(replace(TOY, time_s=600.0))
    pid = child.pid
    child.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_wait_for_a_cool_device_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuwise.measure.session.wait_until_cool", lambda sensor: None)
    sensor = ScriptedSensor(H200, [Sample(at_s=0, temperature_c=70.0)])
    first = next(session([], sensor).measure_all([replace(TOY, quick=False)]))
    assert isinstance(first, Progress)
    assert first.doing == "waiting until the device is below 50 C"


# Seconds of the phases of ResNet-50 on an H200, compiled, and when its second row was half done.
H200_S = {"start": 3.0, "build": 5.0, "compile": 60.0, "first step": 17.0, "warm-up": 2.3, "timing": 8.5,
          "profile": 3.0, "end": 1.0}  # fmt: skip
ROW = RunConfig(workload="resnet50", mode="train", precision="fp16", compile=True, batch=1024, time_s=8.0)


def left_of(known: RunConfig | None, phase_events: Sequence[events.Event], spent_s: float) -> float:
    made, builder = session([]), MeasurementBuilder()
    made.known = [(known, H200_S)] if known else []
    for event in phase_events:
        builder.add(event)
    builder.now_s -= spent_s
    return made.left_s(replace(ROW, precision="bf16"), builder, ())


BUILT = (events.Ready(version="2.11.0", device="H200"), events.Built(batch=1024, items=1024))


def test_at_half_time_of_the_second_row_the_time_left_is_within_30_percent() -> None:
    half_s = sum(H200_S.values()) / 2
    spent_s = half_s - H200_S["start"] - H200_S["build"]
    assert left_of(ROW, BUILT, spent_s) == pytest.approx(half_s, rel=0.05)
    # Another workload says nothing of this one: what is usual does, within a half.
    assert left_of(replace(ROW, workload="vit-b16"), BUILT, spent_s) == pytest.approx(half_s, rel=0.5)


def test_a_first_step_of_a_minute_is_foreseen_by_its_operations() -> None:
    config = replace(ROW, device="cpu", precision="fp32", compile=False, batch=8, quick=True)
    made, builder = session([]), MeasurementBuilder()
    made.limits = replace(made.limits, flop_per_s={"fp32": 20e9})
    builder.add(events.Ready(version="2.13.0", device="CPU"))
    builder.add(events.Built(batch=8, items=8, flop_per_item=24e9))  # a step of some 32 s, at 6 GFLOP/s
    begun, left = builder.now_s, []
    for spent_s in (0, 8, 16, 24):
        builder.now_s = begun - spent_s
        left.append(made.left_s(config, builder, ()))
    # It takes 32 s for the first step, three for the warm-up and three more, and ends at once.
    assert left == pytest.approx([7 * 32 - spent_s for spent_s in (0, 8, 16, 24)], abs=1)
    # Half of it is over in the last step of the warm-up; steps turned out to take 40 s.
    builder.add(events.First(seconds=40))
    builder.add(events.Warmup(step_s=(40.0, 40.0, 40.0)))
    assert made.left_s(config, builder, ()) == pytest.approx(3 * 40 + 2, rel=0.05)


def test_the_time_left_moves_also_where_a_phase_takes_longer_than_expected() -> None:
    left = [left_of(ROW, BUILT, spent_s) for spent_s in (0, 20, 40, 100, 200)]
    assert left[0] > left[1] > left[2]
    assert left[3] < left[4]  # it takes twice as long: nobody knows how long it goes on
    assert min(left) > 30
