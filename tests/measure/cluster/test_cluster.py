"""What is handed to Slurm and Kubernetes, and a Slurm of shell scripts that takes it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise.errors import InputError, MachineError, RunError
from gpuwise.measure import cluster
from gpuwise.measure.cluster import ClusterJob, arguments_of, check, clock, seconds

JOB = ClusterJob(nodes=2, gpus_per_node=8, arguments=("resnet50", "--mode", "train"))

SRUN = """#!/bin/bash
# Runs the task once for each machine, one after the other.
shift
for SLURM_NODEID in 0 1; do export SLURM_NODEID; "$@" || exit $?; done
"""
SBATCH = """#!/bin/bash
export SLURM_JOB_ID=17 SLURM_JOB_NODELIST='node[0-1]'
bash -s > /dev/null && echo 17
"""
GPUWISE = '#!/bin/bash\necho "$@" >> "$CALLS"\n'


@pytest.fixture
def slurm(
    install: Callable[[Mapping[str, str]], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A Slurm that runs jobs here and at once; the calls of gpuwise are written to the returned file."""
    install({"srun": SRUN, "sbatch": SBATCH, "gpuwise": GPUWISE})
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    return tmp_path / "calls"


def submitted(text: str) -> str:
    """The number of the job, once sbatch has ended."""
    number, process = cluster.submit(text, wait=False)
    with process:
        return number


def test_slurm_runs_the_same_on_every_machine_and_merges(slurm: Path) -> None:
    assert submitted(cluster.script(JOB)) == "17"
    each = "bench resnet50 --mode train --gpus 8 --nodes 2 --rdzv node0:29400 --node-rank {} --output {}"
    assert slurm.read_text().splitlines() == [
        each.format(0, "./gpuwise-17-0.json"),
        each.format(1, "./gpuwise-17-1.json"),
        "merge ./gpuwise-17-*.json --output ./gpuwise-17.json",
    ]


def test_arguments_with_spaces_and_quotes_arrive_whole(slurm: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "gpuwise").write_text('#!/bin/bash\nprintf "<%s>" "$@" >> "$CALLS"\n')
    submitted(cluster.script(ClusterJob(nodes=1, gpus_per_node=1, arguments=("it's my model.py", "$HOME"))))
    assert slurm.read_text().startswith("<bench><it's my model.py><$HOME><--gpus><1><--output>")


def test_the_script_asks_for_whole_machines() -> None:
    text = cluster.script(JOB, ("--partition=gpu",))
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    for line in ("--nodes=2", "--gpus-per-node=8", "--ntasks-per-node=1", "--exclusive", "--partition=gpu"):
        assert f"#SBATCH {line}\n" in text


def test_a_folder_with_spaces_stays_whole(slurm: Path) -> None:
    text = cluster.script(ClusterJob(nodes=1, gpus_per_node=1, arguments=("resnet50",), folder="my results"))
    assert "#SBATCH '--output=my results/%x-%j.log'\n" in text
    submitted(text)
    assert "--output my results/gpuwise-17-0.json\n" in slurm.read_text()


def test_no_sbatch_and_one_that_refuses(slurm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin" / "sbatch").write_text("#!/bin/bash\necho 'invalid partition' >&2; exit 1\n")
    with pytest.raises(RunError, match="sbatch refused: invalid partition"):
        cluster.submit("", wait=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MachineError, match="no sbatch"):
        cluster.submit("", wait=False)


def test_a_job_is_waited_for(slurm: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "sbatch").write_text(
        '#!/bin/bash\n[ "$*" = "--parsable --wait" ] || exit 1\necho "17;x"; bash -s > /dev/null; exit 4\n'
    )
    number, process = cluster.submit("echo hello", wait=True)
    with process:
        assert (number, process.wait()) == ("17", 4)


def test_kubernetes_has_a_pod_a_machine_that_meet_at_the_first() -> None:
    service, job = json.loads(
        cluster.manifest(replace(JOB, folder="/r"), image="me/gpuwise:1", claim="disk")
    )["items"]
    assert service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}
    spec = job["spec"]
    assert (spec["completions"], spec["parallelism"], spec["completionMode"]) == (2, 2, "Indexed")
    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"]) == (0, 3600)
    pod = spec["template"]["spec"]
    assert pod["subdomain"] == service["metadata"]["name"]
    (container,) = pod["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 8}
    line = container["command"][2]
    assert '--rdzv "gpuwise-0.gpuwise:29400" --node-rank "$JOB_COMPLETION_INDEX"' in line
    assert {m["name"] for m in container["volumeMounts"]} == {v["name"] for v in pod["volumes"]}


def test_one_machine_needs_no_meeting() -> None:
    words = ("resnet50", "--gpus", "1,2,4")
    alone = ClusterJob(nodes=1, gpus_per_node=4, arguments=words, folder="/r")
    (job,) = json.loads(cluster.manifest(alone, image="x", claim="disk"))["items"]
    line = job["spec"]["template"]["spec"]["containers"][0]["command"][2]
    assert line.startswith("gpuwise bench resnet50 --gpus 1,2,4 --output")
    assert "merge" not in cluster.script(alone)


def test_without_a_shared_disk_each_pod_sends_its_result(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lost"):
        cluster.manifest(JOB, image="x")
    here = replace(JOB, folder=".")
    job = json.loads(cluster.manifest(here, image="x", push="https://lab/a b"))["items"][1]
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["env"][0]["valueFrom"]["secretKeyRef"]["name"] == "gpuwise"
    # The line as a shell runs it: a measurement that fails (4), and a server that takes the file, then none.
    program = tmp_path / "gpuwise"
    program.write_text('#!/bin/sh\necho "$@" >> calls\n[ $1 = push ] && exit $REFUSED; exit 4\n')
    program.chmod(0o755)
    for refused, code in (("0", 4), ("3", 3)):
        own = {"PATH": f"{tmp_path}:/usr/bin:/bin", "JOB_COMPLETION_INDEX": "1", "REFUSED": refused}
        done = subprocess.run(container["command"], cwd=tmp_path, env=own, check=False)
        assert done.returncode == code
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[1::2] == ["push ./gpuwise-1.json --to https://lab/a b"] * 2


def test_what_the_job_decides_itself_is_refused() -> None:
    with pytest.raises(InputError, match="--rdzv, -o"):
        check(ClusterJob(nodes=2, gpus_per_node=1, arguments=("--rdzv", "x:1", "-o", "y")))
    with pytest.raises(InputError, match="not a job name"):
        check(ClusterJob(nodes=2, gpus_per_node=1, arguments=(), name="My Job"))


def test_a_time_is_that_of_the_scheduler() -> None:
    assert [clock(text) for text in ("02:30:00", "1-00:00:00", "2h30", "90s")] == [
        "02:30:00", "1-00:00:00", "02:30:00", "00:01:30",
    ]  # fmt: skip
    with pytest.raises(InputError):
        clock("soon")


def test_words() -> None:
    assert arguments_of(("gpuwise", "bench", "resnet50")) == arguments_of(("resnet50",)) == ("resnet50",)
    assert seconds("01:30:05") == 5405
    assert seconds("2-00:00:00") == 172_800
