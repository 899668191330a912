"""Two real ranks over gloo train as one process does on the batches of both, however they exchange."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from gpuwise import workloads
from gpuwise.errors import InputError
from gpuwise.model.llm import LanguageModel
from gpuwise.model.precision import Precision
from gpuwise.model.question import Overlap, RunConfig, Switches, Toggle
from gpuwise.workloads import parallel
from gpuwise.workloads.job import Job, training_job
from gpuwise.workloads.limits import BUS, TOY_MIB
from gpuwise.workloads.llm import part_of
from gpuwise.workloads.models.cross_entropy import chunked_cross_entropy
from gpuwise.workloads.models.decoder import Cache, Decoder, build_decoder
from gpuwise.workloads.models.float8 import Scales
from gpuwise.workloads.models.llm_jobs import DIVIDED

from .conftest import SHAPES, ranks_of

RANKS, STEPS, EACH = 2, 4, 8
CONFIG = RunConfig(workload="net", mode="train", precision="fp32", device="cpu", gpus=RANKS)

MIB, TOKENS = 4, 32
MODELS = {
    "tied": SHAPES["toy"],
    "untied": replace(SHAPES["toy"], tied=False),
    "normed": replace(SHAPES["toy"], head_norm="head", four_norms=True),
    "experts": SHAPES["toy-experts"],
}

Case = tuple[Precision, Toggle, bool]
CASES: tuple[Case, ...] = (
    ("fp8", "off", False),
    ("fp32", "off", False),
    ("fp32", "off", True),
    ("fp16", "off", False),
    ("bf16", "on", False),
)
"""(precision, master_weights, compiled)."""
EXCHANGES: tuple[Overlap, ...] = ("on", "off")


def job_of(config: RunConfig, x: Tensor) -> tuple[Job, nn.Module]:
    """A network with a 4-dimensional weight, whose strides are not the usual ones, and one that never
    has a gradient."""
    torch.manual_seed(0)
    layers = (nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 16), nn.LayerNorm(16))
    net = nn.Sequential(*layers, nn.Linear(16, 16)).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    net.register_parameter("frozen", nn.Parameter(torch.ones(3), requires_grad=False))
    trained = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.05, momentum=0.9, fused=True)
    scales = Scales(net, together=config.gpus > 1) if config.precision == "fp8" else None

    def loss(y: Tensor) -> Tensor:
        return y.float().square().mean()

    return training_job(net, (x,), loss, optimizer, config, EACH, scales=scales), net


def trained(config: RunConfig, x: Tensor, steps: int = STEPS) -> Tensor:
    """All weights after so many steps, one after the other."""
    job, net = job_of(config, x)
    for _ in range(steps):
        job.step()
    return torch.cat([p.detach().float().flatten() for p in net.parameters()])


def configured(case: Case, exchange: Overlap, gpus: int) -> RunConfig:
    precision, weights, compiled = case
    switches = Switches(master_weights=weights, overlap_grads=exchange)
    return replace(CONFIG, precision=precision, compile=compiled, switches=switches, gpus=gpus)


def batches() -> Tensor:
    return torch.randn(RANKS * EACH, 3, 8, 8, generator=torch.Generator().manual_seed(7))


def answers(model: Decoder, shape: LanguageModel) -> Tensor:
    """Logits of a prompt, and of the token after it."""
    torch.manual_seed(1)
    tokens, keys = torch.randint(shape.vocabulary, (3, TOKENS)), part_of(shape, model.ranks)
    cache = Cache(keys, 3, TOKENS, model.table)
    with torch.no_grad():
        prompt = model.prefill(tokens, cache)
        return torch.stack((prompt, model.decode(tokens[:, :1], cache, torch.tensor([TOKENS - 1]))))


def whole_model(shape: LanguageModel) -> Decoder:
    torch.manual_seed(0)
    return build_decoder(shape, TOKENS, torch.float32, "cpu")


def part_of_weight(name: str, value: Tensor, shape: LanguageModel, number: int) -> Tensor:
    """What one rank has of a weight of the whole model, or of its gradient."""
    if "qkv" in name:
        sizes = [shape.heads * shape.head_size, *[shape.kv_heads * shape.head_size] * 2]
        return torch.cat([each.chunk(RANKS)[number] for each in value.split(sizes)])
    if "gate_up" in name:
        return torch.cat([each.chunk(RANKS, -2)[number] for each in value.chunk(2, -2)], -2)
    return value.chunk(RANKS, 0 if "head" in name else -1)[number] if DIVIDED.search(name) else value


def divided(shape: LanguageModel, number: int) -> tuple[Tensor, dict[str, Tensor]]:
    """What one rank answers with its part of every weight of `whole_model`; and its gradients."""
    whole, part = dict(whole_model(shape).named_parameters()), part_of(shape, RANKS)
    model = build_decoder(part, TOKENS, torch.float32, "cpu", ranks=RANKS)
    for name, held in model.named_parameters():
        held.data.copy_(part_of_weight(name, whole[name], shape, number))
    trains = not (shape.latent or shape.experts or shape.kv_heads % RANKS)
    return answers(model, shape), gradients(model, shape) if trains else {}


def gradients(model: Decoder, shape: LanguageModel) -> dict[str, Tensor]:
    """Those of the loss of one batch, and the loss itself."""
    torch.manual_seed(2)
    tokens, targets = torch.randint(shape.vocabulary, (2, 3, TOKENS))
    optimizer = torch.optim.SGD(model.parameters())
    config = replace(CONFIG, workload="llm-8b-full", scaling="tensor", size="toy", gpus=model.ranks)

    def loss() -> Tensor:
        return chunked_cross_entropy(model(tokens), model.head_weight, targets, 7, ranks=model.ranks)

    value = loss()
    value.backward()  # type: ignore[no-untyped-call]
    if model.ranks > 1:
        finish = parallel.spread(model, loss, optimizer, config).finish
        assert finish is not None
        finish()
    return {"loss": value.detach(), **{n: p.grad for n, p in model.named_parameters() if p.grad is not None}}


def tensor_parallel() -> list[Tensor]:
    """Logits of the workload's job, whose ranks draw weights of their own; and a rank's part by itself."""
    ends = []
    config = replace(CONFIG, workload="llm-8b-decode", mode="infer", size="toy", scaling="tensor")
    for quiet in (False, True):
        torch.manual_seed(dist.get_rank())
        with parallel.without_exchange() if quiet else nullcontext():
            job = workloads.get(config.workload).build(config, 1)
        assert (job.items, job.parallel) == (1, "tp")
        ends.append(job.step().clone())
    return ends


def rank(number: int, folder: Path) -> None:
    """Body of one rank, which keeps what every case led to."""
    torch.set_num_threads(1)
    parallel.LATE_BUCKET_MIB = 0  # every gradient has a bucket of its own
    store = dist.FileStore(str(folder / "store"), RANKS)
    dist.init_process_group("gloo", store=store, rank=number, world_size=RANKS)
    x = batches().chunk(RANKS)[number]
    found = {}
    for case in CASES:
        for exchange in EXCHANGES:
            torch.compiler.reset()
            found[case, exchange] = trained(configured(case, exchange, RANKS), x)
    for name in BUS:
        torch.manual_seed(number)
        limit = replace(CONFIG, workload=name, mode="limit", size="toy")
        found[name] = workloads.get(name).build(limit, MIB).step()
    for name, shape in MODELS.items():
        found[name] = divided(shape, number)
    found["job"] = tensor_parallel()
    torch.manual_seed(number)
    train = replace(CONFIG, workload="llm-8b-full", size="toy", scaling="tensor", gpus=RANKS)
    job = workloads.get(train.workload).build(train, 1)
    assert (job.items, job.parallel) == (32, "tp")
    found["losses"] = [float(job.step()) for _ in range(3)]
    torch.save(found, folder / f"{number}.pt")
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> list[dict[tuple[Case, str], Tensor]]:
    """What each rank's training led to."""
    return ranks_of(rank, RANKS, tmp_path_factory, worker_id)


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_ranks_train_as_one_does_on_all_their_batches(
    case: Case, exchange: Overlap, found: list[dict[tuple[Case, str], Tensor]]
) -> None:
    each = [weights[case, exchange] for weights in found]
    assert torch.equal(*each)
    eager = (case[0], case[1], False)
    before, after = (trained(configured(eager, exchange, 1), batches(), steps) for steps in (0, STEPS))
    assert (each[0] - after).norm() < (1e-5 if case[0] == "fp32" else 0.01) * (after - before).norm()


