"""Our image classifiers against torchvision's: parameters, operations, outputs for the same weights.

    python experiments/check_torchvision.py [cpu|cuda]

Needs torchvision. Random weights, random batch-norm statistics, fp32 with TF32 off, two images. In
training (dropout off) the auxiliary classifiers are compared too. Exit code 1 if anything differs.
"""

from __future__ import annotations

import copy
import json
import sys
import warnings
from collections.abc import Callable
from functools import partial

import torch
import torchvision
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from gpuwise.workloads import convnet
from gpuwise.workloads.models import vit
from gpuwise.workloads.models.convnet import as_if_trained, classifier
from gpuwise.workloads.models.vit import VisionTransformer
from tests.workloads.torchvision_names import from_torchvision

TOLERANCE = 1e-4
NETS: dict[str, tuple[Callable[[], nn.Module], str, int]] = {
    **{
        name: (partial(classifier, network), name.replace("-", "_"), network.image)
        for name, network in convnet.NETWORKS.items()
    },
    "vit-b16": (lambda: VisionTransformer(vit.SHAPE), "vit_b_16", 224),
}


def pair(name: str, device: str) -> tuple[nn.Module, nn.Module]:
    """Ours and torchvision's network with the same random weights."""
    build, their_name, _ = NETS[name]
    options = {"init_weights": False} if name in ("inception-v3", "googlenet") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs: nn.Module = getattr(torchvision.models, their_name)(weights=None, **options)
    as_if_trained(theirs)
    if name == "vit-b16":  # its classifier starts at zero
        nn.init.normal_(theirs.heads.head.weight, std=0.02)
    ours = build()
    ours.load_state_dict(from_torchvision(name, theirs.state_dict(), ours.state_dict()))
    for module in (*ours.modules(), *theirs.modules()):
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return ours.to(device), theirs.to(device)


def outputs(model: nn.Module, images: Tensor, *, training: bool) -> tuple[Tensor, ...]:
    """Classifier, first and second auxiliary classifier."""
    with torch.no_grad():
        found = model.train(training)(images)
    if isinstance(found, Tensor):
        return (found,)
    if type(found) is not tuple:  # torchvision's named tuple has the second auxiliary before the first
        found = (found[0], *reversed(found[1:]))
    return tuple(found)


def flop(model: nn.Module, side: int, *, training: bool) -> float:
    """Operations of one image; without a device, where no fused kernel hides them from the counter."""
    bare = copy.deepcopy(model).to("meta").train(training)
    with FlopCounterMode(display=False) as counter:
        bare(torch.empty(2, 3, side, side, device="meta"))
    return counter.get_total_flops() / 2


def compare(name: str, device: str) -> dict[str, object]:
    """One line of the table."""
    both, side = pair(name, device), NETS[name][2]
    images = torch.randn(2, 3, side, side, device=device)
    count = [sum(p.numel() for p in model.parameters()) for model in both]
    line: dict[str, object] = {"network": name, "parameters": count[0], "parameters_torchvision": count[1]}
    same = count[0] == count[1]
    for mode in ("infer", "train"):
        training = mode == "train"
        ours, theirs = (flop(model, side, training=training) for model in both)
        x, y = (outputs(model, images, training=training) for model in both)
        differs = max(float((a - b).norm() / b.norm()) for a, b in zip(x, y, strict=True))
        same &= ours == theirs and differs < TOLERANCE
        line |= {f"{mode}_flop": ours, f"{mode}_flop_torchvision": theirs}
        line |= {f"{mode}_outputs": len(x), f"{mode}_difference": differs}
    return line | {"same": same}


def main(device: str) -> int:
    """Print the table, and as the last line all of it as JSON."""
    torch.manual_seed(0)
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    lines = [compare(name, device) for name in NETS]
    print(f"torch {torch.__version__}, torchvision {torchvision.__version__}, {device}")
    print(f"{'network':<14}{'parameters':>12}{'GMAC':>8}  {'differs by, infer':>18}{'train':>10}")
    for line in lines:
        print(
            f"{line['network']:<14}{line['parameters']:>12,}{line['infer_flop'] / 2e9:>8.3f}  "
            f"{line['infer_difference']:>18.1e}{line['train_difference']:>10.1e}"
            f"  {'same' if line['same'] else 'DIFFERENT'}"
        )
    print(json.dumps(lines))
    return 0 if all(line["same"] for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "cpu"))
