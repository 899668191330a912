"""The scaling table, its curve and its verdicts."""

from __future__ import annotations

from dataclasses import replace

from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Group, Interval, Issue, Link, Measurement, Rank, Result, Telemetry, Window
from gpuwise.show.scaling import scaling
from gpuwise.stats.interval import throughput

ONE = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)
LINKS = (Link(a=0, b=1, path="NV18", peer=True),)


def measured(step_s: float, gpus: int = 1, alone_s: float = 0.1, each: tuple[float, ...] = ()) -> Measurement:
    windows = tuple(Window(step_s=(step_s,) * 4, started_s=n, ended_s=n + 1) for n in range(3))
    ranks = tuple(Rank(rank=r, device="H200", alone_s=s) for r, s in enumerate(each or (alone_s,) * gpus))
    group = Group(backend="nccl", parallel="ddp", bucket_bytes=25 * 2**20, ranks=ranks, links=LINKS)
    return Measurement(
        config=replace(ONE, gpus=gpus),
        workload_version=1,
        status="ok",
        item="image",
        started_at="",
        batch=256,
        items_per_step=256 * gpus,
        throughput=throughput([w.step_s for w in windows], 256 * gpus),
        windows=windows,
        telemetry=Telemetry(samples=9, power_w=650.0 * gpus),
        group=group if gpus > 1 else None,
    )


def limit(workload: str, gpus: int, value: float) -> Measurement:
    config = RunConfig(workload=workload, mode="limit", precision="fp32", gpus=gpus)
    speed = Interval(value=value, low=value, high=value, method="bootstrap")
    blank = replace(measured(1.0), config=config, throughput=speed, item="byte", windows=(), batch=1024)
    return replace(blank, items_per_step=None)


def result(*measurements: Measurement) -> Result:
    found = Environment(device="NVIDIA H200")
    return Result(id="r", created_at="2026-11-21", command="", environment=found, measurements=measurements)


def test_factors_curve_losses_and_watts_stand_in_one_table() -> None:
    table = scaling(result(measured(0.1), measured(0.102, 2), measured(0.125, 4, 0.101)))
    assert table is not None
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["GPUs"] for row in rows] == ["1", "2", "4"]
    assert rows[1]["scale factor (95 %)"] == "0.980"
    assert rows[2]["power"] == "2,600 W"
    assert rows[2]["how"] == "ddp, nccl, buckets of 25 MiB"
    assert (rows[2]["shared"], rows[2]["exchange"]) == ("1.0 %", "19.2 %")
    assert rows[0]["of perfect"].count("█") > rows[2]["of perfect"].count("█")


def test_the_question_how_many_are_worth_it_is_answered() -> None:
    table = scaling(result(measured(0.1), measured(0.102, 2), measured(0.18, 4)))
    assert table is not None
    text = "\n".join(table.notes)
    assert "2.22 times one GPU on 4: 2 GPUs are worth it, more are not" in text
    assert "most is lost to the exchange over the links, at 4 GPUs" in text
    fine = scaling(result(measured(0.1), measured(0.1005, 2)))
    assert fine is not None
    assert "all 2 are worth it" in fine.notes[0]
    assert "most is lost" not in "\n".join(fine.notes)


def test_cards_that_differ_by_themselves_are_told_from_the_exchange() -> None:
    table = scaling(result(measured(0.1), measured(0.11, 4, each=(0.1, 0.103, 0.105, 0.103))))
    assert table is not None
    text = "\n".join(table.notes)
    assert (
        "the GPUs differ by 4.8 % by themselves; waiting for the slowest, rank 2 (H200), costs 4.8 %" in text
    )
    assert "the exchange 4.5 %" in text
    assert (
        "the one GPU is 3.0 % faster than the middle one, against which the scale factor would be 0.936"
        in text
    )
    equal = scaling(result(measured(0.1), measured(0.11, 2)))
    assert equal is not None
    assert "by themselves" not in "\n".join(equal.notes)


def test_nothing_follows_from_more_than_perfect() -> None:
    caution = Issue(code="scaling", severity="warning", detail="2 GPUs are 2.4 times as fast as one", fix="")
    (note,) = verdicts(replace(measured(0.083, 2, alone_s=0.08), cautions=(caution,)))
    assert note == (
        "resnet50 train bf16 compiled, weak scaling: more than perfect, so nothing follows: "
        "measure one GPU again in the same session"
    )


def verdicts(several: Measurement) -> list[str]:
    table = scaling(result(measured(0.1), several))
    assert table is not None
    return [note for note in table.notes if "weak scaling" in note]


def test_links_stand_beside_it() -> None:
    links = limit("peer", 1, 3.9e11), limit("all-reduce", 4, 3.6e11)
    table = scaling(result(*links, measured(0.1), measured(0.102, 2)))
    assert table is not None
    text = "\n".join(table.notes)
    assert "link between two GPUs, one way: 390 GB/s" in text
    assert "all-reduce over 4 GPUs, 1024 MiB, bus bandwidth: 360 GB/s" in text
    assert "every pair of GPUs: NV18, P2P on" in text


def test_one_gpu_alone_has_no_scaling() -> None:
    assert scaling(result(measured(0.1))) is None
    assert scaling(result(measured(0.1, 2))) is None
