"""Codes of the cautions of rows that are so fast, in tables of so many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import groupby, product
from typing import Any

import pytest

from gpuwise import checks
from gpuwise.facts import catalog
from gpuwise.facts.published import record
from gpuwise.model.gpu import Source
from gpuwise.model.question import Environment
from gpuwise.model.result import Interval, Issue, Record, Window

from ..pinned import pinned
from ..stats.test_compare import CONFIG, measured

SOURCE = Source(id="test", title="test", kind="article", read_on="2026-01-01")
SHARES = (0.3, 0.8, 0.84, 0.86, 0.99, 1.01, 1.03, 1.5, 1.95, 2.1, 3.0, 7.0)
NETWORKS = ("resnet50", "vgg16", "bert-large", "inception-v3", "mobilenet-v2", "unknown")
GPUS = ("t4", "a100-sxm4-80gb", "rtx-4090", "p100-pcie-16gb", "mi300x", "no-such")


def row(**changes: Any) -> Record:
    usual: dict[str, Any] = {"gpu": "T4", "gpu_id": "t4", "workload": "resnet50", "mode": "train"}
    usual |= {"precision": "fp16", "speed": 400.123, "item": "image", "source": SOURCE}
    return record(**(usual | changes))


def line(*cells: object) -> str:
    return " | ".join(map(str, cells))


def codes(rows: list[Record]) -> str:
    return " ".join(
        "+".join(f"{c.code}.{c.severity[:3]}" for c in each) or "-" for each in checks.judge(rows)
    )


def turns(answers: list[tuple[float, str]]) -> str:
    """Each answer with the first place where it is given."""
    return ", ".join(f"{next(run)[0]:g} {answer}" for answer, run in groupby(answers, key=lambda one: one[1]))


def peaks() -> Iterator[str]:
    """Speeds that need so much of the highest peak in FP16 or FP32."""
    formats = ("fp16", "fp32", "int8", "fp8", "?")
    for gpu, name, precision, mode in product(GPUS, NETWORKS, formats, ("train", "infer")):
        network, spec = checks.find_network(name), catalog.get(gpu if gpu != "no-such" else "t4")
        peak = spec.peak("fp32" if precision == "fp32" else "fp16") or spec.peak("fp32")
        assert peak is not None
        each = peak.flop_per_s / (network.flop(mode) if network else 1e10)
        told = []
        for share in SHARES:
            one = row(
                gpu=gpu, gpu_id=gpu, workload=name, mode=mode, precision=precision, gpus=2,
                item=network.item if network else "image", speed=2 * share * each,
            )  # fmt: skip
            told.append((share, codes([one])))
        yield line(gpu, name, precision, mode, turns(told))


def logic() -> Iterator[str]:
    """Tables of two to five rows: scaling, halves, figures that are repeated, networks in the wrong order."""
    for share in (0.5, 0.9, 0.99985, 1.0, 1.00015, 1.0195, 1.021, 1.3):
        speeds = {n: 400.1 * n * (share if n > 1 else 1) for n in (1, 2, 4, 8)}
        yield line("scaling", share, codes([row(gpus=n, speed=speeds[n]) for n in speeds]))
        yield line("two", share, codes([row(gpus=n, speed=speeds[n]) for n in (1, 2)]))
        halves = [
            row(gpus=n, precision=p, speed=400.1 * n**0.9 * (share / 2 if p == "fp32" else 1))
            for n, p in product((1, 2, 4), ("fp16", "fp32"))
        ]
        yield line("halves", share, codes(halves), codes(halves[:4]))
    for figure in (400.0, 411.0, 411.3, 411.37, 1234567.0, 1200000.0, 0.5123):
        same = [("resnet50", "fp16"), ("resnet101", "fp16"), ("resnet101", "fp32")]
        rows = [row(speed=figure, workload=name, precision=precision) for name, precision in same]
        yield line("repeated", figure, codes(rows))
    heavier = ("resnet101", "resnet152", "vgg16", "mobilenet-v2")
    for heavy, share, batch in product(heavier, (0.4, 0.9, 0.99, 1.01), (None, 1, 8, 15, 16, 64)):
        rows = [row(speed=400.1 * share, batch=batch), row(workload=heavy, speed=400.1, batch=batch)]
        yield line("order", heavy, share, batch, codes(rows))


TOKENS = (20.0, 55.0, 63.0, 66.0, 120.0, 190.0, 210.0, 220.0, 260.0, 280.0, 400.0, 800.0, 900.0, 2000.0)


def decoding() -> Iterator[str]:
    """Tokens a second of each sequence, which read so much of the memory's bandwidth."""
    cards = ("rtx-4090", "h100-sxm5-80gb")
    for gpu, batch, precision, gpus in product(cards, (1, 16), ("bf16", "int4"), (1, 4)):
        told = []
        for speed in TOKENS:
            one = row(
                gpu=gpu, gpu_id=gpu, workload="llama-3.1-8b-decode", mode="infer", precision=precision,
                item="token", batch=batch, gpus=gpus, speed=speed * batch,
            )  # fmt: skip
            told.append((speed, codes([one])))
        yield line(gpu, batch, precision, gpus, turns(told))


