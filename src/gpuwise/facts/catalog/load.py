"""Read the catalog's files once: facts become `GpuSpec`, each value with its source.

One line of `data/specs/*.csv` is one value of one source in SI base units; of several lines with the
same GPU and field the first stands. Fields named `peak:<format>:<accumulate>:<vector|matrix>[:sparse]`
(FLOP/s) become `Peak`; all others become `Fact`. `data/rules.csv` fills in what every GPU of a chip or
an architecture has. CSV and the stdlib only: bare `gpuwise` loads this and must answer in 0.3 s.
"""

from __future__ import annotations

import csv
import gc
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field as DataclassField
from dataclasses import fields as dataclass_fields
from functools import cache, lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from gpuwise.errors import InputError
from gpuwise.model.gpu import Fact, Field, GpuSpec, Peak, Source, Value

DATA = Path(__file__).with_name("data")

Row = list[str]
"""(gpu_id, field, value, source, locator, note)"""
Raw = TypeVar("Raw")
Item = TypeVar("Item")


class Lazy(Mapping[str, Item]):
    """What is decoded on first use: most commands read a few fields of a few GPUs."""

    def __init__(self, raw: Mapping[str, Raw], decode: Callable[[Raw], Item]) -> None:
        self._raw: Mapping[str, Raw] = raw
        self._decode = decode
        self._known: dict[str, Item] = {}

    def __getitem__(self, name: str) -> Item:
        # Kept: a page reads the same few values many times.
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._decode(self._raw[name])
        return known

    def get(self, name: str, default: Any = None) -> Any:
        """As of any mapping, without an exception for each name that is not there."""
        return self[name] if name in self._raw else default

    def cache_clear(self) -> None:
        self._known.clear()

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def __contains__(self, name: object) -> bool:
        return name in self._raw


