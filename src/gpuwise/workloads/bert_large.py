"""BERT-large cased with a question-answering head at 384 tokens: bound by matrix products.

Cost of one sequence: see `bert`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.model.precision import NETWORK_PRECISIONS, Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.bert import SWITCHES, BertShape, answering_cost, answering_flop, answering_job
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

LAYERS, HIDDEN, TOKENS = 24, 1024, 384
SHAPE = BertShape(layers=LAYERS, hidden=HIDDEN, heads=16)
PARAMETERS = 332_535_810
"""Without a pooler, vocabulary padded to 29,000 (both recipes pad it, as the public script does)."""


def forward_flop() -> float:
    """Operations of one forward pass of one sequence (2.46e11)."""
    return answering_flop(SHAPE, TOKENS)


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one sequence in a step of `batch` sequences."""
    return answering_cost(SHAPE, TOKENS, mode, precision, batch)


@workload(
    WorkloadSpec(
        id="bert-large",
        version=1,
        title="BERT-large cased, question answering, 384 tokens",
        task="question answering",
        item="sequence",
        modes=("train", "infer"),
        parameters=PARAMETERS,
        default_batch=64,
        cpu_batch=1,
        cost=cost,
        switches=SWITCHES,
        precisions=(*NETWORK_PRECISIONS, Precision.FP8),
        script=True,
    )
)
def bert_large(config: RunConfig, batch: int) -> Job:
    """AdamW on one fixed random batch, dropout 0.1 throughout, no padding.

    Stock has fused attention and a fused optimiser. Script has the public script's unfused
    attention with an additive mask, its pooler and its tensor-by-tensor optimiser.
    """
    return answering_job(SHAPE, TOKENS, config, batch)
