"""From options to configurations."""

from __future__ import annotations

import pytest

from gpuwise import catalog
from gpuwise.bench.plan import Request, check_precisions, configs, expected_s, lacking
from gpuwise.errors import InputError, MachineError
from gpuwise.model.gpu import Fact, GpuSpec, Source
from gpuwise.model.run import RunConfig


def request(**changes: object) -> Request:
    defaults: dict[str, object] = {
        "workloads": ("resnet50", "bert-large"),
        "modes": ("train", "infer"),
        "precisions": ("fp32", "bf16"),
        "compile": (False, True),
        "recipe": "tuned",
        "device": "cuda",
    }
    return Request(**{**defaults, **changes})  # type: ignore[arg-type]


def test_limits_come_first_one_product_a_precision_and_one_copy() -> None:
    plan = configs(request())
    assert [(c.workload, c.precision) for c in plan[:3]] == [
        ("matmul", "fp32"),
        ("matmul", "bf16"),
        ("copy", "fp32"),
    ]
    assert all(c.mode == "limit" and c.time_s <= 2 for c in plan[:3])


def test_every_combination_once() -> None:
    models = [c for c in configs(request()) if c.mode != "limit"]
    assert len(models) == len({c.key for c in models}) == 2 * 2 * 2 * 2


def test_options_reach_the_configurations() -> None:
    config = configs(
        request(batch=64, time_s=9.0, target_ci=0.02, protocol="aime", recipe="parity", quick=True)
    )[-1]
    assert (config.batch, config.time_s, config.target_ci) == (64, 9.0, 0.02)
    assert (config.protocol, config.recipe, config.quick) == ("aime", "parity", True)


def test_limits_keep_their_own_batch_and_recipe() -> None:
    limit = configs(request(batch=64, recipe="parity"))[0]
    assert (limit.batch, limit.recipe) == (None, "tuned")


def test_an_unknown_workload_and_a_mode_that_none_has() -> None:
    with pytest.raises(InputError, match="did you mean resnet50"):
        configs(request(workloads=("resnet-50",)))
    with pytest.raises(InputError, match="no workload of resnet50 has mode limit"):
        configs(request(workloads=("resnet50",), modes=("limit",)))


def test_a_limit_alone_can_be_asked_for() -> None:
    plan = configs(request(workloads=("copy",)))
    assert {c.workload for c in plan} == {"matmul", "copy"}


def test_what_devices_lack() -> None:
    assert lacking(catalog.get("h200-sxm"), "cuda") == ()
    assert lacking(catalog.get("v100-pcie-16gb"), "cuda") == ("tf32", "bf16", "int8", "fp8")
    assert lacking(None, "cuda") == ()
    assert lacking(None, "cpu") == ("tf32", "fp16", "fp8")


def test_an_amd_card_is_not_judged_by_compute_capability() -> None:
    source = Source(id="s", title="t", kind="vendor", read_on="2026-11-21")
    facts = {"vendor": Fact(field="vendor", value="AMD", source=source)}
    assert lacking(GpuSpec(id="x", name="X", facts=facts), "cuda") == ()


def test_the_error_names_what_is_there() -> None:
    with pytest.raises(MachineError, match="Tesla V100 has no bf16") as caught:
        check_precisions(("fp32", "bf16"), catalog.get("v100-pcie-16gb"), "cuda", "Tesla V100")
    assert caught.value.hint == "gpuwise bench --precision fp64,fp32,fp16"


def test_the_eta_counts_what_costs_time() -> None:
    plain = RunConfig(workload="resnet50", mode="train", precision="bf16")
    compiled = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)
    aime = RunConfig(workload="resnet50", mode="train", precision="bf16", protocol="aime")
    limit = RunConfig(workload="copy", mode="limit", precision="fp32")
    assert expected_s(limit) < expected_s(plain) < expected_s(compiled)
    assert expected_s(aime) > expected_s(plain)
