"""JSON Schemas of what verbs print with --json.

    python tools/schemas.py [VERB...]    writes docs/schemas/VERB.json

A schema is read from documents that the verb prints for several questions: their types, and as required the
keys that every one of them has. tests/cli/test_schemas.py holds other questions against it, so that a field
that changes its name or type is a failure before it is a surprise.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

from scripted_sensor import ScriptedSensor

from gpuwise.cli.main import run
from gpuwise.measure import telemetry
from gpuwise.measure.telemetry.sensor import DeviceInfo, Process, Sample

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "schemas"
QUICK, EARLIER, TUNED = (
    str(ROOT / "results" / "h200" / name)
    for name in ("quick.json", "quick-earlier.json", "resnet50-tuned.json")
)
# Objects with more keys than this, or none that two documents share, are maps: names of GPUs, of settings.
MOST_KEYS = 90
PAIRS = (
    ("l4", "rtx-4090"), ("h200-sxm", "mi300x", "l4"), ("rtx-a5000", "a100-pcie-80gb"),
    ("h100-pcie-80gb", "gb10"),
)  # fmt: skip
TOY = ("--toy", "--device", "cpu", "--time", "0.2s", "-q")
EXAMPLES: dict[str, tuple[tuple[str, ...], ...]] = {
    "accept": (("accept", QUICK), ("accept", TUNED, EARLIER)),
    "audit": (("audit", "README.md"), ("audit", "docs/quickstart.md")),
    "calibrate": tuple(
        ("calibrate", "--gpu", "l4", "--device", "cpu", "--time", "1s", "--only", kind)
        for kind in ("dense", "pointwise")
    ),
    "bench": tuple(("bench", "resnet50", *TOY, "--mode", mode) for mode in ("infer", "train")),
    "choose": (("choose", "resnet50"), ("choose", "llm-8b-decode", "--own")),
    "compare": (("compare", QUICK, EARLIER),),
    "compare-article": tuple(("compare", *pair, "--article") for pair in PAIRS),
    "compare-gpus": tuple(("compare", *pair) for pair in PAIRS),
    "doctor": (("doctor",),),
    "fit": (("fit", "llama-3.1-8b", "--gpu", "rtx-4090"), ("fit", "llama-3.1-70b", "--gpu", "h200-sxm")),
    "gpus": (("gpus",),),
    "predict": (("predict", "resnet50"), ("predict", "llama-3.1-8b")),
    "prices": tuple(("prices", name) for name in ("l4", "h100", "a100", "v100", "t4")),
    "prices-all": (("prices",),),
    "report": (("report", QUICK), ("report", TUNED, EARLIER)),
    "reproduce": (("reproduce", "last", "-q"),),
    "results": (("results", "resnet50", "--file", QUICK), ("results", "bert-large", "--file", TUNED)),
    "results-all": (("results", "--file", QUICK),),
    "show-gpu": tuple(("show", name) for pair in PAIRS for name in pair),
    "team-log": (("team", "log"),),
    "token-list": (("token", "list"),),
    "tune": tuple(("tune", "resnet50", "--toy", "--device", "cpu", "--precision", "bf16", "--mode", "train",
                   "--batch", "2", "--time", time, "--try", "master_weights=on") for time in ("1s", "5min")),
    "watch": (("watch", "--every", "100ms", "--for", "250ms"),),
    "workloads": (("workloads",),),
}  # fmt: skip


# What verbs print that need a cluster, a port or a folder of their own.
GIVEN: dict[str, tuple[Any, ...]] = {
    "launch": ({"script": "", "answer": None}, {"script": "", "answer": ""},
               {"script": "", "job": "", "code": 0, "results": [""]}),
    "serve": ({"address": ""},),
    "serve-static": ({"folder": "", "files": [""]},),
}  # fmt: skip
# What is a result file, whose schema is beside the folder.
RESULTS = ("merge",)


def documents(commands: Sequence[Sequence[str]]) -> Iterator[Any]:
    """What each command prints with --json."""
    for command in commands:
        out = io.StringIO()
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            try:
                run([*command, "--json"])
            except SystemExit as ended:
                # A gate that fails, or a machine without a GPU, prints its document too.
                if not out.getvalue().strip():
                    raise RuntimeError(f"{' '.join(command)} ended with {ended.code}") from ended
        yield json.loads(out.getvalue())


def schema(values: Sequence[Any]) -> dict[str, Any]:
    """What all the values have in common."""
    kinds = {_kind(value) for value in values}
    if kinds == {"null"}:  # none of the examples knows it: it may be anything
        return {}
    if kinds >= {"integer", "number"}:
        kinds.discard("integer")
    # Charts are Vega-Lite, which has a schema of its own.
    if any(isinstance(value, dict) and "$schema" in value for value in values):
        return {"type": "object"}
    found: dict[str, Any] = {"type": next(iter(kinds)) if len(kinds) == 1 else sorted(kinds)} if kinds else {}
    objects = [value for value in values if isinstance(value, dict)]
    if objects:
        keys = list(dict.fromkeys(key for value in objects for key in value))
        shared = [key for key in keys if all(key in value for value in objects)]
        if len(keys) > MOST_KEYS or (len(objects) > 1 and not shared and keys):
            found["additionalProperties"] = schema([one for value in objects for one in value.values()])
        else:
            found["properties"] = {key: schema([v[key] for v in objects if key in v]) for key in keys}
            found["required"] = shared
    if items := [one for value in values if isinstance(value, list) for one in value]:
        found["items"] = schema(items)
    return found


def _kind(value: Any) -> str:
    named = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    return named.get(type(value), "null")


def published(verb: str, commands: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The schema with its head."""
    asked = "; ".join(" ".join(map(_base, one)) for one in commands) or "its code"
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"gpuwise {verb.partition('-')[0]} --json",
        "description": f"Read from: {asked}.",
        **(
            {"$ref": "../result.schema.json"}
            if verb in RESULTS
            else schema(GIVEN.get(verb) or list(documents(commands)))
        ),
    }


