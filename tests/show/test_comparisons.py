"""Comparisons: what differs in the environment first, then the ratios."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gpuwise.model.result import Change, Comparison, Interval, Measurement
from gpuwise.show import comparisons as report
from gpuwise.stats.comparison import pair

from .conftest import FOUND, MATMUL, OK, OOM, result

RATIO = Interval(value=1.25, low=1.2, high=1.3001, method="bootstrap")
FASTER = replace(OK, throughput=Interval(value=9012.5, low=9000.0, high=9025.0, method="bootstrap"))


def compared(
    a: Measurement,
    b: Measurement,
    ratio: Interval | None = RATIO,
    verdict: Change = "faster",
    note: str = "",
) -> Comparison:
    return Comparison(cell=a.config.key("batch"), a=a, b=b, ratio=ratio, verdict=verdict, note=note)


BASE = result(OK)


def test_one_comparison() -> None:
    table = report.comparisons(BASE, [(BASE, (compared(OK, FASTER),))], names=("old", "new"))
    assert table.title == "baseline old against new"
    assert table.columns == ("measurement", "baseline", "against", "ratio (95 %)", "verdict")
    assert table.rows == (
        (
            "resnet50 train bf16 compiled",
            "7,210 images/s ±0.3 %",
            "9,012 images/s ±0.1 %",
            "1.250 (1.200 to 1.300)",
            "faster",
        ),
    )
    assert table.before == ()


def test_what_cannot_be_compared_says_why() -> None:
    pair = compared(OK, OOM, None, "not-comparable", "the other is oom")
    table = report.comparisons(BASE, [(BASE, (pair,))], names=("a", "b"))
    assert table.columns == ("measurement", "baseline", "against", "verdict", "note")
    assert table.rows[0][2:] == ("oom", "not-comparable", "the other is oom")


@pytest.mark.parametrize(("low", "shown"), [(1e-3, "1.000 noisy"), (2e-3, "1.000 (0.002 to 500.000)")])
def test_the_cut_of_an_interval_is_not_shown_as_a_figure(low: float, shown: str) -> None:
    pair = compared(OK, OK, Interval(value=1.0, low=low, high=1 / low, method="ratio"), "unclear")
    assert report.comparisons(BASE, [(BASE, (pair,))], names=("a", "b")).rows[0][3] == shown


def test_a_limit_has_no_recipe() -> None:
    table = report.comparisons(BASE, [(BASE, (compared(MATMUL, MATMUL),))], names=("a", "b"))
    assert table.rows[0][0] == "matmul bf16"


def test_rows_and_differences_of_several_results_carry_their_names() -> None:
    newer = result(environment=replace(FOUND, driver="580.2"))
    older = result(environment=replace(FOUND, driver="560.3"))
    found = [(newer, (compared(OK, FASTER),)), (older, (compared(OK, OK),))]
    table = report.comparisons(BASE, found, names=("a", "b", "c"))
    assert table.title == "baseline a against b, c"
    assert [row[0].split(":")[0] for row in table.rows] == ["b", "c"]
    assert table.before == ("b: driver: 570.1 -> 580.2", "c: driver: 570.1 -> 560.3")


def test_each_result_needs_a_name() -> None:
    with pytest.raises(ValueError, match="zip"):
        report.comparisons(BASE, [(BASE, ())], names=("a",))


def test_variables_read_as_they_are_set() -> None:
    other = result(environment=replace(FOUND, variables=(("A", "1"), ("B", "2"))))
    assert report.differences(BASE, other) == ("variables: none -> A=1 B=2",)
    assert report.differences(other, BASE) == ("variables: A=1 B=2 -> none",)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_published_side_states_its_source_and_its_silence_is_no_difference(swapped: bool) -> None:
    mine = result(environment=replace(FOUND, variables=(("A", "1"),)))
    published = result(origin="published", source="An article", environment=replace(FOUND, torch="2.5.0"))
    base, other = sides = (published, mine) if swapped else (mine, published)
    assert report.differences(*sides) == ("torch: 2.5.0 -> 2.11.0" if swapped else "torch: 2.11.0 -> 2.5.0",)
    first, *others = report.comparisons(base, [(other, ())], names=("old", "new")).before
    assert first == f"{'old' if swapped else 'new'}: published figures: An article"
    assert [line.split(":")[:2] for line in others] == [["new", " torch"]]


def test_the_document_is_plain_data() -> None:
    other = result(id="b", environment=replace(FOUND, ecc=False, driver="580.2"))
    pairs = (compared(OK, FASTER, note="batch 1 against 2"), compared(OK, OOM, None, "not-comparable"))
    document = json.loads(json.dumps(report.document(BASE, [(other, pairs)])))
    assert document["baseline"] == BASE.id
    (against,) = document["comparisons"]
    assert against["against"] == "b"
    assert against["environment_differences"] == [
        {"field": "driver", "baseline": "570.1", "against": "580.2"}
    ]
    first, second = against["pairs"]
    assert first["cell"] == OK.config.key("batch")
    assert first["items_per_s"]["baseline"]["value"] == 7210.0
    assert first["items_per_s"]["against"]["value"] == 9012.5
    assert first["ratio"]["low"] == 1.2
    assert (first["verdict"], first["note"]) == ("faster", "batch 1 against 2")
    assert second["ratio"] is None
    assert second["items_per_s"]["against"] is None


def test_what_has_no_partner_is_named_for_both_sides() -> None:
    other = result(replace(OK, config=replace(OK.config, workload="vit-b16")), FASTER, id="b")
    mine = result(OK, MATMUL)
    pairs = pair(mine, other)
    assert [c.a.config.workload for c in pairs] == ["resnet50"]
    notes = report.comparisons(mine, [(other, pairs)], names=("old", "new")).notes
    assert notes[:2] == (
        "only in old, so not compared: matmul bf16",
        "only in new, so not compared: vit-b16 train bf16 compiled, batch 256",
    )
    (against,) = report.document(mine, [(other, pairs)])["comparisons"]
    assert against["unpaired"] == {
        "baseline": ["matmul bf16"],
        "against": ["vit-b16 train bf16 compiled, batch 256"],
    }
