"""How much arithmetic one item of a well-known network takes: the yardstick of the physics gates.

`data/networks.csv` holds forward operations with a multiply-add counted as two. Convolutional
networks: the multiply-adds that torchvision's documentation states with its weights (there called
GFLOPS), doubled. Transformers: 2 S * 12 h^2 for the matrix products of one layer and 4 S^2 h for its
attention, over all layers (S tokens, h hidden units).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_DATA = Path(__file__).with_name("data") / "networks.csv"
# A detector or a segmenter is called after the network that is a part of it.
_DETECTOR = re.compile(
    r"\b(?:ssd|(?:mask|faster)[ -]?r-?cnn|retinanet|u-?net|deeplab|fpn|yolo)", re.IGNORECASE
)
WINOGRAD = 2.25
# Operations of the backward pass per operation of the forward pass: one product each for the gradient of the
# input and of the weights.
BACKWARD = 2.0


@dataclass(frozen=True, slots=True)
class Network:
    """One network at one input size."""

    id: str
    item: str
    forward_flop: float  # Operations of one item's forward pass
    # convolution or transformer where its speed follows its operations; empty for networks of depthwise,
    # grouped or concatenating layers, which wait for memory instead.
    family: str
    # Share of the operations in 3x3 convolutions of stride 1 (1 where it was not counted): fp32 libraries do
    # these with Winograd's F(2x2, 3x3) in 1 / 2.25 of the multiplications (Lavin and Gray 2016), and so run
    # faster than their peak seems to allow.
    winograd: float

    @property
    def least(self) -> float:
        """Share of the operations that fp32 arithmetic cannot do without."""
        return 1 - self.winograd * (1 - 1 / WINOGRAD)

    def flop(self, mode: str) -> float:
        """Operations of one item: forward alone, or a training step without its optimiser."""
        return self.forward_flop * (1 + BACKWARD if mode == "train" else 1)


def find(name: str) -> Network | None:
    """The network that `name` means ("ResNet-50", "Inception v3"), or None."""
    return _by_key().get(_key(name))


def mentioned(text: str) -> Network | None:
    """The network that a text names among other words ("ResNet-50 v1.5, batch 256"), or None."""
    match = _in_text().search(text)
    return None if match is None or _DETECTOR.search(text) else find(match[0])


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", name.casefold())


@cache
def _named() -> Mapping[str, Network]:
    """Every network by each of its names as the file writes them."""
    found: dict[str, Network] = {}
    with _DATA.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            costs = float(row["forward_flop"]), row["family"], float(row["winograd"])
            network = Network(row["id"], row["item"], *costs)
            # An alias may be empty: a list of none ends in one.
            found |= {name: network for name in (row["id"], *row["aliases"].split(";")) if name}
    return found


@cache
def _by_key() -> Mapping[str, Network]:
    return {_key(name): network for name, network in _named().items()}


@cache
def _in_text() -> re.Pattern[str]:
    """Any name of any network, the longest first, its words and numbers parted or not."""
    parted = (
        r"[ _-]?".join(map(re.escape, re.findall(r"[a-z]+|\d+(?:\.\d+)?", name)))
        for name in sorted(_named(), key=len, reverse=True)
    )
    return re.compile(rf"(?<![a-z0-9])(?:{'|'.join(parted)})(?![a-z0-9])", re.IGNORECASE)
