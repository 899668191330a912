"""Refuse what cannot be traced, with the operator and the line that called it; never a silent guess."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from gpuwise.errors import InputError

HINT = (
    "measure it instead (gpuwise bench), or give a workload whose step has fixed shapes and torch operators"
)


def refuse(why: str, cause: BaseException | None = None) -> NoReturn:
    """Raise InputError with the operator and the line that called it."""
    raise InputError(f"cannot trace {why}{place()}", hint=HINT) from cause


def place() -> str:
    """` (FILE, line n)`: the innermost line that runs now outside torch and this package."""
    return _place(traceback.extract_stack(sys._getframe(1)))


def _place(frames: traceback.StackSummary) -> str:
    """` (file, line n)`: the innermost line outside torch and this package."""
    own = ("/torch/", "/gpuwise/predict/", "<frozen", "/contextlib.py", "/unittest/")
    for frame in reversed(frames):
        if not any(mark in frame.filename.replace("\\", "/") for mark in own):
            return f" ({frame.filename.replace(chr(92), '/').rsplit('/', 1)[-1]}, line {frame.lineno})"
    return ""


@contextmanager
def refusals() -> Iterator[None]:
    """Turn what a model raises for want of data or a device into an InputError."""
    try:
        yield
    except (RuntimeError, AssertionError, TypeError, ValueError, AttributeError, LookupError) as error:
        place = _place(traceback.extract_tb(error.__traceback__))
        first = (str(error).splitlines() or [""])[0][:200]
        raise InputError(f"cannot trace: {type(error).__name__}: {first}{place}", hint=HINT) from error
