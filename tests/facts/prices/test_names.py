"""Sellers' names: families, folded names and cards that only look alike."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpuwise.errors import InputError
from gpuwise.facts.prices import chip, seller_ids, wanted
from gpuwise.model.gpu import Offer

from ...stopwatch import stopwatch


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("RTX A5000", ("rtx-a5000",)),
        ("A5000 24GB", ("rtx-a5000",)),
        ("A100 80GB", ("a100-pcie-80gb", "a100-sxm4-80gb")),
        ("A100", ("a100-pcie-40gb", "a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb")),
        ("A100-SXM-80GB", ("a100-sxm4-80gb",)),
        ("H100 79.6GB", ("h100-pcie-80gb", "h100-sxm5-80gb")),
        ("H100NVL 94GB", ("h100-nvl-94gb",)),
        ("V100 32GB", ("v100-pcie-32gb", "v100-sxm2-32gb", "v100-sxm3-32gb")),
        ("RTX4090 24GB", ("rtx-4090",)),
        ("A10G", ("a10g",)),  # no A10
        ("RTX4060Ti 8GB", ("rtx-4060-ti-8gb",)),
        ("RTX 3080", ("rtx-3080-10gb", "rtx-3080-12gb")),
        ("RTX6000 24GB", ("quadro-rtx-6000",)),  # of 2018, no RTX 6000 Ada
        ("NVIDIA H200", ("h200-nvl", "h200-sxm")),  # a driver's name says which, a seller's does not
        ("Tesla M4", ("tesla-m4",)),  # no Apple M4
        ("RTXPRO6000 96GB", tuple(f"rtx-pro-6000-blackwell-{part}" for part in ("maxq", "server", "ws"))),
    ],
)
def test_a_seller_s_name_stands_for_every_variant_that_it_leaves_open(
    name: str, ids: tuple[str, ...]
) -> None:
    assert seller_ids(name) == ids


@pytest.mark.parametrize(
    "name",
    [
        "A100X",  # no A100
        "RTX 4090 48GB",  # modified: not the card of the catalog
        "RTX4060Ti 12GB",  # sold with 8 and 16
        "80GB",
        "",
    ],
)
def test_a_card_that_only_looks_alike_is_no_entry(name: str) -> None:
    assert seller_ids(name) == ()


def test_one_gpu_is_only_itself(offer: Callable[..., Offer]) -> None:
    asked = wanted("NVIDIA A10")
    assert asked.gpu_ids == {"a10"}
    assert not asked.matches(offer(gpu="A10X", gpu_ids=()))


def test_a_family_holds_its_variants_and_the_untold_ones(offer: Callable[..., Offer]) -> None:
    asked = wanted("h100")
    assert asked.gpu_ids == {"h100-nvl-94gb", "h100-pcie-80gb", "h100-sxm5-80gb"}
    assert asked.matches(offer(gpu_ids=("h100-pcie-80gb", "h100-sxm5-80gb")))
    assert not asked.matches(offer(gpu_ids=("h200-sxm",)))


def test_a_variant_also_finds_offers_that_may_be_it(offer: Callable[..., Offer]) -> None:
    assert wanted("h100-pcie-80gb").matches(offer(gpu_ids=("h100-pcie-80gb", "h100-sxm5-80gb")))
    assert not wanted("h100-pcie-80gb").matches(offer(gpu_ids=("h100-sxm5-80gb",)))


def test_a_card_beyond_the_catalog_is_found_by_its_seller_s_name(offer: Callable[..., Offer]) -> None:
    known = (offer(gpu="A100X 80GB", gpu_ids=()),)
    assert wanted("a100x", known).matches(known[0])


def test_an_unknown_name_says_what_was_meant() -> None:
    with pytest.raises(InputError, match="did you mean rtx-4090") as caught:
        wanted("rtx 4909")
    assert caught.value.hint is not None
    assert "rtx-4090" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("H100 SXM5 80GB", "h100"),
        ("NVIDIA H100", "h100"),
        ("A10G 24GB", "a10g"),
        ("RTX 6000 Ada", "rtx6000ada"),
    ],
)
def test_a_chip_is_a_name_without_form_and_memory(name: str, word: str) -> None:
    assert chip(name) == word


def test_ten_thousand_names_that_nobody_knows_take_no_time(slowness: float) -> None:
    watch = stopwatch()
    assert not any(seller_ids(f"abcdef {number}") for number in range(10_000))
    # 0.16 s where only names of the same beginning are compared, 2.0 s with all.
    assert watch() < 0.6 * slowness
