"""`gpuwise bench`, toy models on the CPU: what it prints, keeps and refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.cli.print import ENDING
from gpuwise.measure import telemetry
from gpuwise.measure.events import Event, Failed
from gpuwise.measure.locks import only_writer
from gpuwise.measure.request import SUITES, Request
from gpuwise.model.result import Window

from ..pretended import Pretended
from .test_schemas import check

Call = Callable[..., tuple[int, str, str]]
Start = Callable[..., "subprocess.Popen[str]"]

CPU = ("--toy", "--device", "cpu")
TOY = ("bench", *CPU, "--workload", "resnet50", "--time", "0.2s")
ENDLESS = (*CPU, "--mode", "infer", "--time", "600s", "--target-ci", "0.0001%")


def test_lines_table_and_file(gpuwise: Call) -> None:
    code, out, err = gpuwise(*TOY, "--mode", "train,infer", "--precision", "fp32")
    assert code == 0
    lines = out.splitlines()
    work = ("matmul fp32", "copy fp32", "resnet50 train fp32 eager", "resnet50 infer fp32 eager")
    starts = [f"{each} toy" for each in work]
    assert [line.split("  ")[0].strip() for line in lines[:4]] == starts
    assert "throughput (95 %)" in out
    assert "kept in" in err
    result = store.load(store.find("last"))
    assert [m.status for m in result.measurements] == ["ok"] * 4
    assert result.command == "gpuwise " + " ".join((*TOY, "--mode", "train,infer", "--precision", "fp32"))
    assert gpuwise("show", "last")[0] == 0


@pytest.mark.usefixtures("pretended")
def test_json_is_one_document_and_nothing_else(gpuwise: Call, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    code, out, _ = gpuwise(*TOY, "--mode", "infer", "--json", "-o", str(path))
    assert code == 0
    assert json.loads(out) == json.loads(path.read_text())
    check("bench", out)
    assert str(tmp_path) not in out  # where it was written is nobody's business


@pytest.mark.usefixtures("pretended")
def test_a_table_format_is_written_beside_the_kept_result(gpuwise: Call, tmp_path: Path) -> None:
    code, _, _ = gpuwise(*TOY, "--mode", "infer", "-o", str(tmp_path / "t.csv"))
    assert code == 0
    assert (tmp_path / "t.csv").read_text().startswith("workload,")
    assert len(store.saved()) == 1


@pytest.mark.usefixtures("pretended")
def test_a_file_that_is_there_is_replaced_by_force_alone(gpuwise: Call, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    words = (*TOY, "--mode", "infer", "-o", str(path))
    assert gpuwise(*words)[0] == 0
    first = path.read_bytes()
    assert gpuwise(*words)[0] == 2
    assert path.read_bytes() == first
    assert gpuwise(*words, "--force")[0] == 0
    assert store.load(path).id not in first.decode()
    assert "--force" not in store.load(path).command
    whole = path.read_bytes()
    with only_writer(path, "another session"):
        code, _, err = gpuwise(*words, "--force")
    assert code == 2
    assert "another session" in err
    assert path.read_bytes() == whole


def test_a_configuration_out_of_memory_is_a_row_and_exit_4(gpuwise: Call, pretended: type[Pretended]) -> None:
    pretended.ends["resnet50"] = Failed(kind="oom", message="RuntimeError: out of memory")
    code, out, err = gpuwise(*TOY, "--mode", "infer", "--batch", "10000000000")
    assert code == 4
    assert "oom" in out
    assert "--batch auto" in err
    assert [m.status for m in store.load(store.find("last")).measurements] == ["ok", "ok", "oom"]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--workload", "resnet51"), 2, "did you mean resnet50"),
        (("--mode", "dream"), 2, "train,infer,compute,limit"),
        (("--precision", "fp7"), 2, "fp32,tf32,fp16,bf16"),
        (("--precision", "tf32"), 3, "it has fp64, fp32, bf16"),
        (("--compile", "maybe"), 2, "off,on"),
        (("--batch", "many"), 2, "auto"),
        (("--batch", "0"), 2, "auto"),
        (("--batch", "1,,many"), 2, "auto"),
        (("--batch", ","), 2, "auto"),
        (("--suite", "aime"), 2, "a suite names its workloads"),
        (("--resume", "last"), 5, "no result has been kept yet"),
        (("copy,resnet51",), 2, "did you mean resnet50"),
        (("timm:resnet18",), 3, "pip install timm"),
        (("./none.py",), 2, "there is no file none.py"),
        (("--time", "soon"), 2, "60s"),
        (("--target-ci", "1"), 2, "write 1%"),
        (("--recipe", "secret"), 2, "tuned"),
        (("--recipe", "script", "--switch", "graph=on"), 2, "script has no switches"),
        (("--recipe", "stock", "--switch", "pooling=triton"), 2, "gpuwise's own kernels"),
        (("--precision", "fp4"), 2, "fp16"),
        (("-o", "result.docx"), 2, ".json, .csv"),
    ],
)
def test_bad_input_is_one_clear_error(gpuwise: Call, options: tuple[str, ...], code: int, said: str) -> None:
    found, out, err = gpuwise(*TOY, *options)
    assert (found, out) == (code, "")
    assert said in err
    assert "Traceback" not in err


def test_a_cpu_build_of_torch_measures_no_gpu(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "torch_build", lambda: telemetry.TorchBuild(version="2.13.0+cpu"))
    code, out, err = gpuwise(*TOY, "--device", "cuda:0")
    assert (code, out) == (3, "")
    assert "no GPU found" in err


def test_torch_is_missing(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "torch_build", lambda: None)
    code, _, err = gpuwise("bench")
    assert code == 3
    assert 'install the extra "gpuwise[torch]"' in err


def test_an_unwritable_output_is_refused_before_measuring(
    gpuwise: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("gpuwise.measure.session.Child", None)  # to start one would raise
    code, out, err = gpuwise(*TOY, "-o", str(tmp_path / "file" / "x.json"))
    assert (code, out) == (2, "")
    assert "cannot write" in err


NET = """\
from gpuwise.workloads import WorkloadSpec, workload
@workload(WorkloadSpec(id="net", version=1, title="Net", item="thing", modes=("infer",), default_batch=4))
def net(config, batch):
    import time, torch
    from gpuwise.workloads.job import Job
    x = torch.randn(batch, 64, 64)
    def step():
        print("noise")
        time.sleep(0.01)
        if batch == 13:
            raise ValueError("unlucky")
        return x @ x
    return Job(step=step, items=batch)
