"""BERT-base and the two pre-training phases: size, cost, masked tokens, toy steps."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from evaluation import costs
from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.workloads import bert
from gpuwise.workloads.bert import BertShape
from gpuwise.workloads.models import bert as jobs
from gpuwise.workloads.models.bert import BertForPreTraining, BertForQuestionAnswering

from .conftest import BATCH, build, toy

ON_CPU = pytest.mark.parametrize("precision", [Precision.FP32, Precision.BF16])
PHASES = pytest.mark.parametrize(
    ("name", "tokens", "masked"),
    [("bert-large-pretrain-s128", 128, 20), ("bert-large-pretrain-s512", 512, 80)],
)
BASE = BertShape(layers=12, hidden=768, heads=12, words=30_522, vocabulary=30_522)
LARGE = BertShape(words=30_522, vocabulary=30_522)
TINY = BertShape(layers=1, hidden=16, heads=2, words=40, vocabulary=40, positions=16)


def parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(("shape", "published"), [(BASE, 109_482_240), (LARGE, 335_141_888)])
def test_the_encoder_has_as_many_parameters_as_published(shape: BertShape, published: int) -> None:
    """Hugging Face's uncased BertModel, which has a pooler."""
    pooler = shape.hidden * (shape.hidden + 1)
    assert costs.encoder_parameters(shape) + pooler == published


def test_base_has_as_many_parameters_as_stated() -> None:
    with torch.device("meta"):
        found = parameters(BertForQuestionAnswering(bert.BASE))
    assert found == costs.answering_parameters(bert.BASE)
    assert found == workloads.get("bert-base").spec.parameters
    assert costs.answering_parameters(BASE) == 108_893_186  # Hugging Face's BertForQuestionAnswering


def test_pre_training_has_as_many_parameters_as_stated() -> None:
    with torch.device("meta"):
        found = parameters(BertForPreTraining(bert.UNCASED))
    assert found == costs.pretraining_parameters(bert.UNCASED)
    assert costs.pretraining_parameters(LARGE) == 336_226_108  # Hugging Face's BertForPreTraining


def test_base_does_as_many_operations_as_stated() -> None:
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        ids = torch.empty(2, bert.TOKENS, dtype=torch.long)
        BertForQuestionAnswering(bert.BASE).eval()(ids, ids)
    assert (
        counter.get_total_flops() / 2
        == costs.answering_lines(bert.BASE)["infer"].flop
        == pytest.approx(7.07e10, rel=1e-3)
    )


@PHASES
def test_pre_training_does_as_many_operations_as_stated(name: str, tokens: int, masked: int) -> None:
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        ids, places = torch.empty(2, tokens, dtype=torch.long), torch.empty(2 * masked, dtype=torch.long)
        BertForPreTraining(bert.UNCASED).eval()(ids, ids, places)
    cost = workloads.get(name).spec.cost("train", Precision.BF16, 8)
    assert cost.flop_per_item == 3 * counter.get_total_flops() / 2


def test_pre_training_costs_more_than_answering_at_the_same_length() -> None:
    for tokens, masked in ((128, 20), (512, 80)):
        ours = costs.pretraining_lines(tokens, masked)["train"]
        answering = costs.answering_lines(bert.LARGE, tokens)["train"]
        assert 1.0 < ours.flop / answering.flop < 1.05
        assert 1.0 < ours.values / answering.values < 1.05


@pytest.mark.parametrize("name", ["bert-base", "bert-large-pretrain-s128", "bert-large-pretrain-s512"])
def test_the_weights_share_of_the_bytes_falls_with_the_batch(name: str) -> None:
    cost = workloads.get(name).spec.cost
    found = [cost("train", Precision.BF16, batch).bytes_per_item or 0.0 for batch in (1, 8, 64)]
    assert found == sorted(found, reverse=True)
    assert found[0] - found[1] == pytest.approx(40 * (workloads.get(name).spec.parameters or 0) * 7 / 8)


def test_masked_places_are_so_many_distinct_tokens_of_each_sequence() -> None:
    places = jobs.masked_places(3, 10, 4).view(3, 4)
    assert (places // 10).tolist() == [[i] * 4 for i in range(3)]
    for row in places.tolist():
        assert row == sorted(set(row))
    assert len({tuple(row) for row in (places % 10).tolist()}) > 1


def test_the_decoder_is_the_word_embedding() -> None:
    """Scores of a masked token are its hidden state times every word's vector."""
    model = BertForPreTraining(TINY).eval()
    nn.init.normal_(model.word_bias)
    tokens, places = torch.randint(40, (2, 8)), torch.tensor([3, 9])
    hidden = model.encode(tokens, tokens % 2).flatten(0, 1)[places]
    hidden = model.dense_norm(nn.functional.gelu(model.dense(hidden)))
    scores, follows = model(tokens, tokens % 2, places)
    torch.testing.assert_close(scores, hidden @ model.word.weight.T + model.word_bias)
    assert follows.shape == (2, 2)


def test_every_parameter_of_pre_training_gets_a_gradient_and_is_stepped() -> None:
    model = BertForPreTraining(TINY)
    scores, follows = model(torch.randint(40, (2, 16)), torch.randint(2, (2, 16)), torch.tensor([3, 20]))
    (scores.square().sum() + follows.square().sum()).backward()
    assert all(p.grad is not None for p in model.parameters())
    stepped = {id(p) for group in jobs.optimizer(model).param_groups for p in group["params"]}
    assert stepped == {id(p) for p in model.parameters()}


@ON_CPU
def test_base_answers(precision: Precision) -> None:
    job = build(toy("bert-base", "infer", precision))
    first, second = job.step(), job.step()
    assert first.shape == (BATCH, bert.TOY_TOKENS)
    assert torch.equal(first, second)
    assert bool(first.isfinite().all())


@ON_CPU
@pytest.mark.parametrize(
    ("name", "chance"),
    [
        ("bert-base", math.log(32)),
        ("bert-large-pretrain-s128", math.log(128) + math.log(2)),
        ("bert-large-pretrain-s512", math.log(128) + math.log(2)),
    ],
)
def test_training_runs_and_learns_at_a_usual_rate(
    name: str, chance: float, precision: Precision, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its own rate some hundred steps must not fit the batch; at a thousand times that they do."""
    slow = build(toy(name, "train", precision))
    losses = [float(slow.step()) for _ in range(5)]
    assert losses[0] == pytest.approx(chance, rel=0.1)
    assert losses[-1] == pytest.approx(losses[0], rel=0.05)
    monkeypatch.setattr(bert, "LEARNING_RATE", 3e-3)
    fast = build(toy(name, "train", precision))
    losses = [float(fast.step()) for _ in range(15)]
    assert all(map(math.isfinite, losses))
    assert losses[-1] < 0.8 * losses[0]
