"""`gpuwise bench`, toy models on the CPU: what it prints, keeps and refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from gpuwise import store, telemetry

Call = Callable[..., tuple[int, str, str]]
Start = Callable[..., "subprocess.Popen[str]"]

TOY = ("bench", "--toy", "--device", "cpu", "--workload", "resnet50", "--time", "1s")


def test_lines_table_and_file(gpuwise: Call) -> None:
    code, out, err = gpuwise(*TOY, "--mode", "train,infer", "--precision", "fp32")
    assert code == 0
    lines = out.splitlines()
    starts = ["matmul fp32", "copy", "resnet50 train fp32 eager", "resnet50 infer fp32 eager"]
    assert [line.split("  ")[0].strip() for line in lines[:4]] == starts
    assert "throughput (95 %)" in out
    assert "kept in" in err
    result = store.load(store.find("last"))
    assert [m.status for m in result.measurements] == ["ok"] * 4
    assert result.command == "gpuwise " + " ".join((*TOY, "--mode", "train,infer", "--precision", "fp32"))
    assert gpuwise("show", "last")[0] == 0


def test_json_is_one_document_and_nothing_else(gpuwise: Call, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    code, out, _ = gpuwise(*TOY, "--mode", "infer", "--json", "-o", str(path))
    assert code == 0
    assert json.loads(out) == json.loads(path.read_text())
    assert str(tmp_path) not in out  # where it was written is nobody's business


def test_a_table_format_is_written_beside_the_kept_result(gpuwise: Call, tmp_path: Path) -> None:
    code, _, _ = gpuwise(*TOY, "--mode", "infer", "-o", str(tmp_path / "t.csv"))
    assert code == 0
    assert (tmp_path / "t.csv").read_text().startswith("workload,")
    assert len(store.saved()) == 1


def test_a_configuration_out_of_memory_is_a_row_and_exit_4(gpuwise: Call) -> None:
    code, out, err = gpuwise(*TOY, "--mode", "infer", "--batch", "10000000000")
    assert code == 4
    assert "oom" in out
    assert "--batch auto" in err
    assert [m.status for m in store.load(store.find("last")).measurements] == ["ok", "ok", "oom"]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--workload", "resnet51"), 2, "did you mean resnet50"),
        (("--mode", "dream"), 2, "train,infer,limit"),
        (("--precision", "fp7"), 2, "fp32,tf32,fp16,bf16"),
        (("--precision", "tf32"), 3, "gpuwise bench --precision fp32,bf16"),
        (("--compile", "maybe"), 2, "off,on"),
        (("--batch", "many"), 2, "auto"),
        (("--batch", "0"), 2, "auto"),
        (("--time", "soon"), 2, "60s"),
        (("--target-ci", "1"), 2, "write 1%"),
        (("--recipe", "secret"), 2, "tuned"),
        (("-o", "result.docx"), 2, ".json, .csv, .md"),
    ],
)
def test_bad_input_is_one_clear_error(gpuwise: Call, options: tuple[str, ...], code: int, said: str) -> None:
    found, out, err = gpuwise(*TOY, *options)
    assert (found, out) == (code, "")
    assert said in err
    assert "Traceback" not in err


def test_a_cpu_build_of_torch_measures_no_gpu(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "torch_build", lambda: telemetry.TorchBuild(version="2.13.0+cpu"))
    code, out, err = gpuwise(*TOY, "--gpu", "0", "--device", "cuda")
    assert (code, out) == (3, "")
    assert "CPU build" in err


def test_torch_is_missing(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "torch_build", lambda: None)
    code, _, err = gpuwise("bench")
    assert code == 3
    assert 'pip install "gpuwise[torch]"' in err


def test_an_unwritable_output_is_refused_before_measuring(
    gpuwise: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("gpuwise.bench.session.Child", None)  # to start one would raise
    code, out, err = gpuwise(*TOY, "-o", str(tmp_path / "file" / "x.json"))
    assert (code, out) == (2, "")
    assert "cannot write" in err


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


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_is_done(process: Start, sign: signal.Signals) -> None:
    started = process(*TOY[:-2], "--time", "600s", "--target-ci", "0.0001%", "--mode", "train")
    wait_for(started, "copy")
    time.sleep(4)
    started.send_signal(sign)
    _out, err = started.communicate(timeout=30)
    assert started.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    result = store.load(store.find("last"))
    assert [m.status for m in result.measurements[:2]] == ["ok", "ok"]


def test_a_killed_child_is_reported_with_exit_4(process: Start) -> None:
    started = process(*TOY[:-2], "--time", "600s", "--target-ci", "0.0001%", "--mode", "train")
    wait_for(started, "copy")
    time.sleep(4)
    for child in children(started.pid):
        os.kill(child, signal.SIGKILL)
    out, _err = started.communicate(timeout=30)
    assert started.returncode == 4
    assert "SIGKILL" in out
    assert [m.status for m in store.load(store.find("last")).measurements] == ["ok", "ok", "failed"]


def test_a_dead_reader_is_no_error(process: Start) -> None:
    started = process("gpus")
    assert started.stdout is not None
    started.stdout.close()
    started.wait(20)
    assert started.stderr is not None
    assert "Traceback" not in started.stderr.read()
    started.stderr.close()