def test_every_exchange_moves_what_its_name_says(found: list[dict[object, Tensor]]) -> None:
    values = MIB * TOY_MIB // 4
    whole, mine = [], []
    for number in range(RANKS):
        torch.manual_seed(number)
        whole.append(torch.rand(values))
        mine.append(torch.rand(values // RANKS))
    largest = torch.stack(whole).amax(0)
    for number, ends in enumerate(found):
        own = slice(number * values // RANKS, (number + 1) * values // RANKS)
        assert torch.equal(ends["all-reduce"], largest)
        assert torch.equal(ends["all-gather"], torch.cat(mine))
        assert torch.equal(ends["reduce-scatter"], largest[own])
        assert torch.equal(ends["all-to-all"], torch.cat([each[own] for each in whole]))
        assert torch.equal(ends["send-receive"], whole[number - 1])


@pytest.mark.parametrize(
    ("name", "share"),
    [("all-reduce", 14 / 8), ("all-gather", 7 / 8), ("reduce-scatter", 7 / 8), ("all-to-all", 7 / 8),
     ("send-receive", 1)],
)  # fmt: skip
def test_bus_bandwidth_is_that_of_nccl_tests(name: str, share: float) -> None:
    limit = replace(CONFIG, workload=name, mode="limit", size="toy", gpus=8)
    assert workloads.get(name).build(limit, 64).items == share * 64 * TOY_MIB


@pytest.mark.parametrize("name", MODELS)
def test_tensor_parallel_ranks_answer_as_the_whole_model(name: str, found: list[dict[str, Tensor]]) -> None:
    expected = answers(whole_model(MODELS[name]), MODELS[name])
    for ends in found:
        assert (ends[name][0] - expected).norm() < 1e-5 * expected.norm()


@pytest.mark.parametrize("name", ["tied", "untied", "normed"])
def test_tensor_parallel_gradients_are_those_of_the_whole_model(
    name: str, found: list[dict[str, tuple[Tensor, dict[str, Tensor]]]]
) -> None:
    expected = gradients(whole_model(MODELS[name]), MODELS[name])
    for number, ends in enumerate(found):
        for weight, gradient in ends[name][1].items():
            mine = part_of_weight(weight, expected[weight], MODELS[name], number)
            assert (gradient - mine).norm() <= 1e-5 * mine.norm(), weight


def test_ranks_that_share_products_train_alike(found: list[dict[str, list[float]]]) -> None:
    one, other = (ends["losses"] for ends in found)
    assert one == other
    assert one[0] == pytest.approx(torch.tensor(256.0).log().item(), rel=0.1)
    assert one[-1] != one[0]


def test_a_part_by_itself_adds_up_nothing(found: list[dict[str, list[Tensor]]]) -> None:
    together, alone = zip(*(ends["job"] for ends in found), strict=True)
    assert torch.equal(*together)
    assert together[0].shape == (1, 256)
    assert alone[0].shape == (1, 128)  # of the head a rank has half


def test_what_cannot_be_divided_is_refused() -> None:
    assert part_of(SHAPES["llm-8b"], 16).kv_heads == 1  # of eight, each on two ranks
    for ranks in (3, 24):
        with pytest.raises(InputError):
            part_of(SHAPES["llm-8b"], ranks)
