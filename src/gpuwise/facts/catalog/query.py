"""Find a GPU by the names people type and drivers report, and the GPUs that meet a filter.

`find` accepts an id, a name or an alias in any case and order of its words, with any spaces and
dashes, with or without a brand; and a driver's name as the driver writes it. It never guesses: a name
that several variants share is an error. `resolve` takes the usual variant of such a name, and says so.
`resolve_device` accepts a driver's exact name only.

Filters (`matching`): arguments and words are joined by "and", a comma is "or". A word is
    a memory size       `24GB`, or a range `24GB..48GB`, `24GB..`, `..80GB`: the product's number
    all                 every GPU
    a board's power     `300W`, or a range, as above
    a name with a count `H100:8`: eight of them
    anything else       words of a name, a vendor, an architecture, a chip, a memory type, a form
                        (pcie, sxm, oam, laptop), a segment (consumer, workstation, server) or what it can
                        (a format of its matrix units: fp8; ecc, mig, nvlink)
Whole words only: `l4` is not the L40, `a10` not the A100.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import inf

from gpuwise.errors import InputError, NoDataError, guess
from gpuwise.facts.catalog import load
from gpuwise.facts.catalog.load import BRANDS, VENDORS, words_of
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.units import MOST_GPUS, some

MEMORY_TOLERANCE = 0.12
"""Drivers report less than the product number: ECC on GDDR6 takes 6.25 %, firmware some more."""

LONGEST_NAME = 200
_LISTED = 6
_FAMILY = 16
"""The most variants among which one can be the usual one; more is a word like "rtx"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The GPU that a name is taken for."""

    spec: GpuSpec
    others: tuple[str, ...] = ()
    """Ids of the further variants that the name may mean; empty where it names exactly one GPU."""
    note: str = ""  # One sentence about the choice and the others; empty where there was none to make


def resolve(name: str) -> Resolved:
    """The GPU that `name` names, or the usual variant of a generic name: `h100` is the SXM5 with 80 GB.

    The usual variant is the one that the data says (`usual_for`), else the plainest desktop or server
    variant. Names of clouds' machines (`g5.xlarge`) and looser spellings (`8xH100`, `4070tis`, `980ti`,
    `MI325`, `a100 pcie 40`, `ASUS ROG Strix RTX 4090`) are taken with a note. Raises InputError for a name
    that is unknown or fits a whole product line ("rtx").
    """
    spec = exact(name)
    if spec is not None:
        # "RTX 2060" is the name of one variant, and what all of them are called; its id is of it alone.
        generic = name != spec.id and _atoms(name) in map(_atoms, load.usual().get(spec.id, ()))
        others = [other for other in _meant(name.strip()) if other != spec.id] if generic else []
        return Resolved(
            spec=spec, others=tuple(others), note=_note(name.strip(), spec.id, others) if others else ""
        )
    name = written = name.strip()[:LONGEST_NAME]
    machine = re.sub(r"[ -]?\bstandard[ _]", "", name.casefold()).replace(" ", "_")
    for row in load.rows("instances.csv"):
        if re.fullmatch(row["pattern"], machine):
            note = f"machines {name!r} of {row['provider']} have the {row['gpu_id']}"
            return Resolved(spec=load.get(row["gpu_id"]), note=note)
    name, _ = counted(name)
    if name != written and (spec := exact(name)) is not None:
        return Resolved(spec=spec, note=f"{written!r} is taken as {spec.id}")
    # "RTX 6000 (Turing)" is not the one of Ada, whatever else the name may mean.
    words = {word for word in load.WORDS.findall(name.casefold()) if len(word) > 4}
    made = {a for spec in load.all_gpus() if (a := (spec.architecture or "-").split()[0].casefold()) in words}
    for spelt in dict.fromkeys(_spellings(name)):
        spec = exact(spelt)
        meant = [load.get(gpu_id) for gpu_id in ([spec.id] if spec else _meant(spelt))]
        chosen, *others = [
            one.id for one in meant if not made or (one.architecture or "-").split()[0].casefold() in made
        ] or [""]
        if chosen:
            note = _note(written, chosen, others)
            return Resolved(spec=load.get(chosen), others=tuple(others), note=note)
    raise not_found(name)


def _note(written: str, chosen: str, others: Sequence[str]) -> str:
    also = f"; it can also mean {some(others, _LISTED)}" if others else ""
    return f"{written!r} is taken as {chosen}{also}"


# A number of GPUs as people write it: 8xH100, gpu_8x_a100, 8 H100; behind it: H100:8, H100x8, H100 (x8).
_BEFORE = re.compile(r"(?:gpu_)?(\d{1,3})(?:\s?[x\u00d7][\s_-]?|\s)(?=\S)", re.IGNORECASE)
_BEHIND = re.compile(r"(?:[x\u00d7]\s?(?!\d{4})|:\s?)(\d{1,4})\)?$", re.IGNORECASE)


def named_apart(what: str) -> list[str]:
    """GPUs that are named one after another, `rtx 3090 vs rtx 4090` or `3090 4090`; empty for one name."""
    what = " ".join(what.split())
    by_word = re.split(r" ?, ?| (?:vs\.?|versus|or|and) ", what)
    if len(by_word) > 1:
        return by_word if all(map(is_name, by_word)) else []
    by_line = re.split(r" (?=(?:[rg]tx|rx|arc|tesla|quadro) )", what)
    for names in () if is_name(what) else (by_line, what.split()):
        if len(names) > 1 and all(map(is_name, names)):
            return names
    return []


def counted(text: str) -> tuple[str, int]:
    """A name without the number of GPUs before it or behind it, and that number: `4x4090`, `8 x H100`,
    `4090x2`, `h100:8`; 0 where none stands there.

    The whole text is a name first: 7900 XTX counts nothing. Raises InputError where a name has
    a number that no machine holds.
    """
    text = text.strip()[:LONGEST_NAME]
    if exact(text) is not None:
        return text, 0
    for number in (_BEFORE.match(text), _BEHIND.search(text)):
        if number is None:
            continue
        name = (text[number.end() :] if number.start() == 0 else text[: number.start()]).strip(" (:")
        if not is_name(name):
            continue
        count = int(number[1])
        if not 1 <= count <= MOST_GPUS:
            raise InputError(f"{text!r} asks for {count} GPUs", hint=f"a count from 1 to {MOST_GPUS}: H100:8")
        return name, count
    return text, 0


@lru_cache(maxsize=1024)  # a list of GPUs is split in several ways, which have most parts in common
def is_name(text: str) -> bool:
    """True if a text names a GPU, however loosely: `4090`, `a100 pcie 40`; no product line, such as `rtx`."""
    return exact(text) is not None or any(_meant(spelt) for spelt in dict.fromkeys(_spellings(text)))


def meant(text: str) -> tuple[GpuSpec, ...]:
    """Every GPU that a word means: those that a filter leaves, or all variants of a name, the usual first.
    Raises InputError as `resolve` does where it is neither."""
    if not is_name(text) and (found := select(text)):
        return found
    named = resolve(text)
    return named.spec, *map(load.get, named.others)


# What people write around a model and for its words, and the plain spelling.
_SPELLINGS = load.rows("spellings.csv")


def _spellings(name: str) -> Iterator[str]:
    """Plainer and plainer spellings of a name that is not complete."""
    plain = name.casefold()
    for row in _SPELLINGS:
        plain = re.sub(row["pattern"], row["plain"], plain)
    yield plain
    # Words that no GPU has, of a board's maker or of a cloud; those with digits distinguish GPUs.
    words = {word for spec in load.all_gpus() for text in spec.names for word in words_of(text)}
    words |= {*load.VENDORS, *load.NOISE}
    apart = r"(?<![^\W_])[^\W\d_]+(?![^\W_])"
    plain = re.sub(apart, lambda word: word[0] if word[0] in words else " ", plain)
    yield plain
    yield re.sub(r"(?<=[\s_-])(\d{1,3})$", r"\1gb", plain.strip())  # a100 pcie 40
    yield re.sub(r"\([^()]*\)", " ", name.casefold())  # GB200 (Grace-Blackwell)


def _meant(name: str) -> list[str]:
    """Ids of the GPUs that a name may mean, the usual or plainest first; none for a whole product line."""
    from gpuwise.facts.catalog.mention import mentions  # a whole name does not need it

    words = words_of(name)
    named = mentions(name.strip(), loose=True)
    ids: list[str] = []
    # "rtx 3060" is not the 3060 Ti, although its words stand in that name, too.
    if len(named) == 1 and named[0].text == name.strip():
        ids = list(named[0].gpu_ids)
    # A size alone ("64gb") is a filter, no name.
    elif not re.fullmatch(r"\d{1,2}", "".join(words)) and any(
        any(char.isdigit() for char in word) and not word.endswith("gb") for word in words
    ):
        # The product line may be left out ("980ti"), and the last letter of a model ("MI325"): no number, as
        # "2" and the 100 of a P106-100.
        bare = re.compile("".join(words) + "[a-z]?")
        ids = (
            _variants(words)
            or [
                spec.id  # as often as it has names
                for spec in load.all_gpus()
                for parts in map(words_of, spec.names)
                if any(
                    bare.fullmatch("".join(parts[start:])) and not re.search(r"\d", "".join(parts[:start]))
                    for start in range(len(parts))
                )
            ]
        )
    specs = list(_of_vendor(tuple(load.get(gpu_id) for gpu_id in ids), name))
    # Else the plainest: no laptop part, few further words, much memory.
    specs.sort(key=lambda s: (s.text("form") == "laptop", len(words_of(s.name)), -(s.memory_bytes or 0)))
    atoms = _atoms(name)
    generic = (load.get(of) for of, names in load.usual().items() for each in names if _atoms(each) == atoms)
    usual = _of_vendor(tuple(generic), name)
    if not usual and len(specs) > _FAMILY:
        return []
    return list(dict.fromkeys(spec.id for spec in (*usual, *specs)))


def resolve_device(device_name: str, memory_bytes: int | None) -> GpuSpec | None:
    """The catalog entry of the device that a driver reports, or None where that is not certain.

    The name must be a known driver name (case aside), and the memory, where given, within 12 % of the
    entry's. A name that several variants share resolves only where the memory distinguishes them.
    """
    key = device_name.strip().casefold()
    # A GPU outside the catalog reports this name, too: without the memory it could be that one.
    if memory_bytes is None and key in load.shared_device_names():
        return None
    named = _by_device_name().get(key, ())
    if memory_bytes is not None:
        sized = ((spec, spec.memory_bytes) for spec in named if spec.memory_bytes)
        named = tuple(s for s, size in sized if abs(memory_bytes - size) <= MEMORY_TOLERANCE * size)
    return named[0] if len(named) == 1 else None


def exact(name: str) -> GpuSpec | None:
    """The only GPU with this id, complete name, alias or driver name; None where there is not one. As `find`,
    without the search for what may have been meant, which takes a thousand times as long."""
    # No name is longer, and a foreign file may put a megabyte where a name belongs.
    if len(name) > LONGEST_NAME:
        return None
    key = name.strip().casefold()
    reported = _by_device_name().get(key, ())
    if len(reported) == 1 and key not in load.shared_device_names():
        return reported[0]
    words = words_of(name)
    # In order first: "4070 Ti Super" and "Super Ti 4070" are one name, but only the first is common.
    specs = _of_vendor(_by_key().get("".join(words)) or _by_key().get(frozenset(words), ()), name)
    return specs[0] if len(specs) == 1 else None


def _of_vendor(specs: tuple[GpuSpec, ...], name: str) -> tuple[GpuSpec, ...]:
    """Those that a brand in the name allows: "Tesla M4" is not the Apple M4."""
    vendors = {VENDORS[brand] for brand in BRANDS.findall(name.casefold()) if brand in VENDORS}
    return tuple(spec for spec in specs if not vendors or spec.vendor in vendors)


@lru_cache(maxsize=4096)
def _atoms(name: str) -> frozenset[str]:
    """Letters and numbers of a name, without their order: `rtx6000pro` and `RTX PRO 6000` have the same."""
    return frozenset(atom for word in words_of(name) for atom in re.findall(r"[a-z]+|\d+", word))


@cache
def _by_key() -> Mapping[str | frozenset[str], tuple[GpuSpec, ...]]:
    """Complete names to their GPUs, one or one of each vendor: as joined words, and without their order."""
    named: dict[str | frozenset[str], dict[str, GpuSpec]] = defaultdict(dict)
    for spec in load.all_gpus():
        for name in spec.names:
            # Ids as keys of a dict: a GPU whose names have the same words is there once.
            words = words_of(name)
            named["".join(words)][spec.id] = named[frozenset(words)][spec.id] = spec
    return {key: tuple(specs.values()) for key, specs in named.items()}


@cache
def _by_device_name() -> Mapping[str, tuple[GpuSpec, ...]]:
    named: dict[str, list[GpuSpec]] = defaultdict(list)
    for spec in load.all_gpus():
        for name in spec.device_names:
            named[name.strip().casefold()].append(spec)
    return {name: tuple(specs) for name, specs in named.items()}


def not_found(name: str) -> InputError:
    """The error for a name that is not one GPU: a filter, several variants, a near miss, or unknown."""
    name = name.strip()[:LONGEST_NAME]
    if name and not is_name(name) and (meant := select(name)):
        if len(meant) == 1:  # by an architecture, a chip or part of a name that nothing else has
            problem = f"no GPU in the catalog is called {name!r}{guess([meant[0].id])}"
            return InputError(problem, hint=f"ask for {meant[0].id}")
        problem = f"{name!r} is {len(meant)} GPUs of the catalog where one is needed"
        return InputError(problem, hint="name one of them", code="filter", words=name)
    words = words_of(name)
    variants, wanted = _variants(words), set(words)
    # A GPU outside the catalog that shares the name must be said: a figure of one is not the other's.
    known = [row["name"] for row in load.rows("outside.csv")]
    others = [other for other in known if wanted and wanted <= set(words_of(other))]
    if len(variants) > 1 or (variants and others):
        beside = f", or outside it: {', '.join(others)}" if others else ""
        many = f"any of {len(variants)} GPUs" if len(variants) > 1 else "this GPU"
        message = f"{name!r} could be {many} of the catalog: {some(variants, _LISTED)}{beside}"
        return InputError(message, hint=f"name one of them, such as {variants[0]}")
    if others:
        problem = f"the catalog does not hold {' or '.join(others)}"
        return InputError(problem, hint="see the list of GPUs", code="catalog")
    near = variants
    if not near:
        from difflib import get_close_matches  # only where a name is wrong

        # Who asks for a laptop part is not helped by a desktop card, and the other way round.
        laptop = not {"laptop", "mobile"}.isdisjoint(words)
        ids = {
            written: spec.id
            for written, specs in _by_key().items()
            for spec in specs
            if isinstance(written, str) and (spec.text("form") == "laptop") == laptop
        }
        # The number says most of a name: a "5080 Super" is nearer to the 5080 than to the 4080 Super.
        number = re.search(r"\d{3,}", "".join(words))
        close = list[str]()
        for digits in (number[0], number[0][:2]) if number else ():  # Then its generation
            alike = [key for key in ids if re.search(rf"(?<!\d){digits}", key)]
            close = close or get_close_matches("".join(words), alike, n=3, cutoff=0.5)
        close = close or get_close_matches("".join(words), ids, n=3, cutoff=0.6)
        near = list(dict.fromkeys(ids[match] for match in close))
    message = f"no GPU in the catalog is called {name!r}{guess(near)}"
    if near:
        return InputError(message, hint=f"ask for {near[0]}")
    return InputError(message, hint="see the list of GPUs", code="catalog")


def _variants(words: Sequence[str]) -> list[str]:
    """Ids of the GPUs of one of whose names these are words; none for no words."""
    wanted = set(words)
    specs = load.all_gpus() if wanted else ()
    return [spec.id for spec in specs if any(wanted <= set(words_of(name)) for name in spec.names)]


_RANGE = re.compile(r"(?:(\d+(?:\.\d+)?)(gi?b?|w)?)?\.\.(?:(\d+(?:\.\d+)?)(gi?b?|w)?)?")
_PARTS = re.compile(r"[a-z0-9.]+")
_SPACED_SIZE = re.compile(r"(\d)\s*(gi?b|w)(?:att)?s?\b")
_SIZE = r"\s*((\d+)(?:\.\d+)?(gi?b?|w))\b(?!\.\.|/)"
# Bounds of memory and power as people write them, as ranges; sizes of products are whole numbers.
_SIGNS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    # "vram>=48", "memory > 24gb", "tdp<=300": the word says the unit.
    (r"\b(?:vram|memory|mem)\s*([<>]=?|[≥≤])\s*(\d+)(?:gi?b?)?\b", r" \1\2gb"),
    (r"\b(?:power|tdp|tgp|watts?)\s*([<>]=?|[≥≤])\s*(\d+)w?\b", r" \1\2w"),
    (rf"(?:>=|≥|\bat\s+least|\bmin(?:imum)?\b){_SIZE}", r"\1.."),
    (rf"(?:<=|≤|\bat\s+most|\bup\s+to|\bmax(?:imum)?\b){_SIZE}", r"..\1"),
    (rf"(?:>|\bmore\s+than|\bover|\babove){_SIZE}", lambda m: f"{int(m[2]) + 1}{m[3]}.."),
    (rf"(?:<|\bless\s+than|\bunder|\bbelow){_SIZE}", lambda m: f"..{int(m[2]) - 1}{m[3]}"),
    (rf"{_SIZE}(?:\s*\+|\s+(?:or|and)\s+(?:more|up|larger)\b)", r"\1.."),
)
_KINDS = (
    "vendor", "architecture", "chip", "memory_type", "form", "segment", "compute_capability", "gfx_target",
    "link",
)  # fmt: skip
_HALF_GB = 0.5
_SHORT = {
    "memory": "memory_bytes",
    "bandwidth": "memory_bytes_per_s",
    "power": "power_w",
    "price": "launch_price_usd",
}
# As people call those.
_ALSO = {
    "vram": "memory",
    "tdp": "power",
    "watts": "power",
    "cost": "price",
    "date": "launch",
    "year": "launch",
}
_PRECISIONS = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A GPU that the query means, and how many of it."""

    spec: GpuSpec
    count: int = 1


