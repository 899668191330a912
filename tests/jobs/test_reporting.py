"""What a report, a card and an article are made of."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.jobs import reporting
from gpuwise.jobs.facts import Facts
from gpuwise.show.records import COUNTS, KINDS, SCALED

from .conftest import RESULT

TODAY = date(2026, 11, 21)


def test_a_measurement_has_its_own_forecast() -> None:
    result = store.load(RESULT)
    found = reporting.material(Facts(today=TODAY), [result])
    assert len(found.predicted) == sum(m.config.mode in reporting.PREDICTED for m in result.measurements)
    assert {gpu_id for gpu_id, _ in found.predicted} == {"h200-sxm"}
    assert {row.gpu_id for row in found.published} == {"h200-sxm"}
    assert found.today == TODAY


def test_a_toy_and_another_framework_have_none() -> None:
    result = store.load(RESULT)
    for changed in ({"size": "toy"}, {"framework": "jax"}, {"workload": "./mine.py"}):
        cells = tuple(replace(m, config=replace(m.config, **changed)) for m in result.measurements)
        assert not reporting.material(Facts(today=TODAY), [replace(result, measurements=cells)]).predicted


def test_a_result_of_an_unknown_card_stands_alone() -> None:
    result = store.load(RESULT)
    unknown = replace(result, environment=replace(result.environment, gpu_id=None))
    found = reporting.material(Facts(today=TODAY), [unknown])
    assert (found.published, dict(found.predicted)) == ((), {})


def test_an_article_and_a_card_know_the_same_of_a_gpu() -> None:
    facts, l40s = Facts([RESULT], today=TODAY), catalog.get("l40s")
    card, two = reporting.card(facts, l40s), reporting.contest(facts, [catalog.get("h200-sxm"), l40s])
    assert card.forecasts == tuple(p for p in two.forecasts if p.gpu_id == "l40s")
    cells = {(p.question.workload, p.question.mode, p.gpus) for p in card.forecasts}
    deep = [kind for kind in KINDS if kind.mode != "compute"]
    assert cells == {(kind.workload, kind.mode, 1) for kind in deep} | {
        (kind.workload, kind.mode, n) for kind in SCALED for n in COUNTS
    }
    assert any(speed.origin == "measured" for speed in two.speeds)


def test_a_given_file_that_holds_no_result_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(InputError):
        Facts([tmp_path / "x.json"])


def test_what_cannot_be_read_in_the_store_is_left_out(home: Path) -> None:
    store.save(store.load(RESULT))
    (store.results_dir() / "20260101-000000-x.json").write_text("{")
    assert [result.id for result in Facts().results] == [store.load(RESULT).id]


@pytest.mark.parametrize(
    ("gpu", "verdicts"),
    [
        ("t4", ("runs", "runs")), ("gtx-1070", ("runs", "no")), ("quadro-p620", ("no", "no")),
        ("h100-sxm5-80gb", ("well suited", "well suited")),
    ],
)  # fmt: skip
def test_a_language_model_that_is_too_large_in_16_bits_may_run_in_4(
    gpu: str, verdicts: tuple[str, str]
) -> None:
    uses = {use.preset: use for use in reporting.uses(Facts(today=TODAY), catalog.find(gpu)).value}
    two = uses["llm-inference"], uses["llm-finetuning"]
    assert tuple(use.verdict for use in two) == verdicts
    assert [use.reason.startswith("in 4 bits") for use in two] == [verdict == "runs" for verdict in verdicts]
    assert all(use.throughput is not None for use in two if use.verdict != "no")


@pytest.mark.parametrize(
    ("gpu", "verdict"), [("rx-7900-xtx", "well suited"), ("arc-b580", "runs"), ("k80", None)]
)
def test_a_speed_that_an_engine_has_is_shown_where_torch_s_is_not_known(
    gpu: str, verdict: str | None
) -> None:
    uses = {use.preset: use for use in reporting.uses(Facts(today=TODAY), catalog.find(gpu)).value}
    for use in (uses["llm-inference"], uses["llm-finetuning"]):
        assert (use.throughput is not None) is bool(verdict)
        assert use.verdict == (verdict or "not known")
