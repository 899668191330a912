"""`gpuwise reproduce`: the same again, yes or no."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.errors import InputError, NoDataError
from gpuwise.jobs.measuring import again
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Measurement, Result
from gpuwise.pytest_plugin import COMMAND

from .test_schemas import check

Call = Callable[..., tuple[int, str, str]]


def result(**more: object) -> Result:
    """A result of one measurement that searched its batch."""
    config = RunConfig(workload="resnet50", mode="train", precision="bf16")
    plain = Measurement(config=config, workload_version=1, status="ok", item="image", started_at="2026-11-21")
    return Result(
        id="20261121",
        created_at="2026-11-21",
        command="gpuwise bench",
        environment=Environment(device="NVIDIA H200"),
        measurements=(replace(plain, **more),),  # type: ignore[arg-type]
    )


TOY = ("--toy", "--device", "cpu", "--mode", "infer", "--time", "1s", "-q")


@pytest.mark.usefixtures("pretended")
def test_yes_or_no_and_the_exit_code_tells(gpuwise: Call, tmp_path: Path) -> None:
    kept = tmp_path / "old.json"
    assert gpuwise("bench", "resnet50", *TOY, "-o", str(kept))[0] == 0
    code, out, err = gpuwise("reproduce", str(kept), "-q")
    assert "resnet50 infer fp32 eager" in out
    assert code == 0
    assert "yes: 3 of 3 reproduced; kept in " in err
    check("reproduce", gpuwise("reproduce", str(kept), "-q", "--json")[1])
    slow = store.load(kept)
    halved = [
        replace(m, windows=tuple(replace(w, step_s=tuple(s / 1e4 for s in w.step_s)) for w in m.windows))
        for m in slow.measurements
        if m.config.mode != "limit"
    ]
    assert halved[0].throughput is not None
    faster = halved[0].throughput.times(1e4)
    store.save(replace(slow, measurements=(replace(halved[0], throughput=faster),)), kept)
    code, _, err = gpuwise("reproduce", str(kept), "-q")
    assert code == 1
    assert "no: 1 of 1 differ: resnet50 infer fp32 eager toy" in err


@pytest.mark.usefixtures("pretended")
def test_what_the_intervals_leave_open_is_no_yes(gpuwise: Call, tmp_path: Path) -> None:
    kept = tmp_path / "old.json"
    assert gpuwise("bench", "resnet50", *TOY, "-o", str(kept))[0] == 0
    sure = store.load(kept)
    (m,) = (m for m in sure.measurements if m.config.mode != "limit")
    # As many steps of half their time as of one and a half: the same speed, on average.
    windows = m.windows[: len(m.windows) // 2 * 2]
    wild = tuple(
        replace(w, step_s=tuple(s * (0.5, 1.5)[i % 2] for s in w.step_s)) for i, w in enumerate(windows)
    )
    store.save(replace(sure, measurements=(replace(m, windows=wild),)), kept)
    code, _, err = gpuwise("reproduce", str(kept), "-q")
    assert (code, "yes" in err) == (0, False)
    assert "cannot tell: 0 of 1 reproduced, 1 unclear" in err


def test_the_batch_is_the_one_that_ran() -> None:
    (config,) = again(result(batch=96))
    assert config.batch == 96


def test_nothing_to_reproduce() -> None:
    with pytest.raises(NoDataError):
        again(result(status="failed"))
    with pytest.raises(InputError, match="published"):
        again(replace(result(), origin="published"))
    with pytest.raises(InputError, match="pytest alone"):
        again(replace(result(), command=COMMAND))


def test_a_file_that_is_not_here_is_told_before_anything_runs(gpuwise: Call, tmp_path: Path) -> None:
    own = RunConfig(workload="gone.py:net", mode="infer", precision="fp32", device="cpu")
    kept = store.save(result(config=own), tmp_path / "old.json")
    code, out, err = gpuwise("reproduce", str(kept))
    assert (code, out) == (2, "")
    assert "there is no file gone.py\n  next: name it with its folder, or run this in its folder" in err


def test_no_device_is_advised_that_the_verb_does_not_take(
    gpuwise: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuwise.measure.telemetry.sensors", lambda: ())
    path = tmp_path / "gpu.json"
    path.write_bytes(store.encode(result(batch=8)))
    code, _, err = gpuwise("reproduce", str(path))
    assert code == 3
    assert "--device" not in err
    assert "gpuwise doctor" in err
