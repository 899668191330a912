"""`gpuwise launch` and `gpuwise merge`, and what `bench` refuses about several GPUs."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from gpuwise import store

from ..measure.test_merge import result
from .test_schemas import check

Call = Callable[..., tuple[int, str, str]]


def test_slurm_prints_the_script(gpuwise: Call) -> None:
    code, out, _ = gpuwise(
        "launch", "slurm", "--nodes", "2", "--dry-run", "--sbatch=--partition=gpu", "--", "resnet50"
    )
    assert code == 0
    assert out.startswith("#!/bin/bash\n#SBATCH --job-name=gpuwise\n#SBATCH --nodes=2\n")
    assert "#SBATCH --partition=gpu" in out
    assert "gpuwise bench resnet50 --gpus 8 --nodes 2" in out


def test_the_script_and_slurms_answer_as_a_document(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    script = gpuwise("launch", "slurm", "--dry-run", "--", "resnet50")[1]
    document = json.loads(gpuwise("launch", "slurm", "--dry-run", "--json", "--", "resnet50")[1])
    assert document == {"script": script, "answer": None}
    monkeypatch.setattr("gpuwise.measure.cluster.submit", lambda text, wait: ("17", Pretended()))
    printed = gpuwise("launch", "slurm", "--json", "--", "resnet50")[1]
    check("launch", printed)
    document = json.loads(printed)
    assert document["answer"] == "Submitted batch job 17"


@pytest.mark.parametrize(
    ("time", "written"), [("2h30", "02:30:00"), ("90s", "00:01:30"), ("2-00:00:00", "2-00:00:00"), ("90", "")]
)
def test_a_time_is_written_as_everywhere_else(gpuwise: Call, time: str, written: str) -> None:
    code, out, _ = gpuwise("launch", "slurm", "--dry-run", "--time", time, "--", "resnet50")
    assert (code, f"--time={written}\n" in out) == ((0, True) if written else (2, False))


def test_what_bench_would_refuse_on_these_machines_is_refused(gpuwise: Call) -> None:
    served = ("served:llama-3.1-8b", "--engine", "vllm")
    for nodes, words, code in (
        ("1", served, 0), ("2", served, 2), ("2", ("resnet50", "--switch", "a=b"), 2),
        ("2", ("resnet50", "--slo", "TTFT<=1s"), 2),
    ):  # fmt: skip
        assert gpuwise("launch", "slurm", "--dry-run", "--nodes", nodes, "--", *words)[0] == code


def test_slurm_without_sbatch(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    code, _, err = gpuwise("launch", "slurm", "--", "resnet50")
    assert code == 3
    assert "no sbatch here" in err


class Pretended(nullcontext[None]):
    """A job that ends with 4."""

    def wait(self) -> int:
        return 4


def test_a_job_is_waited_for_and_its_code_is_the_command_s(
    gpuwise: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []

    def submit(text: str, *, wait: bool) -> tuple[str, Pretended]:
        assert wait
        asked.append(text)
        return "17", Pretended()

    monkeypatch.setattr("gpuwise.measure.cluster.submit", submit)
    (tmp_path / "gpuwise-17.json").write_text("{}")
    words = (
        "launch",
        "slurm",
        "--nodes",
        "2",
        "--wait",
        "--sbatch=--partition=gpu",
        "--folder",
        str(tmp_path),
    )
    code, out, err = gpuwise(*words, "--", "resnet50")
    assert code == 4
    assert "#SBATCH --partition=gpu\n" in asked[0]
    assert [line for line in err.splitlines() if line] == [
        f"job 17 is submitted; its log: {tmp_path}/gpuwise-17.log",
        f"job 17 ended with exit code 4; its log: {tmp_path}/gpuwise-17.log",
    ]
    assert f"gpuwise show {tmp_path}/gpuwise-17.json" in out
    code, out, _ = gpuwise(*words, "--json", "--", "resnet50")
    check("launch", out)
    assert json.loads(out) == {
        "script": asked[1],
        "job": "17",
        "code": 4,
        "results": [f"{tmp_path}/gpuwise-17.json"],
    }


def test_who_stops_waiting_hears_how_to_end_the_job(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Pretended) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Pretended, "wait", interrupted)
    monkeypatch.setattr("gpuwise.measure.cluster.submit", lambda text, wait: ("17", Pretended()))
    code, _, err = gpuwise("launch", "slurm", "--wait", "--", "resnet50")
    assert code == 130
    assert "job 17 goes on without you; scancel 17 ends it" in err


def test_kubernetes_prints_a_manifest(gpuwise: Call) -> None:
    words = ("kubernetes", "--nodes", "3", "--image", "me/it", "--claim", "c", "--", "bert-large")
    code, out, _ = gpuwise("launch", *words)
    assert code == 0
    assert [item["kind"] for item in json.loads(out)["items"]] == ["Service", "Job"]
    assert gpuwise("launch", "kubernetes", "--", "bert-large")[0] == 2  # no image


def test_what_the_job_sets_is_refused(gpuwise: Call) -> None:
    code, _, err = gpuwise("launch", "slurm", "--dry-run", "--", "resnet50", "--rdzv", "a:1")
    assert code == 2
    assert "the job sets this itself" in err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("slurm", "--dry-run", "--", "resnet50", "--precison", "fp16"), "--precison"),
        (("slurm", "--dry-run", "--", "resnet50", "--recipe", "fast"), "Invalid value for '--recipe'"),
        (("slurm", "--dry-run", "--sbatch", "partition=gpu", "--", "resnet50"), "not an option of sbatch"),
        (("slurm", "--dry-run", "--wait", "--", "resnet50"), "--dry-run submits nothing to wait for"),
        (("kubernetes", "--image", "", "--", "resnet50"), "the name of the image is empty"),
        (("kubernetes", "--image", "x", "--claim", "", "--", "resnet50"), "results would be lost"),
        (
            ("kubernetes", "--image", "x", "--claim", "C_x", "--", "resnet50"),
            "not the name of a volume claim",
        ),
        (
            ("kubernetes", "--image", "x", "--claim", "c", "--folder", "there", "--", "resnet50"),
            "not a place in a pod",
        ),
        *(
            (("slurm", "--dry-run", f"--sbatch={option}", "--", "resnet50"), "the job sets this itself")
            for option in ("--nodes=9", "-N9", "-N 9", "--time=1:00:00", "--ntasks-per-node 2")
        ),
    ],
)
def test_what_no_machine_would_run_is_refused(gpuwise: Call, words: tuple[str, ...], why: str) -> None:
    code, _, err = gpuwise("launch", *words)
    assert code == 2
    assert why in err


def test_options_of_sbatch_that_only_begin_alike_go_through(gpuwise: Call) -> None:
    for option in ("--nodelist=a", "--time-min=1", "-p gpu", "--no-requeue"):
        code, out, _ = gpuwise("launch", "slurm", "--dry-run", f"--sbatch={option}", "--", "resnet50")
        assert (code, f"#SBATCH {option}" in out) == (0, True)


def test_what_merge_prints_is_a_result_file(gpuwise: Call, tmp_path: Path) -> None:
    files = [str(store.save(result(node), tmp_path / f"node{node}.json")) for node in range(2)]
    code, out, _ = gpuwise("merge", *files, "--json")
    assert code == 0
    check("merge", out)
    assert json.loads(out)["id"] == "r0"


def test_merge_wants_the_files_of_several_machines(gpuwise: Call, tmp_path: Path) -> None:
    code, _, err = gpuwise("merge", str(tmp_path / "none.json"))
    assert code == 2
    assert "none.json" in err
    assert gpuwise("merge")[0] == 2


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--gpus", "0"), "a count of GPUs is a positive number"),
        (("--gpus", "two"), "a count of GPUs is a positive number"),
        (("--nodes", "2"), "2 machines need a place to meet"),
        (("--rdzv", "a:1"), "are for several machines"),
    ],
)
def test_counts_and_meetings_that_mean_nothing(gpuwise: Call, options: tuple[str, ...], why: str) -> None:
    code, _, err = gpuwise("bench", "resnet50", "--device", "cpu", *options)
    assert code == 2
    assert why in err


def test_the_guides_commands_are_good(gpuwise: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuwise.measure.telemetry.sensors", lambda: ())
    page = (Path(__file__).parents[2] / "docs" / "many-gpus.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    lines = [line for line in lines if line.startswith("gpuwise ")]
    assert len(lines) == 9
    for line in lines:
        verb, *words = shlex.split(line)[1:]
        # Without a GPU, all that can be wrong with an option is refused before the machine is.
        code, _, err = gpuwise(verb, *words, *(("--device", "cuda") if verb == "bench" else ()))
        assert code == {"bench": 3, "merge": 2, "launch": 0}[verb], (line, err)
        assert "No such option" not in err


def test_a_limit_of_one_gpu_is_no_job_for_eight(gpuwise: Call) -> None:
    words = ("launch", "slurm", "--dry-run", "--gpus-per-node")
    code, _, err = gpuwise(*words, "8", "--", "copy")
    assert (code, "--gpus-per-node 1" in err) == (2, True)
    assert gpuwise(*words, "1", "--", "copy")[0] == 0
    assert gpuwise(*words, "8", "--", "all-reduce")[0] == 0


@pytest.mark.parametrize("name", ["resnet5000", "bert-large,nothing-of-ours"])
def test_a_workload_that_is_not_known_is_refused_before_the_job_waits(gpuwise: Call, name: str) -> None:
    code, out, err = gpuwise("launch", "slurm", "--dry-run", "--", name)
    assert (code, out) == (2, "")
    assert "unknown workload" in err


@pytest.mark.parametrize("name", ["timm:vit_tiny", "./mine_of_the_cluster.py", "bert"])
def test_files_and_libraries_are_looked_for_where_the_job_runs(gpuwise: Call, name: str) -> None:
    code, out, err = gpuwise("launch", "slurm", "--dry-run", "--", name)
    assert code == 0, err
    assert f"gpuwise bench {name} " in out
