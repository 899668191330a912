"""Driver names: exact, checked against the memory, never guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.facts import catalog
from gpuwise.model.gpu import GpuSpec

MIB = 2**20


@pytest.mark.parametrize(
    ("device_name", "mebibytes", "gpu_id"),
    [
        ("NVIDIA H200", 143771, "h200-sxm"),
        ("NVIDIA H200 NVL", 143771, "h200-nvl"),
        ("NVIDIA H100 NVL", 95830, "h100-nvl-94gb"),
        ("NVIDIA A100-SXM4-80GB", 81920, "a100-sxm4-80gb"),
        ("NVIDIA RTX 4500 Ada Generation", 23034, "rtx-4500-ada"),  # ECC on
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 16376, "rtx-4090-laptop"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 97887, "rtx-pro-6000-blackwell-ws"),
        ("NVIDIA GeForce RTX 4060 Ti", 16380, "rtx-4060-ti-16gb"),
        ("NVIDIA GeForce RTX 4060 Ti", 8188, "rtx-4060-ti-8gb"),
        ("NVIDIA GeForce RTX 4090", 49140, None),  # a rebuilt card with twice the memory
        ("NVIDIA GeForce RTX 2080 Ti", 22528, None),
        ("NVIDIA GeForce RTX 4090", 24564, "rtx-4090"),
        ("nvidia geforce rtx 4090", 24564, "rtx-4090"),
        ("NVIDIA H100 80GB HBM3", 81559, "h100-sxm5-80gb"),
        ("NVIDIA GeForce RTX 3080", 10240, "rtx-3080-10gb"),
        ("NVIDIA GeForce RTX 3080", 12288, "rtx-3080-12gb"),
        ("NVIDIA B200", 183359, "b200-sxm"),
        ("NVIDIA GH200", 97871, "gh200-96gb"),
        ("AMD Instinct MI250X", 65520, None),  # one of its two dies
    ],
)
def test_name_and_memory_decide(device_name: str, mebibytes: int, gpu_id: str | None) -> None:
    spec = catalog.resolve_device(device_name, mebibytes * MIB)
    assert (spec.id if spec else None) == gpu_id


def test_without_memory_only_unshared_names_resolve() -> None:
    spec = catalog.resolve_device("NVIDIA RTX A5000", None)
    assert spec is catalog.get("rtx-a5000")
    assert catalog.resolve_device("NVIDIA GeForce RTX 4060 Ti", None) is None


@pytest.mark.parametrize(
    "device_name",
    [
        "",
        "RTX A5000",
        "rtx-a5000",
        "4090",
        "NVIDIA RTX A5000 Max-Q",
        "NVIDIA GeForce RTX 4090 Ti",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "NVIDIA H100 80GB HBM4",
        "NVIDIA GeForce RTX 3080",
        "NVIDIA Something New",
    ],
)
def test_anything_but_an_exact_driver_name_is_unknown(device_name: str) -> None:
    assert catalog.resolve_device(device_name, None) is None


@given(
    st.sampled_from([(name, spec) for spec in catalog.all_gpus() for name in spec.device_names]),
    st.floats(0.1, 3),
)
def test_memory_tolerance_is_twelve_percent(pair: tuple[str, GpuSpec], share: float) -> None:
    name, spec = pair
    memory = spec.memory_bytes
    if memory is None:
        assert catalog.resolve_device(name, 80 * 2**30) is not spec
        return
    found = catalog.resolve_device(name, round(memory * share))
    # Several sizes, or two products of one size, share a driver's name.
    sharing = [other for other in catalog.all_gpus() if name in other.device_names]
    if abs(share - 1) < 0.1199 and len(sharing) == 1:
        assert found is spec
    if abs(share - 1) > 0.1201:
        assert found is not spec
