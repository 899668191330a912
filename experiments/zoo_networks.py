"""The networks of the zoo: a random draw of timm, torchvision and transformers, and own ones in plain torch.

`listing()` gives their names; `find(name)` builds one description. All weights are random and nothing is
downloaded. None was chosen, or left out, by how well a predictor does on it. Families are split into `dev`
(two thirds), on which a predictor may be built, and `blind`, on which it is scored once.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import math
import os
import random
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from zoo_own_3 import OWN

SEED = 20261123
TIMM = 100
"""Networks drawn from timm's list."""
A_PREFIX = 2
"""At most so many of one prefix (vit, resnet, ...): else a seventh of timm's draw would be ViTs."""
LARGEST = 700_000_000
"""Parameters; larger networks would leave no time for others."""
TOO_LARGE = re.compile(r"giant|gigantic|enormous|huge|\d[0-9]*b_|_xxl|so150m2|^test_")
"""Names that timm gives to networks above `LARGEST`, and to those made to test timm."""

FAMILIES = {
    **dict.fromkeys(("mnasnet", "mobilenetv2", "mobilenetv3"), "efficientnet"),
    **dict.fromkeys(("deit", "eva", "flexivit", "naflexvit"), "vision_transformer"),
    **dict.fromkeys(("googlenet", "inception_v3", "inception_v4"), "inception"),
    "swin_transformer_v2": "swin_transformer",
}
"""Name in a library -> family, where names differ and the computation hardly does: a family left out of the
fit must be left out with its copies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """What a row needs to know of a network; `make` and `inputs` use torch's default device."""

    name: str
    """source:name, as timm:resnet50."""
    family: str
    make: Callable[[], nn.Module]
    inputs: Callable[[int], tuple[Tensor, ...]]
    """Arguments of a batch."""
    batches: tuple[int, int]
    """A small and a large one."""
    optimiser: str
    images: bool = False
    """Whether its tensors may be channels-last."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the builder was given, for the record."""

    @property
    def split(self) -> str:
        """dev or blind, by a hash of the family."""
        digest = hashlib.sha256(f"{SEED}:{self.family}".encode()).digest()
        return "blind" if digest[0] % 3 == 0 else "dev"


class Outputs(nn.Module):
    """A network that takes arguments in the order of `names` and returns its floating outputs in a tuple;
    `first`: of the first output alone, which is what a model of transformers is trained on."""

    def __init__(self, network: nn.Module, names: tuple[str, ...] = (), *, first: bool = False) -> None:
        super().__init__()
        self.network, self.names, self.first = network, names, first

    def forward(self, *values: Tensor) -> tuple[Tensor, ...]:
        if not self.names:
            return floats(self.network(*values))
        found = self.network(**dict(zip(self.names, values, strict=True)))
        return floats(found[0] if self.first else found)


def floats(value: Any) -> tuple[Tensor, ...]:
    """All floating tensors in nested lists and dicts."""
    if isinstance(value, Tensor):
        return (value,) if value.is_floating_point() else ()
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return tuple(tensor for part in parts for tensor in floats(part))


def find(name: str, *, toy: bool = False) -> Network:
    """The network called source:name. Raises whatever the library raises for a name that it lacks."""
    source, _, rest = name.partition(":")
    return {"timm": from_timm, "torchvision": from_torchvision, "hf": from_transformers}.get(
        source, lambda rest: from_own(rest, toy=toy)
    )(rest)


def listing(*, toy: bool = False) -> list[str]:
    """All names, in a random order that is always the same for the same libraries; only own ones for a toy.

    A library that is missing has none.
    """
    names = [f"own:{name}" for name in OWN]
    if not toy:
        names += [f"hf:{name}" for name in TRANSFORMERS]
        for listed in (drawn_timm, drawn_torchvision):
            with suppress(ImportError):
                names += listed()
    random.Random(SEED).shuffle(names)
    return names


def drawn(names: list[str], most: int) -> list[str]:
    """So many of `names` at random, at most `A_PREFIX` of one prefix."""
    random.Random(SEED).shuffle(names)
    found: dict[str, list[str]] = {}
    for name in names:
        plain = name.removeprefix("tf_").removeprefix("legacy_")
        prefix = re.match(r"[a-z]+", plain)
        same = found.setdefault(prefix.group() if prefix else plain, [])
        if len(same) < A_PREFIX and sum(map(len, found.values())) < most:
            same.append(name)
    return [name for same in found.values() for name in same]


def power_of_two(value: float) -> int:
    return max(1, 2 ** round(math.log2(max(value, 1))))


def image_network(
    name: str, family: str, make: Callable[[], nn.Module], shape: tuple[int, ...], **settings: Any
) -> Network:
    """A network of images, with batches that fit their size and one optimiser of two, by its name."""
    scale = 3 * 224**2 / math.prod(shape)
    return Network(
        name=name,
        family=FAMILIES.get(family, family),
        make=lambda: Outputs(make()),
        inputs=lambda batch: (torch.randn(batch, *shape),),
        batches=(power_of_two(8 * scale), power_of_two(96 * scale)),
        optimiser="sgd" if hashlib.sha256(name.encode()).digest()[0] % 2 else "adamw",
        images=len(shape) == 3,
        settings=settings,
    )


