"""The example of docs/add-a-workload.md is what it says: it is written to a file and measured."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[1] / "docs" / "add-a-workload.md").read_text(encoding="utf-8")


def gpuwise(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpuwise", *words],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "GPUWISE_HOME": str(folder / "home"), "CUDA_VISIBLE_DEVICES": ""},
    )


def test_the_example_is_listed_and_measured(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "my_model.py").write_text(example)
    listed = gpuwise(tmp_path, "workloads", "./my_model.py", "--json")
    assert listed.returncode == 0, listed.stderr
    assert json.loads(listed.stdout)[0]["id"] == "my_model.py:perceptron"
    words = ("./my_model.py:perceptron", "--toy", "--device", "cpu", "--quick", "--time", "0.5s", "--json")
    done = gpuwise(tmp_path, "bench", *words)
    assert done.returncode == 0, done.stderr
    found = {m["config"]["mode"]: m for m in json.loads(done.stdout)["measurements"]}
    assert found["train"]["status"] == found["infer"]["status"] == "ok"
    assert found["train"]["loss"][1] < found["train"]["loss"][0]
    assert found["train"]["item"] == "sample"


def test_every_field_of_the_table_exists() -> None:
    from dataclasses import fields

    from gpuwise.model.workload import WorkloadSpec

    known = {field.name for field in fields(WorkloadSpec)}
    rows = re.findall(r"^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \| .* \| .* \|$", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    assert named
    assert named <= known
