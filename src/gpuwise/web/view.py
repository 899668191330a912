"""What a request asks, and what a view answers: a page's content, its table for CSV, its data for JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import repeat
from math import isfinite
from typing import Any

from markupsafe import Markup

from gpuwise.errors import GpuwiseError, InputError
from gpuwise.facts.catalog import matching
from gpuwise.model.result import Interval
from gpuwise.model.units import parse_size, some
from gpuwise.show.gpus import products
from gpuwise.show.html import bar
from gpuwise.show.table import Table

# No field of a form is longer, and no form has more names and values: that of choices sends some eighty.
LONGEST = 200
MOST_VALUES = 160


def nearest(text: str, known: Iterable[str]) -> str:
    """The name that may have been meant, or what there is."""
    every = [name for name in known if name]
    near = get_close_matches(text, every, 1)
    return f"did you mean {near[0]}?" if near else f"one of {some(every, 6)}"


class Asked:
    """The values of a form or address by name, and of a path by its place. Anybody may have typed them.
    Raises InputError for more values, or longer ones, than any form here sends."""

    def __init__(self, values: Iterable[tuple[str, str]] = (), *, path: Sequence[str] = ()) -> None:
        pairs = [(name, value.strip()) for name, value in values]
        self.pairs = tuple(pair for pair in pairs if pair[1])  # an empty field says nothing
        self._read: set[str] = set()
        self.path = tuple(path)
        texts = (*self.path, *(text for pair in pairs for text in pair))
        if len(texts) > MOST_VALUES or any(len(text) > LONGEST for text in texts):
            problem = "the address is longer than any form here sends"
            raise InputError(problem, hint="start from a page's form")

    @property
    def names(self) -> frozenset[str]:
        """Names that have a value."""
        return frozenset(dict(self.pairs))

    def text(self, name: str, default: str = "") -> str:
        """The last value of that name, or `default` without one."""
        self._read.add(name)
        return dict(self.pairs).get(name, default)

    def many(self, name: str) -> tuple[str, ...]:
        """Every value of that name, each once."""
        self._read.add(name)
        return tuple(dict.fromkeys(value for key, value in self.pairs if key == name))

    def number(self, name: str) -> float | None:
        """A number that is not negative, None where it is missing. Raises InputError for anything else."""
        text = self.text(name)
        if not text:
            return None
        try:
            value = float(text.replace(",", ""))
        except ValueError:
            value = -1.0
        # 1e15 USD, watts or bytes are beyond every machine, and sums of them stay finite.
        if not isfinite(value) or not 0 <= value <= 1e15:
            raise InputError(f"{name} is a number, not {text!r}", hint="write it like 24")
        return value

    def whole(self, name: str, *, most: int) -> int | None:
        """A whole number from 1 to `most`, `8k` as on the command line; None where it is missing. Raises
        InputError for anything else."""
        text = self.text(name).replace(",", "")
        if not text:
            return None
        if (value := parse_size(text, name)) > most:
            raise InputError(f"{name} is at most {most:,}, not {text}", hint="write a smaller one")
        return value

    def one_of(
        self, name: str, known: Sequence[str], default: str | None = None, *, others: Collection[str] = ()
    ) -> str:
        """The value; `default`, or the first of `known`, where it is missing, or one of `others`: what the
        form offers where another of its fields says otherwise. Raises InputError for anything else."""
        text = self.text(name)
        if text in known:
            return text
        if text and text not in others:
            raise InputError(f"unknown {name} {text!r}", hint=nearest(text, known))
        return known[0] if default is None else default

    def gpus(self, name: str = "q", usual: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Ids of the GPUs that the words leave; `usual`, or all, without words. Raises as `matching`."""
        words = self.text(name)
        return usual if usual and not words else tuple(match.spec.id for match in matching([words]))

    def beside(self, **usual: str) -> Asked:
        """The same questions, with values for what they do not say."""
        made = Asked([*usual.items(), *self.pairs])
        made._read = self._read
        return made

    def check(self) -> None:
        """Raises InputError for a name that no view has asked for: it would change nothing, unseen."""
        for name in sorted(self.names - self._read):
            hint = nearest(name, sorted(self._read)) if self._read else "it takes none"
            raise InputError(f"this page has no question {name!r}", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One page."""

    title: str
    template: str
    table: Table  # What CSV holds
    document: Callable[[], Any]  # Plain data for JSON, or JSON as bytes, made when asked for
    content: Mapping[str, Any] = field(default_factory=dict)  # What the template shows
    message: GpuwiseError | None = None  # Why the question has no answer; the page shows it beside the form
    links: Mapping[str, str] = field(default_factory=dict)
    """Text of a cell -> the path that it leads to; names of GPUs lead to theirs without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table as a page shows it: beside each row a bar, above each column a link that sorts by it."""

    table: Table
    bars: tuple[Markup, ...] = ()
    legend: str = ""  # What the bars say
    sorts: Mapping[str, str] = field(default_factory=dict)  # Column -> the value of `sort` that orders by it


def by_name(lines: Iterable[str]) -> tuple[str, ...]:
    """Lines in which each id of a GPU is its name: on a page nobody types ids."""
    names = products()
    return tuple(re.sub(r"[a-z][\w-]*", lambda word: names.get(word[0], word[0]), line) for line in lines)


def bars(values: Sequence[Interval | None], origins: str | Sequence[str] = "measured") -> tuple[Markup, ...]:
    """Bars of values with intervals, all of one origin, or each of its own. The largest value takes at least
    two thirds of the room, so that a forecast of an order of magnitude makes no others short."""
    known = [v for v in values if v is not None]
    highest = max((v.high for v in known), default=0.0)
    most = min(highest, 1.5 * max((v.value for v in known), default=0.0)) or highest
    each = repeat(origins) if isinstance(origins, str) else origins
    return tuple(bar(value, most, origin) for value, origin in zip(values, each, strict=False))
