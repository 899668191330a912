"""Our parameter names and torchvision's, so that the weights of one load into the other.

ResNets have torchvision's names throughout. Of the others, the rules below turn our names into
torchvision's, first match first; a module inside an inception block is named by its place, as
`Mixed_5b.1.0` (second chain, first layer), where torchvision has a word, as `Mixed_5b.branch5x5_1`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from torch import Tensor

Rules = tuple[tuple[str, str], ...]

GOOGLENET: Rules = (
    (r"^(inception..)\.0\.0\.", r"\1.branch1."),
    (r"^(inception..)\.1\.(\d)\.", r"\1.branch2.\2."),
    (r"^(inception..)\.2\.(\d)\.", r"\1.branch3.\2."),
    (r"^(inception..)\.3\.(\d)\.", r"\1.branch4.\2."),
    (r"^auxiliaries\.inception4a\.", "aux1."),
    (r"^auxiliaries\.inception4d\.", "aux2."),
)

BLOCKS: dict[str, dict[str, str]] = {
    "Mixed_5[bcd]": {
        "0.0": "branch1x1",
        "1.0": "branch5x5_1",
        "1.1": "branch5x5_2",
        "2.0": "branch3x3dbl_1",
        "2.1": "branch3x3dbl_2",
        "2.2": "branch3x3dbl_3",
        "3.1": "branch_pool",
    },
    "Mixed_6a": {
        "0.0": "branch3x3",
        "1.0": "branch3x3dbl_1",
        "1.1": "branch3x3dbl_2",
        "1.2": "branch3x3dbl_3",
    },
    "Mixed_6[bcde]": {
        "0.0": "branch1x1",
        "1.0": "branch7x7_1",
        "1.1": "branch7x7_2",
        "1.2": "branch7x7_3",
        "2.0": "branch7x7dbl_1",
        "2.1": "branch7x7dbl_2",
        "2.2": "branch7x7dbl_3",
        "2.3": "branch7x7dbl_4",
        "2.4": "branch7x7dbl_5",
        "3.1": "branch_pool",
    },
    "Mixed_7a": {
        "0.0": "branch3x3_1",
        "0.1": "branch3x3_2",
        "1.0": "branch7x7x3_1",
        "1.1": "branch7x7x3_2",
        "1.2": "branch7x7x3_3",
        "1.3": "branch7x7x3_4",
    },
    "Mixed_7[bc]": {
        "0.0": "branch1x1",
        "1.0": "branch3x3_1",
        "1.1.0.0": "branch3x3_2a",
        "1.1.1.0": "branch3x3_2b",
        "2.0": "branch3x3dbl_1",
        "2.1": "branch3x3dbl_2",
        "2.2.0.0": "branch3x3dbl_3a",
        "2.2.1.0": "branch3x3dbl_3b",
        "3.1": "branch_pool",
    },
}
"""Inception v3's blocks: our places, torchvision's words."""

INCEPTION_V3: Rules = (
    (r"^auxiliaries\.Mixed_6e\.layers\.1\.", "AuxLogits.conv0."),
    (r"^auxiliaries\.Mixed_6e\.layers\.2\.", "AuxLogits.conv1."),
    (r"^auxiliaries\.Mixed_6e\.", "AuxLogits."),
    *(
        (rf"^({block})\.{re.escape(place)}\.(?=conv|bn)", rf"\1.{word}.")
        for block, words in BLOCKS.items()
        for place, word in words.items()
    ),
)

VIT: Rules = (
    (r"^patches\.", "conv_proj."),
    (r"^positions$", "encoder.pos_embedding"),
    (r"^norm\.", "encoder.ln."),
    (r"^head\.", "heads.head."),
    (r"^layers\.(\d+)\.norm(\d)\.", r"encoder.layers.encoder_layer_\1.ln_\2."),
    (r"^layers\.(\d+)\.attention\.qkv\.", r"encoder.layers.encoder_layer_\1.self_attention.in_proj_"),
    (
        r"^layers\.(\d+)\.attention\.project\.",
        r"encoder.layers.encoder_layer_\1.self_attention.out_proj.",
    ),
    (r"^layers\.(\d+)\.expand\.", r"encoder.layers.encoder_layer_\1.mlp.0."),
    (r"^layers\.(\d+)\.contract\.", r"encoder.layers.encoder_layer_\1.mlp.3."),
)

RULES: dict[str, Rules] = {
    "resnet50": (),
    "resnet152": (),
    "googlenet": GOOGLENET,
    "inception-v3": INCEPTION_V3,
    "vit-b16": VIT,
}


def torchvision_name(workload: str, name: str) -> str:
    """torchvision's name of a parameter or buffer of that workload's model."""
    for pattern, replacement in RULES[workload]:
        renamed, found = re.subn(pattern, replacement, name)
        if found:
            return renamed
    return name


def from_torchvision(
    workload: str, state: Mapping[str, Tensor], ours: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """torchvision's state dict under our names. Raises KeyError for one that it lacks."""
    return {name: state[torchvision_name(workload, name)] for name in ours}
