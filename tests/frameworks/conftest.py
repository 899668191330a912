"""Frameworks beside torch, each skipped where it is not installed; weights of our torch models by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from gpuwise.workloads import googlenet, inception_v3
from gpuwise.workloads.bert import TOY, _answer_loss
from gpuwise.workloads.convnet import shrunk
from gpuwise.workloads.models import bert
from gpuwise.workloads.models.bert import BertForQuestionAnswering
from gpuwise.workloads.models.inception import GoogLeNet, InceptionV3, weighted_loss
from gpuwise.workloads.models.resnet import ResNet

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# Named on the command line they run all the same: `test_alone` does so, one at a time.
collect_ignore = ["test_jax.py", "test_tensorflow.py"]

Training = Callable[[str, Sequence[np.ndarray], np.ndarray], tuple[dict[str, np.ndarray], float, float]]
Answer = Callable[[str, Sequence[np.ndarray]], tuple[dict[str, np.ndarray], np.ndarray]]


def toy_model(name: str) -> torch.nn.Module:
    """Our torch model at the size of `networks`' toy."""
    if name.startswith("resnet"):
        return ResNet((1, 1, 1, 1), 8)
    if name == "bert-large":
        return BertForQuestionAnswering(TOY)
    module = googlenet if name == "googlenet" else inception_v3
    layers = {key: shrunk(layer, 8) for key, layer in module.LAYERS.items()}
    if name == "googlenet":
        return GoogLeNet(layers, hidden=32)
    return InceptionV3(layers, inception_v3.TOY_AUXILIARY_LAYERS)


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
    """`torch_training(name, inputs, answers)` -> (weights by name, loss, norm of the gradients); of the
    first step, without dropout."""
    monkeypatch.setattr(bert, "DROPOUT", 0.0)
    weights = {"googlenet": googlenet.AUXILIARY_WEIGHT, "inception-v3": inception_v3.AUXILIARY_WEIGHT}

    def training(
        name: str, inputs: Sequence[np.ndarray], answers: np.ndarray
    ) -> tuple[dict[str, np.ndarray], float, float]:
        torch.manual_seed(0)
        model = toy_model(name).train()
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        state = {key: value.clone().numpy() for key, value in model.state_dict().items()}
        given = [torch.from_numpy(np.array(x)) for x in inputs]
        right = torch.from_numpy(np.array(answers)).long()
        if name == "bert-large":
            loss = _answer_loss(model(*(x.long() for x in given)), tuple(right.T))
        elif name in weights:
            loss = weighted_loss(model(given[0].permute(0, 3, 1, 2)), right, weights[name])
        else:
            loss = torch.nn.functional.cross_entropy(model(given[0].permute(0, 3, 1, 2)), right)
        loss.backward()
        norms = [parameter.grad.norm() for parameter in model.parameters() if parameter.grad is not None]
        return state, loss.item(), float(torch.stack(norms).norm())

    return training
