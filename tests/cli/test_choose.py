"""`gpuwise choose` on the command line, with speeds made up and the shipped prices."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from gpuwise.facts import catalog
from gpuwise.judge.choose.fit import made_for_fp64
from gpuwise.model.result import Interval, Record
from gpuwise.predictor.forecast import TOGETHER

from ..records import predicted

PRICES = """gpu,amount,kind,count,seen_on,provider
RTX 4090,0.40,on-demand,1,2026-11-01,cloud
RTX 3090,0.15,on-demand,1,2026-11-01,cloud
RTX 4090,1900,new,1,2026-11-01,shop
"""


@pytest.fixture(autouse=True)
def world(monkeypatch: pytest.MonkeyPatch) -> None:
    """One day, and speeds in proportion to bandwidth, within 20 %."""

    def forecast(config, gpus, *, count, batch, source=None):
        return tuple(_predict(config, gpu, count, batch) for gpu in gpus)

    monkeypatch.setattr("gpuwise.predictor.forecast.forecast", forecast)
    monkeypatch.setattr("gpuwise.cli.print.today", lambda: date(2026, 11, 21))


def _predict(config, gpu: str, count: int, batch: int | None) -> Record:
    bandwidth = catalog.get(gpu).memory_bytes_per_s
    if bandwidth is None:
        return predicted(gpu_id=gpu, count=count, config=config, item="image", refusal="no bandwidth")
    value = bandwidth / 1e9 * count

    def around(value: float) -> Interval:
        return Interval(value=value, low=value / 1.2, high=value * 1.2, level=0.8, method="made up")

    return predicted(
        gpu_id=gpu, count=count, config=config, item="image", throughput=around(value),
        watts=around(300.0 * count), seconds=0.02 * (batch or 1), fits_probability=1.0, bound="memory",
    )  # fmt: skip


@pytest.fixture
def prices(tmp_path: Path) -> str:
    path = tmp_path / "prices.csv"
    path.write_text(PRICES)
    return str(path)


def test_the_answer_has_ranks_reasons_chances_and_assumptions(gpuwise, prices: str) -> None:
    asked = ("resnet50", "--work", "3 epochs of 1.3M images", "--prices", prices, "--provider", "cloud")
    code, out, err = gpuwise("choose", *asked, "--top", "0", "--rejected", "--why")
    assert code == 0, err
    for text in (
        "resnet50 train bf16, 1 GPU, prices of 2026-11-09",
        "1 x rtx-3090",
        "cloud, on-demand",
        "$0.15/h 2026-11",
        "936 (780 to 1,123)",
        "chance that 1 costs less than 2:",
        "electricity $0.2/kWh",
        "Refused: ",
        "no price to rent of cloud seen within 120 days is known",
        "Rent one RTX 3090 from cloud at $0.15/h",
    ):
        assert text in out, text


def chosen(gpuwise, *words: str) -> tuple[set[str], set[str]]:
    """The GPUs that are ranked, and those that are left out."""
    code, out, err = gpuwise("choose", "resnet50", "--rent", *words, "--top", "0", "--json")
    assert code == 0, err
    found = json.loads(out)
    return {option["gpu_id"] for option in found["options"]}, {one["gpu_id"] for one in found["rejected"]}


def test_gpus_by_name_are_all_that_is_chosen_among(gpuwise) -> None:
    ranked, left_out = chosen(gpuwise, "--gpu", "rtx-4090,l4")
    assert "rtx-4090" in ranked
    assert ranked | left_out <= {"rtx-4090", "l4"}


def test_only_processors_with_a_gpu_are_sold_with_less_memory(gpuwise) -> None:
    assert {spec.id for spec in catalog.all_gpus() if spec.memory_varies} >= {"apple-m3-max", "radeon-8060s"}
    assert not any(catalog.get(gpu).memory_varies for gpu in ("mi300a", "gb10", "jetson-t5000", "l4"))
    asked = ("scientific-fp64", "--own", "--memory", "..16GB", "--rejected", "--top", "0", "--json")
    status, out, _ = gpuwise("choose", *asked)
    small = [catalog.get(option["gpu_id"]) for option in json.loads(out)["options"]]
    assert status == 0
    assert small
    assert all(spec.memory_varies or (spec.memory_bytes or 0) <= 16.5 * 2**30 for spec in small)


def test_an_old_card_that_is_made_for_fp64_comes_before_a_new_one_that_is_not(gpuwise) -> None:
    status, out, _ = gpuwise("choose", "scientific-fp64", "--own", "--budget", "$8000", "--json")
    first = json.loads(out)["options"][0]
    assert status == 0
    assert made_for_fp64(first["gpu_id"])
    assert first["way"] in ("used", "street")
    status, out, _ = gpuwise(
        "choose", "scientific-fp64", "--own", "--budget", "$5000", "--condition", "new", "--json"
    )
    assert status == 0
    assert json.loads(out)["options"][0]["way"] != "used"


def test_a_name_of_several_variants_means_all_of_them(gpuwise) -> None:
    ranked, left_out = chosen(gpuwise, "--gpu", "h100")
    assert {"h100-sxm5-80gb"} < ranked
    assert all(gpu.startswith("h100") for gpu in ranked | left_out)


def test_json_markdown_and_csv_hold_the_same_options(gpuwise, prices: str, tmp_path: Path) -> None:
    asked = ("choose", "resnet50", "--work", "1M images", "--prices", prices, "--rent")
    code, out, _ = gpuwise(*asked, "--json")
    document = json.loads(out)
    assert code == 0
    assert document["schema"] == 2
    assert document["options"][0]["cost_usd"]["value"] > 0
    assert document["need"]["acquire"] == "rent"
    for name in ("choice.md", "choice.csv", "choice.json"):
        path = tmp_path / name
        assert gpuwise(*asked, "-o", str(path))[0] == 0
        text = path.read_text()
        assert document["options"][0]["gpu_id"] in text
        assert document["options"][-1]["gpu_id"] in text
    assert "left out: " in (tmp_path / "choice.md").read_text()


def test_a_kept_choice_is_made_again_and_says_what_changed(gpuwise, prices: str, tmp_path: Path) -> None:
    kept = str(tmp_path / "kept.json")
    assert gpuwise("choose", "resnet50", "--work", "1M images", "--own", "-o", kept)[0] == 0
    code, out, err = gpuwise("choose", kept)
    assert code == 0, err
    assert "nothing changed since 2026-11-21" in out
    code, out, _ = gpuwise("choose", kept, "--prices", prices)
    assert code == 0
    assert "new: 1 x rtx-4090 new at shop" in out
    code, _, err = gpuwise("choose", kept, "--deadline", "3h")
    assert code == 2
    assert "--deadline cannot be added" in err


def test_what_one_has_costs_its_energy(gpuwise) -> None:
    code, out, err = gpuwise(
        "choose", "resnet50", "--have", "rtx 3090:2", "--gpus", "1..2", "--own", "--json"
    )
    assert code == 0, err
    options = json.loads(out)["options"]
    # Two do the work in half the time at the same cost, so they come first.
    first = options[0]
    assert (first["gpu_id"], first["count"], first["way"], first["speedup"]) == ("rtx-3090", 2, "have", 1.0)
    assert options[0]["outlay_usd"] == 0


def test_a_result_file_says_what_one_has_and_how_fast_it_is(gpuwise) -> None:
    raw = Path(__file__).parents[2] / "results" / "h200" / "resnet50-tuned.json"
    code, out, err = gpuwise("choose", "resnet50", "--have", str(raw), "--json")
    assert code == 0, err
    first = json.loads(out)["options"][0]
    assert (first["gpu_id"], first["way"], first["basis"]) == ("h200-sxm", "have", "measured")


def test_what_is_replaced_is_not_kept(gpuwise) -> None:
    words = ("choose", "llama-3.1-8b", "--mode", "qlora", "--have", "rtx-3080", "--own", "--budget", "700")
    options = json.loads(gpuwise(*words, "--upgrade", "--json")[1])["options"]
    assert all(each["way"] != "have" and 1 < each["speedup"] < 1.3 for each in options)
    assert "Nothing within the limits is 1.3 times as fast" in gpuwise(*words, "--upgrade")[1]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("resnet50", "--work", "2 epochs of ImageNet"), "Taken: 2.56 M images"),
        (
            ("resnet50", "--rent", "--provider", "aws", "--spot"),
            "a price of spot rent that keeps",
        ),
        (("qwen3-8b", "--users", "4", "--latency", "TTFT<=3s,TPOT<=50ms"), "of 3.00 s allowed"),
        (("resnet50", "--own", "--electricity", "0.30"), "$0.3 a kWh"),
        (("qwen3-8b", "--users", "2", "--latency", "25 tokens/s"), "of 40.0 ms allowed"),
        (("qwen3-8b", "--work", "10k requests/day"), "a request is taken as 300 tokens of answer"),
    ],
)
def test_what_was_asked_is_repeated(gpuwise, words: tuple[str, ...], says: str) -> None:
    code, out, _ = gpuwise("choose", *words)
    assert code == 0
    assert says in out


def test_used_cards_are_not_answered_with_new_ones(gpuwise) -> None:
    words = ("--memory", "24GB..", "--own", "--budget", "5000", "--condition", "used", "--slots", "1")
    code, out, err = gpuwise("choose", "resnet50", *words, "--quiet")  # Without, a fan on an A10 does
    assert (code, out) == (2, "")
    assert "no --condition (one " in err


def test_a_budget_of_many_times_the_money_is_no_advice(gpuwise) -> None:
    words = ("--memory", "40GB..", "--own", "--budget", "3000 CHF", "--condition", "used")
    code, _, err = gpuwise("choose", "scientific-fp64", *words)
    assert code == 2
    assert "--memory 32GB.." in err.partition("next:")[2]
    assert "--budget" not in err.partition("next:")[2]


def test_a_remedy_keeps_what_was_named_or_says_that_it_does_not(gpuwise) -> None:
    code, _, err = gpuwise("choose", "llm-8b-lora", "--gpu", "rtx-4090", "--memory", "48GB..", "--own")
    said, _, remedies = err.partition("next:")
    assert code == 2
    assert "would do" not in said
    first, *others = remedies.split("; or ")
    assert "--memory 24GB.. (one RTX 4090, bought used at $2,527 of 2026-09)" in first
    assert all("no --gpu" in other for other in others)


def test_a_maker_that_was_named_is_kept_and_a_budget_that_nothing_keeps_is_said_first(gpuwise) -> None:
    code, _, err = gpuwise("choose", "resnet50", "--gpu", "amd", "--rent", "--budget", "$0.5/h")
    assert code == 2
    assert "no --gpu (one V100" in err
    words = ("--gpu", "rtx-3090:2,rtx-5090:2", "--own", "--budget", "1000")
    code, out, err = gpuwise("choose", "llama-3.1-70b", *words)
    assert code == 0, err
    assert out.splitlines()[1].strip().startswith("None of these keeps the budget of $1,000.")
    assert ("Buy " in out, "  Over it: 2 x RTX 5090 at " in out) == (False, True)
    named = "m3 ultra 96gb or rtx pro 6000 for qwen3 30b a3b, single user, under $6500"
    out = gpuwise("choose", named)[1].splitlines()[1]
    assert out.strip().startswith("None of these is known to keep the budget of $6,500. Within it: one ")


def test_four_bits_and_more_gpus_are_remedies_of_a_model_that_is_too_large(gpuwise) -> None:
    words = ("--precision", "fp8", "--gpus", "1..4", "--memory", "80GB..96GB", "--rent")
    code, _, err = gpuwise("choose", "llama-3.1-405b", *words)
    assert code == 2
    assert {"--gpus 1..8", "--precision int4"} <= {
        word.partition(" (")[0] for word in err.strip().split("; or ")
    }


@pytest.mark.parametrize("preset", ["vision-cnn", "llm-inference", "scientific-fp64", "llm-finetuning"])
def test_presets_answer(gpuwise, preset: str) -> None:
    code, out, err = gpuwise("choose", preset)
    assert code == 0, err
    assert "known by" in out


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (("resnet50", "--budget", "20 KZT", "--work", "1M images"), "no rate is given"),
        (("resnet50", "--budget", "$-5/h"), "not a sensible price"),
        (("resnet50", "--provider", "nobody"), "no offer of a provider 'nobody'"),
        (("launch",), "which no GPU is chosen for"),
        (("resnet5",), "did you mean"),
        (("resnet50", "--mode", "train", "--latency", "9ms"), "a latency is of answers"),
        (("llama-3.1-8b", "--mode", "lora", "--latency", "9ms"), "a latency is of answers"),
        (("sdxl", "--latency", "9ms"), "a latency is of tokens"),
        (("resnet50", "--mode", "infer", "--latency", "TPOT<=9ms"), "one image at a time: --batch 1"),
        (("resnet50", "--own", "--outlet", "120V"), "write it like 300W"),
        (("llama-3.1-8b", "--precision", "4bit"), "next: did you mean int4, nf4 or q4_k_m"),
        (("resnet50", "--own", "--budget", "90 €"), "$100 are allowed"),
        (("resnet50", "--work", "1M images", "--deadline", "1s"), "nothing meets all limits together"),
        (("resnet50", "--model", "resnet50"), "say the same"),
        (("resnet50", "--have", "rtx"), "where one is needed"),
        (("llm-8b-decode", "--latency", "TPOT<=30"), "lacks its unit"),
        (("resnet50", "--depreciation", "0.3"), "lacks its percent sign"),
        (("resnet50", "--budget", "-5"), "a budget of -5"),
        (("missing.json",), "cannot read"),
        ((), "is not a terminal"),
    ],
)
def test_faults_exit_with_2_and_a_next_step(gpuwise, asked: tuple[str, ...], says: str) -> None:
    code, out, err = gpuwise("choose", *asked)
    assert (code, out) == (2, "")
    assert says in err
    assert "next:" in err


def test_a_price_file_with_a_bad_row_is_refused(gpuwise, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    for row, says in (
        ("RTX 4090,-5,EUR", "-5"),
        ("RTX 4090,5,KZT", "KZT"),
        ("RTX 4090,99999999,USD", "line 2"),
    ):
        path.write_text(f"gpu,amount,currency\n{row}\n")
        code, _, err = gpuwise("choose", "resnet50", "--prices", str(path))
        assert code == 2
        assert says in err


def test_a_contradiction_says_what_to_relax(gpuwise) -> None:
    code, _, err = gpuwise("choose", "resnet50", "--work", "1M images", "--deadline", "1s")
    assert code == 2
    assert "relax --deadline" in err
    # The limit that is named leads to an answer.
    limit = err.split("--deadline ")[1].split()[0]
    assert gpuwise("choose", "resnet50", "--work", "1M images", "--deadline", limit)[0] == 0


def test_cards_known_by_their_sheets_alone_are_ranked_only_where_none_else_is_named(gpuwise) -> None:
    asked = ("choose", "llama-3.1-70b", "--rent", "--gpu")
    code, text, _ = gpuwise(*asked, "mi300x", "--precision", "int4")
    assert code == 0
    assert "order of magnitude" in text
    both = gpuwise(*asked, "mi300x,h200-sxm", "--precision", "int4", "--json")[1]
    gpus = [option["gpu_id"] for option in json.loads(both)["options"]]
    assert gpus == sorted(gpus)
    assert gpus[-1] == "mi300x"  # Behind all of the other
    # In a format of which the MI300X has public speeds it is a rival, and says whose they are.
    text = gpuwise(*asked, "mi300x,h200-sxm,arc-b580")[1]
    assert re.search(r"mi300x \(fp8\).*calibrated", text)
    assert "mi300x: by public speeds: MLPerf" in text
    assert "order of magnitude" not in text


def test_what_has_public_speeds_says_whose_they_are(gpuwise) -> None:
    fit = gpuwise("fit", "llama-3.1-70b", "--gpu", "mi300x,arc-b580", "--weights", "fp8,q4_k_m")[1]
    assert "mi300x: by public speeds: MLPerf" in fit
    assert "arc-b580: by" not in fit


def test_words_of_modes_are_read(gpuwise) -> None:
    for word, mode in (("inference", "infer"), ("training", "train")):
        assert json.loads(gpuwise("choose", "resnet50", "--mode", word, "--json")[1])["need"]["mode"] == mode
    assert gpuwise("choose", "resnet50", "--mode", "dreaming")[0] == 2


def test_a_monthly_budget_in_euro_is_answered_in_euro(gpuwise) -> None:
    _, text, _ = gpuwise("choose", "bert-large", "--rent", "--budget", "250 €/month")
    assert re.search(r"\$[\d.]+ a month \([\d.]+ EUR a month\)", text)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("lama-3.1-8b", "llama-3.1-8b"), ("llama-5", "llama-3"), ("llama3.1-70", "llama-3.1-70b"),
     ("resnet-5o", "resnet50"), ("serve a llama-5 for 9 users", "llama-3"), ("kubernetes", "llama-3.1-8b")],
)  # fmt: skip
def test_an_unknown_name_gets_the_nearest(gpuwise, typed: str, meant: str) -> None:
    code, _, err = gpuwise("choose", typed, "--rent")
    assert code == 2
    assert meant in err.split(";", 1)[1]


def test_five_questions_where_there_is_a_terminal(gpuwise, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["resnet50", "1M images", "$2/h", "rent", "1"])
    asked: list[str] = []

    def prompt(question: str, **_: object) -> str:
        asked.append(question)
        return next(answers)

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.prompt", prompt)
    code, out, err = gpuwise("choose")
    assert code == 0, err
    assert len(asked) == 5
    assert "resnet50 train bf16" in out


@pytest.mark.parametrize(
    ("work", "tokens"), [("3 epochs of 50000 samples", "75.0 M"), ("20k examples", "10.0 M")]
)
def test_texts_of_a_fine_tuning_count_as_tokens(gpuwise, work: str, tokens: str) -> None:
    code, out, err = gpuwise("choose", "llama-3.1-8b", "--mode", "lora", "--work", work, "--rent")
    assert code == 0, err
    assert f"{tokens} tokens; adapters, by lora" in out


def test_for_whom_a_gpu_is(gpuwise) -> None:
    code, out, err = gpuwise("show", "rtx-4090", "--for-whom")
    assert code == 0, err
    assert "training of convolutional networks (vision-cnn)" in out
    assert {"24.0 GiB", "GDDR6X", "1.008 TB/s", "450 W", "pcie"} <= {
        *out.splitlines()[1].strip().split(" · ")
    }
    code, out, _ = gpuwise("show", "rtx-4090", "--for-whom", "--json")
    uses = json.loads(out)["uses"]
    assert {use["verdict"] for use in uses} <= {"well suited", "runs", "no", "not known"}
    assert next(use for use in uses if use["preset"] == "mobile")["verdict"] == "no"


def test_a_worker_that_is_paid_by_the_second_costs_nothing_while_nobody_asks(gpuwise) -> None:
    asked = ("bert-base", "--mode", "infer", "--rent", "--serverless", "ok", "--gpu", "rtx-4090", "--json")
    ratios = []
    for used in ("100%", "15%"):
        status, out, _ = gpuwise("choose", *asked, "--utilisation", used, "--top", "0")
        assert status == 0
        cost = {o["way"]: o["cost_per_item_usd"]["value"] for o in json.loads(out)["options"]}
        ratios.append(cost["serverless"] / cost["on-demand"])
    assert ratios[1] == pytest.approx(ratios[0] * 2 * 0.15)  # It starts and waits as long as it works


def test_lengths_of_prompts_and_answers_count_however_they_are_said(gpuwise) -> None:
    gpu, lengths = ("--gpu", "h100-sxm", "--json"), ("--prompt", "2k", "--answer", "300")
    served = "served:llama-3.1-70b"
    words = f"{served} with prompts of 2000 tokens and answers of 300 tokens, 5 requests/s"
    found = [
        json.loads(gpuwise("choose", *asked, *gpu)[1])
        for asked in (
            (words,),
            (served, "--work", "5 requests/s", *lengths),
            (served, "--work", "129.6M tokens/day", *lengths),
            (served, "--work", "129.6M tokens/day", "--context", "2300"),
        )
    ]
    needs = [(each["need"]["context"], each["need"]["reads"], each["need"]["items"]) for each in found]
    assert [need[0] for need in needs] == [2300] * 4
    assert [need[1] for need in needs] == [pytest.approx(2000 / 300)] * 3 + [0]
    speeds = [each["options"][0]["throughput"]["value"] / each["options"][0]["count"] for each in found]
    assert speeds[1:3] == [pytest.approx(speeds[0])] * 2
    assert speeds[3] > 1.3 * speeds[0]  # prompts that are not counted take no time
    assert gpuwise("choose", "resnet50", *lengths)[0] == 2
    assert gpuwise("choose", "llama-3.1-8b", "--mode", "qlora", *lengths)[0] == 2


def test_a_configuration_of_ones_own_is_served_and_trained(gpuwise, tmp_path: Path) -> None:
    """As `fit` and `predict` take it; what it is called is no matter."""
    config = {
        "model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 128256,
        "tie_word_embeddings": True, "max_position_embeddings": 1024,
    }  # fmt: skip
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    for asked in ((f"served:hf:{file}",), (f"hf:{file}", "--mode", "lora"), ("--model", f"hf:{file}")):
        code, out, err = gpuwise("choose", *asked, "--gpu", "l4", "--json")
        assert code == 0, err
        need = json.loads(out)["need"]
        assert (need["workloads"], need["context"]) == ([[f"hf:{file}", 1.0]], 1024)  # no more than it has
    longer = gpuwise("choose", f"served:hf:{file}", "--gpu", "l4", "--context", "2k")[1]
    assert "beyond the 1,024" in longer
    assert gpuwise("choose", f"served:hf:{tmp_path / 'none.json'}")[0] == 2


def test_a_price_of_an_unknown_gpu_is_named_and_another_wrong_row_refused(gpuwise, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("gpu,amount\nvoodoo,1\nrtx-4090,0.01\n")
    code, out, err = gpuwise("choose", "resnet50", "--rent", "--prices", str(tmp_path / "mine.csv"))
    assert (code, "1 x rtx-4090" in out) == (0, True)
    assert "mine.csv, line 2: unknown GPU 'voodoo'" in err
    (tmp_path / "mine.csv").write_text("gpu,amount\nrtx-4090,-1\n")
    assert gpuwise("choose", "resnet50", "--prices", str(tmp_path / "mine.csv"))[0] == 2


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (("llama-3.1-8b", "--mode", "infer"), "2 of 2 dies"),
        (("llama-3.1-8b", "--mode", "lora"), "1 of 2 dies"),
        (("resnet50", "--unproven", "ok"), "of the whole card, 2 dies"),
    ],
)
def test_which_dies_of_a_card_a_speed_is_of_is_said(
    gpuwise, tmp_path: Path, monkeypatch, work: tuple[str, ...], said: str
) -> None:
    def whole(config, gpus, *, count, batch, source=None):
        dies = {"mi250x": (f"of the whole card, 2{TOGETHER}",)}
        made = (_predict(config, gpu, count, batch) for gpu in gpus)
        return tuple(replace(each, notes=dies.get(each.gpu_id, ())) for each in made)

    monkeypatch.setattr("gpuwise.predictor.forecast.forecast", whole)
    path = tmp_path / "own.csv"
    path.write_text("gpu,amount,count,kind\nmi250x,1.5,1,on-demand\nmi210,1,1,on-demand\n")
    _, out, _ = gpuwise(
        "choose", *work, "--gpu", "mi250x,mi210", "--gpus", "1", "--prices", str(path), "--json"
    )
    found = {option["gpu_id"]: " ".join(option["why"]) for option in json.loads(out)["options"]}
    assert said in found["mi250x"]
    assert "dies" not in found["mi210"]
