"""A workload: its specification (no torch needed) and the function that builds its job (torch).

@workload(WorkloadSpec(id="my-net", ...))
def my_net(config: RunConfig, batch: int) -> Job:
    import torch            # inside, so that listing workloads stays fast
    ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from gpuwise.model.run import RunConfig
from gpuwise.model.workload import WorkloadSpec

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

DIGITS = 12
"""Of a digest: enough to tell a user's files apart."""
Build = Callable[[RunConfig, int], "Job"]

REPEATED = ("compile_scope", "compiler", "graph")
"""Switches of whatever is compiled and made of repeated blocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """`build(config, batch)` allocates model and input on `config.device` and returns the job."""

    spec: WorkloadSpec
    build: Build
    reference: str | None = None
    """By what another process finds it, where that is not its id: the full path of a file, say."""

    @property
    def content(self) -> str | None:
        """Digest of the file that a user's own workload is in; None where it is in none."""
        path, mark, _ = (self.reference or "").removeprefix("hf:").rpartition(".py:")
        file = Path(f"{path}.py" if mark else (self.reference or "").removeprefix("hf:"))
        if file.suffix not in (".py", ".json") or not file.is_file():
            return None
        return sha256(file.read_bytes()).hexdigest()[:DIGITS]


def workload(spec: WorkloadSpec) -> Callable[[Build], Workload]:
    """Turn a build function into a Workload."""
    return lambda build: Workload(spec=spec, build=build)
