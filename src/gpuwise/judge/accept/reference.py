"""What a card is compared with: what its kind is known to reach, its last result, a file, a named GPU.

`data/reach.csv` holds what GPUs of the catalog are known to reach, each figure with its source. Where gpuwise
measured, a row has the lowest and the highest of its sessions (`card` says which speed of a session). A card
below the lowest by more than the margin is refused, and none is refused for as little as the sessions differ:
1 - lowest / highest. Where others measured, with their own program and the best of many shapes of matrix, a
slower card is only named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from gpuwise import store
from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.facts.catalog import tables
from gpuwise.judge.accept.card import Asked, Lookup, Reference, question, speeds
from gpuwise.model.precision import Precision
from gpuwise.model.result import Interval, Measurement, Result
from gpuwise.model.run import Environment, RunConfig

DATA = Path(__file__).with_name("data")


def known(gpu_id: str | None) -> tuple[Reference, ...]:
    """What a GPU is known to reach, one reference for each source; empty where nothing is."""
    return _reach()[0].get(gpu_id or "", ())


def allowed(gpu_id: str | None, asked: Asked, margin: float) -> float:
    """How much slower a card may be: the margin, or more where good cards of its kind differ by more."""
    return max(margin, _reach()[1].get((gpu_id or "", asked), 0.0))


@cache
def _reach() -> tuple[Mapping[str, tuple[Reference, ...]], Mapping[tuple[str, Asked], float]]:
    """References by GPU; and by GPU and question, the share by which sessions on good cards differ."""
    sources = tables.read_sources(DATA / "sources.csv")
    rows: dict[tuple[str, str], list[Measurement]] = defaultdict(list)
    differ = {}
    for row in tables.rows(DATA / "reach.csv"):
        value = float(row["per_s"])
        stated = Measurement(
            config=RunConfig(workload=row["workload"], mode="limit", precision=Precision(row["precision"])),
            workload_version=int(row["version"]),
            status="ok",
            item=row["item"],
            started_at="",
            throughput=Interval(value=value, low=value, high=value, level=None, method="stated"),
        )
        rows[row["gpu_id"], row["source"]].append(stated)
        if row["most"]:
            differ[row["gpu_id"], question(stated)] = 1 - value / float(row["most"])
    found: dict[str, tuple[Reference, ...]] = defaultdict(tuple)
    for (gpu_id, source_id), own in rows.items():
        source, name = sources[source_id], catalog.get(gpu_id).name
        result = Result(
            id=f"reach-{gpu_id}",
            origin="published",
            created_at=source.read_on,
            command="",
            environment=Environment(device=name, gpu_id=gpu_id),
            measurements=tuple(own),
            source=source.title,
        )
        title = f"the known reach of {name} ({source.title})"
        found[gpu_id] += (Reference(name=title, result=result, same_code=source.kind == "measured"),)
    return found, differ


def lookup(against: str | None) -> Lookup:
    """How to find a card's references; nothing given means what its kind is known to reach.

    Raises InputError for what is neither result nor GPU, NoDataError for a GPU of which no reach is known.
    """
    if against is None:
        return lambda result: known(result.environment.gpu_id)
    if against == "last":
        kept = store.saved()
        return lambda result: _last(result, kept)
    try:
        path = store.find(against)
    except NoDataError:
        spec = catalog.find(against)
        if not (chosen := known(spec.id)):
            raise NoDataError(
                f"nothing is known of what {spec.name} reaches",
                hint="compare with a result of a card that is known to be good",
                code="against",
            ) from None
        return lambda result: chosen
    if path.suffix == ".zip":
        raise InputError(
            f"{path.name} is a bundle of all cards of a host, and one result is a reference",
            hint="take one result out of it, such as results/gpu-0.json, and compare with that",
        )
    file = Reference(name=path.name, result=store.load(path))
    if not speeds(file.result):
        raise InputError(f"{path.name} holds no speed to compare with", hint="see what it holds")
    return lambda result: (file,)


def check_last(card: Environment) -> None:
    """Raise NoDataError where no result of this very card is kept."""
    if not any(_same_card(kept.environment, card) for _, kept in _newest_first(store.saved())):
        raise NoDataError(
            f"no result of this {card.device} is kept, and another card's would say nothing of it",
            hint="compare with a file, or with what is known: that keeps a result for next time",
            code="against",
        )


def _last(result: Result, kept: tuple[Path, ...]) -> tuple[Reference, ...]:
    """The newest of the kept results that has a speed of the same card in common."""
    for path, earlier in _newest_first(kept):
        same = _same_card(earlier.environment, result.environment)
        if same and earlier.id != result.id and speeds(earlier).keys() & speeds(result).keys():
            return (Reference(name=path.name, result=earlier),)
    return ()


def _newest_first(kept: tuple[Path, ...]) -> Iterator[tuple[Path, Result]]:
    """The kept results that can be read: a damaged one must not stand between a card and its last."""
    for path in reversed(kept):
        with suppress(InputError):
            yield path, store.load(path)


def _same_card(a: Environment, b: Environment) -> bool:
    """By model and digest of the unique id; by the model alone where a device has no such id."""
    return (a.device, a.device_memory_bytes, a.card) == (b.device, b.device_memory_bytes, b.card)
