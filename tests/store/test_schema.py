"""The published schema is the one the code has, and describes what the code writes."""

from __future__ import annotations

import json

import jsonschema
import pytest

from gpuwise import store
from gpuwise.model.result import Result
from tools.result_schema import FILE, json_schema


def test_the_published_file_is_up_to_date() -> None:
    assert FILE.read_text() == json.dumps(json_schema(), indent=2) + "\n", "run tools/result_schema.py"


def test_the_schema_is_valid_and_says_what_it_is() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"].endswith("2020-12/schema")
    assert schema["title"] == "gpuwise result, schema 3"


def test_an_encoded_result_is_valid(example: Result) -> None:
    jsonschema.validate(json.loads(store.encode(example)), json_schema())


@pytest.mark.parametrize("change", [{"schema": "1"}, {"measurements": [{}]}, {"origin": "guessed"}])
def test_what_is_no_result_is_invalid(example: Result, change: dict[str, object]) -> None:
    document = {**json.loads(store.encode(example)), **change}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, json_schema())


def test_a_result_without_its_schema_number_is_invalid(example: Result) -> None:
    document = json.loads(store.encode(example))
    del document["schema"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, json_schema())
