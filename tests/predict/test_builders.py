"""Steps from published shapes: parameters and operations are those of the literature."""

from __future__ import annotations

import pytest

from gpuwise.errors import InputError
from gpuwise.predict.builders import transformer
from gpuwise.predict.builders_llm import models, served

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
    with pytest.raises(InputError, match="not known"):
        served("someone/mystery")


def test_served_models() -> None:
    assert served("deepseek-ai/DeepSeek-R1").active == pytest.approx(37e9, rel=0.02)
    assert served("Qwen/Qwen3-235B-A22B-FP8").active == pytest.approx(22e9, rel=0.03)
    assert served("openai/gpt-oss-120b").active == pytest.approx(5.7e9, rel=0.2)
    assert all(0 <= model.expert < model.total for model in models().values())


def test_a_batch_touches_more_experts_up_to_all() -> None:
    model = served("MiniMaxAI/MiniMax-M2.5")
    assert model.touched(1) == pytest.approx(model.active)
    assert model.touched(1) < model.touched(16) < model.touched(10_000) <= model.total


def test_sizes_in_a_name_are_a_guess_and_say_so() -> None:
    model = served("someone/New-70B")
    assert not model.known
    assert model.total == 70e9
    sparse = served("someone/New-100B-A10B")
    assert sparse.active == pytest.approx(10e9, rel=0.01)
