"""Where machines meet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.errors import InputError
from gpuwise.measure.request import rendezvous_of
from gpuwise.model.question import RunConfig

CONFIG = RunConfig(workload="resnet50", mode="train", precision="bf16", gpus=16, nodes=2)


def test_each_measurement_has_a_rendezvous_of_its_own() -> None:
    here, there = rendezvous_of(2, "node0:29400", 0), rendezvous_of(2, "node0:29400", 1)
    assert here is not None
    assert there is not None
    mine, other = here.of(CONFIG), there.of(CONFIG)
    assert (mine.endpoint, mine.node, other.node) == ("node0:29400", 0, 1)
    assert mine.id == other.id != here.of(replace(CONFIG, precision="fp16")).id
    assert rendezvous_of(1, None, None) is None


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ((1, "node0:1", None), "several machines"),
        ((2, None, None), "place to meet"),
        ((2, "node0", None), "HOST:PORT"),
        ((2, "node0:99999", None), "HOST:PORT"),
        ((2, "node0:29400", 2), "numbered 0 to 1"),
    ],
)
def test_options_that_disagree(asked: tuple[int, str | None, int | None], why: str) -> None:
    with pytest.raises(InputError, match=why):
        rendezvous_of(*asked)
