"""What the functions of a package answer on the way to a result, as a sum for each of them.

A table of results does not see a fault that a later step makes good, or that takes another text to come
out. Here each function is held to its own answers: a row names it, and has how many different answers it gave
(with the plain values it gave them to), and their checksum: how often it is asked, and in which order, does
not count. Whoever changes an answer on purpose writes the table anew; the row names the function.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType, FunctionType, GeneratorType, ModuleType
from typing import Any, Protocol
from zlib import crc32

import pytest

_BRACES = re.compile(r"\{[^{}]*\}")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
# Limits of a module within which texts are tried: shorter ones are met anyhow, longer ones take their time.
SHORTEST, LONGEST = 4, 400
# Arguments of these types stand beside an answer; the others would be long.
PLAIN = (str, int, float, bool)


def modules(package: str) -> list[ModuleType]:
    """A package's modules, and itself."""
    top = import_module(package)
    found = (import_module(each.name) for each in pkgutil.walk_packages(top.__path__, f"{package}."))
    return [top, *found]


def forget(module: ModuleType) -> None:
    """What is remembered would not be asked."""
    for one in vars(module).values():
        if not isinstance(one, type):
            getattr(one, "cache_clear", bool)()


class Calls(Protocol):
    """Who else listens."""

    unseen: dict[int, set[int]]
    """By the address of its code, each function whose calls are of interest."""

    def enter(self, frame: FrameType) -> Callable[[int], bool] | None:
        """Hears of a call; what hears of the number of each line of it, until it says False, or None."""


def answers(package: str, run: Callable[[], object], calls: Calls | None = None) -> list[str]:
    """A row for each function of a package that answers while something runs. `calls` listens, too: to run it
    once more takes longer."""
    for each in modules(package):
        forget(each)
    root = f"{Path(str(import_module(package).__file__)).parent}/"
    # By address: the hash of a code object is computed from all of it, at each call.
    known = dict[int, set[int] | None]()
    given = dict[str, set[int]]()
    unseen, kept = calls.unseen if calls is not None else {}, list[CodeType]()

    def meet(code: CodeType) -> None:
        path = code.co_filename.removeprefix(root)
        ours = path != code.co_filename and not code.co_name.startswith("<")
        name = f"{path.removesuffix('.py')}.{code.co_qualname}"
        known[id(code)] = given.setdefault(name, set()) if ours else None
        kept.append(code)

    def called(frame: FrameType, event: str, _: object) -> Any:
        code = frame.f_code
        at = id(code)
        if at not in known:
            meet(code)
        if known[at] is None and at not in unseen:
            return None
        heard = calls.enter(frame) if calls is not None and at in unseen else None
        if heard is None and frame.f_trace is None:
            frame.f_trace_lines = False
            return None if known[at] is None else ended
        if heard is None:  # a generator goes on, and what hears of its lines stays
            return None

        def within(frame: FrameType, event: str, answer: Any) -> Any:
            # A line that is only returned from has no event of its own.
            if not heard(frame.f_lineno):
                frame.f_trace_lines = False
            return ended(frame, event, answer) and within

        return within

    def ended(frame: FrameType, event: str, answer: Any) -> Any:
        sums = known[id(frame.f_code)]
        if event == "return" and sums is not None and not isinstance(answer, GeneratorType):
            sums.add(crc32(_text(frame, answer).encode()))
        return ended

    before = sys.gettrace()

    def unheard(function: Callable[..., Any]) -> Callable[..., Any]:
        """Patterns are read and compiled by two of five calls of all."""

        def without(*given: Any) -> Any:
            sys.settrace(before)
            try:
                return function(*given)
            finally:
                sys.settrace(called)

        return without

    with pytest.MonkeyPatch.context() as patch:
        for module, name in (("_compiler", "compile"), ("_parser", "parse")):
            patch.setattr(f"re.{module}.{name}", unheard(getattr(getattr(re, module), name)))
        sys.settrace(called)
        try:
            run()
        finally:
            sys.settrace(before)
    sums = {name: crc32(repr(sorted(each)).encode()) for name, each in given.items() if each}
    return sorted(f"{name} {len(given[name])} {total:08x}" for name, total in sums.items())


def _text(frame: FrameType, answer: Any) -> str:
    """An answer and the plain arguments; of what makes an object that object."""
    if frame.f_code.co_name in ("__init__", "__post_init__"):
        made = frame.f_locals["self"]
        answer = getattr(made, "__dict__", made)
    elif isinstance(answer, re.Match):
        answer = answer.span()
    asked = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    there = frame.f_locals  # which is made anew each time
    values = [one for name in asked if type(one := there.get(name)) in PLAIN]
    return plain(f"{values} {answer!r}")


def plain(answer: object) -> str:
    """Its text, the same in every process: without addresses, and sets in order."""
    text = answer if isinstance(answer, str) else repr(answer)
    text = _ADDRESS.sub("", text) if " at 0x" in text else text
    return _BRACES.sub(_in_order, text) if "{" in text else text


def _in_order(braces: re.Match[str]) -> str:
    """What stands in braces, in an order that is the same in every process."""
    return str(sorted(braces[0][1:-1].split(", ")))


def of_a_text(module: ModuleType) -> Iterator[FunctionType]:
    """The functions of a module that need a `text` and nothing else."""
    for one in vars(module).values():
        function = inspect.unwrap(one) if callable(one) else None
        if not isinstance(function, FunctionType) or function.__module__ != module.__name__:
            continue
        needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        if [(p.name, p.annotation) for p in needed] == [("text", "str")]:
            yield function


def limits(module: ModuleType) -> list[int]:
    """The whole numbers that a module has a name for."""
    named = {v for name, v in vars(module).items() if name.lstrip("_").isupper() and type(v) is int}
    return sorted(each for each in named if SHORTEST <= each <= LONGEST)


def edges(package: str, texts: Iterable[str]) -> None:
    """Ask all functions of a text about these, and about some at every limit of its module, made longer or
    cut to be just below it, at it and just above it."""
    every = [*dict.fromkeys(texts)]
    for module in modules(package)[1:]:
        for function in of_a_text(module):
            for text in (*every, *(cut for limit in limits(module) for cut in sized(every, limit))):
                answer = function(text)
                if isinstance(answer, Iterator):
                    for _ in answer:
                        pass


def sized(texts: list[str], limit: int) -> Iterator[str]:
    """Some of the texts in the lengths around a limit: long ones cut, others with words more in a gap."""
    for text in texts[limit % 9 :: 9]:
        for length in (limit - 1, limit, limit + 1):
            first, gap, rest = text.partition(" ")
            filler = ("plainly so " * LONGEST)[: length - len(text) - 1]
            yield text[:length] if len(text) >= length else f"{first} {filler}{gap}{rest}"
