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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from gpuwise.errors import InputError, NoDataError
from gpuwise.facts.catalog import load
from gpuwise.model.gpu import GpuSpec

MOST = 1024
"""The largest count of GPUs in a query."""

_SIZE = re.compile(r"(\d+(?:\.\d+)?)gi?b")
_RANGE = re.compile(r"(?:(\d+(?:\.\d+)?)(?:gi?b)?)?\.\.(?:(\d+(?:\.\d+)?)(?:gi?b)?)?")
_COUNTED = re.compile(r"(.+):(\d+)")
_PARTS = re.compile(r"[a-z0-9.]+")
_TEXTS = (
    *("vendor", "architecture", "chip", "memory_type", "form", "segment"),
    *("compute_capability", "gfx_target"),
)
_HALF_GB = 0.5

Test = Callable[[GpuSpec], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A GPU that the query means, and how many of it."""

    spec: GpuSpec
    count: int = 1


def matching(words: Sequence[str]) -> tuple[Match, ...]:
    """The GPUs that meet every argument, in the order of the catalog; all for none.

    Raises InputError for a range or count that cannot be read, NoDataError for a word that no GPU
    of the catalog has and where no GPU meets all words.
    """
    queries = [_alternatives(text) for text in words if text.strip()]
    found = tuple(match for spec in load.all_gpus() if (match := _match(spec, queries)))
    if not found:
        asked = " ".join(words)
        raise NoDataError(f"no GPU in the catalog is all of {asked!r}", hint="gpuwise gpus")
    return found


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
    value = _sorter(name)
    known = [(v, m) for m in matches if (v := value(m.spec)) is not None]
    unknown = [m for m in matches if value(m.spec) is None]
    ranked = sorted(known, key=lambda pair: pair[0], reverse=not smallest)
    return (*(match for _, match in ranked), *unknown)


def sortable() -> tuple[str, ...]:
    """The names that `ordered` takes."""
    return (*_SORTERS, "name", "id", *(name for name, f in load.fields().items() if _is_number(name, f.kind)))


def _peak_in(precision: str) -> Callable[[GpuSpec], float | None]:
    def value(spec: GpuSpec) -> float | None:
        peak = spec.peak(precision)
        return None if peak is None else peak.flop_per_s

    return value


_SORTERS: dict[str, Callable[[GpuSpec], float | str | None]] = {
    "memory": lambda spec: spec.memory_bytes,
    "bandwidth": lambda spec: spec.memory_bytes_per_s,
    "power": lambda spec: spec.power_w,
    "price": lambda spec: spec.number("launch_price_usd"),
    "launch": lambda spec: spec.text("launch"),
    **{precision: _peak_in(precision) for precision in ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8")},
}


def _sorter(name: str) -> Callable[[GpuSpec], float | str | None]:
    if name in _SORTERS:
        return _SORTERS[name]
    if name in sortable():
        return lambda spec: spec.number(name)
    from difflib import get_close_matches  # only where a word is wrong

    near = get_close_matches(name, sortable(), n=1)
    hint = f"did you mean {near[0]}?" if near else f"sort by one of {', '.join((*_SORTERS, 'name'))}"
    raise InputError(f"GPUs cannot be sorted by {name!r}", hint=hint)


def _is_number(name: str, kind: str) -> bool:
    return kind == "number" and ":" not in name


def _match(spec: GpuSpec, queries: list[list[tuple[Test, int]]]) -> Match | None:
    """The match where every argument has an alternative that fits; the largest count asked for counts."""
    count = 1
    for alternatives in queries:
        fitting = [number for test, number in alternatives if test(spec)]
        if not fitting:
            return None
        count = max(count, *fitting)
    return Match(spec=spec, count=count)


def _alternatives(text: str) -> list[tuple[Test, int]]:
    """The comma-separated parts of one argument: what each asks for, and how many."""
    plain = re.sub(r"(\d)\s+(gi?b)\b", r"\1\2", text.casefold())
    parts = [part.split() for part in plain.split(",") if part.strip()]
    if not parts:
        raise InputError(f"{text!r} names no GPU", hint="gpuwise gpus RTX4090,RTX5090")
    return [_all_of(part) for part in parts]


def _all_of(words: list[str]) -> tuple[Test, int]:
    pairs = [_term(word) for word in words]
    tests = [test for test, _ in pairs]
    return (lambda spec: all(test(spec) for test in tests)), max(count for _, count in pairs)


def _term(word: str) -> tuple[Test, int]:
    if ".." in word:
        return _range(word), 1
    if size := _SIZE.fullmatch(word):
        number = float(size[1])
        return (lambda spec: abs(_size(spec) - number) < _HALF_GB), 1
    if counted := _COUNTED.fullmatch(word):
        if not 1 <= int(counted[2]) <= MOST:
            raise InputError(f"{word!r} asks for {counted[2]} GPUs", hint=f"a count from 1 to {MOST}: H100:8")
        return _named(counted[1]), int(counted[2])
    return _named(word), 1


def _range(word: str) -> Test:
    ends = _RANGE.fullmatch(word)
    if ends is None or word == ".." or "g" not in word:
        raise InputError(
            f"cannot read {word!r} as a range of memory", hint="write it like 24GB..48GB, 24GB.. or ..80GB"
        )
    low, high = float(ends[1] or 0), float(ends[2] or "inf")
    if low > high:
        raise InputError(f"the range {word!r} is empty", hint=f"{high:g}GB..{low:g}GB")
    return lambda spec: low - _HALF_GB < _size(spec) < high + _HALF_GB


def _size(spec: GpuSpec) -> float:
    """The number that stands on the product: GiB, or the decimal GB that it is sold by."""
    sold = spec.number("memory_sold_gb")
    return sold if sold is not None else (spec.memory_bytes or -(2**30)) / 2**30


def _named(word: str) -> Test:
    """Raises NoDataError where no GPU of the catalog has this word."""
    wanted = "".join(_PARTS.findall(word))
    holders = frozenset(spec.id for spec in load.all_gpus() if wanted in _runs(spec.id))
    if not wanted or not holders:
        raise _unknown(word, wanted)
    return lambda spec: spec.id in holders


def _unknown(word: str, wanted: str) -> NoDataError:
    from difflib import get_close_matches

    known = {run for spec in load.all_gpus() for run in _runs(spec.id)}
    near = get_close_matches(wanted, sorted(known), n=3, cutoff=0.7)
    guess = f"; did you mean {' or '.join(near)}?" if near else ""
    hint = f"gpuwise gpus {near[0]}" if near else "gpuwise gpus"
    return NoDataError(f"no GPU in the catalog matches {word!r}{guess}", hint=hint)


@cache
def _runs(gpu_id: str) -> frozenset[str]:
    """Every run of whole words of the GPU's names, joined, and its kinds: `rtx`, `rtx4090`, `ada`."""
    spec = load.get(gpu_id)
    texts = [spec.id, spec.name, *spec.aliases, *(spec.text(field) or "" for field in _TEXTS)]
    lists = [_PARTS.findall(re.sub(r"(\d)\s+(gi?b)\b", r"\1\2", text.casefold())) for text in texts]
    return frozenset(
        "".join(words[start:end])
        for words in lists
        for start in range(len(words))
        for end in range(start + 1, len(words) + 1)
    )