def _base(word: str) -> str:
    """A path without its folders."""
    return Path(word).name


def sensors() -> tuple[ScriptedSensor, ...]:
    """Two GPUs of which one is busy, for machines that have none."""
    free = Sample(at_s=0.0, power_w=70.0, sm_clock_hz=3e8, memory_used_bytes=0, utilisation=0.0)
    busy = replace(free, power_w=350.0, temperature_c=71.0, throttle=("power-cap",))
    infos = [
        DeviceInfo(index=n, name="NVIDIA H200", power_limit_w=700.0, sm_clock_max_hz=2e9,
                             memory_bytes=2**34) for n in range(2)
    ]  # fmt: skip
    job = (Process(pid=7, memory_bytes=2**30),)
    return tuple(
        ScriptedSensor(info, script, jobs)
        for info, script, jobs in zip(infos, ((busy, free), (free,)), (job, ()), strict=True)
    )


def main(wanted: Sequence[str]) -> None:
    """Write the schemas that are wanted, or all."""
    FOLDER.mkdir(exist_ok=True)
    telemetry.sensors = sensors
    for name, role in (("ann", "push"), ("bob", "read")):  # a team's database, in the home of this run
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            run(["token", "add", name, "--role", role])
    for verb, commands in {**EXAMPLES, **dict.fromkeys((*GIVEN, *RESULTS), ())}.items():
        if not wanted or verb in wanted:
            text = json.dumps(published(verb, commands), indent=1) + "\n"
            (FOLDER / f"{verb}.json").write_text(text)
            print(verb, len(text), file=sys.stderr)


if __name__ == "__main__":
    import os

    with tempfile.TemporaryDirectory() as home:
        os.environ["GPUWISE_HOME"] = home  # nothing of this machine's own results
        os.chdir(ROOT)
        main(sys.argv[1:])
