"""What version 0.1 called tuned and parity."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpuwise import store
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
