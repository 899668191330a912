"""Training over ranks computes what one process computes; here one rank is all there are."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist
from torch import nn

from gpuwise.model.run import RunConfig
from gpuwise.workloads import parallel
from gpuwise.workloads.parallel import Whole, blocks, fits, spread

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
    """Five steps of training; `how` is alone, ddp or fsdp2."""
    torch.manual_seed(0)
    net, x = Net(), torch.randn(16, 8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def run() -> torch.Tensor:
        return (net(x) @ net.head.weight.t() + net.head.bias).square().mean()

    step = run
    if how != "alone":
        step, name = spread(net, run, optimizer, CONFIG)
        assert name == how
    found = []
    for _ in range(5):
        loss = step()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(float(loss.detach()))
    return found


@pytest.mark.parametrize("how", ["ddp", "fsdp2"])
def test_the_losses_are_those_of_one_process(
    how: str, one_rank: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "fits", lambda model, config: how == "ddp")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own
        assert losses(how) == pytest.approx(losses("alone"), rel=1e-5)


def test_what_does_not_fit_is_told_by_weights_gradients_and_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    with torch.device("meta"):
        large = nn.Linear(100_000, 100_000, bias=False)  # 40 GB, 160 GB with gradient and moments
    memory = type("Card", (), {"total_memory": 150 * 10**9})
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: memory)
    cuda = RunConfig(workload="net", mode="train", precision="fp32")
    assert not fits(large, cuda)
    assert fits(large, CONFIG)  # a CPU is only for trying it
    large.requires_grad_(False)
    assert fits(large, cuda)


def test_blocks_are_the_members_of_the_outermost_lists() -> None:
    nested = nn.ModuleDict(
        {"stages": nn.ModuleList([nn.Sequential(nn.ModuleList([nn.ReLU()]))]), "net": Net()}
    )
    assert [type(block).__name__ for block in blocks(nested)] == ["Sequential", "Linear", "Linear", "Linear"]


def test_all_parameters_belong_to_the_whole() -> None:
    net = Net()
    assert set(Whole(net, lambda: torch.zeros(())).parameters()) == set(net.parameters())
