"""The child with a framework that computes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from gpuwise import workloads
from gpuwise.measure import child, events
from gpuwise.measure.assemble import Limits, MeasurementBuilder, assemble
from gpuwise.measure.child import ColdStart
from gpuwise.measure.engine import TimingPlan
from gpuwise.measure.frameworks.adapter import Adapter, ReferenceJob
from gpuwise.measure.locks import Turn
from gpuwise.measure.session import child_environment, with_framework
from gpuwise.measure.telemetry.sensor import DeviceInfo, Sample
from gpuwise.model.precision import Precision
from gpuwise.model.question import Environment, RunConfig, Size
from gpuwise.model.result import BatchTrial, Measurement
from tools.scripted_sensor import ScriptedSensor

CONFIG = RunConfig(
    workload="resnet50",
    mode="train",
    precision="fp32",
    framework="jax",
    device="cuda",
    time_s=0.1,
    quick=True,
)


class NoMemory(RuntimeError):
    pass


@dataclass
class Pretended(Adapter[ReferenceJob]):
    """Fits `fits` items; losses fall."""

    fits: int = 1000
    count: int = 1
    keeps_peak: bool = True
    reference: str = "resnet50"
    fails: bool = False
    loss: float = 3.0
    released: int = 0
    built: list[int] = field(default_factory=list)
    turn: Turn = field(default_factory=Turn)

    def ready(self, config: RunConfig) -> events.Ready:
        return events.Ready(framework="jax", version="9.1", device="NVIDIA H200", cuda="13.0")

    def gpus(self) -> int:
        return self.count

    def build(self, config: RunConfig, batch: int) -> ReferenceJob:
        self.built.append(batch)

        def step() -> float:
            if self.fails:
                raise ZeroDivisionError
            if batch > self.fits:
                raise NoMemory("RESOURCE_EXHAUSTED")
            for _ in range(1000):  # something that takes time
                pass
            self.loss *= 0.99999
            return self.loss

        return ReferenceJob(step=step, items=batch, mismatch=lambda: 0.25)

    def wait(self, output: Any) -> Any:
        return output

    def forget_peak(self, config: RunConfig) -> None:
        pass

    def peak_bytes(self, config: RunConfig) -> int:
        return 7

    def out_of_memory(self, error: BaseException) -> bool:
        return isinstance(error, NoMemory)

    def release(self, config: RunConfig) -> None:
        self.released += 1


def heard(adapter: Pretended, config: RunConfig = CONFIG) -> list[events.Event]:
    found: list[events.Event] = []
    child.run(adapter, config, found.append, ColdStart(None, 0.0))
    return found


def one(found: list[events.Event], kind: type[Any]) -> Any:
    (event,) = (event for event in found if isinstance(event, kind))
    return event


def test_a_measurement_from_start_to_end() -> None:
    found = heard(Pretended())
    ready = one(found, events.Ready)
    assert (ready.framework, ready.version, ready.cuda) == ("jax", "9.1", "13.0")
    built = one(found, events.Built)
    cost = workloads.get("resnet50").spec.cost
    assert cost is not None
    assert (built.batch, built.flop_per_item) == (256, cost("train", Precision.FP32, 256).flop_per_item)
    assert one(found, events.Checked).mismatch == 0.25
    done = one(found, events.Done)
    assert done.memory_peak_bytes == 7
    assert done.loss[1] < done.loss[0]


SEARCHED = replace(CONFIG, quick=False, time_s=0.0)


@pytest.fixture(autouse=True)
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement of a few steps: how long to time is the engine's."""
    steps = TimingPlan(window_s=0.0, windows=1, time_s=0.0, target_ci=1.0, steps=2, warmup_steps=2)
    monkeypatch.setattr(child.engine, "timing_plan", lambda config: steps)


def test_the_batch_is_searched_as_the_measurement_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int, bool]] = []

    def speed(adapter: Any, config: RunConfig, batch: int) -> float | None:
        asked.append((batch, config.gpus, config.compile))
        return None if batch > 600 else float(batch)

    monkeypatch.setattr(child, "trial", speed)
    found = heard(Pretended(count=2), replace(SEARCHED, compile=True, gpus=2, scaling="strong"))
    assert asked == [(256, 1, True), (512, 1, True), (1024, 1, True)]
    tried = [event for event in found if isinstance(event, BatchTrial)]
    assert [(event.batch, event.fits, event.compiled) for event in tried] == [
        (256, True, True), (512, True, True), (1024, False, True)
    ]  # fmt: skip
    assert one(found, events.Built).batch == 256  # two GPUs share one's


def test_a_trial_runs_a_few_steps_and_survives_the_end_of_memory() -> None:
    adapter = Pretended(fits=70)
    found = heard(adapter, SEARCHED)
    tried = [event for event in found if isinstance(event, BatchTrial)]
    assert [(event.batch, event.fits) for event in tried] == [(256, False), (128, False), (64, True)]
    assert tried[-1].items_per_s
    assert adapter.released == 3
    assert one(found, events.Built).batch == 64
    assert one(heard(Pretended(fits=0), SEARCHED), events.Failed).kind == "oom"
    with pytest.raises(ZeroDivisionError):
        heard(Pretended(fails=True), SEARCHED)


