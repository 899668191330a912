"""Texts of the tests are written here or made from the catalog; none is anybody else's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpuwise.judge.audit import document, read
from gpuwise.model.judgement import Claim

Read = Callable[..., list[tuple[str, str, str]]]


@pytest.fixture
def claimed() -> Read:
    """(GPU as written, field, value as written) of every claim of a text."""

    def read_claims(text: str, name: str = "a.md") -> list[tuple[str, str, str]]:
        found = document.claims(read.blocks_of(text, name))
        return [(c.gpu, c.field, c.stated) for c in found if isinstance(c, Claim)]

    return read_claims
