"""From what people and drivers call a GPU to its entry, never by guessing.

Names are compared without case, spaces, punctuation and brand words; the words that are left
must be the same, so that `4090` is the desktop card and never the laptop part.
"""

from __future__ import annotations

import difflib
import re
from functools import cache

from gpuwise.catalog.load import all_gpus
from gpuwise.errors import InputError
from gpuwise.model.gpu import GpuSpec

_BRANDS = re.compile(r"\b(nvidia|geforce|tesla|quadro|amd|instinct|rtx|gpu|generation)\b")

MEMORY_TOLERANCE = 0.12
"""Drivers report less than the product number: ECC takes up to 6 % of GDDR, firmware some more."""


@cache
def plain(name: str) -> str:
    """A name as it is compared: `NVIDIA RTX A5000` and `rtx-a5000` are both `a5000`."""
    words = _BRANDS.sub(" ", re.sub(r"[^a-z0-9]+", " ", name.lower()))
    return "".join(words.split())


def _names(spec: GpuSpec) -> set[str]:
    return {plain(name) for name in (spec.id, spec.name, *spec.aliases, *spec.device_names)}


def find(name: str) -> GpuSpec:
    """The GPU of that name. Raises InputError with the variants, or the nearest names."""
    wanted = plain(name)
    exact = [spec for spec in all_gpus() if wanted in _names(spec)]
    if len(exact) == 1:
        return exact[0]
    variants = exact or [spec for spec in all_gpus() if wanted and any(n.startswith(wanted) for n in _names(spec))]
    if variants:
        ids = ", ".join(spec.id for spec in variants)
        raise InputError(f"{name!r} could be any of {ids}", hint=f"gpuwise show {variants[0].id}")
    raise _unknown(name, wanted)


def _unknown(name: str, wanted: str) -> InputError:
    known = {plain_name: spec.id for spec in all_gpus() for plain_name in _names(spec)}
    near = difflib.get_close_matches(wanted, known, n=3, cutoff=0.6)
    ids = list(dict.fromkeys(known[match] for match in near))
    if not ids:
        return InputError(f"no GPU and no result is called {name!r}", hint="gpuwise gpus lists the GPUs")
    return InputError(
        f"no GPU and no result is called {name!r}; did you mean {' or '.join(ids)}?", hint=f"gpuwise show {ids[0]}"
    )


def select(query: str | None) -> tuple[GpuSpec, ...]:
    """The GPUs in whose id, name, alias, vendor or architecture the query occurs; all without one."""
    if not query:
        return all_gpus()
    wanted = query.lower()
    return tuple(spec for spec in all_gpus() if any(wanted in text.lower() for text in _texts(spec)))


def _texts(spec: GpuSpec) -> tuple[str, ...]:
    return (spec.id, spec.name, *spec.aliases, spec.vendor or "", spec.architecture or "")


def resolve_device(device_name: str, memory_bytes: int | None) -> GpuSpec | None:
    """The entry of a device as its driver names it, or None: an unknown device stays unknown.

    Cards of different memory can share a name, so the reported memory must fit the entry's.
    """
    reported = device_name.strip().lower()
    found = [
        spec
        for spec in all_gpus()
        if reported in (name.lower() for name in spec.device_names) and _memory_fits(spec, memory_bytes)
    ]
    return found[0] if len(found) == 1 else None


def _memory_fits(spec: GpuSpec, reported: int | None) -> bool:
    if reported is None or spec.memory_bytes is None:
        return True
    return abs(reported - spec.memory_bytes) <= MEMORY_TOLERANCE * spec.memory_bytes
