"""The best recipe known of a workload on a device with a software: shipped, or found on this machine.

A recipe counts for the device, the release of torch, its CUDA version and the version of the workload
that it was found with: another compiler may rank the switches otherwise. What was found on this machine
goes before what is shipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from math import log2
from pathlib import Path
from typing import Any

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.model.question import Recipe, RunConfig, Switches, modern, without_own_kernels
from gpuwise.model.result import Interval, Tuned


def folder() -> Path:
    """Where recipes found on this machine are kept, one file each."""
    return store.home() / "recipes"


def find(
    config: RunConfig, version: int, *, device: str, torch: str, cuda: str | None, recipe: Recipe = "tuned"
) -> Tuned | None:
    """The recipe for what a configuration asks; None where none is known.

    For `stock`, one that was searched with torch's own kernels alone, else any with gpuwise's put back to
    torch's.

    For several GPUs it is one that was found with as many, else with the number next to it: how they are
    linked decides more than how many there are. For a batch that is asked for it is the one whose batch is
    next to it, since small ones wait for the host where large ones wait for memory; else one that was free to
    choose its batch.
    """
    alike = _alike(config, device, torch, cuda)
    fitting = [entry for entry in alike if entry.of_work(config) and entry.version == version]
    best = _nearest([entry for entry in fitting if entry.recipe == recipe] or fitting, config)
    if best is None or recipe != "stock":
        return best
    return replace(best, switches=without_own_kernels(best.switches))


def known() -> Iterator[Tuned]:
    places: list[Traversable] = [folder(), files("gpuwise.facts.recipes") / "data"]
    for place in places:
        if place.is_dir():
            for file in sorted(place.iterdir(), key=lambda f: f.name):
                # A name with a dot in front is a file that is being written.
                if file.name.endswith(".json") and not file.name.startswith("."):
                    yield loads(file.read_text(encoding="utf-8"), str(file))


def exchange(config: RunConfig, *, device: str, torch: str, cuda: str | None) -> Tuned | None:
    """The recipe of any work by which several such GPUs exchange gradients; None where none is known.

    For work that has none of its own: the links are the same. Compiled and eager steps apart: these have no
    graph to cut. Batches of different work do not compare.
    """
    return _nearest(_alike(config, device, torch, cuda), replace(config, batch=None))


def _alike(config: RunConfig, device: str, torch: str, cuda: str | None) -> Iterator[Tuned]:
    """Those of any work that ran as asked, on one GPU or on several, with this device and software."""
    wanted = (config.mode, config.compile, config.gpus > 1, device)
    for entry in known():
        ran = (entry.mode, entry.compile, entry.gpus > 1, entry.device)
        # The build does not count: `2.11.0+cu130` is 2.11.0.
        same = entry.torch.partition("+")[0] == torch.partition("+")[0] and entry.cuda == cuda
        if ran == wanted and same:
            yield entry


def _nearest(entries: Iterable[Tuned], config: RunConfig) -> Tuned | None:
    """That of the number of GPUs and the batch next to those asked for, the first of equal ones."""

    def distance(entry: Tuned) -> tuple[float, float, float]:
        gpus = abs(log2(entry.gpus / config.gpus))
        if config.batch:
            return gpus, 0.0, abs(log2(entry.batch / config.batch))
        return gpus, float(entry.batch_given), -entry.throughput.value if entry.batch_given else 0.0

    return min(entries, key=distance, default=None)


def keep(entry: Tuned) -> Path:
    """Write a recipe, in place of an earlier one for the same. Raises InputError where that fails."""
    words = (entry.device, entry.torch, entry.workload, entry.mode, entry.precision)
    how = "compiled" if entry.compile else "eager"
    several = (f"x{entry.gpus}",) if entry.gpus > 1 else ()
    given = (f"b{entry.batch}",) if entry.batch_given else ()
    stock = (entry.recipe,) if entry.recipe != "tuned" else ()
    name = re.sub(r"[^a-z0-9.]+", "-", " ".join((*words, how, *several, *given, *stock)).lower())
    return store.write(dumps(entry).encode(), folder() / f"{name}.json")


def dumps(entry: Tuned) -> str:
    """Indented JSON; of the switches those that differ from the default."""
    return json.dumps(asdict(entry) | {"switches": dict(entry.switches.changed)}, indent=1) + "\n"


def loads(text: str, origin: str) -> Tuned:
    """The recipe of one file. Raises InputError where it is none."""
    try:
        fields: dict[str, Any] = json.loads(text)
        fields |= {name: Interval(**fields[name]) for name in ("throughput", "gain")}
        return Tuned(**fields | {"switches": Switches(**modern(fields["switches"]))})
    except (ValueError, KeyError, TypeError) as error:
        problem = f"{origin} is not a recipe: {error}"
        raise InputError(problem, hint="delete it; tuning makes it again") from error
