"""`gpuwise accept`: a host of scripted GPUs, a fleet of files, and what is refused."""

from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise import store, workloads
from gpuwise.jobs.accepting import QUICK, once
from gpuwise.measure import telemetry
from gpuwise.measure.prepare import Target, plan_for
from gpuwise.measure.request import SUITES, Request
from gpuwise.measure.session import Session
from gpuwise.measure.telemetry import TorchBuild
from gpuwise.measure.telemetry.sensor import DeviceInfo, Process, Sample, Wear
from gpuwise.model.question import RunConfig
from gpuwise.model.result import Interval, Measurement, Telemetry, Window
from gpuwise.show import html
from gpuwise.show.page import Page, Section
from gpuwise.show.table import Table
from tests.show.browser import missing
from tools.scripted_sensor import ScriptedSensor

Call = Callable[..., tuple[int, str, str]]

SPEEDS = {
    ("matmul", "fp32"): 5.11e13, ("matmul", "bf16"): 8e14,
    ("copy", "fp32"): 4.26e12, ("peer", "fp32"): 3.9e11,
    ("all-reduce", "fp32"): 3.6e11, ("all-to-all", "fp32"): 3.1e11, ("disk-read", "fp32"): 5e9,
}  # fmt: skip

WHOLE = SUITES["limits"]


