"""Training over ranks computes what one process computes; here one rank is all there are."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
import torch.distributed as dist
from torch import nn

from gpuwise.model.question import RunConfig, Scope, Switches
from gpuwise.workloads import parallel
from gpuwise.workloads.parallel import Whole, spread

CONFIG = RunConfig(workload="net", mode="train", precision="fp32", device="cpu", gpus=2)


@pytest.fixture
def one_rank() -> Iterator[None]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Net(nn.Module):
    """Blocks, a norm with buffers, and a head that the loss uses outside the forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.norm = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = torch.relu(block(x))
        normed: torch.Tensor = self.norm(x)
        return normed


def losses(how: str) -> list[float]:
    """Five steps of training; `how` is alone or how they are spread."""
    torch.manual_seed(0)
    net, x = Net(), torch.randn(16, 8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def run() -> torch.Tensor:
        return (net(x) @ net.head.weight.t() + net.head.bias).square().mean()

    step, finish = run, lambda: None
    if how != "alone":
        switches = Switches(overlap_grads="off" if how == "ddp-after" else "on")
        spreading = spread(net, run, optimizer, replace(CONFIG, switches=switches))
        assert spreading.how == how
        step, finish = spreading.loss, spreading.finish or finish
    found = []
    for _ in range(5):
        loss = step()
        loss.backward()
        finish()
        optimizer.step()
        optimizer.zero_grad()
        found.append(float(loss.detach()))
    return found


@pytest.mark.parametrize("how", ["ddp", "ddp-after", "fsdp2"])
def test_the_losses_are_those_of_one_process(
    how: str, one_rank: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "fits", lambda model, config: how != "fsdp2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own
        assert losses(how) == pytest.approx(losses("alone"), rel=1e-5)


def test_all_parameters_belong_to_the_whole() -> None:
    net = Net()
    assert set(Whole(net, lambda: torch.zeros(())).parameters()) == set(net.parameters())


@pytest.mark.parametrize(("region", "cut"), [("step", True), ("block", False)])
def test_blocks_that_are_compiled_by_themselves_are_not_cut(region: Scope, cut: bool, one_rank: None) -> None:
    net, config = Net(), replace(CONFIG, compile=True, switches=Switches(compile_scope=region))
    spread(net, lambda: net(torch.ones(2, 8)).sum(), torch.optim.SGD(net.parameters(), lr=0.1), config)
    assert torch._dynamo.config.optimize_ddp is cut


def test_a_bucket_is_as_large_as_asked(one_rank: None) -> None:
    large = replace(CONFIG, switches=Switches(bucket="64"))
    sizes = [
        [parallel.bucket_bytes(how, config) for how in ("ddp", "ddp-after", "fsdp2", None)]
        for config in (CONFIG, large, replace(large, recipe="script"))
    ]
    usual = [25 * 2**20, 256 * 2**20, None, None]
    assert sizes == [usual, [64 * 2**20, 64 * 2**20, None, None], usual]
    net = Net()
    spreading = spread(
        net, lambda: net(torch.ones(2, 8)).sum(), torch.optim.SGD(net.parameters(), lr=0.1), large
    )
    assert isinstance(spreading.loss, nn.parallel.DistributedDataParallel)
    assert spreading.loss.bucket_bytes_cap == 64 * 2**20
