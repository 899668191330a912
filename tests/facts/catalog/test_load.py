"""The loader: order, types, sources, errors and speed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.facts.catalog import load

from ...stopwatch import stopwatch


def test_gpus_are_sorted_by_launch_then_id() -> None:
    keys = [(spec.text("launch") or "9999", spec.id) for spec in catalog.all_gpus()]
    assert keys == sorted(keys)
    assert len(keys) == 71


def test_loading_is_done_once() -> None:
    assert catalog.all_gpus() is catalog.all_gpus()
    assert catalog.sources() is catalog.sources()


def test_get_takes_exact_ids_only() -> None:
    assert catalog.get("rtx-a5000").name == "NVIDIA RTX A5000"
    with pytest.raises(InputError, match="A5000") as caught:
        catalog.get("A5000")
    assert caught.value.hint == "gpuwise gpus"


def test_values_have_the_type_of_their_field() -> None:
    spec = catalog.get("a100-sxm4-80gb")
    assert spec.text("compute_capability") == "8.0"
    assert spec.facts["compute_capability"].value == "8.0"
    assert spec.facts["mig"].value is True
    assert spec.facts["memory_bytes"].value == 80 * 2**30
    assert isinstance(spec.facts["memory_bytes"].value, int)
    assert spec.number("memory_bytes_per_s") == 2039e9
    assert spec.number("boost_hz") == 1410e6
    assert spec.text("launch") == "2020-11-16"


def test_unknown_fields_are_none() -> None:
    assert catalog.get("mi100").text("compute_capability") is None
    assert catalog.get("v100-pcie-16gb").peak("bf16") is None


@pytest.mark.parametrize(
    ("gpu_id", "precision", "flop_per_s"),
    [
        ("rtx-a5000", "bf16", 111.1e12),
        ("rtx-4090", "fp16", 165.2e12),  # with fp32 accumulation, half of the headline
        ("rtx-4090", "tf32", 82.6e12),
        ("a100-pcie-40gb", "fp32", 19.5e12),
        ("h200-sxm", "bf16", 989.5e12),
        ("h200-sxm", "fp8", 1979e12),
        ("mi100", "fp16", 184.6e12),
    ],
)
def test_dense_peaks(gpu_id: str, precision: str, flop_per_s: float) -> None:
    peak = catalog.get(gpu_id).peak(precision)
    assert peak is not None
    assert not peak.sparse
    assert peak.flop_per_s == flop_per_s


def test_a_computed_peak_says_so() -> None:
    peak = catalog.get("rtx-a5000").peak("bf16")
    assert peak is not None
    assert peak.source.kind == "derived"


def test_h200_memory_is_what_its_driver_reports() -> None:
    stated = catalog.get("h200-sxm").memory_bytes
    assert stated == pytest.approx(143771 * 2**20, rel=0.01)


def test_loading_everything_is_fast(slowness: float) -> None:
    times = []
    for _ in range(5):
        took_s = stopwatch()
        # Past the caches, which other tests share.
        load.fields.__wrapped__()
        load.sources.__wrapped__()
        load.all_gpus.__wrapped__()
        load.models.__wrapped__()
        times.append(took_s())
    assert min(times) < 0.05 * slowness


def test_import_loads_nothing_heavy() -> None:
    code = (
        "import sys, gpuwise.facts.catalog as c; c.all_gpus();"
        "print([m for m in ('torch', 'numpy', 'rich', 'msgspec', 'pynvml', 'click') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_list_of_gpus_takes_less_than_250_ms(slowness: float) -> None:
    times = []
    for _ in range(5):
        took_s = stopwatch()
        subprocess.run([sys.executable, "-m", "gpuwise", "gpus"], capture_output=True, check=True)
        times.append(took_s())
    assert min(times) < 0.25 * slowness


def test_memory_sizes_of_variants_outside() -> None:
    assert catalog.sizes_outside("rtx-3080-10gb") == (12,)
    assert catalog.sizes_outside("t4") == ()