class Machine:
    """A host of scripted H200s; a test says what is wrong with which."""

    def __init__(self) -> None:
        self.count = 2
        self.slow: dict[int, float] = {}
        self.heat: dict[int, float] = {}
        self.info: dict[int, dict[str, object]] = {}
        self.company: dict[int, tuple[Process, ...]] = {}
        self.wear: dict[int, Wear] = {}
        self.interrupted = False
        self.failing = ""  # A workload

    def sensors(self) -> tuple[ScriptedSensor, ...]:
        return tuple(self._sensor(index) for index in range(self.count))

    def _sensor(self, index: int) -> ScriptedSensor:
        info = DeviceInfo(
            index=index,
            name="NVIDIA H200",
            uuid=f"GPU-{index}",
            serial=f"serial-{index}",
            memory_bytes=150_754_820_096,
            power_limit_w=700.0,
            power_limit_default_w=700.0,
            mig=False,
            pcie_generation=5,
            pcie_generation_max=5,
            pcie_width=16,
            pcie_width_max=16,
        )
        info = replace(info, **self.info.get(index, {}))  # type: ignore[arg-type]
        samples = [Sample(at_s=0.0, utilisation=1.0, temperature_c=40.0)]
        return ScriptedSensor(info, samples, self.company.get(index, ()), self.wear.get(index, Wear()))

    def measure(self, session: Session, plan: tuple[RunConfig, ...], listen: object) -> bool:
        """In place of `jobs.measuring.run`: what this GPU's script says, at once."""
        index = session.sensor.info().index if session.sensor is not None else 0
        measured = tuple(self._measured(config, index) for config in plan)
        session.result = replace(session.result, measurements=measured)
        session.keep(session.result)
        return not self.interrupted

    def _measured(self, config: RunConfig, index: int) -> Measurement:
        value = SPEEDS.get((config.workload, config.precision), 1e12) * self.slow.get(index, 1.0)
        return Measurement(
            config=config,
            workload_version=1,
            status="failed" if config.workload == self.failing else "ok",
            error="rank 1 (GPU 1 of its machine) was killed by SIGBUS",
            item="FLOP" if config.workload == "matmul" else "byte",
            started_at="",
            throughput=Interval(value=value, low=value, high=value, method="bootstrap"),
            telemetry=Telemetry(samples=30, temperature_max_c=self.heat.get(index, 60.0)),
        )


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Two healthy H200s, a suite of two limits, and nothing that is really run."""
    made = Machine()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(telemetry, "sensors", made.sensors)
    monkeypatch.setattr(telemetry, "torch_build", lambda: TorchBuild(version="2.11", cuda="13.0"))
    monkeypatch.setattr("gpuwise.jobs.measuring.run", made.measure)
    small = (Request(workloads=("matmul", "copy"), precisions=("fp32",)),)
    monkeypatch.setitem(SUITES, "limits", small)
    return made


HOST = ("accept", "--suite", "limits")


def test_a_good_host_passes(gpuwise: Call, machine: Machine) -> None:
    code, out, err = gpuwise(*HOST)
    assert code == 0, err
    assert "pass: 2 of 2 cards pass" in out
    assert "gpuwise's own sessions on H200 SXM" in out
    assert [line for line in err.splitlines() if line.startswith("GPU")] == ["GPU 0:", "GPU 1:"]
    kept = [store.load(path) for path in store.saved()]
    assert {result.command for result in kept} == {
        f"gpuwise accept --suite limits --device {index}" for index in (0, 1)
    }


def test_every_fault_has_its_name_and_the_exit_code_is_1(gpuwise: Call, machine: Machine) -> None:
    machine.count = 8
    machine.slow[1] = 0.8
    machine.heat[2] = 91.0
    machine.info[3] = {"pcie_width": 8}
    machine.info[4] = {"power_limit_w": 500.0}
    machine.wear[5] = Wear(ecc_uncorrected=2)
    machine.info[6] = {"mig": True}
    machine.company[7] = (Process(pid=42),)
    code, out, err = gpuwise(*HOST)
    assert code == 1
    assert "FAIL: 1 of 8 cards passes" in out
    assert (
        "not accepted: GPU 1 (slow, spread); GPU 2 (hot); GPU 3 (pcie); GPU 4 (power-cap); GPU 5 (ecc); "
        "GPU 6 (mig); GPU 7 (busy)" in err
    )
    assert "GPU 7: busy: not measured: GPU 7 is busy with process 42" in out
    # Without an index they would set all eight.
    assert "nvidia-smi -i 4 -pl 700" in out
    assert "nvidia-smi -i 6 -mig 0" in out
    assert "91 °C, 31 °C above the median" in out


def test_mixed_models_fail_the_host(gpuwise: Call, machine: Machine) -> None:
    machine.info[1] = {"name": "NVIDIA A100-SXM4-80GB", "memory_bytes": 85_899_345_920}
    code, out, err = gpuwise(*HOST)
    assert code == 1
    assert "the host does not" in out
    assert "not accepted: host (mixed)" in err


def test_only_some_gpus(gpuwise: Call, machine: Machine) -> None:
    machine.slow[1] = 0.5
    assert gpuwise(*HOST, "--device", "0")[0] == 0
    code, _, err = gpuwise(*HOST, "--device", "5")
    assert (code, "no GPU 5 here" in err) == (2, True)


def test_the_margin_decides(gpuwise: Call, machine: Machine) -> None:
    machine.slow[1] = 0.92
    assert gpuwise(*HOST)[0] == 1
    assert gpuwise(*HOST, "--margin", "10%")[0] == 0


def test_a_name_of_several_gpus_is_the_usual_one_of_them(gpuwise: Call) -> None:
    quick = str(Path(__file__).parents[2] / "results" / "h200" / "quick.json")
    code, out, err = gpuwise("accept", quick, "--against", "h200")
    assert (code, "taken as h200-sxm" in err) == (0, True)
    assert out == gpuwise("accept", quick, "--against", "h200-sxm")[1]


def test_against_the_last_result_and_a_file(gpuwise: Call, machine: Machine, tmp_path: Path) -> None:
    """Each card against its own last one: GPU 1 was always slower, and no slower than before."""
    machine.slow = {0: 1.0, 1: 0.93}
    gpuwise(*HOST)
    good = next(path for path in store.saved() if "--device 0" in store.load(path).command)
    machine.slow = {0: 0.9, 1: 0.93}
    code, out, err = gpuwise(*HOST, "--against", "last")
    assert code == 1
    assert f"GPU 0: slow: matmul fp32 10.0 % below {good.name}" in out
    assert "not accepted: GPU 0 (slow)" in err
    machine.count = 3
    code, out, err = gpuwise(*HOST, "--against", "last")
    assert (code, out) == (5, "")
    assert "no result of this NVIDIA H200 is kept" in err
    machine.count = 2
    code, out, _ = gpuwise(*HOST, "--against", str(good))
    assert (code, f"Speeds are compared with {good.name} and each other" in out) == (1, True)


def test_the_bundle(gpuwise: Call, machine: Machine, tmp_path: Path) -> None:
    machine.heat[1] = 91.0
    path = tmp_path / "bundle.zip"
    code, out, err = gpuwise(*HOST, "-o", str(path), "--json")
    assert code == 1
    assert json.loads(out)["cards"][1]["reasons"][0]["code"] == "hot"
    assert f"bundle written to {path}" in err
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("verdict.json")) == json.loads(out)
        assert b"FAIL: 1 of 2 cards passes" in archive.read("verdict.md")
        everything = b"".join(archive.read(name) for name in archive.namelist())
    assert b"serial-" not in everything
    assert str(tmp_path).encode() not in everything
    gpuwise(*HOST, "-o", str(path), "--with-serials")
    with zipfile.ZipFile(path) as archive:
        assert b"serial-1" in archive.read("health.json")
    code, out, _ = gpuwise("accept", str(path))
    assert code == 1
    assert "hot: 91 °C" in out


def test_the_verdict_as_a_file(gpuwise: Call, machine: Machine, tmp_path: Path) -> None:
    assert gpuwise(*HOST, "-o", str(tmp_path / "v.md"))[0] == 0
    assert (tmp_path / "v.md").read_text().startswith("**pass: 2 of 2 cards pass**")


def test_an_interrupt_ends_with_130_and_no_verdict(gpuwise: Call, machine: Machine, tmp_path: Path) -> None:
    machine.interrupted = True
    code, out, _ = gpuwise(*HOST, "-o", str(tmp_path / "b.zip"))
    assert (code, out) == (130, "")
    assert not (tmp_path / "b.zip").exists()


def test_no_gpu(gpuwise: Call) -> None:
    code, out, err = gpuwise("accept")
    assert (code, out) == (3, "")
    assert "gpuwise accept --device cpu" in err


def test_the_processor_is_measured_for_real(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    small = (Request(workloads=("copy",), precisions=("fp32",)),)
    monkeypatch.setitem(SUITES, "limits", small)
    code, out, err = gpuwise(*HOST, "--device", "cpu", "--toy", "--time", "0.2s")
    # Nothing is known of what this processor reaches, so it is not accepted either.
    assert code == 5, err
    assert "not judged: 0 of 1 card pass" in out
    assert "no reference is known" in out
    code, out, err = gpuwise("accept", "")
    assert (code, out) == (2, "")
    assert "an empty path names no file" in err


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--suite", "none"), 2, "unknown suite 'none'"),
        (("--suite", ","), 2, "no suite given"),
        (("--device", "zero"), 2, "like 0,2"),
        (("--margin", "much"), 2, "as a percentage"),
        (("--against", "h900"), 2, "h900"),
        (("--against", "rtx 4090"), 5, "nothing is known of what"),
        (("--device", "cpu:0"), 2, "a processor has no index"),
        (("--with-serials",), 2, "serial numbers go into a bundle"),
        (("-o", "x.docx"), 2, ".csv, .parquet, .md, .zip"),
        (("--margin", "100%"), 2, "would accept any card"),
        (("-o", "/proc/none/b.zip"), 2, "cannot write"),
        (("rtx-4090",), 2, "--against rtx-4090"),
    ],
)
def test_bad_input_is_refused_before_anything_is_measured(
    gpuwise: Call,
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    monkeypatch.setattr("gpuwise.jobs.measuring.run", None)  # to call it would raise
    found, out, err = gpuwise("accept", *options)
    assert (found, out) == (code, "")
    assert said in err


def test_suites_share_their_limits_and_leave_out_what_gpus_do_together(machine: Machine) -> None:
    both = (*SUITES["limits"], QUICK, Request(workloads=("resnet50",), gpus=(1, 2)))
    sensor = machine.sensors()[0]
    others = (machine.sensors()[1].info(),)
    target = Target(
        device="cuda", sensor=sensor, info=sensor.info(), spec=None, name="NVIDIA H200", others=others
    )
    plan = once(plan_for(both, target, suite=True)[0])
    asked = [(c.workload, c.precision, c.quick) for c in plan if c.mode == "limit"]
    assert asked[0] == ("matmul", "fp32", False)
    assert len({c.key for c in plan}) == len(plan)
    assert {c.gpus for c in plan} == {1}
    assert {"resnet50", "bert-large"} <= {c.workload for c in plan if c.quick}


def test_a_fleet_of_files(gpuwise: Call, machine: Machine, tmp_path: Path) -> None:
    machine.count = 6
    machine.slow[4] = 0.8
    gpuwise(*HOST, "-o", str(tmp_path / "fleet" / "rack-1.zip"))
    machine.slow.clear()
    gpuwise(*HOST, "-o", str(tmp_path / "fleet" / "rack-2.zip"))
    code, out, err = gpuwise("accept", str(tmp_path / "fleet"))
    assert code == 1
    assert "FAIL: 11 of 12 cards in 2 hosts pass; 1 is an outlier" in out
    for title in ("By model", "By host"):
        assert title in out
    assert "not accepted: rack-1 (1 of 12 cards)" in err
    code, out, _ = gpuwise("accept", str(tmp_path / "fleet"), "--json")
    document = json.loads(out)
    assert [(d["host"], d["card"]) for d in document["deviations"]] == [("rack-1", "GPU 4")] * 2
    assert gpuwise("accept", str(tmp_path / "fleet" / "rack-2.zip"))[0] == 0
    assert "By model" not in gpuwise("accept", str(tmp_path / "fleet"), "-q")[1]
    report = tmp_path / "fleet.md"
    assert gpuwise("accept", str(tmp_path / "fleet"), "-o", str(report))[0] == 1
    assert "| rack-1 | GPU 4 |" in report.read_text()


def test_what_a_fleet_refuses(gpuwise: Call, tmp_path: Path) -> None:
    code, _, err = gpuwise("accept", str(tmp_path / "none"))
    assert (code, "there is no" in err) == (2, True)
    code, _, err = gpuwise("accept", str(tmp_path))
    assert (code, "no result was found" in err) == (5, True)
    code, _, err = gpuwise("accept", str(tmp_path), "--against", "last")
    assert (code, "a fleet has no last result" in err) == (2, True)
    code, _, err = gpuwise("accept", str(tmp_path), "--suite", "limits", "--device", "0")
    assert (code, "leave out --suite, --device" in err) == (2, True)
    code, _, err = gpuwise("accept", str(tmp_path), "-o", "x.zip")
    assert (code, "use a suffix of" in err) == (2, True)


EXCHANGES = (
    Request(workloads=("copy", "peer"), precisions=("fp32",)),
    Request(workloads=("all-reduce", "all-to-all"), precisions=("fp32",), batch=(1, 1024)),
)


def test_what_all_cards_do_together_is_the_host_s(
    gpuwise: Call, machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(SUITES, "limits", EXCHANGES)
    machine.count = 6  # no power of two
    code, out, err = gpuwise(*HOST, "--input", "host", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert [card["card"] for card in found["cards"]] == [f"GPU {n}" for n in range(6)]
    together, host = found["common"]
    assert (together["part"], len(together["speeds"]), host["part"]) == ("all GPUs", 4, "host")
    assert {each["speed_of"] for each in host["speeds"]} >= {"copy fp32", "disk-read fp32"}
    kept = {result.id: result for result in map(store.load, store.saved())}
    assert kept[together["result"]].command.endswith("--device 0,1,2,3,4,5")
    assert {m.config.gpus for m in kept[together["result"]].measurements} == {6}
    card = kept[found["cards"][5]["result"]]
    assert {m.config.workload for m in card.measurements} >= {"copy", "peer"}
    # The files by themselves are six cards, too: what they did together, and the host, count as none.
    files = json.loads(gpuwise("accept", str(store.results_dir()), "--json")[1])
    assert len(files["judged"][0]["cards"]) == 6
    # An exchange that fails is no card's fault.
    machine.failing = "all-to-all"
    code, out, err = gpuwise(*HOST, "-o", str(tmp_path / "host.zip"))
    assert (code, "not accepted: host (failed)" in err, "6 of 6 cards pass" in out) == (1, True, True)
    found = json.loads(gpuwise("accept", str(tmp_path / "host.zip"), "--json")[1])["judged"][0]
    assert [reason["code"] for reason in found["host"]] == ["failed", "failed"]
    assert all(each["passed"] for each in found["cards"])


def test_a_certificate_on_paper(
    gpuwise: Call, machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(SUITES, "limits", EXCHANGES)
    machine.slow[1] = 0.8
    page = tmp_path / "certificate.html"
    assert gpuwise(*HOST, "-o", str(page))[0] == 1
    text = page.read_text()
    assert text.count("FAIL") >= 3  # the host, the card and its speeds
    assert "all-reduce" in text
    measured = len(store.saved())
    monkeypatch.setattr(html, "BROWSERS", ())
    assert gpuwise(*HOST, "-o", str(tmp_path / "none.pdf"))[0] == 3
    assert len(store.saved()) == measured  # it is said before anything is measured


@pytest.mark.skipif(missing(), reason="it is a browser that prints")
def test_a_pdf_is_printed_by_a_browser() -> None:
    table = Table.of([{"card": "GPU 0", "verdict": "pass"}], title="Cards")
    page = Page(
        title="One",
        subtitle="",
        summary=(),
        sections=(Section(id="a", title="A", tables=(table,)),),
        made_on="",
    )
    assert html.pdf(page).startswith(b"%PDF-")


def phases() -> dict[tuple[str, str, str], float]:
    """Seconds of each measurement of a card's test on an H200, by what is measured."""
    stored = store.load(Path(__file__).parents[2] / "results" / "h200" / "accept.json")
    return {(m.config.workload, m.config.mode, m.config.precision): sum(s for _, s in m.phases_s)
            for m in stored.measurements}  # fmt: skip


