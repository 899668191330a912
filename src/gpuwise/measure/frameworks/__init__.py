"""The frameworks that measure, each behind one `Adapter`, and what is known of them without importing one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import cast

from gpuwise.errors import InputError, MachineError
from gpuwise.model.precision import Precision
from gpuwise.model.question import Framework, Recipe, RunConfig

# Those of `networks.NETWORKS`; named here so that asking costs no import.
WORKLOADS = ("resnet50", "resnet152", "inception-v3", "googlenet", "bert-large")
PRECISIONS: tuple[Precision, ...] = (Precision.FP32, Precision.TF32, Precision.FP16, Precision.BF16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """One framework: its packages, of which one is enough, and the variables that its process needs."""

    packages: tuple[str, ...]
    oldest: tuple[int, int]
    several: bool  # True if it measures on several GPUs
    variables: dict[str, str]


# Frameworks beside torch.
_ROWS = tomllib.loads(Path(__file__).with_name("frameworks.toml").read_text(encoding="utf-8"))
FRAMEWORKS = {
    cast(Framework, name): Support(**row | {key: tuple(row[key]) for key in ("packages", "oldest")})
    for name, row in _ROWS.items()
}


def variables(config: RunConfig) -> dict[str, str]:
    """Environment variables for the process that measures `config`."""
    if config.framework == "torch":
        return {}
    hidden = {"CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu"} if config.device == "cpu" else {}
    return {**FRAMEWORKS[config.framework].variables, **hidden}


def installed(framework: Framework) -> str | None:
    """The version of a framework beside torch, from its package's metadata; None where it is missing."""
    for package in FRAMEWORKS[framework].packages:
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    return None


def check_installed(framework: Framework) -> None:
    """Raise MachineError where the framework is missing or too old."""
    if framework == "torch":
        return
    version, oldest = installed(framework), FRAMEWORKS[framework].oldest
    hint = f'install the extra "gpuwise[{framework}]"'
    if version is None:
        raise MachineError(f"{framework} is not installed", hint=hint)
    if tuple(int(number) for number in re.findall(r"\d+", version)[:2]) < oldest:
        least = ".".join(map(str, oldest))
        raise MachineError(f"{framework} {version} is too old, it must be {least} or newer", hint=hint)


def several(framework: Framework) -> bool:
    """True if it measures on several GPUs."""
    return framework == "torch" or FRAMEWORKS[framework].several


def check_asked(
    framework: Framework,
    *,
    workloads: Sequence[str] = (),
    precisions: Sequence[Precision] = (),
    recipe: Recipe = "tuned",
    host_input: bool = False,
    gpus: int = 1,
    nodes: int = 1,
) -> None:
    """Raise InputError where a framework beside torch has no such workload, precision or option."""
    if framework == "torch":
        return
    missing = [
        *(name for name in workloads if name not in WORKLOADS),
        *(precision for precision in precisions if precision not in PRECISIONS),
        *(["recipe script"] if recipe == "script" else []),
        *(["--with-input"] if host_input else []),
        *(["several GPUs"] if gpus > 1 and not several(framework) else []),
        *(["several machines"] if nodes > 1 else []),
    ]
    if missing:
        hint = f"{framework} measures {', '.join(WORKLOADS)} in {', '.join(PRECISIONS)}, on one machine"
        raise InputError(f"not measured in {framework}: {', '.join(missing)}", hint=hint)