"""


def test_a_file_of_the_user_s_over_several_batches(gpuwise: Call, tmp_path: Path) -> None:
    path = tmp_path / "my_model.py"
    path.write_text(NET)
    words = ("bench", str(path), *CPU, "--quick", "--time", "0.2s", "--batch", "13,8")
    code, out, err = gpuwise(*words)
    assert code == 4
    assert "my_model.py, line 11: ValueError: unlucky" in out
    assert "noise" not in out + err
    result = store.load(store.find("last"))
    assert str(tmp_path) not in str(result)
    assert result.command == "gpuwise bench my_model.py " + " ".join(words[2:])
    mine = [m for m in result.measurements if m.config.mode != "limit"]
    assert [(m.config.workload, m.batch, m.status) for m in mine] == [
        ("my_model.py:net", 13, "failed"),
        ("my_model.py:net", 8, "ok"),
    ]


@pytest.mark.usefixtures("pretended")
def test_a_suite_runs_and_says_what_it_leaves_out(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    small = (Request(workloads=("matmul",), precisions=("fp32", "tf32")), Request(workloads=("launch",)))
    monkeypatch.setitem(SUITES, "aime", small)
    code, out, err = gpuwise("bench", "--suite", "aime", "--toy", "--device", "cpu", "--time", "0.3s")
    assert code == 0
    assert "skipped: not supported on this machine: tf32" in err
    rows = [line.split("  ")[0] for line in out.splitlines()[:3]]
    assert rows == ["matmul fp32 toy", "copy fp32 toy", "launch fp32 toy"]


def test_a_workload_that_needs_a_gpu_is_refused_on_a_cpu(gpuwise: Call) -> None:
    code, _, err = gpuwise("bench", "host-to-device", "--device", "cpu")
    assert code == 3
    assert "host-to-device needs a GPU, and this is a CPU" in err


@pytest.mark.usefixtures("pretended")
def test_a_killed_session_is_resumed_in_its_file(gpuwise: Call, process: Start, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    words = (*TOY, "--mode", "infer", "--resume", "-o", str(path))
    started = process(*words)
    wait_for(started, "copy")
    started.kill()
    started.communicate(timeout=30)
    first = store.load(path)
    assert [m.config.workload for m in first.measurements] == ["matmul", "copy"]
    assert "2 of 3 measurements had ended" in gpuwise("show", str(path))[1]
    code, out, err = gpuwise(*words)
    assert code == 0
    assert "had ended" not in gpuwise("show", str(path))[1]
    assert "2 of 3 measurements are kept from" in err
    assert out.startswith("resnet50 infer")
    whole = store.load(path)
    assert whole.measurements[:2] == first.measurements
    assert [m.status for m in whole.measurements] == ["ok"] * 3
    assert (whole.id, whole.command) == (first.id, first.command)
    assert "resume" not in whole.command
    assert [each.command for each in whole.resumed] == [whole.command]
    assert whole.resumed[0].started_at > whole.created_at
    assert gpuwise(*words)[0] == 0
    assert store.load(path) == whole
    assert not store.saved()


@pytest.mark.usefixtures("pretended")
def test_a_second_session_on_the_same_device_is_refused(gpuwise: Call, process: Start) -> None:
    first = process("bench", "resnet50", *ENDLESS)
    wait_for(first, "matmul")
    code, _, err = gpuwise(*TOY)
    assert code == 3
    assert f"the CPU is being measured by process {first.pid} (gpuwise bench resnet50 --toy" in err
    first.kill()
    first.communicate(timeout=30)
    code, _, err = gpuwise(*TOY)
    assert code == 0, err


def wait_for(started: subprocess.Popen[str], text: str) -> str:
    """Read standard output until a line holds `text`; everything read."""
    assert started.stdout is not None
    seen = ""
    for line in started.stdout:
        seen += line
        if text in line:
            return seen
    raise AssertionError(f"{text!r} was never printed; {seen!r}")


def children(pid: int) -> list[int]:
    """Processes that `pid` has started, as soon as there is one."""
    found: list[int] = []
    while not found:
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended meanwhile
                after_name = (folder / "stat").read_text().rpartition(")")[2]
                if int(after_name.split()[1]) == pid:
                    found.append(int(folder.name))
    return found


def test_an_interrupt_keeps_what_is_done(process: Start, tmp_path: Path) -> None:
    path, steps = tmp_path / "my_model.py", tmp_path / "steps"
    path.write_text(NET.replace('print("noise")', f"open({str(steps)!r}, 'a').close()"))
    started = process("bench", str(path), *ENDLESS)
    wait_for(started, "copy")
    while not steps.exists():
        assert started.poll() is None
        time.sleep(0.05)
    started.send_signal(signal.SIGTERM)  # every signal that ends it: test_endpoint.py
    _out, err = started.communicate(timeout=30)
    assert started.returncode == 130
    assert "interrupted: 2 of " in err
    assert "Traceback" not in err
    result = store.load(store.find("last"))
    assert [m.status for m in result.measurements] == ["ok", "ok", "interrupted"]


@pytest.mark.parametrize("sign", ENDING)
def test_what_was_timed_before_a_signal_is_kept(
    gpuwise: Call, monkeypatch: pytest.MonkeyPatch, sign: signal.Signals
) -> None:
    class Struck(Pretended):
        def events(self) -> Iterator[Event]:
            for event in super().events():
                if isinstance(event, Window) and event.started_s == 3 and self._config.mode == "infer":
                    os.kill(os.getpid(), sign)
                yield event

    monkeypatch.setattr("gpuwise.measure.session.Child", Struck)
    code, _, err = gpuwise(*TOY, "--mode", "infer")
    assert code == 130, err
    last = store.load(store.find("last")).measurements[-1]
    assert (last.status, len(last.windows)) == ("interrupted", 3)
    assert last.throughput is not None


def test_a_second_interrupt_loses_nothing_either(process: Start) -> None:
    started = process("bench", "resnet50", *ENDLESS)
    wait_for(started, "copy")
    (child,) = children(started.pid)
    started.send_signal(signal.SIGINT)
    time.sleep(0.1)
    started.send_signal(signal.SIGINT)
    _out, err = started.communicate(timeout=60)
    assert started.returncode == 130
    assert "Traceback" not in err
    result = store.load(store.find("last"))
    assert [m.status for m in result.measurements[:2]] == ["ok", "ok"]
    wait_until_gone(child)


def wait_until_gone(pid: int) -> None:
    """The measuring process ends soon after its parent, and so does what it started."""
    for _ in range(200):
        if not Path(f"/proc/{pid}").exists():
            return
        time.sleep(0.1)
    pytest.fail("the measuring process lives on")


def test_a_killed_child_is_reported_with_exit_4(gpuwise: Call, pretended: type[Pretended]) -> None:
    pretended.ends["resnet50"] = "the measuring process was killed by SIGKILL"
    code, out, _ = gpuwise(*TOY, "--mode", "train")
    assert code == 4
    assert "was killed by SIGKILL" in out
    assert [m.status for m in store.load(store.find("last")).measurements] == ["ok", "ok", "failed"]


def test_a_dead_reader_is_no_error(process: Start) -> None:
    started = process("gpus")
    assert started.stdout is not None
    started.stdout.close()
    started.wait(20)
    assert started.stderr is not None
    assert "Traceback" not in started.stderr.read()
    started.stderr.close()


def test_with_input_tells_what_either_side_does_alone(gpuwise: Call) -> None:
    code, out, _ = gpuwise("bench", "bert-base", *CPU, "--mode", "infer", "--with-input", "--time", "0.2s")
    assert code == 0, out
    assert "bert-base infer fp32 eager with input" in out
    (m,) = (m for m in store.load(store.find("last")).measurements if m.config.mode != "limit")
    assert m.config.input == "host"
    assert m.input is not None
    assert m.input.workers_needed >= 1
    assert m.verdict is not None
    code, out, _ = gpuwise("show", "last", "--full")
    assert f"{m.verdict.bound}-bound: " in out
    assert "of the step alone" in out
