"""`gpuwise predict` as people call it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuwise.model.result import ROUGH

RESULTS = Path(__file__).parents[2] / "results" / "h200"
Ran = tuple[int, str, str]
Cli = Callable[..., Ran]

MINE = """from gpuwise.workloads import WorkloadSpec, workload
from gpuwise.workloads.job import Job


@workload(WorkloadSpec(id="mine", version=1, title="t", item="sample", modes=("infer",), default_batch=64))
def mine(config, batch):
    import torch
    x = torch.randn(batch, 512, device=config.device)
    return Job(step=lambda: {step}, items=batch)
"""


def test_one_row_a_gpu_the_fastest_first(gpuwise: Cli) -> None:
    code, out, _ = gpuwise("predict", "resnet50", "--gpu", "l4,h100-sxm,rtx-4090")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "resnet50 train bf16 compiled, predicted"
    rows = [line.split()[0] for line in lines if "images/s" in line]
    assert rows == ["h100-sxm5-80gb", "rtx-4090", "l4"]
    assert "spec-only" in out
    assert "measure it: gpuwise bench resnet50" in out


def test_an_order_of_magnitude_stands_below_what_is_known(gpuwise: Cli) -> None:
    _, out, _ = gpuwise("predict", "resnet50", "--gpu", "mi300x,h100-sxm,l4", "--json")
    found = json.loads(out)["predictions"]
    assert [p["gpu_id"] for p in found] == ["h100-sxm5-80gb", "l4", "mi300x"]
    assert found[2]["throughput"]["value"] > found[1]["throughput"]["value"]
    _, out, _ = gpuwise("predict", "resnet50", "--gpu", "mi300x,h100-sxm,l4")
    assert "an order of magnitude is not ranked" in out
    _, out, _ = gpuwise("predict", "resnet50", "--gpu", "mi300x")
    assert "is not ranked" not in out


def test_filters_of_the_catalog_and_sorting(gpuwise: Cli) -> None:
    code, out, _ = gpuwise("predict", "bert-large", "--gpu", "80GB..96GB", "--sort", "name", "--json")
    assert code == 0
    names = [p["gpu_id"] for p in json.loads(out)["predictions"] if not p["refusal"]]
    assert names == sorted(names)
    assert {"a100-pcie-80gb", "h100-sxm5-80gb"} <= set(names)
    assert "rtx-4090" not in names


def test_efficiency_sorts_by_items_a_joule(gpuwise: Cli) -> None:
    _, out, _ = gpuwise("predict", "resnet50", "--gpu", "all", "--sort", "efficiency", "--json")
    found = [p for p in json.loads(out)["predictions"] if not p["refusal"]]
    # An order of magnitude stands below all others, in an order of its own.
    far = [p["throughput"]["high"] / p["throughput"]["low"] > ROUGH for p in found]
    assert far == sorted(far)
    assert set(far) == {False, True}
    ratios = [p["throughput"]["value"] / p["watts"]["value"] for p in found[: far.index(True)]]
    assert ratios == sorted(ratios, reverse=True)
    assert len(json.loads(out)["predictions"]) >= 71


def test_the_document_is_complete(gpuwise: Cli) -> None:
    _, out, _ = gpuwise("predict", "resnet50", "--gpu", "h200-sxm", "--batch", "512", "--json")
    (found,) = json.loads(out)["predictions"]
    assert found["cell"] == "resnet50:train:bf16:compiled:stock"
    assert found["throughput"]["level"] == 0.8
    assert found["measured"]["value"] == pytest.approx(7279, rel=0.01)
    assert sum(found["shares"].values()) == pytest.approx(1.0)


def test_measured_stands_beside_predicted(gpuwise: Cli) -> None:
    _, out, _ = gpuwise("predict", "resnet50", "--gpu", "h200-sxm", "--batch", "512")
    assert "measured" in out
    assert "7,279 images/s" in out


def test_it_says_where_choose_would_go_from_what_was_measured(gpuwise: Cli) -> None:
    held = "--from FILE, and in gpuwise choose"
    assert held in gpuwise("predict", "resnet50", "--gpu", "h200-sxm,rtx-4090")[1]
    assert held not in gpuwise("predict", "resnet50", "--gpu", "rtx-4090")[1]


def test_each_number_of_gpus_has_its_row(gpuwise: Cli) -> None:
    code, out, _ = gpuwise("predict", "resnet50", "--gpu", "l40s", "--gpus", "1,2", "--json")
    found = json.loads(out)["predictions"]
    assert (code, [each["count"] for each in found]) == (0, [2, 1])
    two, one = (each["throughput"]["value"] for each in found)
    assert 1.5 < two / one < 2
    code, _, err = gpuwise("predict", "resnet50", "--gpu", "2x l40s", "--gpus", "1,4")
    assert (code, "another number of GPUs" in err) == (2, True)
    code, out, _ = gpuwise("predict", "resnet50", "--gpu", "2x l40s,4x rtx-4090", "--json")
    found = {(each["gpu_id"], each["count"]) for each in json.loads(out)["predictions"]}
    assert (code, found) == (0, {("l40s", 2), ("rtx-4090", 4)})


def test_several_gpus_say_what_joins_them(gpuwise: Cli) -> None:
    code, out, _ = gpuwise("predict", "bert-large", "--gpu", "rtx-4090,mi355x", "--gpus", "4")
    assert code == 0
    assert "4 x rtx-4090" in out
    assert "PCIe 4.0 through host memory" in out
    assert "no source states how several mi355x are joined" in out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("resnet50", "--gpu", "rtx-409"), 2, "did you mean rtx-4090"),
        (("resnet50", "--gpu", ","), 2, "no GPU given"),
        (("resnet5", "--gpu", "l4"), 2, "did you mean resnet50"),
        (("resnet50", "--precision", "fp8"), 2, "no precision fp8"),
        (("resnet50", "--gpu", "b200,rtx-4090", "--precision", "fp4"), 2, "unknown precision"),
        (("resnet50", "--batch", "many"), 2, "positive number or auto"),
        (("resnet50", "--gpu", "t4", "--precision", "bf16"), 5, "t4 has no stated bf16 rate"),
        (("resnet50", "--gpu", "t4", "--precision", "bf16"), 5, "resnet50 --gpu t4 --precision fp16"),
        (("resnet50", "--gpu", "gaudi2"), 5, "next: gpuwise predict resnet50 --gpu all"),
        (("resnet50", "--gpu", "rtx-4090", "--batch", "8192"), 5, "batch 8192 does not fit"),
        (("resnet50", "--gpu", "rtx-4090", "--batch", "8192"), 5, "resnet50 --gpu rtx-4090 --batch auto"),
        (("llm-8b-lora", "--gpu", "16GB"), 5, "GPUs can be predicted: batch 1 does not fit"),
        (("resnet50", "--gpu", "l4", "--calibrate", str(RESULTS / "quick.json")), 2, "not on l4"),
        (("resnet50", "--gpu", "l4", "--calibrate", "last"), 5, "no result has been kept yet"),
        (("bert-large", "--from", str(RESULTS / "resnet50-tuned.json")), 2, "does not hold bert-large"),
        (("resnet50", "-o", "x.xlsx"), 2, "cannot tell a format"),
    ],
)
def test_faults_say_why_and_end_with_their_code(
    gpuwise: Cli, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ended, _, err = gpuwise("predict", *arguments)
    assert ended == code
    assert message in err
    assert "next: " in err


def test_a_refusal_is_in_the_document_as_well(gpuwise: Cli) -> None:
    code, out, _ = gpuwise("predict", "resnet50", "--gpu", "t4,l4", "--precision", "bf16", "--json")
    assert code == 0
    refused = {p["gpu_id"]: p["refusal"] for p in json.loads(out)["predictions"]}
    assert refused == {"l4": "", "t4": "t4 has no stated bf16 rate"}


def test_a_file_of_the_user_s_that_cannot_be_traced(gpuwise: Cli, tmp_path: Path) -> None:
    branching = tmp_path / "branching.py"
    branching.write_text(MINE.format(step="x if x.sum().item() > 0 else -x"))
    code, _, err = gpuwise("predict", str(branching), "--gpu", "l4")
    assert code == 2
    assert "cannot trace" in err
    assert "branching.py, line 9" in err


def test_a_served_model(gpuwise: Cli) -> None:
    words = ("predict", "served:llama-3.1-70b", "--gpu", "h100-sxm,rtx-4090,l4", "--precision", "fp8")
    code, out, _ = gpuwise(*words, "--gpus", "4", "--json")
    assert code == 0
    h100, *refused = json.loads(out)["predictions"]
    assert h100["first_token_s"]["low"] < h100["first_token_s"]["value"]
    assert h100["throughput"]["value"] == pytest.approx(h100["batch"] / h100["seconds"])
    assert all("PCIe" in p["refusal"] for p in refused)
    assert "first token" in gpuwise(*words, "--gpus", "4")[1]
    small = ("predict", "served:llama-3.2-1b", "--gpu", "h100-sxm", "--json")
    short, long = (gpuwise(*small, "--prompt", tokens, "--answer", "512")[1] for tokens in ("2048", "2K"))
    assert json.loads(short)["predictions"] == json.loads(long)["predictions"]
    assert gpuwise(*small, "--prompt", "2x")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("served:llama-9",), 2, "did you mean llama-"),
        (("served:qwen3-32b", "--gpu", "rtx-4090"), 5, "take 61.5 GiB on each GPU"),
        (("served:qwen3-8b", "--gpu", "v100-pcie-16gb"), 5, "an engine has 14.4 GiB"),
        (("served:qwen3-8b", "--precision", "fp32"), 2, "no weights in fp32"),
        (("served:llama-3.1-8b", "--prompt", "130000", "--answer", "1073"), 2, "131,072"),
        (("served:qwen3-8b", "--from", "last"), 2, "take no result"),
        (("qwen3-8b", "--mode", "train"), 2, "qwen3-8b-lora"),
    ],
)
def test_served_models_are_refused_with_a_reason(
    gpuwise: Cli, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ended, _, err = gpuwise("predict", *arguments)
    assert ended == code
    assert message in err


def test_written_to_files(gpuwise: Cli, tmp_path: Path) -> None:
    for suffix, start in ((".md", "**resnet50"), (".csv", "GPU,batch"), (".json", "{")):
        path = tmp_path / f"out{suffix}"
        assert gpuwise("predict", "resnet50", "--gpu", "l4", "-o", str(path))[0] == 0
        assert path.read_text(encoding="utf-8").startswith(start)


ROOT = Path(__file__).parents[2]


def test_the_documented_commands_work(gpuwise: Cli) -> None:
    page = (ROOT / "docs" / "how-it-predicts.md").read_text(encoding="utf-8")
    commands = [
        line.split("#")[0].split() for line in page.splitlines() if line.startswith("gpuwise predict")
    ]
    assert len(commands) >= 4
    for _, *words in commands:
        assert gpuwise(*words)[0] == 0


def test_a_file_of_the_user_s_is_traced_once_and_again_when_it_changes(
    gpuwise: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "own.py"

    def speed(step: str) -> float:
        file.write_text(MINE.format(step=step), encoding="utf-8")
        monkeypatch.setattr("gpuwise.workloads.registry._FOREIGN", {})
        options = ("--gpu", "h100-sxm", "--batch", "4096", "--precision", "fp32", "--json")
        code, out, err = gpuwise("predict", str(file), *options)
        assert code == 0, err
        (prediction,) = json.loads(out)["predictions"]
        assert prediction["item"] == "sample"
        assert f"gpuwise bench {file} " in prediction["measure_command"]  # with its folder
        return float(prediction["throughput"]["value"])

    fast = speed("x @ x.T")
    with monkeypatch.context() as without:
        without.setattr(
            "gpuwise.predictor.trace_store.find_spec", lambda name: None
        )  # as if torch were missing
        assert speed("x @ x.T") == fast
    assert speed("x @ x.T @ x") < fast


def test_a_served_model_is_asked_no_more_than_it_holds(gpuwise: Cli) -> None:
    code, out, _ = gpuwise("predict", "served:gpt2", "--gpu", "l4")
    assert (code, "prompts of 512, answers of 512" in out) == (0, True)
    assert gpuwise("predict", "served:gpt2", "--gpu", "l4", "--prompt", "1000", "--answer", "24")[0] == 0
    assert gpuwise("predict", "served:gpt2", "--gpu", "l4", "--prompt", "1000", "--answer", "25")[0] == 2


@pytest.mark.parametrize(
    ("model", "usual"), [("deepseek-v3", "fp8"), ("gpt-oss-20b", "mxfp4"), ("llama-3.1-8b", "bf16")]
)
def test_a_model_is_served_in_the_format_that_its_publisher_gives(
    model: str, usual: str, gpuwise: Cli
) -> None:
    code, out, err = gpuwise("predict", f"served:{model}", "--gpu", "h200-sxm", "--gpus", "8", "--json")
    assert code == 0, err
    assert [row["config"]["precision"] for row in json.loads(out)["predictions"]] == [usual]


def test_a_served_model_is_not_called_eager(gpuwise: Cli) -> None:
    _, out, _ = gpuwise("predict", "served:llama-3.1-8b", "--gpu", "h100-sxm")
    assert out.strip().startswith("served:llama-3.1-8b infer bf16, predicted")
    assert gpuwise("predict", "Llama-3.1-8B", "--gpu", "h100-sxm")[1] == out


def test_many_refused_gpus_share_a_line(gpuwise: Cli) -> None:
    code, out, _ = gpuwise("predict", "resnet50", "--gpu", "all", "--precision", "bf16")
    assert code == 0
    rows = [line.split()[0] for line in out.splitlines() if "images/s" in line and "%" in line]
    assert "h200-sxm" in rows
    assert not {"t4", "rx-7900-xtx"} & set(rows)
    (line,) = [line for line in out.splitlines() if "GPUs are left out" in line]
    assert "has no stated bf16 rate" in line
    found = json.loads(gpuwise("predict", "resnet50", "--gpu", "all", "--precision", "bf16", "--json")[1])
    refused = {p["gpu_id"] for p in found["predictions"] if p["refusal"]}
    assert {"t4", "rx-7900-xtx"} <= refused
    assert line.split()[0] == str(len(refused))


@pytest.mark.parametrize(
    ("arguments", "step"),
    [
        (("predict", "resnet50", "--gpus", "4090"), "--gpu 4090"),
        (("predict", "resnet50", "--gpus", "1025"), "1 to 1024\n"),
        (("predict", "resnet50", "h100", "l4"), "gpuwise predict resnet50 --gpu h100,l4"),
        (("fit", "llama-3.1-8b", "rtx-4090"), "gpuwise fit llama-3.1-8b --gpu rtx-4090"),
    ],
)
def test_a_gpu_in_the_wrong_place_is_told_its_option(
    gpuwise: Cli, arguments: tuple[str, ...], step: str
) -> None:
    ended, out, err = gpuwise(*arguments)
    assert (ended, out) == (2, "")
    assert step in err


@pytest.mark.parametrize(
    ("name", "workload", "mode"),
    [("yolo", "resnet50", "train"), ("Whisper", "llm-1b-decode", "infer"), ("flux", "dit-xl2-512", "infer")],
)
def test_what_is_most_like_a_name_stands_in_for_it(gpuwise: Cli, name: str, workload: str, mode: str) -> None:
    code, out, err = gpuwise("predict", name, "--gpu", "l4", "--json")
    question = json.loads(out)["predictions"][0]["config"]
    assert (code, question["workload"], question["mode"]) == (0, workload, mode)
    assert workload in err


@pytest.mark.parametrize(
    ("words", "workload", "mode"),
    [
        (("llm-8b",), "llm-8b-decode", "infer"),
        (("llm-8b", "--mode", "infer"), "llm-8b-decode", "infer"),
        (("llm-8b", "--mode", "lora"), "llm-8b-lora", "train"),
        (("llm-1b", "--mode", "lora"), "llm-1b-lora", "train"),
        (("llm-1b",), "llm-1b", "train"),
        (("served:llama 70b", "--gpus", "2"), "served:llama-3.1-70b", "infer"),
    ],
)
def test_a_language_model_is_predicted_by_its_name(
    gpuwise: Cli, words: tuple[str, ...], workload: str, mode: str
) -> None:
    code, out, err = gpuwise("predict", *words, "--gpu", "h100-sxm5-80gb", "--json")
    (row,) = json.loads(out)["predictions"]
    assert (code, row["config"]["workload"], row["config"]["mode"]) == (0, workload, mode)
    assert (f"is taken as {workload.removeprefix('served:')}" in err) is (words[0] != workload)


@pytest.mark.parametrize("name", ["resnet50", "nosuch", "served:llama-3.1-8b", "./model.py"])
def test_methods_are_of_language_models(gpuwise: Cli, name: str) -> None:
    code, out, err = gpuwise("predict", name, "--gpu", "l4", "--mode", "lora")
    assert (code, out) == (2, "")
    assert "llama-3.1-8b" in err.partition("next: ")[2]


def test_a_cluster_is_refused_for_what_joins_its_machines(gpuwise: Cli) -> None:
    code, _, err = gpuwise("predict", "resnet50", "--gpu", "h100-sxm5-80gb:1024")
    assert (code, "--gpus 8\n" in err) == (5, True)


def test_without_a_gpu_the_terminal_has_the_first_and_a_file_all(gpuwise: Cli, tmp_path: Path) -> None:
    _, shown, _ = gpuwise("predict", "resnet50")
    file = tmp_path / "all.csv"
    gpuwise("predict", "resnet50", "-o", str(file))
    every = file.read_text().splitlines()[1:]
    assert f"the first 15 of {len(every)} GPUs" in shown
    assert sum(" images/s (" in line for line in shown.splitlines()) == 15


def test_a_precision_may_be_written_in_capitals(gpuwise: Cli) -> None:
    asked = ("predict", "resnet50", "--gpu", "l4", "--json", "--precision")
    assert gpuwise(*asked, "FP16") == gpuwise(*asked, "fp16")
    assert gpuwise(*asked, "FP17")[0] == 2


def test_a_name_of_several_variants_is_the_usual_one(gpuwise: Cli) -> None:
    code, text, talk = gpuwise("predict", "resnet50", "--gpu", "rtx-3060", "--json")
    assert code == 0
    assert {row["gpu"] for row in json.loads(text)["predictions"]} == {"NVIDIA GeForce RTX 3060 12 GB"}
    assert "rtx-3060-8gb" in talk


@pytest.mark.parametrize(
    ("words", "code", "next_"),
    [
        (("resnet50", "--gpu", "mi300x", "--precision", "fp8"), 2, "--precision bf16 --gpu mi300x"),
        (("llama-3.1-8b", "--mode", "train", "--gpu", "l4"), 2, "llama-3.1-8b-lora --mode train --gpu l4"),
        (("resnet50", "--gpu", "k80"), 5, "gpuwise show k80"),
        (("llama-3.1-70b", "--gpu", "h100"), 5, "llama-3.1-70b --gpu h100 --gpus 2"),
        (("llama-3.1-8b", "--gpu", "2x4090"), 5, "gpuwise fit llama-3.1-8b --gpu 4090 --gpus 2"),
        (("llama-3.1-8b", "--gpu", "2x:4090"), 5, "gpuwise fit llama-3.1-8b --gpu 4090 --gpus 2"),
    ],
)
def test_a_refusal_names_the_command_that_answers(
    gpuwise: Cli, words: tuple[str, ...], code: int, next_: str
) -> None:
    left, _, err = gpuwise("predict", *words)
    assert left == code
    assert next_ in err.partition("next: ")[2]


def test_a_stand_in_says_the_speed_and_memory_of_what_was_asked_for(gpuwise: Cli) -> None:
    code, _, err = gpuwise("predict", "stable-diffusion-xl", "--gpu", "rtx-4090")
    assert code == 0
    assert "images/s of stable-diffusion-xl: 0.2" in err
    assert "it takes 8.00 GB of memory, not the peak below" in err
    # All weights learn with 8 bytes each.
    assert "it takes 20.6 GB" in gpuwise("predict", "sdxl", "--gpu", "rtx-4090", "--mode", "train")[2]


def test_several_batches_have_a_row_each(gpuwise: Cli) -> None:
    for workload, mode in (("resnet50", "infer"), ("served:llama-3.1-8b", "infer")):
        words = ("predict", workload, "--mode", mode, "--gpu", "a100-sxm4-80gb", "--batch", "1,8", "--json")
        made = json.loads(gpuwise(*words)[1])["predictions"]
        assert sorted(row["batch"] for row in made) == [1, 8]


def test_a_preset_is_predicted_by_its_workload(gpuwise: Cli) -> None:
    code, out, err = gpuwise("predict", "mobile", "--gpu", "rtx-4090-laptop", "--json")
    (row,) = json.loads(out)["predictions"]
    assert (code, row["config"]["workload"], row["config"]["mode"]) == (0, "llm-1b-decode", "infer")
    assert "taken as llm-1b-decode" in err
    made = json.loads(gpuwise("predict", "scientific-fp64", "--gpu", "a100-sxm4-80gb", "--json")[1])
    assert made["predictions"][0]["config"]["workload"] == "fft"  # The first of several


def test_scientific_kernels_are_predicted_from_the_sheet_as_choose_does(gpuwise: Cli) -> None:
    made = json.loads(gpuwise("predict", "cholesky", "--gpu", "a100-sxm4-80gb,l4", "--json")[1])
    fast, slow = made["predictions"]
    assert (fast["config"]["precision"], fast["gpu_id"], slow["gpu_id"]) == ("fp64", "a100-sxm4-80gb", "l4")
    assert 6.7 < fast["throughput"]["value"] / slow["throughput"]["value"] < 6.9  # 2,039 and 300 GB/s
    assert gpuwise("predict", "stencil", "--gpu", "a100-sxm4-80gb")[0] == 0


def test_a_machine_of_a_cloud_is_taken_with_a_note(gpuwise: Cli) -> None:
    code, out, err = gpuwise("predict", "resnet50", "--gpu", "g5.xlarge", "--json")
    assert (code, json.loads(out)["predictions"][0]["gpu_id"], "have the a10g" in err) == (0, "a10g", True)


@pytest.mark.parametrize(("batch", "said"), [("1", " 1 sequence,"), ("2", " 2 sequences,")])
def test_one_sequence_is_one(gpuwise: Cli, batch: str, said: str) -> None:
    assert said in gpuwise("predict", "served:qwen3-8b", "--gpu", "l40s", "--batch", batch)[1]


def test_every_time_has_its_unit(gpuwise: Cli) -> None:
    code, _, err = gpuwise("calibrate", "--device", "cpu", "--time", "20")
    assert (code, "write 20ms, 20s" in err) == (2, True)


def test_a_graph_is_asked_of_a_prediction_as_of_a_measurement(gpuwise: Cli) -> None:
    ask = ("predict", "resnet50", "--mode", "infer", "--batch", "8", "--gpu", "h200-sxm")
    _, plain, _ = gpuwise(*ask, "--json")
    _, out, _ = gpuwise(*ask, "--switch", "graph=on", "--json")
    launched, replayed = (json.loads(text)["predictions"][0] for text in (plain, out))
    assert replayed["throughput"]["value"] > 2 * launched["throughput"]["value"]
    assert "--switch graph=on" in replayed["measure_command"]
    # An H200 was measured at 0.73 ms, and 1.82 without the graph.
    assert replayed["throughput"]["low"] < 8 / 0.727e-3 < replayed["throughput"]["high"]


@pytest.mark.parametrize("words", [("layout=channels-first",), ("graph=on", "--compile", "off")])
def test_what_is_not_predicted_of_a_recipe_is_refused(gpuwise: Cli, words: tuple[str, ...]) -> None:
    assert gpuwise("predict", "resnet50", "--gpu", "h200-sxm", "--switch", *words)[0] == 2
