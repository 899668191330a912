"""Between a Result and its JSON: strict on types, ids and impossible numbers, deaf to keys it does not know.

Unknown keys are ignored so that an older gpuwise reads what a newer one of the same schema wrote. A newer
schema is refused: its numbers may mean something else. A file of any older schema loads for ever.

A report holds results in script elements that no browser runs. `<` is written as its JSON escape, so that
nothing in a result can end the element, and no parser of HTML is needed to find it again. Together larger
than `PACKED_FROM` they are compressed (zlib, base64): a page that is mailed holds its step times twice over
otherwise. Recommendations are files of their own.
"""

from __future__ import annotations

import base64
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.model.question import is_lowered, modern
from gpuwise.model.result import SCHEMA, Issue, Measurement, Result, Severity
from gpuwise.model.units import significant

if TYPE_CHECKING:
    from gpuwise.model.judgement import Recommendation

NEW = "measure again"
# Ids name files and pages: never a path, never hidden.
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
# Largest number of a result; the fastest computers do some 1e18 operations a second.
LARGEST = 1e30
# Longest step, four months.
LONGEST_S = 1e7
# Of a measurement, none of which is negative.
NUMBERS = (
    "items_per_step", "memory_peak_bytes", "flop_per_item", "bytes_per_item", "mfu", "limit_share",
    "cold_start_s",
)  # fmt: skip
ROUNDED = 1 + 1e-9
# Share by which a throughput may differ from the one that its own steps give. Files of every version agree to
# seven digits, so this leaves room for step times that somebody rounded.
AGREES = 0.005

# A raw line break never occurs inside a JSON string, so neither can these.
_NUMBERS = re.compile(rb"\[\n\s*([^\[\]{}\"]*?)\s*\]")
_BREAK = re.compile(rb",\n\s*")
_DIGITS, _TEXT = re.compile(rb"\d{300}"), re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


