"""Small files in the formats of others, written for these tests; and one way to read them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest

from gpuwise.facts.published import Imported, import_text

TODAY = date(2026, 11, 21)
Read = Callable[..., Imported]


@pytest.fixture
def read() -> Read:
    """`read(text, name, gpu=...)` -> what the importers find, as of a fixed day."""

    def call(text: str, name: str = "file.txt", **more: object) -> Imported:
        return import_text(text, name=name, read_on=TODAY, **more)  # type: ignore[arg-type]

    return call
