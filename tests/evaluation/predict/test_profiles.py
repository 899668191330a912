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
from gpuwise.predictor.card import Card, card
from gpuwise.predictor.kernels import Kernel, KernelClass, Trace, arrays
from gpuwise.predictor.rates import usual
from gpuwise.predictor.step import kernel_seconds

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
    assert of_operator(name, inputs) == of_kernel(own)


def test_where_inputs_do_not_tell_the_work_all_launches_of_an_operator_are_one_case() -> None:
    sums = kernel("aten.sum", (8,), "reduction", count=4)
    looked_up = kernel("aten.embedding", (8, 4), "gather")
    learnt = kernel("aten._fused_adamw_", (8,), "optimiser", count=7)
    profile = {
        "steps": 1, "kernels": [],
        "operators": [
            ["aten::sum", [[8, 4]], 3, 20.0], ["aten::sum", [[8, 2]], 1, 5.0],
            ["aten::embedding", [[100, 4], [8]], 1, 5.0], ["aten::_fused_adamw_", [], 1, 9.0],
        ],
    }  # fmt: skip
    found = cases(trace(sums, looked_up, learnt), profile)
    assert found == {
        ("sum",): ((sums,), pytest.approx(25e-6)),
        ("fused_adamw",): ((learnt,), pytest.approx(9e-6)),
    }
    assert not cases(trace(replace(sums, count=9)), profile)


def test_generated_kernels_are_one_case_and_those_of_libraries_their_own() -> None:
    made, product = kernel("aten.mul+add", (8, 4)), kernel("aten.mm", (1, 8, 4, 2), "matmul")
    learnt = replace(kernel("aten._fused_adamw_", (8,), "optimiser"), phase="optimiser")
    step = replace(trace(made, product, learnt), compiled=True)
    profile = {
        "steps": 2, "operators": [["aten::mm", [[8, 2], [2, 4]], 2, 30.0]],
        "kernels": [["triton_poi_fused_add_mul_0", 2, 8.0], ["nvjet_tst", 2, 30.0]],
    }  # fmt: skip
    assert cases(step, profile) == {
        ("mm", 1, 8, 4, 2): ((product,), pytest.approx(15e-6)),
        ("generated",): ((made,), pytest.approx(4e-6)),
    }


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
        "kernels": [],
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


H200 = card("h200-sxm")


def test_cases_of_a_group_are_left_out_together() -> None:
    found = {
        f"{name} {size}": Timed((kernel(f"aten.{name}", (size,)),), seconds, name, H200)
        for name, seconds in (("a", 1e-3), ("b", 4e-3))
        for size in range(3)
    }
    fit = Fit(found)
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

    def fit(seconds: float) -> Fit:
        return Fit({"step": Timed(made.kernels, seconds, "toy", H200, 1.5, made, compiled=True)})

    start = fit(1.0)
    seconds = 1.3 * float(start.seconds(start.factors(np.zeros((4, len(start.nodes)))))[0])
    found = fit(seconds)
    assert found.nodes == ["compiled"]
    assert found.seconds(found.factors(found.fit(found.weights)))[0] == pytest.approx(seconds, rel=0.15)


def test_cases_of_slower_cards_are_fitted_to_the_same_classes() -> None:
    """A kernel of too many instructions takes less beyond its bytes where these are slower."""
    copies = {size: kernel("aten.copy", (size,)) for size in (2**22, 2**23, 2**24)}
    slower = card("rtx-4090")

    def seconds(one: Kernel, own: Card) -> float:
        return float(kernel_seconds(arrays([one]), own, usual(own))[0])

    cases = {
        f"{own.id} {size}": Timed((one,), seconds(one, own), f"{size}", own)
        for size, one in copies.items()
        for own in (H200, slower)
    }
    fit = Fit(cases)
    found = np.log(fit.seconds(fit.factors(fit.fit(fit.weights))) / fit.measured)
    assert np.abs(found).max() < 0.05
