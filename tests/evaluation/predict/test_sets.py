"""The scored sets read their columns, and refuse with a reason what they cannot predict."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from evaluation.predict.sets import eager, gemm, power, serving, training, vision
from evaluation.predict.sets.traced import Work
from evaluation.predict.shipped import parameters as shipped
from evaluation.predict.transformers import transformer
from gpuwise.errors import InputError
from gpuwise.predictor.card import card
from gpuwise.predictor.kernels import Kernel
from gpuwise.predictor.step import usual

NEUSIGHT = """model,mode,seq_len,batch,option,precision,gpu,num_layer,measured_ms,pred_neusight_ms
bert_large,infer_fwd,512,8,,"fp32(no TF32, eager attention)",NVIDIA_L4,24,300,310
gpt2_large,train_fwd_bwd,1024,4,tp4,fp32,NVIDIA_A100-SXM4-40GB,24,480,
bert_large,infer_fwd,512,8,,fp16,NVIDIA_L4,24,300,
mystery,infer_fwd,512,8,,fp32,NVIDIA_L4,24,300,
bert_large,infer_fwd,512,8,,fp32,Unknown 9,24,300,
"""
SERVING = (
    "backend,model_path,system,precision,mode,isl,osl,gemm_quant_mode,moe_quant_mode,batch_size,tp_size,"
    "attention_dp_size,moe_tp_size,moe_ep_size,silicon_ttft_ms,silicon_tpot_ms,pred_aic_ttft_ms\n"
    "vllm,meta-llama/Llama-3.1-70B,h100_sxm,fp8,agg,1024,1024,fp8,fp8,16,4,1,1,1,200,14,150\n"
    "vllm,deepseek-ai/DeepSeek-R1,h100_sxm,fp4,agg,1024,1024,nvfp4,nvfp4,16,8,1,8,1,200,14,\n"
    "trtllm,deepseek-ai/DeepSeek-R1,b200_sxm,fp4,disagg,1024,1024,nvfp4,nvfp4,,,,,,200,14,\n"
)
LAMBDA = """set,gpu,num_gpu,precision,model,train_throughput,price_usd,tdp_w
v1,2x A100 80GB PCIe,2,fp16,bert_large_squad,260,1,300
v2,LambdaOD_8x_Texas_4xH100_80GB_SXM5_1-2-3-4_v2,,fp32,bert_base_squad,1000,,
v1,RTX 3090,1,fp16,alexnet,100,1,350
"""
TIMM = """\
model,mode,precision,layout,compiled,torch,cuda,gpu,img_size,batch,samples_per_s,gmacs,macts,params_m
vit_base_patch16_224,infer,amp,nchw,0,240,cu124,RTX 3090,224,1024,1400,16.87,16.49,86.57
vit_base_patch16_224,infer,amp,nchw,0,113,cu117,RTX 3090,224,1024,1000,16.87,16.49,86.57
vit_base_patch16_224,train,amp,nchw,0,240,cu124,RTX 3090,224,128,300,16.87,16.49,86.57
"""
POWER = """task,activated_params_billions,total_params_billions,avg_batch_size,avg_power_watts,gpu_model,\
max_num_seqs,model_id,num_gpus,weight_precision,avg_output_len
gpqa,14.0,14.0,8,320,H100,8,Qwen/Qwen3-14B,1,bfloat16,500
weather,14.0,14.0,8,320,H100,8,Qwen/Qwen3-14B,1,bfloat16,500
gpqa,,,8,320,H100,8,someone/mystery,1,bfloat16,500
"""


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_eager() -> None:
    cases = eager.read(rows(NEUSIGHT))
    assert [bool(case.refusal) for case in cases] == [False, False, True, True, True]
    assert cases[0].rivals == {"neusight": 310.0}
    assert cases[1].part == "split"
    found = eager.predict({}, cases)
    assert np.isfinite(found).tolist() == [True, True, False, False, False]
    assert 100 < found[0] < 900


def test_serving_has_two_figures_a_row() -> None:
    cases = serving.read(rows(SERVING))
    assert [case.part for case in cases] == ["TPOT"] * 3 + ["TTFT"] * 3
    assert "no fp4" in cases[1].refusal
    assert "does not state its batch" in cases[5].refusal
    found = serving.predict(shipped("serving"), cases)
    assert 3 < found[0] < 60
    assert found[3] > found[0]


def test_a_larger_batch_never_lowers_the_time_of_a_token() -> None:
    text = SERVING.splitlines()
    batches = [text[1].replace(",16,4,", f",{batch},4,") for batch in (1, 2, 8, 32, 64)]
    cases = serving.read(rows("\n".join([text[0], *batches])))
    found = serving.predict(shipped("serving"), cases)
    assert (np.diff(found[:5]) >= 0).all()


def test_training() -> None:
    cases = training.read(rows(LAMBDA))
    assert [case.work and case.work.cards for case in cases] == [2, 4, None]
    assert "alexnet" in cases[2].refusal
    found = training.predict({}, cases)
    assert 1 / found[0] == pytest.approx(280, rel=0.5)
    quicker, slower = (
        training.halves(cases, ["spec-only"] * 3, None, np.array([c.measured * off for c in cases]))
        for off in (2.0, 0.5)
    )
    assert np.isfinite(quicker).tolist() == np.isfinite(slower).tolist() == [True, True, False]
    assert (slower[:2] >= quicker[:2]).all()


def test_attention_taken_apart_has_the_same_products() -> None:
    whole = Kernel(
        kind="attention", name="aten._flash_attention", dtype="fp16", shape=(2, 4, 64, 64, 32, 4),
        flop=4.0 * 2 * 4 * 64 * 64 * 32, bytes_read=1e6, bytes_written=1e6, phase="forward",
    )  # fmt: skip
    apart = list(training.unfused([whole]))
    assert sum(kernel.flop for kernel in apart if kernel.kind == "matmul") == whole.flop
    assert sum(kernel.kind == "normalisation" for kernel in apart) == 1


def test_power_is_below_the_limit() -> None:
    cases = power.read(rows(POWER))
    assert [bool(case.refusal) for case in cases] == [False, True, True]
    assert 300 < power.predict({}, cases)[0] < 700


def test_a_timm_row_runs_the_trace_that_was_made_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = transformer("bert_large", batch=8, length=512, train=False)
    monkeypatch.setattr(vision, "trace_of", lambda *_: trace)
    now, before, learnt = vision.read(rows(TIMM))
    assert now.work == Work(trace)
    assert before.refusal
    assert learnt.refusal
    assert np.isfinite(vision.predict({}, [now, before, learnt])).tolist() == [True, False, False]


@pytest.mark.parametrize("gpu", ["t4", "a100-pcie-40gb", "rtx-4090", "h100-sxm5-80gb", "mi300x", "b200-sxm"])
def test_shipped_parameters_give_finite_times(gpu: str) -> None:
    trace = transformer("bert_large", batch=8, length=512, train=True)
    assert 0.005 < usual(trace, card(gpu)).seconds < 60.0


@pytest.mark.parametrize(
    ("path", "total", "active"),
    [
        ("deepseek-ai/DeepSeek-R1", 671e9, 37e9),
        ("Qwen/Qwen3-235B-A22B-FP8", 235e9, 22e9),
        ("MiniMaxAI/MiniMax-M2.5", 229e9, 10e9),
        ("zhipuai/GLM-5", 744e9, 40e9),
        ("someone/New-70B", 70e9, 70e9),  # Of its size alone.
        ("someone/New-100B-A10B", 100e9, 10e9),
    ],
)
def test_models_of_served_rows(path: str, total: float, active: float) -> None:
    model = serving.served(path)
    assert model.parameters == pytest.approx(total, rel=0.02)
    assert model.active == pytest.approx(active, rel=0.05)
    with pytest.raises(InputError):
        serving.served("someone/mystery")


def test_a_batch_touches_more_experts_up_to_all() -> None:
    model = serving.served("MiniMaxAI/MiniMax-M2.5")
    assert model.touched(1) == pytest.approx(model.chosen / model.experts)
    assert model.touched(1) < model.touched(16) < model.touched(10_000) <= 1.0


def test_products_fitted_anew_change_what_was_asked_for_alone() -> None:
    known = shipped("gemm")
    slower = {**known, "launch": known["launch"] + 0.2}
    shapes = [
        {"m": str(m), "n": "256", "k": str(k), "h200_sxm": "1"} for m in (1, 64, 512) for k in (64, 512)
    ]
    cases = gemm.read(shapes)
    times = gemm.predict(slower, cases)
    measured = [replace(case, measured=float(time)) for case, time in zip(cases, times, strict=True)]
    found = gemm.refit(measured, known, ["launch"])
    assert found.keys() == {"launch"}
    assert known["launch"] + 0.15 < found["launch"] < known["launch"] + 0.21
