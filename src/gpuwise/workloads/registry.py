"""Built-in workloads by name, as `module:attribute`, imported when asked for."""

from __future__ import annotations

import difflib
from importlib import import_module

from gpuwise.errors import InputError
from gpuwise.model.workload import WorkloadSpec
from gpuwise.workloads.workload import Workload

_BUILT_IN = {
    "resnet50": "gpuwise.workloads.resnet50:resnet50",
    "bert-large": "gpuwise.workloads.bert_large:bert_large",
    "matmul": "gpuwise.workloads.matmul:matmul",
    "copy": "gpuwise.workloads.memory_copy:memory_copy",
}


def names() -> tuple[str, ...]:
    """Names of all built-in workloads, models first, limits last."""
    return tuple(_BUILT_IN)


def get(name: str) -> Workload:
    """The workload of that name. Raises InputError with the nearest names otherwise."""
    if name not in _BUILT_IN:
        near = difflib.get_close_matches(name, _BUILT_IN, n=2, cutoff=0.5)
        guess = f"; did you mean {' or '.join(near)}?" if near else ""
        raise InputError(f"unknown workload {name!r}{guess}", hint="gpuwise workloads")
    module, attribute = _BUILT_IN[name].split(":")
    found = getattr(import_module(module), attribute)
    assert isinstance(found, Workload)
    return found


def specs() -> tuple[WorkloadSpec, ...]:
    """Specifications of all built-in workloads."""
    return tuple(get(name).spec for name in _BUILT_IN)
