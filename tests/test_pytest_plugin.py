"""The pytest plugin, driven by pytest itself on the CPU."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

# A run in this process forgets what it imported, and torch cannot be imported twice.
import torch._dynamo  # noqa: F401

import gpuwise.measure.frameworks.torch
import gpuwise.measure.prepare  # noqa: F401
from gpuwise.jobs import steps
from gpuwise.measure import telemetry

pytest_plugins = ["pytester"]

STEP = """
    import time

    def test_sleep(gpu_bench):
        measured = gpu_bench(lambda: time.sleep({seconds}), items=4, item="image")
        assert measured.throughput.value > 0
"""
FAST, SLOW = STEP.format(seconds=0.01), STEP.format(seconds=0.1)
LONGER = ("--gpu-bench-time", "2.5s")
"""For windows enough that noise of a busy machine leaves a difference of ten times in no doubt."""
CPU = ("--gpu-bench-device", "cpu", "--gpu-bench-time", "1s", "-p", "no:cacheprovider")


def test_without_a_gpu_the_test_is_skipped_with_the_reason(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    pytester.makepyfile(FAST)
    done = pytester.runpytest_inprocess("-rs")
    done.assert_outcomes(skipped=1)
    done.stdout.fnmatch_lines(["*no GPU that torch can use*"])


@pytest.mark.slow
def test_what_became_slower_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=FAST)
    first = pytester.runpytest_inprocess(*CPU, *LONGER, "--gpu-bench-save", "base.json")
    first.assert_outcomes(passed=1)
    first.stdout.fnmatch_lines(["*test_it.py::test_sleep: * images/s*"])
    kept = json.loads(Path("base.json").read_text())
    assert kept["measurements"][0]["items_per_step"] == 4
    again = pytester.runpytest_inprocess(*CPU, *LONGER, "--gpu-bench-compare", "base.json")
    again.assert_outcomes(passed=1)
    pytester.makepyfile(test_it=SLOW)
    gate = ("--gpu-bench-compare", "base.json", "--gpu-bench-fail", "slower>20%")
    slower = pytester.runpytest_inprocess(*CPU, *LONGER, *gate)
    slower.assert_outcomes(failed=1)
    slower.stdout.fnmatch_lines(["*test_sleep*of the baseline, slower*"])


@pytest.mark.parametrize("load", [0.5, 8.0])
def test_a_busy_host_is_said_as_bench_says_it(load: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "load_average", lambda: load)
    monkeypatch.setattr(telemetry, "cpu_count", lambda: 2)
    measured = steps.time_step(lambda: time.sleep(0.01), name="sleep", device="cpu", time_s=0.1)
    assert ("contended" in {issue.code for issue in measured.cautions}) is (load > 2)


@pytest.mark.slow
def test_each_call_is_a_measurement_of_its_own(pytester: pytest.Pytester) -> None:
    steps = "time.sleep(0.002)", "time.sleep(0.004)"
    calls = "\n".join(f"        gpu_bench(lambda: {step})" for step in steps)
    pytester.makepyfile(f"""
    import time
    def test_two(gpu_bench):
{calls}
    """)
    pytester.runpytest_inprocess(*CPU, "--gpu-bench-save", "base.json").assert_outcomes(passed=1)
    kept = json.loads(Path("base.json").read_text())
    one, two = (m["config"]["workload"] for m in kept["measurements"])
    assert two == f"{one} #2"
    assert kept["environment"]["torch"]
    kept["measurements"].pop()
    kept["environment"]["torch"] = "1.0"
    Path("base.json").write_text(json.dumps(kept))
    gate = ("--gpu-bench-compare", "base.json", "--gpu-bench-fail", "slower>40%")
    again = pytester.runpytest_inprocess(*CPU, *gate)
    again.assert_outcomes(passed=1)
    again.stdout.fnmatch_lines(
        ["*test_two: *of the baseline*", "*test_two #2: *not in the baseline*", "*torch was 1.0, is *"]
    )


def test_what_is_no_step_number_or_label_is_told(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
    def test_step(gpu_bench):
        gpu_bench(5)
    def test_items(gpu_bench):
        gpu_bench(print, items=0)
    def test_precision(gpu_bench):
        gpu_bench(print, precision="fp7")
    """)
    done = pytester.runpytest_inprocess(*CPU, "-n0")
    done.assert_outcomes(failed=3)
    done.stdout.fnmatch_lines(
        ["*a step is a function*, not 5", "*items is a positive*, not 0", "*precision is one of*, not 'fp7'"]
    )


def test_it_does_not_measure_beside_other_processes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAST)
    done = pytester.runpytest_inprocess(*CPU, "-n1", "-rs")
    done.assert_outcomes(skipped=1)
    done.stdout.fnmatch_lines(["*measures alone*pytest -n 0*"])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--gpu-bench-fail", "slower>5%"), "needs a baseline"),
        (("--gpu-bench-compare", "missing.json"), "there is no file missing.json"),
        (("--gpu-bench-time", "soon"), "soon"),
    ],
)
def test_a_wrong_option_ends_the_run_before_any_test(
    pytester: pytest.Pytester, options: tuple[str, ...], told: str
) -> None:
    pytester.makepyfile(FAST)
    done = pytester.runpytest_inprocess(*options)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"*gpuwise: *{told}*"])
