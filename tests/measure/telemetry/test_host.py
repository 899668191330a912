"""The computer, torch without importing it, and what of the environment may be published."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from gpuwise.measure.telemetry import (
    TorchBuild,
    cpu_count,
    cpu_name,
    disk_free_bytes,
    load_average,
    speed_variables,
    torch_build,
)


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, version: str | bytes | None) -> None:
    """A torch in `folder` with this version file is what `import torch` would find."""
    if version is not None:
        content = version.encode() if isinstance(version, str) else version
        (folder / "version.py").write_bytes(content)
    spec = ModuleSpec("torch", None, origin=str(folder / "__init__.py"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec)


def test_cuda_torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = "from typing import Optional\n__version__ = '2.11.0+cu130'\ndebug = False\n"
    install(monkeypatch, tmp_path, text + "cuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n")
    assert torch_build() == TorchBuild(version="2.11.0+cu130", cuda="13.0", hip=None)


def test_rocm_torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, tmp_path, "__version__ = '2.11.0+rocm7.1'\ncuda = None\nhip = '7.1.25424'\n")
    assert torch_build() == TorchBuild(version="2.11.0+rocm7.1", hip="7.1.25424")


@pytest.mark.parametrize("text", [None, "", "version = (", b"\xff\xfe\x00", "__version__ = make()"])
def test_version_file_that_says_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | bytes | None
) -> None:
    install(monkeypatch, tmp_path, text)
    assert torch_build() is None


def test_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert torch_build() is None


def test_torch_that_is_half_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise ValueError("torch.__spec__ is None")

    monkeypatch.setattr("importlib.util.find_spec", refuse)
    assert torch_build() is None


def test_torch_of_this_machine_is_found_without_importing_it() -> None:
    pytest.importorskip("torch")
    code = "import sys, gpuwise.measure.telemetry as t; b = t.torch_build(); print(*sys.modules, b.version)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *imported, version = done.stdout.split()
    assert "torch" not in imported
    assert version[0].isdigit()


def test_host() -> None:
    assert cpu_name()
    assert cpu_count() >= 1


def test_processor_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *a, **k: "processor\t: 0\n")
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert cpu_name() == "aarch64"


def test_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil.getloadavg", lambda: (3.2, 0.0, 0.0))
    assert load_average() == 3.2

    def refuse() -> tuple[float, float, float]:
        raise OSError("no /proc/loadavg")

    monkeypatch.setattr("psutil.getloadavg", refuse)
    assert load_average() is None


def test_disk_of_a_folder_that_is_not_there_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert disk_free_bytes(tmp_path / "not" / "yet") > 0
    monkeypatch.chdir(tmp_path)
    assert disk_free_bytes(Path("not/yet")) > 0


def test_variables_that_change_speed() -> None:
    environ = {
        "OMP_NUM_THREADS": "8",
        "NVIDIA_TF32_OVERRIDE": "0",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "TORCHINDUCTOR_CACHE_DIR": "/home/ada/cache",
        "CUDA_PATH": "C:\\Users\\ada",
        "TRITON_CACHE_DIR": "~ada",
        "CUDA_VISIBLE_DEVICES": "GPU-8f1c-22,MIG-ab12",
        "HIP_HOST_COHERENT": "1",
        "NCCL_COMM_ID": "10.0.0.1:29500",
        "NCCL_HOSTID": "ada-desk",
        "TORCHINDUCTOR_REDIS_HOST": "cache.lan",
        "TORCHX_TOKEN": "x",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "PATH": "/usr/bin",
        "USER": "ada",
        "SECRET_CUDA_TOKEN": "x",
    }
    assert speed_variables(environ) == (
        ("CUDA_PATH", "<path>"),
        ("CUDA_VISIBLE_DEVICES", "GPU-<id>,MIG-<id>"),
        ("HIP_HOST_COHERENT", "1"),
        ("NVIDIA_TF32_OVERRIDE", "0"),
        ("OMP_NUM_THREADS", "8"),
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),
        ("TORCHINDUCTOR_CACHE_DIR", "<path>"),
        ("TRITON_CACHE_DIR", "<path>"),
    )
