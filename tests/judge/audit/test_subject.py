"""Which GPU a figure belongs to, and when that stays open."""

from __future__ import annotations

import pytest

from gpuwise.facts.catalog import mentions
from gpuwise.judge import audit
from gpuwise.judge.audit import subject
from gpuwise.judge.audit.blocks import of_markdown


def owners(text: str) -> list[tuple[str, str, bool]]:
    return [(c.gpu, c.stated, c.several) for c in audit.claims(of_markdown(text))]


def test_a_possessive_owns_its_figure() -> None:
    found = owners("The L4's 72 W power consumption stays below that of the A10's 150 W.")
    assert [(gpu[:3], stated) for gpu, stated, _ in found] == [("L4'", "72 W"), ("A10", "150 W")]


@pytest.mark.parametrize(
    "text",
    [
        "Going from the H100 to the H200, memory grows from 80 GB to 141 GB.",
        "The H100 and H200 have 80 GB and 141 GB of memory, respectively.",
        "The H200 replaces the H100's older memory with 141 GB of HBM3e.",
        "The A100 40GB has less memory bandwidth than the larger version with 2,039 GB/s.",
    ],
)
def test_what_may_be_either_s_is_left_open(text: str) -> None:
    assert [f for f in audit.audit_text(text).findings if f.verdict == "contradicts"] == []


def test_what_a_gpu_is_measured_against_is_not_the_subject() -> None:
    text = "The MI300X has more than double the H100's 80 GB of memory. At 5.3 TB/s bandwidth, it is fast."
    assert [gpu for gpu, stated, _ in owners(text) if stated == "5.3 TB/s"] == ["MI300X"]


def test_rivals_of_a_title() -> None:
    assert [one.text for one in subject.rivals("A40 vs RTX A6000")] == ["A40", "RTX A6000"]
    assert subject.rivals("A40 and RTX A6000") == ()


def test_a_line_that_is_little_more_than_a_name() -> None:
    assert subject.covers("NVIDIA A40")
    assert not subject.covers("why people still buy the A40 in these days")


def test_of_mentions_of_one_and_of_several() -> None:
    one, two = subject.of_mentions(mentions("T4")), subject.of_mentions(mentions("T4, L4"))
    assert one is not None
    assert two is not None
    assert (one.several, two.several) == (False, True)


def test_a_section_below_a_gpu_is_about_it() -> None:
    assert owners("# Cards\n## T4\n### Memory\n- VRAM: 16 GB\n## Buying advice\n- VRAM: 99 GB") == [
        ("T4", "16 GB", False)
    ]
