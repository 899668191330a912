"""A result survives its file; a bad file is refused with file, place and next step."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import types
import typing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.model.result import SCHEMA, Interval, Measurement, Result, Window

GOLDEN = Path(__file__).with_name("golden") / "result-1.json"

st.register_type_strategy(float, st.floats(1e-6, 1e6))
st.register_type_strategy(str, st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
st.register_type_strategy(int, st.integers(1, 2**53))


def of_type(kind: object) -> st.SearchStrategy:
    """Values of an annotation; dataclasses field by field, as hypothesis fills only required ones."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is Interval:
        ends = st.lists(st.floats(1e-6, 1e6), min_size=3, max_size=3).map(sorted)
        return ends.map(lambda e: Interval(low=e[0], value=e[1], high=e[2], method="bootstrap"))
    if kind is Window:
        steps = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=3).map(tuple)
        return steps.map(lambda s: Window(step_s=s, started_s=0.0, ended_s=1.0))
    if hasattr(kind, "__dataclass_fields__"):
        hints = typing.get_type_hints(kind)
        return st.builds(kind, **{name: of_type(hint) for name, hint in hints.items()})
    if origin is tuple and args[-1] is ...:
        return st.lists(of_type(args[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(of_type, args))
    if origin in (types.UnionType, typing.Union):
        return st.one_of(*map(of_type, args))
    return st.from_type(kind)


results = of_type(Result).map(lambda result: replace(result, schema=SCHEMA, id="20261121-a"))


def without_issues(result: Result) -> Result:
    """Random throughputs never follow from random steps, so decoding adds an issue."""
    return replace(result, measurements=tuple(replace(m, cautions=()) for m in result.measurements))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(results)
def test_any_result_survives_its_file(result: Result) -> None:
    found = store.decode(store.encode(result), "x.json")
    assert without_issues(found) == without_issues(result)
    assert store.decode(store.encode(found), "x.json") == found


def test_the_file_is_readable_by_people(example: Result) -> None:
    text = store.encode(example).decode()
    assert text.startswith('{\n "schema": 3,\n "id": "20261121-044012-h200-3fa9"')
    assert text.endswith("}\n")
    assert '"step_s": [0.0372, 0.0371, 0.0373]' in text
    assert '"fix": "cool [ 1, 2 ] it"' in text, "text that looks like an array is text"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_are_refused_by_name(example: Result, bad: float) -> None:
    broken = replace(example.measurements[0], warmup_s=(1.0, bad))
    with pytest.raises(ValueError, match=r"\$\.measurements\[0\]\.warmup_s\[1\]"):
        store.encode(replace(example, measurements=(broken,)))


def test_text_that_is_no_utf_8_loses_no_measurement(example: Result) -> None:
    odd = replace(example.environment, variables=(("CUDA_CACHE_PATH", "/caf\udce9"),))
    found = store.decode(store.encode(replace(example, command="a \udcff", environment=odd)), "x.json")
    assert found.command == r"a \udcff"
    assert found.environment.variables == (("CUDA_CACHE_PATH", r"/caf\udce9"),)
    assert found.measurements == example.measurements


def test_the_golden_file_of_schema_1_loads_for_ever() -> None:
    result = store.load(GOLDEN)
    assert result.id == "20261121-044012-h200-3fa9"
    ok, oom = result.measurements
    assert isinstance(ok, Measurement)
    assert (ok.config.key("batch"), ok.batch, ok.status) == ("resnet50:train:bf16:compiled:stock", 256, "ok")
    assert ok.throughput is not None
    assert (ok.throughput.low, ok.throughput.value, ok.throughput.high) == (6870.5, 6882.0, 6893.0)
    assert ok.windows[1].step_s == (0.0371, 0.0372, 0.0374)
    assert ok.telemetry is not None
    assert ok.telemetry.throttled == (("software power cap", 0.05),)
    assert ok.items_per_joule == pytest.approx(6882.0 / 612.5)
    assert (oom.status, oom.error, oom.throughput) == ("oom", "CUDA out of memory", None)
    assert result.environment.variables == (("OMP_NUM_THREADS", "8"),)


def edited(example: Result, **changes: object) -> bytes:
    document = json.loads(store.encode(example))
    document.update(changes)
    return json.dumps(document).encode()


def refusal(data: bytes) -> InputError:
    with pytest.raises(InputError) as caught:
        store.decode(data, "some.json")
    assert "some.json" in str(caught.value)
    assert caught.value.hint is not None
    assert "msgspec" not in str(caught.value)
    return caught.value


def test_unknown_keys_are_ignored(example: Result) -> None:
    assert store.decode(edited(example, invented_later=[1, {"a": None}]), "some.json") == example


def test_missing_optional_keys_take_their_defaults(example: Result) -> None:
    document = json.loads(store.encode(example))
    del document["origin"], document["measurements"][0]["telemetry"]
    found = store.decode(json.dumps(document).encode(), "some.json")
    assert (found.origin, found.measurements[0].telemetry) == ("measured", None)


def test_a_newer_schema_asks_for_an_upgrade(example: Result) -> None:
    error = refusal(edited(example, schema=SCHEMA + 1, id=["new", "type"]))
    assert f"schema {SCHEMA + 1}" in str(error)
    assert error.code == "upgrade"


@pytest.mark.parametrize(
    "data", [b"{}", b"[]", b"3", b'{"schema": null}', b'{"schema": "1"}', b'{"schema": 0}']
)
def test_other_json_is_no_result(data: bytes) -> None:
    assert "not a gpuwise result" in str(refusal(data))


@pytest.mark.parametrize("data", [b"{", b'{"schema": 1, "id": "\xff"}'])
def test_no_json_is_damaged(data: bytes) -> None:
    assert "is damaged" in str(refusal(data))


@pytest.mark.parametrize("data", [b"", b"\x00\xff", b"GPU,ms\n", b"# An article"])
def test_what_never_was_json_is_not_a_result_file(data: bytes) -> None:
    assert "is not a result file" in str(refusal(data))


def test_endless_nesting_is_damaged() -> None:
    deep = b'{"schema": 1, "later": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert "is damaged" in str(refusal(deep))


def test_any_truncated_file_is_refused(example: Result) -> None:
    data = store.encode(example).rstrip()
    for length in range(0, len(data), 37):
        refusal(data[:length])


def test_a_wrong_type_is_named_with_its_place(example: Result) -> None:
    document = json.loads(store.encode(example))
    document["measurements"][1]["batch"] = "many"
    error = refusal(json.dumps(document).encode())
    assert "$.measurements[1].batch" in str(error) or "$.measurements[...].batch" in str(error)


def test_a_missing_key_is_named(example: Result) -> None:
    document = json.loads(store.encode(example))
    del document["environment"]["device"]
    error = refusal(json.dumps(document).encode())
    assert "device" in str(error)
    assert "$.environment" in str(error)


@pytest.mark.parametrize(
    "name", ["../../../package", "/etc/passwd", "", ".hidden", "a/b", "a\\b", "x" * 129, "a\nb", "caf\u00e9"]
)
def test_an_id_is_never_a_path(example: Result, name: str) -> None:
    assert "its id" in str(refusal(edited(example, id=name)))


def altered(example: Result, **changes: object) -> bytes:
    """The example with other values in its first measurement."""
    document = json.loads(store.encode(example))
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = document["measurements"][0]
        for parent in parents:
            place = place[int(parent) if parent.isdecimal() else parent]
        place[int(last) if last.isdecimal() else last] = value
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    "changes",
    [
        {"throughput__value": 0},
        {"throughput__value": -5},
        {"throughput__low": 7000.0},
        {"throughput__high": 1e300},
        {"batch": -3},
        {"mfu": -2.0},
        {"memory_peak_bytes": -1},
        {"flop_per_item": 1e300},
        {"windows__0__step_s": []},
        {"windows__0__step_s__0": 1e15},
        {"windows__0__step_s__0": 0.0},
        {"windows__0__step_s__0": -0.03},
        {"warmup_s__0": 1e15},
    ],
)
def test_numbers_that_no_session_writes_are_refused(example: Result, changes: dict[str, object]) -> None:
    assert "measurements[0]" in str(refusal(altered(example, **changes)))


# (field, the least and the most that it may be, what is just beyond them)
BOUNDS = (
    *(
        (name, (0.0, 1e30), (-1e-9, 1.001e30))
        for name in ("flop_per_item", "bytes_per_item", "mfu", "limit_share", "cold_start_s",
                     "telemetry__power_w", "items_per_step", "memory_peak_bytes")
    ),
    ("warmup_s", ([0.0], [1e7]), ([-1e-9], [1.001e7])),
    ("windows__0__step_s", ([1e-9], [1e7]), ([0.0], [1.001e7])),
    ("throughput__low", (0.0, 6882.0 * (1 + 5e-10)), (-1e-9, 6882.0 * (1 + 3e-9))),
    ("throughput__high", (6882.0 * (1 - 5e-10), 1e30), (6882.0 * (1 - 3e-9), 1.001e30)),
)  # fmt: skip


@pytest.mark.parametrize(("field", "allowed", "refused"), BOUNDS)
def test_numbers_are_read_up_to_their_bounds(
    example: Result, field: str, allowed: tuple[object, ...], refused: tuple[object, ...]
) -> None:
    whole = field in ("items_per_step", "memory_peak_bytes")
    for value in allowed:
        read = {field: int(value) if whole else value, "throughput__value": 6882.0}  # type: ignore[call-overload]
        if field != "throughput__low":
            read["throughput__low"] = 0.0
        if field != "throughput__high":
            read["throughput__high"] = 1e30
        store.decode(altered(example, **read), "x.json")
    for value in refused:
        at = {field: math.floor(value) if whole else value, "throughput__value": 6882.0}  # type: ignore[call-overload]
        assert "measurements[0]" in str(refusal(altered(example, **{"throughput__high": 1e30, **at})))


@pytest.mark.parametrize(
    ("factor", "codes"), [(1.0, []), (1.004, []), (1.007, ["tampered"]), (1.5, ["tampered"])]
)
def test_a_throughput_that_its_steps_do_not_give_is_invalid(
    example: Result, factor: float, codes: list[str]
) -> None:
    value = factor * 6882.0 / 1.000488
    interval = {
        "low": 0.99 * value,
        "value": value,
        "high": 1.01 * value,
        "level": 0.95,
        "method": "bootstrap",
    }
    found = store.decode(altered(example, throughput=interval), "x.json").measurements[0]
    issues = [issue for issue in found.cautions if issue.code == "tampered"]
    assert [issue.code for issue in issues] == codes
    assert all(issue.severity == "invalid" for issue in issues)
    again = store.decode(store.encode(replace(example, measurements=(found,))), "x.json")
    assert again.measurements[0] == found
    if factor == 1.5:
        assert "1.50 times" in issues[0].detail


def test_a_batch_of_one_is_a_batch(example: Result) -> None:
    assert store.decode(altered(example, batch=1), "x.json").measurements[0].batch == 1
    assert "a batch of 0" in str(refusal(altered(example, batch=0)))


def test_deep_json_of_known_keys_is_damaged(example: Result) -> None:
    for key in ("measurements", "environment"):
        deep = b'{"schema": 1, "' + key.encode() + b'": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        refusal(deep)


def test_a_number_beyond_any_float_is_refused(example: Result) -> None:
    data = re.sub(rb'"batch":\s*(null|\d+)', b'"batch":' + b"9" * 300, store.encode(example), count=1)
    with pytest.raises(InputError, match="300 digits"):
        store.decode(data, "x.json")
    store.decode(data.replace(b"9" * 300, b"9" * 15), "x.json")


@pytest.mark.parametrize("before", ["", '"', "\\", '\\"', "\n"])
def test_as_many_digits_in_a_text_do_no_harm(example: Result, before: str) -> None:
    said = replace(example.measurements[1], error=f"{before}{'9' * 400}{before}")
    example = replace(example, measurements=(example.measurements[0], said))
    assert store.decode(store.encode(example), "x.json") == example


THREADS = """
import sys, threading
from gpuwise.measure import events
from gpuwise.store.codec import decode
sys.setswitchinterval(1e-6)
data, gate, ended = sys.stdin.buffer.read(), threading.Barrier(8), []
ready = events.encode(events.Ready(version="2", device="d"))
def read(number):
    gate.wait()
    decode(data, "x") if number % 2 else events.decode(ready)
    ended.append(number)
threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
for each in (*threads,): each.start()
for each in threads: each.join()
sys.exit(len(ended) != 8)
"""


def test_threads_may_read_at_the_same_time(example: Result) -> None:
    """The first use of a type by two threads ended the process with a segmentation fault."""
    done = subprocess.run([sys.executable, "-c", THREADS], input=store.encode(example), check=False)
    assert done.returncode == 0
