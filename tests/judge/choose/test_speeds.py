"""Which evidence a speed comes from."""

from __future__ import annotations

import re
from dataclasses import replace
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.errors import NoDataError
from gpuwise.facts import catalog, llms, published
from gpuwise.judge.choose import speeds
from gpuwise.judge.choose.need import item_of, need_for, settled
from gpuwise.judge.choose.speeds import DIES, IDLE, PUBLISHED_HALF, apart, half_of, no_units, quickest
from gpuwise.model import units
from gpuwise.model.judgement import Need
from gpuwise.model.precision import Precision
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Interval, Measurement, Record, Result, Telemetry
from gpuwise.predictor import fit as fit_module
from gpuwise.predictor.fit import Plan, fit

from ...records import made_up, predicted


def around(value: float, factor: float) -> Interval:
    return Interval(value=value, low=value / factor, high=value * factor, level=0.8, method="made up")


def forecast(config, gpus, *, count, batch):
    """100 items a second on each GPU within 20 %, 10 ms for each item of the batch."""
    return tuple(
        predicted(
            gpu_id=gpu, count=count, config=config, item="image", throughput=around(100.0 * count, 1.2),
            seconds=0.01 * (batch or 1), watts=around(200.0 * count, 1.1), fits_probability=1.0,
        )
        for gpu in gpus
    )  # fmt: skip


def result(gpu: str, value: float, **changes) -> Result:
    config = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)
    m = Measurement(
        config=config, workload_version=1, status="ok", item="image", started_at="2026-11-21", batch=64,
        items_per_step=64, throughput=around(value, 1.01),
    )  # fmt: skip
    return Result(
        id=f"{gpu}-{value}", created_at="2026-11-21", command="gpuwise bench",
        measurements=(replace(m, **changes),),
        environment=Environment(device=gpu, gpu_id=gpu),
    )  # fmt: skip


def gather(need, gpus, forecast, **known):
    """Every number that the need allows, and one."""
    counts = tuple(sorted({1, *range(need.gpus[0], need.gpus[1] + 1)}))
    return speeds.gather(need, dict.fromkeys(gpus, counts), forecast, **known)


def by_key(speeds) -> dict[tuple[str, int], Record]:
    return {(speed.gpu_id, speed.gpus): speed for speed in speeds}


def test_every_number_of_gpus_is_asked_for_and_one_besides(need) -> None:
    found = by_key(gather(need(gpus=(2, 4)), ["rtx-3090"], forecast))
    assert [count for _, count in found] == [1, 2, 3, 4]
    assert found["rtx-3090", 4].watts.value == 800
    assert half_of(found["rtx-3090", 4].watts) == pytest.approx(log(1.1))


def test_a_measurement_of_the_cell_wins(need) -> None:
    results = [result("rtx-3090", 900.0), result("rtx-3090", 950.0), result("l40s", 5.0, status="failed")]
    found = by_key(gather(need(), ["rtx-3090", "l40s"], forecast, results=results))
    assert found["rtx-3090", 1].basis == "measured"
    assert found["rtx-3090", 1].throughput.value == 950.0
    assert found["rtx-3090", 1].seconds == pytest.approx(64 / 950)
    # It says nothing of the batch at which another card is fastest.
    assert (found["l40s", 1].basis, found["l40s", 1].throughput.value) == ("spec-only", 100.0)


def test_a_measured_batch_corrects_other_cards_at_that_batch_alone(need) -> None:
    results = [result("rtx-3090", 150.0)]
    asked = by_key(gather(need(batch=64), ["rtx-3090", "l40s"], forecast, results=results))
    assert (asked["l40s", 1].basis, asked["l40s", 1].throughput.value) == (
        "transferred",
        pytest.approx(150.0),
    )
    assert asked["l40s", 1].seconds == pytest.approx(0.64 / 1.5)
    assert asked["rtx-3090", 1].basis == "measured"
    other = by_key(gather(need(batch=32), ["rtx-3090", "l40s"], forecast, results=results))
    assert {record.basis for record in other.values()} == {"spec-only"}


