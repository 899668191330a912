"""Measure the operators of `gpuwise.workloads.operators` on this machine, into OUT/operators.json.

    python experiments/operators.py OUT

`--toy` measures a few small cases on the CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path

import torch

from gpuwise.workloads import operators

TOY = (
    "recurrent GRU 256x32x256",
    "pointwise relu 524288",
    "depthwise 4x96",
    "topk few",
    "layer_norm rows 512",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--time", type=float, default=120.0, help="seconds, starting included")
    parser.add_argument("--toy", action="store_true")
    asked = parser.parse_args()
    began = time.monotonic()
    device = "cpu" if asked.toy else "cuda"
    chosen = [case for case in operators.cases() if not asked.toy or case.name.startswith(TOY)]
    launches = operators.launch_seconds(device)
    found = []
    for case in chosen:
        if time.monotonic() - began > asked.time:
            break
        found.append(operators.measure(case, device))
    failed = [timed for timed in found if timed.error]
    document = {
        "device": torch.cuda.get_device_name() if device == "cuda" else platform.processor(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version() if device == "cuda" else None,
        "cores": os.cpu_count(),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "launch_s": launches,
        "seconds": round(time.monotonic() - began, 1),
        "failed": {timed.name: timed.error for timed in failed},
        "rows": {
            timed.name: [round(timed.seconds, 9), round(timed.host_s, 9)]
            for timed in found
            if not timed.error
        },
    }
    asked.folder.mkdir(parents=True, exist_ok=True)
    (asked.folder / "operators.json").write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")
    print(f"{len(found)} of {len(chosen)} cases, {len(failed)} failed, {document['seconds']} s")
    for timed in failed[:20]:
        print(timed.name, timed.error)


if __name__ == "__main__":
    main()
