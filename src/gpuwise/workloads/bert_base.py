"""BERT-base cased with a question-answering head at 384 tokens: half the depth of BERT-large.

Cost of one sequence: see `bert`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost, Mode, WorkloadSpec
from gpuwise.workloads.bert import SWITCHES, BertShape, answering_cost, answering_flop, answering_job
from gpuwise.workloads.workload import workload

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

TOKENS = 384
SHAPE = BertShape(layers=12, hidden=768, heads=12)
PARAMETERS = 107_724_290
"""Without a pooler, vocabulary padded to 29,000 as that of BERT-large."""


def forward_flop() -> float:
    """Operations of one forward pass of one sequence (7.07e10)."""
    return answering_flop(SHAPE, TOKENS)


def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one sequence in a step of `batch` sequences."""
    return answering_cost(SHAPE, TOKENS, mode, precision, batch)


@workload(
    WorkloadSpec(
        id="bert-base",
        version=1,
        title="BERT-base cased, question answering, 384 tokens",
        task="question answering",
        item="sequence",
        modes=("train", "infer"),
        parameters=PARAMETERS,
        default_batch=128,
        cpu_batch=2,
        cost=cost,
        switches=SWITCHES,
    )
)
def bert_base(config: RunConfig, batch: int) -> Job:
    """AdamW on one fixed random batch, dropout 0.1 throughout, no padding, fused attention."""
    return answering_job(SHAPE, TOKENS, config, batch)
