"""Identity and words of a question. The strings of `key` are stored and compared."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.errors import InputError
from gpuwise.model.precision import Precision
from gpuwise.model.question import Load, Question, RunConfig, Switches

RESNET = Question(workload="resnet50", mode="train", precision=Precision.BF16)
BERT = Question(
    workload="bert-large", mode="infer", precision=Precision.FP32, compile=True, recipe="script", size="toy"
)


def test_keys_are_these_strings() -> None:
    assert RESNET.key() == "resnet50:train:bf16:eager:stock"
    assert BERT.key() == "bert-large:infer:fp32:compiled:script:toy"
    four = replace(RESNET, framework="jax", input="host", gpus=4, nodes=2, scaling="strong", batch=64)
    assert four.key() == "resnet50:train:bf16:eager:stock:jax:with-input:x4:strong:2nodes:b64"
    assert four.key("gpus", "batch", "framework") == "resnet50:train:bf16:eager:stock:with-input"


def test_labels_say_what_is_not_usual() -> None:
    assert RESNET.label() == "resnet50 train bf16 eager"
    assert BERT.label("workload") == "infer fp32 compiled script toy"
    four = replace(RESNET, gpus=4, nodes=2, batch=64, switches=Switches(graph="on"))
    assert four.label() == "resnet50 train bf16 eager graph=on, batch 64, 4 GPUs on 2 machines"
    assert four.label("batch", "gpus", "switches") == RESNET.label()


def test_stock_and_tuned_are_two_questions_unless_kernels_do_not_count() -> None:
    tuned = replace(RESNET, switches=Switches(pooling="triton"))
    assert tuned.key() == "resnet50:train:bf16:eager:tuned"
    assert tuned.key("kernels") == RESNET.key() == RESNET.key("kernels")
    assert BERT.key("kernels") == BERT.key()
    assert tuned.label("switches") == "resnet50 train bf16 eager tuned"


def test_own_files_of_one_name_are_two_questions() -> None:
    mine, yours = (replace(RESNET, workload="net.py:net", content=digest) for digest in ("a1", "b2"))
    assert mine.key() != yours.key()
    assert mine.key("content") == yours.key("content")


OTHER = {
    "workload": "vit-b16", "content": "f00", "mode": "infer", "precision": Precision.FP8, "compile": True,
    "batch": 7, "recipe": "script", "framework": "jax", "input": "host", "size": "toy",
    "load": Load(prompt="1024", answer="256", concurrency=4),
}  # fmt: skip


@given(st.sampled_from(sorted(OTHER)))
def test_every_part_makes_another_question(part: str) -> None:
    assert replace(RESNET, **{part: OTHER[part]}).key() != RESNET.key()


def test_no_field_of_a_question_is_forgotten_in_its_key() -> None:
    # Switches are how a recipe runs, and nodes and scaling count where there are several GPUs.
    assert {f.name for f in fields(Question)} - set(OTHER) == {"switches", "gpus", "nodes", "scaling"}
    four = replace(RESNET, gpus=4)
    assert (
        len({q.key() for q in (RESNET, four, replace(four, nodes=2), replace(four, scaling="strong"))}) == 4
    )


def test_how_a_run_is_timed_is_no_part_of_the_question() -> None:
    run = RunConfig(workload="resnet50", mode="train", precision="bf16")
    assert replace(run, time_s=5.0, target_ci=0.05, quick=True, protocol="aime").key() == run.key()


def test_a_precision_that_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(InputError):
        Question(workload="resnet50", mode="train", precision="fp4")
    assert Question(workload="resnet50", mode="train", precision=None).key() == "resnet50:train:?:eager:stock"
