"""Every decoder workload at toy size: runs, learns, counts its items; decode goes on row by row."""

from __future__ import annotations

import math

import pytest
import torch

from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.workloads.llm import TOY_TOKENS
from gpuwise.workloads.models import llm_jobs

from .conftest import build, toy

NAMES = [name for name in workloads.names() if name.startswith("llm-")]
TRAIN = [name for name in NAMES if workloads.get(name).spec.modes == ("train",)]
INFER = [name for name in NAMES if workloads.get(name).spec.modes == ("infer",)]
ON_CPU: tuple[Precision, ...] = ("fp32", "bf16")
BATCH = 2


@pytest.mark.parametrize("name", TRAIN)
@pytest.mark.parametrize("precision", ON_CPU)
def test_training_runs_and_the_loss_falls(name: str, precision: Precision) -> None:
    job = build(toy(name, "train", precision), BATCH)
    losses = [float(job.step()) for _ in range(10)]
    assert job.items == BATCH * TOY_TOKENS
    assert all(map(math.isfinite, losses))
    assert losses[0] == pytest.approx(math.log(256), rel=0.05)
    assert 0.98 * losses[0] < losses[-1] < losses[0]  # the rate is so small on purpose


@pytest.mark.parametrize("name", INFER)
@pytest.mark.parametrize("precision", [*ON_CPU, "fp8", "int8", "int4"])
def test_inference_runs(name: str, precision: Precision) -> None:
    job = build(toy(name, "infer", precision), BATCH)
    logits = [job.step().clone() for _ in range(3)]
    assert job.items == (BATCH * TOY_TOKENS if "prefill" in name else BATCH)
    assert (job.mismatch is None) == (precision in ON_CPU)
    for found in logits:
        assert found.shape == (BATCH, 256)
        assert found.dtype == (torch.float32 if precision == "fp32" else torch.bfloat16)
        assert bool(found.isfinite().all())
    assert torch.equal(logits[0], logits[1]) == ("prefill" in name)


@pytest.mark.parametrize("phase", ["prefill", "decode"])
@pytest.mark.parametrize(("precision", "off"), [("int8", 0.02), ("fp8", 0.05)])
def test_narrow_weights_are_compared_with_bf16(phase: str, precision: Precision, off: float) -> None:
    job = build(toy(f"llm-1b-{phase}", "infer", precision), BATCH)
    assert job.mismatch is not None
    assert 1e-4 < job.mismatch() < off


def test_a_wrong_quantisation_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuwise.workloads.models import quantized

    right, back, group = quantized.STORED[Precision.INT8]

    def wrong(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        quantised, scale = right(weight)
        return quantised, 2 * scale

    monkeypatch.setitem(quantized.STORED, Precision.INT8, (wrong, back, group))
    job = build(toy("llm-1b-decode", "infer", "int8"), BATCH)
    assert job.mismatch is not None
    assert job.mismatch() > 0.05


def test_a_compiled_decode_is_compared_with_the_eager_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that gets everything wrong by a tenth, asked for graphs only where a step is short."""
    graphs = []

    def wrong(function: object, *, options: dict[str, object] | None, **_: object) -> object:
        assert callable(function)
        graphs.append((options or {}).get("triton.cudagraphs"))
        return lambda *inputs: 1.1 * function(*inputs)

    monkeypatch.setattr(torch, "compile", wrong)
    for name in ("llm-1b-prefill", "llm-1b-decode"):
        job = build(toy(name, "infer", "bf16", compiled=True), BATCH)
        assert job.mismatch is not None
        assert job.mismatch() == pytest.approx(0.1, abs=0.01)
    assert graphs == [None, True]


def test_the_position_cycles_within_the_last_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm_jobs, "BLOCK", 4)
    tokens, position, seen = torch.zeros(2, 1, dtype=torch.long), torch.tensor([9]), []
    for likeliest in range(6):
        logits = torch.nn.functional.one_hot(torch.tensor([likeliest, 7]), 8).float()
        assert llm_jobs.advance(logits, tokens, position, 10) is logits
        assert tokens.tolist() == [[likeliest], [7]]
        seen.append(int(position))
    assert seen == [6, 7, 8, 9, 6, 7]


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("vocabulary", [6, 509, 1018, 1542])
def test_the_likeliest_token_is_found(vocabulary: int, rows: int) -> None:
    """Of one row in two steps, also where the vocabulary is prime, or twice or thrice one."""
    logits = torch.randperm(rows * vocabulary).view(rows, -1).float()
    tokens = torch.zeros(rows, 1, dtype=torch.long)
    llm_jobs.advance(logits, tokens, torch.tensor([2]), 3)
    assert tokens[:, 0].tolist() == logits.argmax(-1).tolist()


def test_a_toy_cache_is_shorter_than_a_block() -> None:
    tokens, position, seen = torch.zeros(1, 1, dtype=torch.long), torch.tensor([2]), set()
    for _ in range(3):
        llm_jobs.advance(torch.zeros(1, 4), tokens, position, 3)
        seen.add(int(position))
    assert seen == {0, 1, 2}


def test_eight_k_differs_in_context_only() -> None:
    for size in ("1b", "8b"):
        for phase in ("prefill", "decode"):
            short, long = (workloads.get(f"llm-{size}-{phase}{suffix}").spec for suffix in ("", "-8k"))
            assert short.parameters == long.parameters
            assert (
                long.cost("infer", Precision.BF16, 1).flop_per_item
                > short.cost("infer", Precision.BF16, 1).flop_per_item
            )
            assert long.title.endswith("8,192")