@given(
    st.lists(st.floats(1.0, 1e4), min_size=3, max_size=6, unique=True), st.floats(0.1, 1e5),
    st.sampled_from([None, 8, 64]), st.sampled_from([8, 64]),
)  # fmt: skip
def test_one_measured_card_never_changes_the_order_of_others(
    values: list[float], speed: float, asked: int | None, ran: int
) -> None:
    gpus = ["h200-sxm", "b200-sxm", "gh200-96gb", "h100-sxm5-80gb", "l40s", "a10"][: len(values)]

    def of_each(config, gpus_, *, count, batch):
        by = dict(zip(gpus, values, strict=True))
        return tuple(
            predicted(gpu_id=g, config=config, batch=batch or 256, throughput=around(by[g], 1.2), seconds=0.1)
            for g in gpus_
        )

    need = Need(workloads=(("resnet50", 1.0),), mode="train", precision="bf16", batch=asked)
    measured = [result(gpus[0], speed, batch=ran, items_per_step=ran)]
    plain, found = (by_key(gather(need, gpus, of_each, results=r)) for r in ((), measured))
    others = [(gpu, 1) for gpu in gpus[1:]]

    def order(records) -> list:
        return sorted(others, key=lambda key: records[key].throughput.value)

    assert order(found) == order(plain)
    if asked != ran:
        assert all(found[key] == plain[key] for key in others)


def test_watts_of_several_gpus_are_measured_together(need) -> None:
    config = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True, gpus=2)
    both = result("rtx-3090", 1800.0, config=config, telemetry=Telemetry(samples=9, power_w=640.0))
    found = by_key(gather(need(gpus=(2, 2)), ["rtx-3090"], forecast, results=[both]))["rtx-3090", 2]
    assert (found.basis, found.watts.value, half_of(found.watts)) == ("measured", 640.0, 0.0)


def test_a_measurement_of_another_cell_does_not_count(need) -> None:
    other = result("rtx-3090", 900.0, config=RunConfig(workload="resnet50", mode="train", precision="fp16"))
    assert by_key(gather(need(), ["rtx-3090"], forecast, results=[other]))["rtx-3090", 1].basis == "spec-only"
    asked = need(batch=32)
    found = by_key(gather(asked, ["rtx-3090"], forecast, results=[result("rtx-3090", 900.0)]))
    assert found["rtx-3090", 1].basis == "spec-only"


def refuse(config, gpus, *, count, batch):
    return tuple(predicted(gpu_id=g, count=count, config=config, item="image", refusal="no") for g in gpus)


def test_a_published_figure_stands_where_nothing_narrower_does(need) -> None:
    asked = need(precision="fp16")
    rows = published.select(workload="resnet50", mode="train", precision="fp16")
    for predicts, basis in ((forecast, "spec-only"), (refuse, "published")):
        found = by_key(gather(asked, ["a100-sxm4-80gb"], predicts, published=rows))["a100-sxm4-80gb", 1]
        assert found.basis == basis
    assert found.value == max(r.value for r in rows if r.gpu_id == "a100-sxm4-80gb" and r.gpus == 1)


def test_the_width_of_published_figures_is_that_of_the_curated_table() -> None:
    """The same cell on the same GPU, best of each publisher: the median factor between two of them."""
    from collections import defaultdict
    from math import log
    from statistics import median

    best: dict[tuple, dict[str, float]] = defaultdict(dict)
    for row in published.plausible(published.all_results()):
        if row.precision != "?" and row.item != "token":  # Engines differ by more than publishers
            cell = (row.question.workload, row.question.mode, row.precision, row.gpu_id, row.gpus)
            best[cell][row.source.id] = max(best[cell].get(row.source.id, 0.0), row.value)
    apart = [
        log(max(found.values()) / value)
        for found in best.values()
        if len(found) > 1
        for value in found.values()
        if value < max(found.values())
    ]
    assert len(apart) == 9
    assert median(apart) == pytest.approx(PUBLISHED_HALF, abs=0.1)


