"""Switches as words: what is stored, typed and listed."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from gpuwise.errors import InputError
from gpuwise.model.precision import Precision
from gpuwise.model.question import (
    OWN_KERNELS,
    OWN_LAYERS,
    USUAL,
    Mode,
    Recipe,
    RunConfig,
    Switches,
    choices,
    modern,
    parse,
    without_own_kernels,
)


def test_the_first_word_of_every_switch_is_its_default() -> None:
    """Results that say nothing of a switch ran with it: a default never changes."""
    assert {f.name: f.default for f in fields(Switches)} == {
        name: words[0] for name, words in choices().items()
    }
    assert Switches() == Switches(
        layout="channels-last",
        pooling="torch",
        norms="torch",
        compiler="default",
        graph="off",
        master_weights="off",
        residual_dtype="fp32",
        attention="auto",
        overlap_grads="on",
        bucket="usual",
    )


def test_only_what_is_changed_is_said() -> None:
    assert str(Switches()) == "as usual"
    switches = Switches(pooling="triton", layout="channels-first")
    assert switches.changed == (("layout", "channels-first"), ("pooling", "triton"))
    assert str(switches) == "layout=channels-first pooling=triton"


def test_what_is_said_can_be_read_again() -> None:
    for name, words in choices().items():
        for word in words:
            switches = Switches(**{name: word})  # type: ignore[arg-type]
            assert parse(f"{n}={w}" for n, w in switches.changed) == switches


def test_what_is_not_said_stays_as_it_is_in_the_base() -> None:
    base = Switches(pooling="triton", overlap_grads="off")
    assert parse(["exchange=overlapped", "bucket=8"], base=base) == Switches(pooling="triton", bucket="8")


@pytest.mark.parametrize("word", ["pooling", "pooling=", "pooling=round", "colour=red", "=torch", ""])
def test_an_unknown_word_is_refused_with_the_known_ones(word: str) -> None:
    with pytest.raises(InputError) as refused:
        parse([word])
    assert "pooling=torch|triton" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("switches", "mode", "precision", "recipe"),
    [
        ((), "train", "bf16", "stock"),
        (
            ("layout=channels-first", "compiler=autotune", "graph=on", "weights=half"),
            "train",
            "fp16",
            "stock",
        ),
        (("stream=half", "attention=cudnn", "exchange=after"), "train", "bf16", "stock"),
        (("pooling=triton",), "infer", "fp16", "tuned"),
        (("attention=triton",), "infer", "bf16", "tuned"),
        (("stream=triton",), "train", "bf16", "tuned"),
        (("stream=triton",), "infer", "bf16", "stock"),  # only training heeds it
        ((), "train", "fp8", "tuned"),
        ((), "infer", "fp8", "stock"),
        ((), "infer", "int8", "tuned"),
        (("weights=half", "region=block", "exchange=overlapped"), "train", "bf16", "stock"),
        ((), "limit", "fp8", "stock"),
    ],
)
def test_a_question_is_tuned_where_own_kernels_run(
    switches: tuple[str, ...], mode: Mode, precision: str, recipe: Recipe
) -> None:
    for asked in ("stock", "tuned"):
        ran = RunConfig(
            workload="any", mode=mode, precision=Precision(precision), switches=parse(switches), recipe=asked
        )
        assert ran.recipe == recipe
        assert replace(ran, device="cpu").recipe == "stock"
        assert replace(ran, switches=without_own_kernels(ran.switches)).recipe == (
            "tuned" if (mode, precision) in OWN_LAYERS else "stock"
        )
    assert replace(ran, recipe="script").recipe == "script"


def test_every_word_for_own_kernels_is_a_choice_and_no_default() -> None:
    for name, words in OWN_KERNELS.items():
        assert set(words) < set(choices()[name])
        assert getattr(USUAL, name) not in words
        assert ("triton" in choices()[name]) == ("triton" in words)


def test_int8_products_of_a_whole_prompt_are_torchs() -> None:
    asked = RunConfig(workload="llm-8b-decode", mode="infer", precision=Precision.INT8)
    assert asked.recipe == "tuned"
    assert replace(asked, workload="llm-8b-prefill").recipe == "stock"


def test_switches_of_older_files_have_the_words_of_today() -> None:
    old = {"stream": "triton", "weights": "half", "exchange": "after", "region": "block", "graph": "on"}
    today = Switches(
        residual_dtype="triton", master_weights="on", overlap_grads="off", compile_scope="block", graph="on"
    )
    assert Switches(**modern(old)) == today == Switches(**modern(modern(old)))
