"""Verdicts, pairing of results, and the gate."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, sqrt
from random import Random
from typing import Any

import pytest

from gpuwise.errors import InputError
from gpuwise.model.question import Environment, RunConfig, Switches
from gpuwise.model.result import Comparison, Interval, Issue, Measurement, Result, Window
from gpuwise.stats.comparison import (
    Condition,
    compare,
    pair,
    parse_condition,
    reproduced,
    run_to_run,
    violations,
)
from gpuwise.stats.interval import Spread, throughput

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


def interval(value: float, low: float, high: float, method: str = "test") -> Interval:
    return Interval(value=value, low=low, high=high, method=method)


def processes(*step_s: float) -> Measurement:
    """Each process with four windows that agree."""
    windows = tuple(
        Window(step_s=(each,) * 30, started_s=0, ended_s=1, run=run)
        for run, each in enumerate(step_s)
        for _ in range(4)
    )
    steps, runs = [w.step_s for w in windows], [w.run for w in windows]
    return measured(windows=windows, throughput=throughput(steps, 256, runs=runs))


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
    """Also for old files, whose value is the mean of three runs."""
    mine, other = measured(spread=0.1), measured(0.02, 0.1, seed=3)
    runs = replace(mine, throughput=interval(8400, 8300, 8500, "mean-of-runs"))
    for a, b in ((mine, other), (runs, other), (other, runs)):
        found = compare(a, b)
        assert found.ratio is not None
        assert found.ratio.value == pytest.approx(b.throughput.value / a.throughput.value)


@pytest.mark.parametrize(
    ("step_s", "verdict"),
    [(0.03 / 1.018, "same"), (0.03 / 1.022, "unclear"), (0.03 / 1.054, "unclear"), (0.03 / 1.059, "faster"),
     (0.03 * 1.018, "same"), (0.03 * 1.022, "unclear"), (0.03 * 1.054, "unclear"), (0.03 * 1.059, "slower")],
)  # fmt: skip
def test_single_runs_that_differ_by_less_than_equals_may_are_unclear(step_s: float, verdict: str) -> None:
    """Equal cards differ by some per cent: 2.58 standard deviations of two runs, 1.5 % each, are 5.5 %."""
    found = compare(processes(0.03), processes(step_s))
    assert (found.verdict, found.basis) == (verdict, "assumed")
    assert ("repeat both" in found.note) == (verdict == "unclear")


@pytest.mark.parametrize("code", ["contended", "unsteady"])
def test_what_disturbed_a_single_run_leaves_a_difference_of_40_percent_open(code: str) -> None:
    quiet, doubt = measured(), (Issue.warning(code, "", ""),)
    for step_s, verdict in ((0.0214, "unclear"), (0.0204, "faster"), (0.0425, "unclear"), (0.0442, "slower")):
        for cautions in ((doubt, ()), ((), doubt)):
            a = replace(quiet, cautions=cautions[0])
            found = compare(a, measured(step_s, seed=1, cautions=cautions[1]))
            assert (found.verdict, reproduced(found)) == (verdict, verdict == "unclear")
            assert (code in found.note) is (verdict == "unclear")
    assert not reproduced(compare(quiet, measured(0.0225, seed=1)))


def test_repeats_say_how_runs_differ() -> None:
    a = processes(0.0300, 0.0301, 0.0302)
    far = compare(a, processes(0.0295, 0.0296, 0.0297))
    assert (far.basis, far.verdict) == ("repeats", "faster")
    wild = compare(a, processes(0.026, 0.028, 0.030))
    assert wild.verdict == "unclear"


def test_stored_repeats_stand_for_those_of_single_runs() -> None:
    a, b = processes(0.03), processes(0.03 / 1.025)
    calm, wild = Spread(0.002, 20), Spread(0.02, 20)
    assert compare(a, b, calm).verdict == "faster"
    assert compare(a, b, wild).verdict == "unclear"
    assert compare(a, b, calm).basis == "stored"
    found = compare(a, b, wild).ratio
    assert found is not None
    # t of 20 degrees, and the difference of two runs.
    assert found.high / found.value == pytest.approx(exp(2.086 * 0.02 * sqrt(2)), rel=1e-3)


def timed(*windows: tuple[float, ...]) -> Measurement:
    """One process with these windows."""
    every = tuple(Window(step_s=each, started_s=0, ended_s=sum(each)) for each in windows)
    return measured(windows=every, throughput=throughput(windows, 256))


def test_what_is_known_of_runs_never_narrows_what_few_windows_say() -> None:
    a, b = timed((0.03,) * 30, (0.031,) * 30), timed((0.03,) * 30, (0.0303,) * 30)
    alone, beside = (compare(a, b, stored).ratio for stored in (None, Spread(0.015, 1000)))
    assert alone is not None
    assert beside is not None
    assert beside.high == pytest.approx(alone.high)
    much = compare(a, b, Spread(0.15, 1000)).ratio
    assert much is not None
    assert much.high > 1.1 * alone.high


@pytest.mark.parametrize(
    ("steps", "stall_s", "verdict"),
    [(667, 1.0, "faster"), (666, 1.0, "unclear"), (333, 1.0, "unclear"), (666, 0.0, "same")],
)
def test_stalls_that_the_other_may_have_been_too_short_to_see_are_no_difference(
    steps: int, stall_s: float, verdict: str
) -> None:
    stalling = timed(*[((0.03,) * 99 + (0.03 + stall_s,))] * 40)  # one in 4 s
    quiet = timed(*[(0.03,) * (steps // 9)] * 8, (0.03,) * (steps - steps // 9 * 8))
    assert compare(stalling, quiet, Spread(0.001, 1000)).verdict == verdict
    other = {"faster": "slower"}.get(verdict, verdict)
    assert compare(quiet, stalling, Spread(0.001, 1000)).verdict == other
    assert compare(stalling, stalling, Spread(0.001, 1000)).verdict == "same"


@pytest.mark.parametrize(("steps", "verdict"), [(640, "faster"), (639, "unclear")])
def test_five_stalls_that_should_have_been_seen_are_enough(steps: int, verdict: str) -> None:
    step_s = 1 / 32  # sums are exact
    stalling = timed(*[((step_s,) * 99 + (29 * step_s,))] * 40)  # one in 4 s; 20 s should have seen five
    quiet = timed(*[(step_s,) * 128] * 4, (step_s,) * (steps - 512))
    assert compare(stalling, quiet, Spread(0.001, 1000)).verdict == verdict


def test_how_runs_differ_is_pooled_over_questions() -> None:
    infer = replace(CONFIG, mode="infer")
    sessions = [
        result(processes(0.030), replace(processes(0.010), config=infer)),
        result(processes(0.031), replace(processes(0.010), config=infer)),
        result(processes(0.030)),
    ]
    found = run_to_run(sessions, {"NVIDIA H200"})
    assert found is not None
    differ = log(31 / 30)
    assert found.degrees == 3
    assert found.error == pytest.approx(sqrt(2 / 3 * differ**2 / 3), rel=1e-6)
    assert run_to_run(sessions, {"another"}) is None
    assert run_to_run(sessions[:1], {"NVIDIA H200"}) is None
    newer = replace(sessions[0], environment=Environment(device="NVIDIA H200", driver="580"))
    assert run_to_run([sessions[1], newer], {"NVIDIA H200"}) is None
    (own,) = [run_to_run([result(processes(0.030, 0.031))], {"NVIDIA H200"})]
    assert own is not None
    assert own.error == pytest.approx(differ / sqrt(2), rel=1e-6)


@pytest.mark.parametrize(
    "change",
    [{"status": "interrupted"}, {"config": replace(CONFIG, mode="limit")}, {"items_per_step": None},
     {"windows": ()}],
)  # fmt: skip
def test_what_is_no_speed_says_nothing_of_runs(change: dict[str, Any]) -> None:
    sessions = [result(replace(processes(step_s), **change)) for step_s in (0.030, 0.031)]
    assert run_to_run(sessions, {"NVIDIA H200"}) is None


def test_of_many_questions_one_that_changed_does_not_stand_for_all() -> None:
    modes = [replace(CONFIG, batch=size) for size in (1, 2, 4, 8, 16)]
    times = {1: 0.0303, 2: 0.0303, 4: 0.0303, 8: 0.0303, 16: 0.3}
    first = result(*(replace(processes(0.03), config=c, batch=c.batch) for c in modes))
    second = result(*(replace(processes(times[c.batch or 0]), config=c, batch=c.batch) for c in modes))
    found = run_to_run([first, second], {"NVIDIA H200"})
    assert found is not None
    assert found.degrees == 2.5
    assert found.error == pytest.approx(log(1.01) / sqrt(2) / (1 - 2 / 9) ** 1.5, rel=1e-6)


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


@pytest.mark.parametrize("verdict", ["slower", "faster"])
def test_a_gate_is_failed_beyond_its_share_and_not_at_it(verdict: str) -> None:
    low, high = (0.9, 0.95) if verdict == "slower" else (1.05, 1.1)
    gate, beyond = Condition(verdict=verdict, by=0.05), 1e-6 if verdict == "faster" else -1e-6  # type: ignore[arg-type]
    cases = [with_ratio(low + off, 1.0, high + off, verdict) for off in (0, beyond)]
    assert violations(cases, gate) == (cases[1],)


def test_single_runs_fail_no_gate_by_what_equal_runs_may_differ() -> None:
    slower, more = processes(0.03 * 1.04), processes(0.03 * 1.08)
    gate = Condition(verdict="slower", by=0.02)
    found = [compare(processes(0.03), each) for each in (slower, more)]
    assert [c.basis for c in found] == ["assumed"] * 2
    assert violations(found, gate) == (found[1],)
    calm = [compare(processes(0.03), each, Spread(0.002, 20)) for each in (slower, more)]
    assert violations(calm, gate) == tuple(calm)


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
    # Beside what meets its like, in the order of the first file.
    bert = replace(CONFIG, workload="bert-large")
    there = replace(bert, switches=Switches(attention="triton"))
    pairs = pair(result(measured(config=bert), measured()), result(measured(), measured(config=there)))
    assert [(c.a.config.workload, c.b.config.recipe) for c in pairs] == [
        ("bert-large", "tuned"),
        ("resnet50", "stock"),
    ]


@pytest.mark.parametrize(
    ("low", "high", "same", "again"),
    [
        (0.98, 1.02, True, True), (0.9799, 1.02, False, True), (0.98, 1.0201, False, True),
        (1.02, 1.1, False, True), (1.0201, 1.1, False, False), (0.9, 0.98, False, True),
        (0.9, 0.9799, False, False),
    ],
)  # fmt: skip
def test_the_same_is_within_two_hundredths(
    low: float, high: float, same: bool, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ratio = interval((low + high) / 2, low, high)
    monkeypatch.setattr("gpuwise.stats.comparison.ratio_of_steps", lambda *_: ratio)
    found = compare(measured(), measured())
    assert (found.verdict == "same", reproduced(found)) == (same, again)
