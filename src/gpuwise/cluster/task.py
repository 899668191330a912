"""What submitit runs on every machine of a job."""

from __future__ import annotations

import subprocess


def run(line: str) -> int:
    """The exit code of a shell's line, 128 and more where a signal ended it; what it prints goes to the
    machine's log."""
    code = subprocess.run(["bash", "-c", line], check=False).returncode
    return code if code >= 0 else 128 - code