def rows(path: Path | str) -> list[dict[str, str]]:
    """The rows of a CSV file with a header; a name alone is a file of the catalog."""
    with (DATA / path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# What a cell means, by the type of its field; the rest is text as it stands.
_CELLS: Mapping[str, Callable[[str], Any]] = {
    "float": float,
    "int": lambda text: int(text or 0),
    "bool": lambda text: text == "yes",
    "float | None": lambda text: float(text) if text else None,
    "int | None": lambda text: int(text) if text else None,
    "str | None": lambda text: text or None,
    "tuple[str, ...]": lambda text: _parts(text),
}


def decoded(
    table: Iterable[dict[str, str]], kind: type[Item], **given: Callable[[dict[str, str]], Any]
) -> Iterator[Item]:
    """The rows of a table as dataclasses: a column becomes the field of its name, by the field's type; what
    is `given` comes from the row as a whole."""
    own: tuple[DataclassField[Any], ...] = dataclass_fields(kind)  # type: ignore[arg-type]
    columns = [(field.name, _CELLS.get(str(field.type), str)) for field in own if field.name not in given]
    for row in table:
        cells = {name: read(row[name]) for name, read in columns if name in row}
        yield kind(**cells, **{name: made(row) for name, made in given.items()})


def read_sources(path: Path) -> Mapping[str, Source]:
    """Sources by id, from columns id, title, kind, read_on, url, licence and perhaps copy_of."""
    return MappingProxyType({source.id: source for source in decoded(rows(path), Source)})


@cache
def fields() -> Mapping[str, Field]:
    """Every field by name, in the order of a specification chart. `peak:*` is the entry of all peaks that
    have no line of their own."""
    fields = decoded(rows("fields.csv"), Field, name=lambda row: row["field"])
    return MappingProxyType({field.name: field for field in fields})


@cache
def sources() -> Mapping[str, Source]:
    return read_sources(DATA / "sources.csv")


@cache
def all_gpus() -> tuple[GpuSpec, ...]:
    """Every GPU variant of the catalog, sorted by launch date, then id; those without one come last."""
    collecting = gc.isenabled()
    # All of it is kept: searching the growing rows for garbage would take half of the time.
    gc.disable()
    try:
        stated: dict[str, dict[str, list[Row]]] = {}
        for path in sorted((DATA / "specs").glob("*.csv")):
            with path.open(encoding="utf-8", newline="") as file:
                lines = csv.reader(file)
                next(lines)
                for gpu_id, lines_of_gpu in groupby(lines, itemgetter(0)):
                    mine = stated.setdefault(gpu_id, {})
                    for row in lines_of_gpu:
                        mine.setdefault(row[1], []).append(row)
        # What an architecture or a chip gives all its GPUs, by the name of either.
        rules: dict[str, list[dict[str, str]]] = defaultdict(list)
        for rule in rows("rules.csv"):
            rules[rule["match"]].append(rule)
        specs = [_spec(row, stated[row["gpu_id"]], rules) for row in _names()]
    finally:
        if collecting:
            gc.freeze()  # Nor is it searched later: a fifth of the time of `gpuwise gpus`
            gc.enable()
    return tuple(sorted(specs, key=lambda spec: (spec.text("launch") or "9999", spec.id)))


VENDORS = {
    **dict.fromkeys(("nvidia", "geforce", "tesla"), "NVIDIA"),
    **dict.fromkeys(("amd", "radeon", "instinct"), "AMD"),
    **dict.fromkeys(("intel", "habana"), "Intel"),
}
BRANDS = re.compile("|".join([*VENDORS, r"\(r\)", r"\(tm\)", "[\u2122\u00ae]"]))
NOISE = frozenset({"gpu", "generation", "graphics", "card", "accelerator"})
"""Words that never distinguish two products."""
MEMORY = re.compile(r"(\d+)[\s_-]*gi?b")
WORDS = re.compile(r"[a-z0-9]+")


@lru_cache(maxsize=4096)  # every name of the catalog is asked for again with each name that is not in it
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name that distinguish GPUs: `NVIDIA A100 PCIe 80 GB` -> a100, pcie, 80gb."""
    words = WORDS.findall(MEMORY.sub(r"\1gb", BRANDS.sub(" ", name.casefold())))
    return tuple(word for word in words if word not in NOISE)


def name_key(name: str) -> str:
    """A key that is equal for two spellings of one name: `NVIDIA A100 PCIe 80 GB` -> `a100pcie80gb`."""
    return "".join(words_of(name))


def find(name: str) -> GpuSpec:
    """The one GPU that `name` names. Raises InputError where the name is unknown, with the nearest names, and
    where it fits several variants, with their ids."""
    if name in _by_id():
        return _by_id()[name]
    from gpuwise.facts.catalog.query import exact, not_found  # an id needs none

    if (spec := exact(name)) is None:
        raise not_found(name)
    return spec


def get(gpu_id: str) -> GpuSpec:
    """The GPU with exactly this id. Raises InputError for an id that is not in the catalog."""
    try:
        return _by_id()[gpu_id]
    except KeyError:
        problem = f"no GPU in the catalog has the id {gpu_id!r}"
        raise InputError(problem, hint="see the list of GPUs", code="catalog") from None


@cache
def shared_device_names() -> frozenset[str]:
    """Driver names, case-folded, that variants outside the catalog report too: memory must decide."""
    return frozenset(name.casefold() for row in _names() for name in _parts(row["shared_device_names"]))


@cache
def usual() -> Mapping[str, tuple[str, ...]]:
    """The generic names of which a GPU is the usual variant, by its id: `H100` of the H100 SXM5."""
    return {row["gpu_id"]: _parts(row["usual_for"]) for row in _names() if row["usual_for"]}


@cache
def models() -> tuple[tuple[str | None, tuple[str, ...], tuple[str, ...]], ...]:
    """(gpu_id, models, words) of each variant: `A100` is a model, `sxm4 80gb` distinguish its variants.

    A model that begins with `?` is also an ordinary word or number: it needs a brand before it. The id
    is None for GPUs that share a model or a name with one of the catalog but are not in it.
    """
    every = (*_names(), *rows("outside.csv"))
    return tuple((row.get("gpu_id"), _parts(row["models"]), tuple(row["variant"].split())) for row in every)


@cache
def sizes_outside(gpu_id: str) -> tuple[int, ...]:
    """Gigabytes of the variants outside the catalog that share a model with this GPU."""
    mine = {model for of_id, names, _ in models() if of_id == gpu_id for model in names}
    words = [word for of_id, names, all_ in models() if of_id is None and mine & {*names} for word in all_]
    return tuple(int(word.removesuffix("gb")) for word in words if re.fullmatch(r"\d+gb", word))


@cache
def _by_id() -> Mapping[str, GpuSpec]:
    return {spec.id: spec for spec in all_gpus()}


@cache
def _names() -> list[dict[str, str]]:
    return rows("names.csv")


def _spec(
    row: dict[str, str], stated: dict[str, list[Row]], rules: Mapping[str, list[dict[str, str]]]
) -> GpuSpec:
    first = {field: lines[0][2] for field, lines in stated.items()}
    # A chip's rule is closer than its architecture's: the TU116 is a Turing without tensor cores.
    for match in (first.get("chip", ""), first.get("architecture", "")):
        for rule in rules.get(match, ()):
            fits = rule["segment"] in ("", first["segment"]) and rule["form"] in ("", first["form"])
            note, lines = f"rule of {match}", stated.get(rule["field"], [])
            # Each source that states it is one witness more.
            if fits and all(line[3] != rule["source"] and line[5] == note for line in lines):
                values = (rule["value"], rule["source"], rule["locator"], note)
                stated[rule["field"]] = [*lines, [row["gpu_id"], rule["field"], *values]]
    # Peaks are few and searched by format, so that decoding them late would save nothing.
    peaks = []
    for name, lines in stated.items():
        if name.startswith("peak:"):
            _, _, value, source, locator, note = lines[0]
            _, number_format, accumulate, unit, *sparse = name.split(":")
            peaks.append(Peak(
                format=number_format, accumulate=accumulate, unit="matrix" if unit == "matrix" else "vector",
                flop_per_s=float(value), sparse=sparse == ["sparse"], source=sources()[source],
                locator=locator, note=note,
            ))  # fmt: skip
    facts = {name: lines[0] for name, lines in stated.items() if not name.startswith("peak:")}
    return GpuSpec(
        id=row["gpu_id"],
        name=row["name"],
        aliases=_parts(row["aliases"]),
        device_names=_parts(row["device_names"]),
        facts=Lazy(facts, _fact),
        peaks=tuple(peaks),
        more=Lazy(
            {name: lines[1:] for name, lines in stated.items() if len(lines) > 1},
            lambda lines: tuple(_fact(line) for line in lines),
        ),
    )


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(";") if part)


def _fact(row: Row) -> Fact:
    gpu_id, field, value, source, locator, note = row
    decoded: Value = value
    try:
        kind = "number" if field.startswith("peak:") else fields()[field].kind
        if kind == "flag":
            decoded = value == "true"
        elif kind == "number":
            number = float(value)
            decoded = int(number) if number.is_integer() else number
        return Fact(field=field, value=decoded, source=sources()[source], locator=locator, note=note)
    except (KeyError, ValueError) as error:  # a KeyError would mean a field without a value to the mapping
        problem = f"{gpu_id} in specs/*.csv: {field},{value},{source} cannot be read: {error}"
        raise InputError(problem, hint="fields.csv has the fields, sources.csv the sources") from error
