"""The error tree: exit codes are an interface."""

from __future__ import annotations

import pytest

from gpuwise import errors
from gpuwise.errors import GateFailed, GpuwiseError, InputError, MachineError, NoDataError, RunError

TREE = [
    (GpuwiseError, 1),
    (GateFailed, 1),
    (InputError, 2),
    (MachineError, 3),
    (RunError, 4),
    (NoDataError, 5),
]


@pytest.mark.parametrize(("kind", "code"), TREE)
def test_each_error_has_its_exit_code(kind: type[GpuwiseError], code: int) -> None:
    assert kind.exit_code == code
    assert issubclass(kind, GpuwiseError)


def test_the_tree_is_complete() -> None:
    defined = {x for x in vars(errors).values() if isinstance(x, type) and issubclass(x, Exception)}
    # What handles errors lets the end of work that nobody waits for pass.
    assert defined == {kind for kind, _ in TREE} | {errors.Abandoned}
    assert not issubclass(errors.Abandoned, GpuwiseError)


@pytest.mark.parametrize(("kind", "_code"), TREE)
def test_message_and_hint_are_kept(kind: type[GpuwiseError], _code: int) -> None:
    error = kind("no GPU", hint="gpuwise doctor")
    assert str(error) == "no GPU"
    assert error.hint == "gpuwise doctor"
    assert kind("no GPU").hint is None


def test_the_kinds_are_not_mixed_up() -> None:
    assert not issubclass(InputError, MachineError | RunError | NoDataError | GateFailed)
    assert not issubclass(GpuwiseError, ValueError)


def test_an_interrupt_exits_as_shells_expect() -> None:
    assert errors.INTERRUPTED == 128 + 2
