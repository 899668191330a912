"""Scale factors, where they are lost, and how many GPUs are worth it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.model.question import Question, RunConfig, Switches
from gpuwise.model.result import Group, Interval, Measurement, Rank, Record, Window
from gpuwise.stats.interval import throughput
from gpuwise.stats.scaling import Incomparable, cards_of, difference, factor, losses, ratio_between, series

ONE = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)


def measured(
    step_s: float, gpus: int = 1, *, batch: int = 100, alone_s: tuple[float, ...] = (), **more: object
) -> Measurement:
    windows = tuple(Window(step_s=(step_s,) * 4, started_s=n, ended_s=n + 1) for n in range(3))
    ranks = tuple(Rank(rank=r, device="H200", alone_s=a) for r, a in enumerate(alone_s))
    return Measurement(
        config=replace(ONE, gpus=gpus, **more),
        workload_version=1,
        status="ok",
        item="image",
        started_at="",
        batch=batch,
        items_per_step=batch * gpus,
        throughput=throughput([w.step_s for w in windows], batch * gpus),
        windows=windows,
        group=Group(backend="nccl", parallel="ddp", ranks=ranks) if alone_s else None,
    )


def test_of_a_step_that_all_share_each_has_its_part() -> None:
    one, two = measured(1.0), measured(0.6, gpus=2, scaling="tensor", alone_s=(0.5, 0.55))
    two = replace(two, items_per_step=100, throughput=throughput([w.step_s for w in two.windows], 100))
    lost = losses(one, two)
    assert lost is not None
    assert lost.sharing == pytest.approx(0.0)
    assert factor(one, two).value == pytest.approx(0.5 / 0.6)
    assert lost.waiting == pytest.approx(1 - 0.5 / 0.55)
    assert lost.exchange == pytest.approx(1 - 0.55 / 0.6)


def test_the_factor_is_the_speed_per_gpu_over_that_of_one() -> None:
    found = factor(measured(0.095), measured(0.1, gpus=4))
    assert found.value == pytest.approx(0.95)
    assert found.low <= found.value <= found.high
    strong = measured(0.03, gpus=4, batch=25, scaling="strong")
    assert factor(measured(0.096), strong).value == pytest.approx(0.8)
    for pair in ((strong, replace(strong, throughput=None)), (replace(strong, throughput=None), strong)):
        with pytest.raises(ValueError, match="two throughputs"):
            factor(*pair)


@given(st.floats(0.5, 1.0), st.tuples(*[st.floats(0.9, 1.3)] * 3), st.floats(1.0, 1.3))
def test_the_losses_multiply_to_the_factor(
    one: float, each: tuple[float, float, float], exchange: float
) -> None:
    several = measured(max(each) * exchange, gpus=3, alone_s=each)
    alone = measured(one)
    lost = losses(alone, several)
    assert lost is not None
    assert lost.sharing is not None
    product = (1 - lost.sharing) * (1 - lost.waiting) * (1 - lost.exchange)
    assert product == pytest.approx(factor(alone, several).value)


def test_cards_that_differ_are_told_from_what_is_shared() -> None:
    """The one GPU is the first; that it is a fast one is not the others' doing."""
    several = measured(1.2, gpus=4, alone_s=(1.0, 1.05, 1.1, 1.06))
    lost = losses(measured(1.0), several)
    assert lost is not None
    assert lost.sharing == pytest.approx(0.0)
    assert lost.waiting == pytest.approx(1 - 1 / 1.1)
    assert lost.exchange == pytest.approx(1 - 1.1 / 1.2)
    assert several.group is not None
    cards = cards_of(several.group)
    assert cards is not None
    assert (cards.slowest, cards.middle_s) == (2, pytest.approx(1.055))
    assert cards.differ == pytest.approx(1 - 1 / 1.1)


