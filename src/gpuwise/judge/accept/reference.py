"""What a card is held against: what its kind is known to reach, its last result, a file, a named GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gpuwise import store
from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.judge.accept.card import Lookup, Reference
from gpuwise.judge.accept.question import speeds
from gpuwise.judge.accept.reach import known
from gpuwise.model.result import Result
from gpuwise.model.run import Environment


def lookup(against: str | None) -> Lookup:
    """How to find a card's references; nothing given means what its kind is known to reach.

    Raises InputError for what is neither result nor GPU, NoDataError for a GPU of which no reach is known.
    """
    if against is None:
        return lambda result: known(result.environment.gpu_id)
    if against == "last":
        kept = store.saved()
        return lambda result: _last(result, kept)
    path = _file(against)
    chosen = known(_gpu(against)) if path is None else (_of(store.load(path), path.name),)
    return lambda result: chosen


def check_last(card: Environment) -> None:
    """Raise NoDataError where no result of this very card is kept."""
    if not any(_same_card(kept.environment, card) for _, kept in _newest_first(store.saved())):
        raise NoDataError(
            f"no result of this {card.device} is kept, and another card's would say nothing of it",
            hint="gpuwise accept --against FILE, or without --against: it keeps a result for next time",
        )


def _gpu(name: str) -> str:
    spec = catalog.find(name)
    if not known(spec.id):
        raise NoDataError(
            f"nothing is known of what {spec.name} reaches",
            hint="gpuwise accept --against FILE, a result of a card that is known to be good",
        )
    return spec.id


def _file(against: str) -> Path | None:
    """The result file that is meant; None where none is called so."""
    try:
        found = store.find(against)
    except NoDataError:
        return None
    if found.suffix == ".zip":
        raise InputError(
            f"{found.name} is a bundle of all cards of a host, and one result is a reference",
            hint=f"unzip {found} results/gpu-0.json, then gpuwise accept --against results/gpu-0.json",
        )
    return found


def _of(result: Result, name: str) -> Reference:
    if not speeds(result):
        raise InputError(f"{name} holds no speed to be held against", hint=f"gpuwise show {name}")
    return Reference(name=name, result=result)


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
