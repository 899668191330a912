"""The report of results: every section says what the results say, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.facts import published
from gpuwise.facts.published import record
from gpuwise.model.gpu import Offer, Source
from gpuwise.model.question import Environment, RunConfig, Switches
from gpuwise.model.result import (
    BatchTrial,
    Interval,
    Issue,
    KernelTime,
    Measurement,
    Profile,
    Result,
    Telemetry,
    Window,
    records_of,
)
from gpuwise.show.charts import Bands, Mark, Part, Rows
from gpuwise.show.html import html
from gpuwise.show.page import Figure, Page, Section, markdown_page
from gpuwise.show.report import ReportInput, report
from gpuwise.store import codec

from ...records import predicted

TODAY = date(2026, 11, 21)
H200 = Path(__file__).parents[3] / "results" / "h200"
PLACE = Environment(
    device="NVIDIA H200",
    gpu_id="h200-sxm",
    torch="2.11.0",
    power_limit_w=600.0,
    power_limit_default_w=700.0,
    other_processes=2,
    ecc=True,
)
A_SITE = Source(id="site", title="A site", kind="third-party", read_on="2026-01-01")


def measured(precision: str = "bf16", speed: float = 100.0, **changes: object) -> Measurement:
    """ResNet-50 training at this speed, one second of it."""
    config = RunConfig(workload="resnet50", mode="train", precision=precision)  # type: ignore[arg-type]
    base = Measurement(
        config=config,
        workload_version=1,
        status="ok",
        item="image",
        started_at="2026-11-21T04:40:15Z",
        batch=64,
        items_per_step=64,
        flop_per_item=2e10,
        bytes_per_item=3e8,
        throughput=Interval(value=speed, low=speed * 0.99, high=speed * 1.01, method="bootstrap"),
        windows=(Window(step_s=(1.0,), started_s=10.0, ended_s=11.0),),
        telemetry=Telemetry(
            samples=10, power_w=500.0, throttled=(("power-cap", 0.5),), temperature_max_c=60.0
        ),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def limit(workload: str, speed: float, item: str) -> Measurement:
    config = RunConfig(workload=workload, mode="limit", precision="bf16")
    value = Interval(value=speed, low=speed, high=speed, method="bootstrap")
    return measured(config=config, throughput=value, item=item, mfu=None, telemetry=None)


def of(*measurements: Measurement, **known: object) -> Page:
    result = store_result(*measurements)
    return report(ReportInput(results=(result,), today=TODAY, **known))  # type: ignore[arg-type]


def store_result(*measurements: Measurement) -> Result:
    return Result(
        id="20261121-x",
        created_at="2026-11-21T04:40:12Z",
        command="gpuwise bench resnet50",
        environment=PLACE,
        measurements=measurements,
    )


def section(page: Page, name: str) -> Section:
    return next(one for one in page.sections if one.id == name)


def marks(figure: Figure) -> tuple[Mark, ...]:
    """The bars or ratios of a figure."""
    (chart,) = figure.charts
    assert isinstance(chart, Rows)
    return chart.marks


def parts(figure: Figure) -> tuple[Part, ...]:
    """The parts of a figure's first rows."""
    chart = figure.charts[0]
    assert isinstance(chart, Bands)
    return chart.parts


def names(page: Page) -> list[str]:
    return [one.id for one in page.sections]


def test_a_lone_measurement_has_the_sections_that_it_can_fill() -> None:
    assert names(of(measured())) == ["throughput", "energy", "timeline", "cautions", "reproduce", "machine"]


def test_the_summary_says_how_many_gpus_were_the_fastest() -> None:
    one = measured()
    both = replace(one, config=replace(one.config, gpus=2))
    assert "2 GPUs" in of(both).headlines[0].means
    assert "GPUs" not in of(both, one).headlines[0].means


def test_the_summary_has_at_most_five_lines_and_its_figures() -> None:
    page = of(measured(), measured("fp32", 50.0), limit("matmul", 8e14, "FLOP"))
    assert len(page.summary) <= 5
    text = "\n".join(page.summary)
    assert "3 measurements of 1 workload" in page.subtitle
    (head,) = page.headlines
    assert (head.what, head.value, head.interval[:15]) == (
        "resnet50 train",
        "100.0 images/s",
        "99.00 to 101.0,",
    )
    assert "matmul bf16 800 TFLOP/s" in text


