"""What submitit runs on every machine of a job."""

from __future__ import annotations

import re
import subprocess


class SessionError(Exception):
    """A session that did not end with 0; Slurm then ends those of the other machines, too."""


def run(line: str) -> None:
    """Run a shell's line; what it prints goes to the machine's log. Raises SessionError with its exit code,
    128 and more where a signal ended it."""
    code = subprocess.run(["bash", "-c", line], check=False).returncode
    if code:
        raise SessionError(f"exit code {code if code > 0 else 128 - code}")


def code_in(text: str) -> int | None:
    """The exit code in what submitit says of a task that raised SessionError; None of another error."""
    found = re.search(rf"{SessionError.__name__}: exit code (\d+)", text)
    return int(found[1]) if found else None
