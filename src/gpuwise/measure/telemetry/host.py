"""The computer around the device, and torch, without importing it."""

from __future__ import annotations

import ast
import importlib.util
import os
import platform
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_SPEED_VARIABLES = (
    "CUBLAS",
    "CUDA_",
    "CUDNN",
    "HIP_",
    "HSA_",
    "MKL_",
    "NCCL_",
    "NVIDIA_TF32",
    "OMP_",
    "PYTORCH",
    "ROCR_",
    "TORCH",
    "TRITON_",
)
_PRIVATE = re.compile(r"COMM_ID$|HOST(ID)?$|PASSWORD|SECRET|TOKEN|USERNAME")
"""Names of addresses, hosts and credentials (NCCL_HOSTID, TORCHINDUCTOR_REDIS_HOST): no settings."""
_PATH = re.compile(r"[/\\~]")
_DEVICE_ID = re.compile(r"\b(GPU|MIG)-[0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchBuild:
    """An installed torch: its version and what it was built for."""

    version: str
    cuda: str | None = None
    hip: str | None = None
    xpu: str | None = None


def torch_build() -> TorchBuild | None:
    """The torch that `import torch` would load, read from its version file (`torch.version`).

    Importing torch takes over a second; this takes a millisecond. None where there is none.
    """
    try:
        found = importlib.util.find_spec("torch")
    except (ImportError, ValueError):
        return None
    if found is None or found.origin is None:
        return None
    stated = _assignments(Path(found.origin).with_name("version.py"))
    version = stated.get("__version__")
    if version is None:
        return None
    return TorchBuild(version=version, cuda=stated.get("cuda"), hip=stated.get("hip"), xpu=stated.get("xpu"))


def _assignments(path: Path) -> dict[str, str]:
    """Names that a module assigns a string literal."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):  # ValueError: not UTF-8, or a null byte
        return {}
    found = {}
    for node in tree.body:
        target, value = _target(node), getattr(node, "value", None)
        if isinstance(target, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
            found[target.id] = value.value
    return found


def _target(node: ast.stmt) -> ast.expr | None:
    """What `a = ...` or `a: T = ...` assigns to."""
    if isinstance(node, ast.AnnAssign):
        return node.target
    return node.targets[0] if isinstance(node, ast.Assign) else None


def cpu_name() -> str:
    """Model name of the processor (`lscpu`), or the architecture where it is not told."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.machine()


def cpu_count() -> int:
    """Cores that this process may use (`nproc`)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_bytes() -> int | None:
    """Main memory of the machine (`free -b`); a container's own limit may be lower."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # no such call on Windows
        return None


def load_share() -> float | None:
    """Share of the usable cores that was busy over the last minute (`uptime`), 1.0 = all of them."""
    try:
        return os.getloadavg()[0] / cpu_count()
    except (AttributeError, OSError):  # no such call on Windows; no /proc in some containers
        return None


def os_name() -> str:
    """Operating system and kernel (`uname -sr`)."""
    return f"{platform.system()} {platform.release()}"


def disk_free_bytes(path: Path) -> int:
    """Free bytes where `path` is or would be (`df`)."""
    absolute = path.absolute()
    existing = next(folder for folder in (absolute, *absolute.parents) if folder.exists())
    return shutil.disk_usage(existing).free


def speed_variables(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Environment variables that change speed, sorted by name, without what is private in them."""
    return tuple(
        (name, _public(value))
        for name, value in sorted(environ.items())
        if name.startswith(_SPEED_VARIABLES) and not _PRIVATE.search(name)
    )


def _public(value: str) -> str:
    """A path names its user, a device's unique id its owner: neither belongs in a published file."""
    return "<path>" if _PATH.search(value) else _DEVICE_ID.sub(r"\1-<id>", value)
