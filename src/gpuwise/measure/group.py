"""The ranks of one measurement: who they are, and whether they are equals. Pure.

Ranks that work in step go at the pace of the slowest one, so a weaker model, a lower power limit or a
card that is slow for a reason of its own costs all of them its time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from gpuwise.measure import events
from gpuwise.measure.telemetry import DeviceInfo
from gpuwise.model.issue import Issue
from gpuwise.model.result import Group, Link, Rank, Telemetry
from gpuwise.model.units import percent

SLOW = 1.05
"""Equal cards differ by some per cent; a rank that needs more than this over the middle one is slow."""
POWER = 1.01


def group_of(
    ranked: events.Ranked, telemetry: Sequence[Telemetry | None] = (), links: tuple[Link, ...] = ()
) -> Group:
    """The group that the ranks reported; `telemetry` is that of this machine's GPUs, in their order."""
    own = iter(telemetry)
    ranks = tuple(
        Rank(
            rank=rank,
            node=node,
            device=device,
            alone_s=ranked.alone_s[rank] if ranked.alone_s else None,
            telemetry=next(own, None) if node == ranked.node else None,
        )
        for rank, (node, device) in enumerate(zip(ranked.nodes, ranked.devices, strict=True))
    )
    return Group(
        backend=ranked.backend,
        parallel=ranked.parallel,
        bucket_bytes=ranked.bucket_bytes,
        node=ranked.node,
        ranks=ranks,
        links=links,
    )


def unequal(group: Group) -> Iterator[Issue]:
    """Cautions where the ranks are no equals."""
    models = {rank.device for rank in group.ranks}
    if len(models) > 1:
        listed = "; ".join(f"rank {rank.rank}: {rank.device}" for rank in group.ranks)
        yield _mixed(f"different models work in step: {listed}", "measure equal cards: gpuwise bench --gpu N")
    yield from slow(group)


def uneven_power(infos: Sequence[DeviceInfo]) -> Iterator[Issue]:
    """The caution for GPUs of one measurement that may draw unequal power."""
    limits = [info.power_limit_w for info in infos if info.power_limit_w]
    if limits and max(limits) > POWER * min(limits):
        listed = "; ".join(f"GPU {i.index}: {i.power_limit_w:.0f} W" for i in infos if i.power_limit_w)
        yield _mixed(f"different power limits: {listed}", "nvidia-smi -q -d POWER shows who set them")


def slow(group: Group) -> Iterator[Issue]:
    """Cautions for the ranks for which all others wait."""
    alone = [rank.alone_s for rank in group.ranks if rank.alone_s is not None]
    middle = median(sorted(alone)[:-1]) if len(alone) > 1 else float("inf")
    for rank in group.ranks:
        if rank.alone_s is not None and rank.alone_s > SLOW * middle:
            yield Issue(
                code="slow-rank",
                severity="warning",
                detail=f"rank {rank.rank} ({rank.device}, machine {rank.node}) needs "
                f"{percent(rank.alone_s / middle - 1)} longer for a step than the middle one of the others, "
                "and all wait for it",
                fix="compare its clocks, heat and PCIe link with the others': nvidia-smi -q",
            )


def named(cautions: Sequence[Issue], rank: int) -> tuple[Issue, ...]:
    """Cautions of one GPU as they stand among those of several."""
    return tuple(replace(caution, detail=f"GPU {rank}: {caution.detail}") for caution in cautions)


def _mixed(detail: str, next_step: str) -> Issue:
    return Issue(code="mixed", severity="warning", detail=detail, fix=next_step)
