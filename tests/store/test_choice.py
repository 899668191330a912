"""A recommendation is kept as one file and read back whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpuwise.errors import InputError
from gpuwise.model.judgement import SCHEMA, Need, Recommendation
from gpuwise.model.precision import Precision
from gpuwise.store.codec import encode_choice as encode
from gpuwise.store.codec import load_choice as load


def recommendation(**changes: object) -> Recommendation:
    given = {
        "made_on": "2026-11-23",
        "need": Need(workloads=(("resnet50", 1.0),), mode="train", precision=Precision.BF16),
        "item": "image",
        "options": (),
    }
    return Recommendation(**{**given, **changes})  # type: ignore[arg-type]


def test_a_recommendation_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "choice.json"
    path.write_bytes(encode(recommendation()))
    assert load(path) == recommendation()
    assert path.read_bytes().endswith(b"}\n")


@pytest.mark.parametrize("text", [b"", b"[]", b'{"schema": 1}', b"\xff", b"[" * 100_000])
def test_another_file_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(text)
    with pytest.raises(InputError, match="not a recommendation") as caught:
        load(path)
    assert caught.value.code == "choose-again"


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "newer.json"
    path.write_bytes(encode(recommendation(schema=SCHEMA + 1)))
    with pytest.raises(InputError, match=str(SCHEMA + 1)) as caught:
        load(path)
    assert caught.value.code == "upgrade"


@pytest.mark.parametrize(
    "changes",
    [{"passes": 0.0}, {"users": 0}, {"currency": ("EUR", 0.0)}, {"budget_usd": -1.0}, {"power_w": 1e16},
     {"workloads": (("resnet50", 0.0),)}, {"items": 0.0}, {"batch": 0},
     {"feature": "x"}, {"deadline_s": 5e-324}, {"gpus": (0, 1)}, {"memory_gb": (-1.0, None)}],
)  # fmt: skip
def test_numbers_that_no_need_has_are_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = tmp_path / "choice.json"
    path.write_bytes(encode(recommendation(need=replace(recommendation().need, **changes))))
    with pytest.raises(InputError):
        load(path)


def test_the_largest_amounts_are_read(tmp_path: Path) -> None:
    path = tmp_path / "choice.json"
    whole = recommendation(need=replace(recommendation().need, budget_usd=1e15, egress_gb=0.0, passes=0.5))
    path.write_bytes(encode(whole))
    assert load(path) == whole


@pytest.mark.parametrize(("schema", "spot"), [(1, None), (SCHEMA, False)])
def test_an_old_file_says_nothing_of_spot_rent_where_it_says_false(
    schema: int, spot: bool | None, tmp_path: Path
) -> None:
    made = recommendation(schema=schema)
    path = tmp_path / "choice.json"
    path.write_bytes(encode(replace(made, need=replace(made.need, spot=False))))
    assert load(path).need.spot is spot
