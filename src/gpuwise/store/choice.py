"""Keep a recommendation so that it can be made again later: one JSON file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from gpuwise.errors import InputError
from gpuwise.model.choice import SCHEMA, Recommendation

AGAIN = "make it again: gpuwise choose WORKLOAD ... -o FILE.json"


def encode(found: Recommendation) -> bytes:
    """Indented JSON; a number that is not finite becomes null."""
    return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"


def load(path: Path) -> Recommendation:
    """Read a recommendation. Raises InputError for a file that is none, or of a newer schema."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Recommendation)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}", hint=AGAIN) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no recommendation of gpuwise choose: {error}", hint=AGAIN) from error
    if found.schema > SCHEMA:
        raise InputError(
            f"{path} has schema {found.schema}; this gpuwise reads up to {SCHEMA}",
            hint="pip install -U gpuwise",
        )
    return found
