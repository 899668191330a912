"""A Slurm batch script: one task a machine, each starts a rank per GPU through torchrun's rendezvous.

Slurm's own variables say who is who, so no library is needed in the job or here; `submitted` is for who stays
with the job to its end.
Reference: https://slurm.schedmd.com/sbatch.html, https://pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

import shlex
import shutil
import subprocess

from gpuwise.errors import InputError, MachineError, RunError
from gpuwise.measure.cluster.job import Job

SUBMIT_S = 60.0
HEAD = 'export head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
"""The machine where all meet."""


def script(job: Job, options: tuple[str, ...] = ()) -> str:
    """The batch script; `options` are further ones of sbatch, such as `--partition=gpu`.

    Raises InputError for one that is none.
    """
    for option in options:
        if not option.startswith("-") or "\n" in option:
            raise InputError(f"{option!r} is no option of sbatch", hint="--sbatch=--partition=gpu")
    directives = (
        f"--job-name={job.name}",
        f"--nodes={job.nodes}",
        "--ntasks-per-node=1",
        f"--gpus-per-node={job.gpus_per_node}",
        "--exclusive",
        f"--time={job.time}",
        shlex.quote(f"--output={job.folder}/%x-%j.log"),
        *options,
    )
    return "\n".join(
        (
            "#!/bin/bash",
            *(f"#SBATCH {directive}" for directive in directives),
            "set -euo pipefail",
            HEAD,
            "code=0",
            f"srun --kill-on-bad-exit=1 bash -c {_quoted(task_line(job))} || code=$?",
            *merge(job),
            "exit $code",
            "",
        )
    )


def task_line(job: Job) -> str:
    """What one machine runs, in which its shell puts Slurm's variables and `head`."""
    output = f"{_stem(job, '$SLURM_JOB_ID')}-$SLURM_NODEID.json"
    return job.command(host="$head", rank="$SLURM_NODEID", output=output)


def merge(job: Job) -> tuple[str, ...]:
    """When all machines are done, their files become one."""
    if job.nodes == 1:
        return ()
    stem = _stem(job, "$SLURM_JOB_ID")
    return (f'gpuwise merge "{stem}"-*.json --output "{stem}.json"',)


def results(job: Job, number: str) -> str:
    """The file that holds all results when the job of that number has ended."""
    return f"{_stem(job, number)}{'-0' if job.nodes == 1 else ''}.json"


def submit(text: str) -> str:
    """Hand the script to sbatch; returns what it says.

    Raises MachineError where there is no sbatch, RunError where it refuses.
    """
    require("sbatch")
    try:
        done = subprocess.run(
            ["sbatch"], input=text, capture_output=True, text=True, timeout=SUBMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RunError(f"sbatch did not answer for {SUBMIT_S:.0f} s", hint="squeue, sinfo") from error
    if done.returncode:
        raise RunError(f"sbatch refused: {done.stderr.strip()}", hint="gpuwise launch slurm --dry-run")
    return done.stdout.strip()


def require(*programs: str) -> None:
    """Raise MachineError where one of Slurm's programs is missing."""
    for program in programs:
        if shutil.which(program) is None:
            raise MachineError(
                f"there is no {program} here", hint="gpuwise launch slurm --dry-run prints the script"
            )


def _stem(job: Job, number: str) -> str:
    return f"{job.folder}/{job.name}-{number}"


def _quoted(line: str) -> str:
    """For bash -c, which expands the variables on each machine."""
    return "'" + line.replace("'", "'\\''") + "'"
