"""Image classifiers of timm and torchvision: their network, this package's training and inference job.

Forward, cross entropy on random labels, backward, SGD with momentum, on one fixed batch of random
images of the size that the network was made for; tuned is channels-last, as in `resnet50`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from gpuwise.errors import InputError
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import WorkloadSpec
from gpuwise.workloads.job import Job, inference_job, set_precision, training_job
from gpuwise.workloads.workload import Workload

MOST_DRAWN = 4096
"""Elements of a tensor that is filled where only the form of a network is asked."""
AUXILIARY = 0.3
"""Weight of the losses of side heads (GoogLeNet, Inception), as their papers train them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A classifier to be made."""

    name: str
    make: Callable[[], nn.Module]
    image: tuple[int, int, int]
    """Channels, height, width."""
    classes: int
    parameters: int


class WithoutDraws(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Leaves large tensors as they are where random numbers would be drawn for them, so that no memory is
    filled where only the form of a network is asked."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        in_place = func._schema.name.endswith("_") and isinstance(args[0], Tensor)
        if in_place and args[0].numel() > MOST_DRAWN:
            return args[0]
        return func(*args, **(kwargs or {}))


def from_timm(name: str) -> Workload:
    """`timm.create_model(name)` without weights."""
    timm = import_module("timm")
    if name not in timm.list_models():
        raise _unknown("timm", name, timm.list_models())

    def make() -> nn.Module:
        model: nn.Module = timm.create_model(name, pretrained=False)
        return model

    with WithoutDraws():  # type: ignore[no-untyped-call]
        model: Any = make()
    stated = getattr(model, "pretrained_cfg", None) or getattr(model, "default_cfg", None) or {}
    image = tuple(stated.get("input_size", (3, 224, 224)))
    return _workload(f"timm:{name}", make, model, image, int(model.num_classes))


def from_torchvision(name: str) -> Workload:
    """`torchvision.models.get_model(name)` without weights; classifiers of single images only."""
    models = import_module("torchvision.models")
    known = models.list_models()
    if name not in known:
        raise _unknown("torchvision", name, known)
    best = models.get_model_weights(name).DEFAULT
    side = getattr(best.transforms, "keywords", {}).get("crop_size")
    if not isinstance(side, int) or "categories" not in best.meta:
        raise InputError(f"torchvision:{name} does not classify images", hint="torchvision:resnet50")

    def make() -> nn.Module:
        model: nn.Module = models.get_model(name, weights=None)
        return model

    return _workload(f"torchvision:{name}", make, make(), (3, side, side), len(best.meta["categories"]))


def _unknown(library: str, name: str, known: Sequence[str]) -> InputError:
    near = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
    guess = f"; did you mean {' or '.join(near)}?" if near else ""
    return InputError(
        f"{library} has no model {name!r}{guess}", hint=f"gpuwise bench {library}:{(*near, 'NAME')[0]}"
    )


def _workload(
    name: str, make: Callable[[], nn.Module], model: nn.Module, image: tuple[Any, ...], classes: int
) -> Workload:
    parameters = sum(parameter.numel() for parameter in model.parameters())
    network = Network(
        name=name, make=make, image=(image[0], image[1], image[2]), classes=classes, parameters=parameters
    )
    spec = WorkloadSpec(
        id=name,
        version=1,
        title=f"{name.partition(':')[2]} of {name.partition(':')[0]}, {image[-1]} px, random weights",
        task="image classification",
        item="image",
        modes=("train", "infer"),
        parameters=parameters,
        default_batch=64,
        cpu_batch=2,
    )
    return Workload(spec=spec, build=lambda config, batch: _build(network, config, batch))


def _build(network: Network, config: RunConfig, batch: int) -> Job:
    set_precision(config)
    model = network.make().to(config.device)
    images = torch.randn(batch, *network.image, device=config.device)
    labels = torch.randint(max(1, network.classes), (batch if network.classes else 0,), device=config.device)
    if config.recipe != "script":
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        images = images.to(memory_format=torch.channels_last)
    if config.mode == "infer":
        return inference_job(model, (images,), config, batch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, weight_decay=1e-4)
    return training_job(model, (images,), lambda output: loss_of(output, labels), optimizer, config, batch)


def loss_of(output: Tensor | tuple[Tensor | None, ...], labels: Tensor) -> Tensor:
    """Cross entropy; of a network with side heads, theirs are added with weight AUXILIARY. One without
    classes has the mean of its features for a loss."""
    if isinstance(output, Tensor):
        if not labels.numel():
            return output.float().mean()
        return functional.cross_entropy(output, labels)
    main, *side = (each for each in output if each is not None)
    loss = functional.cross_entropy(main, labels)
    for each in side:
        loss = loss + AUXILIARY * functional.cross_entropy(each, labels)
    return loss
