"""Cards of the time model: names of public data, and no guess."""

from __future__ import annotations

import pytest

from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.predictor.card import card

NAMES = {
    "NVIDIA_A100-PCIE-40GB": "a100-pcie-40gb",
    "Tesla_V100-PCIE-32GB": "v100-pcie-32gb",
    "AMD_Instinct_MI250": "mi250-die",
    "h100_sxm": "h100-sxm5-80gb",
    "a100_sxm": "a100-sxm4-80gb",
    "H100": "h100-sxm5-80gb",
    "LambdaCloud V100 16GB": "v100-sxm2-16gb",
    "4x H100 80GB PCIe Gen5": "h100-pcie-80gb",
    "2x RTX A6000": "rtx-a6000",
}


@pytest.mark.parametrize(("name", "card_id"), NAMES.items())
def test_names(name: str, card_id: str) -> None:
    assert card(name).id == card_id


@pytest.mark.parametrize("name", ["RTX 9999", "A100 or so", ""])
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(InputError):
        card(name)


def test_a_precision_that_a_card_lacks_is_refused() -> None:
    with pytest.raises(NoDataError, match="fp8"):
        card("a100-pcie-40gb").peak("fp8")


@pytest.mark.parametrize(
    "name", ["rx-7900-xtx", "arc-b580", "apple-m3-max", "cmp-90hx", "jetson-agx-orin-64gb"]
)
def test_an_architecture_that_nobody_measured_is_refused(name: str) -> None:
    with pytest.raises(NoDataError, match="fitted to no GPU of its kind"):
        card(name)


def test_export_variants_share_the_family_of_their_chip() -> None:
    assert card("a800-sxm4-80gb").family == card("a100-sxm4-80gb").family == "Ampere GA100"


def test_most_nvidia_and_instinct_gpus_can_be_predicted() -> None:
    usable = 0
    for spec in catalog.all_gpus():
        try:
            found = card(spec.id)
        except NoDataError:
            continue
        assert found.units > 0
        assert found.bytes_per_s > 1.6e10  # The GT 1030 of DDR4
        usable += 1
    assert usable >= 180


def test_error_correction_takes_a_part_of_gddr_s_bandwidth_in_servers_alone() -> None:
    def share(gpu: str) -> float:
        stated = catalog.get(gpu).number("memory_bytes_per_s")
        assert stated is not None
        return card(gpu).bytes_per_s / stated

    assert share("l40s") == share("a10") == pytest.approx(0.9)
    assert share("rtx-4090") == share("rtx-a6000") == share("a100-sxm4-80gb") == 1.0
