"""Submit a job to Slurm through submitit, and stay with it to its end.

submitit writes the batch script, hands it to sbatch, and brings back what each machine's task came to. squeue
is asked how the job is: submitit asks sacct, which knows nothing on a cluster without accounting.
Reference: https://github.com/facebookincubator/submitit, https://slurm.schedmd.com/squeue.html
"""

from __future__ import annotations

import math
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuwise.errors import InputError, MachineError, RunError
from gpuwise.measure.cluster import task
from gpuwise.measure.cluster.job import Job, seconds
from gpuwise.measure.cluster.slurm import HEAD, SUBMIT_S, merge, require, results, task_line

if TYPE_CHECKING:
    import submitit

ASK_S = 10.0
"""How often squeue is asked."""
FILES_S = 30.0
"""How long after the job's end its files may take to be seen on a shared disk."""
OVER = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT"}
"""States that a job does not leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What became of one machine's session."""

    code: int | None
    """Its exit code; None where it did not come to its end."""
    log: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a job came out."""

    script: str
    """What was submitted."""
    machines: tuple[Machine, ...]
    results: tuple[Path, ...]
    """The file that holds what all measured; where there is none, those of the machines that left one."""

    @property
    def code(self) -> int:
        """0 where every session ended so, else the lowest other exit code: those of sessions that were ended
        for another's sake are higher."""
        codes = [machine.code for machine in self.machines]
        failed = [code for code in codes if code]
        return min(failed) if failed else RunError.exit_code if None in codes else 0


@dataclass(slots=True)
class Submitted:
    """A job that was submitted. Iterate `states()`, then call `ended()`."""

    job: Job
    handle: submitit.Job[None]
    state: str = ""
    """Slurm's last word."""

    @property
    def id(self) -> str:
        return self.handle.job_id

    def states(self) -> Iterator[str]:
        """Slurm's word for how the job is (PENDING, RUNNING, ...) whenever it is a new one, to its end."""
        while True:
            state = _asked(self.id, otherwise=self.state)
            if state != self.state:
                self.state = state
                yield state
            if state in OVER:
                return
            time.sleep(ASK_S)

    def ended(self) -> Ended:
        """What became of it, as far as its files come to be seen here."""
        sessions = [self.handle.task(number) for number in range(self.job.nodes)]
        whole = Path(results(self.job, self.id))
        _await((*(session.paths.result_pickle for session in sessions), whole))
        parts = sorted(whole.parent.glob(f"{self.job.name}-{self.id}-*.json"))
        return Ended(
            script=self.handle.paths.submission_file.read_text(encoding="utf-8"),
            machines=tuple(_machine(session) for session in sessions),
            results=(whole,) if whole.exists() else tuple(parts),
        )


def follow(job: Job, options: Sequence[str] = ()) -> Submitted:
    """Submit a job; `options` are further ones of sbatch, such as `--partition=gpu`.

    Raises InputError for one that is none, MachineError where submitit or Slurm is missing, RunError where
    sbatch refuses.
    """
    further = dict(_named(option) for option in options)
    try:
        import submitit
        from submitit.core.utils import FailedSubmissionError, UncompletedJobError
    except ImportError as error:
        raise MachineError(
            "waiting for a job needs submitit, which is not installed", hint='pip install "gpuwise[slurm]"'
        ) from error
    require("sbatch", "srun", "squeue")
    executor = submitit.SlurmExecutor(folder=Path(job.folder) / f"{job.name}-%j")
    executor.update_parameters(
        job_name=job.name,
        nodes=job.nodes,
        ntasks_per_node=1,
        gpus_per_node=job.gpus_per_node,
        exclusive=True,
        time=math.ceil(seconds(job.time) / 60),
        setup=["set -uo pipefail", HEAD],
        teardown=list(merge(job)),
        srun_args=["--kill-on-bad-exit=1"],
        stderr_to_stdout=True,
        wckey=None,
        additional_parameters=further,
    )
    try:
        return Submitted(job, executor.submit(task.run, task_line(job)))
    except (UncompletedJobError, FailedSubmissionError) as error:
        raise RunError(f"sbatch refused: {error}", hint="gpuwise launch slurm --dry-run") from error


def _named(option: str) -> tuple[str, Any]:
    """`--partition=gpu` as a name with its value, `--overcommit` with True."""
    name, equals, value = option.removeprefix("--").partition("=")
    if not option.startswith("--") or not name or "\n" in option:
        raise InputError(
            f"{option!r} is no option of sbatch in its long form", hint="--sbatch=--partition=gpu"
        )
    return name, value if equals else True


def _await(files: Sequence[Path]) -> None:
    """Until all are there, FILES_S at most."""
    until = time.monotonic() + FILES_S
    while not all(file.exists() for file in files) and time.monotonic() < until:
        time.sleep(1.0)


def _machine(session: submitit.Job[None]) -> Machine:
    code: int | None = None
    if session.paths.result_pickle.exists():  # without it, submitit would ask sacct for how it ended
        error = session.exception()
        code = 0 if error is None else task.code_in(str(error))
    return Machine(code=code, log=session.paths.stdout)


def _asked(number: str, *, otherwise: str) -> str:
    """The state of a job; `otherwise` where Slurm does not answer. One that it has forgotten has ended."""
    words = ["squeue", "--noheader", "--states=all", "--format=%T", f"--jobs={number}"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SUBMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return otherwise
    if done.returncode:
        return "COMPLETED" if "Invalid job id" in done.stderr else otherwise
    return done.stdout.strip() or "COMPLETED"
