"""Verdicts, pairing of results, and the gate."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from gpuwise.errors import InputError
from gpuwise.model.recipe import Switches
from gpuwise.model.record import Comparison
from gpuwise.model.result import Interval, Measurement, Result, Window
from gpuwise.model.run import Environment, RunConfig
from gpuwise.stats import (
    Condition,
    compare,
    mean_of_runs,
    pair,
    parse_condition,
    reproduced,
    throughput,
    violations,
)

CONFIG = RunConfig(workload="resnet50", mode="train", precision="bf16")


def measured(step_s: float = 0.03, spread: float = 0.001, seed: int = 0, batch: int = 256, **more: Any):
    draw = Random(seed)
    steps = [tuple(step_s * (max(0.1, 1 + draw.gauss(0, spread))) for _ in range(30)) for _ in range(6)]
    given = {
        "config": CONFIG,
        "workload_version": 1,
        "status": "ok",
        "item": "image",
        "started_at": "2026-11-21T04:40:12Z",
        "batch": batch,
        "items_per_step": float(batch),
        "throughput": throughput(steps, batch),
        "windows": tuple(Window(step_s=s, started_s=0, ended_s=sum(s)) for s in steps),
    }
    return Measurement(**{**given, **more})


def published(rate: float, **more: Any) -> Measurement:
    stated = Interval(value=rate, low=rate, high=rate, level=None, method="stated")
    return measured(throughput=stated, windows=(), items_per_step=None, **more)


def result(*measurements: Measurement) -> Result:
    return Result(
        id="20261121-044012-h200-3fa9",
        created_at="2026-11-21T04:40:12Z",
        command="gpuwise bench",
        environment=Environment(device="NVIDIA H200"),
        measurements=measurements,
    )


@pytest.mark.parametrize(
    ("step_s", "spread", "verdict"),
    [
        (0.03, 0.001, "same"),
        (0.0297, 0.001, "same"),
        (0.0303, 0.001, "same"),
        (0.02, 0.001, "faster"),
        (0.04, 0.001, "slower"),
        (0.03, 0.3, "unclear"),
    ],
)
def test_verdict(step_s: float, spread: float, verdict: str) -> None:
    found = compare(measured(), measured(step_s, spread, seed=1))
    assert found.verdict == verdict
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(0.03 / step_s, rel=0.005 + spread / 4)


def test_swapping_sides_turns_the_verdict_around() -> None:
    a, b = measured(), measured(0.02, seed=1)
    there, back = compare(a, b), compare(b, a)
    assert (there.verdict, back.verdict) == ("faster", "slower")
    assert there.ratio is not None
    assert back.ratio is not None
    assert there.ratio.value == pytest.approx(1 / back.ratio.value)


def test_a_published_figure_lends_no_uncertainty() -> None:
    mine = measured(spread=0.02)
    assert mine.throughput is not None
    found = compare(published(4000), mine)
    assert found.ratio is not None
    assert found.ratio.low == pytest.approx(mine.throughput.low / 4000)
    assert found.ratio.high == pytest.approx(mine.throughput.high / 4000)
    assert found.verdict == "faster"


def test_the_ratio_is_that_of_the_values_shown() -> None:
    """Also for means of runs, whose value is no median of windows."""
    mine, other = measured(spread=0.1), measured(0.02, 0.1, seed=3)
    runs = replace(mine, throughput=mean_of_runs([w.step_s for w in mine.windows], 256))
    for a, b in ((mine, other), (runs, other), (other, runs)):
        found = compare(a, b)
        assert found.ratio is not None
        assert found.ratio.value == pytest.approx(b.throughput.value / a.throughput.value)


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"workload_version": 2}, "workload version 1 against 2"),
        ({"config": replace(CONFIG, mode="infer")}, "another question"),
        ({"config": replace(CONFIG, precision="fp16")}, "another question"),
        ({"config": replace(CONFIG, size="toy")}, "another question"),
        ({"status": "oom", "throughput": None}, "the other is oom"),
        ({"status": "interrupted"}, "the other is interrupted"),
        ({"throughput": None}, "the other has no throughput"),
        ({"throughput": Interval(value=0, low=0, high=0, method="stated")}, "the other has no throughput"),
    ],
)
def test_not_comparable(change: dict[str, Any], note: str) -> None:
    found = compare(measured(), measured(**change))
    assert (found.verdict, found.ratio) == ("not-comparable", None)
    assert note in found.note


def test_steps_without_time_leave_the_stated_interval() -> None:
    odd = measured(windows=(Window(step_s=(0.0, 0.03), started_s=0, ended_s=0.03),))
    found = compare(measured(), odd)
    assert found.ratio is not None
    assert (found.verdict, found.ratio.method) == ("same", "ratio-of-intervals")


def test_one_on_each_side_are_compared_across_batches() -> None:
    (found,) = pair(result(measured()), result(measured(0.06, batch=512)))
    assert (found.verdict, found.note) == ("same", "batch 256 against 512")


def test_another_recipe_within_a_cell_is_noted() -> None:
    plain = measured()
    other = replace(plain, config=replace(plain.config, switches=Switches(pooling="triton")))
    assert compare(plain, plain).note == ""
    assert compare(plain, other).note == "recipe as usual against pooling=triton"
    assert compare(plain, replace(other, batch=64)).note.startswith("batch 256 against 64, recipe as usual")


def test_several_in_a_cell_are_matched_by_batch() -> None:
    a = result(measured(batch=64), measured(batch=128))
    b = result(measured(batch=256), measured(batch=128))
    (found,) = pair(a, b)
    assert (found.a.batch, found.b.batch, found.note) == (128, 128, "")


def test_repeated_measurements_are_paired_one_to_one() -> None:
    a = result(measured(seed=1), measured(seed=2))
    b = result(measured(seed=3), measured(seed=4))
    assert [(c.a, c.b) for c in pair(a, b)] == list(zip(a.measurements, b.measurements, strict=True))


def test_limits_are_paired_and_the_unmatched_left_out() -> None:
    limit = measured(config=RunConfig(workload="matmul", mode="limit", precision="bf16"))
    other = measured(config=replace(CONFIG, compile=True))
    (found,) = pair(result(limit, measured()), result(other, limit))
    assert (found.cell, found.verdict) == ("matmul:limit:bf16:eager:stock", "same")


def test_failed_counterpart_is_paired() -> None:
    (found,) = pair(result(measured()), result(measured(status="oom", throughput=None)))
    assert found.verdict == "not-comparable"


@pytest.mark.parametrize(
    ("text", "verdict", "by"),
    [
        ("slower>5%", "slower", 0.05),
        (" faster > 3.5 % ", "faster", 0.035),
        ("slower", "slower", 0.0),
        ("unclear", "unclear", 0.0),
    ],
)
def test_conditions_are_read(text: str, verdict: str, by: float) -> None:
    found = parse_condition(text)
    assert (found.verdict, found.by) == (verdict, pytest.approx(by))


@pytest.mark.parametrize(
    "text", ["", "slower>5", "slower<5%", "unclear>5%", "same", "slower>.%", "slower>100%"]
)
def test_other_conditions_are_refused_with_a_hint(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_condition(text)
    assert "slower>5%" in str(caught.value.hint)


def with_ratio(low: float, value: float, high: float, verdict: str) -> Comparison:
    ratio = Interval(value=value, low=low, high=high, method="test")
    return Comparison(cell="c", a=measured(), b=measured(), ratio=ratio, verdict=verdict)  # type: ignore[arg-type]


def test_noise_fails_no_gate() -> None:
    """A value 8 % slower whose interval reaches 4 % is not proven to be 5 % slower."""
    clear = with_ratio(0.90, 0.92, 0.94, "slower")
    doubtful = with_ratio(0.88, 0.92, 0.96, "slower")
    assert violations([clear, doubtful], Condition(verdict="slower", by=0.05)) == (clear,)


def test_faster_unclear_and_plain_slower_gates() -> None:
    faster, unclear = with_ratio(1.04, 1.05, 1.06, "faster"), with_ratio(0.9, 1, 1.1, "unclear")
    same = with_ratio(0.985, 0.99, 0.995, "same")
    every = [faster, unclear, same]
    assert violations(every, Condition(verdict="faster", by=0.03)) == (faster,)
    assert violations(every, Condition(verdict="unclear")) == (unclear,)
    assert violations(every, Condition(verdict="slower")) == ()


@pytest.mark.parametrize(("status", "fails"), [("oom", True), ("failed", True), ("interrupted", False)])
def test_what_broke_meets_a_slower_gate(status: str, fails: bool) -> None:
    broken = compare(measured(), measured(status=status, throughput=None))
    assert bool(violations([broken], Condition(verdict="slower", by=0.05))) == fails
    assert not violations([broken], Condition(verdict="faster", by=0.05))
    assert not violations([compare(broken.b, broken.a)], Condition(verdict="slower", by=0.05))


@pytest.mark.parametrize(
    ("low", "high", "yes"),
    [(0.99, 1.01, True), (0.90, 0.985, True), (0.90, 0.97, False), (1.03, 1.2, False), (0.5, 2.0, True)],
)
def test_reproduced_means_that_it_may_be_one_speed(low: float, high: float, yes: bool) -> None:
    found = compare(measured(), measured())
    assert found.ratio is not None
    assert reproduced(replace(found, ratio=replace(found.ratio, low=low, high=high))) is yes


def test_what_has_no_ratio_is_not_reproduced() -> None:
    assert not reproduced(compare(measured(), replace(measured(), status="oom", throughput=None)))


def test_another_framework_meets_the_same_question_without_a_verdict() -> None:
    jax = replace(CONFIG, framework="jax")
    (found,) = pair(result(measured()), result(measured(step_s=0.06, config=jax)))
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(0.5, rel=0.01)
    assert found.verdict == "not-comparable"
    assert found.note == "framework torch against jax; a difference of software, not only of GPUs"
    assert violations((found,), parse_condition("slower>5%")) == ()
    assert violations((found,), parse_condition("slower")) == ()


def test_one_framework_meets_itself_where_it_can() -> None:
    both = [measured(), measured(step_s=0.06, config=replace(CONFIG, framework="jax"))]
    found = pair(result(*both), result(*reversed(both)))
    assert [(c.a.config.framework, c.b.config.framework) for c in found] == [
        ("torch", "torch"),
        ("jax", "jax"),
    ]
    assert [c.verdict for c in found] == ["same", "same"]
    assert len(pair(result(both[0]), result(both[1]))) == 1


def test_stock_meets_stock_and_tuned_what_is_left() -> None:
    tuned = replace(CONFIG, switches=Switches(pooling="triton"))
    (found,) = pair(result(measured()), result(measured(0.02, config=tuned)))
    assert (found.verdict, found.note) == ("faster", "recipe as usual against pooling=triton")
    both = measured(config=tuned), measured()
    pairs = pair(result(*both), result(measured(), measured(0.02, config=tuned)))
    assert [(c.a.config.recipe, c.b.config.recipe) for c in pairs] == [("tuned",) * 2, ("stock",) * 2]
