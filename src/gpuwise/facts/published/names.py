"""Publishers' words in our terms: which network, which GPU, and which precision really ran.

A word is only translated where the work is the same. "fp32" on a GPU with TF32 is labelled `tf32?`,
because NVIDIA's containers since 20.06 turn TF32 on for everything, and cuDNN's convolutions use it
by default in PyTorch and TensorFlow to this day; `precision_stated` keeps the publisher's word.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpuwise.checks import find_network
from gpuwise.facts import catalog

# Tables of words and of networks, by what they are for.
WORDS: Mapping[str, Any] = tomllib.loads(
    Path(__file__).with_name("data").joinpath("words.toml").read_text(encoding="utf-8")
)
# A number, alone or as a rate of items; milliseconds, shares and bytes are not speeds of a network.
_NUMBER = re.compile(r"([\d.eE+-]{1,40})\s*(?:(?![KMGT]?i?B\s*/)[A-Za-z]+\s*/\s*s(?:ec(?:ond)?)?)?")
_COUNT = re.compile(r"(?<![A-Za-z0-9.])(\d{1,4})\s?x\s?(?=[A-Za-z0-9])")
# A slice of a GPU is another machine than the GPU.
_SLICE = re.compile(r"\bMIG\b")
_SLUG = re.compile(r"[^a-z0-9.]+")


def workload_id(name: str) -> str:
    """Our id of the network that `name` means, else `name` as a slug: `Inception v3` -> inception-v3."""
    slug = _SLUG.sub("-", name.casefold()).strip("-")
    network = find_network(name)
    same: str = WORDS["same_work"].get(slug, slug)
    return network.id if network is not None else same


def item_of(workload: str, default: str) -> str:
    """The item that this workload's throughput counts, or `default` where that is not known."""
    network = find_network(workload)
    return network.item if network is not None else default


def precision_of(stated: str) -> str:
    """The format that a publisher's word means by itself: `Automatic mixed precision` -> fp16."""
    text = stated.casefold()
    return next((precision for word, precision in WORDS["precisions"].items() if word in text), "?")


def as_run(stated: str, gpu_id: str | None) -> str:
    """The precision as it really ran: fp32 stays fp32 only on a GPU that has no TF32."""
    precision = precision_of(stated)
    if precision != "fp32":
        return precision
    if gpu_id is None:
        return "?"
    return "tf32?" if catalog.get(gpu_id).peak("tf32") is not None else "fp32"


@lru_cache(maxsize=1024)
def gpu_id_of(name: str) -> str | None:
    """The catalog's id of exactly this GPU, or None: a name that leaves the variant open is unknown."""
    if not name.strip() or _SLICE.search(name):
        return None
    if (spec := catalog.exact(name)) is not None:
        return spec.id
    named = catalog.mentions(name[:200], unknown=True)
    return named[0].gpu_ids[0] if len(named) == 1 and len(named[0].gpu_ids) == 1 else None


@lru_cache(maxsize=1024)
def gpu_in(text: str) -> tuple[str, str | None, int | None]:
    """(name, id, count) of the GPU that a label holds: `Cloud_2xH100_80GB_SXM5_v2` is two H100 SXM5.

    Where it holds none that the catalog knows, the name is all of `text`. The count is None where
    the label does not give one.
    """
    plain = re.sub(r"_+|nvlink", " ", text[:200], flags=re.IGNORECASE)
    counts = list(_COUNT.finditer(plain))
    label = plain[counts[-1].end() :] if counts else plain
    count = int(counts[-1][1]) if counts else None
    named = () if _SLICE.search(label) else catalog.mentions(label, unknown=True)
    if named:
        return named[0].text, named[0].gpu_ids[0] if len(named[0].gpu_ids) == 1 else None, count
    return text.strip(), gpu_id_of(label), count


def number(value: object) -> float | None:
    """A finite number from `1,029.62`, `938 img/s` or a JSON number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, str):
        written = _NUMBER.fullmatch(value.replace(",", "").strip())
        value = written[1] if written is not None else ""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def whole(value: object) -> int | None:
    """A positive whole number, or None."""
    count = number(value)
    return int(count) if count is not None and count >= 1 and count == int(count) else None
