"""gpuwise: measure any GPU for deep learning, keep the result, and say where it stands.

The public names, loaded on first use:

    load, save          read and write a result file
    find_result         the file that `last`, a path or the beginning of an id names
    Result, Measurement what such a file holds
    compare_results     every measurement of one result against its counterpart in another
    all_gpus, find_gpu  the catalog
    GpuSpec             what is known of one GPU, each value with its source
    GpuwiseError        the root of every error raised on purpose
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from gpuwise.errors import GpuwiseError
    from gpuwise.facts.catalog import all_gpus
    from gpuwise.facts.catalog import find as find_gpu
    from gpuwise.model.gpu import GpuSpec
    from gpuwise.model.result import Measurement, Result
    from gpuwise.stats import pair as compare_results
    from gpuwise.store import find as find_result
    from gpuwise.store import load, save

_HOMES = {
    "GpuSpec": "model.gpu:GpuSpec",
    "GpuwiseError": "errors:GpuwiseError",
    "Measurement": "model.result:Measurement",
    "Result": "model.result:Result",
    "all_gpus": "facts.catalog:all_gpus",
    "compare_results": "stats:pair",
    "find_gpu": "facts.catalog:find",
    "find_result": "store:find",
    "load": "store:load",
    "save": "store:save",
}

__all__ = [
    "GpuSpec",
    "GpuwiseError",
    "Measurement",
    "Result",
    "all_gpus",
    "compare_results",
    "find_gpu",
    "find_result",
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gpuwise' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES[name].split(":")
    return getattr(import_module(f"gpuwise.{module}"), attribute)