def test_a_refusal_keeps_its_reason(need) -> None:
    assert by_key(gather(need(), ["t4"], refuse))["t4", 1].refusal == "no"


def test_a_latency_takes_the_fastest_batch_that_is_quick_enough() -> None:
    speeds = [
        made_up(gpu_id="l40s", throughput=around(value, 1.1), seconds=step)
        for value, step in ((10, 0.01), (50, 0.02), (80, 0.05))
    ]
    assert quickest(speeds, 0.03) is speeds[1]
    assert quickest(speeds, None) is speeds[2]
    assert quickest(speeds, 0.001) is speeds[0]
    refused = made_up(gpu_id="l40s", refusal="batch 1 does not fit")
    assert quickest([refused], 0.03) is refused


@pytest.mark.parametrize(("model", "gpu"), [("llama-3.1-8b", "l40s"), ("llama-3.1-70b", "h200-sxm")])
def test_several_gpus_serve_at_least_as_much_as_copies_on_fewer(model: str, gpu: str) -> None:
    asked = replace(need_for(model), gpus=(1, 8))
    found = {n: record for (_, n), record in by_key(gather(asked, [gpu], refuse)).items()}
    for n in found:
        for part in (k for k in range(1, n) if n % k == 0 and found[k].throughput):
            assert found[n].value >= n // part * found[part].value * 0.999
    assert found[8].replicas > 1
    assert found[7].replicas == (7 if found[1].throughput else 1)
    one = by_key(gather(replace(asked, concurrent=1), [gpu], refuse))[gpu, 8]
    assert one.replicas == 1  # one person has no use for copies


@pytest.mark.parametrize("latency_s", [None, 0.02, 0.05])
@pytest.mark.parametrize(("model", "gpu"), [("qwen3-30b-a3b", "l40s"), ("llama-3.1-8b", "rtx-4090")])
@pytest.mark.parametrize("precision", [Precision.BF16, Precision.INT4, Precision.NF4])
def test_of_answers_the_largest_batch_in_time_is_the_best(
    model: str, gpu: str, precision: Precision, latency_s: float | None
) -> None:
    asked = replace(need_for(f"served:{model}", precision=precision), latency_s=latency_s, context=4096)
    (record,) = speeds.gather(asked, {gpu: (1,)}, forecast)
    every = (fit(Plan(model=llms.find(model), weights=precision, batch=n), gpu) for n in speeds.SEQUENCES)
    fast = [
        each.tokens_per_s.value for each in every
        if each.tokens_per_s and each.plan.batch / each.tokens_per_s.value <= (latency_s or 1e9)
    ]  # fmt: skip
    assert not fast or record.throughput.value == max(fast)


def test_prompts_that_are_read_between_answers_take_their_time() -> None:
    def of(reads: float) -> float:
        asked = replace(need_for("llama-3.1-8b"), gpus=(1, 1), context=1024, reads=reads)
        return by_key(gather(asked, ["h100-sxm5-80gb"], refuse))["h100-sxm5-80gb", 1].value

    alone = fit(Plan(model=llms.find("llama-3.1-8b"), task="infer", context=1024), "h100-sxm5-80gb")
    one_by_one = 1 / (1 / of(0.0) + 4.0 * alone.first_token_s / 1024)
    assert one_by_one < of(4.0) < of(0.0)  # an engine reads several prompts at once


