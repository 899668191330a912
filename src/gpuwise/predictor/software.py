"""How much of a prediction by the data sheet engines reach on cards that are not NVIDIA's, by public speeds.

    served   many sequences by vLLM, in the formats of which a speed is public
    local    one sequence by llama.cpp

`share` is the geometric mean of measured over predicted, a group of rows of one source and model (served) or
a card (local) counting once; the interval holds what a model or card that is left out is off by. `others`
widens it for a card without a row. `python -m evaluation.other_makers` derives and scores the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import exp, hypot, log

from gpuwise.facts import catalog
from gpuwise.model.precision import GGUF, Precision
from gpuwise.model.result import Basis
from gpuwise.predictor.card import DATA, Card


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """What is reached on a card; `below` and `above` are factors to the ends of the 80 % interval."""

    share: float
    below: float
    above: float
    basis: Basis
    source: str


@cache
def _rows() -> Mapping[tuple[str, str], Mapping[str, str]]:
    return {(row["work"], row["architecture"]): row for row in catalog.rows(DATA / "software.csv")}


def software(found: Card, weights: Precision, batch: int) -> Software | None:
    """Of inference in that format; None where no speed like it is public for the architecture."""
    work, stored = ("local", "gguf") if weights in GGUF else ("served", str(weights))
    row = _rows().get((work, found.family))
    if row is None or stored not in row["formats"].split() or batch > int(row["batch"]):
        return None
    own = found.id in row["cards"].split()
    more = 0.0 if own else log(float(row["others"]))
    below, above = (exp(hypot(log(float(row[end])), more)) for end in ("below", "above"))
    return Software(
        share=float(row["share"]), below=below, above=above, basis="calibrated" if own else "transferred",
        source=f"{row['source']}, {row['date']}{'' if own else ', not of this card'}",
    )  # fmt: skip
