"""What a request asks, as text that anybody may have typed: read with limits, refused in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

from gpuwise.errors import InputError

# Characters of one value of a form.
LONGEST = 200
MOST_VALUES = 60


class Asked:
    """The values of a form or address by name, and of a path by its place.

    Raises InputError for more values, or longer ones, than any form here sends.
    """

    def __init__(self, values: Iterable[tuple[str, str]] = (), *, path: Sequence[str] = ()) -> None:
        self._values = [(name, value.strip()) for name, value in values]
        self.path = tuple(path)
        texts = (*self.path, *(text for pair in self._values for text in pair))
        if len(texts) > MOST_VALUES or any(len(text) > LONGEST for text in texts):
            raise InputError(
                "the address is longer than any form here sends", hint="start from a page's form"
            )

    def text(self, name: str, default: str = "") -> str:
        """The last value of that name, or `default` where it is missing or empty."""
        found = [value for key, value in self._values if key == name and value]
        return found[-1] if found else default

    def many(self, name: str) -> tuple[str, ...]:
        """Every value of that name that is not empty, each once."""
        return tuple(dict.fromkeys(value for key, value in self._values if key == name and value))

    def number(self, name: str) -> float | None:
        """A number that is not negative, None where it is missing. Raises InputError for anything else."""
        text = self.text(name)
        if not text:
            return None
        try:
            value = float(text.replace(",", ""))
        except ValueError:
            value = -1.0
        if not isfinite(value) or not 0 <= value <= 1e15:
            raise InputError(f"{name} is a number, not {text!r}", hint="write it like 24")
        return value

    def whole(self, name: str, *, most: int) -> int | None:
        """A whole number from 1 to `most`, None where it is missing. Raises InputError for anything else."""
        value = self.number(name)
        if value is None:
            return None
        if value != int(value) or not 1 <= value <= most:
            raise InputError(f"{name} is a whole number from 1 to {most}, not {self.text(name)!r}",
                             hint="write it like 4")  # fmt: skip
        return int(value)

    def one_of(self, name: str, known: Sequence[str], default: str | None = None) -> str:
        """The value where it is one of `known`, else `default`, or the first of them."""
        text = self.text(name)
        return text if text in known else known[0] if default is None else default

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Names with their values, those that say nothing left out."""
        return tuple(pair for pair in self._values if pair[1])
