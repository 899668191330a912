"""What people give to a job in place of its request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gpuwise
from gpuwise import AuditRequest, InputError, PredictRequest, Request


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


def test_a_request_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="needs a result"):
        gpuwise.report(())
    with pytest.raises(InputError, match="nothing to measure"):
        gpuwise.bench(gpuwise.BenchRequest(plan=()))


def test_a_text_is_audited_and_predicted() -> None:
    assert gpuwise.audit("The RTX 3090 has 20 GB of memory.").exit_status == 1
    assert gpuwise.audit("The RTX 3090 has 24 GB of memory.").exit_status == 0
    assert gpuwise.predict(PredictRequest(workload="resnet50", gpus="l4")).records  # type: ignore[arg-type]


@pytest.mark.parametrize("job", [gpuwise.bench, gpuwise.accept, gpuwise.audit, gpuwise.report])
def test_anything_else_is_refused(job: object) -> None:
    with pytest.raises(InputError, match="Request"):
        job(3)  # type: ignore[operator]
