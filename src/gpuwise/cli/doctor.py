"""`gpuwise doctor`: check this machine, and say how to fix what is wrong."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from gpuwise.cli import print as printer
from gpuwise.errors import MachineError
from gpuwise.jobs.accepting import health
from gpuwise.show import hello as report


@click.command("doctor", short_help="Check this machine; say how to fix what is wrong.")
@printer.output_option
@printer.json_option
def command(output: Path | None, as_json: bool) -> None:
    """Check driver, torch, ECC, MIG, power, clocks, heat, PCIe, company and disk.

    Exits with 3 when something makes measuring impossible. Reads only, changes nothing.
    """
    checks = health()
    document = {"checks": [asdict(check) for check in checks]}
    printer.deliver(report.checks(checks), lambda: document, as_json=as_json, output=output)
    failed = [check for check in checks if check.status == "fail"]
    if failed:
        raise MachineError(f"{len(failed)} of {len(checks)} checks failed", hint=failed[0].fix)
