"""Image networks of timm's public result files, by the function that `gpuwise predict` calls.

`DRAWN` of the networks that the file names were drawn at random (`DRAW`), before anything was predicted: a
trace of each takes seconds. timm itself is needed; traces are kept in the user's folder. As in timm's
benchmark, "amp" is autocast to fp16 over weights in fp32. Rows before torch 2.0 are refused: attention ran as
other kernels then, which no step of today launches.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from evaluation.predict.case import Array, Case, Row, find_card
from evaluation.predict.sets import traced
from gpuwise.errors import GpuwiseError
from gpuwise.predictor import trace_store
from gpuwise.predictor.kernels import Trace
from gpuwise.predictor.rates import Parameters
from gpuwise.store import home

quantity, unit = "latency", "ms/image"
DRAW, DRAWN = "networks of timm, 2026-11-23", 40
FUSED_FROM = 200
"""Version of torch, as the files write it, from which attention is fused."""
BATCHES = (32, 64)
"""Of the steps that are recorded: sizes are linear in it (`trace_store`)."""


def read(rows: Sequence[Row]) -> list[Case]:
    """Cases of the networks that were drawn, as milliseconds of one image."""
    names = sorted({row["model"] for row in rows})
    drawn = frozenset(random.Random(DRAW).sample(names, min(DRAWN, len(names))))
    return [_case(row) for row in rows if row["model"] in drawn]


def _case(row: Row) -> Case:
    card, refusal = find_card(row["gpu"])
    work: Trace | None = None
    if row["mode"] != "infer" or float(row["torch"] or 0) < FUSED_FROM:
        refusal = refusal or "measured before torch 2.0"
    dtype = "bf16" if "bf16" in row["precision"] else "fp16"
    if not refusal:
        asked = (row["model"], int(float(row["img_size"])), row["precision"], row["layout"])
        work = trace_of(*asked, int(float(row["batch"])), row["compiled"] == "1")
        refusal = "" if work is not None else "its timm cannot make or trace it"
    return Case(
        gpu=row["gpu"], card=card, model=row["model"], measured=1e3 / float(row["samples_per_s"]),
        flop=work.flop if work else 0.0, moved=traced.moved(work) if work else 0.0, dtype=dtype,
        work=traced.Work(work) if work else None, part=row["mode"], refusal=refusal,
        group=row["model"].split("_")[0].rstrip("0123456789"), version=float(row["torch"] or 0),
        key="/".join((row["model"], row["img_size"], row["precision"], row["layout"], row["compiled"])),
    )  # fmt: skip


@cache
def trace_of(name: str, size: int, precision: str, layout: str, batch: int, compiled: bool) -> Trace | None:
    """One inference step; None where this timm has no such network, or it changes with the batch."""
    known = documents(name, size, precision, layout)
    return trace_store.at(known, str(compiled), batch) if known else None


@cache
def documents(name: str, size: int, precision: str, layout: str) -> trace_store.Document | None:
    """The step eager and compiled at any batch, from two of them; kept on disk."""
    kept = folder() / f"{name}-{size}-{precision}-{layout}.json"
    if not kept.exists():
        try:
            found = [made(name, size, precision, layout, batch) for batch in BATCHES]
            made_of = {str(compiled): [pair[compiled] for pair in found] for compiled in (False, True)}
            document = trace_store.encode(made_of)
        except (GpuwiseError, RuntimeError, TypeError, ValueError, AssertionError) as error:
            # Not kept: another release of a library, or one that can be imported, may make it.
            print(f"{name}: {str(error)[:120]}", file=sys.stderr)
            return None
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(document), encoding="utf-8")
    read: trace_store.Document = json.loads(kept.read_text(encoding="utf-8"))
    return read


def folder() -> Path:
    """Where traces lie, by the versions that made them."""
    versions = []
    for package in ("timm", "torch"):
        try:
            versions.append(f"{package}{version(package)}")
        except PackageNotFoundError:
            versions.append(f"no-{package}")
    return home() / "scored" / "-".join(versions)


def made(name: str, size: int, precision: str, layout: str, batch: int) -> tuple[Trace, Trace]:
    """The step as timm's benchmark runs it, eager and compiled."""
    import timm
    import torch

    from gpuwise.predictor.recorder import record
    from gpuwise.predictor.trace import About, trace_of

    def build() -> tuple[Callable[[], object], float]:
        with torch.device("cuda"):
            try:
                model = timm.create_model(name, img_size=size)
            except TypeError:
                model = timm.create_model(name)
            images = torch.empty(batch, 3, size, size)
        model.eval()
        if layout == "nhwc":
            model, images = (
                model.to(memory_format=torch.channels_last),
                images.contiguous(memory_format=torch.channels_last),
            )
        if not precision.startswith("amp"):
            model, images = model.to(torch.bfloat16), images.to(torch.bfloat16)
        lower = torch.bfloat16 if "bf16" in precision else torch.float16
        cast: Any = torch.autocast("cuda", lower) if precision.startswith("amp") else nullcontext()

        def step() -> object:
            with torch.no_grad(), cast:
                return model(images)

        return step, float(batch)

    about = About(
        workload=f"timm:{name}", version=1, mode="infer", precision="bf16" if "bf16" in precision else "fp16",
        item="image",
    )  # fmt: skip
    tape = record(build)
    eager, compiled = (trace_of(tape, about, batch=batch, compiled=c, group=False) for c in (False, True))
    return eager, compiled


def predict(parameters: Parameters, cases: Sequence[Case]) -> Array:
    """Milliseconds of one image of each case."""
    return 1e3 * traced.seconds(cases)


halves = traced.halves
