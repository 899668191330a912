"""Workloads of installed packages, found through an entry point of a made-up one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpuwise import workloads
from gpuwise.errors import InputError
from gpuwise.workloads import foreign, registry

CODE = """\
import torch  # as many do
from gpuwise.workloads import WorkloadSpec, workload
from gpuwise.workloads.job import Job
@workload(WorkloadSpec(id="theirs", version=2, title="", item="thing", modes=("infer",), default_batch=8))
def theirs(config, batch):
    return Job(step=lambda: torch.ones(1), items=batch)
number = 3
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with three entry points, of which one is good."""
    (tmp_path / "gw_theirs.py").write_text(CODE)
    info = tmp_path / "gw_theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gw-theirs\nVersion: 1.0\n")
    points = "theirs = gw_theirs:theirs\nother = gw_theirs:theirs\nnumber = gw_theirs:number\n"
    (info / "entry_points.txt").write_text(f"[{foreign.GROUP}]\n{points}")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(registry, "_FOREIGN", {})


def test_a_package_s_workload_is_found_by_its_name() -> None:
    assert "theirs" in workloads.installed()
    found = workloads.get("theirs")
    assert (found.spec.id, found.spec.version, found.spec.cost) == ("theirs", 2, None)
    assert found.reference == "theirs"


def test_the_child_gets_the_thing_itself() -> None:
    assert workloads.load("theirs").build(None, 5).items == 5  # type: ignore[arg-type]
    assert workloads.load("matmul") is workloads.get("matmul")


def test_entry_points_that_are_no_workload_or_called_otherwise() -> None:
    with pytest.raises(InputError, match=r"number \(gw_theirs:number\): not a workload"):
        foreign.load("number")
    with pytest.raises(InputError, match="has the id 'theirs', its entry point 'other'"):
        foreign.load("other")


def test_listing_names_loads_none_of_it() -> None:
    code = (
        "import sys, gpuwise.workloads as w\n"
        "assert 'theirs' in w.installed()\n"
        "assert 'torch' not in sys.modules and 'gw_theirs' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_module_that_is_missing_is_named_with_the_line_that_installs_it(tmp_path: Path) -> None:
    (tmp_path / "gw_theirs.py").write_text("import gw_nowhere\n")
    sys.modules.pop("gw_theirs", None)
    said = foreign.answer("theirs")
    assert said["error"] == "MachineError"
    assert said["hint"] == "pip install gw_nowhere"