class _Header(msgspec.Struct):
    """The beginning of every result file of every schema."""

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
    """`value` with bytes that are not UTF-8 written as `\\udce9` in text.

    Command lines and environment variables may hold them; a measurement is not lost for that.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: _legible(item) for key, item in value.items()}
    return [_legible(item) for item in value] if isinstance(value, list | tuple) else value


def decode(data: bytes, origin: str) -> Result:
    """The Result in `data`; `origin` names it in errors.

    A throughput that does not follow from its own steps gets an invalid issue `tampered`. Raises InputError
    for what is not JSON, not a result, of a newer schema, of a wrong type, or holds an impossible number.
    """
    # Larger than any float: no arithmetic can be done with it. In a text, as of an error, it does no harm.
    if _DIGITS.search(data) and _DIGITS.search(_TEXT.sub(b"", data)):
        raise InputError(f"{origin} is not a valid result: a number of 300 digits", hint=NEW, code="bench")
    try:
        schema = msgspec.json.decode(data, type=_Header).schema
    except msgspec.ValidationError:
        schema = None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if data.lstrip()[:1] != b"{":  # an article, a table, a picture
            problem = f"{origin} is not a result file of gpuwise"
            raise InputError(problem, hint="give the .json file of a result, or a report") from error
        raise _damaged(origin, error) from error
    if schema is None or schema < 1:
        raise InputError(f"{origin} is not a gpuwise result: it has no schema number", hint=NEW, code="bench")
    if schema > SCHEMA:
        raise _newer(origin, schema, SCHEMA)
    try:
        document = msgspec.json.decode(data) if schema < SCHEMA else None
        if isinstance(document, dict):  # else it is not a result, and refused below
            _upgrade(document)
        with store.ONE_READER:
            if schema < SCHEMA:
                result = msgspec.convert(document, type=Result)
            else:
                result = msgspec.json.decode(data, type=Result)
    except msgspec.ValidationError as error:
        raise InputError(f"{origin} is not a valid result: {error}", hint=NEW, code="bench") from error
    except (UnicodeDecodeError, RecursionError) as error:
        # The check of the header skips the text of other keys.
        raise _damaged(origin, error) from error
    for fault in _faults(result):
        raise InputError(f"{origin} is not a valid result: {fault}", hint=NEW, code="bench")
    return replace(result, measurements=tuple(map(_rechecked, result.measurements)))


def _damaged(origin: str, error: Exception) -> InputError:
    return InputError(f"{origin} is damaged, no complete JSON: {error}", hint=NEW, code="bench")


def _newer(origin: str, schema: int, known: int) -> InputError:
    problem = f"{origin} has schema {schema}; this gpuwise reads up to {known}"
    return InputError(problem, hint="install a newer one", code="upgrade")


def _faults(result: Result) -> Iterator[str]:
    """Values that no session can have written: statistics and pages rely on their absence."""
    if ID.fullmatch(result.id) is None:
        yield f"its id {result.id[:60]!r} has other characters than letters, digits, '.', '_' and '-'"
    for place, m in enumerate(result.measurements):
        where, speed = f"measurements[{place}]", m.throughput
        # The low end of a few very different windows may be 0, the value never.
        if speed and not (0 <= speed.low <= speed.value * ROUNDED <= speed.high * ROUNDED**2 and speed.value):
            yield f"{where}: a throughput of {speed.value:g} within {speed.low:g} to {speed.high:g}"
        if m.batch is not None and m.batch < 1:
            yield f"{where}: a batch of {m.batch}"
        numbers = {name: getattr(m, name) for name in NUMBERS}
        numbers["throughput"] = speed.high if speed else None
        numbers["power_w"] = m.telemetry.power_w if m.telemetry else None
        for name, value in numbers.items():
            if value is not None and not 0 <= value <= LARGEST:
                yield f"{where}: {name} is {value:g}"
        for window in m.windows:
            if not window.step_s or not 0 < min(window.step_s) <= max(window.step_s) <= LONGEST_S:
                yield f"{where}: a window without steps, or with a step that took no time or months"
        if m.warmup_s and not 0 <= min(m.warmup_s) <= max(m.warmup_s) <= LONGEST_S:
            yield f"{where}: a step of the warm-up took {max(m.warmup_s):g} s"


def _rechecked(m: Measurement) -> Measurement:
    """The measurement, with an issue where its throughput is another than its steps give."""
    if m.throughput is None or not m.windows or not m.items_per_step:
        return m
    from gpuwise.stats.interval import value_of  # a published speed has no steps

    computed = value_of([window.step_s for window in m.windows], m.items_per_step, m.throughput.method)
    if abs(m.throughput.value / computed - 1) <= AGREES or any(
        issue.code == "tampered" for issue in m.cautions
    ):
        return m
    issue = Issue.invalid(
        "tampered",
        f"the file states {significant(m.throughput.value, 4)} {m.item}/s, its own steps give "
        f"{significant(computed, 4)} ({m.throughput.value / computed:.2f} times as much)",
        "do not use this figure: measure it again, or ask for the file that was written",
    )
    return replace(m, cautions=(*m.cautions, issue))


# Schema 1 knew codes only.
_SEVERITIES: dict[str, Severity] = {
    **dict.fromkeys(("above-peak", "clock", "diverging", "mismatch", "output"), "invalid"),
    **dict.fromkeys(("input-bound", "profile"), "info"),
}


def _upgrade(document: dict[str, Any]) -> None:
    """Make a decoded document of an older schema one of today's."""
    environment = document.get("environment")
    stated = environment if isinstance(environment, dict) else {}
    limits = (stated.get(name) for name in ("power_limit_w", "power_limit_default_w"))
    lowered = is_lowered(*(value if isinstance(value, int | float) else None for value in limits))
    for measurement in _list(document, "measurements"):
        config = measurement.get("config") if isinstance(measurement, dict) else None
        if isinstance(config, dict):
            if isinstance(config.get("switches"), dict):
                config["switches"] = modern(config["switches"])
            # The best recipe was always called tuned; `Question` knows which of them ran gpuwise's kernels.
            if config.get("recipe") == "parity":
                config["recipe"] = "script"
        for caution in _list(measurement, "cautions"):
            # Of schema 1, without severities.
            if isinstance(caution, dict) and document["schema"] == 1:
                caution["fix"] = caution.pop("next_step", "")
                caution["severity"] = _SEVERITIES.get(str(caution.get("code")), "warning")
                detail = str(caution.get("detail"))
                if caution.get("code") == "throttled" and detail.startswith("power-cap ") and not lowered:
                    # A card at its own power limit runs as it is sold.
                    caution |= {"code": "power-cap", "severity": "info"}
    document["schema"] = SCHEMA


def _list(document: Any, key: str) -> list[Any]:
    value = document.get(key) if isinstance(document, dict) else None
    return value if isinstance(value, list) else []


# Media type of the elements.
TYPE = "application/vnd.gpuwise+json"
PACKED = ' data-packed="zlib"'
SUFFIXES = (".html", ".htm")
PACKED_FROM = 2**20
# Bytes that compressed results may have together: a small file must not become an endless one.
MAX_UNPACKED = 2**25