@pytest.mark.parametrize("people", [1, 120, 500])
def test_people_at_once_wait_for_a_token_while_the_prompts_of_others_are_read(people: int) -> None:
    asked = replace(need_for("llama-3.1-70b"), gpus=(1, 8), context=1900, reads=3.75, concurrent=people)
    (free,) = speeds.gather(asked, {"h100-sxm5-80gb": (8,)}, refuse)
    for latency_s in (free.seconds * 0.8, free.seconds * 1.2):
        for found in speeds.gather(replace(asked, latency_s=latency_s), {"h100-sxm5-80gb": (8,)}, refuse):
            each = -(-people // found.replicas)  # Little's law, of each copy
            assert found.seconds == pytest.approx(each / (found.throughput.value * each / people))


def test_a_model_is_summed_once_for_all_gpus_and_prompts_only_where_asked(monkeypatch) -> None:
    asked = replace(need_for("llama-3.1-8b"), gpus=(1, 1), context=1111)
    gpus = [spec.id for spec in catalog.all_gpus() if spec.memory_bytes][:200]
    sums, prompts = fit_module.memory.cache_info().misses, []
    monkeypatch.setattr(fit_module, "prompt_seconds", lambda *given: prompts.append(given) or 1.0)
    gather(asked, gpus, refuse)
    # Each format at each batch, however many GPUs there are.
    assert 0 < fit_module.memory.cache_info().misses - sums < 60
    assert not prompts
    gather(replace(asked, first_token_s=2.0), gpus, refuse)
    assert len(prompts) > len(gpus) / 10


def test_training_that_does_not_fit_computes_activations_again(need) -> None:
    def small(config, gpus, *, count, batch):
        fits = config.workload.endswith("-checkpointed")
        return tuple(
            replace(each, fits_probability=0.9 if fits or each.gpu_id == "h100-sxm5-80gb" else 0.1)
            for each in forecast(config, gpus, count=count, batch=batch)
        )

    asked = need(workloads=(("llm-8b-qlora", 1.0),), mode="train")
    found = gather(asked, ["rtx-3090", "h100-sxm5-80gb"], small)
    names = {each.gpu_id: (each.question.workload, each.fits_probability) for each in found}
    assert names == {"rtx-3090": ("llm-8b-qlora-checkpointed", 0.9), "h100-sxm5-80gb": ("llm-8b-qlora", 0.9)}


def test_a_limit_on_the_first_token_refuses_what_is_later() -> None:
    def of(text: str) -> Record:
        asked = need_for("llama-3.1-8b", precision=Precision.BF16, latency=units.parse_latency(text))
        return by_key(gather(replace(asked, gpus=(1, 1)), ["h100-sxm5-80gb"], refuse))["h100-sxm5-80gb", 1]

    alone = fit(Plan(model=llms.find("llama-3.1-8b"), task="infer", context=4096), "h100-sxm5-80gb")
    just = alone.first_token_s * 1e3
    assert of(f"TTFT<={just + 0.1:.1f}ms,TPOT<=50ms").throughput is not None
    assert "first token" in of(f"TTFT<={just - 0.1:.1f}ms,TPOT<=50ms").refusal


def test_a_mix_compares_as_its_times_do_whatever_the_items(need) -> None:
    def two(config, gpus, *, count, batch):
        speeds = {"resnet50": (100.0, 400.0), "bert-large": (10.0, 10.0)}[config.workload]
        return tuple(
            predicted(gpu_id=g, config=config, item="image", throughput=around(v, 1.2))
            for g, v in zip(gpus, speeds, strict=True)
        )

    asked = need(workloads=(("resnet50", 0.5), ("bert-large", 0.5)))
    slow, fast = gather(asked, ["rtx-3090", "l40s"], two)
    assert fast.throughput.value / slow.throughput.value == pytest.approx(2.0)
    assert fast.throughput.high / fast.throughput.value == pytest.approx(1.2)
    assert item_of(asked) == "item"
    assert item_of(need()) == "image"


def test_a_mix_says_what_each_part_does(need) -> None:
    asked = need(workloads=(("resnet50", 0.7), ("bert-large", 0.3)))
    (found,) = speeds.gather(asked, {"rtx-4090": (1,)}, forecast)
    assert [re.findall(r"[\d.]+ ", part)[:1] for part in found.notes[1:]] == [["100 "], ["100 "]]
    assert ["70 %" in found.notes[1], "30 %" in found.notes[2]] == [True, True]


def test_a_mix_is_refused_where_one_part_is(need) -> None:
    def half(config, gpus, *, count, batch):
        made = refuse if config.workload == "bert-large" else forecast
        return made(config, gpus, count=count, batch=batch)

    (found,) = gather(need(workloads=(("resnet50", 0.5), ("bert-large", 0.5))), ["l40s"], half)
    assert found.refusal == "no"


def test_scientific_work_comes_from_the_data_sheet(need) -> None:
    asked = need(workloads=(("fft", 1.0),), mode="compute", precision="fp64")
    found = by_key(gather(asked, ["h100-sxm5-80gb", "a10"], forecast))
    assert found["h100-sxm5-80gb", 1].bound == "memory"
    assert found["h100-sxm5-80gb", 1].throughput.high == 4 * found["h100-sxm5-80gb", 1].throughput.low
    assert found["a10", 1].refusal.startswith("no FP64")


def rising(config, gpus, *, count, batch):
    """A step of 10 ms whatever the batch, of which 256 is the best: as decoding is."""
    items = batch or 256
    return tuple(
        predicted(
            gpu_id=gpu, count=count, config=config, item="token", throughput=around(items / 0.01, 1.2),
            seconds=0.01, batch=items, fits_probability=1.0,
        )
        for gpu in gpus
    )  # fmt: skip


def test_a_measurement_at_a_small_batch_does_not_stand_for_the_best(need) -> None:
    small = result("rtx-3090", 800.0, batch=8, items_per_step=8)
    found = by_key(gather(need(), ["rtx-3090"], rising, results=[small]))["rtx-3090", 1]
    assert (found.basis, found.throughput.value) == ("spec-only", 25600.0)
    near = result("rtx-3090", 21000.0, batch=224, items_per_step=224)
    assert by_key(gather(need(), ["rtx-3090"], rising, results=[near]))["rtx-3090", 1].basis == "measured"
    asked = by_key(gather(need(batch=8), ["rtx-3090"], rising, results=[small]))["rtx-3090", 1]
    assert (asked.basis, asked.batch) == ("measured", 8)


def test_a_measurement_stands_where_its_batch_has_no_trace(need) -> None:
    def untraced(config, gpus, *, count, batch):
        if batch == 8:
            raise NoDataError("no shipped trace")
        return rising(config, gpus, count=count, batch=batch)

    small = result("rtx-3090", 800.0, batch=8, items_per_step=8)
    found = by_key(gather(need(), ["rtx-3090"], untraced, results=[small]))["rtx-3090", 1]
    assert found.basis == "measured"


def test_a_measured_step_that_is_too_slow_does_not_hide_a_batch_that_is_quick_enough(need) -> None:
    slow = result("rtx-3090", 2000.0, batch=64)
    asked = need(latency_s=0.02)
    found = by_key(gather(asked, ["rtx-3090"], forecast, results=[slow]))["rtx-3090", 1]
    assert (found.basis, found.seconds) == ("spec-only", 0.01)
    quick = result("rtx-3090", 1900.0, batch=32, items_per_step=32)
    found = by_key(gather(asked, ["rtx-3090"], forecast, results=[slow, quick]))["rtx-3090", 1]
    assert (found.basis, found.batch) == ("measured", 32)


def test_a_measurement_that_ships_with_gpuwise_says_where_it_is_from_and_has_its_own_step(need) -> None:
    def known(config, gpus, *, count, batch):
        (found,) = forecast(config, gpus, count=count, batch=batch)
        own = replace(found, origin="measured", basis="measured", throughput=around(50.0, 1.01))
        return (replace(found, measured=replace(own, notes=("steps.json",)), basis="measured"),)

    (found,) = gather(need(), ["rtx-3090"], known)
    assert (found.notes, found.throughput.value) == (("steps.json",), 50.0)
    assert found.seconds == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("model", "mode", "context", "gpu", "count", "held"),
    [
        ("llama-3.1-70b", "qlora", 2048, "rtx-3090", 2, 256),
        ("qwen3-32b", "infer", 32768, "rtx-3090", 1, 8192),
        ("llama-3.1-70b", "infer", 4096, "rtx-4090", 1, 0),
    ],
)
def test_the_longest_shorter_context_that_fits_is_named(
    model: str, mode, context: int, gpu: str, count: int, held: int
) -> None:
    asked = replace(need_for(model, mode=mode), context=context)
    said = speeds.shorter(asked, gpu, count)
    assert (f"contexts of {held:,} tokens fit" in said) == (held > 0)
    weights = Precision.NF4 if mode == "qlora" else Precision.INT4
    plan = Plan(model=llms.find(model), task=mode, weights=weights, gpus=count, checkpoint=mode == "qlora")
    plan = replace(plan, chunked=mode == "qlora")
    assert not fit(replace(plan, context=2 * held or 256), gpu).fits
    assert not held or fit(replace(plan, context=held), gpu).fits


