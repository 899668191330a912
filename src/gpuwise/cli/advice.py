"""The next command for an error: the core says what to do, the command line has options for it."""

from __future__ import annotations

import shlex

from gpuwise.errors import GpuwiseError

# Code of an error -> the command that helps, behind the error's own words.
_COMMANDS = {
    "accept": "gpuwise doctor, or gpuwise accept --device cpu",
    "against": "gpuwise accept --against FILE",
    "bench": "gpuwise bench",
    "bench-quick": "gpuwise bench --quick",
    "bundle": "gpuwise accept -o bundle.zip",
    "catalog": "gpuwise gpus",
    "choose-again": "gpuwise choose WORKLOAD ... -o FILE.json",
    "doctor": "gpuwise doctor",
    "modes": "gpuwise workloads",
    "no-price": "--prices FILE adds your own; speeds without prices: gpuwise predict",
    "output": "another file with -o FILE.json, or set GPUWISE_HOME",
    "show": "gpuwise show last, or gpuwise bench --quick",
    "upgrade": "pip install -U gpuwise",
    "workload": "gpuwise workloads",
}


def next_step(error: GpuwiseError) -> str | None:
    """What to type after an error: its hint with the options and commands that do what it says."""
    if error.code == "rate":
        return f"--rate {error.data['currency']}=USD-FOR-ONE"
    if error.code == "limits":
        ways = error.data["ways"]
        assert isinstance(ways, tuple)
        texts = [f"{_option(way.limit, way.value)} ({way.gpus})" for way in ways]
        one = "relax " if error.data["joint"] == " and " else "relax one: "
        return one + str(error.data["joint"]).join(texts)
    if error.code == "served":
        return str(error.hint).replace("served:", "gpuwise predict served:")
    if error.code == "compare":
        named, other = error.data["names"], error.data["other"]
        assert isinstance(named, tuple)
        assert isinstance(other, str)
        return f"name another GPU: {shlex.join(['gpuwise', 'compare', *named, other])}"
    command = _COMMANDS.get(error.code)
    return f"{error.hint}: {command}" if command and error.hint else command or error.hint


def _option(limit: str, value: str) -> str:
    """A limit with its value as an option; what no single option sets stays in words."""
    if not limit:
        return value
    return f"no --{limit}" if value == "any" else f"--{limit} {shlex.quote(value)}"
