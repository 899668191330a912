"""The loader: order, types, sources, errors and speed."""

from __future__ import annotations

import ast
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import gpuwise
from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.facts.catalog import load

from ...stopwatch import stopwatch


def test_gpus_are_sorted_by_launch_then_id() -> None:
    keys = [(spec.text("launch") or "9999", spec.id) for spec in catalog.all_gpus()]
    assert keys == sorted(keys)


def test_loading_is_done_once() -> None:
    assert catalog.all_gpus() is catalog.all_gpus()
    assert catalog.sources() is catalog.sources()


def test_get_takes_exact_ids_only() -> None:
    assert catalog.get("rtx-a5000").name == "NVIDIA RTX A5000"
    with pytest.raises(InputError, match="A5000") as caught:
        catalog.get("A5000")
    assert caught.value.hint == "see the list of GPUs"


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


@pytest.mark.parametrize(
    "row",
    [("multiprocessors", "4", "techpowerup"), ("sm_count", "4 * 2", "techpowerup"), ("sm_count", "4", "me")],
)
def test_a_line_that_nobody_can_read_is_named(row: tuple[str, str, str]) -> None:
    spec = load._spec(
        dict.fromkeys(load._names()[0], "") | {"gpu_id": "own"}, {row[0]: [["own", *row, "", ""]]}, {}
    )
    with pytest.raises(InputError, match=row[0]):
        spec.number(row[0])


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
    assert min(times) < 0.1 * slowness


