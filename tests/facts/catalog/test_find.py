"""Names that people type: complete ones resolve in any spelling, partial ones never do."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.facts.catalog import load

COMPLETE = [
    (name, spec.id)
    for spec in catalog.all_gpus()
    for name in spec.names
    if name != "M4"  # of Apple and of NVIDIA: without a brand `find` asks which
]


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
                sharing = [other for other in catalog.all_gpus() if name in other.device_names]
                assert len(sharing) > 1 or catalog.find(name) is spec, name


@given(pair=st.sampled_from(COMPLETE), data=st.data())
def test_case_spaces_dashes_and_brand_do_not_matter(pair: tuple[str, str], data: st.DataObject) -> None:
    name, gpu_id = pair
    vendor = catalog.get(gpu_id).vendor
    separator = data.draw(st.sampled_from([" ", "-", "_", "  "]))
    brand = data.draw(
        st.sampled_from(
            ["", *({"NVIDIA": ("NVIDIA ", "nvidia-"), "AMD": ("AMD ", "amd-")}.get(vendor or "", ()))]
        )
    )
    change = data.draw(st.sampled_from([str.lower, str.upper, str.title]))
    spelled = brand + change(separator.join(name.replace("-", " ").split()))
    assert catalog.find(f" {spelled} ").id == gpu_id


@pytest.mark.parametrize(
    "name",
    ["a100", "A100 80GB", "a100 pcie", "h100", "h200", "NVIDIA A100", "v100", "rtx pro 6000", "gh200", "m4"],
)
def test_ambiguous_names_list_their_variants(name: str) -> None:
    with pytest.raises(InputError, match="could be any of") as caught:
        catalog.find(name)
    assert caught.value.hint is not None
    shown = catalog.find(caught.value.hint.split()[-1])
    assert shown.id in str(caught.value)


def test_a_filter_that_one_gpu_meets_is_no_number_of_gpus() -> None:
    for words, hint in (("a", "ask for rtx-3050-a-laptop"), ("laptop", "name one of them")):
        with pytest.raises(InputError) as caught:
            catalog.find(words)
        assert caught.value.hint == hint


def test_no_other_name_is_of_two_makers() -> None:
    # What COMPLETE leaves out, and nothing else.
    for spec in catalog.all_gpus():
        for name in spec.names:
            assert name == "M4" or catalog.find(name) is spec, name


def test_all_variants_of_a100_are_listed() -> None:
    with pytest.raises(InputError) as caught:
        catalog.find("a100")
    for gpu_id in ("a100-pcie-40gb", "a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb"):
        assert gpu_id in str(caught.value)


@pytest.mark.parametrize(
    ("name", "gpu_id", "others"),
    [
        ("h100", "h100-sxm5-80gb", {"h100-pcie-80gb", "h100-nvl-94gb"}),
        ("NVIDIA A100", "a100-sxm4-80gb", {"a100-sxm4-40gb", "a100-pcie-40gb", "a100-pcie-80gb"}),
        ("a100 40gb", "a100-sxm4-40gb", {"a100-pcie-40gb"}),
        ("V100", "v100-sxm2-16gb", {"v100-pcie-32gb"}),
        ("h200", "h200-sxm", {"h200-nvl"}),
        ("gh200", "gh200-96gb", {"gh200-hbm3e"}),
        ("3080", "rtx-3080-10gb", {"rtx-3080-12gb"}),
        ("rtx 3060", "rtx-3060-12gb", {"rtx-3060-8gb"}),
        ("4060 ti", "rtx-4060-ti-8gb", {"rtx-4060-ti-16gb"}),
        ("rtx pro 6000", "rtx-pro-6000-blackwell-ws", {"rtx-pro-6000-blackwell-server"}),
        ("rtx 6000", "rtx-6000-ada", {"quadro-rtx-6000"}),
        ("M4", "apple-m4", {"tesla-m4"}),
        ("7900", "rx-7900-xtx", {"rx-7900-xt"}),
        ("orin nano", "jetson-orin-nano-super", {"jetson-orin-nano-8gb"}),
        # These are the names of one variant, and what people call all of them.
        ("rtx 3050", "rtx-3050", {"rtx-3050-6gb", "rtx-3050-4gb"}),
        ("NVIDIA GeForce RTX 2060", "rtx-2060", {"rtx-2060-12gb"}),
        ("W7800", "radeon-pro-w7800", {"radeon-pro-w7800-48gb"}),
    ],
)
def test_a_generic_name_is_the_usual_variant_with_a_note(name: str, gpu_id: str, others: set[str]) -> None:
    found = catalog.resolve(name)
    assert found.spec.id == gpu_id
    assert others <= set(found.others)
    assert gpu_id not in found.others
    assert gpu_id in found.note
    assert found.others[0] in found.note


@pytest.mark.parametrize(
    ("name", "gpu_id"),
    [
        *(("3090 ti", "rtx-3090-ti"), ("3090ti", "rtx-3090-ti"), ("a6000 ada", "rtx-6000-ada")),
        *(("m3 max", "apple-m3-max"), ("7900xtx", "rx-7900-xtx"), ("RTX 4080 super", "rtx-4080-super")),
        *(("tesla m4", "tesla-m4"), ("strix halo", "radeon-8060s"), ("w7900", "radeon-pro-w7900")),
        *(("arc b580", "arc-b580"), ("1080 ti", "gtx-1080-ti"), ("p40", "p40"), ("rx 9070 xt", "rx-9070-xt")),
    ],
)
def test_what_people_type(name: str, gpu_id: str) -> None:
    assert catalog.resolve(name).spec.id == gpu_id


@pytest.mark.parametrize(
    ("name", "gpu_id"),
    [
        *(("4070tis", "rtx-4070-ti-super"), ("2070s", "rtx-2070-super"), ("7600s", "rx-7600s")),
        *(("980ti", "gtx-980-ti"), ("rx9070xt", "rx-9070-xt"), ("9060xt 8g", "rx-9060-xt-8gb")),
        *(("5080m", "rtx-5080-laptop"), ("4070 notebook", "rtx-4070-laptop"), ("a4000 ada", "rtx-4000-ada")),
        *(
            ("mi308", "mi308x"),
            ("jetson orin", "jetson-agx-orin-64gb"),
            ("a100 pcie 40", "a100-pcie-40gb"),
            ("AGX Orin 64", "jetson-agx-orin-64gb"),
        ),
        *(("8xH100 SXM5", "h100-sxm5-80gb"), ("H100 x8", "h100-sxm5-80gb"), ("DGX A100", "a100-sxm4-80gb")),
        *(("8xT4", "t4"), ("gpu_1x_a10", "a10"), ("nvidia-h100-mega-80gb", "h100-sxm5-80gb")),
        *(("rtx6000pro", "rtx-pro-6000-blackwell-ws"), ("pro 6000 bw", "rtx-pro-6000-blackwell-ws")),
        *(("MSI RTX 3080 Ti Gaming X Trio", "rtx-3080-ti"), ("ASUS ROG Strix RTX 4090", "rtx-4090")),
        *(("m4 pro 20 core", "apple-m4-pro"), ("macbook pro m4 max", "apple-m4-max")),
        *(("g5.xlarge", "a10g"), ("p4d.24xlarge", "a100-sxm4-40gb"), ("a3-highgpu-8g", "h100-sxm5-80gb")),
        *(("Standard_NC24ads_A100_v4", "a100-pcie-80gb"), ("v100 nvlink 32gb", "v100-sxm2-32gb")),
        ("gtx 2080", "rtx-2080"),
    ],
)
def test_looser_spellings_are_taken_with_a_note(name: str, gpu_id: str) -> None:
    found = catalog.resolve(name)
    assert found.spec.id == gpu_id
    assert gpu_id in found.note or catalog.exact(name) is found.spec


@pytest.mark.parametrize(
    "name",
    [
        "rtx 5090 ti",
        "4090 super",
        "rtx 4070 ti super laptop",
        "a100 24gb",
        "rtx 4090 48gb",
        "mi50 64gb",
        "128",
        "4x",
    ],
)
def test_what_is_not_sold_is_not_the_nearest_card(name: str) -> None:
    with pytest.raises(InputError):
        catalog.resolve(name)


def test_the_name_of_one_gpu_needs_no_note() -> None:
    found = catalog.resolve("NVIDIA H100 PCIe")
    assert (found.spec.id, found.others, found.note) == ("h100-pcie-80gb", (), "")


@pytest.mark.parametrize(
    "name", ["rtx", "geforce", "radeon pro", "laptop", "titan", "64gb", "nvidia 48 GB", "zzz", ""]
)
def test_a_product_line_has_no_usual_variant(name: str) -> None:
    with pytest.raises(InputError):
        catalog.resolve(name)


@pytest.mark.parametrize("name", ["intel rtx 4090", "amd h100", "nvidia mi300x"])
def test_a_wrong_brand_is_not_ignored(name: str) -> None:
    with pytest.raises(InputError):
        catalog.resolve(name)


def test_an_id_is_of_one_variant() -> None:
    assert catalog.resolve("rtx-2060").others == ()
    assert catalog.resolve("rtx 2060 6gb").note == ""


def test_every_usual_name_resolves_to_its_gpu() -> None:
    names = [(name, gpu_id) for gpu_id, names in load.usual().items() for name in names]
    assert len(names) > 50
    for name, gpu_id in names:
        assert catalog.resolve(name).spec.id == gpu_id, name


@pytest.mark.parametrize("name", ["A100X", "MI430X", "RX 480 4GB", "arc a770 8gb"])
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
    assert gpu_id in (caught.value.hint or "") or caught.value.hint


def test_a_laptop_name_is_never_answered_with_a_desktop_card() -> None:
    for name in ("4090 laptop 24gb", "rtx a6000 laptop", "5099 mobile"):
        with pytest.raises(InputError) as caught:
            catalog.find(name)
        hint = caught.value.hint or ""
        assert hint == "see the list of GPUs" or catalog.get(hint.split()[-1]).text("form") == "laptop"


@pytest.mark.parametrize("name", ["", "  ", "zzz", "---"])
def test_unknown_names_point_to_the_list(name: str) -> None:
    with pytest.raises(InputError) as caught:
        catalog.find(name)
    assert caught.value.hint == "see the list of GPUs"


@given(st.text(max_size=40))
def test_any_text_gives_a_gpu_or_an_input_error(text: str) -> None:
    try:
        answer: str | None = catalog.find(text).id
    except InputError as error:
        answer = error.hint
    assert answer


@pytest.mark.parametrize(
    ("name", "gpu_id"),
    [
        ("RTX 6000 (Turing)", "quadro-rtx-6000"),
        ("rtx 6000 ada", "rtx-6000-ada"),
        ("GB200 (Grace-Blackwell)", "gb200"),
        ("H100 PCIe (with a bridge)", "h100-pcie-80gb"),
    ],
)
def test_an_architecture_tells_apart_and_a_remark_does_not(name: str, gpu_id: str) -> None:
    assert catalog.resolve(name).spec.id == gpu_id


@pytest.mark.parametrize(
    "written", ["{n}x{name}", "{n} x {name}", "{name}x{n}", "{name} (x{n})", "{name}:{n}"]
)
@pytest.mark.parametrize("number", [1, 8, 63])  # "rx vega:64" is a whole name
def test_a_number_of_gpus_stands_before_or_behind_every_name(written: str, number: int) -> None:
    for spec in catalog.all_gpus():
        for name in (spec.id, *spec.names):
            assert catalog.counted(name) == (name, 0)
            bare, count = catalog.counted(written.format(n=number, name=name))
            assert (count, catalog.exact(bare)) == (number, catalog.exact(name)), name


def test_a_whole_word_is_a_name_before_it_is_a_number() -> None:
    for name in ("7900xtx", "6800xt", "6700xt", "9060 xt", "2080ti", "rtx", "8x8"):
        assert catalog.counted(name) == (name, 0)
    assert catalog.counted("4090x2") == ("4090", 2)
    assert catalog.counted("h100:1024") == ("h100", 1024)
    assert catalog.resolve("3080x2").spec.id == "rtx-3080-10gb"
    for name in ("0x4090", "h100:1025"):
        with pytest.raises(InputError, match="GPUs"):
            catalog.counted(name)


def test_a_long_list_of_unknown_names_is_read_in_time(slowness: float) -> None:
    """Each part is looked for in every loose way, and lists repeat their parts."""
    began = time.process_time()
    assert not any(map(catalog.is_name, ("100s. 8 " * 250).split()))
    assert not catalog.is_name("9" * 2000)
    assert time.process_time() - began < 1.0 * slowness