def test_cards_of_an_odd_number_may_leave_one_without_work() -> None:
    asked = settled(need_for("served:mixtral-8x7b"))
    two, three = speeds.gather(asked, {"rtx-4090": (2, 3)}, forecast)
    assert three.throughput == two.throughput
    assert three.gpus == 3
    assert any(note.endswith(IDLE) for note in three.notes)


def test_each_die_of_a_card_serves_its_own_copy_or_one_alone_works() -> None:
    asked = settled(replace(need_for("served:qwen2.5-7b"), concurrent=16))
    both, half = speeds.gather(asked, {"mi250": (1,), "mi210": (1,)}, forecast)
    assert (both.gpus, both.replicas) == (1, 2)
    assert half.throughput.value < both.throughput.value <= 2 * half.throughput.value
    assert (both.watts.value, half.watts.value) == (560, 300)
    trains = replace(need_for("llama-3.1-8b", mode="lora"), batch=1)
    both, half = speeds.gather(settled(trains), {"mi250": (1,), "mi210": (1,)}, forecast)
    assert both.throughput.value == pytest.approx(half.throughput.value, rel=0.02)
    assert both.notes[-1] == f"1 of 2{DIES}"


def test_cards_that_work_in_turn_draw_no_more_than_one_and_what_waiting_takes() -> None:
    asked = settled(replace(need_for("served:llama-3.1-8b"), precision=Precision.Q4_K_M, formats=()))
    one, four = speeds.gather(asked, {"rtx-3090": (1, 4)}, forecast)
    for found, most in ((one, 350), (four, 4 * 350)):
        assert found.watts.value <= most
    dealt = speeds._of_model(replace(asked, concurrent=1), Precision.Q4_K_M, "rtx-3090", 4)
    assert 350 < dealt.watts.value == pytest.approx(350 * (1 + 3 * 0.24))


def test_machines_apart_hold_a_copy_each_for_their_share_of_the_people() -> None:
    asked = settled(replace(need_for("served:qwen2.5-7b"), concurrent=120))
    assert apart(asked, "l4", 1, 1) is None  # Too many contexts for one
    several = apart(asked, "l4", 1, 4)
    assert several is not None
    assert (several.gpus, several.replicas) == (4, 4)
    assert several.seconds is not None
    assert several.seconds <= 0.05


@pytest.mark.parametrize(
    ("gpu", "weights", "lacks"),
    [
        ("a100-pcie-80gb", "fp8", True),
        ("h100-pcie-80gb", "fp8", False),
        ("p40", "bf16", True),
        ("p40", "int4", False),
    ],
)
def test_formats_without_units_are_known(gpu: str, weights: str, lacks: bool) -> None:
    assert no_units(gpu, Precision(weights)) is lacks


def test_copies_that_people_share_unevenly_count_only_their_answers() -> None:
    one = made_up(gpu_id="l40s", throughput=around(100.0, 1.1))
    rates = [speeds.times(one, 4, people).throughput.value for people in (0, 12, 13)]
    assert rates == pytest.approx([400.0, 400.0, 325.0])
