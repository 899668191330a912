"""Workloads by name: the built-in ones as `module:attribute`, imported when asked for, and foreign ones.

A workload is its specification (no torch needed) and the function that builds its job (torch):

@workload(WorkloadSpec(id="my-net", ...))
def my_net(config: RunConfig, batch: int) -> Job:
    import torch            # inside, so that listing workloads stays fast
    ...
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from gpuwise.errors import InputError
from gpuwise.model.question import Mode, RunConfig, WorkloadSpec

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

DIGITS = 12  # Of a digest: enough to tell a user's files apart.
Build = Callable[[RunConfig, int], "Job"]
# Switches of whatever is compiled and made of repeated blocks.
REPEATED = ("compile_scope", "compiler", "graph")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """`build(config, batch)` allocates model and input on `config.device` and returns the job."""

    spec: WorkloadSpec
    build: Build
    # By what another process finds it, where that is not its id: the full path of a file, say.
    reference: str | None = None

    @property
    def content(self) -> str | None:
        """Digest of the file that a user's own workload is in; None where it is in none."""
        path, mark, _ = (self.reference or "").removeprefix("hf:").rpartition(".py:")
        file = Path(f"{path}.py" if mark else (self.reference or "").removeprefix("hf:"))
        if file.suffix not in (".py", ".json") or not file.is_file():
            return None
        return sha256(file.read_bytes()).hexdigest()[:DIGITS]


def workload(spec: WorkloadSpec) -> Callable[[Build], Workload]:
    """Turn a build function into a Workload."""
    return lambda build: Workload(spec=spec, build=build)


# Models first, limits last: the order of lists. The key is a module of this package.
_FAMILIES = {
    "convnet": ("resnet50", "resnet152", "inception-v3", "googlenet"),
    "vit": ("vit-b16",),
    "bert": ("bert-base", "bert-large", "bert-large-pretrain-s128", "bert-large-pretrain-s512"),
    "llm": (
        "llm-124m", "llm-1b", "llm-1b-finetune", "llm-1b-lora", "llm-8b-lora",
        "llm-1b-prefill", "llm-1b-decode", "llm-8b-prefill", "llm-8b-decode",
        "llm-1b-prefill-8k", "llm-1b-decode-8k", "llm-8b-prefill-8k", "llm-8b-decode-8k",
    ),
    "diffusion": ("unet-sd15", "unet-sd15-1024", "dit-xl2", "dit-xl2-512"),
    "science": ("fft", "stencil", "cholesky"),
    "limits": (
        "matmul", "copy", "copy-l2", "launch", "host-to-device", "device-to-host", "peer", "all-reduce",
        "all-gather", "reduce-scatter", "all-to-all", "send-receive", "disk-read",
    ),
}  # fmt: skip
# Ways on from names of networks that are not built in.
_WAYS = (
    (
        r"((wide-)?resnet|resnext|densenet|vgg|alexnet|squeezenet|mobilenet|efficientnet|regnet|shufflenet|mnasnet"
        r"|convnext|swin|maxvit|vit-[blh])[-\w.]*$",
        "write torchvision:{}, or ",
    ),
    (r"sd(xl|-?\d)|stable-?diffusion|flux|diffusion", "write unet-sd15 (Stable Diffusion 1.5), or "),
)
_BUILT_IN = {name: family for family, names in _FAMILIES.items() for name in names}
# Foreign workloads that were asked for, by the name that results store.
_FOREIGN: dict[str, Workload] = {}


def names() -> tuple[str, ...]:
    """Names of all built-in workloads, models first, limits last."""
    return tuple(_BUILT_IN)


