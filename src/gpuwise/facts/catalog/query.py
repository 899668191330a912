"""Find a GPU by the names people type and by the names drivers report, and never guess.

`find` accepts an id, a name or an alias in any case and order of its words, with any spaces and
dashes, with or without a brand; and a driver's name as the driver writes it. A part of a name
("a100", "4060 ti") never resolves, not even where the catalog holds one match, because variants
that it does not hold share it: those are named. `resolve_device` accepts a driver's exact name only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache

from gpuwise.errors import InputError
from gpuwise.facts.catalog import load
from gpuwise.model.gpu import GpuSpec

MEMORY_TOLERANCE = 0.12
"""Drivers report less than the product number: ECC on GDDR6 takes 6.25 %, firmware some more."""

_BRANDS = re.compile(r"nvidia|geforce|amd|tesla|instinct|intel|habana|quadro|[\u2122\u00ae]")
_NOISE = frozenset({"gpu", "generation", "graphics", "card", "accelerator"})
"""Words that never tell two products apart."""
_MEMORY = re.compile(r"(\d+)[\s_-]*gi?b")
_WORDS = re.compile(r"[a-z0-9]+")
_LISTED = 6


def find(name: str) -> GpuSpec:
    """The one GPU that `name` names.

    Raises InputError where the name is unknown, with the nearest names, and where it fits several
    variants, with their ids; the hint is a command that works.
    """
    reported = _by_device_name().get(_driver_key(name), ())
    if len(reported) == 1 and _driver_key(name) not in load.shared_device_names():
        return reported[0]
    spec = _by_key().get(name_key(name)) or _by_words().get(frozenset(_words(name)))
    if spec is not None:
        return spec
    raise _not_found(name.strip(), _words(name))


def resolve_device(device_name: str, memory_bytes: int | None) -> GpuSpec | None:
    """The catalog entry of the device that a driver reports, or None where that is not certain.

    The name must be a known driver name (case aside), and the memory, where given, within 12 % of the
    entry's. A name that several variants share resolves only where the memory tells them apart.
    """
    key = _driver_key(device_name)
    if memory_bytes is None and key in load.shared_device_names():
        return None
    fitting = [spec for spec in _by_device_name().get(key, ()) if _memory_fits(spec, memory_bytes)]
    return fitting[0] if len(fitting) == 1 else None


def name_key(name: str) -> str:
    """What two spellings of one name have in common: `NVIDIA A100 PCIe 80 GB` -> `a100pcie80gb`."""
    return "".join(_words(name))


def _memory_fits(spec: GpuSpec, memory_bytes: int | None) -> bool:
    if memory_bytes is None:
        return True
    stated = spec.memory_bytes
    return stated is not None and abs(memory_bytes - stated) <= MEMORY_TOLERANCE * stated


def _words(name: str) -> list[str]:
    """The words of a name that tell GPUs apart: `NVIDIA A100 PCIe 80 GB` -> a100, pcie, 80gb."""
    plain = _BRANDS.sub(" ", name.casefold())
    words = _WORDS.findall(_MEMORY.sub(r"\1gb", plain))
    return [word for word in words if word not in _NOISE]


def _driver_key(device_name: str) -> str:
    return device_name.strip().casefold()


def _written(spec: GpuSpec) -> tuple[str, ...]:
    """Every complete name under which people may ask for this GPU."""
    return (spec.id, spec.name, *spec.aliases)


@cache
def _by_key() -> Mapping[str, GpuSpec]:
    """Complete names, as joined words, to their GPU; the data tests keep them unambiguous."""
    return {name_key(name): spec for spec in load.all_gpus() for name in _written(spec)}


@cache
def _by_words() -> Mapping[frozenset[str], GpuSpec]:
    """The same without the order of the words: `PCIe A100 80GB`."""
    return {frozenset(_words(name)): spec for spec in load.all_gpus() for name in _written(spec)}


@cache
def _by_device_name() -> Mapping[str, tuple[GpuSpec, ...]]:
    found: dict[str, list[GpuSpec]] = defaultdict(list)
    for spec in load.all_gpus():
        for name in spec.device_names:
            found[_driver_key(name)].append(spec)
    return {name: tuple(specs) for name, specs in found.items()}


def _not_found(name: str, words: list[str]) -> InputError:
    """The error for a name that is not one GPU: several variants, a near miss, or unknown."""
    variants, others = _variants(words), _outside(words)
    beside = f", or outside it: {', '.join(others)}" if others else ""
    if len(variants) > 1 or (variants and others):
        listed = ", ".join(variants[:_LISTED]) + (", ..." if len(variants) > _LISTED else "")
        many = f"any of {len(variants)} GPUs" if len(variants) > 1 else "this GPU"
        message = f"{name!r} could be {many} of the catalog: {listed}{beside}"
        return InputError(message, hint=f"gpuwise show {variants[0]}")
    if others:
        return InputError(f"the catalog does not hold {' or '.join(others)}", hint="gpuwise gpus")
    near = variants or _near(words)
    if near:
        message = f"no GPU in the catalog is called {name!r}; did you mean {' or '.join(near)}?"
        return InputError(message, hint=f"gpuwise show {near[0]}")
    return InputError(f"no GPU in the catalog is called {name!r}", hint="gpuwise gpus")


def _variants(words: list[str]) -> list[str]:
    """Ids of the GPUs of one of whose names these are words; none for no words."""
    wanted = set(words)
    specs = load.all_gpus() if wanted else ()
    return [spec.id for spec in specs if any(wanted <= set(_words(name)) for name in _written(spec))]


def _outside(words: list[str]) -> list[str]:
    """Names of GPUs outside the catalog that may be meant, too."""
    wanted = set(words)
    return [name for name in load.outside() if wanted and wanted <= set(_words(name))]


def _near(words: list[str]) -> list[str]:
    """Ids of up to three GPUs with a similar name; laptop parts only for a laptop name, and back."""
    from difflib import get_close_matches  # only where a name is wrong

    key, laptop = "".join(words), not {"laptop", "mobile"}.isdisjoint(words)
    known = {k: spec.id for k, spec in _by_key().items() if (spec.text("form") == "laptop") == laptop}
    return list(dict.fromkeys(known[match] for match in get_close_matches(key, known, n=3, cutoff=0.6)))
