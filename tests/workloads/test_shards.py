"""What does not fit one GPU is split over two real ranks, and no rank ever holds the whole of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn

from gpuwise import workloads
from gpuwise.model.question import RunConfig
from gpuwise.workloads import parallel
from gpuwise.workloads.models.decoder import INITIAL_STD, Decoder
from gpuwise.workloads.parallel import blocks, fits

from .conftest import ranks_of


def test_what_does_not_fit_is_told_by_weights_gradients_and_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    with torch.device("meta"):
        large = nn.Linear(100_000, 100_000, bias=False)  # 40 GB, 160 GB with gradient and moments
    memory = type("Card", (), {"total_memory": 150 * 10**9})
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: memory)
    cuda = RunConfig(workload="net", mode="train", precision="fp32")
    assert not fits(large, cuda)
    assert fits(large, replace(cuda, device="cpu"))  # a CPU is only for trying it
    memory.total_memory = 260 * 10**9
    assert not fits(large, cuda)  # more than 60 % of it, and activations want room
    memory.total_memory = 280 * 10**9
    assert fits(large, cuda)
    assert not fits(large, replace(cuda, gpus=2))  # gradients lie in their buckets besides
    large.requires_grad_(False)
    assert fits(large, replace(cuda, gpus=2))


def test_blocks_are_the_members_of_the_outermost_lists() -> None:
    nested = nn.ModuleDict(
        {
            "stages": nn.ModuleList([nn.Sequential(nn.ModuleList([nn.ReLU()]))]),
            "net": nn.ModuleDict({"blocks": nn.ModuleList([nn.Linear(2, 2), nn.Tanh()])}),
        }
    )
    assert [type(block).__name__ for block in blocks(nested)] == ["Sequential", "Linear", "Tanh"]


RANKS = 2
NAMES = ("llm-124m", "llm-1b-lora", "llama-3.1-8b-full-adamw8bit-checkpointed", "deepseek-v3-full")


def rank(number: int, folder: Path) -> None:
    """Body of one rank: train what is said not to fit, and keep losses, weights and what was materialised."""
    torch.set_num_threads(1)
    store = dist.FileStore(str(folder / "store"), RANKS)
    dist.init_process_group("gloo", store=store, rank=number, world_size=RANKS)
    found = {}
    # On a GPU FSDP2 takes a root's first argument to it, and fails where there is none.
    given: list[int] = []

    def count(module: nn.Module, given_to: tuple[object, ...]) -> None:
        if isinstance(module, parallel.Whole):
            given.append(len(given_to))

    nn.modules.module.register_module_forward_pre_hook(count)
    with pytest.MonkeyPatch.context() as patch:
        models: list[tuple[Decoder, int]] = []
        original = Decoder.initialise

        def initialise(model: Decoder) -> None:
            original(model)
            local = [getattr(p, "to_local", lambda p=p: p)() for p in model.parameters()]
            models.append((model, sum(p.numel() for p in local)))

        patch.setattr(Decoder, "initialise", initialise)
        patch.setattr(parallel, "fits", lambda model, config: False)
        for name in NAMES:
            torch.manual_seed(number)
            config = RunConfig(
                workload=name, mode="train", precision="bf16", device="cpu", size="toy", gpus=RANKS
            )
            job = workloads.load(name).build(config, 2)
            model, held = models.pop()
            assert not models  # it was made once
            weights = {n: p.full_tensor().detach().clone() for n, p in model.named_parameters()}  # type: ignore[operator]
            losses = [float(job.step()) for _ in range(3)]
            found[name] = {"held": held, "weights": weights, "losses": losses, "how": job.parallel}
            found[name]["given"] = [given.pop() for _ in range(len(given))]
    torch.save(found, folder / f"{number}.pt")
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> list[dict[str, dict[str, object]]]:
    return ranks_of(rank, RANKS, tmp_path_factory, worker_id)


@pytest.mark.parametrize("name", NAMES)
def test_every_rank_holds_its_part_of_a_model_that_trains(name: str, found: list[dict[str, dict]]) -> None:  # type: ignore[type-arg]
    first, second = (each[name] for each in found)
    whole = sum(weight.numel() for weight in first["weights"].values())
    assert first["held"] + second["held"] == whole
    assert first["held"] == pytest.approx(whole / 2, rel=0.01)
    for each in (first, second):
        assert each["how"] == "fsdp2"
        assert each["given"] == [1, 1, 1]
        assert each["losses"][2] < each["losses"][0]


def test_both_parts_are_drawn_as_the_whole_is(found: list[dict[str, dict]]) -> None:  # type: ignore[type-arg]
    weights = found[0]["llm-124m"]["weights"]
    embedding = weights["embedding.weight"]
    top, bottom = embedding.chunk(2)
    assert not torch.equal(top, bottom)
    assert [float(half.std()) for half in (top, bottom)] == pytest.approx([INITIAL_STD] * 2, rel=0.05)
    assert torch.equal(weights["norm.weight"], torch.ones_like(weights["norm.weight"]))
    adapted = found[0]["llm-1b-lora"]["weights"]
    assert not any(value.any() for name, value in adapted.items() if ".up." in name)