def drawn_timm() -> list[str]:
    import timm

    names = [name for name in timm.list_models() if not TOO_LARGE.search(name)]
    return [f"timm:{name}" for name in drawn(names, TIMM)]


def from_timm(name: str) -> Network:
    import timm

    config = timm.get_pretrained_cfg(name)
    shape = tuple(config.input_size) if config is not None else (3, 224, 224)
    family = timm.model_entrypoint(name).__module__.rpartition(".")[2]
    return image_network(f"timm:{name}", family, lambda: timm.create_model(name), shape)


SHAPES = {
    **dict.fromkeys(("r3d_18", "mc3_18", "r2plus1d_18"), (3, 16, 112, 112)),
    **dict.fromkeys(("s3d", "mvit_v1_b", "mvit_v2_s", "swin3d_t", "swin3d_s", "swin3d_b"), (3, 16, 224, 224)),
    **dict.fromkeys(("fcn_resnet50", "deeplabv3_resnet50", "lraspp_mobilenet_v3_large"), (3, 520, 520)),
    "inception_v3": (3, 299, 299),
}
"""Of torchvision's networks that are not for images of 224 pixels."""


def drawn_torchvision() -> list[str]:
    """Two of each family of classifiers; of segmentation and video, all of different kinds."""
    from torchvision import models

    names = drawn(models.list_models(module=models), 1000)
    names += [name for name in SHAPES if name not in names]
    return [
        f"torchvision:{name}" for name in (*names, "fpn_resnet50", "fpn_mobilenet_v3_large", "raft_small")
    ]


def from_torchvision(name: str) -> Network:
    """A classifier, segmenter or video network; fpn_NAME is the backbone of a detector, without its heads."""
    from torchvision import models
    from torchvision.models.detection import backbone_utils

    full, (kind, _, backbone) = f"torchvision:{name}", name.partition("_")
    if kind == "raft":
        return Network(
            name=full,
            family="raft",
            make=lambda: Outputs(models.get_model(name, weights=None)),
            inputs=lambda batch: (torch.randn(batch, 3, 368, 496), torch.randn(batch, 3, 368, 496)),
            batches=(1, 4),
            optimiser="adamw",
        )
    if kind == "fpn":

        def pyramid() -> nn.Module:
            if backbone.startswith("mobilenet"):
                return backbone_utils.mobilenet_backbone(
                    backbone_name=backbone, weights=None, fpn=True, trainable_layers=6
                )
            return backbone_utils.resnet_fpn_backbone(
                backbone_name=backbone, weights=None, trainable_layers=5
            )

        return image_network(full, "fpn", pyramid, (3, 800, 800))
    builder = models.get_model_builder(name)
    # Weights of the backbone would be downloaded.
    segments = {"weights_backbone": None, "aux_loss": None} if "segmentation" in builder.__module__ else {}
    side_heads = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    settings = segments | side_heads
    family = builder.__module__.rpartition(".")[2]
    make = lambda: models.get_model(name, weights=None, **settings)  # noqa: E731
    return image_network(full, family, make, SHAPES.get(name, (3, 224, 224)), **settings)


def from_own(name: str, *, toy: bool = False) -> Network:
    own = OWN[name]
    make, inputs = own.build(toy)
    return Network(
        name=f"own:{name}",
        family=FAMILIES.get(own.family, own.family),
        make=lambda: Outputs(make()),
        inputs=inputs,
        batches=(2, 4) if toy else own.batches,
        optimiser=own.optimiser,
        images=own.images,
    )


TRANSFORMERS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("zoo_transformers.json").read_text(encoding="utf-8")
)
"""Small and base shapes of published networks, by a name of ours: the class, what its configuration changes,
and its inputs, of which a number means so many token ids and a list a random tensor of that shape."""
FIRST_ID = 3
"""Lower token ids are often padding and ends, which some networks look for."""


def from_transformers(name: str) -> Network:
    """A network of the table. The library is imported when the network is made, which takes a second."""
    shape = TRANSFORMERS[name]

    @functools.cache
    def source() -> tuple[Any, Any]:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        kind: Any = getattr(importlib.import_module("transformers"), shape["model"])
        config = kind.config_class(**shape["changes"])
        if hasattr(config, "use_cache"):
            config.use_cache = False
        return kind, config

    def inputs(batch: int) -> tuple[Tensor, ...]:
        config = source()[1]
        vocabulary = getattr(getattr(config, "text_config", config), "vocab_size", 1000)
        return tuple(
            torch.randint(FIRST_ID, vocabulary, (batch, size))
            if isinstance(size, int)
            else torch.randn(batch, *size)
            for size in shape["inputs"].values()
        )

    def make() -> nn.Module:
        kind, config = source()
        network = kind(config)
        for part in network.modules():
            if hasattr(part, "warn_if_padding_and_no_attention_mask"):
                # It reads token ids back from the device in every step; ours have no padding.
                part.warn_if_padding_and_no_attention_mask = lambda *_: None
        return Outputs(network, tuple(shape["inputs"]), first=True)

    return Network(
        name=f"hf:{name}",
        family=shape["family"],
        make=make,
        inputs=inputs,
        batches=(shape["batches"][0], shape["batches"][1]),
        optimiser="adamw",
        settings={"model": shape["model"], **shape["changes"]},
    )
