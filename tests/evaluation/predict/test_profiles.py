"""Profiled operators and traced kernels meet on their work, and the classes are fitted to both."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluation.predict.classes import Fit, Timed
from evaluation.predict.profiles import cases, of_kernel, of_operator, profiles
from gpuwise.model.trace import Kernel, KernelClass, Trace
from gpuwise.predict.card import card
from gpuwise.predict.kernels import of_trace
from gpuwise.predict.rates import usual
from gpuwise.predict.step import trace_seconds

CONVOLUTION = (8, 64, 56, 56, 128, 3, 3, 2, 1, 28, 28)


def kernel(name: str, shape: tuple[int, ...], kind: KernelClass = "pointwise", count: int = 1) -> Kernel:
    return Kernel(
        kind=kind, name=name, dtype="bf16", shape=shape, flop=1e9, bytes_read=1e8, bytes_written=1e8,
        phase="backward" if "backward" in name else "forward", count=count,
    )  # fmt: skip


def trace(*kernels: Kernel) -> Trace:
    return Trace(
        workload="toy", version=1, mode="train", precision="bf16", batch=1, compiled=False, item="item",
        items=1.0, parameters=0, kernels=kernels,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "inputs", "own"),
    [
        (
            "aten::addmm",
            [[768], [32, 64], [64, 768], [], []],
            kernel("aten.addmm", (1, 32, 768, 64), "matmul"),
        ),
        ("aten::mm", [[32, 64], [64, 768], [32, 768]], kernel("aten.mm", (1, 32, 768, 64), "matmul")),
        ("aten::bmm", [[4, 32, 64], [4, 64, 16]], kernel("aten.bmm", (4, 32, 16, 64), "matmul")),
        (
            "aten::cudnn_convolution",
            [[8, 64, 56, 56], [128, 64, 3, 3], [], []],
            kernel("aten.convolution:nchw", CONVOLUTION, "convolution"),
        ),
        (
            "aten::convolution_backward",
            [[8, 128, 28, 28], [8, 64, 56, 56], [128, 64, 3, 3], []],
            kernel("aten.convolution_backward:weight", CONVOLUTION, "convolution"),
        ),
        ("aten::add_", [[8, 1, 4], [6, 1], []], kernel("aten.add:strided", (8, 6, 4))),
        ("aten::copy_", [[8, 4], [8, 4]], kernel("aten._to_copy", (8, 4), "copy")),
    ],
)
def test_an_operator_meets_its_kernel(name: str, inputs: list[list[int]], own: Kernel) -> None:
    assert of_operator(name, inputs) == of_kernel(own) is not None


def test_what_inputs_do_not_tell_has_no_work() -> None:
    assert of_operator("aten::sum", [[8, 4], []]) is None
    assert of_kernel(kernel("aten.sum", (8,), "reduction")) is None


def test_cases_run_as_often_in_trace_and_profile() -> None:
    backward = "aten.native_batch_norm_backward"
    step = trace(
        kernel("aten.mul", (8, 4), count=3),
        kernel("aten.mul_", (8, 4)),
        kernel("aten.exp", (8, 4), count=2),
        kernel(f"{backward}:statistics", (8, 4, 2, 2), "normalisation", count=2),
        kernel(f"{backward}:input", (8, 4, 2, 2), "normalisation", count=2),
    )
    profile = {
        "steps": 2,
        "operators": [
            ["aten::mul", [[8, 4], [4]], 6, 30.0],
            ["aten::mul_", [[8, 4], []], 2, 10.0],
            ["aten::exp", [[8, 4]], 2, 9.0],  # half as often as in the trace
            ["aten::native_batch_norm_backward", [[8, 4, 2, 2]] * 2, 4, 50.0],
        ],
    }
    found = cases(step, profile)
    assert set(found) == {("mul", 8, 4), ("native_batch_norm_backward", 8, 4, 2, 2)}
    kernels, seconds = found[("mul", 8, 4)]
    assert [each.name for each in kernels] == ["aten.mul", "aten.mul_"]
    assert seconds == pytest.approx(20e-6)


def test_only_profiles_of_the_asked_steps_are_read(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    with gzip.open(tmp_path / "one" / "profiles.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({"key": key}) + "\n" for key in ("dev", "blind"))
    assert set(profiles(tmp_path, ["dev"])) == {"dev"}


def test_cases_of_a_group_are_left_out_together() -> None:
    found = {
        f"{name} {size}": Timed((kernel(f"aten.{name}", (size,)),), seconds, name)
        for name, seconds in (("a", 1e-3), ("b", 4e-3))
        for size in range(3)
    }
    fit = Fit(found, card("h200-sxm"))
    weights = np.ones(len(fit.names))
    whole = fit.fit(weights)
    fitted = np.log(fit.seconds(fit.factors(whole)) / fit.measured)
    assert np.abs(fitted).max() < 0.4
    # What only the other operator says of it is worse.
    of_b = np.array([name[0] == "b" for name in fit.names])
    apart = fit.fit(np.where(of_b, 0.0, weights))
    left = np.log(fit.seconds(fit.factors(apart)) / fit.measured)[of_b]
    assert np.abs(left).min() > np.abs(fitted).max()


def test_whole_steps_fit_what_a_compiler_makes() -> None:
    """Generated code has no operator of its own: steps alone say how it runs."""
    made = replace(trace(*(kernel(f"aten.mul+{i}", (8, 4), count=9) for i in range(3))), compiled=True)
    own = card("h200-sxm")
    seconds = 1.3 * float(of_trace(made).counts @ trace_seconds(made, own, usual(own)))
    fit = Fit({"step": Timed(made.kernels, seconds, "toy", 1.5, made)}, own)
    assert all(path[0] == "compiled" for path in fit.paths)
    assert fit.seconds(fit.factors(fit.fit(fit.weights)))[0] == pytest.approx(seconds, rel=0.15)
