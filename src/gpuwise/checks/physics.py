"""No speed above the hardware's arithmetic: what a throughput would need against what there is.

needed = items per second and GPU * operations per item, held against the dense peak of the claimed
precision. A figure called fp32 that only TF32 can reach was TF32: cuDNN allows it by default. Tokens that are
decoded are held against the bandwidth, for every step reads the weights.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuwise.checks import networks
from gpuwise.errors import InputError
from gpuwise.facts import catalog, llms
from gpuwise.facts.catalog.mention import mentions
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.issue import Issue
from gpuwise.model.record import Record
from gpuwise.model.units import percent, si

# Share of a peak above which a number is wrong, not lucky: boost clocks exceed the clock of the data sheet
# by no more.
ABOVE = 1.02
# Share of a dense peak that no whole network reaches: the best matrix products alone come to 0.8 to 0.9 of it
# on most GPUs.
UNHEARD = 0.85


def judge(row: Record) -> Iterator[Issue]:
    """Issues of one published throughput against its GPU's peaks, and of decoding against its memory."""
    yield from _decoding(row)
    network = networks.find(row.question.workload)
    if network is None or network.item != row.item:
        return
    try:
        spec = catalog.get(row.gpu_id)
    except InputError:
        # Published rows may be of GPUs outside the catalog.
        return
    # A format that is not in our table may still have a peak.
    precision = row.question.precision or (row.stated.precision if row.stated else "")
    needed = row.value / row.gpus * network.flop(row.question.mode)
    # Winograd's convolutions may save some of the operations in fp32.
    if precision == "fp32":
        needed *= network.least
    name, peak = _ceiling(spec, precision)
    share = needed / peak if peak else 0.0
    if share <= UNHEARD:
        return
    tf32 = spec.peak("tf32")
    if precision == "fp32" and tf32 is not None and needed <= tf32.flop_per_s:
        detail = f"{percent(share, 0)} of the fp32 peak ({si(peak, 'FLOP/s')}): it ran as tf32"
        fix = "compare it with tf32, not with fp32"
        yield Issue(code="precision", severity="warning", detail=detail, fix=fix)
        return
    of_peak = f"{percent(share, 0)} of the dense {name} peak"
    word = "INVALID" if share > ABOVE else "SUSPECT"
    yield Issue(
        code="above-peak",
        severity="invalid",
        detail=f"{word}: needs {si(needed, 'FLOP/s')} per GPU, {of_peak}",
        fix="check the precision, the batch and the count of GPUs of the source",
    )


def _decoding(row: Record) -> Iterator[Issue]:
    """Every step of decoding reads the weights that its batch touches, once on all GPUs together."""
    asked = row.question
    name, _, phase = asked.workload.rpartition("-")
    if phase != "decode" or row.item != "token" or asked.batch is None or asked.precision is None:
        return
    try:
        model = llms.find(name)
    except InputError:
        return
    try:
        stated = [catalog.get(row.gpu_id)]
    except InputError:
        # A name that several variants share is held to the fastest of them.
        stated = [catalog.get(each) for found in mentions(row.gpu) for each in found.gpu_ids]
    limits = [spec.memory_bytes_per_s for spec in stated if spec.memory_bytes_per_s]
    if not limits:
        return
    # The batch is that of one GPU, the speed that of all.
    batch = asked.batch * row.gpus
    share = model.read(batch) / model.parameters
    needed = row.value / batch * llms.weight_bytes(model, asked.precision) * share / row.gpus
    if needed > ABOVE * max(limits):
        detail = (
            f"INVALID: needs {si(needed, 'B/s')} of weights per GPU, its memory has {si(max(limits), 'B/s')}"
        )
        yield Issue(
            code="above-peak",
            severity="invalid",
            detail=detail,
            fix="check the format of the weights, the batch and whether tokens of the prompt were counted",
        )


def _ceiling(spec: GpuSpec, precision: str) -> tuple[str, float]:
    """(name, FLOP/s) of the peak that bounds this precision, 0 where none is stated; of an unknown one the
    highest dense peak of 16 bits or more, as nothing faster trains these networks."""
    if precision == "int8":
        rates = [peak.flop_per_s for peak in spec.peaks if peak.format == "int8" and not peak.sparse]
        return precision, max(rates, default=0.0)
    candidates = (precision,) if spec.peak(precision) is not None else ("bf16", "fp16", "tf32", "fp32")
    if precision in ("fp32", "fp64", "tf32") and spec.peak(precision) is None:
        candidates = ("fp32",)
    stated = [(name, peak.flop_per_s) for name in candidates if (peak := spec.peak(name)) is not None]
    return max(stated, key=lambda pair: pair[1], default=(precision, 0.0))
