"""The example of docs/add-a-workload.md is what it says; test_docs_commands.py measures it."""

from __future__ import annotations

import re
from pathlib import Path

from gpuwise import workloads
from gpuwise.model.question import RunConfig

PAGE = (Path(__file__).parents[1] / "docs" / "add-a-workload.md").read_text(encoding="utf-8")


def test_the_example_is_found_and_learns(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "my_model.py").write_text(example)
    (found,) = workloads.find(str(tmp_path / "my_model.py"))
    assert (found.spec.id, found.spec.item) == ("my_model.py:perceptron", "sample")
    config = RunConfig(workload=found.spec.id, mode="train", precision="fp32", device="cpu", size="toy")
    job = found.build(config, 8)
    first, last = (float(job.step()) for _ in range(2))
    assert last < first


def test_every_field_of_the_table_exists() -> None:
    from dataclasses import fields

    from gpuwise.model.question import WorkloadSpec

    known = {field.name for field in fields(WorkloadSpec)}
    rows = re.findall(r"^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \| .* \| .* \|$", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    assert named
    assert named <= known
