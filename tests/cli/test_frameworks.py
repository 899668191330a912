"""`gpuwise bench --framework`, toy models on the CPU: what it prints, keeps and refuses."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from math import isfinite
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.cli import bench
from gpuwise.measure import frameworks as support
from gpuwise.measure import telemetry
from gpuwise.measure.request import SUITES, schedule

Call = Callable[..., tuple[int, str, str]]

TOY = ("bench", "--toy", "--device", "cpu", "--mode", "train", "--time", "0.3s")


needs_jax, needs_tensorflow = (
    pytest.mark.skipif(find_spec(name) is None, reason=f"{name} is not installed")
    for name in ("jax", "tensorflow")
)
"""Looked for, not imported: torch's and TensorFlow's compilers do not live in one process."""


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A line for each process that ended: the frameworks that it had imported. Forked ones say nothing."""
    found, folder = tmp_path / "frameworks.txt", tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import atexit, sys\n"
        "def say():\n"
        "    found = [name for name in ('torch', 'jax', 'tensorflow') if sys.modules.get(name)]\n"
        f"    open({str(found)!r}, 'a').write(f'{{found}}\\n')\n"
        "atexit.register(say)\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *sys.path]))
    return found


@needs_jax
def test_jax_is_measured_beside_the_limits_of_torch(gpuwise: Call, shared: Path) -> None:
    code, out, err = gpuwise(*TOY, "bert-large", "--framework", "jax", "--compile", "on")
    assert code == 0, err
    assert "bert-large train fp32 compiled jax" in out
    result = store.load(store.find("last"))
    assert [m.config.framework for m in result.measurements] == ["torch", "torch", "jax"]
    assert [m.status for m in result.measurements] == ["ok"] * 3
    # How many steps there are in so short a time depends on the machine: that they learn is tested elsewhere.
    first, last = result.measurements[2].loss
    assert isfinite(last)
    assert last != first
    assert result.environment.jax is not None
    assert result.environment.software[0].startswith("torch")
    assert result.measurements[2].config.key("batch") == "bert-large:train:fp32:compiled:stock:jax:toy"
    assert gpuwise("show", "last")[0] == 0
    assert "['jax']" in shared.read_text().splitlines()
    assert "['torch', " not in shared.read_text()


@needs_tensorflow
def test_the_suite_of_the_a5000_is_measured_in_tensorflow_on_two_replicas_of_a_cpu(
    gpuwise: Call, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry, "torch_build", lambda: None)  # limits are not asked of it then
    one = tuple(replace(request, workloads=("resnet50",)) for request in SUITES["tf-cnn"])
    monkeypatch.setitem(SUITES, "tf-cnn", one)
    mine = str(tmp_path / "tensorflow.json")
    suite = ("--suite", "tf-cnn", "--compile", "off", "--framework", "tensorflow")
    code, out, err = gpuwise(*TOY, *suite, "-o", mine)
    assert code == 0, err
    assert "resnet50 train fp32 eager tensorflow toy, 2 GPUs" in out
    assert "weak scaling" in out
    assert "skipped: not supported on this machine: fp16, 4 GPUs, 8 GPUs" in err
    single, double = store.load(Path(mine)).measurements
    assert (single.config.gpus, single.batch, single.items_per_step) == (1, 8, 8)
    assert (double.config.gpus, double.batch, double.items_per_step) == (2, 8, 16)
    assert [m.status for m in (single, double)] == ["ok"] * 2
    assert store.load(Path(mine)).environment.software[0].startswith("tensorflow")
    assert "['tensorflow']" in shared.read_text().splitlines()
    assert "['torch', " not in shared.read_text()


def test_refusals(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, err = gpuwise("bench", "vit-b16", "--device", "cpu", "--framework", "jax")
    assert code == 2
    assert "not measured in jax: vit-b16" in err
    code, _, err = gpuwise("bench", "resnet50", "--device", "cpu", "--framework", "jax", "--gpus", "2")
    assert (code, "several GPUs" in err) == (2, True)
    code, _, err = gpuwise("bench", "resnet50", "--device", "mps", "--framework", "jax")
    assert (code, "jax is not measured on mps" in err) == (2, True)
    switch = ("--switch", "layout=channels-first")
    code, _, err = gpuwise("bench", "resnet50", "--device", "cpu", "--framework", "jax", *switch)
    assert (code, "switches are those of torch" in err) == (2, True)
    monkeypatch.setattr(support, "installed", lambda framework: None)
    code, _, err = gpuwise("bench", "resnet50", "--device", "cpu", "--framework", "tensorflow")
    assert code == 3
    assert 'install the extra "gpuwise[tensorflow]"' in err


@pytest.mark.parametrize(("device", "said"), [("mps", "Apple's own chips"), ("xpu", "not built for Intel")])
def test_gpus_of_others_that_are_not_there(gpuwise: Call, device: str, said: str) -> None:
    code, _, err = gpuwise("bench", "resnet50", "--device", device)
    assert code == 3
    assert said in err
    assert "choose another device" in err or "whl/xpu" in err


def test_the_guide_s_commands_can_be_planned() -> None:
    page = (Path(__file__).parents[2] / "docs" / "frameworks.md").read_text(encoding="utf-8")
    commands = "".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL)).splitlines()
    assert len(commands) == 4
    for text in commands:
        gpuwise, verb, *words = shlex.split(text)
        assert (gpuwise, verb) == ("gpuwise", "bench")
        options = bench.command.make_context(verb, words).params
        plan = schedule(bench.asked(options))
        assert {c.framework for c in plan if c.mode != "limit"} == {options["framework"]}
