"""Take over the best recipe known for this device and software, where the user says nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from gpuwise import recipes, telemetry, workloads
from gpuwise.model.recipe import Switches
from gpuwise.model.run import RunConfig
from gpuwise.model.tuning import Tuned


def recall(plan: Sequence[RunConfig], device: str) -> tuple[tuple[RunConfig, ...], dict[RunConfig, Tuned]]:
    """The plan with known recipes in it, and which of its configurations come from which recipe.

    `device` is the catalog's id, else the driver's name. A batch that was asked for stays; instead of
    searching one, that of the recipe is taken. Several GPUs run the recipe of one, so that they can be held
    against it, and exchange gradients as was found best for so many, or for the number next to it. Several
    machines must run the same, whatever each of them has found, so nothing is taken over there.
    """
    if any(config.nodes > 1 for config in plan):
        return tuple(plan), {}
    build = telemetry.torch_build()
    found: dict[RunConfig, Tuned] = {}
    new = []
    for config in plan:
        known = None
        if build is not None and _open(config):
            version = workloads.get(config.workload).spec.version
            cuda = build.cuda or build.hip
            find = partial(recipes.find, version=version, device=device, torch=build.version, cuda=cuda)
            known = find(replace(config, gpus=1))
            several = find(config) if config.gpus > 1 else None
            if several is not None:
                base = known or replace(several, switches=Switches())
                switches = base.switches.exchanging_as(several.switches)
                known = replace(base, gpus=config.gpus, switches=switches)
        if known is not None:
            config = replace(config, switches=known.switches, batch=config.batch or known.batch)
            found[config] = known
        new.append(config)
    return tuple(new), found


def _open(config: RunConfig) -> bool:
    """Whether the recipe is left to gpuwise. A first picture is eager anyway."""
    tuned = config.recipe == "tuned" and config.mode in ("train", "infer") and config.size == "full"
    unset = config.framework == "torch" and config.switches == Switches()
    return tuned and unset and not config.quick
