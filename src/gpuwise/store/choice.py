"""Keep a recommendation so that it can be made again later: one JSON file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from gpuwise.errors import InputError
from gpuwise.model.choice import SCHEMA, Recommendation
from gpuwise.store.files import read

AGAIN = "make it again"


def encode(found: Recommendation) -> bytes:
    """Indented JSON; a number that is not finite becomes null."""
    return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"


def load(path: Path) -> Recommendation:
    """Read a recommendation. Raises InputError for a file that is none, or of a newer schema."""
    data = read(path, hint=AGAIN)
    try:
        found = msgspec.json.decode(data, type=Recommendation)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{path} is no recommendation of gpuwise choose: {error}", hint=AGAIN, code="choose-again"
        ) from error
    if found.schema > SCHEMA:
        raise InputError(
            f"{path} has schema {found.schema}; this gpuwise reads up to {SCHEMA}",
            hint="install a newer one",
            code="upgrade",
        )
    return found
