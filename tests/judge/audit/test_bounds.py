"""Thresholds of the audit, from both sides."""

from __future__ import annotations

from datetime import date
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gpuwise.judge import audit
from gpuwise.judge.audit import evidence, speeds
from gpuwise.judge.audit.agree import _is_same_text
from gpuwise.judge.audit.agree import agrees as supported
from gpuwise.judge.audit.cells import scaled
from gpuwise.judge.audit.grid import Scope, name_of
from gpuwise.judge.audit.layout import MOST_MISSED, kind
from gpuwise.judge.audit.prose import FAR, _Choice
from gpuwise.judge.audit.sentence import Sentence
from gpuwise.judge.audit.words import CUES, scan
from gpuwise.model.judgement import Claim, Number

from .conftest import Read

TODAY = date(2026, 11, 23)


def verdicts(text: str, field: str = "memory_bytes", today: date = TODAY) -> list[str]:
    return [f.verdict for f in audit.audit_text(text, today=today).findings if f.field == field]


def claim(*values: float, **more: Any) -> Claim:
    numbers = tuple(Number(value=v, digits=3) for v in values)
    return Claim(
        line=1, gpu="L4", gpu_ids=("l4",), field="power_w", values=numbers, stated="", block=1, **more
    )


@pytest.mark.parametrize(("known", "agrees"), [(99.0, True), (98.9, False), (202.0, True), (202.1, False)])
def test_a_range_holds_what_lies_a_hundredth_outside(
    known: float, agrees: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = evidence.of("l4", "power_w")[0]
    monkeypatch.setattr(evidence, "of", lambda *_: (SimpleNamespace(value=known, form=one.form),))
    assert supported(claim(100.0, 200.0, is_range=True)) is agrees


@pytest.mark.parametrize(("one", "alike"), [(3.0, True), (3.01, False), (1.0, True), (0.99, False)])
def test_a_number_is_alike_up_to_its_part(one: float, alike: bool) -> None:
    assert evidence.alike(one, 2.0, 0.5) is alike


@pytest.mark.parametrize(("more", "found"), [(0, True), (1, False)])
def test_a_cell_is_a_name_where_so_much_of_it_is(more: int, found: bool) -> None:
    assert (name_of(f"RTX4090 {'x' * (13 + more)}") is not None) is found
    assert (kind(f"L4 {'x' * (1 + more)}") == "G") is found


@pytest.mark.parametrize(
    ("stated", "known", "at_once", "same"),
    [
        ("2020", "2021", False, True), ("2020", "2022", False, False), ("2023", "2021", False, False),
        ("2020", "2021-02", False, True), ("2020", "2021-03", False, False),
        ("2021", "2020-05", False, True), ("2021", "2020-04", False, False),
        ("2021", "2020-12", True, True), ("2021", "2020-11", True, False), ("2020", "2021-01", True, False),
        ("2021-06", "2021-02", False, True), ("2021-11", "2021-02", False, False),
        ("2021-10", "2021-02", False, True), ("2020-06", "2021-02", False, True),
        ("2020-05", "2021-02", False, False), ("2021-02", "2021", False, True),
        ("2022-02", "2021", False, True), ("2022-03", "2021", False, False),
    ],
)  # fmt: skip
def test_how_far_a_launch_may_be_off(stated: str, known: str, at_once: bool, same: bool) -> None:
    assert _is_same_text("launch", stated, known, at_once) is same


@pytest.mark.parametrize(("number", "read"), [(9, "1.00 to 9.00 USD"), (10, "2.00 to 9.00 USD")])
def test_the_cheapest_and_the_dearest_tenth_are_left_out(number: int, read: str) -> None:
    offers = cast(Any, [SimpleNamespace(per_gpu=float(n + 1)) for n in range(number)])
    assert speeds._rent(claim(3.0), "", offers, 2026)[:2] == ("agrees", read)


def test_old_offers_say_nothing() -> None:
    text = "An H100 SXM costs $2.50 per hour."
    assert verdicts(text, "rent per hour") == ["agrees"]
    assert verdicts(text, "rent per hour", date(2029, 1, 1)) == ["cannot tell"]


def test_a_year_is_no_other_number() -> None:
    year = scan("2024")[0]
    assert [n.value for n in scaled(year, "launch", None)] == [2024.0]
    assert scaled(year, "process_nm", None) == ()
    assert scaled(scan("2004")[0], "launch", None) == ()


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        # A remark with a colon and a kind of memory are no headings; a plain line and a chip are.
        ("Remark: All Of Them", "contradicts"),
        ("Other Machines Here", "cannot tell"),
        ("GDDR6", "contradicts"),
        ("TU104", "cannot tell"),
    ],
)
def test_what_ends_the_section_of_a_gpu(line: str, verdict: str) -> None:
    assert verdicts(f"## T4\n\n{line}\n\nVRAM: 20 GB") == [verdict]


