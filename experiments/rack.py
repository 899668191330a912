"""What `gpuwise accept --hosts` itself costs on a rack whose hosts answer at once with bundles of cards.

    python experiments/rack.py --hosts 64 --cards 8 -o results/accept/rack.json

Each host's bundle holds a measured session of a card (`--session`), once for each of its cards, whose speeds
are drawn 1 % apart; one card of the rack is 10 % slower, which the verdict has to name. `ssh` is a script
that hands the bundle over. What is timed is gpuwise: asking all hosts, keeping, reading and judging their
bundles, and the certificate.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import click

from gpuwise import store
from gpuwise.judge.accept import bundle
from gpuwise.judge.accept.card import TestedCard
from gpuwise.measure.telemetry.sensor import DeviceInfo
from gpuwise.model.result import Result

SSH = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; shift; done
case $2 in
    *bundle.zip*) cat "$BUNDLES/$1.zip";;
    *) exit 1;;
esac
"""


def scaled(result: Result, by: float, card: str) -> Result:
    """The session as another card would have had it: all steps took `1 / by` of their time."""
    measurements = []
    for each in result.measurements:
        if each.throughput is not None:
            windows = tuple(
                replace(
                    w, step_s=tuple(step / by for step in w.step_s),
                    ended_s=w.started_s + (w.ended_s - w.started_s) / by,
                )
                for w in each.windows
            )  # fmt: skip
            value = each.throughput
            value = replace(value, value=value.value * by, low=value.low * by, high=value.high * by)
            each = replace(each, windows=windows, throughput=value)
        measurements.append(each)
    environment = replace(result.environment, card=card)
    return replace(result, id=f"r{card}", environment=environment, measurements=tuple(measurements))


@click.command()
@click.option("--hosts", default=64, show_default=True)
@click.option("--cards", default=8, show_default=True)
@click.option("--session", default="results/h200/accept.json", type=Path, show_default=True)
@click.option("-o", "--output", required=True, type=Path)
def main(hosts: int, cards: int, session: Path, output: Path) -> None:
    measured, draw = store.load(session), random.Random(64)
    slow = (draw.randrange(hosts), draw.randrange(cards))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "ssh").write_text(SSH)
        (folder / "ssh").chmod(0o755)
        for host in range(hosts):
            tested = []
            for index in range(cards):
                by = 0.9 if (host, index) == slow else draw.gauss(1, 0.01)
                result = scaled(measured, by, f"{host * cards + index:012x}")
                info = DeviceInfo(index=index, name=measured.environment.device)
                tested.append(TestedCard(name=f"GPU {index}", result=result, info=info))
            (folder / f"node{host}.zip").write_bytes(bundle.pack(tested, (), "page", {}))
        (folder / "hosts").write_text("".join(f"node{host}\n" for host in range(hosts)))
        words = ["accept", "--hosts", "hosts", "--folder", "rack", "-o", "certificate.html"]
        places = {"PATH": f"{folder}:{os.environ['PATH']}", "BUNDLES": name, "GPUWISE_HOME": f"{name}/home"}
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "gpuwise", *words], cwd=folder, env=os.environ | places,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        took = time.monotonic() - began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        certificate = folder / "certificate.html"
        rows = {
            "command": shlex.join(["python", *sys.argv]), "hosts": hosts, "cards": hosts * cards,
            "measurements": hosts * cards * len(measured.measurements), "seconds": took,
            "processor_seconds": used.ru_utime + used.ru_stime, "peak_mib": used.ru_maxrss / 1024,
            "bundles_mib": sum(each.stat().st_size for each in folder.glob("*.zip")) / 2**20,
            "certificate_kib": certificate.stat().st_size / 1024 if certificate.exists() else None,
            "exit_code": done.returncode, "slow_card": f"node{slow[0]} GPU {slow[1]}",
            "refused": sorted({" ".join(each) for each in re.findall(r"(node\d+) +(GPU \d)", done.stdout)}),
            "said": done.stderr.splitlines()[-12:],
        }  # fmt: skip
    output.write_text(json.dumps(rows, indent=1) + "\n")
    click.echo(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
