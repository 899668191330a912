"""What version 0.1 called tuned and parity."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.model.result import Result


@pytest.mark.parametrize(
    ("old", "precision", "switches", "today"),
    [
        ("parity", "bf16", {}, "script"),
        ("tuned", "bf16", {}, "stock"),
        ("tuned", "bf16", {"compiler": "descent", "weights": "half"}, "stock"),
        ("tuned", "bf16", {"pooling": "triton"}, "tuned"),
        ("tuned", "fp8", {}, "tuned"),
    ],
)
def test_recipes_have_their_new_names(
    example: Result, old: str, precision: str, switches: dict[str, str], today: str
) -> None:
    document: dict[str, Any] = json.loads(store.encode(example)) | {"schema": 1}
    first = document["measurements"][0]["config"]
    first |= {"recipe": old, "precision": precision, "switches": switches, "mode": "train", "device": "cuda"}
    upgraded = store.decode(json.dumps(document).encode(), "old.json")
    assert upgraded.measurements[0].config.recipe == today
    assert store.decode(store.encode(upgraded), "new.json") == upgraded


@pytest.mark.parametrize(
    ("detail", "limit_w", "found"),
    [
        ("power-cap in 90 % of the samples; median clock 1395 MHz", 700.0, ("power-cap", "info")),
        ("power-cap in 90 % of the samples; median clock 1395 MHz", None, ("power-cap", "info")),
        ("power-cap in 90 % of the samples; median clock 1395 MHz", 500.0, ("throttled", "warning")),
        ("thermal in 90 % of the samples; median clock 1395 MHz", 700.0, ("throttled", "warning")),
    ],
)
def test_a_card_at_its_own_power_limit_was_no_reason_for_a_caution(
    example: Result, detail: str, limit_w: float | None, found: tuple[str, str]
) -> None:
    document: dict[str, Any] = json.loads(store.encode(example)) | {"schema": 1}
    document["environment"] |= {"power_limit_w": limit_w, "power_limit_default_w": 700.0}
    old = {"code": "throttled", "detail": detail, "next_step": "see `gpuwise doctor`"}
    document["measurements"][0]["cautions"] = [old]
    (caution,) = store.decode(json.dumps(document).encode(), "old.json").measurements[0].cautions
    assert (caution.code, caution.severity) == found


def test_cautions_that_are_no_records_are_refused_as_such(example: Result) -> None:
    document: dict[str, Any] = json.loads(store.encode(example)) | {"schema": 1}
    document["measurements"][0]["cautions"] = ["throttled"]
    with pytest.raises(InputError) as refused:
        store.decode(json.dumps(document).encode(), "old.json")
    assert "cautions" in str(refused.value)
