"""What `--json` prints keeps the names and types of its published schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "schemas"
H200 = ROOT / "results" / "h200"
# Other questions than those that the schemas were read from.
ASKED = {
    "accept": ("accept", str(H200 / "repeat-1.json")),
    "audit": ("audit", str(ROOT / "docs" / "index.md")),
    "calibrate": ("calibrate", "--gpu", "a10", "--device", "cpu", "--time", "1"),
    "compare": ("compare", str(H200 / "repeat-1.json"), str(H200 / "repeat-2.json")),
    "compare-article": ("compare", "a100-sxm4-80gb", "l40s", "--article"),
    "compare-gpus": ("compare", "a100-sxm4-80gb", "t4"),
    "fit": ("fit", "qwen3-8b", "--gpu", "l40s"),
    "gpus": ("gpus", "hopper"),
    "predict": ("predict", "bert-large", "--gpu", "l4"),
    "prices": ("prices", "l40s"),
    "report": ("report", str(H200 / "repeat-1.json")),
    "results": ("results", "resnet152", "--file", str(H200 / "jax.json")),
    "show-gpu": ("show", "t4"),
    "workloads": ("workloads", "resnet50"),
}


@pytest.mark.parametrize("name", ASKED)
def test_another_answer_of_the_verb_is_valid(name: str, gpuwise: Callable[..., tuple[int, str, str]]) -> None:
    _, out, err = gpuwise(*ASKED[name], "--json")
    assert out, err
    check(name, out)


def check(verb: str, printed: str) -> None:
    """Raises where a document is not as the verb's schema says."""
    schema = json.loads((FOLDER / f"{verb}.json").read_text())
    if beside := schema.get("$ref"):  # a result file, whose schema stands beside the folder
        schema = json.loads((FOLDER / beside).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(printed), schema)


def test_a_field_of_another_name_is_found() -> None:
    schema = json.loads((FOLDER / "gpus.json").read_text())
    with pytest.raises(jsonschema.ValidationError, match="required"):
        jsonschema.validate([{"identifier": "l4"}], schema)
