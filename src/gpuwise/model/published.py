"""A speed that somebody else published: what was measured, with what, and where it stands.

Never a Measurement: there are no step times to check, so it is shown beside ours and not mixed
with them.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpuwise.model.gpu import Source
from gpuwise.model.issue import Issue


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedResult:
    """One published throughput, over all its GPUs together."""

    gpu: str
    """The GPU as the publisher names it."""
    gpu_id: str | None = None
    """Catalog entry; None where the name leaves the variant open or the catalog lacks it."""
    n_gpus: int = 1
    workload: str
    """Our id where the work is the same ("resnet50", "bert-large"), else a slug of the publisher's."""
    mode: str
    """train or infer."""
    precision: str
    """As it really ran, where that is known: fp32, tf32, fp16, bf16, fp8, int8; `tf32?` where a
    figure called fp32 needs more than the FP32 peak; `?` where nothing tells."""
    precision_stated: str = ""
    """As the publisher calls it."""
    compiled: bool | None = None
    framework: str = ""
    software: str = ""
    """Versions: framework, CUDA, container, driver."""
    batch_per_gpu: int | None = None
    throughput: float
    """Items per second, all GPUs together."""
    item: str
    """image, sequence, token, ..."""
    date: str = ""
    """ISO date of the measurement or publication, as exact as known: 2020-10-31, 2021-06, 2023."""
    source: Source
    locator: str = ""
    """Page, table, line or file in the source."""
    note: str = ""
    cautions: tuple[Issue, ...] = ()