@dataclass(frozen=True, slots=True)
class _Term:
    """The meaning of one word: a size of memory in GB, a power in W, or the GPUs that have the word."""

    low: float = 0
    high: float = inf
    of_power: bool = False
    ids: frozenset[str] | None = None
    count: int = 1

    def fits(self, spec: GpuSpec) -> bool:
        if self.ids is not None:
            return spec.id in self.ids
        if self.of_power:
            return spec.power_w is not None and self.low <= spec.power_w <= self.high
        # The number that stands on the product: the decimal GB that it is sold by, else GiB.
        size = spec.number("memory_sold_gb") or (spec.memory_bytes or -(2**30)) / 2**30
        return self.low - _HALF_GB < size < self.high + _HALF_GB


def matching(words: Sequence[str]) -> tuple[Match, ...]:
    """The GPUs that meet every argument, in the order of the catalog; all for none.

    Raises InputError for a range or count that cannot be read, NoDataError for a word that no GPU
    of the catalog has and where no GPU meets all words.
    """
    # A size may stand in several arguments: their separator is a space to the patterns.
    typed = _SPACED_SIZE.sub(r"\1\2", "\x1f".join(words).casefold())
    for sign, spelt in _SIGNS:
        typed = re.sub(sign, spelt, typed)
    arguments = []
    for text in (text for text in typed.split("\x1f") if text.strip()):
        parts = [p.split() for p in text.split(",") if p.strip()]
        if not parts:
            raise InputError(f"{text!r} names no GPU", hint="write it like RTX4090,RTX5090")
        arguments.append([[_term(word) for word in part] for part in parts])
    matches = []
    for spec in load.all_gpus():
        # 0 for an argument none of whose alternatives fits; the largest count asked for wins.
        fitting = ([terms for terms in either if all(t.fits(spec) for t in terms)] for either in arguments)
        counts = [max((t.count for terms in each for t in terms), default=0) for each in fitting]
        if all(counts):
            matches.append(Match(spec=spec, count=max(counts, default=1)))
    if not matches:
        if len(words) > 1 and all(map(is_name, words)):
            hint = f"with a comma: gpuwise gpus {','.join(words)}"
            raise InputError("no GPU is several at once", hint=hint)
        raise NoDataError(f"no GPU in the catalog is all of {' '.join(words)!r}", hint="leave out a word")
    return tuple(matches)


