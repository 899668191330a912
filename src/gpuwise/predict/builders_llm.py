"""Served language models from their published shapes: what one token and one prompt cost each GPU.

    decode   weights that the batch touches + the KV cache of its sequences, read once a step
    experts  of E experts, k a token: a batch of B touches E (1 - (1 - k/E)^B) on average
    prefill  2 operations a parameter and token, and 2 x width x length of attention a layer

Under tensor parallelism every GPU holds 1/n of weights and heads; a latent cache (MLA) is not split by
heads and is read whole by each. Two all-reduces a layer (Shoeybi et al. 2019), or two all-to-alls.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpuwise.errors import InputError
from gpuwise.predict.card import DATA


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Shape of a model: sizes in parameters, `kv` in elements a token."""

    name: str
    layers: int
    width: int
    total: float
    expert: float
    """Parameters in experts, all together."""
    experts: int
    chosen: int
    kv: float
    latent: bool
    known: bool = True
    """False where the shape was guessed from the sizes in the name."""

    @property
    def dense(self) -> float:
        return self.total - self.expert

    @property
    def active(self) -> float:
        """Parameters that one token multiplies."""
        return self.dense + (self.expert * self.chosen / self.experts if self.experts else 0.0)

    def touched(self, batch: float) -> float:
        """Parameters that a batch of tokens reads."""
        if not self.experts:
            return self.total
        missed: float = (1.0 - self.chosen / self.experts) ** max(batch, 1.0)
        return self.dense + self.expert * (1.0 - missed)


_SIZES = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)b(?:-a(\d+(?:\.\d+)?)b)?(?![a-z0-9])")


@cache
def models() -> Mapping[str, Served]:
    """Published shapes by the beginning of a model's name."""
    with (DATA / "models.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: _served(row) for row in csv.DictReader(file)}


def _served(row: Mapping[str, str]) -> Served:
    return Served(
        name=row["name"], layers=int(row["layers"]), width=int(row["width"]), total=float(row["total"]),
        expert=float(row["expert"]), experts=int(row["experts"]), chosen=int(row["chosen"]),
        kv=float(row["kv"]), latent=row["latent"] == "1",
    )  # fmt: skip


def served(path: str) -> Served:
    """The model that a path names (`org/Name`); sizes in the name ("30B-A3B") where it is unknown.

    Raises InputError where neither says how large it is.
    """
    name = path.split("/")[-1].casefold()
    fitting = [model for key, model in models().items() if name.startswith(key)]
    if fitting:
        return max(fitting, key=lambda model: len(model.name))
    sizes = _SIZES.search(name)
    if sizes is None:
        raise InputError(f"the shape of {path!r} is not known", hint="add it to data/models.csv")
    return _guessed(name, float(sizes[1]) * 1e9, float(sizes[2]) * 1e9 if sizes[2] else None)


def _guessed(name: str, total: float, active: float | None) -> Served:
    """A usual shape of this size: width by 100 to 130 times the layers, eight KV heads of 128."""
    width = 128 * round((max(active or total, 1e9) * (3 if active else 1) / 1.2e9) ** (1 / 3) * 14)
    layers = max(16, round(width / 90))
    expert = 0.0 if active is None else (total - active) / (1 - 8 / 128)
    return Served(
        name=name, layers=layers, width=width, total=total, expert=min(expert, 0.97 * total),
        experts=128 if active else 0, chosen=8 if active else 0, kv=2048.0 * layers, latent=False,
        known=False,
    )  # fmt: skip
