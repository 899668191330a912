"""Files as they come: unknown, binary, of the wrong encoding, huge, torn; nothing may crash."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpuwise.errors import GpuwiseError, InputError
from gpuwise.facts.published import Imported, import_file, import_text
from gpuwise.facts.published.formats import FORMATS
from gpuwise.facts.published.names import number
from gpuwise.model.result import Records
from gpuwise.store import decoded

CSV = ",ssd,bert_large_squad,resnet50\nRTX_A6000,300.0,60.0,780.0\n"
DAY = date(2026, 11, 21)


def test_file_is_recognised_and_cited(tmp_path: Path):
    path = tmp_path / "train-fp16.csv"
    path.write_text(CSV)
    found = import_file(path)
    assert found.format == "lambda"
    row = found.rows[0]
    assert row.stated.locator == "train-fp16.csv, line 2"
    assert row.source.id == "train-fp16.csv"
    assert row.source.licence is None


def test_format_by_name_overrides_recognition(tmp_path: Path):
    path = tmp_path / "x.csv"
    path.write_text(CSV)
    assert import_file(path, format="aime") == Imported(format="aime", rows=Records())
    with pytest.raises(InputError, match="did you mean lambda"):
        import_file(path, format="lamda")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "none of the known formats"),
        (b"a,b\n1,2\n", "none of the known formats"),
        (b"\x89PNG\0\0\0", "binary"),
        ("größer".encode("latin-1"), "not text in UTF-8: byte 2"),
        (b"\xff\xfeabc", "not text in UTF-16"),
        (b"{" * 100_000 + b'"train_rate"', "not a whole JSON"),
        (b'{"x_train_throughput": ' + b"[" * 100_000, None),
    ],
)
def test_bad_files(tmp_path: Path, data: bytes, message: str | None):
    path = tmp_path / "bad.txt"
    path.write_bytes(data)
    if message is None:
        found = import_file(path)
        assert (found.rows, len(found.skipped)) == ((), 1)
    else:
        with pytest.raises(InputError, match=message):
            import_file(path)


def test_missing_file_and_folder(tmp_path: Path):
    for path in (tmp_path, tmp_path / "none.csv", Path("a\0b")):
        with pytest.raises(InputError):
            import_file(path)


def test_too_large_is_refused(tmp_path: Path):
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.truncate(300 * 2**20)
    with pytest.raises(InputError, match="more than 268 MB"):
        import_file(path)


def test_fifty_megabytes_of_log(tmp_path: Path):
    """Noise around one run, as MLPerf logs have it."""
    events = [
        {"key": "submission_benchmark", "value": "bert"},
        {"key": "run_start", "time_ms": 1_000_000},
        {"key": "block_stop", "metadata": {"samples_count": 6000}},
        {"key": "run_stop", "time_ms": 1_060_000, "metadata": {"status": "success"}},
    ]
    noise = "x" * 990 + "\n"
    path = tmp_path / "log.txt"
    path.write_text("".join(noise * 12_500 + ":::MLLOG " + json.dumps(event) + "\n" for event in events))
    assert path.stat().st_size > 49e6
    found = import_file(path, n_gpus=8)
    assert [(row.value, row.gpus) for row in found.rows] == [(100.0, 8)]


def test_sixteen_bit_text_and_byte_order_marks():
    assert decoded("größe".encode("utf-16"), "x") == "größe"
    assert decoded(b"\xef\xbb\xbfmodel", "x") == "model"
    found = import_text("\ufeffmodel,samples_per_sec\nresnet50,5\n", name="x.csv", read_on=DAY)
    assert found.format == "timm"


def test_oversized_csv_field_is_an_error():
    text = CSV + '"' + "x" * 200_000 + '",1,2,3\n'
    with pytest.raises(InputError, match="not a whole CSV"):
        import_text(text, name="fp16.csv", read_on=DAY)


@pytest.mark.parametrize("bad", ["inf", "nan", "-5", "1e999", "", "12 ms", "12 GB/s", "12 %"])
def test_impossible_numbers_give_no_row(bad: str):
    found = import_text(f",ssd,resnet50\nRTX_A6000,{bad},780.0\n", name="fp16.csv", read_on=DAY)
    assert [row.value for row in found.rows] == [780.0]
    assert [line for line, _ in found.skipped] == [2]


@pytest.mark.parametrize(
    ("written", "read"),
    [("938 img/s", 938.0), ("1,029.62", 1029.62), ("12.5 sequences/sec", 12.5), ("1e3", 1000.0)],
)
def test_numbers_as_people_write_them(written: str, read: float):
    assert number(written) == read


SEEDS = (
    CSV,
    "model,train_samples_per_sec,train_batch_size,train_img_size\nresnet50,1,2,224\n",
    "1 GPU(s) used for benchmark:\n0: NVIDIA A40\nModel: resnet50\n"
    "Total mean images per second in training: 5\n",
    '{"node": "n", "a/pytorch-resnet50/throughput_train_float32": 1.5}\n',
    '{"resnet50": {"n": 1, "train_rate": {"mean": 2.5}, "per_gpu": {"0": {"mean": 2.5}}}}\n',
    "bench | fail | n | ngpu | perf | sem%\nbert-fp16 | 0 | 8 | 1 | 155.08 | 0.3\n",
    '1: :::MLLOG {"key": "run_start", "time_ms": 5, "metadata": {}}\n:::MLLOG {"key": "tracked_stats", '
    '"value": {"throughput": 5}}\n--nproc_per_node=8\n',
    "# A for B\n## Performance: A100\n| GPUs | Throughput - TF32 |\n|---|---|\n| 1 | 900 img/s |\n",
    "# RTX A5000\n| Network | Precision | 1 GPU |\n|---|---|---|\n| ResNet50 | FP16 | 1 |\n",
)
PIECES = st.sampled_from(
    (
        "|",
        ",",
        "\n",
        '"',
        "{",
        "}",
        "[",
        "]",
        ":",
        "null",
        "1e999",
        "-1",
        "9" * 5000,
        "٣",
        "\x00",
        "true",
        " ",
        "\r",
    )
)


@st.composite
def torn(draw: st.DrawFn) -> str:
    """A small file of some format with pieces cut out and put in."""
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(text)))
        gone = draw(st.integers(0, 12))
        put = draw(st.one_of(PIECES, st.text(max_size=8)))
        text = text[:at] + put + text[at + gone :]
    return text


@settings(max_examples=100, deadline=None)
@example(text="|model,train_samples_per_sec\nresnet50,1\n", format="timm")
@given(
    text=st.one_of(torn(), st.text(max_size=200)),
    format=st.one_of(st.none(), st.sampled_from(tuple(FORMATS))),
)
def test_importers_raise_nothing_but_their_own_errors(text: str, format: str | None):
    try:
        found = import_text(text, name="f-fp32.csv", read_on=DAY, format=format, gpu="A40", n_gpus=None)
    except GpuwiseError:
        return
    for row in found.rows:
        assert 0 < row.value < float("inf")
        assert row.gpus >= 1
        assert row.question.workload
    for line, why in found.skipped:
        assert line >= 1
        assert why.detail


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=300))
def test_bytes_become_text_or_an_error(data: bytes):
    try:
        text = decoded(data, "x")
    except InputError:
        return
    assert text.encode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8") is not None
