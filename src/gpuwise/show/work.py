"""The kinds of work that an article or a card's page speaks of, and the forecasts that it asks for.

One example stands for each kind; all are workloads that `gpuwise bench` measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpuwise.model.precision import Precision
from gpuwise.model.record import Record
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of work with the workload that stands for it."""

    title: str
    workload: str
    mode: Mode
    precision: Precision = Precision.FP16

    @property
    def config(self) -> RunConfig:
        """What to forecast or to measure; compiled, as the faster way."""
        compiles = self.mode != "compute"
        return RunConfig(workload=self.workload, mode=self.mode, precision=self.precision, compile=compiles)


BF16 = Precision.BF16
KINDS = (
    Kind(title="training a convolutional network", workload="resnet50", mode="train"),
    Kind(title="training an encoder", workload="bert-large", mode="train"),
    Kind(title="training a vision transformer", workload="vit-b16", mode="train"),
    Kind(title="training a 124M language model", workload="llm-124m", mode="train", precision=BF16),
    Kind(title="training a 1.2B language model", workload="llm-1b", mode="train", precision=BF16),
    Kind(title="fine-tuning a 1.2B model with LoRA", workload="llm-1b-lora", mode="train", precision=BF16),
    Kind(title="fine-tuning an 8B model with LoRA", workload="llm-8b-lora", mode="train", precision=BF16),
    Kind(title="serving an 8B model: prompts", workload="llm-8b-prefill", mode="infer", precision=BF16),
    Kind(title="serving an 8B model: answers", workload="llm-8b-decode", mode="infer", precision=BF16),
    Kind(title="serving a 1.2B model: answers", workload="llm-1b-decode", mode="infer", precision=BF16),
    Kind(title="classifying images", workload="resnet50", mode="infer"),
    Kind(title="generating images", workload="unet-sd15", mode="infer"),
    Kind(title="scientific stencils", workload="stencil", mode="compute", precision=Precision.FP32),
)  # fmt: skip


DEEP = tuple(kind for kind in KINDS if kind.mode != "compute")
"""Those whose items people pay for; cells of a stencil are not counted by the million."""


SCALED = tuple(k for k in KINDS if k.mode == "train" and k.workload in ("resnet50", "bert-large", "llm-1b"))
"""Those whose throughput on several GPUs a card's page shows."""
COUNTS = (1, 2, 4, 8)


def of_kind(kind: Kind, gpu_id: str, found: Sequence[Record], count: int = 1) -> Record | None:
    """The forecast of this kind of work for `count` GPUs of that id."""
    return next(
        (
            p
            for p in found
            if p.gpu_id == gpu_id
            and p.gpus == count
            and (p.question.workload, p.question.mode, p.question.precision)
            == (kind.workload, kind.mode, kind.precision)
        ),
        None,
    )
