"""What a setting must compute to count: the same as the default recipe.

- compiled equals eager, the loss falls, the output is an answer, no speed is above a limit: the cautions
  of every measurement;
- loss and norm of the gradients from the same first weights on the same batch agree with those of the
  default switches within 5 %, which dropout's other random numbers need. A scale that is lost, a layer
  that is skipped or a gradient that underflows moves the norm by more.

Norms of different batches differ by more than that, so they are compared at equal batches only.
"""

from __future__ import annotations

from gpuwise.model.result import Measurement
from gpuwise.model.units import percent

TOLERANCE = 0.05
WRONG = ("mismatch", "diverging", "output", "above-peak")


def refusal(m: Measurement, reference: Measurement | None) -> str | None:
    """Why a measurement does not count beside the default recipe's; None where it does."""
    if m.status != "ok" or m.throughput is None:
        return m.status if m.error is None else f"{m.status}: {m.error.splitlines()[0]}"
    for caution in m.cautions:
        if caution.code in WRONG:
            return f"{caution.code}: {caution.detail}"
    if reference is None or reference.batch != m.batch:
        return None
    pairs = (
        ("the first loss", m.loss[:1], reference.loss[:1]),
        ("the norm of the gradients", _one(m.gradient_norm), _one(reference.gradient_norm)),
    )
    for what, here, there in pairs:
        if here and there and not abs(here[0] - there[0]) <= TOLERANCE * abs(there[0]):
            off = percent(abs(here[0] / there[0] - 1))
            return f"numerics: {what} differs by {off} from the default recipe's"
    return None


def _one(value: float | None) -> tuple[float, ...]:
    return () if value is None else (value,)
