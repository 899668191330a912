"""Which GPUs a query means: `24GB..`, `ampere`, `sxm`, `a100 80gb`, `RTX4090,RTX5090`, `H100:8`.

Arguments and words are joined by "and", a comma is "or". A word is
    a memory size       `24GB`, or a range `24GB..48GB`, `24GB..`, `..80GB`: the product's number
    a name with a count `H100:8`: eight of them
    anything else       words of a name, a vendor, an architecture, a chip, a memory type, a form
                        (pcie, sxm, oam, laptop) or a segment (consumer, workstation, server)
Whole words only: `l4` is not the L40, `a10` not the A100.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf

from gpuwise.errors import InputError, NoDataError
from gpuwise.facts.catalog import load
from gpuwise.model.gpu import GpuSpec

MOST = 1024
"""The largest count of GPUs in a query."""

_RANGE = re.compile(r"(?:(\d+(?:\.\d+)?)(?:gi?b)?)?\.\.(?:(\d+(?:\.\d+)?)(?:gi?b)?)?")
_PARTS = re.compile(r"[a-z0-9.]+")
_SPACED_SIZE = re.compile(r"(\d)\s+(gi?b)\b")
_KINDS = (
    "vendor",
    "architecture",
    "chip",
    "memory_type",
    "form",
    "segment",
    "compute_capability",
    "gfx_target",
)
_HALF_GB = 0.5
_SHORT = {
    "memory": "memory_bytes",
    "bandwidth": "memory_bytes_per_s",
    "power": "power_w",
    "price": "launch_price_usd",
}
_PRECISIONS = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A GPU that the query means, and how many of it."""

    spec: GpuSpec
    count: int = 1


@dataclass(frozen=True, slots=True)
class _Term:
    """What one word asks for: a size of memory in GB, or one of the GPUs that have the word."""

    low: float = 0
    high: float = inf
    ids: frozenset[str] | None = None
    count: int = 1

    def fits(self, spec: GpuSpec) -> bool:
        if self.ids is not None:
            return spec.id in self.ids
        # The number that stands on the product: the decimal GB that it is sold by, else GiB.
        size = spec.number("memory_sold_gb") or (spec.memory_bytes or -(2**30)) / 2**30
        return self.low - _HALF_GB < size < self.high + _HALF_GB


def matching(words: Sequence[str]) -> tuple[Match, ...]:
    """The GPUs that meet every argument, in the order of the catalog; all for none.

    Raises InputError for a range or count that cannot be read, NoDataError for a word that no GPU
    of the catalog has and where no GPU meets all words.
    """
    arguments = []
    for text in (text for text in words if text.strip()):
        parts = [
            part.split() for part in _SPACED_SIZE.sub(r"\1\2", text.casefold()).split(",") if part.strip()
        ]
        if not parts:
            raise InputError(f"{text!r} names no GPU", hint="write it like RTX4090,RTX5090")
        arguments.append([[_term(word) for word in part] for part in parts])
    found = []
    for spec in load.all_gpus():
        # 0 for an argument none of whose alternatives fits; the largest count asked for wins.
        counts = [
            max(
                (max(t.count for t in terms) for terms in either if all(t.fits(spec) for t in terms)),
                default=0,
            )
            for either in arguments
        ]
        if all(counts):
            found.append(Match(spec=spec, count=max(counts, default=1)))
    if not found:
        raise NoDataError(f"no GPU in the catalog is all of {' '.join(words)!r}", hint="leave out a word")
    return tuple(found)


def select(query: str | None) -> tuple[GpuSpec, ...]:
    """The GPUs that a query means; none where a word is unknown."""
    try:
        return tuple(match.spec for match in matching([query or ""]))
    except NoDataError:
        return ()