def test_health_says_what_makes_figures_doubtful() -> None:
    text = "\n".join(section(of(measured()), "machine").points)
    assert "600 W, not the card's own 700 W" in text
    assert "2 processs" not in text
    assert "Clocks were held down (power-cap) in 1 of 1" in text
    assert "60 °C" in text


def test_what_did_not_end_is_named() -> None:
    page = of(measured(), measured("fp32", status="oom", throughput=None, windows=(), error="out of memory"))
    table = section(page, "throughput").tables[-1]
    assert table.rows == (("resnet50 train fp32 eager", "oom", "out of memory"),)


def test_what_was_interrupted_for_no_stated_reason_has_no_column_for_one() -> None:
    page = of(measured(), measured("fp32", status="interrupted", throughput=None, windows=()))
    assert section(page, "throughput").tables[-1].columns == ("measurement", "status")


def test_gains_are_of_pairs_that_differ_in_one_thing() -> None:
    compiled = replace(measured().config, compile=True)
    page = of(
        measured(),
        measured(config=compiled, throughput=measured(speed=150.0).throughput),
        measured("fp32", 25.0),
    )
    first, second = section(page, "speed-ups").figures
    assert [row[-1][:5] for row in first.table.rows] == ["1.500"]
    assert [row[-1][:5] for row in second.table.rows] == ["4.000"]
    other_batch = replace(measured("fp32", 25.0), batch=32)
    assert "speed-ups" not in names(of(measured(), other_batch))


def test_a_gain_is_not_of_a_pair_that_differs_in_a_switch_or_a_framework_as_well() -> None:
    compiled = replace(measured().config, compile=True)
    others = (replace(compiled, switches=Switches(pooling="triton")), replace(compiled, framework="jax"))
    assert "speed-ups" not in names(of(measured(), *(measured(config=other) for other in others)))


def test_what_is_not_at_its_default_is_named() -> None:
    config = replace(measured().config, framework="jax", gpus=2, switches=Switches(pooling="triton"))
    page = of(measured(config=config), measured())
    (figure,) = section(page, "throughput").figures
    brief, whole = (
        "bf16 eager tuned jax, batch 64, 2 GPUs",
        "bf16 eager tuned pooling=triton jax, batch 64, 2 GPUs",
    )
    assert [mark.label for mark in marks(figure)] == [brief, "bf16 eager, batch 64"]
    assert [row[0] for row in figure.table.rows] == [whole, "bf16 eager, batch 64"]


def test_switches_are_said_of_bars_that_differ_in_nothing_else() -> None:
    configs = [replace(measured().config, switches=Switches(pooling=each)) for each in ("torch", "triton")]
    configs.append(replace(configs[0], switches=Switches(layout="channels-first")))
    (figure,) = section(of(*(measured(config=config) for config in configs)), "throughput").figures
    assert {mark.label for mark in marks(figure)} == {
        "bf16 eager, batch 64", "bf16 eager tuned, batch 64", "bf16 eager layout=channels-first, batch 64",
    }  # fmt: skip


def test_throughput_by_batch_comes_from_the_search() -> None:
    trials = (BatchTrial(batch=32, fits=True, items_per_s=80.0), BatchTrial(batch=128, fits=False))
    (figure,) = section(of(measured(batch_trials=trials)), "scaling").figures
    assert [row[0] for row in figure.table.rows] == ["32", "64"]


def test_throughput_over_gpus_says_its_share_of_linear() -> None:
    two, four = (
        measured(config=replace(measured().config, gpus=n), throughput=measured(speed=speed).throughput)
        for n, speed in ((2, 180.0), (4, 300.0))
    )
    (figure,) = section(of(measured(), two, four), "scaling").figures
    place = figure.table.columns.index("of linear")
    assert [row[place] for row in figure.table.rows] == ["100 %", "90 %", "75 %"]
    assert "4 GPUs do the work of 3.0" in figure.caption
    lone = section(of(measured(), two), "scaling")  # two points are a row, no drawing
    assert lone.figures == ()
    assert lone.tables[0].rows[1][:3] == ("resnet50 train bf16 eager", "measured", "2")
    assert "90 %" in lone.tables[0].rows[1]


