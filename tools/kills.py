"""Kill a measuring session at random moments and see that nothing that it had printed as final is lost.

    python tools/kills.py 200 [--seed N]

Each session is the real command line with a process that only pretends to measure (tests/pretended.py): one
row takes some hundredths of a second. It is ended by SIGKILL, SIGTERM, SIGHUP, one Ctrl-C or two, then gone
on with (--resume) until it is complete, and begun anew. After every end the file must load, hold each row
whose line was printed, and hold the rows of before unchanged. Exit 1 where a row was lost.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gpuwise import store
from gpuwise.model.result import Measurement

ROOT = Path(__file__).parent.parent
SESSION = """
import sys, time
from dataclasses import replace
sys.path.insert(0, {root!r})
from gpuwise.measure.telemetry import torch_build
from tests.pretended import Pretended
import gpuwise.measure.session as session
class Slow(Pretended):
    def events(self):
        for event in super().events():
            time.sleep(0.004)
            yield replace(event, version=torch_build().version) if hasattr(event, "version") else event
session.Child = Slow
from gpuwise.cli.main import run
run(sys.argv[1:])
"""
WORDS = (
    "bench", "resnet50,bert-large", "--toy", "--device", "cpu", "--mode", "train,infer",
    "--precision", "fp32,bf16", "--batch", "1,2,3,4",
)  # fmt: skip
ENDS = ((signal.SIGKILL,), (signal.SIGTERM,), (signal.SIGHUP,), (signal.SIGINT,), (signal.SIGINT,) * 2)


def killed(file: Path, luck: random.Random) -> tuple[int, bool]:
    """(lines of final rows that one session printed, whether it ended by itself)."""
    words = [sys.executable, "-c", SESSION.format(root=str(ROOT)), *WORDS, "--resume", "-o", str(file)]
    environment = {**os.environ, "GPUWISE_HOME": str(file.parent / "home"), "PYTHONPATH": str(ROOT / "src")}
    printed = file.with_suffix(".out")
    with printed.open("wb") as out:
        running = subprocess.Popen(
            words, stdout=out, stderr=subprocess.DEVNULL, env=environment, cwd=file.parent
        )
        # One in five at whatever moment, the others while rows end.
        late = time.monotonic() + (luck.uniform(0.1, 2.0) if luck.random() < 0.2 else 30.0)
        while not printed.stat().st_size and time.monotonic() < late and running.poll() is None:
            time.sleep(0.01)
        time.sleep(luck.uniform(0.0, 1.0))
        for sign in luck.choice(ENDS):
            running.send_signal(sign)
            time.sleep(luck.choice((0.0, 0.01, 0.05)))
        code = running.wait(60)
    # The table at the end of a session that was not killed outright repeats its rows, indented.
    lines = printed.read_text(errors="replace").splitlines()
    rows = [line for line in lines if line.startswith(("matmul", "copy", "resnet50", "bert-large"))]
    return sum("interrupted" not in row for row in rows), code == 0


def main() -> int:
    """Kill so many sessions; print what was lost."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("kills", type=int)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    luck, lost, ended, rows = random.Random(given.seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        number, before = 0, ()
        for _ in range(given.kills):
            file = Path(folder) / f"{number}.json"
            printed, whole = killed(file, luck)
            every: tuple[Measurement, ...] = store.load(file).measurements if file.exists() else ()
            # One that was interrupted is measured again.
            found = tuple(m for m in every if m.status == "ok")
            # Each printed row is new since the session began.
            if len(found) < len(before) + printed or found[: len(before)] != before:
                lost += 1
                print(f"{file.name}: {len(before)} rows before, {printed} printed, {len(found)} in the file")
            rows += printed
            before = found
            if whole:
                number, before, ended = number + 1, (), ended + 1
    print(
        f"{given.kills} sessions ended, {ended} of them complete; {rows} rows printed; {lost} lost something"
    )
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
