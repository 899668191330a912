"""Which public networks can be traced, with torch's CPU alone: `results/predict/tracing.md`.

    python -m evaluation.predict.tracing -o results/predict/tracing.md

200 networks of timm drawn at random (`DRAW`) and torchvision's classifiers as `gpuwise predict NAME` traces
them, in training; torchvision's networks for segmentation and video and the backbones of its detectors (whose
boxes are data) as modules with one example, in inference; configurations of transformers, in training. Traced
is what has no refusal and a known cost for nine tenths of every pass. `--only` traces some sources, `--most`
the first few of each.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from gpuwise.errors import GpuwiseError
from gpuwise.model.question import RunConfig
from gpuwise.predictor.kernels import Trace
from gpuwise.predictor.rates import LEAST_KNOWN
from gpuwise.predictor.trace import trace_module, trace_workload
from gpuwise.workloads import registry

DRAW, DRAWN = "networks of timm that are traced, 2026-11-23", 200
CONFIGURATIONS = (
    "Albert", "AST", "Bart", "Bert", "Bloom", "ConvNextV2", "DebertaV2", "DistilBert",
    "Electra", "Falcon", "Gemma2", "GPT2", "GPTNeoX", "IBert", "Llama", "Longformer", "Mamba", "MBart",
    "Mistral", "Mixtral", "Qwen2Moe", "Roberta", "T5", "ViT", "Wav2Vec2", "Whisper",
)  # fmt: skip
Job = tuple[str, str, Callable[[], Trace]]
"""Source, name, and what traces it."""


def workload(name: str, mode: str) -> Callable[[], Trace]:
    """As `gpuwise predict NAME --mode MODE` traces it, four items a step."""

    def trace() -> Trace:
        spec = registry.get(name).spec
        precision = "bf16" if "bf16" in spec.precisions else spec.precisions[0]
        return trace_workload(RunConfig(workload=name, mode=mode, precision=precision, compile=False), 4)

    return trace


def module(name: str) -> Callable[[], Trace]:
    """As `gpuwise.predict(module, example)` does: two images, or clips of 16."""

    def trace() -> Trace:
        models: Any = import_module("torchvision.models")
        make, example = models.get_model_builder(name), torch.empty(2, 3, 520, 520)
        kept = {"weights": None, "weights_backbone": None} if "_ori" not in name else {"weights": None}
        if "rcnn" in name or "retina" in name or "ssd" in name or "fcos" in name:
            example = torch.empty(2, 3, 320, 320)
        elif hasattr(models.video, name):
            kept, example = {"weights": None}, torch.empty(2, 3, 16, 224, 224)
        with torch.device("meta"):
            made = make(**kept)
        made = getattr(made, "backbone", made) if example.shape[-1] == 320 else made
        return trace_module(made, (example,), name=name, mode="infer", compiled=False)

    return trace


def jobs() -> Iterator[Job]:
    """Every network that is asked."""
    models: Any = import_module("torchvision.models")
    timm: Any = import_module("timm")
    drawn = random.Random(DRAW).sample(sorted(timm.list_models()), DRAWN)
    yield from (("timm", name, workload(f"timm:{name}", "train")) for name in drawn)
    for name in models.list_models(module=models):
        yield "torchvision, classification", name, workload(f"torchvision:{name}", "train")
    for kind in ("segmentation", "detection", "video"):
        for name in models.list_models(module=getattr(models, kind)):
            yield f"torchvision, {kind}", name, module(name)
    for each in CONFIGURATIONS:
        name = f"hf:{each}Config"
        yield "transformers", name, workload(name, "train")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--only", default="", help="beginning of a source")
    parser.add_argument("--most", type=int, default=10**6)
    asked = parser.parse_args()
    found: dict[str, list[str]] = {}
    for source, name, trace in jobs():
        if not source.startswith(asked.only) or len(found.setdefault(source, [])) >= asked.most:
            continue
        began, why = time.monotonic(), ""
        try:
            made = trace()
            if made.known < LEAST_KNOWN:
                why = f"{made.known:.0%} known: {', '.join(made.unknown[:3])}"
        except GpuwiseError as error:
            why = str(error)
        except (RuntimeError, ValueError, TypeError, LookupError, AttributeError, ImportError) as error:
            why = f"{type(error).__name__}: {error}"
        found[source].append(f"`{name}`: {' '.join(why.split())[:150]}" if why else "")
        print(f"{source} {name} {time.monotonic() - began:.1f} s {why[:150]}", flush=True)
    lines = [
        f"Traced by `python -m evaluation.predict.tracing`, torch {torch.__version__}, "
        + ", ".join(f"{package} {version(package)}" for package in ("timm", "torchvision", "transformers"))
        + ".\n",
        "| source | networks | traced | not traced |",
        "|---|---:|---:|---|",
    ]
    for source, each in found.items():
        refused = [why for why in each if why]
        said = "; ".join(refused[:12])
        lines.append(f"| {source} | {len(each)} | {len(each) - len(refused)} | {said} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if asked.output:
        asked.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
