"""Workloads by name: the built-in ones as `module:attribute`, imported when asked for, and foreign ones."""

from __future__ import annotations

import difflib
from dataclasses import replace
from functools import partial
from importlib import import_module

from gpuwise.errors import InputError
from gpuwise.model.workload import WorkloadSpec
from gpuwise.workloads.workload import Workload

_BUILT_IN = {
    "resnet50": "gpuwise.workloads.resnet:resnet50",
    "resnet152": "gpuwise.workloads.resnet:resnet152",
    "inception-v3": "gpuwise.workloads.inception:inception_v3",
    "googlenet": "gpuwise.workloads.inception:googlenet",
    "vit-b16": "gpuwise.workloads.vit:vit_b16",
    "bert-base": "gpuwise.workloads.bert:bert_base",
    "bert-large": "gpuwise.workloads.bert:bert_large",
    "bert-large-pretrain-s128": "gpuwise.workloads.bert:bert_large_s128",
    "bert-large-pretrain-s512": "gpuwise.workloads.bert:bert_large_s512",
    "llm-124m": "gpuwise.workloads.llm:llm_124m",
    "llm-1b": "gpuwise.workloads.llm:llm_1b",
    "llm-1b-finetune": "gpuwise.workloads.llm:llm_1b_finetune",
    "llm-1b-lora": "gpuwise.workloads.llm:llm_1b_lora",
    "llm-8b-lora": "gpuwise.workloads.llm:llm_8b_lora",
    "llm-1b-prefill": "gpuwise.workloads.llm_infer:llm_1b_prefill",
    "llm-1b-decode": "gpuwise.workloads.llm_infer:llm_1b_decode",
    "llm-8b-prefill": "gpuwise.workloads.llm_infer:llm_8b_prefill",
    "llm-8b-decode": "gpuwise.workloads.llm_infer:llm_8b_decode",
    "llm-1b-prefill-8k": "gpuwise.workloads.llm_infer:llm_1b_prefill_8k",
    "llm-1b-decode-8k": "gpuwise.workloads.llm_infer:llm_1b_decode_8k",
    "llm-8b-prefill-8k": "gpuwise.workloads.llm_infer:llm_8b_prefill_8k",
    "llm-8b-decode-8k": "gpuwise.workloads.llm_infer:llm_8b_decode_8k",
    "unet-sd15": "gpuwise.workloads.diffusion:unet_sd15",
    "unet-sd15-1024": "gpuwise.workloads.diffusion:unet_sd15_1024",
    "dit-xl2": "gpuwise.workloads.diffusion:dit_xl2",
    "dit-xl2-512": "gpuwise.workloads.diffusion:dit_xl2_512",
    "fft": "gpuwise.workloads.science:fft",
    "stencil": "gpuwise.workloads.science:stencil",
    "cholesky": "gpuwise.workloads.science:cholesky",
    "matmul": "gpuwise.workloads.limits:matmul",
    "copy": "gpuwise.workloads.limits:memory_copy",
    "copy-l2": "gpuwise.workloads.limits:copy_l2",
    "launch": "gpuwise.workloads.limits:launch",
    "host-to-device": "gpuwise.workloads.limits:host_to_device",
    "device-to-host": "gpuwise.workloads.limits:device_to_host",
    "peer": "gpuwise.workloads.limits:peer",
    "all-reduce": "gpuwise.workloads.limits:all_reduce",
}

_GUESSES = 5
"""Names that are told where one is unknown."""

_FOREIGN: dict[str, Workload] = {}
"""Foreign workloads that were asked for, by the name that results store."""


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
    from gpuwise.workloads import foreign

    if not foreign.is_foreign(name):
        near = _near(name)
        guess = f"; did you mean {' or '.join(near)}?" if near else ""
        raise InputError(f"unknown workload {name!r}{guess}", hint="gpuwise workloads")
    return tuple(_remember(found) for found in foreign.ask(name))


def _near(name: str) -> list[str]:
    """Built-in names that hold `name`, else those written like it."""
    plain = name.casefold().replace("_", "-")
    holding = [full for full in _BUILT_IN if plain in full] if plain else []
    return holding[:_GUESSES] or difflib.get_close_matches(plain, _BUILT_IN, n=2, cutoff=0.6)


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


def _built_in(name: str) -> Workload:
    module, attribute = _BUILT_IN[name].split(":")
    found = getattr(import_module(module), attribute)
    assert isinstance(found, Workload)
    return found


def _remember(found: Workload) -> Workload:
    """Keep a foreign workload under the name that results store, which has no folders."""
    known = _FOREIGN.setdefault(found.spec.id, found)
    if known.reference != found.reference:
        raise InputError(
            f"two workloads are called {found.spec.id}: results could not tell them apart",
            hint="rename one of the files",
        )
    return known
