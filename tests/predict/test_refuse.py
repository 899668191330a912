"""What cannot be traced is refused with the operator or the line, never guessed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from gpuwise.errors import InputError
from gpuwise.model.question import RunConfig
from gpuwise.predict.trace import trace_module, trace_workload


class Branches(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


class ToNumpy(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.from_numpy(x.numpy() + 1)


@torch.library.custom_op("gpuwise_test::opaque", mutates_args=())
def _opaque(x: Tensor) -> Tensor:
    return x.clone()


@torch.library.custom_op("gpuwise_test::shaped", mutates_args=())
def _shaped(x: Tensor) -> Tensor:
    return x.clone()


@_shaped.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


class Custom(nn.Module):
    def __init__(self, operator: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.operator = operator

    def forward(self, x: Tensor) -> Tensor:
        return self.operator(x)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (Branches(), "aten._local_scalar_dense"),
        (ToNumpy(), "Tensor.numpy"),
        (Custom(_opaque), "gpuwise_test.opaque"),
        (nn.Linear(5, 3), "cannot trace"),
    ],
    ids=["branch on data", "numpy", "custom operator", "wrong shape"],
)
def test_what_cannot_be_traced_is_refused_with_operator_or_line(model: nn.Module, why: str) -> None:
    with pytest.raises(InputError, match=why) as refused:
        trace_module(model, (torch.empty(4, 4),), name="own", mode="infer", precision="fp32")
    if not isinstance(model, nn.Linear):
        assert Path(__file__).name in str(refused.value)
    assert refused.value.hint


def test_torch_is_as_it_was_after_a_refusal() -> None:
    with pytest.raises(InputError):
        trace_module(Branches(), (torch.empty(4, 4),), name="own")
    assert not hasattr(torch.Tensor.to, "__wrapped__")
    assert torch.ones(2).to("cpu").sum().item() == 2
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.nn.Linear(2, 2)(torch.ones(1, 2)).dtype == torch.bfloat16


def test_an_operator_without_a_rule_is_named_and_its_time_left_out() -> None:
    trace = trace_module(Custom(_shaped), (torch.empty(4, 4),), name="own", mode="infer", precision="fp32")
    assert trace.unknown == ("gpuwise_test.shaped",)
    assert trace.kernels == ()


def test_a_mode_or_precision_that_the_workload_lacks() -> None:
    with pytest.raises(InputError, match="has no mode limit"):
        trace_workload(RunConfig(workload="resnet50", mode="limit", precision="bf16"))
    with pytest.raises(InputError, match="has no precision int8"):
        trace_workload(RunConfig(workload="resnet50", mode="train", precision="int8"))
