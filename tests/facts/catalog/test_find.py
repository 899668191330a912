"""Names that people type: complete ones resolve in any spelling, partial ones never do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.facts.catalog import load

COMPLETE = [(name, spec.id) for spec in catalog.all_gpus() for name in (spec.id, spec.name, *spec.aliases)]


@pytest.mark.parametrize(
    ("name", "gpu_id"),
    [
        ("RTX A5000", "rtx-a5000"),
        ("a5000", "rtx-a5000"),
        ("rtx_a5000", "rtx-a5000"),
        ("NVIDIA RTX A5000", "rtx-a5000"),
        ("4090", "rtx-4090"),
        ("GeForce RTX4090", "rtx-4090"),
        ("4090 laptop", "rtx-4090-laptop"),
        ("4090 mobile", "rtx-4090-laptop"),
        ("RTX 4090 Laptop", "rtx-4090-laptop"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "rtx-4090-laptop"),
        ("NVIDIA H100 PCIe", "h100-pcie-80gb"),
        ("nvidia-h100-pcie", "h100-pcie-80gb"),
        ("NVIDIA H200", "h200-sxm"),
        ("A100 80 GB PCIe", "a100-pcie-80gb"),
        ("a100 sxm 40gib", "a100-sxm4-40gb"),
        ("tesla v100 pcie 16gb", "v100-pcie-16gb"),
        ("AMD Instinct MI100", "mi100"),
        ("6000 ada", "rtx-6000-ada"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),
        ("PCIe A100 80GB", "a100-pcie-80gb"),
        ("A100 (80GB SXM4)", "a100-sxm4-80gb"),
        ("GeForce RTX\u2122 3090 Ti", "rtx-3090-ti"),
        # One product in the world has the name.
        ("t4", "t4"),
        ("l4", "l4"),
        ("l40", "l40"),
        ("l40s", "l40s"),
        ("a10", "a10"),
        ("a6000", "rtx-a6000"),
        ("mi300x", "mi300x"),
        ("b200", "b200-sxm"),
        ("gb200", "gb200"),
        ("v100s", "v100s-pcie-32gb"),
        ("gaudi 3", "gaudi3"),
        ("dgx spark", "gb10"),
        ("4080 super", "rtx-4080-super"),
        ("rtx pro 6000 max-q", "rtx-pro-6000-blackwell-maxq"),
    ],
)
def test_names_resolve(name: str, gpu_id: str) -> None:
    assert catalog.find(name).id == gpu_id


def test_every_driver_name_resolves_or_is_shared() -> None:
    for spec in catalog.all_gpus():
        for name in spec.device_names:
            if name.casefold() not in load.shared_device_names():
                assert catalog.find(name) is spec


@given(pair=st.sampled_from(COMPLETE), data=st.data())
def test_case_spaces_dashes_and_brand_do_not_matter(pair: tuple[str, str], data: st.DataObject) -> None:
    name, gpu_id = pair
    separator = data.draw(st.sampled_from([" ", "-", "_", "  "]))
    brand = data.draw(st.sampled_from(["", "NVIDIA ", "nvidia-", "GeForce ", "Tesla ", "AMD "]))
    change = data.draw(st.sampled_from([str.lower, str.upper, str.title]))
    spelled = brand + change(separator.join(name.replace("-", " ").split()))
    assert catalog.find(f" {spelled} ").id == gpu_id


@pytest.mark.parametrize(
    "name", ["a100", "A100 80GB", "a100 pcie", "h100", "h200", "NVIDIA A100", "v100", "rtx pro 6000", "gh200"]
)
def test_ambiguous_names_list_their_variants(name: str) -> None:
    with pytest.raises(InputError, match="could be any of") as caught:
        catalog.find(name)
    assert caught.value.hint is not None
    shown = catalog.find(caught.value.hint.removeprefix("gpuwise show "))
    assert shown.id in str(caught.value)


def test_all_variants_of_a100_are_listed() -> None:
    with pytest.raises(InputError) as caught:
        catalog.find("a100")
    for gpu_id in ("a100-pcie-40gb", "a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb"):
        assert gpu_id in str(caught.value)


@pytest.mark.parametrize(
    ("name", "gpu_id", "outside"),
    [
        ("3080", "rtx-3080-10gb", "NVIDIA GeForce RTX 3080 12 GB"),
        ("NVIDIA GeForce RTX 3080", "rtx-3080-10gb", "NVIDIA GeForce RTX 3080 12 GB"),
        ("4060 ti", "rtx-4060-ti-16gb", "NVIDIA GeForce RTX 4060 Ti 8 GB"),
        ("NVIDIA GeForce RTX 4060 Ti", "rtx-4060-ti-16gb", "NVIDIA GeForce RTX 4060 Ti 8 GB"),
        ("rtx pro 5000", "rtx-pro-5000-blackwell", "NVIDIA RTX PRO 5000 Blackwell 72 GB"),
        ("rtx 6000", "rtx-6000-ada", "NVIDIA Quadro RTX 6000"),
    ],
)
def test_a_variant_outside_the_catalog_keeps_a_name_open(name: str, gpu_id: str, outside: str) -> None:
    with pytest.raises(InputError, match="could be") as caught:
        catalog.find(name)
    assert gpu_id in str(caught.value)
    assert outside in str(caught.value)
    assert caught.value.hint == f"gpuwise show {gpu_id}"


@pytest.mark.parametrize("name", ["A10G", "MI308X", "mi308x", "H800", "A100X"])
def test_gpus_outside_the_catalog_are_called_so(name: str) -> None:
    with pytest.raises(InputError, match="the catalog does not hold"):
        catalog.find(name)


@pytest.mark.parametrize(
    ("name", "gpu_id"),
    [("rtx a50000", "rtx-a5000"), ("rtx-4909", "rtx-4090"), ("l40d", "l40"), ("gaudy 3", "gaudi3")],
)
def test_near_misses_are_suggested_not_resolved(name: str, gpu_id: str) -> None:
    with pytest.raises(InputError, match=f"did you mean .*{gpu_id}") as caught:
        catalog.find(name)
    assert (caught.value.hint or "").startswith("gpuwise show ")


def test_a_laptop_name_is_never_answered_with_a_desktop_card() -> None:
    for name in ("4090 laptop 24gb", "rtx a5000 laptop", "5090 mobile"):
        with pytest.raises(InputError) as caught:
            catalog.find(name)
        assert (caught.value.hint or "") in ("gpuwise gpus", "gpuwise show rtx-4090-laptop")


@pytest.mark.parametrize("name", ["", "  ", "nvidia", "zzz", "---"])
def test_unknown_names_point_to_the_list(name: str) -> None:
    with pytest.raises(InputError) as caught:
        catalog.find(name)
    assert caught.value.hint == "gpuwise gpus"


@given(st.text(max_size=40))
def test_any_text_gives_a_gpu_or_an_input_error(text: str) -> None:
    try:
        answer: str | None = catalog.find(text).id
    except InputError as error:
        answer = error.hint
    assert answer