def test_a_word_belongs_to_the_value_next_to_it() -> None:
    sentence = _Choice("12 GB, 16 GB of VRAM", None, None, Scope(), ())
    assert sentence.named(0, "memory_bytes") == FAR
    assert sentence.named(1, "memory_bytes") < 1


@pytest.mark.parametrize(("unknown", "read"), [(MOST_MISSED, True), (MOST_MISSED + 1, False)])
def test_labels_that_nobody_knows_end_a_list_of_them(unknown: int, read: bool) -> None:
    known = ["VRAM", "TDP", "Memory bandwidth", "CUDA cores", "Tensor cores", "Memory type", "Boost clock"]
    words = [f"Word {'abcdefghij'[n]}" for n in range(unknown)]
    labels = [*known[:5], *words, *known[5:], "Memory bus", "Base clock", "Release date"]
    lines = list(labels)
    for gpu, size in (("RTX 3090", "24 GB"), ("RTX 3080", "99 GB"), ("RTX 3070", "8 GB")):
        lines += [gpu, size, *["n/a"] * (len(labels) - 1)]
    assert (verdicts("\n".join(lines)) == ["agrees", "contradicts", "agrees"]) == read


def test_a_sum_is_of_several() -> None:
    assert Sentence("2x T4 = 32 GB", None, Scope(), ()).is_summed(1)
    assert not Sentence("1x T4 = 16 GB", None, Scope(), ()).is_summed(1)


def test_what_the_text_spoke_of_owns_no_value_beside_another_gpu() -> None:
    assert verdicts("The T4 is old. It has 12 GB of memory.") == ["contradicts"]
    assert verdicts("The T4 is old. With 24 GB of memory that is no match for the L4.") != ["contradicts"]


@pytest.mark.parametrize(("text", "line"), [("```\nVRAM: 20 GB\n```", 4), ("    VRAM: 20 GB", 3)])
def test_lines_of_code_keep_their_numbers(text: str, line: int) -> None:
    assert [f.lines for f in audit.audit_text(f"## T4\n\n{text}").findings] == [(line,)]


def test_without_a_known_peak_no_speed_is_too_high(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "| GPU | Llama 8B tok/s, batch size 32 |\n|---|---|\n| L4 | {} |"
    # 16 GFLOP a token, 484.6 TFLOP/s at most with sparsity, eight GPUs, and 10 % to spare.
    assert verdicts(text.format(266_000), "throughput") == ["cannot tell"]
    assert verdicts(text.format(267_500), "throughput") == ["contradicts"]
    monkeypatch.setattr(speeds, "_peak", lambda *_, **__: 0.0)
    assert verdicts(text.format(267_500), "throughput") == ["cannot tell"]


# (file, text, what is read: GPU, field, value as written)
LAYOUTS = {
    "columns one by one": (
        "a.adoc",
        '[cols="1,1"]\n|===\n|GPU\n|Memory\n\n|RTX 4090\n|24 GB\n\n|RTX 3090\n|24 GB\n|===',
        [("RTX 4090", "memory_bytes", "24 GB"), ("RTX 3090", "memory_bytes", "24 GB")],
    ),
    "paragraphs in a cell": (
        "a.html",
        "<table><tr><th>GPU</th><th>VRAM</th><th>TDP</th></tr>"
        "<tr><td>RTX <b>4090</b></td><td><p>24</p><p>GB</p></td><td>450<br>W</td></tr></table>",
        [("RTX 4090", "memory_bytes", "24 GB"), ("RTX 4090", "power_w", "450 W")],
    ),
    "a pair, one and three": (
        "a.md",
        "| GPU | FP8 TFLOPS (dense / sparse) | FP16 TFLOPS (dense / sparse) |\n|---|---|---|\n"
        "| H100 SXM | 1979 / 3958 | 989 |\n| L4 | 242 / 485 / 970 | 121 / 242 |",
        [
            ("H100 SXM", "peak:fp8", "1979"),
            ("H100 SXM", "peak:fp8", "3958"),
            ("L4", "peak:fp8", "242 / 485 / 970"),
            ("H100 SXM", "peak:fp16", "989"),
            ("L4", "peak:fp16", "121"),
            ("L4", "peak:fp16", "242"),
        ],
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_a_layout_says(layout: str, claimed: Read) -> None:
    name, text, said = LAYOUTS[layout]
    assert claimed(text, name) == said


@pytest.mark.parametrize(("gap", "before"), [(36, True), (37, True), (36, False), (37, False)])
def test_a_launch_price_is_called_so_nearby(gap: int, before: bool) -> None:
    said = " " * gap
    text = f"MSRP{said}$1599" if before else f"$1599{said}MSRP"
    sentence = Sentence(text, None, Scope(), ())
    near = sentence.around(sentence.tokens[int(before)])
    assert (CUES["at_launch"].search(near) is not None) is (gap == 36)
