"""Rows of the zoos that were measured on two machines."""

import gzip
import json
from pathlib import Path

import pytest

from evaluation.predict.repeats import pairs


def test_rows_of_two_machines_are_paired_by_device_and_key(tmp_path: Path) -> None:
    rows = {"zoo": ("A", 1.0), "zoo-2": ("A", 1.5), "zoo-3": ("B", 9.0), "zoo-4": ("A", None)}
    for name, (device, seconds) in rows.items():
        run = tmp_path / name / "eager-1"
        run.mkdir(parents=True)
        (run / "environment.json").write_text(json.dumps({"device": device}))
        row = {"key": "own:x:infer:bf16:eager:b2", "step_s": seconds} | ({} if seconds else {"error": "none"})
        with gzip.open(run / "zoo.jsonl.gz", "wt") as out:
            out.write(json.dumps(row) + "\n")
    assert [*pairs(tmp_path)] == [("A eager", pytest.approx(1.5))]
