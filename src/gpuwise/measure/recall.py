"""Take over the best recipe known for this device and software, where the user says nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from gpuwise import workloads
from gpuwise.facts import recipes
from gpuwise.measure import telemetry
from gpuwise.measure.telemetry import TorchBuild
from gpuwise.model.recipe import Recipe, Switches
from gpuwise.model.run import RunConfig
from gpuwise.model.tuning import Tuned

Found = dict[RunConfig, tuple[Tuned, ...]]
"""Configurations with the recipes that they come from: of one GPU, of several, or both."""


def recall(
    plan: Sequence[RunConfig], device: str, recipe: Recipe = "tuned"
) -> tuple[tuple[RunConfig, ...], Found]:
    """The plan with known recipes in it, and which of its configurations come from which recipes.

    `device` is the catalog's id, else the driver's name; `recipe` what was asked for: stock takes over
    no kernel of gpuwise's. A batch that was asked for stays; instead of
    searching one, that of the recipe is taken. Several GPUs run the recipe of one, so that they can be held
    against it, and exchange gradients as was found best for so many, or for the number next to it; where
    that was not searched for this work, as for other work. Several machines must run the same, whatever each
    of them has found, so nothing is taken over there.
    """
    if any(config.nodes > 1 for config in plan):
        return tuple(plan), {}
    build = telemetry.torch_build()
    found: Found = {}
    new = []
    for config in plan:
        known = _known(config, device, build, recipe) if build is not None and _open(config) else ()
        if known:
            config = _with(config, known)
            found[config] = known
        new.append(config)
    return tuple(new), found


def _known(config: RunConfig, device: str, build: TorchBuild, recipe: Recipe) -> tuple[Tuned, ...]:
    """The recipes of one GPU and of several that a configuration may take over."""
    version, cuda = workloads.get(config.workload).spec.version, build.cuda or build.hip
    find = partial(
        recipes.find, version=version, device=device, torch=build.version, cuda=cuda, recipe=recipe
    )
    known = [find(replace(config, gpus=1))]
    if config.gpus > 1:
        same = find(config)
        known.append(same or recipes.exchange(config, device=device, torch=build.version, cuda=cuda))
    return tuple(one for one in known if one is not None)


def _with(config: RunConfig, known: Sequence[Tuned]) -> RunConfig:
    """The configuration with what its recipes say: of several GPUs' the exchange alone, of other work's no
    batch."""
    switches, batch = Switches(), config.batch
    for recipe in known:
        switches = recipe.switches if recipe.gpus == 1 else switches.exchanging_as(recipe.switches)
        batch = batch or (recipe.batch if recipe.of_work(config) else None)
    return replace(config, switches=switches, batch=batch)


def _open(config: RunConfig) -> bool:
    """Whether the recipe is left to gpuwise. A first picture is eager anyway."""
    tuned = config.recipe != "script" and config.mode in ("train", "infer") and config.size == "full"
    unset = config.framework == "torch" and config.switches == Switches()
    return tuned and unset and not config.quick
