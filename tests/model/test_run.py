"""What was asked and what was found. The strings of `cell` and `key` are stored and compared."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from gpuwise.model.run import Environment, RunConfig

CONFIG = RunConfig(workload="resnet50", mode="train", precision="bf16")


def test_cell_and_key_are_these_strings() -> None:
    assert CONFIG.cell == "resnet50:train:bf16:eager:tuned"
    assert CONFIG.key == "resnet50:train:bf16:eager:tuned:auto:adaptive:cuda"


def test_everything_that_makes_another_question_is_in_the_cell() -> None:
    other = RunConfig(
        workload="bert-large", mode="infer", precision="fp32", compile=True, recipe="parity", size="toy"
    )
    assert other.cell == "bert-large:infer:fp32:compiled:parity:toy"
    assert other.key == "bert-large:infer:fp32:compiled:parity:toy:auto:adaptive:cuda"


def test_batch_protocol_and_device_are_in_the_key_only() -> None:
    other = replace(CONFIG, batch=128, protocol="aime", device="cpu")
    assert other.cell == CONFIG.cell
    assert other.key == "resnet50:train:bf16:eager:tuned:b128:aime:cpu"


def test_how_long_to_measure_is_in_neither() -> None:
    other = replace(CONFIG, time_s=5.0, target_ci=0.05, quick=True)
    assert other.key == CONFIG.key


def test_a_toy_is_another_question_than_the_full_size() -> None:
    assert replace(CONFIG, size="toy").cell == "resnet50:train:bf16:eager:tuned:toy"


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
