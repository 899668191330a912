"""Which device is measured, and what stands in the way."""

from __future__ import annotations

import pytest

from gpuwise.errors import InputError, MachineError
from gpuwise.measure.prepare import check_host, check_idle, choose, visible
from gpuwise.measure.telemetry import TorchBuild
from gpuwise.measure.telemetry.sensor import DeviceInfo, Process, Sample
from tools.scripted_sensor import ScriptedSensor

CUDA = TorchBuild(version="2.11.0+cu130", cuda="13.0")
CPU_ONLY = TorchBuild(version="2.13.0+cpu")
ROCM = TorchBuild(version="2.11.0+rocm7", hip="7.0")


def sensor(index: int = 0, *processes: Process, utilisation: float | None = 0.0) -> ScriptedSensor:
    info = DeviceInfo(index=index, name="NVIDIA H200", uuid=f"GPU-{index}{index}")
    return ScriptedSensor(info, [Sample(at_s=0, utilisation=utilisation)], processes)


TWO = (sensor(0), sensor(1))


def chosen(sensors, torch=CUDA, device=None, index=None):  # type: ignore[no-untyped-def]
    return choose(sensors, torch, device=device, index=index)


def test_without_a_wish_the_first_gpu_else_the_cpu() -> None:
    assert chosen(TWO) == ("cuda", TWO[0])
    assert chosen(()) == ("cpu", None)
    assert chosen((), CPU_ONLY) == ("cpu", None)


def test_wishes() -> None:
    assert chosen(TWO, index=1) == ("cuda", TWO[1])
    assert chosen(TWO, device="cpu") == ("cpu", None)
    assert chosen(TWO, device="cuda") == ("cuda", TWO[0])


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (None, [0, 1, 2]),
        ("1", [1]),
        ("2,0", [2, 0]),
        ("GPU-11, GPU-2", [1, 2]),
        ("MIG-77", [0, 1, 2]),
        ("", []),
        ("-1", []),
    ],
)
def test_cuda_visible_devices_is_obeyed(words: str | None, left: list[int]) -> None:
    variables = {} if words is None else {"CUDA_VISIBLE_DEVICES": words}
    found = visible((*TWO, sensor(2)), variables)
    assert [each.info().index for each in found] == left


def test_a_rocm_build_is_measured_without_a_sensor() -> None:
    assert chosen((), ROCM, device="cuda") == ("cuda", None)


def test_obstacles() -> None:
    with pytest.raises(MachineError, match="torch is not installed") as none:
        chosen((), None)
    assert none.value.hint == 'install the extra "gpuwise[torch]"'
    with pytest.raises(MachineError, match="CPU build"):
        chosen(TWO, CPU_ONLY)
    for torch in (CPU_ONLY, ROCM):
        with pytest.raises(MachineError, match="no GPU found"):
            chosen((), torch, index=1)
    with pytest.raises(InputError, match="there is no GPU 7 here, only 0, 1"):
        chosen(TWO, index=7)


@pytest.mark.parametrize(("load", "said"), [(None, False), (0.8, False), (2.6, True)])
def test_a_busy_host_is_a_caution(load: float | None, said: bool) -> None:
    cautions = check_host(load, 2)
    assert bool(cautions) == said
    for caution in cautions:
        assert caution.detail == "load average 2.6 on 2 cores: other programs are competing for the CPU"


def test_an_idle_gpu() -> None:
    assert check_idle(sensor()) == (0, ())


def test_a_process_at_work_stops_the_session_and_names_another_gpu() -> None:
    busy = sensor(0, Process(pid=4711), utilisation=0.9)
    with pytest.raises(MachineError, match="busy with process 4711") as caught:
        check_idle(busy, free=1)
    assert caught.value.hint is not None
    assert "choose GPU 1" in caught.value.hint


def test_a_device_that_does_not_tell_its_use_counts_as_busy() -> None:
    with pytest.raises(MachineError):
        check_idle(sensor(0, Process(pid=1), utilisation=None))


def test_a_resident_idle_process_is_a_caution() -> None:
    count, cautions = check_idle(sensor(0, Process(pid=4711)))
    assert count == 1
    assert [c.code for c in cautions] == ["contended"]
