"""What runs on every machine of a cluster's job: the same `gpuwise bench`, told where they meet."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from gpuwise.errors import InputError

PORT = 29400
"""torchrun's own for its c10d rendezvous."""
OURS = ("--nodes", "--rdzv", "--node-rank", "-o", "--output")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """`nodes` machines of `gpus_per_node` GPUs each; `arguments` are those of `gpuwise bench`."""

    nodes: int
    gpus_per_node: int
    arguments: tuple[str, ...]
    name: str = "gpuwise"
    time: str = "01:00:00"
    """Longest time, HH:MM:SS."""
    folder: str = "."
    """Where every machine puts its result; all of them must see it."""
    port: int = PORT

    def command(self, *, host: str, rank: str, output: str) -> str:
        """The line for one machine; the three are the shell's or the scheduler's words for what differs."""
        words = ["gpuwise", "bench", *self._arguments()]
        meeting = (
            f' --nodes {self.nodes} --rdzv "{host}:{self.port}" --node-rank "{rank}"'
            if self.nodes > 1
            else ""
        )
        return f'{shlex.join(words)}{meeting} --output "{output}"'

    def _arguments(self) -> tuple[str, ...]:
        given = any(word == "--gpus" or word.startswith("--gpus=") for word in self.arguments)
        return self.arguments if given else (*self.arguments, "--gpus", str(self.gpus_per_node))


def check(job: Job) -> None:
    """Raise InputError where the arguments say what the job itself decides, or the time is no time."""
    taken = [word for word in job.arguments if word.split("=")[0] in OURS]
    if taken:
        raise InputError(f"{', '.join(taken)}: the job sets this itself", hint="leave it out after the --")
    if not re.fullmatch(r"(\d+-)?\d{1,3}:\d\d:\d\d", job.time):
        raise InputError(f"a time is HH:MM:SS, not {job.time!r}", hint="gpuwise launch slurm --time 01:00:00")
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?", job.name):
        raise InputError(f"{job.name!r} is no name of a job", hint="small letters, digits and -")


def seconds(time: str) -> int:
    """`HH:MM:SS` or `D-HH:MM:SS` in seconds."""
    days, _, clock = time.rpartition("-")
    hours, minutes, rest = (int(part) for part in clock.split(":"))
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + rest


def arguments_of(words: Sequence[str]) -> tuple[str, ...]:
    """What follows `--`, with or without a leading `gpuwise bench`."""
    found = tuple(words)
    for word in ("gpuwise", "bench"):
        found = found[1:] if found[:1] == (word,) else found
    return found
