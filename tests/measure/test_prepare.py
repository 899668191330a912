"""What is refused before anything is measured, and where a session goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.errors import InputError, MachineError, NoDataError
from gpuwise.measure import prepare as start
from gpuwise.measure import telemetry
from gpuwise.measure.prepare import find_target
from gpuwise.measure.request import Request
from gpuwise.measure.telemetry import TorchBuild
from gpuwise.measure.telemetry.sensor import DeviceInfo, Sample
from gpuwise.model.precision import Precision
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Measurement, Result
from tools.scripted_sensor import ScriptedSensor


def sensor(index: int, name: str = "NVIDIA H200", memory: int = 150754820096) -> ScriptedSensor:
    info = DeviceInfo(index=index, name=name, uuid=f"GPU-{index}", memory_bytes=memory)
    return ScriptedSensor(info, [Sample(at_s=0, utilisation=0.0)])


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two H200, and a store of its own."""
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(telemetry, "sensors", lambda: (sensor(0), sensor(1)))
    monkeypatch.setattr(telemetry, "torch_build", lambda: TorchBuild(version="2.11", cuda="13.0"))


def test_the_target_and_the_gpus_beside_it() -> None:
    target = find_target(None, 1)
    assert (target.device, target.name, target.gpus, target.free) == ("cuda", "NVIDIA H200", 2, 0)
    assert target.spec is not None
    assert target.spec.id == "h200-sxm"
    cpu = find_target("cpu", None)
    assert (cpu.device, cpu.gpus, cpu.free, cpu.info) == ("cpu", 0, None, None)


def test_gpus_that_cuda_hides_are_not_there_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "sensors", lambda: tuple(sensor(i) for i in range(4)))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    target = find_target(None, None)
    assert [each.index for each in (target.info, *target.others) if each] == [2, 3]
    assert find_target(None, 0).gpus == 4
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert find_target(None, None).device == "cpu"


def test_a_request_is_refused_where_a_suite_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "sensors", lambda: (sensor(0, "Tesla V100-PCIE-16GB", 16 * 2**30),))
    target = find_target(None, None)
    asked = Request(workloads=("peer", "matmul"), precisions=("fp32", "bf16"))
    with pytest.raises(MachineError, match="has no bf16"):
        start.plan_for([asked], target, suite=False)
    with pytest.raises(MachineError, match="peer needs 2 GPUs, and this machine has 1"):
        start.plan_for([replace(asked, precisions=("fp32",))], target, suite=False)
    plan, skipped = start.plan_for([asked], target, suite=True)
    assert [c.workload for c in plan] == ["matmul", "copy"]
    assert skipped == ("peer", "bf16")


def test_a_suite_keeps_to_the_gpu_that_was_named() -> None:
    asked = [Request(workloads=("matmul", "peer")), Request(workloads=("all-reduce",))]
    alone, skipped = start.plan_for(asked, find_target(None, 1), suite=True)
    assert {c.workload for c in alone} == {"matmul", "copy"}
    assert {c.gpus for c in alone} == {1}
    assert {"peer", "all-reduce"} <= set(skipped)
    both, skipped = start.plan_for(asked, find_target(None, None), suite=True)
    assert {"peer", "all-reduce"} <= {c.workload for c in both}
    assert not skipped


def test_time_and_device_are_the_target_s() -> None:
    plan, _ = start.plan_for(
        [Request(workloads=("fft",)).given(time_s=0.0, quick=True)], find_target("cpu", None), suite=False
    )
    assert {c.device for c in plan} == {"cpu"}
    assert plan[-1].time_s == start.QUICK_CPU_S


def prepared(earlier: Path | None = None, output: Path | None = None) -> start.Prepared:
    target = find_target(None, 0)
    plan, _ = start.plan_for([Request(workloads=("peer",), precisions=("fp32",))], target, suite=False)
    return start.prepare(plan, target, command="gpuwise bench peer", output=output, earlier=earlier)


def test_a_session_knows_its_peers_and_its_place() -> None:
    made = prepared()
    assert [sensor.info().uuid for sensor in made.session.other_sensors] == ["GPU-1"]
    assert made.writer.path.parent == store.results_dir()
    assert [c.workload for c in made.plan] == ["matmul", "copy", "peer"]
    assert made.writer.kept is None


def test_a_resumed_session_writes_to_its_own_file(tmp_path: Path) -> None:
    found = prepared().session.result
    path = tmp_path / "old.json"
    store.save(replace(found, id="old"), path)
    again = prepared(earlier=path)
    assert (again.writer.path, again.writer.kept, again.session.result.id) == (path, path, "old")
    elsewhere = prepared(earlier=path, output=tmp_path / "new.json")
    assert elsewhere.writer.path == tmp_path / "new.json"


def test_another_machine_s_session_is_not_resumed(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    store.save(Result(id="old", created_at="", command="", environment=Environment(device="A100")), path)
    with pytest.raises(InputError, match="another environment: device was A100"):
        prepared(earlier=path)


def test_what_resume_means(tmp_path: Path) -> None:
    new, old = tmp_path / "new.json", tmp_path / "old.json"
    old.write_text("{}")
    assert start.earlier_session("", old) == old
    assert start.earlier_session("", new) is None
    assert start.earlier_session(str(old), new) == old
    for reference, output in (("", None), ("", tmp_path / "t.csv"), ("last", new)):
        with pytest.raises(NoDataError, match="no result has been kept yet"):
            start.earlier_session(reference, output)
    folder = tmp_path / "folder.json"
    folder.mkdir()
    with pytest.raises(InputError, match="not an ordinary file"):
        start.earlier_session("", folder)


def test_the_last_session_is_resumed_where_it_is_of_the_plan(tmp_path: Path) -> None:
    limit = RunConfig(workload="matmul", mode="limit", precision=Precision.FP32, device="cpu")
    mine, other = (replace(limit, workload=name, mode="train") for name in ("resnet50", "bert-large"))
    measured = tuple(
        Measurement(config=config, workload_version=1, item="item", started_at="", status="failed")
        for config in (limit, other)
    )
    path = store.results_dir() / "other.json"
    store.save(
        Result(
            id="other",
            created_at="",
            command="that",
            environment=Environment(device="cpu"),
            measurements=measured,
        ),
        path,
    )
    assert start.earlier_session("", None, (limit, mine), "that") == path  # ended before its first workload
    assert start.earlier_session("last", None, (limit, other), "this") == path
    assert start.earlier_session("last", None, (limit,), "this") == path
    assert start.earlier_session(str(path), None, (limit, mine), "this") == path  # that very file
    for reference in ("", "last"):
        with pytest.raises(InputError, match=r"the last session is another one: that, in .*other\.json"):
            start.earlier_session(reference, None, (limit, mine), "this")


def test_a_cpu_is_watched_by_its_energy_counters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zone = tmp_path / "intel-rapl:0"
    zone.mkdir()
    for name in ("energy_uj", "max_energy_range_uj"):
        (zone / name).write_text("1000000")
    monkeypatch.setattr("gpuwise.measure.telemetry.ZONES", tmp_path)
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path / "home"))
    target = find_target("cpu", None)
    plan, _ = start.plan_for([Request(workloads=("fft",)).given(time_s=1.0)], target, suite=False)
    made = start.prepare(plan, target, command="gpuwise bench fft", output=None, earlier=None)
    assert made.session.sensor is not None
    assert made.session.sensor.sample().energy_j == 1.0
