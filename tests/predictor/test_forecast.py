"""A configuration on many GPUs: the best batch, what fits, what was measured, and every refusal."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.model.question import RunConfig
from gpuwise.model.result import Record, Result
from gpuwise.predictor import trace_store
from gpuwise.predictor.card import card
from gpuwise.predictor.evidence import fastest_measured
from gpuwise.predictor.forecast import WAITING_SHARE, forecast
from gpuwise.predictor.step import step
from gpuwise.workloads import registry

RESNET = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)
BERT = RunConfig(workload="bert-large", mode="train", precision="bf16", compile=True)
RESULTS = Path(__file__).parents[2] / "results" / "h200"


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path))


def result(name: str) -> Result:
    return store.load(RESULTS / f"{name}.json")


def one(config: RunConfig, gpu: str, **options: object) -> Record:
    (found,) = forecast(config, [gpu], **options)  # type: ignore[arg-type]
    return found


def width(p: Record) -> float:
    assert p.throughput is not None
    return p.throughput.high / p.throughput.low


def test_a_prediction_is_whole() -> None:
    found = one(RESNET, "rtx-4090")
    assert found.throughput is not None
    assert found.memory_bytes is not None
    assert found.throughput.low < found.throughput.value < found.throughput.high
    assert found.throughput.level == 0.8
    assert found.memory_bytes.low <= found.memory_bytes.value <= found.memory_bytes.high
    assert found.fits_probability is not None
    assert found.fits_probability >= 0.9
    assert (found.gpu_id, found.gpus, found.item, found.basis) == ("rtx-4090", 1, "image", "spec-only")
    assert found.seconds == pytest.approx((found.batch or 0) / found.throughput.value)
    assert sum(share for _, share in found.shares) == pytest.approx(1.0)
    assert found.bound == found.shares[0][0]
    assert found.refusal == ""


def test_the_whole_catalog_in_a_second(slowness: float) -> None:
    gpus = [spec.id for spec in catalog.all_gpus()]
    forecast(RESNET, gpus[:1])
    began = time.process_time()  # what other processes take of the machine says nothing of this
    found = forecast(RESNET, gpus)
    assert time.process_time() - began < 1.0 * slowness
    assert [p.gpu_id for p in found] == gpus
    assert all((p.throughput is None) == bool(p.refusal) for p in found)
    assert sum(not p.refusal for p in found) > 50


def test_without_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from gpuwise.model.question import RunConfig\n"
        "from gpuwise.predictor.forecast import forecast\n"
        "c = RunConfig(workload='llm-8b-decode', mode='infer', precision='bf16')\n"
        "print(forecast(c, ['l4'])[0].batch)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 1


def test_auto_takes_the_default_batch_where_more_gains_nothing_and_less_where_it_does_not_fit() -> None:
    assert (one(RESNET, "a100-sxm4-80gb").batch or 0) >= 256
    small = one(BERT, "rtx-3080-10gb")
    assert (small.batch or 0) < 64
    assert small.memory_bytes is not None
    assert small.memory_bytes.value < 10 * 2**30


def test_a_batch_that_cannot_fit_is_refused_with_what_it_needs() -> None:
    found = one(RESNET, "rtx-4090", batch=8192)
    assert found.throughput is None
    assert found.fits_probability == 0.0
    assert "batch 8192 does not fit: it allocates 3" in found.refusal
    assert found.memory_bytes is not None


def test_refusals_have_their_reason() -> None:
    v100, mi355 = forecast(RESNET, ["v100-pcie-16gb", "mi355x"], count=8)
    assert v100.refusal == "v100-pcie-16gb has no stated bf16 rate"
    assert mi355.refusal == "no source states how several mi355x are joined"
    assert "machines" in one(RESNET, "h200-sxm", count=16).refusal


@pytest.mark.parametrize(
    ("config", "gpu", "match"),
    [
        (RESNET, "rtx-409", "did you mean rtx-4090"),
        (replace(RESNET, precision="fp8"), "l4", "no precision fp8"),
        (replace(RESNET, workload="llm-8b-decode"), "l4", "no mode train"),
        (replace(RESNET, workload="resnet51"), "l4", "did you mean resnet5"),
    ],
)
def test_wrong_names_are_input_errors(config: RunConfig, gpu: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        forecast(config, [gpu])


def test_what_was_measured_stands_beside() -> None:
    found = one(RESNET, "h200-sxm", batch=512)
    assert found.basis == "measured"
    assert found.measured is not None
    assert found.measured.throughput is not None
    assert found.measured.throughput.value == pytest.approx(7279, rel=0.01)
    assert found.best == found.measured.throughput
    assert found.throughput is not None
    assert found.throughput.method == "conformal, spec-only"
    assert one(RESNET, "h200-sxm", batch=333).measured is None


def test_a_measurement_of_the_user_counts_too() -> None:
    kept = result("bert-large-tuned")
    other = replace(kept, environment=replace(kept.environment, gpu_id="l40s"))
    store.save(other)
    found = one(BERT, "l40s", batch=128)
    assert found.basis == "measured"
    assert any(kept.id in note for note in found.notes)


def test_a_file_of_the_same_name_is_another_workload() -> None:
    kept = result("bert-large-tuned")
    foreign = tuple(replace(m, config=replace(m.config, content="b2")) for m in kept.measurements)
    elsewhere = replace(kept.environment, gpu_id="l40s")
    store.save(replace(kept, environment=elsewhere, measurements=foreign))
    assert one(BERT, "l40s", batch=128).measured is None


@pytest.mark.parametrize(
    ("name", "least", "most"), [("auto-batch", 0.93, 0.98), ("bert-large-tuned", 0.85, 0.93)]
)
def test_calibration_speaks_for_its_own_card_alone(name: str, least: float, most: float) -> None:
    """It narrows where the card's steps are as predicted, the more of them there are."""
    config = replace(RESNET, recipe="script", batch=300)
    plain = forecast(config, ["h200-sxm", "l4"])
    sharp = forecast(config, ["h200-sxm", "l4"], calibration=result(name))
    assert sharp[0].basis == "calibrated"
    assert least < width(sharp[0]) / width(plain[0]) < most
    assert sharp[0].throughput != plain[0].throughput
    assert sharp[1] == plain[1]