def select(query: str | None) -> tuple[GpuSpec, ...]:
    """The GPUs that a query means; none where a word is unknown."""
    try:
        return tuple(match.spec for match in matching([query or ""]))
    except NoDataError:
        return ()


def ordered(matches: Iterable[Match], field: str) -> tuple[Match, ...]:
    """By a field, the largest first, with a dash before it the smallest; unknown values come last. `name` and
    `id` go by the alphabet. Raises InputError for a field that no GPU has as a number."""
    smallest, name = field.startswith("-"), field.removeprefix("-").casefold()
    name = _ALSO.get(name, name)
    if name in ("name", "id"):
        return tuple(sorted(matches, key=lambda m: getattr(m.spec, name).casefold(), reverse=smallest))
    if name not in sortable():
        from difflib import get_close_matches  # only where a word is wrong

        near = get_close_matches(name, sortable(), n=1)
        columns = (*_SHORT, "launch", *_PRECISIONS, "name")
        hint = f"did you mean {near[0]}?" if near else f"sort by one of {', '.join(columns)}"
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
    if word == "all":
        return _Term(ids=frozenset(spec.id for spec in load.all_gpus()))
    if ".." in word:
        ends = _RANGE.fullmatch(word)
        units = {unit for unit in (ends[2], ends[4]) if unit} if ends else set()
        if ends is None or not units or ("w" in units and len(units) > 1):
            hint = "write it like 24GB..48GB, 24GB.., ..80GB or ..300W"
            raise InputError(f"cannot read {word!r} as a range of memory or power", hint=hint)
        low, high, unit = float(ends[1] or 0), float(ends[3] or inf), "W" if "w" in units else "GB"
        if low > high:
            raise InputError(f"the range {word!r} is empty", hint=f"{high:g}{unit}..{low:g}{unit}")
        return _Term(low, high, of_power=unit == "W")
    if size := re.fullmatch(r"(\d+(?:\.\d+)?)(gi?b?|w)", word):
        return _Term(float(size[1]), float(size[1]), of_power=size[2] == "w")
    if bare := re.fullmatch(r"((?:[<>]=?|[≤≥])\d+(?:\.\d+)?)(?!\S*/)\S*", word):
        hint = f"{bare[1]}GB of memory, or {bare[1]}W of power"
        raise InputError(f"{word!r} does not say of what", hint=hint)
    behind = re.fullmatch(r"(.+):(\d+)", word)
    name, count = (behind[1], int(behind[2])) if behind else counted(word)
    if behind and not 1 <= count <= MOST_GPUS:
        raise InputError(f"{word!r} asks for {count} GPUs", hint=f"a count from 1 to {MOST_GPUS}: H100:8")
    # Joined, so that `rtx4090`, `rtx-4090` and `rtx_4090` are one word.
    wanted = "".join(_PARTS.findall(name))
    ids = frozenset(spec.id for spec in load.all_gpus() if wanted in _runs(spec.id))
    if not ids and re.fullmatch(r"[1-9]0", wanted):  # "RTX 40" is 4050 to 4090, "RX 70" 7600 to 7900
        series = re.compile(rf"{wanted}[5-9]0(ti)?|{wanted[0]}[4-9]00(xtx?|gre)?")
        ids = frozenset(spec.id for spec in load.all_gpus() if any(map(series.fullmatch, _runs(spec.id))))
    if wanted and ids:
        return _Term(ids=ids, count=count or 1)
    from difflib import get_close_matches

    runs = {run for spec in load.all_gpus() for run in _runs(spec.id)}
    # `price<500` limits what no filter is about: a name that is spelled like it is no help.
    near = [] if re.search(r"[<>=≤≥]", word) else get_close_matches(wanted, sorted(runs), n=3, cutoff=0.7)
    near.sort(key=lambda run: run[0] != wanted[0])  # a slip in the first letter is rare
    known = "filters are sizes (24GB..), power (..300W), names, kinds like laptop, fp8 or ecc; all words"
    hint, code = (f"ask for {near[0]}", "") if near else (known, "catalog")
    raise NoDataError(f"no GPU in the catalog matches {name!r}{guess(near)}", hint=hint, code=code)


@cache
def _runs(gpu_id: str) -> frozenset[str]:
    """Every run of whole words of the GPU's names, joined, its kinds and what it can: `rtx4090`, `fp8`."""
    spec = load.get(gpu_id)
    texts = [spec.id, spec.name, *spec.aliases, *(spec.text(field) or "" for field in _KINDS)]
    texts += [name.removeprefix("matrix_") for name, fact in spec.facts.items() if fact.value is True]
    lists = [_PARTS.findall(_SPACED_SIZE.sub(r"\1\2", text.casefold())) for text in texts]
    return frozenset(
        "".join(words[start:end])
        for words in lists
        for start in range(len(words))
        for end in range(start + 1, len(words) + 1)
    )