def test_cost_is_rent_by_dated_offers_and_energy_by_watts() -> None:
    offer = Offer(
        gpu="H200",
        gpu_ids=("h200-sxm",),
        count=1,
        kind="on-demand",
        amount=3.6,
        provider="p",
        seen_on="2026-10-01",
        source=A_SITE,
    )
    page = of(measured(), offers=(offer,))
    found = section(page, "energy")
    assert found.figures == ()  # one bar would be as long as its room
    (row,) = found.tables[0].rows
    # 100 images/s at 500 W: 5 J an image, 1.39 kWh a million; 3.60 USD an hour: 10 USD a million.
    assert row[-2:] == ("1.39 kWh", "$10.00")
    assert "[1]" in found.text[1]
    assert page.sources == (A_SITE,)


def test_without_an_offer_no_cost_is_invented() -> None:
    found = section(of(measured()), "energy")
    assert "No on-demand rent of the NVIDIA H200 SXM is known" in found.text[1]
    assert not any("rent" in column for column in found.tables[0].columns)


def test_the_roofline_holds_points_against_the_limits_of_their_session() -> None:
    page = of(measured(), limit("matmul", 8e14, "FLOP"), limit("copy", 4e12, "byte"))
    (figure,) = section(page, "limits").figures
    assert figure.table.rows[0][1:3] == ("66.7", "2.00 TFLOP/s")
    assert "limits" not in names(of(measured()))


def test_a_product_at_toy_size_is_no_roof() -> None:
    roofs = [limit("matmul", 1e9, "FLOP"), limit("copy", 5e8, "byte")]
    small = (replace(row, config=replace(row.config, size="toy")) for row in (measured(), *roofs))
    assert section(of(*small), "limits").figures == ()


def profiled(row: Measurement, **seconds: float) -> Measurement:
    """With so many seconds of each kind, and the slowest kernel by name."""
    times = tuple(KernelTime(kind=k, count=1.0, seconds=s) for k, s in seconds.items())  # type: ignore[arg-type]
    profile = Profile(
        steps=1, wall_s=1.0, busy_s=0.9, link_s=0.0, longest_gap_s=0.0, kernels=times,
        slowest=(replace(times[0], name="void at::native::slow_kernel<4>()"),),
    )  # fmt: skip
    return replace(row, profile=profile)


def test_kernel_time_is_of_the_fastest_of_each_precision() -> None:
    fast = profiled(measured(speed=200.0), matmul=0.6, copy=0.2, transfer=0.1, collective=0.1)
    slow = profiled(measured(speed=100.0), matmul=1.0)
    other = profiled(measured("fp32", 50.0), convolution=0.5, pointwise=0.5)
    found = section(of(fast, slow, other, measured("tf32", 80.0)), "kernels")
    assert [part.label for part in parts(found.figures[0])] == ["resnet50 train bf16 eager, batch 64"] * 3 + [
        "resnet50 train fp32 eager, batch 64"
    ] * 2
    table = found.figures[0].table
    assert table.columns[2:] == ("matmul", "convolution", "pointwise", "link", "other", "slowest kernels")
    assert table.rows[0][2:] == ("60 %", "", "", "20 %", "20 %", "60 % slow_kernel")
    assert len(table.rows) == 2


def test_a_lone_profile_is_a_table_and_none_is_no_section() -> None:
    found = section(of(profiled(measured(), matmul=1.0)), "kernels")
    assert not found.figures
    assert found.tables[0].rows[0][-1] == "100 % slow_kernel"
    assert "kernels" not in names(of(measured()))


def test_published_figures_answer_the_same_question_or_are_left_out() -> None:
    usual = {"gpu": "H200", "gpu_id": "h200-sxm", "workload": "resnet50", "mode": "train", "speed": 80.0,
             "precision": "bf16", "item": "image", "date": "2025", "source": A_SITE}  # fmt: skip
    flagged = {"issues": (Issue(code="linear", severity="warning", detail="d", fix="n"),)}
    others = ({}, {"precision": "fp32"}, {"gpus": 4}, {"gpu_id": "a40"}, flagged)
    rows = published.plausible(record(**usual | other) for other in others)
    (figure,) = section(of(measured(), published=rows), "against").figures
    assert len(figure.table.rows) == 1
    assert "1.250" in figure.table.rows[0]


