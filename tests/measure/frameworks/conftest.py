"""Frameworks beside torch, each skipped where it is not installed; weights of our torch models by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from gpuwise.measure.frameworks import networks
from gpuwise.workloads import bert as shapes
from gpuwise.workloads import convnet
from gpuwise.workloads.bert import TOY
from gpuwise.workloads.models import bert
from gpuwise.workloads.models import bert as workload
from gpuwise.workloads.models.bert import BertForQuestionAnswering, answer_loss
from gpuwise.workloads.models.convnet import ResNet, classifier, weighted_loss

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# Named on the command line they run all the same: `test_alone` does so, one at a time.
collect_ignore = ["test_jax.py", "test_tensorflow.py"]

STEPS = 2
PLAIN = {"LEARNING_RATE": 1e-3, "DECAY": 10.0, "ADAM_EPS": 1e-12, "SGD_DECAY": 1.0}
"""Rates, decays and epsilon by which a mistake in an optimiser shows in two steps of a toy."""


DEPTHS = (1, 1)
"""Stages of a toy ResNet: to compile more takes longest. One begins without a stride, the other with one."""


@pytest.fixture(autouse=True)
def shallow(monkeypatch: pytest.MonkeyPatch) -> None:
    small = networks.ImageNetwork(forward=lambda ops, x: networks.resnet(ops, x, DEPTHS, 8), image=32)
    real = networks.NETWORKS["resnet50"]
    monkeypatch.setitem(networks.NETWORKS, "resnet50", lambda toy: small if toy else real(toy))


class Trained(NamedTuple):
    """What some steps from `start` did: weights, moments of the optimiser, the loss of each step."""

    start: dict[str, np.ndarray]
    end: dict[str, np.ndarray]
    moments: tuple[dict[str, np.ndarray], ...]
    losses: list[float]


Training = Callable[[ModuleType, str, Sequence[np.ndarray], np.ndarray], Trained]
Answer = Callable[[str, Sequence[np.ndarray]], tuple[dict[str, np.ndarray], np.ndarray]]


def toy_model(name: str) -> torch.nn.Module:
    """Our torch model at the size of `networks`' toy."""
    if name.startswith("resnet"):
        return ResNet(DEPTHS, 8)
    if name == "bert-large":
        return BertForQuestionAnswering(TOY)
    return classifier(convnet.network(name, toy=True))


@pytest.fixture
def torch_answer() -> Answer:
    """`torch_answer("resnet50", (images,))` -> (weights by name, what torch answers); channels last."""

    def answer(name: str, inputs: Sequence[np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        torch.manual_seed(0)
        model = toy_model(name).eval()
        given = [torch.from_numpy(np.array(x)) for x in inputs]
        with torch.no_grad():
            if name == "bert-large":
                found = torch.stack(model(*(x.long() for x in given)), -1)
            else:
                found = model(given[0].permute(0, 3, 1, 2))
        return {key: value.numpy() for key, value in model.state_dict().items()}, found.numpy()

    return answer


@pytest.fixture
def torch_training(monkeypatch: pytest.MonkeyPatch) -> Training:
    """`torch_training(job, name, inputs, answers)` -> what torch's steps did, in 64 bits, without dropout.

    The constants of the optimisers are `PLAIN` here and in `job`.
    """

    def training(job: ModuleType, name: str, inputs: Sequence[np.ndarray], answers: np.ndarray) -> Trained:
        assert workload.optimizer(torch.nn.Linear(1, 1)).defaults["eps"] == job.ADAM_EPS
        for key, value in PLAIN.items():
            monkeypatch.setattr(job, key, value)
            for module in (workload, shapes, convnet):
                monkeypatch.setattr(module, key, value, raising=False)
        monkeypatch.setattr(bert, "DROPOUT", 0.0)
        torch.manual_seed(0)
        model = toy_model(name).double().train()
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        start = arrays(model.state_dict())
        optimizer = optimizer_of(model, name)
        loss_of = partial(loss_of_toy, model, name, inputs, torch.from_numpy(np.array(answers)).long())
        losses = []
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = loss_of()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        moments = [
            {key: optimizer.state[parameter][kind] for key, parameter in model.named_parameters()}
            for kind in next(iter(optimizer.state.values()))
            if kind != "step"
        ]
        return Trained(start, arrays(model.state_dict()), tuple(map(arrays, moments)), losses)

    return training


def optimizer_of(model: torch.nn.Module, name: str) -> torch.optim.Optimizer:
    if name == "bert-large":
        adam = workload.optimizer(model)
        for group in adam.param_groups:
            group["eps"] = PLAIN["ADAM_EPS"]
        return adam
    return torch.optim.SGD(
        model.parameters(),
        lr=convnet.SGD_RATE,
        momentum=convnet.SGD_MOMENTUM,
        weight_decay=convnet.SGD_DECAY,
    )


def loss_of_toy(
    model: torch.nn.Module, name: str, inputs: Sequence[np.ndarray], right: torch.Tensor
) -> torch.Tensor:
    given = [torch.from_numpy(np.array(x)) for x in inputs]
    if name == "bert-large":
        return answer_loss(model(*(x.long() for x in given)), tuple(right.T))
    output = model(given[0].permute(0, 3, 1, 2))
    return weighted_loss(output, right, convnet.network(name).weight)


@pytest.fixture
def assert_same() -> Callable[..., None]:
    """All arrays of two mappings; what 64 bits round is no difference."""

    def check(ours: Mapping[str, Any], theirs: Mapping[str, Any], share: float = 1e-6) -> None:
        assert ours.keys() == theirs.keys()
        for name in ours:
            a, b = np.asarray(ours[name]), np.asarray(theirs[name])
            assert np.linalg.norm(a - b) <= share * np.linalg.norm(b) + 1e-6, name

    return check


def arrays(tensors: Mapping[str, torch.Tensor]) -> dict[str, np.ndarray]:
    return {key: value.detach().clone().numpy() for key, value in tensors.items()}
