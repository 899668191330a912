"""The arithmetic of well-known networks."""

from __future__ import annotations

import pytest

from gpuwise.checks import networks


@pytest.mark.parametrize("name", ["ResNet-50", "resnet50", "RESNET 50"])
def test_spellings(name: str) -> None:
    found = networks.find(name)
    assert found is not None
    assert found.id == "resnet50"


def test_training_costs_three_forward_passes() -> None:
    found = networks.find("resnet50")
    assert found is not None
    assert found.flop("train") == 3 * found.flop("infer")
    assert 7e9 < found.forward_flop < 9e9


def test_unknown_and_unique() -> None:
    assert networks.find("FrobNet") is None
    ids = [network.id for network in networks.all_networks()]
    assert len(ids) == len(set(ids))
