"""Whatever comes in: a clear error or findings, and in time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import date
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.errors import GpuwiseError
from gpuwise.judge import audit
from gpuwise.judge.audit import layout, read

from ...stopwatch import stopwatch

PIECES = (
    *(
        "A100",
        "H100 80GB",
        "RTX 4090",
        "MI300X",
        "8x L40S",
        "NVIDIA ",
        "vs",
        "the ",
        "and ",
        "than ",
        "from ",
        "to ",
    ),
    *(
        "80 GB",
        "1,555 GB/s",
        "312 TFLOPS",
        "FP16 ",
        "with sparsity",
        "8,192",
        " CUDA cores",
        "700W",
        "2020.05",
        "$2/hr",
    ),
    *(
        "Memory: ",
        "**",
        "*",
        "|",
        "|---|",
        "# ",
        "\n",
        "\n\n",
        "(",
        ")",
        "[a](",
        "![",
        "```",
        "\\",
        "/",
        " - ",
        ": ",
    ),
    *(
        "<table>",
        "<tr>",
        "<td colspan=3>",
        "<th rowspan=2>",
        "</table>",
        "<script>",
        "<!--",
        "<h2>",
        "&amp;",
        "<",
    ),
    *(
        "\x00",
        "\ud800",
        "\u00b2",
        "\u00a0",
        "\u2028",
        '"',
        ",",
        ";",
        "\t",
        "nan",
        "0",
        "ResNet-50",
        "1 GPU",
        "2 GPUs",
        "\nINSERT INTO t (gpu, memory_gb)\nVALUES (",
        "'T4', '16')",
        '\nGPU("L4", memory_gb=24, tdp_w=',
        "72)",
    ),
)
texts = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
names = st.sampled_from(("a.md", "a.html", "a.csv", "a.tsv", "a.txt", ""))
days = st.one_of(st.none(), st.dates())


def audited(text: str, name: str, today: date | None = None) -> None:
    with suppress(GpuwiseError):
        audit.audit_text(text, name, today=today)


@given(texts, names, days)
def test_any_text(text: str, name: str, today: date | None) -> None:
    audited(text, name, today)


@given(st.binary(), names)
def test_any_bytes(data: bytes, name: str) -> None:
    try:
        text, _ = read.decoded(data, name)
    except GpuwiseError:
        return
    audited(text, name)


@pytest.mark.parametrize("line", [1000, 19_000, 1_000_000])
@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "1,",
        "1/",
        "*",
        "|",
        "[a](",
        "(",
        "80 GB ",
        "A100 80 GB of memory ",
        "H100 and ",
        "2 MHz ",
        "cores: ",
    ],
)
def test_long_lines_take_no_time(piece: str, line: int, slowness: float) -> None:
    text = (piece * (line // len(piece))).strip()
    took_s = stopwatch()
    audited(text, "a.md")
    assert took_s() < 3 * slowness


@pytest.mark.parametrize(
    "piece",
    [
        "the T4 and the L4 have 12 and 34 GB respectively, ",
        "L4 24 GB, ",
        "23 GB, ",
        "$25, ",
        "12 TFLOPS FP16, ",
        "(L4 with 24 GB), ",
        "FP8 and NVLink and ",
    ],
)
def test_the_longest_sentences_take_no_time(piece: str, slowness: float) -> None:
    sentence = ("The T4 " + piece * (3900 // len(piece))).strip(" ,") + ".\n\n"
    took_s = stopwatch()
    audited(sentence, "a.md")
    assert took_s() < slowness


def test_a_log_of_many_speeds_takes_no_time(slowness: float) -> None:
    lines = "Mean images/sec: 1200.5\nMean  images/sec: 1200.5\n"
    log = "Device: T4\nUsed model: resnet50\n" + lines * 4000
    took_s = stopwatch()
    found = audit.audit_text(log, "a.log")
    assert took_s() < 5 * slowness
    assert len(found.findings) + len(found.unjudged) >= 8000


@pytest.mark.parametrize("lines", ["|\n", "x |\n| a\nd\n", "A100\n80 GB\n"])
def test_no_line_is_read_anew_by_those_before_it(lines: str, slowness: float) -> None:
    text = lines * (8_000 // len(lines))
    took_s = stopwatch()
    audited(text, "a.txt")
    assert took_s() < 0.8 * slowness


LETTERS = str.maketrans("0123456789", "abcdefghij")


@pytest.mark.parametrize(
    "text", ["".join(f"{n}\n".translate(LETTERS) for n in range(500)), "x |\n| a\nd\n" * 200]
)
def test_words_that_name_nothing_are_read_a_few_times(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = {"kind": 0, "Cell": 0}

    def counted(name: str) -> Callable[..., object]:
        real = getattr(layout, name)

        def call(*given: object, **more: object) -> object:
            read[name] += 1
            return real(*given, **more)

        return call

    for name in read:
        monkeypatch.setattr(layout, name, counted(name))
    audited(text, "a.txt")
    lines = text.count("\n")
    assert read["Cell"] < 3 * lines  # 13 where each row read those after it
    assert read["kind"] < 30 * lines  # 43 where each line read those after it


GLUED = "SpecA100H100L40S\n" + "".join(f"FP16 TFLOPS{n}{n + 1}{n + 2}\n" for n in range(300, 340))
WRONG = "| GPU | TDP |\n|---|---|\n" + "".join(f"| T4 | {n} W |\n| L4 | 72 W |\n" for n in range(700, 720))


@pytest.mark.parametrize(
    ("at", "name", "text", "most"),
    [("layout", "readings", GLUED, 1000), ("explain", "mechanism", WRONG, 30)],  # 1,953 and 40 before
)
def test_what_was_found_is_not_looked_for_again(
    at: str, name: str, text: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module(f"gpuwise.judge.audit.{at}")
    real, calls = getattr(module, name), []
    monkeypatch.setattr(module, name, lambda *given, **more: [calls.append(1), real(*given, **more)][1])
    audited(text, "a.md")
    assert 0 < len(calls) < most


def test_cells_that_say_none_name_no_field() -> None:
    found = audit.audit_text("a100-sxm4-80gb,1\na100-sxm4-80gb,None\na100-sxm4-80gb,1\n", "a.csv")
    assert found.findings == ()


def test_time_grows_with_length_only() -> None:
    section = "## T4\n\nThe T4 has 20 GB of memory.\n\n| GPU | TDP |\n|---|---|\n| L4 | 75 |\n| T4 | 70 |\n"
    section += "| A10 | 150 |\n\n"
    took_s = []
    for sections in (1, 50, 200):  # the first loads facts
        watch = stopwatch()
        found = audit.audit_text(section * sections)
        took_s.append(watch())
        assert found.count("contradicts") >= 2 * sections
    assert took_s[2] < 9 * took_s[1]  # where time grew with the square, 16 times


def test_labels_of_an_unknown_language_between_values() -> None:
    text = "RTX 4090\nRTX 3090\n450 W\nกำลังไฟ\n350 W\n24 GB\nหน่วยความจำ\n24 GB\n"
    assert audit.audit_text(text, "a.md").count("agrees") == 4