@pytest.mark.parametrize(("low", "word"), [(90.0, "inside"), (101.0, "outside")])
def test_a_prediction_says_whether_its_interval_held(low: float, word: str) -> None:
    m = measured()
    forecast = Interval(value=110.0, low=low, high=130.0, level=0.8, method="conformal")
    page = of(
        m, predicted={("h200-sxm", m.question.key()): predicted("h200-sxm", m.question, throughput=forecast)}
    )
    (figure,) = section(page, "against").figures
    assert word in figure.table.rows[0]


def test_each_kind_of_caution_stands_once_with_what_has_it() -> None:
    caution = Issue(code="noisy", severity="warning", detail="spread of 4 %", fix="stop other work")
    page = of(measured(cautions=(caution,)), measured("fp32", 50.0, cautions=(caution,)))
    found = section(page, "cautions")
    names = "resnet50 train bf16 eager, resnet50 train fp32 eager"
    assert found.tables[0].rows == (("noisy", "2", names, "stop other work"),)
    assert found.folded[0].rows == (("noisy", names, "spread of 4 %"),)
    assert section(of(measured()), "cautions").text


def test_the_command_that_makes_it_again_is_there() -> None:
    assert section(of(measured()), "reproduce").code == "gpuwise bench resnet50"


def test_a_report_of_real_results_holds_them_byte_for_byte_and_stays_small() -> None:
    results = tuple(store.load(path) for path in sorted(H200.glob("*.json")))
    rows = sum(len(result.measurements) for result in results)
    page = report(
        ReportInput(
            results=results,
            published=published.plausible(published.select(gpu_ids={"h200-sxm"})),
            today=TODAY,
        )
    )
    text = html(page)
    assert len(text.encode()) < 5_500 * rows
    assert text.count("<figure>") < 40
    assert codec.results(text.encode(), "report.html") == results
    assert len(page.sections) == 11
    assert "nan" not in markdown_page(page).lower().split()


def test_the_first_screen_answers_with_numbers_a_chart_and_health() -> None:
    page = of(measured(), measured("fp32", 50.0))
    (head,) = page.headlines
    assert (head.what, head.value) == ("resnet50 train", "100.0 images/s")
    assert page.lead is not None
    assert [mark.label for mark in marks(page.lead)] == ["bf16 eager, batch 64", "fp32 eager, batch 64"]
    assert page.health.startswith("Health: no measurement is in doubt;")
    text = html(page)
    assert text.index('class="headlines"') < text.index('class="health"') < text.index("<h2")


def test_what_is_invalid_or_has_sensors_at_odds_is_no_headline() -> None:
    above = Issue(code="above-peak", severity="invalid", detail="too fast", fix="count again")
    odds = Issue(code="energy-mismatch", severity="warning", detail="1,285 J, 1,138 J", fix="watts with care")
    normal = Issue(code="throttled", severity="info", detail="at its own power limit")
    rows = (
        measured(speed=400.0, cautions=(above,)),
        measured("fp16", 300.0, cautions=(odds,)),
        measured("tf32", 200.0, cautions=(normal,)),
        measured("fp32", 100.0),
    )
    page = of(*rows)
    assert [head.value for head in page.headlines] == ["200.0 images/s"]
    assert page.lead is not None
    assert {mark.colour for mark in marks(page.lead)} == {"tf32", "fp32"}
    assert "throttled" not in page.health
    assert "(above-peak 1, energy-mismatch 1)" in page.health
    table = section(page, "throughput").figures[0].table
    cautions = {row[0].split()[0]: row[-1] for row in table.rows}
    assert cautions == {"bf16": "above-peak", "fp16": "energy-mismatch", "tf32": "", "fp32": ""}


def test_watts_that_the_sensors_contradict_give_no_energy() -> None:
    odds = Issue(code="energy-mismatch", severity="warning", detail="d", fix="f")
    (record,) = records_of([store_result(measured(cautions=(odds,)))])
    assert record.watts is None
    assert record.items_per_joule is None


def test_nobody_is_asked_whether_our_own_figures_are_invented() -> None:
    step = "check whether rows are exchanged or figures invented"
    order = Issue(code="order", severity="warning", detail="slower than resnet152", fix=step)
    text = markdown_page(of(measured(cautions=(order,))))
    assert "invented" not in text
    assert "measure both again, in one session" in text
