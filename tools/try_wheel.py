"""Install a wheel where nothing of the repository is in reach, and use it.

    python tools/try_wheel.py dist/gpuwise-*.whl

A new environment in a temporary folder gets the wheel with its server; `gpuwise`, `gpus`, `predict`,
`choose` and `serve` must work there. Exits with 1 where one does not, or where the wheel is too large.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from urllib.request import urlopen

MOST_BYTES = 4_000_000
CALLS = (
    (),
    ("gpus", "24GB..", "--json"),
    ("predict", "resnet50", "--gpu", "rtx-4090", "--json"),
    ("choose", "resnet50", "--top", "1"),
)


def main(wheel: Path) -> None:
    """Size, then installation, then each call."""
    size = wheel.stat().st_size
    assert size <= MOST_BYTES, f"{wheel.name} has {size:,} bytes, at most {MOST_BYTES:,} are wanted"
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder)
        scripts = Path(folder) / "bin"
        # By the pip that is here: to install another one there takes as long as the wheel.
        pip = [sys.executable, "-m", "pip", "--python", str(scripts / "python")]
        subprocess.run([*pip, "install", "-q", "--no-compile", f"{wheel}[web]"], check=True)
        # Neither this checkout nor the user's results may help.
        home = {"HOME": folder, "GPUWISE_HOME": f"{folder}/results", "PATH": os.environ["PATH"]}
        for words in CALLS:
            subprocess.run(
                [scripts / "gpuwise", *words], cwd=folder, env=home, check=True, stdout=subprocess.DEVNULL
            )
        serve(scripts / "gpuwise", Path(folder), home)
    print(f"{wheel.name}: {size:,} bytes; installs and works without the repository")


def serve(gpuwise: Path, folder: Path, home: dict[str, str]) -> None:
    """The server answers its first page."""
    command = [gpuwise, "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=home, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            address = re.search(r"http://\S+", server.stderr.readline())
            assert address is not None, "the server does not say where it listens"
            with urlopen(address[0], timeout=60) as answer:
                assert answer.status == 200
        finally:
            server.send_signal(signal.SIGINT)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
