"""Steps of two small usual networks that wait for the host, beside a bare launch and a loop of Python.

    python experiments/host_steps.py OUT.json

Six rounds of some seconds: how far the host of one machine is from itself, in training and inference.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path

import torch
from torch import nn
from zoo import Row, core_s, job_of, launch_s, window
from zoo_networks import Network, Outputs
from zoo_own import Attention, Residual, feed_forward, normal, tokens

ROUNDS, STEPS, BATCH = 6, 20, 2


def blocks() -> nn.Module:
    layers: list[nn.Module] = [nn.Embedding(256, 64)]
    for _ in range(4):
        layers += [Residual(nn.LayerNorm(64), Attention(64, 4)), Residual(nn.LayerNorm(64), feed_forward(64))]
    return Outputs(nn.Sequential(*layers, nn.Linear(64, 256)))


def images() -> nn.Module:
    layers: list[nn.Module] = [nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU()]
    for _ in range(8):
        layers.append(Residual(nn.Conv2d(32, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU()))
    return Outputs(nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)))


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(4)
    steps, found = {}, defaultdict[str, list[float]](list)
    for make, inputs in ((blocks, tokens(256, 32)), (images, normal(3, 32, 32))):
        name = make.__name__
        network = Network(
            name=name, family=name, make=make, inputs=inputs, batches=(BATCH, BATCH), optimiser="adamw",
            images=make is images,
        )  # fmt: skip
        for mode in ("infer", "train"):
            with torch.device(device):
                model = make().to(device)
            row = Row(network=name, mode=mode, precision="bf16", compiled=False, batch=BATCH)
            steps[f"{name}:{mode}:eager"] = job_of(row, network, model, device).step
    for step in steps.values():
        window(step, 3, device)
    for _ in range(ROUNDS):
        found["launch_s"].append(launch_s(device))
        found["core_s"].append(core_s())
        for name, step in steps.items():
            found[name].append(statistics.median(window(step, STEPS, device)[1:]))
    document = {"at": time.time(), **found}
    Path(sys.argv[1]).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
