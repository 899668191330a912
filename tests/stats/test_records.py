"""Two records are divided in one place, which refuses what differs in more than was asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.facts import published
from gpuwise.model.question import Switches
from gpuwise.model.result import Interval, Record, records_of
from gpuwise.stats.scaling import Incomparable, curves, difference, ratio_between

H200 = Path(__file__).parents[2] / "results" / "h200"


def records(*names: str) -> tuple[Record, ...]:
    return records_of(store.load(H200 / name) for name in names)


@pytest.fixture(scope="module")
def one() -> Record:
    return next(r for r in records("suite-tf-cnn.json") if r.question.workload == "googlenet")


def test_a_ratio_is_of_the_two_values_with_the_uncertainty_of_both(one: Record) -> None:
    assert one.throughput is not None
    faster = replace(one, throughput=one.throughput.times(1.5))
    found = ratio_between(one, faster)
    assert found.value == pytest.approx(1.5)
    assert found.low < 1.5 < found.high


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("batch", {"batch": 7}),
        ("recipe", {"recipe": "script"}),
        ("switches", {"switches": Switches(graph="on")}),
        ("precision", {"precision": "bf16"}),
        ("compile", {"compile": True}),
        ("framework", {"framework": "jax"}),
        ("gpus", {"gpus": 4}),
        ("input", {"input": "host"}),
        ("content", {"content": "f00"}),
    ],
)
def test_questions_that_differ_are_refused_unless_asked(
    one: Record, part: str, other: dict[str, object]
) -> None:
    changed = replace(one, question=replace(one.question, **other))  # type: ignore[arg-type]
    with pytest.raises(Incomparable, match=part):
        ratio_between(one, changed)
    assert ratio_between(one, changed, ignoring=(part,)).value == 1.0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("part", "other"), [("session", "another"), ("gpu", "l40s"), ("origin", "predicted")]
)
def test_other_conditions_are_refused_unless_asked(one: Record, part: str, other: str) -> None:
    field = {"gpu": "gpu_id"}.get(part, part)
    changed = replace(one, **{field: other})  # type: ignore[arg-type]
    assert difference(one, changed).startswith(part)
    assert difference(one, changed, (part,)) == ""  # type: ignore[arg-type]


def test_nothing_is_divided_by_what_has_no_throughput(one: Record) -> None:
    with pytest.raises(Incomparable, match="googlenet"):
        ratio_between(one, replace(one, throughput=None))


def test_googlenet_on_four_scales_as_its_own_session_says() -> None:
    """Across sessions, batches and recipes the quotient would be 85 %."""
    every = records_of(store.load(path) for path in sorted(H200.glob("*.json")))
    shares = [
        round(curve.share(r).value, 3)
        for curve in curves(every)
        for r in curve.records
        if (r.question.workload, r.question.precision, r.gpus) == ("googlenet", "fp16", 4)
    ]
    assert shares == [0.974, 0.946]
    for curve in curves(every):
        assert len({(r.session, r.batch, r.question.recipe, r.gpu_id) for r in curve.records}) == 1


def test_a_published_series_is_of_one_source_whatever_its_batches() -> None:
    found = curves(published.plausible(published.select(workload="resnet50")))
    assert found
    for curve in found:
        assert len({(r.session, r.question.precision, r.question.compile) for r in curve.records}) == 1
        assert curve.share(curve.one).value == pytest.approx(1.0)


def test_several_gpus_that_share_one_batch_are_no_point_of_the_curve() -> None:
    value = Interval(value=100.0, low=99.0, high=101.0, method="bootstrap")
    (alone, *_) = (r for r in records("suite-tf-cnn.json") if r.question.mode == "train")
    two = replace(alone, question=replace(alone.question, gpus=2), throughput=value)
    strong = replace(two, question=replace(two.question, scaling="strong"))
    assert len(curves([alone, two])) == 1
    assert curves([alone, strong]) == ()
    assert curves([alone, two], most=1) == ()
    assert len(curves([alone, two], most=2)) == 1


def test_only_what_was_measured_needs_one_batch_on_each_number_of_gpus(one: Record) -> None:
    two = replace(one, question=replace(one.question, gpus=2, batch=7))
    assert curves([one, two]) == ()
    (stated,) = curves([replace(each, origin="published", session="a table") for each in (one, two)])
    assert stated.share(stated.records[1]).value == pytest.approx(0.5)
