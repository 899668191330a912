"""What the functions of a package answer to arguments near those that they met.

A function that meets a text has arguments that go together, so that no text separates the parts of a long
condition, or stands just at a limit. Here each function is called with what it was called with, and one or
two things in it changed: a truth turned, an optional value left out, a number put just below, at and just
above the numbers that the function itself has (alone, or as a distance or a ratio to another number), a text
put to those the function knows, cut or lengthened to a limit, a field of an object changed likewise. A row
names the function, and has how many different answers it gave, and their checksum. Whoever changes a function
on purpose writes the table anew.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from random import Random
from textwrap import dedent
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any
from zlib import crc32

import numpy as np

from gpuwise.facts.catalog.load import Lazy

from . import inner
from .inner import forget, modules, plain

# Calls of a function among which those to keep are looked for.
SEEN = 200
# How often it is called anew, short or long.
FEWEST, MOST_TRIES, CHARACTERS_A_TRY = 16, 48, 24
# How often a thing is taken from another call.
CROSSED = 0.4
# Items of an answer that comes one by one.
MOST = 30
# Texts are not made longer than this, and no more members of a set are tried.
LONGEST, MEMBERS = 400, 12
# Longer texts are for people.
WORDS = 40
# Of a number more are not looked at: the last ones are another processor's.
DIGITS = re.compile(r"\d+\.\d{9,}(?:e[+-]\d+)?")
# Lines that run, and the constants that stand in a function, are those of one version.
PYTHON = (3, 11)
# How deep fields of fields are changed.
DEPTH = 2


def varied(package: str, run: Callable[[], object]) -> tuple[list[str], list[str]]:
    """A row for each function of a package that is called while something runs; and the rows of `inner`,
    which listens to the same run."""
    functions = {one.__code__: one for module in modules(package) for one in functions_of(module)}
    calls = Recorded(functions)
    given = inner.answers(package, run, calls)
    for module in modules(package):
        forget(module)
    root = f"{Path(str(sys.modules[package].__file__)).parent}/"
    rows = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for code, those in calls.kept.items():
            name = f"{code.co_filename.removeprefix(root).removesuffix('.py')}.{code.co_qualname}"
            found = [*answers(functions[code], those, Random(name))]
            rows.append(f"{name} {len({*found})} {crc32(repr(found).encode()):08x}")
    return sorted(rows), given


def functions_of(module: ModuleType) -> Iterator[FunctionType]:
    """Those that a module and its classes define, what is remembered or a property, too."""
    made = [one for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__]
    inside = [each for one in made if isinstance(one, type) for each in vars(one).values()]
    for one in (*made, *inside):
        one = getattr(one, "__func__", one)
        one = one.func if isinstance(one, cached_property) else one
        one = one.fget if isinstance(one, property) else one
        one = inspect.unwrap(one) if callable(one) else one
        if isinstance(one, FunctionType) and one.__code__.co_filename == module.__file__:
            yield one


class Recorded:
    """Arguments of some of the calls of each, as they are when it is called: of those that run a line that no
    call before has run, and of the first, the second, the fourth."""

    def __init__(self, functions: Mapping[CodeType, FunctionType]) -> None:
        self.met, self.kept = Counter[int](), dict[CodeType, list[list[Any]]]()
        # By address: the hash of a code object is computed from all of it, at each call.
        self.unseen = {id(code): {number for *_, number in code.co_lines() if number} for code in functions}

    def enter(self, frame: FrameType) -> Callable[[int], bool] | None:
        """The call, and what marks its lines as seen while there are others."""
        code = frame.f_code
        left = self.unseen[id(code)]
        # A generator goes on with the same call.
        if self.met[id(code)] > SEEN or frame.f_lasti > 2 * len(code.co_cellvars) + 6:
            return None
        self.met[id(code)] += 1
        new = self.met[id(code)] & (self.met[id(code)] - 1) == 0
        if not left and not new:
            return None
        names, there = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], frame.f_locals
        given = [apart(there.get(name)) for name in names]
        if new:
            self.kept.setdefault(code, []).append(given)

        def line(number: int) -> bool:
            nonlocal new
            if number in left:
                left.discard(number)
                if not new:
                    new = True
                    self.kept[code].append(given)
            return bool(left)

        return line


def apart(value: Any) -> Any:
    """A value that does not change when the other one does."""
    if isinstance(value, list):
        return [apart(one) for one in value]
    if isinstance(value, dict):
        return {name: apart(one) for name, one in value.items()}
    if isinstance(value, set):
        return copy(value)
    if type(value).__module__.startswith("gpuwise.") and vars_of(value) and not is_dataclass(value):
        other = copy(value)
        other.__dict__.update({name: apart(each) for name, each in vars(value).items()})
        return other
    return value


def vars_of(value: Any) -> dict[str, Any]:
    return getattr(value, "__dict__", {})


def answers(function: FunctionType, calls: list[list[Any]], draw: Random) -> Iterator[int]:
    """A sum of each answer."""
    source = inspect.getsource(function)
    numbers, texts = known_to(function, source)
    positional = function.__code__.co_argcount
    names = function.__code__.co_varnames[positional : positional + function.__code__.co_kwonlyargcount]
    for number in range(min(FEWEST + len(source) // CHARACTERS_A_TRY, MOST_TRIES)):
        given = [apart(one) for one in calls[number % len(calls)]]
        if not given:
            return
        for _ in range(1 + (number % 3 == 0)):
            at = draw.randrange(len(given))
            mate = draw.choice(calls)[at] if draw.random() < CROSSED else given[at]
            given[at] = crossed(given[at], mate, draw)
            if mate is given[at] or draw.random() < CROSSED:
                given[at] = other(given[at], given, numbers, texts, draw)
        try:
            answer = function(*given[:positional], **dict(zip(names, given[positional:], strict=True)))
            if isinstance(answer, Iterator):
                answer = [*islice(answer, MOST)]
            if answer is None and hasattr(given[0], "__dict__"):
                answer = vars(given[0])
            text = DIGITS.sub(lambda it: f"{float(it[0]):.9g}", plain(answer))
        except Exception as error:  # noqa: BLE001 - what it refuses is an answer
            text = type(error).__name__
        yield crc32(text.encode())


def crossed(value: Any, mate: Any, draw: Random) -> Any:
    """The same thing of another call, or with a field of that."""
    if type(value) is not type(mate) or draw.random() < CROSSED:
        return apart(mate)
    if is_dataclass(value):
        name = draw.choice([one.name for one in fields(value) if one.init])
        with suppress(Exception):
            return replace(value, **{name: getattr(mate, name)})
    elif isinstance(value, str):
        return f"{value[: draw.randrange(len(value) + 1)]}{mate[draw.randrange(len(mate) + 1) :]}"
    elif isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        return value[: draw.randrange(len(value) + 1)] + mate[draw.randrange(len(mate) + 1) :]
    elif type(value).__module__.startswith("gpuwise.") and (
        names := sorted(vars_of(value).keys() & vars_of(mate).keys())
    ):
        name = draw.choice(names)
        vars_of(value)[name] = vars_of(mate)[name]
    return value


def known_to(function: FunctionType, source: str) -> tuple[list[float], list[str]]:
    """Numbers and texts that stand in it, or that it calls by a name of its module. The source says them:
    what is compiled may have assertions that pytest has rewritten."""
    found = list[Any]()
    for node in ast.walk(ast.parse(dedent(source))):
        if isinstance(node, ast.Constant):
            found.append(node.value)
        elif isinstance(node, ast.Name) and node.id.lstrip("_").isupper():
            value = function.__globals__.get(node.id)
            several = isinstance(value, tuple | frozenset | set | dict | Lazy)
            found += sorted(value, key=repr)[:MEMBERS] if several else [value]
    numbers = {one for one in found if isinstance(one, int | float) and not isinstance(one, bool)}
    return sorted(numbers), sorted({one for one in found if isinstance(one, str) and len(one) < WORDS})


def other(
    value: Any, beside: list[Any], numbers: list[float], texts: list[str], draw: Random, depth: int = 0
) -> Any:
    """Something else in the place of a value."""
    again = lambda one: other(one, beside, numbers, texts, draw, depth + 1)  # noqa: E731
    if isinstance(value, bool):
        return not value
    if value is None:
        return draw.choice([*texts, *numbers, True])
    if isinstance(value, int | float):
        return near(value, beside, numbers, draw)
    if isinstance(value, str):
        return text_near(value, numbers, texts, draw)
    if isinstance(value, tuple | list):
        return sequence(value, again, draw)
    if isinstance(value, dict | set):
        kept = draw.randrange(2)
        if isinstance(value, dict):
            return dict(islice(value.items(), kept))
        return set(sorted(value, key=repr)[:kept])
    if depth > DEPTH or isinstance(value, type):
        return value
    if is_dataclass(value):
        return changed(value, again, draw)
    if type(value).__module__.startswith("gpuwise.") and vars_of(value):
        one = copy(value)
        name = draw.choice(sorted(vars(value)))
        vars(one)[name] = again(getattr(value, name))
        return one
    return value


def changed(value: Any, again: Callable[[Any], Any], draw: Random) -> Any:
    each = draw.choice([one for one in fields(value) if one.init])
    old = getattr(value, each.name)
    new = None if "None" in str(each.type) and draw.random() < 0.3 else again(old)
    try:
        return replace(value, **{each.name: new})
    except Exception:  # noqa: BLE001 - nothing that the object can hold
        return value


def near(value: float, beside: list[Any], numbers: list[float], draw: Random) -> float:
    limit = draw.choice(numbers or [1])
    others = [one for one in beside if isinstance(one, int | float) and not isinstance(one, bool)]
    around = draw.choice(others or [0])
    if isinstance(value, int):
        step = draw.choice((-1, 0, 1))
        made = draw.choice((limit, around, around + limit, around - limit, value, 2 * value, 0))
        return int(max(min(made, 1e6), -1e6)) + step
    of_both = (around * limit, around * (1 + limit), around / (limit or 1))
    made = draw.choice((limit, around, *of_both, value * 2, value * limit, 0.0))
    return float(made) * draw.choice((0.999, 1, 1.001))


def text_near(value: str, numbers: list[float], texts: list[str], draw: Random) -> str:
    match draw.randrange(5):
        case 0 | 1 if texts:
            one = draw.choice(texts)
            return draw.choice((one, f"{one} {value}", f"{value} {one}", value.replace(" ", f" {one} ", 1)))
        case 2 if limits := [int(each) for each in numbers if 1 <= each <= LONGEST]:
            length = max(draw.choice(limits) + draw.choice((-1, 0, 1)), 0)
            first, gap, rest = value.partition(" ")
            filler = ("plainly so " * LONGEST)[: length - len(value) - 1]
            return value[:length] if len(value) >= length else f"{first} {filler}{gap}{rest}"
        case 3:
            words = value.split(" ")
            at = draw.randrange(len(words))
            return " ".join(words[:at] + words[at + 1 :])
    return draw.choice(("", value[: len(value) // 2], value[len(value) // 2 :], value.upper()))


def sequence(value: Any, again: Callable[[Any], Any], draw: Random) -> Any:
    kind = draw.randrange(5)
    if not value or kind == 0:
        return value[:0]
    if kind == 1:
        return value[: draw.randrange(len(value)) + 1]
    if kind == 2:
        return value[::-1]
    at = draw.randrange(len(value))
    items = [again(one) if number == at else one for number, one in enumerate(value)]
    if hasattr(value, "_fields"):
        return type(value)(*items)
    return type(value)(items)
