"""Which catalog entries a price is about, from the name a seller or a person writes.

A seller's name stands for every variant that differs from it only in form (PCIe, SXM, NVL, Max-Q ...)
or memory, and whose memory fits: `A100 80GB` is two variants, `RTX 4090 48GB` none, `A10G` no `A10`,
`RTX 6000` no `RTX 6000 Ada`. Which variant it is stays untold; nothing is guessed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.facts.catalog.query import name_key
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.offer import Offer

MEMORY_TOLERANCE = 0.12
"""Sellers print 79.6 or 80 for 80 GB, 179 for 180: more apart is another card."""

_FORM = re.compile(r"(pcie|sxm|nvl|oam|maxq|workstation|ws|server|edition|blackwell|hbm3e?)*")
_FORMS = re.compile(_FORM.pattern.removesuffix("*"))
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*gi?b", re.IGNORECASE)
_SXM = re.compile(r"sxm\d")
_WORDS = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The GPUs that were asked for, by catalog entry and, beyond the catalog, by seller's name."""

    query: str
    gpu_ids: frozenset[str]
    words: frozenset[str] = frozenset()
    """Words of a family; empty where one catalog entry was named."""

    def matches(self, offer: Offer) -> bool:
        """Whether the offer is, or may be, one of the GPUs asked for."""
        if offer.gpu_ids:
            return not self.gpu_ids.isdisjoint(offer.gpu_ids)
        return bool(self.words) and self.words <= _words(offer.gpu)


def wanted(query: str, offers: tuple[Offer, ...] = ()) -> Wanted:
    """What `query` asks for: one GPU, a family ("h100", "a100 80gb") or a seller's name ("a10g").

    Raises InputError with the nearest names where neither the catalog nor an offer knows it.
    """
    exact = _exact().get(name_key(query))
    if exact is not None:
        return Wanted(query=query, gpu_ids=frozenset({exact}))
    words = _words(query)
    family = frozenset(gpu_id for gpu_id, known in _known_words().items() if words and words <= known)
    family |= frozenset(seller_ids(query))
    found = Wanted(query=query, gpu_ids=family, words=words)
    if family or any(found.matches(offer) for offer in offers):
        return found
    try:
        return Wanted(query=query, gpu_ids=frozenset({catalog.find(query).id}))
    except InputError as unknown:
        raise InputError(str(unknown), hint=unknown.hint) from None


def seller_ids(name: str) -> tuple[str, ...]:
    """Ids of the variants that a seller's `name` may mean, sorted; none where it fits no entry."""
    exact = _exact().get(name_key(name))
    if exact is not None:
        return (exact,)
    memory = _MEMORY.search(name)
    stem = _stem(name)
    if not stem:
        return ()
    fitting = {
        spec.id
        for known, specs in _by_stem().items()
        if known.startswith(stem) and _FORM.fullmatch(known[len(stem) :])
        for spec in specs
        if memory is None or _memory_fits(spec, float(memory[1]))
    }
    if memory is None and len(fitting) == 1 and not _has_name_without_memory(stem):
        # `RTX 3080` fits one entry, but a card with other memory that the catalog lacks shares the name.
        return ()
    return tuple(sorted(fitting))


def _has_name_without_memory(stem: str) -> bool:
    keys = (_SXM.sub("sxm", key) for key in _exact())
    return any(key.startswith(stem) and _FORM.fullmatch(key[len(stem) :]) for key in keys)


def chip(name: str) -> str:
    """What a name says beside form and memory: `H100 SXM5 80GB` and `NVIDIA H100` are both `h100`."""
    return _FORMS.sub("", _stem(name))


def _memory_fits(spec: GpuSpec, stated_gb: float) -> bool:
    """Whether `stated_gb` is the entry's memory; sellers' GB are 10**9 or 2**30 bytes."""
    actual = spec.memory_bytes
    if actual is None:
        return False
    return any(abs(stated_gb * unit - actual) <= MEMORY_TOLERANCE * actual for unit in (1e9, 2**30))


def _stem(name: str) -> str:
    """The name's key without its memory; SXM generations are one form, as sellers say just SXM."""
    return _SXM.sub("sxm", name_key(_MEMORY.sub(" ", name)))


def _words(name: str) -> frozenset[str]:
    plain = re.sub(r"nvidia|geforce|amd|tesla", " ", name.casefold())
    return frozenset(_WORDS.findall(_MEMORY.sub(r"\1gb", plain)))


def _written(spec: GpuSpec) -> tuple[str, ...]:
    return (spec.id, spec.name, *spec.aliases)


@cache
def _exact() -> Mapping[str, str]:
    return {name_key(name): spec.id for spec in catalog.all_gpus() for name in _written(spec)}


@cache
def _by_stem() -> Mapping[str, tuple[GpuSpec, ...]]:
    found: dict[str, list[GpuSpec]] = defaultdict(list)
    for spec in catalog.all_gpus():
        for stem in {_stem(name) for name in _written(spec)}:
            found[stem].append(spec)
    return {stem: tuple(specs) for stem, specs in found.items()}


@cache
def _known_words() -> Mapping[str, frozenset[str]]:
    return {
        spec.id: frozenset().union(*(_words(name) for name in _written(spec))) for spec in catalog.all_gpus()
    }
