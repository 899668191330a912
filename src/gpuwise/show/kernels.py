"""The kernels that take longest, in words."""

from __future__ import annotations

import re

from gpuwise.model.result import Measurement
from gpuwise.model.units import percent

LETTERS = 60
"""Of a name at most."""
_ELEMENTWISE = re.compile(r"elementwise_kernel.*?<.*?\b(?!gpu_kernel)(\w+(?:_kernel\w*|Functor\w*|_impl))")


def slowest(m: Measurement) -> str:
    """The kernels that take longest, with their share of all kernel time; empty where none is known."""
    told = names_of_slowest(m, 5)
    what = "operators" if m.config.device == "cpu" else "kernels"
    return f"slowest {what}: {told}" if told else ""


def names_of_slowest(m: Measurement, most: int) -> str:
    """At most so many, each with its share of all kernel time; empty where none is known."""
    if m.profile is None:
        return ""
    whole = m.profile.kernel_s
    return ", ".join(
        f"{percent(each.seconds / whole, 0)} {called(each.name or each.kind)}"
        + (f" x {each.count:.3g}" if each.count != 1 else "")
        for each in m.profile.slowest[:most]
    )


def called(name: str) -> str:
    """A kernel's name without what surrounds it: return type, namespaces, arguments.

    Of torch's elementwise kernels the name says nothing and the first argument of their template all.
    """
    plain = name.removeprefix("void ").replace("(anonymous namespace)::", "").replace("at::native::", "")
    inside = _ELEMENTWISE.search(plain)
    short = inside[1] if inside else re.split(r"[<(]", plain, maxsplit=1)[0]
    return short if len(short) <= LETTERS else short[: LETTERS - 1] + "…"