def test_on_the_second_machine_the_one_gpu_is_its_own_first() -> None:
    ranks = tuple(
        Rank(rank=r, node=r // 2, device="H200", alone_s=a) for r, a in enumerate((1.0, 1.0, 1.2, 1.1))
    )
    cards = cards_of(Group(backend="nccl", node=1, ranks=ranks))
    assert cards is not None
    assert cards.one_s == 1.2


def test_how_gradients_are_exchanged_is_no_other_question() -> None:
    after = replace(
        measured(1.01, gpus=2), config=replace(ONE, gpus=2, switches=Switches(overlap_grads="off"))
    )
    other = replace(measured(1.0, gpus=2), config=replace(ONE, gpus=2, switches=Switches(pooling="triton")))
    large = replace(measured(1.01, gpus=2), config=replace(ONE, gpus=2, switches=Switches(bucket="512")))
    found = series([measured(1.0), measured(1.02, gpus=2), after, large, other])
    assert [[point.measurement.config.switches for point in each.points] for each in found] == [
        [Switches()],
        [Switches(overlap_grads="off")],
        [Switches(bucket="512")],
    ]


def test_the_largest_loss_is_named() -> None:
    lost = losses(measured(1.0), measured(1.2, gpus=2, alone_s=(1.0, 1.05)))
    assert lost is not None
    assert lost.largest == "exchange"
    other_batch = losses(measured(1.0), measured(0.6, gpus=2, batch=50, alone_s=(0.5, 0.5)))
    assert other_batch is not None
    assert other_batch.sharing is None  # one GPU never ran that batch
    assert losses(measured(1.0), measured(1.0, gpus=2)) is None


def test_gpus_are_worth_it_until_one_more_adds_too_little() -> None:
    (found,) = series([measured(1.0), measured(1.05, gpus=2), measured(1.8, gpus=4)])
    assert [point.gpus for point in found.points] == [2, 4]
    assert found.worth == 2  # the third and fourth add 0.16 each
    (good,) = series([measured(1.0), measured(1.02, gpus=2), measured(1.05, gpus=4)])
    assert good.worth == 4
    (bad,) = series([measured(1.0), measured(1.5, gpus=2)])
    assert bad.worth == 1


def test_series_hold_what_asks_the_same() -> None:
    weak, strong = measured(1.0, gpus=2), measured(0.6, gpus=2, batch=50, scaling="strong")
    other = measured(1.0, gpus=2, precision="fp16")
    found = series([measured(1.0), weak, strong, other])
    assert [[p.measurement for p in each.points] for each in found] == [[weak], [strong]]
    assert series([weak]) == ()
    assert series([measured(1.0), replace(weak, status="failed")]) == ()


ASKED = Question(workload="resnet50", mode="train", precision="bf16", compile=True, batch=64)
RECORD = Record(
    question=ASKED, gpu_id="h100-sxm", item="image", origin="measured", basis="measured", session="a",
    throughput=Interval.stated(100.0),
)  # fmt: skip
UNLIKE = {
    "workload": {"workload": "vit-b16"}, "content": {"content": "ab"}, "mode": {"mode": "infer"},
    "precision": {"precision": "fp16"}, "compile": {"compile": False}, "framework": {"framework": "jax"},
    "input": {"input": "host"}, "size": {"size": "toy"}, "batch": {"batch": 256},
    "recipe": {"recipe": "script"}, "switches": {"switches": Switches(layout="channels-first")},
    "gpus": {"gpus": 4}, "gpu": {"gpu_id": "h200-sxm"}, "origin": {"origin": "predicted"},
    "session": {"session": "b"},
}  # fmt: skip


@pytest.mark.parametrize("name", UNLIKE)
def test_speeds_are_divided_where_nothing_differs_but_what_is_ignored(name: str) -> None:
    changed = UNLIKE[name]
    if name in ("gpu", "origin", "session"):
        other = replace(RECORD, throughput=Interval.stated(150.0), **changed)
    else:
        other = replace(RECORD, throughput=Interval.stated(150.0), question=replace(ASKED, **changed))
    assert difference(RECORD, other).startswith(f"{name} ")
    with pytest.raises(Incomparable, match=f"differ in {name} "):
        ratio_between(RECORD, other)
    assert difference(RECORD, other, (name,)) == ""  # type: ignore[arg-type]
    assert ratio_between(RECORD, other, ignoring=(name,)).value == pytest.approx(1.5)  # type: ignore[arg-type]
    every = tuple(each for each in UNLIKE if each != name)
    assert difference(RECORD, other, every).startswith(f"{name} ")  # type: ignore[arg-type]
    with pytest.raises(Incomparable, match="no throughput"):
        ratio_between(RECORD, replace(RECORD, throughput=None))


def test_how_one_gpu_would_exchange_gradients_does_not_count_where_their_number_does_not() -> None:
    other = replace(RECORD, question=replace(ASKED, gpus=2, switches=Switches(overlap_grads="off")))
    assert difference(RECORD, other, ("gpus",)) == ""
    assert "switches" in difference(RECORD, other)
