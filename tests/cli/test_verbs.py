"""Every verb: what it prints, in which format, and how it fails."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuwise import store, workloads
from gpuwise.cli.main import LONGEST_WORD
from gpuwise.cli.options import DeviceChoice
from gpuwise.errors import InputError
from gpuwise.measure import telemetry
from gpuwise.measure.telemetry import TorchBuild
from gpuwise.measure.telemetry.sensor import DeviceInfo, Process, Sample
from gpuwise.model.result import SCHEMA
from tools.scripted_sensor import ScriptedSensor

RESULTS = Path(__file__).parents[2] / "results"
TUNED = str(RESULTS / "h200" / "resnet50-tuned.json")
PARITY = str(RESULTS / "h200" / "resnet50-parity.json")
KNOWN = str(RESULTS / "known" / "h200.json")

Call = Callable[..., tuple[int, str, str]]


def test_bare_names_what_is_here_and_three_commands_that_work(gpuwise: Call) -> None:
    code, out, err = gpuwise()
    assert (code, err) == (0, "")
    commands = [line.split("   ")[0].strip() for line in out.splitlines() if line.startswith("  ")]
    assert len(commands) == 3
    assert "no GPU found" in out
    for command in commands[1:]:
        assert gpuwise(*command.split()[1:])[0] == 0


def test_gpus(gpuwise: Call) -> None:
    code, out, _ = gpuwise("gpus", "ampere")
    assert code == 0
    assert "rtx-a5000" in out
    assert "rtx-4090" not in out
    assert gpuwise("gpus", "voodoo")[0] == 5
    code, _, err = gpuwise("gpus", "amperre")
    assert (code, "did you mean ampere" in err) == (5, True)
    assert gpuwise("gpus", "48GB..24GB")[0] == 2


def test_gpus_by_several_words_sorted_and_counted(gpuwise: Call) -> None:
    def ids(*arguments: str) -> list[str]:
        return [gpu["id"] for gpu in json.loads(gpuwise("gpus", *arguments, "--json")[1])]

    assert ids("24GB..", "ampere", "workstation", "--sort", "-price")[0] == "rtx-a5000"
    found = ids("RTX5080,RTX5090", "--sort", "memory")
    assert found.index("rtx-5090") < found.index("rtx-5080")
    assert gpuwise("gpus", "--sort", "colour")[0] == 2
    code, out, _ = gpuwise("gpus", "H100:8", "sxm")
    assert code == 0
    assert "8 x h100-sxm5-80gb" in out
    assert "640.0 GiB" in out


@pytest.mark.parametrize(
    ("name", "noted"), [("h100-sxm:8", True), ("h100-sxm:1", False), ("h100-sxm", False)]
)
def test_show_of_several_is_of_one_and_says_so(gpuwise: Call, name: str, noted: bool) -> None:
    code, out, err = gpuwise("show", name, "--json")
    assert (code, json.loads(out)["id"]) == (0, "h100-sxm5-80gb")
    assert ("gpuwise gpus h100-sxm5-80gb:8" in err) == noted


def test_gpus_in_every_format(gpuwise: Call, tmp_path: Path) -> None:
    listed = json.loads(gpuwise("gpus", "--json")[1])
    assert len(listed) >= 300
    assert all(fact["source"]["read_on"] for gpu in listed for fact in gpu["facts"])
    for suffix in ("json", "csv", "md"):
        assert gpuwise("gpus", "-o", str(tmp_path / f"gpus.{suffix}"))[0] == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "gpus.csv").read_text())))
    assert len(rows) == len(listed)
    assert (tmp_path / "gpus.md").read_text().count("\n| ") == len(listed) + 1
    code, _, err = gpuwise("gpus", "-o", str(tmp_path / "gpus.docx"))
    assert (code, ".json, .csv, .parquet, .md" in err) == (2, True)


def test_show_a_gpu_with_its_sources(gpuwise: Call) -> None:
    code, out, _ = gpuwise("show", "RTX A5000")
    assert code == 0
    assert "NVIDIA RTX A5000 (rtx-a5000)" in out
    assert "768.0 GB/s" in out
    assert "DirectX 12 Ultimate" in out
    assert out.index("memory bus") < out.index("CUDA cores") < out.index("power connector")


def test_names_that_do_not_resolve(gpuwise: Call) -> None:
    assert gpuwise("show", "rtx")[0] == 2
    code, _, err = gpuwise("show", "rtx-a50000")
    assert code == 2
    assert "did you mean rtx-a5000" in err
    assert "next: ask for rtx-a5000" in err


def test_a_generic_name_shows_the_usual_variant_with_a_note(gpuwise: Call) -> None:
    code, out, err = gpuwise("show", "h100")
    assert (code, "NVIDIA H100 SXM5 80 GB" in out) == (0, True)
    assert "h100-pcie-80gb" in err
    assert "note" not in gpuwise("show", "h100-pcie-80gb")[2]


def test_a_name_of_several_words_needs_no_quotes(gpuwise: Call) -> None:
    code, out, err = gpuwise("show", "RTX", "4080", "super")
    assert (code, err) == (0, "")
    assert "NVIDIA GeForce RTX 4080 SUPER" in out


def test_what_one_source_states_is_marked(gpuwise: Call) -> None:
    out = gpuwise("show", "rx", "7900", "xt")[1]
    lines = {line.split("   ")[0].strip(): line for line in out.splitlines()}
    (power,) = [line for line in out.splitlines() if " 315 W " in line]
    assert "techpowerup=300" in power
    assert any("1 (?)" in line for line in lines.values())


def test_show_a_result(gpuwise: Call) -> None:
    code, out, _ = gpuwise("show", TUNED)
    assert code == 0
    assert "NVIDIA H200 · torch 2.11.0+cu130" in out
    document = json.loads(gpuwise("show", TUNED, "--json")[1])
    assert document["schema"] == SCHEMA
    full = gpuwise("show", TUNED, "--full")[1]
    assert "power limit" in full
    assert "timed steps" in full


def test_show_last_and_prefixes(gpuwise: Call) -> None:
    code, _, err = gpuwise("show", "last")
    assert code == 5
    assert "gpuwise bench --quick" in err
    result = store.load(Path(TUNED))
    store.save(result)
    assert gpuwise("show", "last")[0] == 0
    assert gpuwise("show", result.id[:13])[0] == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "damaged"),
        ("[]", "not a gpuwise result"),
        ('{"schema": 99}', "pip install -U gpuwise"),
        ('{"schema": 1, "id": 5}', "$.id"),
    ],
)
def test_files_that_are_no_results(gpuwise: Call, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    code, out, err = gpuwise("show", str(path))
    assert (code, out) == (2, "")
    assert said in err
    assert "next: " in err


@pytest.mark.parametrize(
    ("what", "hint"), [("rtx-a5000", "compare rtx-a5000 rtx-4090"), (TUNED, f"compare FILE {TUNED}")]
)
def test_one_thing_is_compared_with_its_like(gpuwise: Call, what: str, hint: str) -> None:
    code, _, err = gpuwise("compare", what)
    assert (code, hint in err) == (2, True)


def test_a_word_without_end_is_refused(gpuwise: Call) -> None:
    assert gpuwise("gpus", "4090" + " " * (LONGEST_WORD - 4))[0] == 0
    assert gpuwise("gpus", "4090" + " " * (LONGEST_WORD - 3))[0] == 2


def test_a_page_that_is_not_there_is_no_gpu(gpuwise: Call) -> None:
    code, _, err = gpuwise("show", "nothing.html")
    assert (code, "catalog" in err) == (2, False)


def test_compare_results(gpuwise: Call) -> None:
    code, out, _ = gpuwise("compare", KNOWN, PARITY)
    assert code == 0
    assert out.index("published figures") < out.index("verdict")
    assert "resnet50 train fp16 eager script" in out
    document = json.loads(gpuwise("compare", KNOWN, PARITY, "--json")[1])
    pairs = document["comparisons"][0]["pairs"]
    assert all(p["ratio"]["low"] <= p["ratio"]["value"] <= p["ratio"]["high"] for p in pairs)


def test_a_recipe_is_never_compared_with_the_other(gpuwise: Call) -> None:
    pairs = json.loads(gpuwise("compare", TUNED, PARITY, "--json")[1])["comparisons"][0]["pairs"]
    assert {p["cell"].split(":")[1] for p in pairs} == {"limit"}


def test_the_gate(gpuwise: Call) -> None:
    assert gpuwise("compare", PARITY, PARITY, "--fail-if", "slower>1%")[0] == 0
    code, _, err = gpuwise("compare", KNOWN, PARITY, "--fail-if", "faster>10%")
    assert code == 1
    assert "resnet50 train fp16 compiled script" in err
    assert gpuwise("compare", KNOWN, PARITY, "--fail-if", "ugly")[0] == 2


def test_compare_gpus_by_name(gpuwise: Call) -> None:
    code, out, _ = gpuwise("compare", "4090", "4090 laptop")
    assert code == 0
    assert "0.59x" in out
    assert out == gpuwise("compare", "rtx", "4090", "vs", "rtx", "4090", "laptop")[1]
    assert "rx-7900-xtx" in gpuwise("compare", "rtx", "4070", "ti", "rx", "7900", "xtx")[1]
    assert gpuwise("compare", "4090", TUNED)[0] == 2
    assert gpuwise("compare", "4090")[0] == 2
    assert gpuwise("compare", "4090", "rtx-4090")[0] == 2  # the same, by another name
    assert gpuwise("compare", "4090", "3090", "--fail-if", "slower")[0] == 2


def test_nothing_in_common(gpuwise: Call, tmp_path: Path) -> None:
    from dataclasses import replace

    result = store.load(Path(TUNED))
    models = tuple(m for m in result.measurements if m.config.mode != "limit")
    alone = store.save(replace(result, measurements=models), tmp_path / "alone.json")
    assert gpuwise("compare", str(alone), PARITY)[0] == 5


def test_workloads(gpuwise: Call) -> None:
    listed = json.loads(gpuwise("workloads", "--json")[1])
    assert [w["id"] for w in listed] == list(workloads.names())
    assert "25,557,032" in gpuwise("workloads")[1]


def test_doctor_without_a_gpu(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "torch_build", lambda: TorchBuild(version="2.13.0+cpu"))
    code, out, _ = gpuwise("doctor")
    assert code == 3
    assert "no NVIDIA driver answers" in out
    document = json.loads(gpuwise("doctor", "--json")[1])
    assert [c["name"] for c in document["checks"] if c["status"] == "fail"] == ["GPU"]


def test_doctor_fails_without_torch(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "torch_build", lambda: None)
    code, _, err = gpuwise("doctor")
    assert code == 3
    assert "gpuwise[torch]" in err


INFO = DeviceInfo(
    index=0, name="NVIDIA H200", uuid="GPU-0", memory_bytes=150754820096, driver="580.1", cuda_driver="13.0"
)


def with_gpu(monkeypatch: pytest.MonkeyPatch, *processes: Process, name: str = "NVIDIA H200") -> None:
    from dataclasses import replace

    sensor = ScriptedSensor(replace(INFO, name=name), [Sample(at_s=0, utilisation=0.9)], processes)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(telemetry, "sensors", lambda: (sensor,))
    monkeypatch.setattr("gpuwise.measure.telemetry.sensors", lambda: (sensor,))
    monkeypatch.setattr(telemetry, "torch_build", lambda: TorchBuild(version="2.11.0+cu130", cuda="13.0"))


def test_bare_with_a_gpu(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpu(monkeypatch)
    assert "GPU 0  NVIDIA H200, 140.4 GiB, driver 580.1, catalog entry h200-sxm" in gpuwise()[1]
    with_gpu(monkeypatch, name="NVIDIA H9000")
    assert "NVIDIA H9000, 140.4 GiB, driver 580.1, not in the catalog" in gpuwise()[1]


def test_a_busy_gpu_is_refused(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpu(monkeypatch, Process(pid=4711))
    code, out, err = gpuwise("bench")
    assert (code, out) == (3, "")
    assert "busy with process 4711" in err
    assert "next: " in err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("compare", "rtx-4090"), 2, "gpuwise compare rtx-4090 rtx-5090"),
        (("compare", "l40s"), 2, "gpuwise compare l40s rtx-4090"),
        (("show", "3090", "vs", "4090"), 2, "gpuwise compare 3090 4090"),
        (("show", "rtx", "3090", "or", "rtx 4090"), 2, "gpuwise compare 'rtx 3090' 'rtx 4090'"),
        (("show", "h100,", "h200"), 2, "gpuwise compare h100 h200"),
        (("show", "4090", "5090"), 2, "gpuwise compare 4090 5090"),
        (("show", "rtx", "4070", "ti", "rtx", "3090"), 2, "gpuwise compare 'rtx 4070 ti' 'rtx 3090'"),
        (("launch", "slurm", "--gpus", "8"), 2, "'--gpus-per-node'"),
        (("gpus", "--memory", "24GB.."), 2, "next: gpuwise gpus 24GB.."),
        (("gpus", "--vram", "48", "--vendor", "amd"), 2, "next: gpuwise gpus amd 48GB"),
        (("gpus", "--max-price", "700"), 2, "next: gpuwise choose WORKLOAD --budget 700"),
        (("compare", "l4", "t4", "--precision", "fp16"), 2, "predict WORKLOAD --gpu l4,t4 --precision fp16"),
        (("compare", "l4", "t4", "--for", "bert-large"), 2, "next: gpuwise choose bert-large --gpu l4,t4"),
        (("compare", "l4", "t4", "bert-large"), 2, "next: gpuwise choose bert-large --gpu l4,t4"),
        (("compare", "l4", "t4", "for", "speech", "to", "text"), 2, "choose 'speech to text' --gpu l4,t4"),
        (("gpus", "l4", "t4"), 2, "next: with a comma: gpuwise gpus l4,t4"),
        (("fit", "sdxl", "--gpu", "l4"), 2, "next: gpuwise predict sdxl --gpu l4"),
        (("fit", "gpt2", "--gpu", "l4", "--memory", "48GB"), 2, "fit gpt2 --gpu 48GB"),
        (("gpus", ">=500GB/s"), 5, "matches '>=500gb/s'\n  next: filters are"),
        (("gpus", "price<500"), 5, "matches 'price<500'\n  next: filters are"),
        (("gpus", "amper"), 5, "did you mean ampere?"),
        (("compare", "results/h200/quick.json"), 2, "gpuwise compare FILE results/h200/quick.json"),
        (("gpus", ">48"), 2, "next: >48GB of memory, or >48W of power"),
        (("show", "l4", "--price"), 2, "next: gpuwise prices l4"),
        (("show", "l4", "--spot"), 2, "next: gpuwise prices l4 --spot"),
        (("prices", "--gpu", "l4"), 2, "next: gpuwise prices l4"),
        (("prices", "l4", "--cheapest"), 2, "next: gpuwise prices l4 --sort price"),
        (("compare", "l4", "--with", "t4"), 2, "next: gpuwise compare l4 t4"),
        (("predict", "resnet50", "--gpu", "RTX 4090", "RTX 3090"), 2, "--gpu 'RTX 4090' --gpu 'RTX 3090'"),
        (("report", "l4", "h100"), 2, "next: gpuwise compare l4 h100 --article"),
        (("report", "--gpu", "l4"), 2, "next: gpuwise show l4"),
        (("choose", "gpt2", "--requests", "9/day"), 2, "choose gpt2 --work '9 requests/day'"),
        (("fit", "gpt2", "--lora", "--gpu", "l4"), 2, "next: gpuwise fit gpt2 --for lora --gpu l4"),
        (("fit", "--gpu", "l4"), 2, "next: gpuwise fit llama-3.1-8b --gpu l4"),
        (("fit", "mixtral", "8x7b", "on", "3090"), 2, "gpuwise fit 'mixtral 8x7b' --gpu 3090"),
        (("fit", "qwen3-32b", "int4", "2x4090"), 2, "fit qwen3-32b --gpu 2x4090 --weights int4"),
        (("fit", "gpt2", "--gpu", "2x l4", "--gpus", "4"), 2, "next: leave out --gpus"),
        (("predict", "vgg16", "--batch-size=8", "--gpu", "l4"), 2, "predict vgg16 --batch 8 --gpu l4"),
        (("predict", "vgg16", "--budget", "900"), 2, "next: gpuwise choose vgg16 --budget 900"),
        (("fit", "gpt2", "--quant", "int8"), 2, "next: gpuwise fit gpt2 --precision int8"),
        (("fit", "--lora", "gpt2"), 2, "next: gpuwise fit --for lora gpt2"),
        (("choose", "vgg16", "--own", "--new"), 2, "next: gpuwise choose vgg16 --own --condition new"),
        (("choose", "--used", "vgg16"), 2, "next: gpuwise choose --condition used vgg16"),
        (("choose", "vgg16", "--secondhand"), 2, "next: gpuwise choose vgg16 --condition used"),
        (("choose", "vgg16", "--buy"), 2, "next: gpuwise choose vgg16 --own"),
        (("show", "l4", "--new"), 2, "next: gpuwise prices l4 --new"),
        # A number beside it is no order: of memory there is a limit.
        (("predict", "vgg16", "--memory"), 2, "next: gpuwise predict vgg16 --sort memory"),
        (("predict", "vgg16", "--memory", "24GB"), 2, "next: gpuwise choose vgg16 --memory 24GB"),
        (("show", "l4", "--count", "8"), 2, "next: gpuwise prices l4 --count 8"),
        (("prices", "l4", "--prompt", "1k"), 2, "next: gpuwise predict WORKLOAD --gpu l4 --prompt 1k"),
        (("bench", "resnet50", "--device", "l40s"), 2, "gpuwise predict --gpu NAME"),
        (("bench", "resnet50", "--gpu", "1"), 2, "--device"),
        (("bench", "resnet50", "--batches", "8"), 2, "Did you mean '--batch'?"),
        (("choose", "resnet50", "--max-watts", "300"), 2, "Did you mean '--power'?"),
        (("choose", "resnet50", "--min-vram", "24GB"), 2, "Did you mean '--memory'?"),
        (("choose", "resnet50", "--nonsense"), 2, "'--nonsense'."),
        (("fit", "llama", "3.1", "8b", "--gpu", "l4"), 2, "next: gpuwise fit 'llama 3.1 8b' --gpu l4"),
        (("fit", "llama", "3.1 8b"), 2, "unexpected extra argument (3.1 8b)"),
        (("predict", "vgg16", "--gpu", "rtx", "4090", "laptop"), 2, "vgg16 --gpu 'rtx 4090 laptop'\n"),
        (("predict", "resnet50", "bert-large", "--gpu", "l4"), 2, "gpuwise predict resnet50 --gpu l4\n"),
        (("predict", "copy", "--gpu", "h200-sxm"), 2, "gpuwise bench copy"),
        (("predict", "all-reduce", "--gpu", "h200-sxm", "--gpus", "8"), 2, "gpuwise bench all-reduce"),
        (("show", "results/h200/nope.json", "--for-whom"), 2, "there is no file results/h200/nope.json"),
        (("predict", "resnet50", "h100", "l4"), 2, "next: gpuwise predict resnet50 --gpu h100,l4"),
        (("serve", "--public"), 2, "--host 0.0.0.0"),
        (("gpus", "--nonsense"), 2, "next: gpuwise gpus --help"),
        (("show", "results/nope.json"), 2, "there is no file results/nope.json"),
        (("show", "README.md"), 2, "README.md is not a result file"),
        (("show", "results/h200"), 2, "next: name its files: results/h200/*.json"),
        (("report", "results/h200/"), 2, "next: name its files: results/h200/*.json"),
        (
            ("launch", "slurm", "resnet50", "--mode", "train"),
            2,
            "slurm OPTIONS -- BENCH_ARGUMENTS --mode train",
        ),
    ],
)
def test_a_slip_is_named_with_what_helps(
    gpuwise: Call, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int, says: str
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    left, out, err = gpuwise(*words)
    assert (left, out) == (code, "")
    assert says in err


@pytest.mark.parametrize(
    ("value", "indices"),
    [("0-3", (0, 1, 2, 3)), ("0-1,3", (0, 1, 3)), ("cuda:2-2", (2,)), ("1,0", (1, 0))],
)
def test_devices_are_named_by_ranges_too(value: str, indices: tuple[int, ...]) -> None:
    assert DeviceChoice(("cuda",), several=True).convert(value, None, None)[1] == indices


@pytest.mark.parametrize("value", ["3-1", "cuda:3-1", "0-", "a-b", "-1"])
def test_no_range_of_devices(value: str) -> None:
    with pytest.raises(InputError):
        DeviceChoice(("cuda",), several=True).convert(value, None, None)


def test_a_result_is_asked_for_its_gpu_whatever_its_path_spells(gpuwise: Call, tmp_path: Path) -> None:
    path = tmp_path / "rtx-4090.json"
    path.write_bytes((Path(__file__).parents[2] / "results/h200/quick.json").read_bytes())
    assert json.loads(gpuwise("show", str(path), "--for-whom", "--json")[1])["gpu"] == "h200-sxm"


def test_a_gpu_that_nobody_measured_is_judged_by_what_is_stated(gpuwise: Call) -> None:
    """Without a rate of 16 bits by that of 32; what may not even fit stays open."""
    verdicts = {}
    for gpu in ("apple-m4-max", "rx-7900-xtx"):
        uses = json.loads(gpuwise("show", gpu, "--for-whom", "--json")[1])["uses"]
        verdicts[gpu] = {use["preset"]: use for use in uses}
    m4, radeon = verdicts.values()
    assert [m4[name]["verdict"] for name in ("llm-inference", "llm-finetuning")] == ["well suited", "runs"]
    assert "by its FP32" in m4["vision-cnn"]["reason"]
    assert "fitted to no GPU of its kind" in m4["vision-cnn"]["no_speed"]
    # An engine's speed is known there, of training within a factor of two.
    tuned = m4["llm-finetuning"]["throughput"]
    assert 2.0 < tuned["high"] / tuned["value"] < 2.5
    assert radeon["large-model-training"]["verdict"] == "not known"
