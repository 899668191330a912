"""Exchange between GPUs: a ring over the card's link, hidden behind the backward pass."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.predict.transformers import transformer
from gpuwise.errors import NoDataError
from gpuwise.facts import catalog
from gpuwise.model.question import RunConfig
from gpuwise.predictor import card as cards
from gpuwise.predictor import forecast as c
from gpuwise.predictor.card import card
from gpuwise.predictor.kernels import Memory

GIB = 2**30
TRACE = replace(
    transformer("bert_large", batch=8, length=128, train=True),
    memory=Memory(parameters=GIB, gradients=GIB, optimiser=2 * GIB, peak=6 * GIB, largest=GIB / 8),
)


def test_the_ring_reaches_what_nccl_tests_measured() -> None:
    """Eight A100 SXM: 234.9 GB/s of bus bandwidth at 17 GB, 18 GB/s at 1 MiB (figures of nccl-tests)."""
    rate, how = cards.bus("a100-sxm4-80gb", 8)
    assert how == "NVLink"
    for size, measured, within in ((17_179_869_184, 234.89e9, 0.02), (1_048_576, 18.0e9, 0.25)):
        reached = 2 * 7 / 8 * size / c.all_reduce(size, rate, 8)
        assert reached == pytest.approx(measured, rel=within)


def test_bridges_join_two_and_the_rest_goes_over_pcie() -> None:
    assert cards.bus("rtx-3090", 2)[1] == "NVLink"
    assert cards.bus("rtx-3090", 4)[1] == "PCIe 4.0 through host memory"
    assert cards.bus("rtx-3090", 4)[0] == cards.bus("rtx-4090", 4)[0]
    assert cards.bus("rtx-a6000", 4)[1] == "PCIe 4.0"
    assert cards.bus("rtx-4090", 2)[1] == "PCIe 4.0 through host memory"
    assert cards.bus("rtx-4090", 2)[0] < cards.bus("rtx-a4000", 2)[0]


def test_what_joins_modules_without_a_stated_link_is_not_guessed() -> None:
    with pytest.raises(NoDataError, match="mi355x"):
        cards.bus("mi355x", 8)
    with pytest.raises(NoDataError, match="machines"):
        c.exchange(TRACE, "h200-sxm", 1.0, 9)


def test_one_gpu_and_inference_exchange_nothing() -> None:
    for trace, count in ((TRACE, 1), (replace(TRACE, mode="infer"), 8)):
        assert c.exchange(trace, "h200-sxm", 1.0, count).seconds == 0.0
        assert c.beside(trace, count, split=False) == 0.0
        assert not c.is_split(trace, 1.0, count)


@given(seconds=st.floats(1e-3, 10), count=st.integers(2, 8))
def test_more_gpus_wait_longer_and_a_long_step_hides_the_exchange(seconds: float, count: int) -> None:
    found = c.exchange(TRACE, "rtx-4090", seconds, count)
    assert 0 < found.seconds <= found.total + seconds * 0.05
    if count < 8:
        more = c.exchange(TRACE, "rtx-4090", seconds, count + 1)
        assert more.total > found.total
        assert more.seconds > found.seconds


def test_a_short_step_waits_and_a_long_one_does_not() -> None:
    short, long = (c.exchange(TRACE, "rtx-4090", seconds, 8) for seconds in (0.01, 10.0))
    assert short.seconds > 0.9 * short.total
    assert long.seconds < 0.05 * 10.0


def test_split_state_costs_half_an_exchange_more_and_spares_memory() -> None:
    whole = c.exchange(TRACE, "h200-sxm", 1e-9, 8)
    split = c.exchange(TRACE, "h200-sxm", 1e-9, 8, split=True)
    assert split.total == pytest.approx(1.5 * whole.total)
    assert c.beside(TRACE, 8, split=False) == GIB
    assert c.beside(TRACE, 8, split=True) == pytest.approx((0.15 - 7 / 8 * 4) * GIB)
    assert c.is_split(TRACE, 8.3 * GIB, 8)
    assert not c.is_split(TRACE, 8.4 * GIB, 8)


def test_split_weights_that_do_not_learn_are_gathered_all_the_same() -> None:
    """An adapter's gradients are a hundredth of the weights, which every pass needs whole."""
    assert TRACE.memory is not None
    adapter = replace(TRACE, memory=replace(TRACE.memory, gradients=GIB / 100))
    gathered = c.exchange(adapter, "h200-sxm", 1e-9, 8, split=True).total
    assert gathered == pytest.approx(c.exchange(TRACE, "h200-sxm", 1e-9, 8).total, rel=0.02)


def test_the_slowest_of_several() -> None:
    assert c.slowest(2) == pytest.approx(0.564, rel=0.05)
    assert c.slowest(8) == pytest.approx(1.424, rel=0.02)


def test_gradients_are_copied_to_their_buckets_unless_the_state_is_split() -> None:
    """Many small ones take longer than one of all their bytes: each has a kernel of its own."""
    assert TRACE.memory is not None
    h200 = card("h200-sxm")
    one, many = (c.copies(replace(TRACE.memory, gradient_count=n), h200) for n in (1.0, 1000.0))
    assert 1.0 < one / (2 * GIB / h200.bytes_per_s) < 1.6  # no kernel reaches all of the bandwidth
    assert 1e-3 < many - one < 1e-2
    counted = replace(TRACE, memory=replace(TRACE.memory, gradient_count=1000.0))
    more = c.exchange(counted, "h200-sxm", 1.0, 4).seconds - c.exchange(TRACE, "h200-sxm", 1.0, 4).seconds
    assert more == pytest.approx(many)
    whole, alone = (c.exchange(trace, "h200-sxm", 1.0, 4, split=True) for trace in (counted, TRACE))
    assert whole == alone


def test_a_compiled_step_loses_what_its_graphs_are_cut_at() -> None:
    eager, compiled = TRACE, replace(TRACE, compiled=True)
    assert c.cuts(eager, 4e12) == 0.0
    assert c.cuts(compiled, 4e12) == pytest.approx(2.0 * c.cuts(compiled, 8e12))
    alone = c.exchange(eager, "h200-sxm", 1.0, 4).seconds
    assert c.exchange(compiled, "h200-sxm", 1.0, 4).seconds > alone
    small = replace(compiled, memory=replace(compiled.memory, gradients=2**20))  # type: ignore[arg-type]
    assert c.cuts(small, 4e12) == 0.0


def test_every_card_of_the_catalog_has_a_bus_or_none_is_stated() -> None:
    reached = []
    for spec in catalog.all_gpus():
        with suppress(NoDataError):
            reached.append(cards.bus(spec.id, 2)[0])
    assert len(reached) > 100
    assert min(reached) > 0.1e9
    assert cards.bus("p106-100", 2)[1].startswith("PCIe 1.0")


@pytest.mark.parametrize("workload", ["llm-1b", "llm-1b-finetune", "bert-large"])
@pytest.mark.parametrize("count", [2, 4, 8])
def test_the_better_card_with_the_faster_bus_stays_ahead_in_groups(workload: str, count: int) -> None:
    config = RunConfig(workload=workload, mode="train", precision="bf16")
    old, new = c.forecast(config, ["rtx-4090", "rtx-5090"], count=count)
    assert old.throughput
    assert new.throughput
    assert new.throughput.value > 1.2 * old.throughput.value