def test_the_peak_of_a_search_is_told_where_it_can_be_forgotten() -> None:
    assert one(heard(Pretended(fits=70), SEARCHED), events.Done).memory_peak_bytes is None
    assert one(heard(Pretended(fits=70, keeps_peak=False), SEARCHED), events.Done).memory_peak_bytes == 7


def test_the_batch_is_halved_until_it_fits_and_then_the_peak_is_unknown() -> None:
    adapter = Pretended(fits=70)
    found = heard(adapter)
    assert adapter.built == [256, 128, 64]
    assert [e.batch for e in found if isinstance(e, BatchTrial)] == [256, 128]
    assert [e.batch for e in found if isinstance(e, events.Built)] == [256, 128, 64]
    assert one(found, events.Done).memory_peak_bytes is None


@pytest.mark.parametrize(("size", "built"), [("full", [256, 128, 64]), ("toy", [8])])
def test_the_own_batch_of_a_suite_is_halved_until_it_fits(size: Size, built: list[int]) -> None:
    adapter = Pretended(fits=70)
    heard(adapter, replace(CONFIG, quick=False, compile=True, batch=0, size=size))
    assert adapter.built == built


def test_beside_others_a_batch_that_does_not_fit_is_tried_again_alone(tmp_path: Path) -> None:
    (tmp_path / "turn").touch()
    adapter = Pretended(fits=70, turn=Turn(str(tmp_path / "turn")))
    with pytest.raises(NoMemory):
        heard(adapter, replace(CONFIG, batch=0))
    assert adapter.built == [256]


def test_a_batch_that_was_asked_for_is_not_halved() -> None:
    with pytest.raises(NoMemory):
        heard(Pretended(fits=70), replace(CONFIG, batch=128))
    assert child.failure(NoMemory(), "resnet50", Pretended()).kind == "oom"
    assert child.failure(ValueError("odd"), "resnet50").message == "ValueError: odd"


def measured(adapter: Pretended, config: RunConfig) -> Measurement:
    """The row of a result that the parent makes of all that, as the child's process ends."""
    said = MeasurementBuilder()
    try:
        child.run(adapter, config, said.add, ColdStart(None, 0.0))
    except (NoMemory, ZeroDivisionError) as error:
        said.add(child.failure(error, "resnet50", adapter))
    spec = workloads.get(config.workload).spec
    began = "2026-11-21T00:00:00+00:00"
    return assemble(config, spec, said, started_at=began, gpu=None, limits=Limits())


def test_a_framework_that_compiles_something_else_gets_a_caution() -> None:
    m = measured(Pretended(), replace(CONFIG, compile=True))
    assert m.status == "ok"
    (found,) = (caution for caution in m.cautions if caution.code == "mismatch")
    assert "25.0 %" in found.detail


def test_the_end_of_memory_and_any_other_error_are_rows() -> None:
    full = measured(Pretended(fits=70), replace(CONFIG, batch=128))
    assert (full.status, full.throughput, "RESOURCE_EXHAUSTED" in str(full.error)) == ("oom", None, True)
    broken = measured(Pretended(fails=True), CONFIG)
    assert (broken.status, "ZeroDivisionError" in str(broken.error)) == ("failed", True)


def test_gpus_that_are_not_there_and_batches_that_cannot_be_shared() -> None:
    failed = one(heard(Pretended(count=1), replace(CONFIG, gpus=4)), events.Failed)
    assert (failed.kind, failed.message) == ("unsupported", "jax sees 1 GPU(s) of the 4 asked for")
    odd = replace(CONFIG, gpus=3, scaling="strong", batch=256)
    assert "cannot share a batch of 256 evenly" in one(heard(Pretended(count=4), odd), events.Failed).message


def test_a_training_that_diverges_has_failed() -> None:
    assert "diverged" in one(heard(Pretended(loss=float("nan"))), events.Failed).message
    inference = replace(CONFIG, mode="infer")
    assert "NaN" in one(heard(Pretended(loss=float("nan")), inference), events.Failed).message
    assert one(heard(Pretended(), inference), events.Done).odd is None
    assert one(heard(Pretended(loss=float("inf")), inference), events.Done).odd == "the output holds infinity"


def test_torch_tells_the_versions_of_cuda_where_it_measured_too() -> None:
    torch = events.Ready(version="2.13", cuda="13.1", cudnn="9", device="x", memory_bytes=None)
    jax = events.Ready(
        framework="jax", version="0.11", cuda="13.0", cudnn=None, device="x", memory_bytes=None
    )
    for first, second in ((torch, jax), (jax, torch)):
        found = with_framework(with_framework(Environment(device="x"), first), second)
        assert (found.torch, found.jax, found.cuda, found.cudnn) == ("2.13", "0.11", "13.1", "9")
        assert found.software == ("torch 2.13", "jax 0.11")
    assert with_framework(Environment(device="GPU"), jax).device == "x"


def test_amd_devices_are_named_by_their_index() -> None:
    info = DeviceInfo(index=2, vendor="AMD", name="AMD Instinct MI300X", uuid="29ff74a1")
    sensor = ScriptedSensor(info, [Sample(at_s=0)])
    others = [ScriptedSensor(replace(info, index=n), [Sample(at_s=0)]) for n in (3, 4)]
    own = child_environment({}, CONFIG, sensor, others)
    assert own["HIP_VISIBLE_DEVICES"] == "2,3,4"
    assert own["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
