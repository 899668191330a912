"""A job that is followed through submitit, on a Slurm of shell scripts that runs it in the background."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gpuwise import cluster
from gpuwise.cluster import submitted as module
from gpuwise.cluster.job import Job
from gpuwise.errors import InputError, MachineError, RunError

pytest.importorskip("submitit")

SBATCH = """#!/bin/bash
cp "$1" "$PLACE/submitted"
export SLURM_JOB_ID=17 SLURM_JOB_NODELIST='node[0-1]' SLURM_NTASKS=2 SLURM_JOB_NUM_NODES=2 SLURM_LOCALID=0
(bash "$1" > "$PLACE/batch.log" 2>&1; touch "$PLACE/over") > /dev/null 2>&1 &
echo 'Submitted batch job 17'
"""
SRUN = """#!/bin/bash
# Runs the task once for each machine, one after the other.
while [[ $1 == --* ]]; do case $1 in --output|--error) shift 2;; *) shift;; esac; done
for SLURM_NODEID in 0 1; do export SLURM_NODEID SLURM_PROCID=$SLURM_NODEID; bash -c "$*" >&2; done
"""
SACCT = """#!/bin/bash
state=RUNNING; [ -e "$PLACE/over" ] && state=COMPLETED
[ -e "$PLACE/state" ] && state=$(cat "$PLACE/state")
printf 'JobID|State|NodeList\\n17|%s|node[0-1]\\n' $state
"""
SCONTROL = "#!/bin/bash\nprintf 'node0\\nnode1\\n'\n"
GPUWISE = """#!/bin/bash
echo "$@" >> "$PLACE/calls"
while [ $# -gt 1 ]; do [ "$1" = --output ] && echo '{}' > "$2"; shift; done
exit ${CODE:-0}
"""
PROGRAMS = {"sbatch": SBATCH, "srun": SRUN, "sacct": SACCT, "scontrol": SCONTROL, "gpuwise": GPUWISE}


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with those programs in `bin`, where the job leaves what it did."""
    (tmp_path / "bin").mkdir()
    for name, text in PROGRAMS.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("PLACE", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setattr(module, "POLL_S", 0.1)
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
    assert (ended.codes, ended.result) == ((0, 0), Path(f"{stem}.json"))
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


def test_exit_codes_of_the_machines_come_back(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODE", "4")
    submitted = cluster.follow(job(slurm))
    list(submitted.states())
    assert submitted.ended().codes == (4, 4)


def test_a_machine_that_tells_nothing_is_named(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (slurm / "bin" / "srun").write_text("#!/bin/bash\nexit 1\n")
    (slurm / "state").write_text("NODE_FAIL")
    submitted = cluster.follow(job(slurm))
    assert list(submitted.states()) == ["NODE_FAIL"]
    monkeypatch.setattr(type(submitted.handle), "_results_timeout_s", 0)
    with pytest.raises(RunError, match="machine 0 of job 17 ended without a word") as raised:
        submitted.ended()
    assert "17_0_log.out" in str(raised.value.hint)


def test_a_job_that_leaves_no_file_is_told(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (slurm / "bin" / "gpuwise").write_text("#!/bin/bash\nexit 4\n")
    monkeypatch.setattr(module, "MERGE_S", 0.2)
    submitted = cluster.follow(job(slurm))
    list(submitted.states())
    with pytest.raises(RunError, match=r"job 17 ended with exit codes 4, 4 and left no .*gpuwise-17\.json"):
        submitted.ended()


def test_what_cannot_be_submitted(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="'-p' is no option of sbatch in its long form"):
        cluster.follow(job(slurm), ("-p",))
    (slurm / "bin" / "sbatch").write_text("#!/bin/bash\necho 'invalid partition' >&2; exit 1\n")
    with pytest.raises(RunError, match="sbatch refused"):
        cluster.follow(job(slurm))
    (slurm / "bin" / "srun").unlink()
    with pytest.raises(MachineError, match="there is no srun here"):
        cluster.follow(job(slurm))
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(MachineError, match="needs submitit"):
        cluster.follow(job(slurm))