def test_limits_alone_change_the_rates_but_not_the_width() -> None:
    whole = result("resnet50-tuned")
    limits = tuple(m for m in whole.measurements if m.config.mode == "limit")
    config = replace(BERT, batch=128)
    found = one(config, "h200-sxm", calibration=replace(whole, measurements=limits))
    plain = one(config, "h200-sxm")
    assert found.throughput != plain.throughput
    assert width(found) == pytest.approx(width(plain), rel=0.01)  # other kernels take other shares
    assert "limits" in found.notes[0]


def test_from_another_card() -> None:
    source = result("resnet50-tuned")
    found, large = one(RESNET, "rtx-4090", source=source), one(RESNET, "h100-sxm5-80gb", source=source)
    assert found.basis == large.basis == "transferred"
    # The batch that was measured where it fits; at a smaller one it says less.
    assert found.batch is not None
    assert found.batch < 1024 == large.batch
    # The limit lowers the clock of one a little more than that of the other.
    assert width(large) <= 1.002 * width(one(RESNET, "h100-sxm5-80gb"))


def test_results_of_no_use_are_refused() -> None:
    whole = result("resnet50-tuned")
    with pytest.raises(InputError, match="measured on h200-sxm, not on l4"):
        forecast(RESNET, ["l4"], calibration=whole)
    with pytest.raises(InputError, match="does not hold bert-large"):
        forecast(BERT, ["l4"], source=whole)
    unknown = replace(whole.environment, gpu_id=None, device="A toaster")
    with pytest.raises(InputError, match="not in the catalog"):
        forecast(RESNET, ["l4"], source=replace(whole, environment=unknown))
    with pytest.raises(InputError, match="no step that can be predicted"):
        forecast(RESNET, ["h200-sxm"], calibration=replace(whole, measurements=()))
    with pytest.raises(InputError, match="published"):
        forecast(RESNET, ["h200-sxm"], calibration=replace(whole, origin="published"))


def test_a_wrong_unit_is_refused() -> None:
    whole = result("resnet50-tuned")
    wrong = tuple(
        replace(m, throughput=replace(m.throughput, value=m.throughput.value * 1000))
        for m in whole.measurements
        if m.throughput and m.config.mode != "limit"
    )
    with pytest.raises(InputError, match="more than h200-sxm's peak allows"):
        forecast(RESNET, ["h200-sxm"], calibration=replace(whole, measurements=wrong))


