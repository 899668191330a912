"""Every error gpuwise raises on purpose: one tree, each class with its exit code.

    GpuwiseError
    ├── GateFailed     1    a condition the user set was not met (compare --fail-if)
    ├── InputError     2    bad input: unknown name, bad value, unreadable file
    ├── MachineError   3    this machine cannot do it: no GPU, no torch, GPU busy
    ├── RunError       4    the run itself failed: out of memory, killed, diverged
    └── NoDataError    5    nothing is known about what was asked

The message says what failed and why, `hint` the next step in words that hold for Python, a terminal and a
browser alike. `code` and `data` let each of them make more of it: the command line has commands for codes.
Ctrl-C exits with 130, as shells expect.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from importlib import import_module
from typing import Any

INTERRUPTED = 130
# Whether somebody still waits for what is computed in this context: the readers of a page may leave.
WANTED: ContextVar[Callable[[], bool]] = ContextVar("WANTED", default=lambda: True)


class Abandoned(Exception):
    """Nobody waits for the answer any more. Outside of the tree: what handles errors of it lets this pass."""


def check_wanted() -> None:
    """Called between the parts of long work. Raises Abandoned if no client waits for the result."""
    if not WANTED.get()():
        raise Abandoned


class GpuwiseError(Exception):
    """What failed and why; `hint` is the next step, `code` and `data` the same for programs."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None, code: str = "", **data: object) -> None:
        super().__init__(message)
        self.hint = hint
        self.code = code
        self.data = data


def guess(near: Sequence[str]) -> str:
    """The end of a sentence about a name that means nothing; empty where no name is near it."""
    return f"; did you mean {' or '.join(near)}?" if near else ""


def optional(module: str, what: str, extra: str) -> Any:
    """A library that not everybody installs. Raises MachineError, with what needs it, where it is missing."""
    try:
        return import_module(module)
    except ImportError as missing:
        problem = f"{what}, which is not installed"
        raise MachineError(problem, hint=f'pip install "gpuwise[{extra}]"') from missing


def on_first_use(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """`__getattr__` of a package of which a module is loaded when one of its names is first used; `modules`
    has the names of each, `find as find_gpu` of what the package calls otherwise."""
    names = ((module, *name.partition(" as ")) for module, names in modules.items() for name in names)
    homes = {here or there: (module, there) for module, there, _, here in names}

    def load(name: str) -> Any:
        if name not in homes:
            near = [known for known in homes if name in known.split("_")]
            raise AttributeError(f"module {package!r} has no attribute {name!r}{guess(near)}")
        module, there = homes[name]
        found = getattr(import_module(f"{package}.{module}"), there)
        setattr(sys.modules[package], name, found)  # asked once: some are wanted in inner loops
        return found

    return load


class GateFailed(GpuwiseError):
    """A condition that the user set was not met."""

    exit_code = 1


class InputError(GpuwiseError):
    """What the user gave cannot be used."""

    exit_code = 2


class MachineError(GpuwiseError):
    """This machine lacks what is needed."""

    exit_code = 3


class RunError(GpuwiseError):
    """A measurement started and failed."""

    exit_code = 4


class NoDataError(GpuwiseError):
    """Nothing is known about what was asked."""

    exit_code = 5
