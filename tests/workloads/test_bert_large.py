"""What is BERT-large's own: its optimiser and its size."""

from __future__ import annotations

import torch

from gpuwise import workloads
from gpuwise.model.question import Recipe
from gpuwise.workloads.bert import LEARNING_RATE, BertShape
from gpuwise.workloads.models.bert import BertForQuestionAnswering, ScriptAdam, optimizer

from .conftest import BOTH_RECIPES, build, toy


@BOTH_RECIPES
def test_the_optimiser_of_bert_decays_matrices_only_and_leaves_the_pooler(recipe: Recipe) -> None:
    shape = BertShape(layers=1, hidden=8, heads=2, vocabulary=16, positions=8)
    model = BertForQuestionAnswering(shape, fused=recipe != "script")
    adam = optimizer(model, script=recipe == "script", unread="pooler.")
    assert isinstance(adam, torch.optim.AdamW if recipe != "script" else ScriptAdam)
    matrices, vectors = adam.param_groups
    assert (matrices["weight_decay"], vectors["weight_decay"]) == (0.01, 0.0)
    assert matrices["lr"] == vectors["lr"] == LEARNING_RATE
    assert all(p.ndim > 1 for p in matrices["params"])
    assert all(p.ndim <= 1 for p in vectors["params"])
    stepped = {id(p) for group in adam.param_groups for p in group["params"]}
    left_out = {name for name, p in model.named_parameters() if id(p) not in stepped}
    assert left_out == (set() if recipe != "script" else {"pooler.weight", "pooler.bias"})


def test_the_toy_is_not_the_full_size() -> None:
    config = toy("bert-large", "infer")
    assert workloads.get("bert-large").build(config, 1).step().shape == (1, 32)


def test_inference_in_fp8_is_held_against_bf16() -> None:
    job = build(toy("bert-large", "infer", "fp8"))
    assert job.mismatch is not None
    assert 1e-4 < job.mismatch() < 0.05
    assert bool(job.step().isfinite().all())
