"""Submit a job to Slurm through submitit, and stay with it to its end.

submitit writes the batch script, hands it to sbatch, asks sacct how the job is, and brings back what each
machine's task came to. Reference: https://github.com/facebookincubator/submitit
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuwise.cluster import task
from gpuwise.cluster.job import Job, seconds
from gpuwise.cluster.slurm import HEAD, merge, results, task_line
from gpuwise.errors import InputError, MachineError, RunError

if TYPE_CHECKING:
    import submitit

POLL_S, ASK_S = 1.0, 15.0
"""How often files are looked for, and sacct is asked."""
MERGE_S = 60.0
"""From the end of the last task to the merged file, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a job came out."""

    script: str
    """What was submitted."""
    codes: tuple[int, ...]
    """Exit codes of the machines' sessions."""
    result: Path
    """The file that holds all of them."""


@dataclass(slots=True)
class Submitted:
    """A job that was submitted. Iterate `states()`, then call `ended()`."""

    job: Job
    handle: submitit.Job[int]
    sleep: Callable[[float], None] = time.sleep

    @property
    def id(self) -> str:
        return self.handle.job_id

    def states(self) -> Iterator[str]:
        """Slurm's word for how the job is (PENDING, RUNNING, ...) whenever it is another, until all tasks
        have ended."""
        last = ""
        for number in count():
            if number % round(ASK_S / POLL_S) == 0:
                self.handle.get_info()  # by itself submitit asks at longer and longer intervals
            done, state = self.handle.done(), self.handle.state
            if state not in (last, "UNKNOWN"):
                yield state
            last = state
            if done:
                return
            self.sleep(POLL_S)

    def ended(self) -> Ended:
        """What became of it. Raises RunError where a machine's task told nothing, or no file came."""
        codes = []
        for number in range(self.job.nodes):
            try:
                codes.append(self.handle.task(number).result())
            except RuntimeError as error:  # submitit's own are
                why = str(error).strip().splitlines()
                raise RunError(
                    f"machine {number} of job {self.id} ended without a word: {why[0] if why else 'no log'}",
                    hint=f"its log: {self.handle.task(number).paths.stdout}",
                ) from error
        result = Path(results(self.job, self.id))
        for _ in range(round(MERGE_S / POLL_S)):
            if result.exists():
                break
            self.sleep(POLL_S)
        else:
            raise RunError(
                f"job {self.id} ended with {_told(codes)} and left no {result}",
                hint=f"its log: {self.handle.task(0).paths.stdout}",
            )
        script = self.handle.paths.submission_file.read_text(encoding="utf-8")
        return Ended(script=script, codes=tuple(codes), result=result)


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
    for program in ("sbatch", "srun"):
        if shutil.which(program) is None:
            raise MachineError(
                f"there is no {program} here", hint="gpuwise launch slurm --dry-run prints a script"
            )
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


def _told(codes: Sequence[int]) -> str:
    return "exit code" + ("s " if len(codes) > 1 else " ") + ", ".join(map(str, codes))
