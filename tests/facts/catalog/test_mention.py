"""Which GPUs a text names: the spellings of real articles, variants, other products, boundaries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.facts import catalog
from gpuwise.facts.catalog import Mention, mentions

from ...stopwatch import stopwatch

A100 = ("a100-sxm4-40gb", "a100-pcie-40gb", "a100-sxm4-80gb", "a100-pcie-80gb")
V100 = ("v100-sxm2-16gb", "v100-pcie-16gb", "v100-pcie-32gb", "v100-sxm2-32gb", "v100-sxm3-32gb")


def spelled(text: str, *, unknown: bool = False) -> list[tuple[str, tuple[str, ...]]]:
    return [(m.text, m.gpu_ids) for m in mentions(text, unknown=unknown)]


@pytest.mark.parametrize(
    ("name", "gpu_ids"),
    [
        # As five published articles write them.
        ("NVIDIA RTX A5000", ("rtx-a5000",)),
        ("NVIDIA A5000", ("rtx-a5000",)),
        ("nvidia-rtx-a5000", ("rtx-a5000",)),
        ("A4000", ("rtx-a4000",)),
        ("NVIDIA A6000", ("rtx-a6000",)),
        ("A6000s", ("rtx-a6000",)),
        ("NVIDIA A100 (80GB SXM4)", ("a100-sxm4-80gb",)),
        ("NVIDIA A100 40GB", ("a100-sxm4-40gb", "a100-pcie-40gb")),
        ("Nvidia A100", A100),
        ("Tesla V100", V100),
        ("Geforce RTX 2080 TI", ("rtx-2080-ti",)),
        ("Geforce RTX 3090", ("rtx-3090",)),
        ("AMD Instinct MI100", ("mi100",)),
        ("Geforce RTX 4060 TI", ("rtx-4060-ti-8gb", "rtx-4060-ti-16gb")),
        ("RTX 4090s", ("rtx-4090",)),
        ("RTX 4090 Laptop GPU", ("rtx-4090-laptop",)),
        ("RTX 4500 Ada", ("rtx-4500-ada",)),
        ("L4 (Ada)", ("l4",)),
        ("RTX 4090 Ada", ("rtx-4090",)),
        ("A6000 Ada", ("rtx-6000-ada",)),
        ("RTX 5000 Ada", ("rtx-5000-ada",)),
        ("NVIDIA L40S", ("l40s",)),
        ("RTX PRO 6000 Blackwell Workstation Edition", ("rtx-pro-6000-blackwell-ws",)),
        ("H100 80GB", ("h100-pcie-80gb", "h100-sxm5-80gb")),
        ("NVIDIA H100 NVL", ("h100-nvl-94gb",)),
        ("NVIDIA H200 NVL / SXM", ("h200-sxm", "h200-nvl")),
        ("H200 SXM", ("h200-sxm",)),
        # Variants told apart by what stands behind the model.
        ("A100-SXM4-80GB", ("a100-sxm4-80gb",)),
        ("A100 40GB/80GB", A100),
        ("H100 80GB HBM3", ("h100-sxm5-80gb",)),
        ("H100 PCIe", ("h100-pcie-80gb",)),
        ("RTX PRO 6000 Max-Q", ("rtx-pro-6000-blackwell-maxq",)),
        ("rtx-pro-6000-blackwell-server", ("rtx-pro-6000-blackwell-server",)),
        ("V100S", ("v100s-pcie-32gb",)),
        ("V100s", (*V100, "v100s-pcie-32gb")),
        ("GB200 NVL72", ("gb200",)),
        ("Intel Gaudi 2", ("gaudi2",)),
        ("GeForce RTX\u2122 4090", ("rtx-4090",)),
        ("nvidia t4", ("t4",)),
    ],
)
def test_spellings(name: str, gpu_ids: tuple[str, ...]) -> None:
    assert spelled(f"Two {name}, tested.") == [(name, gpu_ids)]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("2x RTX 6000 Ada", ["RTX 6000 Ada"]),
        ("RTX 5000 Ada or RTX A5000", ["RTX 5000 Ada", "RTX A5000"]),
        ("RTX 4090 / 5090", ["RTX 4090", "5090"]),
        ("RTX 3090, 4090 and 5090", ["RTX 3090", "4090", "5090"]),
        ("A100/H100", ["A100", "H100"]),
        # A memory size that no variant has, and what a possessive has, are claims about the GPU.
        ("RTX 4500 Ada 23 GB", ["RTX 4500 Ada"]),
        ("the A4000's 16 GB", ["A4000's"]),
        ("A100 40/80GB", ["A100"]),
        ("H100 PCIe 5.0 x16", ["H100"]),
        ("A100 80 GB/s", ["A100"]),
        ("H100 80GB PCIe Gen5", ["H100 80GB PCIe Gen5"]),
        ("H100 PCIe Gen5 x16", ["H100"]),
        ("8xV100 16GB", ["V100 16GB"]),
        ("10xA100, x_1xH100_80GB_SXM5_v2", ["A100", "H100_80GB_SXM5"]),
        ("RTX 4090 48GB", ["RTX 4090"]),
        ("| A6000 |\n80GB |", ["A6000"]),
    ],
)
def test_where_a_mention_begins_and_ends(text: str, named: list[str]) -> None:
    assert [name for name, _ in spelled(text)] == named


@pytest.mark.parametrize(
    "text",
    [
        "A50001",
        "XA5000",
        "A4004",
        "4090 images/s",
        "A100.5",
        "a10 of them",
        "MI1000",
        "H1000",
        "RTX 60000 Ada",
    ],
)
def test_numbers_and_longer_words_are_no_gpu(text: str) -> None:
    assert mentions(text) == ()


@pytest.mark.parametrize(
    "name",
    [
        *(
            "RTX 3080 Ti SUPER",
            "RTX 4080 12GB",
            "RTX 4090 48GB",
            "RTX 9090",
            "GTX 1090 Ti",
            "MI999X",
            "A100X",
        ),
        *("Radeon RX 7950", "Quadro K5000M", "Tesla C1060", "MI430X", "Arc A780", "H20 141GB"),
    ],
)
def test_gpus_outside_the_catalog_are_never_taken_for_one_of_it(name: str) -> None:
    assert all(found.text != name for found in mentions(f"the {name}, new"))
    outside = [text for text, gpu_ids in spelled(f"the {name}, new", unknown=True) if not gpu_ids]
    assert not outside or name.startswith(outside[0])


@pytest.mark.parametrize(
    ("name", "gpu_id"),
    [
        *(("RTX 5090 Laptop", "rtx-5090-laptop"), ("RTX 3080 12GB", "rtx-3080-12gb"), ("A10G", "a10g")),
        *(("RTX 4090 D", "rtx-4090-d"), ("RTX 4090D", "rtx-4090-d"), ("GTX 1080 Ti", "gtx-1080-ti")),
        *(("MI308X", "mi308x"), ("TITAN RTX", "titan-rtx"), ("RX 7900 XTX", "rx-7900-xtx"), ("P40", "p40")),
        *(("7900xtx", "rx-7900-xtx"), ("RTX 3060Ti", "rtx-3060-ti"), ("Apple M3 Max", "apple-m3-max")),
        *(("RTX 4060 Ti 8GB", "rtx-4060-ti-8gb"), ("Radeon PRO W7900", "radeon-pro-w7900")),
        *(("GTX 680", "gtx-680"), ("Tesla K20", "k20"), ("Tesla M60", "m60"), ("GRID K520", "grid-k520")),
        *(("R9 Fury X", "r9-fury-x"), ("WX 7100", "radeon-pro-wx-7100"), ("MI8", "mi8")),
        *(("GTX Titan Xp", "titan-xp"), ("GTX Titan RTX", "titan-rtx"), ("Jetson TX2", "jetson-tx2")),
        *(("GTX Titan", "gtx-titan"), ("GTX Titan", "titan-x-maxwell"), ("GTX Titan", "titan-rtx")),
        *(
            ("Arc B580", "arc-b580"),
            ("Jetson AGX Orin 64GB", "jetson-agx-orin-64gb"),
            ("M2 Ultra", "apple-m2-ultra"),
        ),
    ],
)
def test_the_wide_catalog(name: str, gpu_id: str) -> None:
    ((text, gpu_ids),) = spelled(f"the {name}, new")
    assert text == name
    assert gpu_id in gpu_ids


@pytest.mark.parametrize("text", ["4070", "M4", "M2", "T1000", "P4", "t4", "a10"])
def test_words_that_may_be_something_else_are_loose(text: str) -> None:
    assert mentions(f"see {text} here") == ()
    (found,) = mentions(f"see {text} here", loose=True)
    assert found.gpu_ids
    assert not found.exact


def test_a_brand_makes_a_short_name_exact() -> None:
    assert [m.exact for m in mentions("NVIDIA T1000, Tesla P4, Apple M4", loose=True)] == [True] * 3


def test_every_id_name_and_driver_name_is_found_whole() -> None:
    for spec in catalog.all_gpus():
        for name in (spec.id.upper(), spec.name):
            (found,) = mentions(f"see {name}.", loose=True)
            assert found.text == name
            assert spec.id in found.gpu_ids
        # The driver of a Jetson reports the name of its chip only.
        for name in spec.device_names if spec.text("segment") != "embedded" else ():
            assert "(TM)" in name or any(spec.id in m.gpu_ids for m in mentions(name, loose=True)), name


def test_places_are_those_of_the_text() -> None:
    text = "The A100 (80GB SXM4) beats\nan RTX 4090 Laptop GPU."
    found = mentions(text)
    assert found[0] == Mention(start=4, end=20, text="A100 (80GB SXM4)", gpu_ids=("a100-sxm4-80gb",))
    assert [text[m.start : m.end] for m in found] == [m.text for m in found]


@given(st.text(alphabet="ARTXHVGBLMI 0123456789-_/()s'GBti\n", max_size=80))
def test_mentions_of_any_text_are_ordered_and_inside_it(text: str) -> None:
    found = mentions(text, unknown=True)
    ends = [0, *(m.end for m in found)]
    for mention, before in zip(found, ends, strict=False):
        assert before <= mention.start < mention.end <= len(text)
        assert text[mention.start : mention.end] == mention.text


def test_an_article_takes_milliseconds(slowness: float) -> None:
    line = "The RTX A5000 has 24GB of memory, the A100 (80GB SXM4) more of it; 4090 images in 12 s. "
    article = line * (20_000 // len(line))
    mentions(line)  # builds the tree
    took_s = stopwatch()
    assert len(mentions(article)) == 2 * (20_000 // len(line))
    assert took_s() < 0.05 * slowness


@pytest.mark.parametrize(
    "text",
    [
        *("NVIDIA " * 20_000, "RTX " * 20_000, "A100" + " " * 100_000, "A100 " + "80GB " * 20_000),
        *("A100" + "(" * 50_000, "4" * 100_000, "A100 " + "PCIe " * 20_000, "Radeon" + " RX" * 30_000),
    ],
    ids=range(8),
)
def test_no_text_takes_long(text: str, slowness: float) -> None:
    took_s = stopwatch()
    mentions(text, unknown=True)
    assert took_s() < 2 * slowness


def test_a_bare_number_behind_an_article_is_a_card() -> None:
    assert spelled("The 4090 is fast; it took 4090 images.") == [("4090", ("rtx-4090",))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FirePro M4000", ()),
        ("GeForce 6800 XT", ()),
        ("Quadro M4000", ("quadro-m4000",)),
        ("AMD Radeon RX 6800 XT", ("rx-6800-xt",)),
        ("NVIDIA Quadro A6000", ("rtx-a6000",)),
    ],
)
def test_a_product_line_of_another_vendor_is_another_product(text: str, expected: tuple[str, ...]) -> None:
    assert [(m.text, m.gpu_ids) for m in mentions(text, unknown=True)] == [(text, expected)]


@pytest.mark.parametrize(
    ("text", "named"),
    [("a used A2 16gb", ["A2 16gb"]), ("the A2 takes 60 W", ["A2"]), ("an A2 poster", []), ("a2 16 gb", [])],
)
def test_an_ordinary_word_is_a_gpu_beside_a_size_or_a_power(text: str, named: list[str]) -> None:
    assert [each.text for each in mentions(text)] == named


@pytest.mark.parametrize(
    ("text", "gpu_ids"),
    [
        ("the GTX 750 and", ("gtx-750",)),
        ("the GTX 750 Ti and", ("gtx-750-ti",)),
        ("the GTX 650 Ti Boost and", ()),
        ("the HD 7870 and", ("hd-7870",)),
        ("the HD 7870 XT and", ()),
        ("the Quadro P5000 Mobile and", ("quadro-p5000-laptop",)),
        ("the Quadro P5000 and", ("quadro-p5000",)),
        ("the RX 590 GME and", ("rx-590-gme",)),
    ],
)
def test_a_card_is_told_from_those_of_nearly_its_name(text: str, gpu_ids: tuple[str, ...]) -> None:
    (found,) = mentions(text, unknown=True)
    assert found.gpu_ids == gpu_ids
