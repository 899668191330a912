"""The first page: what is ranked by what, and that no page says another number."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from gpuwise.facts import catalog
from gpuwise.jobs.facts import Facts
from gpuwise.jobs.predicting import FitRequest, fit
from gpuwise.model.result import Interval, Record
from gpuwise.model.units import significant, usd
from gpuwise.show import leaderboard as board
from gpuwise.show.leaderboard import CLASSES, METRICS, Entry
from gpuwise.show.records import KINDS, Kind
from gpuwise.show.table import throughput

from ..records import predicted
from .test_parts import CELL


def shown(client: TestClient, query: str = "") -> list[str]:
    """GPUs of the ranking, in order."""
    body = client.get(f"/?{query}").text.split("<tbody>")[1].split("</tbody>")[0]
    return re.findall(r'href="[./]*gpus/([^"]+)"', body)


def test_the_best_stand_first_and_say_how_they_are_known(client: TestClient) -> None:
    found = client.get("/index.json").json()
    places = [(one["order_of_magnitude"], -one["throughput"]["value"]) for one in found]
    assert places == sorted(places)
    assert {rough for rough, _ in places} == {False, True}
    assert {one["origin"] for one in found} == {"measured", "published", "predicted"}
    assert next(one for one in found if one["gpu_id"] == "h200-sxm")["origin"] == "measured"
    page = client.get("/?all=1").text
    for origin in ("measured", "published", "predicted"):
        assert f'<rect class="{origin}"' in page


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_ranks_by_itself(metric: str, client: TestClient) -> None:
    found = client.get(f"/index.json?by={metric}").json()
    places = [(one["order_of_magnitude"], -one[metric]["value"]) for one in found]
    assert len(places) > 2
    assert places == sorted(places)
    assert (
        shown(client, f"by={metric}")
        == [one["gpu_id"] for one in found][: len(shown(client, f"by={metric}"))]
    )


def test_gpus_without_a_price_are_counted_below_the_ranking(client: TestClient) -> None:
    ranked, every = (client.get(f"/index.json?{by}class=desktop").json() for by in ("by=rent&", ""))
    assert 0 < len(ranked) < len(every)
    note = f"<p>{len(every) - len(ranked)} more are not ranked per dollar of rent"
    assert note in client.get("/?by=rent&class=desktop").text
    assert "more are not ranked" not in client.get("/?class=desktop").text


def test_a_metric_is_throughput_over_what_it_names(client: TestClient) -> None:
    for one in client.get("/index.json").json():
        speed = one["throughput"]["value"]
        if one["rent_usd_per_h"]:
            assert one["rent"]["value"] == pytest.approx(speed * 3600 / one["rent_usd_per_h"])
        if one["street_usd"]:
            assert one["street"]["value"] == pytest.approx(speed * 1000 / one["street_usd"])


@pytest.mark.parametrize("kind", CLASSES)
def test_a_class_and_a_memory_filter(kind: str, client: TestClient) -> None:
    found = client.get(f"/index.json?class={kind}&memory=8").json()
    assert {one["class"] for one in found} <= {kind}
    assert all((catalog.get(one["gpu_id"]).memory_bytes or 0) >= 8 * 2**30 for one in found)


def test_the_address_sorts_both_ways(client: TestClient) -> None:
    least, most = (shown(client, f"sort={sort}&all=1&class=server") for sort in ("power", "-power"))
    powers = [p for p in (catalog.get(one).power_w for one in least) if p]
    assert powers == sorted(powers)
    assert set(least) == set(most)
    assert powers[0] <= (catalog.get(most[0]).power_w or 0)


def test_the_page_is_small_and_its_charts_have_tables(client: TestClient) -> None:
    text = client.get("/").text
    assert len(text.encode()) < 300_000
    assert text.count("<figure") == text.count("<details") == 1
    assert "The same as a table" in text


def test_what_cannot_be_read_is_refused_in_words(client: TestClient) -> None:
    page = client.get("/?q=rtx+1")
    assert page.status_code == 200
    assert "message" in page.text


@pytest.mark.parametrize(
    ("workload", "mode", "precision", "gpus"),
    [
        ("resnet50", "train", "fp16", 1),
        ("bert-large", "train", "fp16", 4),
        ("llm-8b-decode", "infer", "bf16", 1),
        ("unet-sd15", "infer", "fp16", 2),
    ],
)
def test_the_same_question_has_the_same_number_on_every_page(
    client: TestClient, workload: str, mode: str, precision: str, gpus: int
) -> None:
    query = f"workload={workload}&mode={mode}&precision={precision}&gpus={gpus}"
    ranking = client.get(f"/index.json?{query}").json()
    forecasts = {
        one["gpu_id"]: one["throughput"] for one in client.get(f"/predict.json?{query}").json()["predictions"]
    }
    # A workload of which no speed is known has no page of speeds.
    known = client.get(f"/results/{workload}.json").json()
    measured = {one["throughput"]["value"] for one in known.get("measured", ()) if one["throughput"]}
    published = {one["throughput"] for one in known.get("published", ())}
    rents = {one["id"]: one["rent_usd_per_h"] for one in client.get("/gpus.json").json()}
    assert ranking
    for one in ranking:
        value = one["throughput"]["value"]
        if one["origin"] == "predicted":
            assert one["throughput"] == forecasts[one["gpu_id"]]
        else:
            assert value in (measured if one["origin"] == "measured" else published)
        assert one["rent_usd_per_h"] == rents[one["gpu_id"]]


TODAY = date(2026, 11, 21)
IDS = [spec.id for spec in catalog.all_gpus()]


def words(client: TestClient, path: str) -> str:
    """What a page says."""
    answer = client.get(path)
    assert answer.status_code == 200
    return re.sub(r"<[^>]+>", "", answer.text).replace("\u00a0", " ")


@settings(max_examples=5, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.sampled_from(KINDS[:-1]), st.lists(st.sampled_from(IDS), min_size=2, max_size=3), st.data())
def test_the_same_record_has_the_same_words_on_every_page(
    client: TestClient, facts: Facts, kind: Kind, others: list[str], data: st.DataObject
) -> None:
    asked = f"workload={kind.workload}&mode={kind.mode}&precision={kind.precision}"

    def predicted(count: int) -> dict[str, float]:
        found = client.get(f"/predict.json?{asked}&gpus={count}").json()["predictions"]
        return {one["gpu_id"]: one["throughput"]["value"] for one in found if one["throughput"]}

    values = predicted(1)
    gpu = data.draw(st.sampled_from(sorted(values)))
    (record,) = facts.forecasts(kind.config, (gpu,))
    assert values[gpu] == record.value
    several = ",".join(dict.fromkeys((gpu, *others, IDS[0], IDS[1])))
    pages = {path: words(client, path) for path in (f"/gpus/{gpu}", f"/compare/{several}")}
    # Where only one of the GPUs has a forecast there is no article of them.
    if client.get(f"/compare/{several}/article").status_code == 200:
        pages["article"] = words(client, f"/compare/{several}/article")
    for page in (*pages.values(), words(client, f"/predict?{asked}&q={gpu}")):
        # Its own comparison: pytest's of a text with a long page takes minutes.
        assert (throughput(record) in page) is True
    scaled = client.get(f"/scaling.json?{asked}&gpu={gpu}").json()["predictions"]
    counts = {one["count"]: one["throughput"]["value"] for one in scaled if one["throughput"]}
    count = data.draw(st.sampled_from(sorted(counts)))
    assert predicted(count)[gpu] == counts[count]
    ranked = client.get(f"/index.json?{asked}&gpus={count}").json()
    of_count = predicted(count)
    assert all(
        r["throughput"]["value"] == of_count[r["gpu_id"]] for r in ranked if r["origin"] == "predicted"
    )
    rent = facts.rents.get(gpu)
    listed = {one["id"]: one["rent_usd_per_h"] for one in client.get("/gpus.json").json()}
    assert listed[gpu] == rent
    if rent is not None:
        for page in (*pages.values(), words(client, f"/prices/{gpu}")):
            assert (usd(rent) in page) is True
        lines = {tuple(one["gpu_ids"]): one["on_demand"] for one in client.get("/prices.json").json()["gpus"]}
        assert lines[gpu,]["median"] == rent


@pytest.mark.parametrize("asked", ["resnet50 train fp16", "bert-large infer bf16", "vit-b16 train bf16"])
def test_a_choice_is_of_the_speeds_and_prices_of_the_other_pages(client: TestClient, asked: str) -> None:
    query = "workload={}&mode={}&precision={}&gpus=1".format(*asked.split())
    options = client.get(f"/choose.json?{query}&acquire=rent").json()["options"]
    ranking = {one["gpu_id"]: one for one in client.get(f"/index.json?{query}").json()}
    forecasts = {
        one["gpu_id"]: one["throughput"] for one in client.get(f"/predict.json?{query}").json()["predictions"]
    }
    assert len(options) > 5
    for option in options:
        speed, gpu = option["throughput"], option["gpu_id"]
        if option["basis"] == "measured":
            # The ranking prefers what everybody reaches, a choice the fastest that was measured.
            assert speed["value"] >= ranking[gpu]["throughput"]["value"] * (
                ranking[gpu]["origin"] == "measured"
            )
        else:
            assert speed["value"] == forecasts[gpu]["value"]
    for option in options[:4]:
        offers = client.get(f"/prices/{option['gpu_id']}.json").json()["offers"]
        assert option["price_usd"]["value"] in {
            offer["per_gpu_hour"] for offer in offers if offer["provider"] == option["provider"]
        }


@pytest.mark.parametrize(
    ("model", "weights", "context", "gpu", "count"),
    [
        ("llama-3.1-8b", "bf16", 2048, "l40s", 1),
        ("llama-3.1-70b", "int4", 8192, "rtx-4090", 2),
        ("llama-3.1-70b", "bf16", 8192, "h200-sxm", 2),
        ("mistral-7b", "int4", 2048, "rtx-4090", 1),
    ],
)
def test_fit_says_on_its_page_what_the_job_says(
    client: TestClient, model: str, weights: str, context: int, gpu: str, count: int
) -> None:
    query = f"model={model}&weights={weights}&context={context}&gpus={count}&q={gpu}"
    (row,) = (one for one in client.get(f"/fit.json?{query}").json()["rows"] if one["gpu_id"] == gpu)
    plan = FitRequest(model=model, gpus=(gpu,), weights=(weights,), contexts=(context,), counts=(count,))
    (alone,) = fit(plan).value
    assert (row["count"], row["fits"]) == (count, alone.fits)
    assert (row["tokens_per_s"] or {}).get("value") == (alone.tokens_per_s and alone.tokens_per_s.value)
    if alone.tokens_per_s:
        assert (significant(alone.tokens_per_s.value, 3) in words(client, f"/fit?{query}")) is True


def test_the_surest_figure_of_a_gpu_stands_and_borrows_only_watts() -> None:
    spec = catalog.get("l40s")
    speed = Interval(value=900.0, low=800.0, high=1000.0, level=0.8, method="made up")
    forecast = predicted("l40s", CELL, throughput=speed, watts=replace(speed, value=300.0))
    stated = replace(forecast, origin="published", basis="published", watts=None)
    (entry,) = board.entries([spec], [stated], [forecast], [], TODAY)
    assert entry == Entry(spec=spec, record=replace(stated, watts=forecast.watts))
    assert board.entries([spec], [], [replace(forecast, throughput=None)], [], TODAY) == ()


def test_a_published_speed_below_the_whole_forecast_does_not_stand_for_the_gpu() -> None:
    forecast = predicted("h100-sxm5-80gb", KINDS[0].config, throughput=Interval(
        value=6000.0, low=5100.0, high=7000.0, level=0.8, method="conformal",
    ))  # fmt: skip

    def stated(value: float) -> Record:
        exact = Interval(value=value, low=value, high=value, level=None, method="stated")
        return replace(forecast, origin="published", basis="published", throughput=exact)

    spec = catalog.get("h100-sxm5-80gb")
    for value, origin in ((2789.0, "predicted"), (5200.0, "published"), (9000.0, "published")):
        (entry,) = board.entries([spec], [stated(value)], [forecast], [], TODAY)
        assert entry.record.origin == origin, value


def test_no_guess_leads_a_metric() -> None:
    def entry(gpu: str, value: float, factor: float) -> Entry:
        interval = Interval(
            value=value, low=value / factor, high=value * factor, level=0.8, method="conformal"
        )
        return Entry(
            spec=catalog.get(gpu), record=predicted(gpu, KINDS[0].config, throughput=interval), rent_usd=1.0
        )

    found = (entry("mi300x", 900.0, 3.0), entry("l4", 100.0, 1.2), entry("rtx-4090", 300.0, 1.2))
    assert [e.spec.id for e in board.ranked(found, "throughput")] == ["rtx-4090", "l4", "mi300x"]
    assert [e.spec.id for e in board.ranked(found, "throughput", "name")] == ["l4", "mi300x", "rtx-4090"]
    assert "RTX 4090" in board.leaders(found)[0]
