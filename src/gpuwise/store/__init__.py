"""Keep results: one JSON file a run, written atomically, readable for ever.

The codec (and with it msgspec) is loaded when a result is read or written, not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuwise.store.files import (
    check_writable,
    find,
    home,
    is_file,
    load,
    load_all,
    new_id,
    read,
    results_dir,
    save,
    saved,
    slug,
    write,
)

if TYPE_CHECKING:
    from gpuwise.store.codec import compact, decode, encode
    from gpuwise.store.record import records
    from gpuwise.store.schema import json_schema

_LATER = {
    "compact": "codec",
    "decode": "codec",
    "encode": "codec",
    "json_schema": "schema",
    "records": "record",
}

__all__ = [
    "check_writable",
    "compact",
    "decode",
    "encode",
    "find",
    "home",
    "is_file",
    "json_schema",
    "load",
    "load_all",
    "new_id",
    "read",
    "records",
    "results_dir",
    "save",
    "saved",
    "slug",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
