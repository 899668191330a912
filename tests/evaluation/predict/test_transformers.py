"""Steps from published shapes: parameters and operations are those of the literature."""

from __future__ import annotations

import pytest

from evaluation.predict.transformers import transformer
from gpuwise.errors import InputError

MILLIONS = {"bert_large": 335, "gpt2_large": 774, "gpt3_27": 2650, "opt_13": 1316, "switchxl4": 5300}


@pytest.mark.parametrize(("name", "millions"), MILLIONS.items())
def test_parameters(name: str, millions: int) -> None:
    trace = transformer(name, batch=1, length=128, train=False)
    assert trace.parameters / 1e6 == pytest.approx(millions, rel=0.02)


def test_forward_operations_are_two_a_parameter_and_token() -> None:
    trace = transformer("gpt2_large", batch=1, length=128, train=False)
    scores = 4 * 36 * 128**2 * 1280
    products = sum(k.flop * k.count for k in trace.kernels if k.kind == "matmul")
    assert products == pytest.approx(2 * trace.parameters * 128 + scores, rel=0.01)


def test_training_multiplies_three_times() -> None:
    def products(train: bool) -> float:
        trace = transformer("gpt2_large", batch=2, length=64, train=train)
        return sum(k.flop * k.count for k in trace.kernels if k.kind == "matmul")

    assert products(True) == pytest.approx(3 * products(False))


def test_compiled_code_moves_less() -> None:
    def moved(compiled: bool) -> float:
        trace = transformer("gpt2_large", batch=2, length=512, train=False, compiled=compiled)
        return sum((k.bytes_read + k.bytes_written) * k.count for k in trace.kernels)

    assert moved(True) < moved(False)


def test_unknown_networks_are_refused() -> None:
    with pytest.raises(InputError, match="no shape"):
        transformer("gpt9", batch=1, length=1, train=False)
