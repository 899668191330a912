"""The next command for an error: the core says what to do, the command line has options for it."""

from __future__ import annotations

import shlex
from typing import Any

from gpuwise.errors import GpuwiseError

# Code of an error -> the command or option that helps, behind the error's own words. Names in braces are of
# the error's data.
_COMMANDS = {
    "accept": "gpuwise doctor, or gpuwise accept --device cpu",
    "against": "gpuwise accept --against FILE",
    "article": "gpuwise compare rtx-a5000 rtx-a4000 --article",
    "bench": "gpuwise bench",
    "bench-quick": "gpuwise bench --quick",
    "bundle": "gpuwise accept -o bundle.zip",
    "catalog": "gpuwise gpus",
    "choose-again": "gpuwise choose WORKLOAD ... -o FILE.json",
    "cpu": "--device cpu",
    "doctor": "gpuwise doctor",
    "dry-run": "--dry-run",
    "fetch-prices": "gpuwise prices update, --prices FILE",
    "format": "gpuwise results --import {file} --format NAME",
    "machines": "--nodes N",
    "key": "--key-env NAME",
    "load": "--concurrency 1,4,16 or --rate 2,4",
    "model": "--model NAME",
    "modes": "gpuwise workloads",
    "no-price": "--prices FILE adds your own; speeds without prices: gpuwise predict",
    "one-gpu": "--gpus 1",
    "other-card": "--gpu {gpu}, or --from FILE",
    "output": "another file with -o FILE.json, or set GPUWISE_HOME",
    "port": "--port 0",
    "predict-with": "gpuwise predict {workload} --{option} {value}",
    "prices": "gpuwise prices {gpu}",
    "pytest": "pytest --gpu-bench-compare FILE",
    "redirect": "--follow-redirects",
    "rendezvous": "--rdzv HOST:PORT",
    "results": "gpuwise results",
    "show": "gpuwise show last, or gpuwise bench --quick",
    "show-gpu": "gpuwise show {gpu}",
    "source": "gpuwise results --source {source}",
    "two-gpus": "--gpus 2",
    "upgrade": "pip install -U gpuwise",
    "workload": "gpuwise workloads",
}


def next_step(error: GpuwiseError) -> str | None:
    """What to type after an error: its hint with the options and commands that do what it says."""
    data: dict[str, Any] = error.data
    if error.code == "rate":
        return f"--rate {data['currency']}=USD-FOR-ONE"
    if error.code == "limits":
        ways = [f"{_option(way.limit, way.value)} ({way.gpus})" for way in data["ways"]]
        return ("relax " if data["joint"] == " and " else "relax one: ") + str(data["joint"]).join(ways)
    if error.code == "served":
        return str(error.hint).replace("served:", "gpuwise predict served:")
    if error.code == "compare":
        return f"name another GPU: {shlex.join(['gpuwise', 'compare', *data['names'], data['other']])}"
    quoted = {name: shlex.quote(str(value)) if value else "" for name, value in data.items()}
    command = _COMMANDS.get(error.code, "").format(**quoted).rstrip()
    return f"{error.hint}: {command}" if command and error.hint else command or error.hint


def _option(limit: str, value: str) -> str:
    """A limit with its value as an option; what no single option sets stays in words."""
    if not limit:
        return value
    return f"no --{limit}" if value == "any" else f"--{limit} {shlex.quote(value)}"
