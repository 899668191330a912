"""A job that is followed through submitit, on a Slurm of shell scripts that runs it in the background."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gpuwise.errors import InputError, MachineError, RunError
from gpuwise.measure import cluster
from gpuwise.measure.cluster import submitted as module
from gpuwise.measure.cluster import task
from gpuwise.measure.cluster.job import Job

pytest.importorskip("submitit")

SBATCH = """#!/bin/bash
cp "$1" "$PLACE/submitted"
export SLURM_JOB_ID=17 SLURM_JOB_NODELIST='node[0-1]' SLURM_NTASKS=2 SLURM_JOB_NUM_NODES=2 SLURM_LOCALID=0
(bash "$1" > "$PLACE/batch.log" 2>&1; touch "$PLACE/over") > /dev/null 2>&1 &
echo 'Submitted batch job 17'
"""
SRUN = """#!/bin/bash
# Runs the task for each machine, one after the other, until one fails.
while [[ $1 == --* ]]; do case $1 in --output|--error) shift 2;; *) shift;; esac; done
for SLURM_NODEID in 0 1; do export SLURM_NODEID SLURM_PROCID=$SLURM_NODEID; bash -c "$*" >&2 || exit 1; done
"""
SQUEUE = """#!/bin/bash
[ -e "$PLACE/silent" ] && { rm "$PLACE/silent"; echo 'Unable to contact slurm controller' >&2; exit 1; }
[ -e "$PLACE/gone" ] && { echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1; }
cat "$PLACE/state" 2> /dev/null || { [ -e "$PLACE/over" ] && echo COMPLETED || echo RUNNING; }
"""
GPUWISE = """#!/bin/bash
echo "$@" >> "$PLACE/calls"
[ "$1" = merge ] && [ $# -lt 5 ] && exit 2  # the file of one machine is merged with nothing
while [ $# -gt 1 ]; do [ "$1" = --output ] && echo '{}' > "$2"; shift; done
exit ${CODE:-0}
"""
PROGRAMS = {"sbatch": SBATCH, "srun": SRUN, "squeue": SQUEUE, "gpuwise": GPUWISE}


@pytest.fixture
def slurm(
    install: Callable[[Mapping[str, str]], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder with those programs in `bin`, where the job leaves what it did."""
    install(PROGRAMS)
    monkeypatch.setenv("PLACE", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setattr(module, "ASK_S", 0.05)
    monkeypatch.setattr(module, "FILES_S", 0)
    return tmp_path


def job(folder: Path, nodes: int = 2) -> Job:
    return Job(
        nodes=nodes, gpus_per_node=8, arguments=("resnet50", "--mode", "train"), folder=str(folder / "shared")
    )


def test_a_job_is_submitted_followed_and_merged(slurm: Path) -> None:
    submitted = cluster.follow(job(slurm), ("--partition=gpu", "--overcommit"))
    assert submitted.id == "17"
    assert "RUNNING" in list(submitted.states())
    ended = submitted.ended()
    stem = slurm / "shared" / "gpuwise-17"
    assert ([machine.code for machine in ended.machines], ended.code) == ([0, 0], 0)
    assert ended.results == (Path(f"{stem}.json"),)
    each = "bench resnet50 --mode train --gpus 8 --nodes 2 --rdzv node0:29400 --node-rank {} --output {}"
    assert (slurm / "calls").read_text().splitlines() == [
        each.format(0, f"{stem}-0.json"),
        each.format(1, f"{stem}-1.json"),
        f"merge {stem}-0.json {stem}-1.json --output {stem}.json",
    ]
    assert ended.script == (slurm / "submitted").read_text()
    for line in ("nodes=2", "gpus-per-node=8", "ntasks-per-node=1", "exclusive", "partition=gpu", "time=60"):
        assert f"#SBATCH --{line}\n" in ended.script
    assert "#SBATCH --overcommit\n" in ended.script


def test_a_session_that_fails_ends_the_others_and_is_named(
    slurm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODE", "5")
    submitted = cluster.follow(job(slurm))
    list(submitted.states())
    ended = submitted.ended()
    assert ([machine.code for machine in ended.machines], ended.code) == ([5, None], 5)
    assert ended.machines[0].log.name == "17_0_log.out"
    assert ended.results == (slurm / "shared" / "gpuwise-17-0.json",)
    assert "srun --unbuffered --output" in ended.script
    assert "--kill-on-bad-exit=1" in ended.script


@pytest.mark.parametrize(("state", "told"), [("state", "NODE_FAIL"), ("gone", "COMPLETED")])
def test_machines_that_did_not_come_to_their_end_are_told(slurm: Path, state: str, told: str) -> None:
    """Also where Slurm has forgotten the job, and where it did not answer once."""
    (slurm / "bin" / "srun").write_text("#!/bin/bash\nexit 1\n")
    (slurm / "silent").touch()
    (slurm / state).write_text("NODE_FAIL\n")
    submitted = cluster.follow(job(slurm))
    assert list(submitted.states()) == [told]
    ended = submitted.ended()
    assert ([machine.code for machine in ended.machines], ended.code) == ([None, None], 4)
    assert ended.results == ()


def test_other_errors_of_a_machine_are_no_exit_codes() -> None:
    assert task.code_in("gpuwise.measure.cluster.task.SessionError: exit code 137\n") == 137
    assert task.code_in("ModuleNotFoundError: No module named 'gpuwise'") is None
    with pytest.raises(task.SessionError, match="exit code 143"):
        task.run("kill $$")


def test_what_cannot_be_submitted(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="'-p' is no option of sbatch in its long form"):
        cluster.follow(job(slurm), ("-p",))
    (slurm / "bin" / "sbatch").write_text("#!/bin/bash\necho 'invalid partition' >&2; exit 1\n")
    with pytest.raises(RunError, match="sbatch refused"):
        cluster.follow(job(slurm))
    (slurm / "bin" / "srun").unlink()
    monkeypatch.setenv("PATH", str(slurm / "bin"))
    with pytest.raises(MachineError, match="there is no srun here"):
        cluster.follow(job(slurm))
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(MachineError, match="needs submitit"):
        cluster.follow(job(slurm))
