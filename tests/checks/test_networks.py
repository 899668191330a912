"""The arithmetic of well-known networks."""

from __future__ import annotations

import pytest

from gpuwise.checks import find_network, network_in


@pytest.mark.parametrize("name", ["ResNet-50", "resnet50", "RESNET 50"])
def test_spellings(name: str) -> None:
    found = find_network(name)
    assert found is not None
    assert found.id == "resnet50"


def test_training_costs_three_forward_passes() -> None:
    found = find_network("resnet50")
    assert found is not None
    assert found.flop("train") == 3 * found.flop("infer")
    assert 7e9 < found.forward_flop < 9e9


def test_a_name_among_other_words() -> None:
    for text in ("ResNet-50 v1.5, batch 256", "trains resnet50 in fp16", "BERT-Large (seq 384)"):
        found = network_in(text)
        assert found is not None
        assert found.id in ("resnet50", "bert-large")
    assert network_in("Mask R-CNN with ResNet-50") is None
    assert find_network("FrobNet") is network_in("FrobNet 50") is None