_OPENS = re.compile(f'<script type="{re.escape(TYPE)}"({re.escape(PACKED)})?>'.encode())
_CLOSES = b"</script>"


def elements(documents: Sequence[bytes]) -> str:
    """The script elements that hold JSON documents, one each."""
    packed = PACKED if sum(map(len, documents)) > PACKED_FROM else ""
    made = []
    for document in documents:
        if packed:
            text = base64.b64encode(zlib.compress(document)).decode()
        else:
            # The separators are line breaks to old scripts, so they are escaped too.
            text = document.decode().replace("<", "\\u003c")
            text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
        made.append(f'<script type="{TYPE}"{packed}>{text}</script>')
    return "\n".join(made)


def results(page: bytes, origin: str) -> tuple[Result, ...]:
    """The results that a report holds; `origin` names it in errors.

    Raises InputError where it holds none, a damaged one, or more than `MAX_UNPACKED`.
    """
    decoded, room = [], MAX_UNPACKED
    at = 0
    # Each byte is looked at once: where one element is never closed, no later one can be.
    while (opens := _OPENS.search(page, at)) and (end := page.find(_CLOSES, opens.end())) >= 0:
        document = page[opens.end() : end]
        if opens[1]:
            try:
                packed = base64.b64decode(document, validate=True)
                # One byte more than there is room for, and no more: a small file can hold gigabytes.
                document = zlib.decompressobj().decompress(packed, room + 1)
            except (ValueError, zlib.error) as error:
                raise InputError(f"{origin} is damaged: {error}", hint="make the report again") from error
            room -= len(document)
            if room < 0:
                hint = "give its result files"
                raise InputError(f"{origin} holds more than {MAX_UNPACKED >> 20} MiB", hint=hint)
        decoded.append(decode(document, origin))
        at = end
    if not decoded:
        problem = f"{origin} holds no gpuwise result"
        raise InputError(problem, hint="only a report that gpuwise wrote as HTML keeps its data")
    return tuple(decoded)


# Of an amount of money, work or power, as the forms and options of a need allow.
LARGEST_NEED = 1e15
# Of what something is divided by: a share of the time, a count, hours.
MIN_DIVISOR = 1e-9
DIVISORS = (
    "passes", "within", "users", "items", "batch", "period_s", "deadline_s", "latency_s", "first_token_s",
)  # fmt: skip


def encode_choice(choice: Recommendation) -> bytes:
    """Indented JSON; a number that is not finite becomes null."""
    made = msgspec.to_builtins(choice)
    made["rejected"] = [
        {"gpu_id": gpu, "reason": why.detail, "constraint": why.code} for gpu, why in choice.rejected.items()
    ]
    return msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n"


def _numbers(value: Any) -> Iterator[float]:
    """Every number of plain data."""
    if isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inner)
    elif isinstance(value, int | float):
        yield value


def load_choice(path: Path) -> Recommendation:
    """Read a recommendation. Raises InputError for a file that is none, or of a newer schema."""
    from gpuwise.model.judgement import SCHEMA, Recommendation  # a result does not need it

    data = store.read(path)
    try:
        made = msgspec.json.decode(data)
        if isinstance(made, dict):
            left = made.get("rejected", ())
            made["rejected"] = {r["gpu_id"]: Issue.info(r["constraint"], r["reason"]) for r in left}
        choice = msgspec.convert(made, Recommendation)
        if choice.schema == 1 and not choice.need.spot:  # There false was what nobody said
            choice = replace(choice, need=replace(choice.need, spot=None))
        need, owned = choice.need, choice.need.assumptions
        divisors = [*(share for _, share in need.workloads), *need.gpus, need.currency[1]]
        divisors += [getattr(need, name) for name in DIVISORS]
        divisors += [owned.hours_per_week, owned.years, owned.utilisation]
        if min(each for each in divisors if each is not None) < MIN_DIVISOR or not all(
            0 <= each <= LARGEST_NEED for each in _numbers(msgspec.to_builtins(need))
        ):
            raise TypeError("its need has a number that no need has")
    except (KeyError, TypeError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = f"{path} is not a recommendation of gpuwise choose: {error}"
        raise InputError(problem, hint="make it again", code="choose-again") from error
    if choice.schema > SCHEMA:
        raise _newer(str(path), choice.schema, SCHEMA)
    return choice
