"""What cannot be traced is refused with the operator or the line, never guessed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from gpuwise.errors import InputError, NoDataError
from gpuwise.model.question import RunConfig
from gpuwise.predictor.card import card
from gpuwise.predictor.rates import LEAST_KNOWN
from gpuwise.predictor.step import step
from gpuwise.predictor.trace import trace_module, trace_workload


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
    assert trace.known == 0.0


@pytest.mark.parametrize(
    "middle",
    [
        torch.linalg.eigvalsh,
        lambda x: torch.linalg.solve(x, x),
        lambda x: torch.cdist(x, x, p=1.0),
    ],
    ids=["eigenvalues", "solve", "distances of another norm"],
)
def test_training_is_refused_by_the_rule_of_inference(middle: Callable[[Tensor], Tensor]) -> None:
    class Between(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(8))

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = torch.relu(layer(x))
            return middle(x)

    inputs = (torch.empty(8, 64, 64),)
    train, infer = (
        trace_module(Between(), inputs, name="own", mode=mode, precision="fp32")
        for mode in ("train", "infer")
    )
    assert 0.0 < train.known < 0.9
    assert 0.0 < infer.known < 0.9
    for trace in (train, infer):
        with pytest.raises(NoDataError, match="known cost"):
            step(trace, card("h200-sxm"))


def test_an_unknown_operator_on_little_data_widens_and_does_not_refuse() -> None:
    class Little(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(*(nn.Linear(512, 512) for _ in range(24)))

        def forward(self, x: Tensor) -> Tensor:
            return self.layers(x) * torch.linalg.det(x[0, :16, :16])

    trace = trace_module(Little(), (torch.empty(8, 64, 512),), name="own", mode="infer", precision="fp32")
    assert trace.unknown
    assert LEAST_KNOWN < trace.known < 1.0
    found = [step(t, card("h200-sxm")).throughput for t in (trace, replace(trace, known=1.0))]
    assert found[0].high / found[0].value == pytest.approx(found[1].high / found[1].value / trace.known)


def test_a_mode_or_precision_that_the_workload_lacks() -> None:
    with pytest.raises(InputError, match="has no mode limit"):
        trace_workload(RunConfig(workload="resnet50", mode="limit", precision="bf16"))
    with pytest.raises(InputError, match="has no precision int8"):
        trace_workload(RunConfig(workload="resnet50", mode="train", precision="int8"))


def test_a_format_that_is_measured_only_is_not_called_unknown() -> None:
    name = "gpt-oss-20b-decode"
    with pytest.raises(InputError, match="one sequence"):
        trace_workload(RunConfig(workload=name, mode="infer", precision="mxfp4", batch=2))
    with pytest.raises(InputError, match="has no precision nf4"):
        trace_workload(RunConfig(workload=name, mode="infer", precision="nf4", batch=1))
