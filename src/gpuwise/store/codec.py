"""Between a Result and its JSON: strict on types, deaf to keys it does not know.

Unknown keys are ignored so that an older gpuwise reads what a newer one of the same schema
wrote. A newer schema is refused: its numbers may mean something else.
"""

from __future__ import annotations

import math
import re
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec

from gpuwise.errors import InputError
from gpuwise.model.result import SCHEMA, Result

_NUMBERS = re.compile(rb"\[\s+(-?[0-9][^\[\]{}\"]*?)\s+\]")


def encode(result: Result) -> bytes:
    """Indented JSON, keys in the order of the dataclasses, arrays of numbers on one line.

    Raises ValueError naming the field where a number is not finite.
    """
    _check_finite(result, "$")
    text = msgspec.json.format(msgspec.json.encode(result), indent=1)
    return _NUMBERS.sub(lambda match: b"[" + b", ".join(match[1].split(b",\n")).replace(b"  ", b"") + b"]", text) + b"\n"


def _check_finite(value: Any, path: str) -> None:
    """JSON has no NaN, and msgspec would write null where a number belongs."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{path} is {value}")
    if is_dataclass(value):
        for field in fields(value):
            _check_finite(getattr(value, field.name), f"{path}.{field.name}")
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            _check_finite(item, f"{path}[{index}]")


def decode(data: bytes, origin: str) -> Result:
    """The Result in `data`; `origin` names it in errors.

    Raises InputError for what is no JSON, no result, of a newer schema, or of a wrong type.
    """
    try:
        header = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise InputError(f"{origin} is damaged: {error}", hint="gpuwise bench makes a new one") from error
    schema = header.get("schema") if isinstance(header, dict) else None
    if not isinstance(schema, int):
        raise InputError(f"{origin} is not a gpuwise result: it has no schema number", hint="gpuwise show last")
    if schema > SCHEMA:
        raise InputError(
            f"{origin} has schema {schema}, this gpuwise reads up to {SCHEMA}", hint="pip install -U gpuwise"
        )
    try:
        return msgspec.convert(header, Result)
    except msgspec.ValidationError as error:
        raise InputError(f"{origin} is no valid result: {error}", hint="gpuwise bench makes a new one") from error