@pytest.mark.parametrize(("cores", "scale"), [(16, 0.03), (4, 0.005)])
def test_eight_cards_are_tested_at_the_same_time_and_links_one_by_one(
    gpuwise: Call,
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    scale: float,
    slowness: float,
) -> None:
    """A part of the time that they took on an H200; ranks start once, in 15 s, and exchange 2 s each."""
    machine.count, known = 8, phases()
    running: dict[int, RunConfig] = {}
    seen: list[tuple[int, bool]] = []
    marks: list[float] = []

    def measure(session: Session, plan: tuple[RunConfig, ...], listen: object) -> bool:
        index = session.sensor.info().index if session.sensor is not None else 0
        began = 15.0 if plan[0].gpus > 1 else 0.0
        marks.append(time.monotonic())
        time.sleep(scale * began)
        for config in plan:
            assert session.turns is not None
            with session.turns.of(config):
                running[index] = config
                links = [c for c in running.values() if workloads.get(c.workload).spec.links]
                seen.append((len(running), bool(links)))
                time.sleep(scale * known.get((config.workload, config.mode, config.precision), 2.0))
                del running[index]
        marks.append(time.monotonic())
        return machine.measure(session, plan, listen)

    monkeypatch.setattr("gpuwise.jobs.measuring.run", measure)
    monkeypatch.setattr(telemetry, "cpu_count", lambda: cores)
    monkeypatch.setitem(SUITES, "limits", WHOLE)
    found = json.loads(gpuwise("accept", "--json")[1])
    assert len(found["cards"]) == 8
    assert max(count for count, _ in seen) == min(8, cores // 2)
    assert {count for count, links in seen if links} == {1}
    if cores == 16:
        assert (max(marks) - min(marks)) / scale < 150 * max(1.0, slowness)


def test_an_interrupted_test_is_gone_on_with(
    gpuwise: Call, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four hours of soak the second card has run three, and the first has ended."""
    plans: dict[int, list[RunConfig]] = {}

    def measure(session: Session, plan: tuple[RunConfig, ...], listen: object) -> bool:
        index = session.sensor.info().index if session.sensor is not None else 0
        plans[index] = list(plan)
        found = list(session.result.measurements)
        for config in plan:
            m = machine._measured(config, index)
            half = index == 1 and config.protocol == "soak" and machine.interrupted
            hours = 3 if half else config.time_s / 3600
            windows = tuple(Window(step_s=(1.0,), started_s=3600 * h, ended_s=3600 * (h + 1))
                            for h in range(round(hours)))  # fmt: skip
            soak = {"windows": windows} if config.protocol == "soak" else {}
            found.append(replace(m, status="interrupted" if half else "ok", **soak))
        session.result = replace(session.result, measurements=tuple(found))
        session.keep(session.result)
        return not machine.interrupted

    monkeypatch.setattr("gpuwise.jobs.measuring.run", measure)
    machine.interrupted = True
    words = (*HOST, "--soak", "4h")
    assert gpuwise(*words)[0] == 130
    first = {index: len(plan) for index, plan in plans.items()}
    machine.interrupted = False
    plans.clear()
    code, _, err = gpuwise(*words, "--resume")
    assert (code, len(store.saved())) == (0, 2), err
    assert [(c.protocol, c.time_s) for c in plans[1]] == [("soak", 3600.0)]
    assert plans[0] == []
    kept = [m for path in store.saved() for m in store.load(path).measurements if m.config.protocol == "soak"]
    assert sorted(len(m.windows) for m in kept) == [1, 3, 4]
    # All has ended: the next test measures everything anew.
    plans.clear()
    assert gpuwise(*words, "--resume")[0] == 0
    assert {index: len(plan) for index, plan in plans.items()} == first
