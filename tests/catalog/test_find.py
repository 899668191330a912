"""Names that people type: complete ones resolve in any spelling, partial ones never do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise import catalog
from gpuwise.errors import InputError

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
    ],
)
def test_names_resolve(name: str, gpu_id: str) -> None:
    assert catalog.find(name).id == gpu_id


def test_every_driver_name_resolves_or_is_shared() -> None:
    for spec in catalog.all_gpus():
        for name in spec.device_names:
            if name != "NVIDIA GeForce RTX 4060 Ti":
                assert catalog.find(name) is spec


@given(pair=st.sampled_from(COMPLETE), data=st.data())
def test_case_spaces_dashes_and_brand_do_not_matter(pair: tuple[str, str], data: st.DataObject) -> None:
    name, gpu_id = pair
    separator = data.draw(st.sampled_from([" ", "-", "_", "  "]))
    brand = data.draw(st.sampled_from(["", "NVIDIA ", "nvidia-", "GeForce ", "Tesla ", "AMD "]))
    change = data.draw(st.sampled_from([str.lower, str.upper, str.title]))
    spelled = brand + change(separator.join(name.replace("-", " ").split()))
    assert catalog.find(f" {spelled} ").id == gpu_id


@pytest.mark.parametrize("name", ["a100", "A100 80GB", "a100 pcie", "h100", "h200", "NVIDIA A100"])
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
    ("name", "gpu_id"),
    [
        ("rtx a50000", "rtx-a5000"),
        ("rtx-4909", "rtx-4090"),
        ("l40", "l40s"),
        # One entry matches, but cards outside the catalog share these names.
        ("v100", "v100-pcie-16gb"),
        ("4060 ti", "rtx-4060-ti-16gb"),
        ("NVIDIA GeForce RTX 4060 Ti", "rtx-4060-ti-16gb"),
        ("rtx pro 6000", "rtx-pro-6000-blackwell-ws"),
    ],
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


def test_select_filters_by_any_part() -> None:
    assert catalog.select(None) == catalog.all_gpus()
    assert catalog.select("") == catalog.all_gpus()
    assert {spec.id for spec in catalog.select("a100")} == {
        "a100-pcie-40gb",
        "a100-pcie-80gb",
        "a100-sxm4-40gb",
        "a100-sxm4-80gb",
    }
    assert [spec.id for spec in catalog.select("AMD")] == ["mi100"]
    assert [spec.id for spec in catalog.select("nvidia rtx a5000")] == ["rtx-a5000"]
    assert {spec.id for spec in catalog.select("hopper")} >= {"h100-pcie-80gb", "h200-sxm"}
    assert {spec.id for spec in catalog.select("4090")} == {"rtx-4090", "rtx-4090-laptop"}
    assert catalog.select("no such gpu") == ()