def ordered(matches: Iterable[Match], field: str) -> tuple[Match, ...]:
    """By a field, the largest first, with a dash before it the smallest; unknown values come last.

    `name` and `id` go by the alphabet. Raises InputError for a field that no GPU has as a number.
    """
    smallest, name = field.startswith("-"), field.removeprefix("-").casefold()
    if name in ("name", "id"):
        return tuple(sorted(matches, key=lambda m: getattr(m.spec, name).casefold(), reverse=smallest))
    if name not in sortable():
        from difflib import get_close_matches  # only where a word is wrong

        near = get_close_matches(name, sortable(), n=1)
        known = (*_SHORT, "launch", *_PRECISIONS, "name")
        hint = f"did you mean {near[0]}?" if near else f"sort by one of {', '.join(known)}"
        raise InputError(f"GPUs cannot be sorted by {name!r}", hint=hint)

    def value(spec: GpuSpec) -> float | str | None:
        if name in _PRECISIONS:
            peak = spec.peak(name)
            return peak.flop_per_s if peak else None
        return spec.text("launch") if name == "launch" else spec.number(_SHORT.get(name, name))

    pairs = [(value(match.spec), match) for match in matches]
    # A GPU of which the value is not known is neither the smallest nor the largest.
    stated = [(worth, match) for worth, match in pairs if worth is not None]
    ranked = sorted(stated, key=lambda pair: pair[0], reverse=not smallest)
    return (*(match for _, match in ranked), *(match for worth, match in pairs if worth is None))


def sortable() -> tuple[str, ...]:
    """The names that `ordered` takes."""
    numbers = (name for name, field in load.fields().items() if field.kind == "number" and ":" not in name)
    return (*_SHORT, "launch", *_PRECISIONS, "name", "id", *numbers)


def _term(word: str) -> _Term:
    """Raises InputError for a range or count that cannot be read, NoDataError for an unknown word."""
    if ".." in word:
        ends = _RANGE.fullmatch(word)
        if ends is None or word == ".." or "g" not in word:
            hint = "write it like 24GB..48GB, 24GB.. or ..80GB"
            raise InputError(f"cannot read {word!r} as a range of memory", hint=hint)
        low, high = float(ends[1] or 0), float(ends[2] or inf)
        if low > high:
            raise InputError(f"the range {word!r} is empty", hint=f"{high:g}GB..{low:g}GB")
        return _Term(low, high)
    if size := re.fullmatch(r"(\d+(?:\.\d+)?)gi?b", word):
        return _Term(float(size[1]), float(size[1]))
    counted = re.fullmatch(r"(.+):(\d+)", word)
    name, count = (counted[1], int(counted[2])) if counted else (word, 1)
    if not 1 <= count <= MOST:
        raise InputError(f"{word!r} asks for {count} GPUs", hint=f"a count from 1 to {MOST}: H100:8")
    # Joined, so that `rtx4090`, `rtx-4090` and `rtx_4090` are one word.
    wanted = "".join(_PARTS.findall(name))
    ids = frozenset(spec.id for spec in load.all_gpus() if wanted in _runs(spec.id))
    if wanted and ids:
        return _Term(ids=ids, count=count)
    from difflib import get_close_matches

    known = {run for spec in load.all_gpus() for run in _runs(spec.id)}
    near = get_close_matches(wanted, sorted(known), n=3, cutoff=0.7)
    guess = f"; did you mean {' or '.join(near)}?" if near else ""
    hint = f"ask for {near[0]}" if near else "see the list of GPUs"
    raise NoDataError(f"no GPU in the catalog matches {name!r}{guess}", hint=hint)


@cache
def _runs(gpu_id: str) -> frozenset[str]:
    """Every run of whole words of the GPU's names, joined, and its kinds: `rtx`, `rtx4090`, `ada`."""
    spec = load.get(gpu_id)
    texts = [spec.id, spec.name, *spec.aliases, *(spec.text(field) or "" for field in _KINDS)]
    lists = [_PARTS.findall(_SPACED_SIZE.sub(r"\1\2", text.casefold())) for text in texts]
    return frozenset(
        "".join(words[start:end])
        for words in lists
        for start in range(len(words))
        for end in range(start + 1, len(words) + 1)
    )