def find(name: str) -> tuple[Workload, ...]:
    """What `name` means: a built-in workload, one of an installed package or of a model library
    (`timm:NAME`), or all of a file (`./my_model.py`).

    Raises InputError with the nearest names where it means nothing.
    """
    # Built-in names go first: a package must not take one over.
    if name in _BUILT_IN:
        return (_built_in(name),)
    if name in _FOREIGN:
        return (_FOREIGN[name],)
    if (named := _of_model(name)) is not None:
        return (named,)
    from gpuwise.workloads import foreign

    if not foreign.is_foreign(name):
        from gpuwise.facts import llms  # wanted for a slip only

        # Names that hold what was typed, else those written like it.
        plain = name.casefold().replace("_", "-")
        holding = [full for full in _BUILT_IN if plain in full] if plain else []
        near = holding[:5]
        # A language model has no workload of its own name: what is measured of it ends in a step.
        near = near or llms.nearest(re.sub(r"-(decode|prefill|pretrain|full|q?lora)\b.*$", "", plain))
        near = near or difflib.get_close_matches(plain, _BUILT_IN, n=2, cutoff=0.6)
        other = "" if near else "write a file of your own, ./my_model.py, or "
        way = next((way for family, way in _WAYS if re.match(family, plain)), other)
        hint = f"{way.format(plain.replace('-', '_'))}see what can be measured"
        raise InputError(f"unknown workload {name!r}{llms.guess(near)}", hint=hint, code="workload")
    return tuple(_remember(found) for found in foreign.ask(name))


def expand(
    name: str,
    modes: tuple[Mode, ...],
    methods: tuple[str, ...] = (),
    checkpointing: bool = False,
    contexts: tuple[int, ...] = (),
) -> tuple[str, ...]:
    """Names of what is measured of a language model, with each method at each context; of anything else its
    own. Raises InputError where such options are given for something else."""
    asked = bool(methods or checkpointing or contexts)
    if name in _BUILT_IN and not asked:
        return (name,)
    from gpuwise.workloads import llm

    if not llm.is_model(name):
        if asked and not llm.by_name(name):
            raise InputError(
                f"{name} is not a language model, which methods, checkpointing and contexts are of",
                hint="such as llama-3.1-8b",
            )
        return (name,)
    return tuple(
        each
        for method in methods or (None,)
        for context in contexts or (None,)
        for each in llm.names_of(name, modes, method, checkpointing, context)
    )


def get(name: str) -> Workload:
    """The one workload of that name. Raises InputError where there is none, or more."""
    found = find(name)
    if len(found) > 1:
        ids = ", ".join(w.spec.id for w in found)
        raise InputError(f"{name} has {len(found)} workloads: {ids}", hint=f"choose one: {name}:NAME")
    return found[0]


def load(reference: str) -> Workload:
    """The workload itself, in the process that will run it: foreign code is run here."""
    if reference in _BUILT_IN:
        return _built_in(reference)
    if (named := _of_model(reference)) is not None:
        return named
    from gpuwise.workloads import foreign

    (found,) = foreign.load(reference)
    return replace(found, build=partial(foreign.build, found))


def specs() -> tuple[WorkloadSpec, ...]:
    """Specifications of all built-in workloads."""
    return tuple(get(name).spec for name in _BUILT_IN)


def installed() -> tuple[str, ...]:
    """Names that installed packages offer beside the built-in ones, without loading them."""
    from gpuwise.workloads import foreign

    return tuple(sorted(set(foreign.entry_points()) - set(_BUILT_IN)))


def _of_model(name: str) -> Workload | None:
    """What is measured of a language model, by its name (`llama-3.1-8b-decode`)."""
    if not re.search(r"-(decode|prefill|pretrain|full|finetune|lora|qlora)(-|$)", name):
        return None
    from gpuwise.workloads.llm import by_name

    return by_name(name)


def _built_in(name: str) -> Workload:
    if _BUILT_IN[name] == "llm":
        from gpuwise.workloads.llm import by_name

        found = by_name(name)
        assert found is not None
        return found
    family = import_module(f"gpuwise.workloads.{_BUILT_IN[name]}")
    return next(w for w in vars(family).values() if isinstance(w, Workload) and w.spec.id == name)


def _remember(found: Workload) -> Workload:
    """Keep a foreign workload under the name that results store, which has no folders."""
    known = _FOREIGN.setdefault(found.spec.id, found)
    if known.reference != found.reference:
        raise InputError(
            f"two workloads are called {found.spec.id}: results could not tell them apart",
            hint="rename one of the files",
        )
    return known
