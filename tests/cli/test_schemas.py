"""What `--json` prints keeps the names and types of its published schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import jsonschema
import pytest

from gpuwise.cli.main import gpuwise as root

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "schemas"
H200 = ROOT / "results" / "h200"
# Other questions than those that the schemas were read from.
ASKED = {
    "accept": ("accept", str(H200 / "repeat-1.json")),
    "audit": ("audit", str(ROOT / "docs" / "index.md")),
    "calibrate": ("calibrate", "--gpu", "a10", "--device", "cpu", "--time", "1s"),
    "choose": ("choose", "bert-large", "--own"),
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


@pytest.mark.parametrize("words", [("token", "list"), ("team", "log")])
def test_a_team_s_lists_are_valid(
    words: tuple[str, ...], gpuwise: Callable[..., tuple[int, str, str]]
) -> None:
    gpuwise("token", "add", "carl", "--role", "admin")
    check("-".join(words), gpuwise(*words, "--json")[1])


def test_every_verb_that_prints_json_has_a_schema() -> None:
    def verbs(command: click.Command, name: str) -> Iterator[str]:
        if isinstance(command, click.Group):
            for each in command.list_commands(click.Context(command)):
                found = command.get_command(click.Context(command), each)
                assert found is not None
                yield from verbs(found, f"{name}-{each}" if name else each)
        elif any("--json" in option.opts for option in command.params):
            yield name

    known = {path.stem for path in FOLDER.glob("*.json")} | {"show"}  # a result file has its own
    assert {
        name for name in verbs(root, "") if name not in known and name.split("-")[0] not in known
    } == set()


def test_a_field_of_another_name_is_found() -> None:
    schema = json.loads((FOLDER / "gpus.json").read_text())
    with pytest.raises(jsonschema.ValidationError, match="required"):
        jsonschema.validate([{"identifier": "l4"}], schema)
