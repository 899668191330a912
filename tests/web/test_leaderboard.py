"""The first page: what is ranked by what, and that no page says another number."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from gpuwise.facts import catalog
from gpuwise.jobs.facts import Facts
from gpuwise.model.result import Interval
from gpuwise.model.units import usd
from gpuwise.show import leaderboard as board
from gpuwise.show.leaderboard import CLASSES, METRICS, Entry
from gpuwise.show.records import KINDS, Kind
from gpuwise.show.results import throughput

from ..records import predicted
from .test_parts import CELL


def shown(client: TestClient, query: str = "") -> list[str]:
    """GPUs of the ranking, in order."""
    body = client.get(f"/?{query}").text.split("<tbody>")[1].split("</tbody>")[0]
    return re.findall(r'href="[./]*gpus/([^"]+)"', body)


def test_the_best_stand_first_and_say_how_they_are_known(client: TestClient) -> None:
    found = client.get("/index.json").json()
    speeds = [one["throughput"]["value"] for one in found]
    assert speeds == sorted(speeds, reverse=True)
    assert {one["origin"] for one in found} == {"measured", "published", "predicted"}
    assert next(one for one in found if one["gpu_id"] == "h200-sxm")["origin"] == "measured"
    page = client.get("/?all=1").text
    for origin in ("measured", "published", "predicted"):
        assert f'<rect class="{origin}"' in page


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_ranks_by_itself(metric: str, client: TestClient) -> None:
    found = client.get(f"/index.json?by={metric}").json()
    values = [one[metric]["value"] for one in found]
    assert len(values) > 2
    assert values == sorted(values, reverse=True)
    assert (
        shown(client, f"by={metric}")
        == [one["gpu_id"] for one in found][: len(shown(client, f"by={metric}"))]
    )


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


QUESTIONS = st.sampled_from([
    ("resnet50", "train", "fp16", 1), ("resnet50", "infer", "bf16", 1), ("bert-large", "train", "fp16", 4),
    ("llm-8b-decode", "infer", "bf16", 1), ("unet-sd15", "infer", "fp16", 2),
])  # fmt: skip


@given(QUESTIONS)
def test_the_same_question_has_the_same_number_on_every_page(
    client: TestClient, asked: tuple[str, str, str, int]
) -> None:
    workload, mode, precision, gpus = asked
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


KNOWN = ("rtx-4090", "l40s", "h200-sxm", "a100-sxm4-80gb", "l4", "t4", "rtx-3090", "mi300x")


def words(client: TestClient, path: str) -> str:
    """What a page says."""
    answer = client.get(path)
    assert answer.status_code == 200
    return re.sub(r"<[^>]+>", "", answer.text).replace("\u00a0", " ")


@settings(max_examples=6)
@given(st.sampled_from(KINDS[:-1]), st.lists(st.sampled_from(KNOWN), min_size=2, max_size=2, unique=True))
def test_the_same_record_has_the_same_words_on_every_page(
    client: TestClient, facts: Facts, kind: Kind, gpus: list[str]
) -> None:
    (record,) = facts.forecasts(kind.config, gpus[:1])
    pair = ",".join(gpus)
    asked = f"workload={kind.workload}&mode={kind.mode}&precision={kind.precision}"
    pages = [f"/gpus/{gpus[0]}", f"/compare/{pair}", f"/compare/{pair}/article"]
    if record.throughput is not None:
        for path in pages:
            assert throughput(record) in words(client, path), path
        assert throughput(record) in words(client, f"/predict?{asked}&q={gpus[0]}")
        forecasts = client.get(f"/predict.json?{asked}").json()["predictions"]
        (value,) = [one["throughput"]["value"] for one in forecasts if one["gpu_id"] == gpus[0]]
        scaled = client.get(f"/scaling.json?{asked}&gpu={gpus[0]}").json()["predictions"]
        assert value == scaled[0]["throughput"]["value"] == record.value
    rent = facts.rents.get(gpus[0])
    if rent is not None:
        for path in (*pages, f"/prices/{gpus[0]}"):
            assert usd(rent) in words(client, path), path
        listed = {one["id"]: one["rent_usd_per_h"] for one in client.get("/gpus.json").json()}
        lines = {tuple(one["gpu_ids"]): one["on_demand"] for one in client.get("/prices.json").json()["gpus"]}
        assert listed[gpus[0]] == lines[gpus[0],]["median"] == rent


def test_the_surest_figure_of_a_gpu_stands_and_borrows_only_watts() -> None:
    spec = catalog.get("l40s")
    speed = Interval(value=900.0, low=800.0, high=1000.0, level=0.8, method="made up")
    forecast = predicted("l40s", CELL, throughput=speed, watts=replace(speed, value=300.0))
    stated = replace(forecast, origin="published", basis="published", watts=None)
    (entry,) = board.entries([spec], [stated], [forecast], [])
    assert entry == Entry(spec=spec, record=replace(stated, watts=forecast.watts))
    assert board.entries([spec], [], [replace(forecast, throughput=None)], []) == ()
