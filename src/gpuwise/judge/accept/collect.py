"""Cards from files: results, bundles, and folders of them.

A host is a bundle, or a folder below the one that is named; files that lie loose have no known host.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpuwise import store
from gpuwise.errors import InputError, NoDataError
from gpuwise.judge.accept import bundle
from gpuwise.judge.accept.card import Card
from gpuwise.judge.accept.question import fastest

LOOSE = ""
"""The host of files of which none is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Cards that sit in one machine."""

    name: str
    cards: tuple[Card, ...]


def gather(paths: Sequence[Path]) -> tuple[tuple[Host, ...], tuple[tuple[str, str], ...]]:
    """(hosts, files that hold no result and why) of files, bundles and folders.

    Raises InputError for a path that is not there or a named file that cannot be read, NoDataError where
    nothing is found.
    """
    cards: dict[str, list[Card]] = defaultdict(list)
    skipped = []
    for path, host, named in _files(paths):
        try:
            cards[host] += map(_light, _read(path))
        except InputError as error:
            if named:
                raise
            skipped.append((str(path), str(error)))
    hosts = tuple(Host(name=name, cards=_distinct(found)) for name, found in cards.items() if found)
    if not hosts:
        raise NoDataError("no result was found", hint="gpuwise accept -o bundle.zip on each host makes them")
    return hosts, tuple(skipped)


def _files(paths: Sequence[Path]) -> Iterator[tuple[Path, str, bool]]:
    """(file, its host, whether it was named itself)."""
    for path in paths:
        if path.is_dir():
            for file in sorted(p for p in path.rglob("*") if p.suffix in (".json", ".zip")):
                inside = file.parent.relative_to(path).as_posix()
                yield file, _host(file, LOOSE if inside == "." else inside), False
        elif path.exists():
            yield path, _host(path, LOOSE), True
        else:
            raise InputError(f"there is no {path}", hint="gpuwise accept FOLDER")


def _host(file: Path, folder: str) -> str:
    """A bundle is a host of its own, in whatever folder."""
    if file.suffix != ".zip":
        return folder
    return f"{folder}/{file.stem}" if folder else file.stem


def _read(path: Path) -> tuple[Card, ...]:
    if path.suffix == ".zip":
        return bundle.unpack(path)
    result = store.load(path)
    if result.origin != "measured":
        raise InputError(f"{path} holds published figures", hint="gpuwise accept RESULT of `gpuwise bench`")
    return (Card(name=path.stem, result=result),)


def _light(card: Card) -> Card:
    """The card without raw step times, of which thousands of files would fill the memory, but for those that
    judge it."""
    measured = tuple(replace(m, windows=fastest(m), warmup_s=()) for m in card.result.measurements)
    return replace(card, result=replace(card.result, measurements=measured))


def _distinct(cards: Sequence[Card]) -> tuple[Card, ...]:
    """The cards with names of their own: reasons are told by name."""
    seen: dict[str, int] = defaultdict(int)
    found = []
    for card in cards:
        seen[card.name] += 1
        count = seen[card.name]
        found.append(card if count == 1 else replace(card, name=f"{card.name} ({count})"))
    return tuple(found)
