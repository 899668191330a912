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
from gpuwise.store.old import upgrade

NEW = "measure again: gpuwise bench"

# A raw line break never occurs inside a JSON string, so neither can these.
_NUMBERS = re.compile(rb"\[\n\s*([^\[\]{}\"]*?)\s*\]")
_BREAK = re.compile(rb",\n\s*")


class _Header(msgspec.Struct):
    """What every result file of every schema begins with."""

    schema: int | None = None


def encode(result: Result) -> bytes:
    """Indented JSON, keys in the order of the dataclasses, arrays of numbers on one line.

    Raises ValueError naming the field where a number is not finite.
    """
    text = msgspec.json.format(compact(result), indent=1)
    return _NUMBERS.sub(lambda match: b"[" + _BREAK.sub(b", ", match[1]) + b"]", text) + b"\n"


def compact(result: Result) -> bytes:
    """The same without white space, two thirds of the size. Raises as `encode`."""
    _check_finite(result, "$")
    try:
        return msgspec.json.encode(result)
    except UnicodeEncodeError:
        return msgspec.json.encode(_legible(msgspec.to_builtins(result)))


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


def _legible(value: Any) -> Any:
    """`value` with bytes that are no UTF-8 written as `\\udce9` in text.

    Command lines and environment variables may hold them; a measurement is not lost for that.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: _legible(item) for key, item in value.items()}
    return [_legible(item) for item in value] if isinstance(value, list | tuple) else value


def decode(data: bytes, origin: str) -> Result:
    """The Result in `data`; `origin` names it in errors.

    Raises InputError for what is no JSON, no result, of a newer schema, or of a wrong type.
    """
    schema = _schema(data, origin)
    try:
        if schema < SCHEMA:
            return msgspec.convert(upgrade(msgspec.json.decode(data)), type=Result)
        return msgspec.json.decode(data, type=Result)
    except msgspec.ValidationError as error:
        raise InputError(f"{origin} is no valid result: {error}", hint=NEW) from error
    except UnicodeDecodeError as error:
        # The check of the header skips the text of other keys.
        raise _damaged(origin, error) from error


def _damaged(origin: str, error: Exception) -> InputError:
    return InputError(f"{origin} is damaged, no complete JSON: {error}", hint=NEW)


def _schema(data: bytes, origin: str) -> int:
    """The schema number of a file. Raises InputError where there is none or a newer one."""
    try:
        schema = msgspec.json.decode(data, type=_Header).schema
    except msgspec.ValidationError:
        schema = None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _damaged(origin, error) from error
    if schema is None or schema < 1:
        raise InputError(f"{origin} is not a gpuwise result: it has no schema number", hint=NEW)
    if schema > SCHEMA:
        raise InputError(
            f"{origin} has schema {schema}; this gpuwise reads up to {SCHEMA}", hint="pip install -U gpuwise"
        )
    return schema
