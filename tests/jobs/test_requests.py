"""What people give to a job in place of its request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gpuwise
from gpuwise import AcceptRequest, AuditRequest, CompareRequest, InputError, PredictRequest, Request
from gpuwise.jobs.predicting import FitRequest

H200 = Path(__file__).parents[2] / "results" / "h200"


def test_one_value_is_enough_where_several_are_taken() -> None:
    assert PredictRequest(workload="resnet50", gpus="rtx-4090").gpus == ("rtx-4090",)  # type: ignore[arg-type]
    assert PredictRequest(workload="resnet50", gpus=["l4", "t4"]).gpus == ("l4", "t4")  # type: ignore[arg-type]
    assert AuditRequest(files="draft.md").files == (Path("draft.md"),)  # type: ignore[arg-type]
    assert Request(workloads="resnet50").workloads == ("resnet50",)  # type: ignore[arg-type]
    assert PredictRequest(workload="resnet50").inputs is None
    assert [PredictRequest(workload="resnet50", batch=n).batch for n in (64, None)] == [(64,), (None,)]  # type: ignore[arg-type]
    (paged,) = gpuwise.fit("llama-3.1-8b", gpus="l4", tasks="qlora", weights="nf4", optimiser="paged").value
    assert paged.plan.optimiser == "paged"


@pytest.mark.parametrize(("field", "value"), [("batch", "16"), ("batch", (1, 2.5)), ("counts", "2")])
def test_what_is_no_whole_number_is_refused_with_its_field(field: str, value: object) -> None:
    with pytest.raises(InputError, match=f"^{field} takes whole numbers"):
        PredictRequest(workload="resnet50", **{field: value})  # type: ignore[arg-type]


def test_what_is_no_name_and_no_result_is_refused_with_its_field() -> None:
    gpus: Any = (42, ("l4", None), gpuwise.find_gpu("l4"))
    for wrong in gpus:
        with pytest.raises(InputError, match="gpus takes"):
            gpuwise.predict("resnet50", gpus=wrong)
    paths: Any = ("results/h200/quick.json", "results/h200/quick-earlier.json")
    for job in (gpuwise.compare, gpuwise.report):
        with pytest.raises(InputError, match="results takes"):
            job(paths)


@pytest.mark.parametrize(
    ("request_", "field", "value"),
    [
        (AuditRequest, "text", 5), (AuditRequest, "name", None), (FitRequest, "memory", "6GB"),
        (FitRequest, "rank", 1.5), (PredictRequest, "prompt", "1k"), (AcceptRequest, "margin", "5%"),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_is_refused_with_its_field(request_: Any, field: str, value: object) -> None:
    whole = {"model": "llama-3.1-8b"} if request_ is FitRequest else {}
    whole |= {"workload": "resnet50"} if request_ is PredictRequest else {}
    with pytest.raises(InputError, match=f"^{field} takes "):
        request_(**whole, **{field: value})


@pytest.mark.parametrize("value", [0, -4, (8, 0)])
@pytest.mark.parametrize(("job", "fields"), [("predict", "batch counts"), ("fit", "contexts batches counts")])
def test_numbers_begin_at_one(job: str, fields: str, value: object) -> None:
    name = {"predict": "resnet50", "fit": "llama-3.1-8b"}[job]
    for field in fields.split():
        with pytest.raises(InputError, match=f"^{field} takes numbers from 1 on"):
            getattr(gpuwise, job)(name, gpus="l4", **{field: value})
        assert getattr(gpuwise, job)(name, gpus="l4", **{field: 1}).value


def test_options_beside_a_request_are_its_fields() -> None:
    (row,) = gpuwise.predict(PredictRequest(workload="resnet50", gpus=("l4",)), batch=3).records
    assert row.question.batch == 3
    model = FitRequest(model="llama-3.1-8b", weights=("bf16",))
    assert [row.gpu_id for row in gpuwise.fit(model, gpus="l4").value] == ["l4"]


@pytest.mark.parametrize(("job", "name"), [("predict", "resnet50"), ("fit", "llama-3.1-8b")])
def test_a_name_of_several_gpus_is_the_usual_one_and_noted(job: str, name: str) -> None:
    answer = getattr(gpuwise, job)(name, gpus=("h100", "l4"))
    assert {row.gpu_id for row in answer.value} == {"h100-sxm5-80gb", "l4"}
    assert [issue.code for issue in answer.issues] == ["usual-variant"]


def test_a_gate_is_given_in_words() -> None:
    results = tuple(gpuwise.load(H200 / f"repeat-{n}.json") for n in (1, 2))
    for words, status in (("slower>5%", 0), ("unclear", 1)):
        assert gpuwise.compare(CompareRequest(results=results, fail_if=words)).exit_status == status
    with pytest.raises(InputError, match="condition"):
        gpuwise.compare(CompareRequest(results=results, fail_if="sloer"))


def test_a_request_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="needs a result"):
        gpuwise.report(())
    with pytest.raises(InputError, match="nothing to measure"):
        gpuwise.bench(gpuwise.BenchRequest(plan=()))


def test_a_text_is_audited_and_predicted() -> None:
    wrong = gpuwise.audit("The RTX 3090 has 20 GB of memory.")
    assert (wrong.exit_status, [issue.code for issue in wrong.issues]) == (1, ["wrong-value"])
    (said,) = (issue.detail for issue in wrong.issues)
    assert "memory 20 GB" in said
    assert "24.0 GiB" in said
    assert said == said.rstrip(": ")
    assert gpuwise.audit("The RTX 3090 has 24 GB of memory.").exit_status == 0
    assert gpuwise.predict(PredictRequest(workload="resnet50", gpus="l4")).records  # type: ignore[arg-type]


@pytest.mark.parametrize("job", [gpuwise.bench, gpuwise.accept, gpuwise.audit, gpuwise.report])
def test_anything_else_is_refused(job: object) -> None:
    with pytest.raises(InputError, match="Request"):
        job(3)  # type: ignore[operator]
