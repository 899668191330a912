"""What was found, and what to time. Identity and words of a question are in test_question."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from gpuwise.model.question import Environment, RunConfig

CONFIG = RunConfig(workload="resnet50", mode="train", precision="bf16")


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        CONFIG.batch = 3  # type: ignore[misc]


FOUND = Environment(device="NVIDIA H200", driver="570.1", torch="2.11.0", ecc=True)


def test_what_differs_is_told_mine_first_in_the_order_of_the_fields() -> None:
    other = replace(FOUND, driver="580.2", torch="2.13.0", device="NVIDIA H100")
    assert FOUND.diff(other) == (
        ("device", "NVIDIA H200", "NVIDIA H100"),
        ("torch", "2.11.0", "2.13.0"),
        ("driver", "570.1", "580.2"),
    )


def test_equal_environments_do_not_differ() -> None:
    assert FOUND.diff(replace(FOUND)) == ()


def test_what_one_side_does_not_know_is_no_difference() -> None:
    other = replace(FOUND, driver=None, cudnn="9.1", ecc=None)
    assert FOUND.diff(other) == other.diff(FOUND) == ()


def test_false_and_zero_are_known() -> None:
    mine = replace(FOUND, other_processes=0)
    assert mine.diff(replace(mine, ecc=False, other_processes=2)) == (
        ("ecc", True, False),
        ("other_processes", 0, 2),
    )


def test_a_variable_set_on_one_side_only_is_a_difference() -> None:
    other = replace(FOUND, variables=(("OMP_NUM_THREADS", "8"),))
    assert FOUND.diff(other) == (("variables", (), (("OMP_NUM_THREADS", "8"),)),)
