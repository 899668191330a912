"""Networks of the model libraries as workloads: `timm:NAME`, `torchvision:NAME`, `hf:CONFIG`.

Random weights, no download. Versions of such a library change a network under the same name, so
compare what was measured with one version of it. Operations are counted by torch in the child.
"""

from __future__ import annotations

import importlib.util
from importlib import import_module
from typing import Any

from gpuwise.errors import MachineError
from gpuwise.workloads.workload import Workload

_LIBRARIES = {
    "timm": ("timm", "gpuwise.workloads.adapters_vision:from_timm"),
    "torchvision": ("torchvision", "gpuwise.workloads.adapters_vision:from_torchvision"),
    "hf": ("transformers", "gpuwise.workloads.adapters_hf:from_config"),
}
"""Prefix -> (library, function that turns the rest of the name into a workload)."""


def library(name: str) -> str | None:
    """The library that `timm:NAME` needs, or None where `name` has no such prefix."""
    prefix, colon, rest = name.partition(":")
    return _LIBRARIES[prefix][0] if colon and rest and prefix in _LIBRARIES else None


def check_installed(name: str) -> None:
    """Raise MachineError with the line that installs it where the library of `name` is missing."""
    needed = library(name)
    if needed is not None and importlib.util.find_spec(needed) is None:
        raise MachineError(f"{needed} is not installed, and {name} needs it", hint=f"pip install {needed}")


def load(name: str) -> Workload:
    """The workload of `timm:NAME`; imports the library. Raises InputError for a NAME it lacks."""
    prefix, _, rest = name.partition(":")
    module, attribute = _LIBRARIES[prefix][1].split(":")
    make: Any = getattr(import_module(module), attribute)
    made = make(rest)
    assert isinstance(made, Workload)
    return made