NAMES = (
    "ResNet-50 v1.5, batch 256", "resnet 152", "VGG 16", "BERT Large", "Inception v3", "SSD with ResNet-50",
    "U-Net", "googlenet", "ResNet50 and VGG16", "nothing", "vit b16", "MobileNetV2", "Mask R-CNN",
)  # fmt: skip


def networks() -> Iterator[str]:
    """What a text names, and its operations."""
    for text in NAMES:
        one = checks.network_in(text)
        figures = (one.id, one.item, one.forward_flop, one.flop("train"), round(one.least, 4)) if one else ()
        yield line(text, *figures)


def measurements() -> Iterator[str]:
    """Windows whose steps add up to so much of what the host's clock says, and shares of peaks and limits."""
    for host_s, share, each in product(
        (0.1, 0.19, 0.2, 0.21, 1.0), (0.9, 0.949, 0.951, 1.0, 1.049, 1.051, 1.1), (1, 5)
    ):
        window = Window(
            step_s=(share * host_s / 10 / each,) * 10, started_s=3.0, ended_s=3.0 + host_s, each=each
        )
        yield line("clock", host_s, share, each, said(checks.clock_faults(measured(windows=(window,)))))
    for share in (0.9, 1.0, 1.019, 1.021, 1.5):
        yield line("mfu", share, said(checks.peak_faults(measured(mfu=share), None)))
        yield line(
            "limit", share, said(checks.peak_faults(measured(limit_share=share, limit="compute"), None))
        )
        copy = measured(item="byte", bytes_per_item=2.0, config=replace(CONFIG, mode="limit"))
        assert copy.throughput is not None
        h200 = catalog.get("h200-sxm")
        moved = replace(copy, bytes_per_item=share * (h200.memory_bytes_per_s or 0.0) / copy.throughput.value)
        yield line("copy", share, *(said(checks.peak_faults(moved, spec)) for spec in (h200, None)))
    for gpu, share in product(("h100-sxm5-80gb", "rtx-4090", None), (0.1, 0.84, 0.86, 1.1)):
        peak = catalog.get(gpu or "t4").peak("fp16")
        network = checks.find_network("resnet50")
        assert peak is not None
        assert network is not None
        speed = share * peak.flop_per_s / network.flop("train")
        near = Interval(value=speed, low=speed * 0.99, high=speed * 1.01, method="test")
        place = Environment(device="a GPU", gpu_id=gpu)
        pair = [
            measured(throughput=near, flop_per_item=1e10),
            measured(throughput=near.times(2.2), config=replace(CONFIG, gpus=2)),
        ]
        for judge in (checks.judge_measured, checks.judge_foreign):
            yield line(gpu, share, *(f"{said(m.cautions)} {m.mfu}" for m in judge(pair, place)))


def said(issues: Iterable[Issue]) -> str:
    return "+".join(f"{one.code}.{one.severity[:3]}" for one in issues) or "-"


def tables() -> dict[str, Callable[[], list[str]]]:
    return {
        "peaks": lambda: [*peaks()], "logic": lambda: [*logic()], "decoding": lambda: [*decoding()],
        "networks": lambda: [*networks()],
        "measurements": lambda: [*measurements()],
    }  # fmt: skip


@pytest.mark.parametrize("name", tables())
def test_what_is_doubted_is_what_was_doubted(name: str) -> None:
    assert tables()[name]() == pinned(__file__, name)