def test_several_gpus_cost_time_memory_and_width() -> None:
    config = replace(BERT, batch=32)
    alone, both = one(config, "rtx-4090"), one(config, "rtx-4090", count=2)
    assert alone.throughput is not None
    assert both.throughput is not None
    assert alone.memory_bytes is not None
    assert both.memory_bytes is not None
    assert alone.throughput.value < both.throughput.value < 2 * alone.throughput.value
    assert both.memory_bytes.value > alone.memory_bytes.value
    assert width(both) > width(alone)
    assert both.question.key("batch").endswith("x2:weak")
    assert "link" in dict(both.shares)
    assert any("through host memory" in note for note in both.notes)


@pytest.mark.parametrize(("rate", "least", "most"), [(1e13, 0.97, 1.0), (7e9, 0.75, 0.95), (1e9, 0.2, 0.5)])
def test_gpus_that_wait_draw_less(
    rate: float, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuwise.predictor.forecast.bus", lambda *_: (rate, "a cable"))
    alone, both = one(BERT, "rtx-4090", batch=32).watts, one(BERT, "rtx-4090", batch=32, count=2).watts
    assert alone is not None
    assert both is not None
    assert least < both.value / 2 / alone.value < most
    assert both.value / 2 >= WAITING_SHARE * card("rtx-4090").power_w


def test_four_gpus_draw_what_was_measured() -> None:
    for name in ("scaling-bert-large", "scaling-resnet50-after"):
        alone, four = (m for m in result(name).measurements if m.config.mode == "train")
        config = replace(alone.config, batch=alone.batch)
        each = [one(config, "h200-sxm", batch=alone.batch, count=n).watts for n in (1, 4)]
        shares = [watts.value / n for watts, n in zip(each, (1, 4), strict=True) if watts]
        measured = four.telemetry.power_w / 4 / alone.telemetry.power_w
        assert shares[1] / shares[0] == pytest.approx(measured, abs=0.03)


def test_state_that_fits_no_gpu_is_split_over_several() -> None:
    config = RunConfig(workload="llm-1b", mode="train", precision="bf16", compile=True, batch=1)
    assert not one(config, "rtx-4090", count=1).notes
    alone, split = one(config, "rtx-4060-ti-16gb"), one(config, "rtx-4060-ti-16gb", count=8)
    assert alone.refusal
    assert not split.refusal
    assert any("split" in note for note in split.notes)


def test_no_machine_is_said_to_hold_several_laptop_gpus() -> None:
    (alone,) = forecast(RESNET, ["rtx-4090-laptop"], batch=16)
    assert alone.throughput is not None
    desktop, laptop = forecast(RESNET, ["rtx-4090", "rtx-4090-laptop"], count=2, batch=16)
    assert desktop.throughput is not None
    assert (laptop.throughput, laptop.refusal) == (None, "a laptop holds one GPU")


def test_a_measurement_at_a_small_batch_does_not_answer_for_the_best() -> None:
    """A step of 16 sequences takes about as long as one of 64: an H200 must not stand behind an H100."""
    decode = RunConfig(workload="llm-8b-decode", mode="infer", precision="bf16", compile=True)
    best = one(decode, "h200-sxm")
    assert best.measured is None
    assert best.basis == "spec-only"
    assert any("2,865 tokens/s were measured at batch 16" in note for note in best.notes)
    assert best.best is not None
    assert best.best.value > one(decode, "h100-sxm5-80gb").best.value  # type: ignore[union-attr]
    asked = one(decode, "h200-sxm", batch=8)
    assert asked.measured is not None
    assert (asked.basis, asked.measured.notes) == ("measured", ("again-llm-8b-decode.json",))


def test_a_measurement_answers_where_the_batch_matters_little() -> None:
    found = one(replace(BERT, compile=False), "h200-sxm")
    assert (found.batch, found.basis) == (256, "measured")
    assert any("measured at batch 128" in note for note in found.notes)


def test_a_refusal_for_memory_adds_up() -> None:
    """9.2 GiB do not fit a card of 10: the driver and the context take their part."""
    found = one(RunConfig(workload="dit-xl2", mode="train", precision="bf16", compile=True), "rtx-3080-10gb")
    assert "it allocates 9.2 GiB, rtx-3080-10gb leaves 9.2 GiB of 10.0 GiB" in found.refusal


def test_several_gpus_that_hold_the_whole_model_each_say_so() -> None:
    lora = RunConfig(workload="llm-8b-lora", mode="train", precision="bf16", compile=True)
    whole, split = "each of the 2 holds the whole model", one(lora, "rtx-4080", count=2).refusal
    assert split
    assert "holds the whole" not in split  # and still too large
    # Its state takes half of the card, and its activations more than the rest.
    assert one(replace(lora, batch=8), "rtx-5090", count=2, batch=8).refusal.endswith(whole)


@pytest.mark.parametrize(("rate", "slower"), [(1e8, True), (1e12, False)])
def test_several_gpus_that_are_slower_than_one_say_so(
    rate: float, slower: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuwise.predictor.forecast.bus", lambda *_: (rate, "a cable"))
    notes = one(RESNET, "rtx-4090", count=2).notes
    assert any(note.startswith("slower than one alone: 0.") for note in notes) == slower


def test_a_card_of_another_vendor_is_an_order_of_magnitude() -> None:
    far = one(RESNET, "mi300x-oam")
    (issue,) = far.issues
    assert (issue.code, issue.severity) == ("order-of-magnitude", "warning")
    assert far.throughput.high / far.throughput.low >= 10 * (1 - 1e-9)
    assert one(RESNET, "rtx-4090").issues == ()


def test_a_card_of_several_dies_says_that_it_is_counted_whole() -> None:
    whole = {
        gpu: any("2 dies" in note for note in one(RESNET, gpu).notes) for gpu in ("mi250x", "mi250", "mi210")
    }
    assert whole == {"mi250x": True, "mi250": True, "mi210": False}


@pytest.mark.parametrize("batch", [64, 1024])
def test_a_higher_power_limit_makes_no_card_slower(batch: int) -> None:
    # Stated clocks and bandwidths of equal parts differ by what was rounded (an A2 and an A16: 0.9 %).
    trace = trace_store.series(RESNET).at(batch)
    seconds = {}
    for spec in catalog.all_gpus():
        with contextlib.suppress(NoDataError):
            found = card(spec.id)
            seconds[found] = step(trace, found).seconds
            more = replace(found, power_w=1.4 * found.power_w)
            assert step(trace, more).seconds <= seconds[found] * (1 + 1e-9), spec.id
    pairs = [
        (less, more)
        for less, more in permutations(seconds, 2)
        if (less.family, less.units, less.stacked) == (more.family, more.units, more.stacked)
        and less.memory_bytes == pytest.approx(more.memory_bytes, rel=0.1)
        and less.bytes_per_s == pytest.approx(more.bytes_per_s, rel=0.001)
        and less.power_w < more.power_w
        and less.clock_hz <= more.clock_hz
    ]
    assert (card("b100-sxm"), card("b200-sxm")) in pairs
    assert [(a.id, b.id) for a, b in pairs if seconds[a] < seconds[b] * (1 - 1e-9)] == []


@pytest.mark.parametrize(
    ("name", "other", "same"),
    [
        ("llm-1b", "llama-3.2-1b-pretrain", True), ("llm-1b-finetune", "llama-3.2-1b-full", True),
        ("llm-8b-lora", "llama-3.1-8b-lora", True), ("llm-8b-lora", "llama-3.1-8b-lora-checkpointed", False),
        ("llm-8b-lora", "llama-3.1-8b-lora-4k", False), ("bert-large", "bert-large-pretrain-s128", False),
        ("resnet50", "nobody's network", False),
    ],
)  # fmt: skip
def test_one_network_has_one_interval_by_any_name(name: str, other: str, same: bool) -> None:
    assert (registry.network(name) == registry.network(other)) is same
    config = RunConfig(workload=name, mode="train", precision="bf16", compile=True)
    trace = trace_store.series(config).at(4)
    found, again = (step(each, card("l40s")) for each in (trace, replace(trace, workload=other)))
    assert found.throughput.value == again.throughput.value
    if same:
        assert found.throughput == again.throughput
        measured = fastest_measured(config)
        assert measured == fastest_measured(replace(config, workload=other))
        assert "h200-sxm" in measured