def test_import_loads_nothing_heavy() -> None:
    code = (
        "import sys, gpuwise.facts.catalog as c; c.all_gpus();"
        "print([m for m in ('torch', 'numpy', 'msgspec', 'pynvml', 'click') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_list_of_gpus_takes_less_than_250_ms(slowness: float) -> None:
    """Seconds of the processor, 0.15 on a quiet machine: what else runs adds little to them."""

    def computed_s() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    times = []
    for _ in range(5):
        before = computed_s()
        subprocess.run([sys.executable, "-m", "gpuwise", "gpus"], capture_output=True, check=True)
        times.append(computed_s() - before)
    assert min(times) < 0.25 * slowness


def test_memory_sizes_of_variants_outside() -> None:
    assert catalog.sizes_outside("rtx-4080") == (12,)
    assert catalog.sizes_outside("t4") == ()


def test_every_source_of_a_value_is_kept_and_the_first_stands() -> None:
    spec = catalog.get("rx-7900-xt")
    values = spec.values("power_w")
    assert spec.power_w == values[0].value == 315
    assert {(fact.value, fact.source.id) for fact in values} >= {(315, "wikipedia"), (300, "techpowerup")}
    assert "techpowerup" not in {source.id for source in spec.sources("power_w")}
    assert "power_w" in catalog.confirmed(spec)


def test_a_value_of_one_third_party_is_not_confirmed() -> None:
    spec = catalog.get("arc-b570")
    assert [source.id for source in spec.sources("peak:fp32:fp32:vector")] == ["techpowerup"]
    assert "peak:fp32:fp32:vector" not in catalog.confirmed(spec)
    assert "memory_bytes" in catalog.confirmed(spec)


def test_an_equation_confirms_the_last_of_its_figures() -> None:
    """Two sources give the cores of the A5000, one its SMs; of the CMP 90HX one gives both."""
    for gpu_id, sure in (("rtx-a5000", True), ("cmp-90hx", False)):
        spec = catalog.get(gpu_id)
        assert [source.id for source in spec.sources("sm_count")] == ["techpowerup"]
        assert ("sm_count" in catalog.confirmed(catalog.get(gpu_id))) is sure


def test_a_vendor_needs_no_second_source() -> None:
    spec = catalog.get("h200-nvl")
    assert {source.kind for source in spec.sources("peak:tf32:fp32:matrix:sparse")} == {"vendor"}
    assert "peak:tf32:fp32:matrix:sparse" in catalog.confirmed(spec)


def test_the_values_of_a_peak_begin_with_the_peak() -> None:
    spec = catalog.get("h200-nvl")
    (first, *others) = spec.values("peak:bf16:fp32:matrix")
    peak = spec.peak("bf16")
    assert peak is not None
    assert first.value == peak.flop_per_s == 835.5e12
    assert 840e12 in {fact.value for fact in others}


@pytest.mark.parametrize(
    ("gpu_id", "yes", "no", "unknown"),
    [
        ("t4", "fp16 int8 ecc", "bf16 tf32 fp8 fp4 mig nvlink", ""),
        ("rtx-4090", "fp8 bf16 tf32 int8 ecc", "fp4 nvlink mig", ""),
        ("rtx-5090", "fp4 fp8", "nvlink mig ecc", ""),
        ("a100-pcie-40gb", "mig ecc bf16 tf32 nvlink", "fp8 fp4", ""),
        ("rtx-3090", "nvlink bf16", "fp8 mig", ""),
        ("rtx-3070", "bf16", "nvlink fp8 ecc", ""),
        ("h100-sxm5-80gb", "fp8 nvlink mig ecc", "fp4", ""),
        ("v100-pcie-16gb", "fp16 ecc", "bf16 int8 tf32 mig nvlink", ""),
        ("gtx-1080-ti", "", "fp16 bf16 int8 nvlink ecc", ""),
        ("gtx-1660-super", "", "fp16 int8 nvlink", ""),  # a Turing without tensor cores
        ("mi300x", "fp8 tf32 bf16 ecc", "fp4 nvlink mig", ""),
        ("mi355x", "fp4 fp8", "tf32", ""),
        ("rx-7900-xtx", "bf16 fp16 int8", "fp8 fp4 nvlink", ""),
        ("rx-9070-xt", "fp8", "fp4", ""),
        ("rx-6800-xt", "", "fp16 bf16", ""),
        ("arc-b580", "tf32 bf16 int8", "fp8 mig", "ecc"),
        ("apple-m3-max", "", "fp8 tf32 bf16 ecc", ""),
        ("apple-m5", "", "fp8 mig", "bf16"),
        ("v100-sxm3-32gb", "nvlink", "mig", ""),
    ],
)
def test_capabilities(gpu_id: str, yes: str, no: str, unknown: str) -> None:
    spec = catalog.get(gpu_id)
    for names, expected in ((yes, True), (no, False), (unknown, None)):
        for name in names.split():
            assert spec.supports(name) is expected, name


def test_a_rule_says_that_it_is_one() -> None:
    fact = catalog.get("rtx-4070").facts["matrix_fp8"]
    assert fact.source.id == "architecture-rule"
    assert fact.note == "rule of Ada Lovelace"


def test_mended_faults_of_databases() -> None:
    """Each was wrong in a source, and once here."""
    assert catalog.get("a30").text("memory_type") == "HBM2"
    peaks = {peak.field: peak.flop_per_s for peak in catalog.get("h200-nvl").peaks}
    assert peaks["peak:fp16:fp32:matrix"] == 835.5e12
    assert peaks["peak:fp8:fp32:matrix"] == 1670.5e12
    mi355x = catalog.get("mi355x").values("peak:fp8:fp32:matrix")
    assert mi355x[0].value == 5000e12
    assert 5033.2e12 in [fact.value for fact in mi355x]
    gb10 = {peak.field: peak.flop_per_s for peak in catalog.get("gb10").peaks}
    assert gb10["peak:fp4:fp32:matrix"] == 500e12
    assert gb10["peak:fp4:fp32:matrix:sparse"] == 1000e12
    mi100 = {peak.field: peak.flop_per_s for peak in catalog.get("mi100").peaks}
    assert mi100["peak:fp32:fp32:vector"] == 23.1e12
    assert mi100["peak:fp32:fp32:matrix"] == 46.1e12
    b300 = {peak.field: peak.flop_per_s for peak in catalog.get("b300-sxm").peaks}
    assert b300["peak:int8:int32:matrix"] == 153.5e12


def test_vector_fp16_is_a_peak_of_its_own() -> None:
    """Pascal's GeForce runs fp16 at 1/64 of fp32, Volta and RDNA 2 at twice, Ampere's GeForce at once."""
    ratio = {}
    for gpu_id in ("gtx-1080-ti", "rx-6800-xt", "rtx-3070", "v100-pcie-16gb"):
        peaks = {peak.field: peak.flop_per_s for peak in catalog.get(gpu_id).peaks}
        ratio[gpu_id] = peaks["peak:fp16:fp16:vector"] / peaks["peak:fp32:fp32:vector"]
    assert ratio["gtx-1080-ti"] == pytest.approx(1 / 64, rel=0.01)
    assert ratio["rx-6800-xt"] == pytest.approx(2, rel=0.01)
    assert ratio["rtx-3070"] == pytest.approx(1, rel=0.01)
    assert ratio["v100-pcie-16gb"] == pytest.approx(2, rel=0.02)


def test_each_name_of_the_catalog_that_is_used_has_its_module() -> None:
    """The modules are loaded at a name's first use, so that nothing else says that a name is missing."""
    used = set[str]()
    texts = (file.read_text(encoding="utf-8") for file in Path(gpuwise.__file__).parent.rglob("*.py"))
    for text in (text for text in texts if "catalog" in text):
        nodes = list(ast.walk(ast.parse(text)))
        imports = [n for n in nodes if isinstance(n, ast.ImportFrom)]
        used |= {a.name for n in imports if n.module == catalog.__name__ for a in n.names}
        if any(n.module == "gpuwise.facts" and "catalog" in {a.name for a in n.names} for n in imports):
            found = [n for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)]
            used |= {n.attr for n in found if n.value.id == "catalog"}
    assert len(used) > 15
    assert [name for name in used if not hasattr(catalog, name)] == []
