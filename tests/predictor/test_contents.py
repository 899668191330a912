"""Small tensors are computed while a step is recorded; routing by data is assumed to be even, and said."""

from __future__ import annotations

import resource
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.errors import InputError
from gpuwise.predictor.kernels import Trace
from gpuwise.predictor.trace import trace_module


def traced(model: nn.Module, *inputs: Tensor) -> Trace:
    return trace_module(model, inputs, name="own", mode="infer", precision="fp32")


def rows(trace: Trace) -> list[int]:
    """Rows of every product."""
    return [k.shape[1] for k in trace.kernels if k.kind == "matmul" for _ in range(k.count)]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_schedule_of_real_numbers_makes_the_layers(device: str) -> None:
    def make() -> nn.Module:
        widths = (torch.linspace(8, 32, 4, device=device) // 8 * 8).int().tolist()
        return nn.Sequential(*(nn.Linear(a, b, device=device) for a, b in pairwise(widths)))

    trace = trace_module(make, (torch.empty(4, 8),), name="own", mode="infer", precision="fp32")
    assert sorted(k.shape[2:] for k in trace.kernels if k.kind == "matmul") == [(16, 8), (24, 16), (32, 24)]


class Lengths(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        return torch.cat([self.layer(part[:n]) for part, n in zip(x, lengths.tolist(), strict=True)])


def test_given_lengths_are_those_that_run() -> None:
    assert sorted(rows(traced(Lengths(), torch.empty(3, 16, 8), torch.tensor([2, 5, 16])))) == [2, 5, 16]


class Experts(nn.Module):
    """Each of four experts computes the tokens that chose it, two each."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 4)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        _, chosen = self.gate(x).topk(2, dim=-1)
        mask = functional.one_hot(chosen, 4).permute(2, 1, 0)
        y = torch.zeros_like(x)
        for number in (mask.sum(dim=(-1, -2)) > 0).nonzero():
            _, at = torch.where(mask[number].squeeze(0))
            y.index_add_(0, at, self.experts[int(number)](x[at]))
        return y


def test_experts_are_chosen_evenly_and_the_trace_says_so() -> None:
    trace = traced(Experts(), torch.empty(100_000, 8))
    assert sorted(rows(trace)) == [50_000] * 4 + [100_000]
    assert any("nonzero" in note and Path(__file__).name in note for note in trace.notes)


class Selects(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[x > 0]


def test_a_comparison_holds_for_half_of_the_numbers() -> None:
    trace = traced(Selects(), torch.empty(512, 1024))
    taken = next(k for k in trace.kernels if k.name == "aten.index")
    assert taken.bytes_written == 512 * 1024 / 2 * 4
    assert trace.notes


class Asks(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[: int(x.argmax())]


class Watched(nn.Module):
    """Stops where any of its numbers is none."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.inner(x)
        if y.isnan().sum() != 0:
            raise ValueError
        return y if y.isfinite().sum() == y.numel() else self.inner(y)


def test_no_number_is_said_to_be_none() -> None:
    assert [kernel.name for kernel in traced(Watched(), torch.zeros(2, 8)).kernels].count("aten.addmm") == 1


class Guarded(nn.Module):
    """Stops at what it cannot handle, in its own words and in those of torch."""

    def forward(self, x: Tensor) -> Tensor:
        if (x < 0).any():
            raise ValueError
        if not (x < 2).all():
            raise ValueError
        return nn.functional.gaussian_nll_loss(x, x, x.exp())


def test_what_only_guards_an_error_is_taken_not_to_occur() -> None:
    trace = traced(Guarded(), torch.empty(4, 4))
    assert "aten.exp" in {kernel.name for kernel in trace.kernels}
    assert len(trace.notes) == 3


def test_an_index_by_data_is_refused_with_operator_and_line() -> None:
    with pytest.raises(InputError, match=r"aten\._local_scalar_dense.*test_contents\.py, line"):
        traced(Asks(), torch.empty(512, 1024))


def test_a_large_network_of_the_host_takes_no_memory() -> None:
    def make() -> nn.Module:
        model = nn.Sequential(*(nn.Linear(8192, 8192) for _ in range(16)))
        for part in model.parameters():
            nn.init.trunc_normal_(part)
        return model

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    trace = trace_module(make, (torch.empty(4, 8192),), name="own", mode="infer", precision="bf16")
    assert trace.parameters == 16 * (8192**2 + 8192)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000
