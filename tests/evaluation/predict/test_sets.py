"""The scored sets read their columns, and refuse with a reason what they cannot predict."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from evaluation.predict.power_limit import stretch
from evaluation.predict.sets import eager, power, serving, training, vision
from evaluation.predict.shipped import parameters as shipped
from evaluation.predict.transformers import transformer
from gpuwise.predict.card import card
from gpuwise.predict.rates import on_card
from gpuwise.predict.step import usual

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
v1,2x A100 80GB PCIe,2,fp16,resnet50,2800,1,300
v2,LambdaOD_8x_Texas_4xH100_80GB_SXM5_1-2-3-4_v2,,fp32,ssd,1000,,
v1,RTX 3090,1,fp16,alexnet,100,1,350
"""
TIMM = """\
model,mode,precision,layout,compiled,torch,cuda,gpu,img_size,batch,samples_per_s,gmacs,macts,params_m
mobileone_s0,infer,amp,nchw,0,240,cu124,RTX 4090,224,1024,3552,1.09,15.48,5.29
mobileone_s0,infer,amp,nchw,0,291,cu128,RTX 4090,224,1024,18890,0.28,3.79,2.08
vit_base_patch16_224,infer,amp,nchw,0,113,cu117,RTX 3090,224,1024,1000,16.87,16.49,86.57
vit_base_patch16_224,infer,amp,nchw,0,240,cu124,RTX 3090,224,1024,1400,16.87,16.49,86.57
vit_base_patch16_224,infer,amp,nchw,0,240,cu124,RTX 3090,224,1024,1400,16.87,16.49,300
"""
POWER = """task,activated_params_billions,total_params_billions,avg_batch_size,avg_power_watts,gpu_model,\
max_num_seqs,model_id,num_gpus,weight_precision
gpqa,14.0,14.0,8,320,H100,8,Qwen/Qwen3-14B,1,bfloat16
weather,14.0,14.0,8,320,H100,8,Qwen/Qwen3-14B,1,bfloat16
gpqa,,,8,320,H100,8,someone/mystery,1,bfloat16
"""


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_eager() -> None:
    cases = eager.read(rows(NEUSIGHT))
    assert [bool(case.refusal) for case in cases] == [False, False, True, True, True]
    assert cases[0].rivals == {"neusight": 310.0}
    assert cases[1].part == "split"
    found = eager.predict(shipped("neusight"), cases)
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
    assert [case.work.cards for case in cases] == [2, 4, 1]
    assert "alexnet" in cases[2].refusal
    found = training.predict(shipped("lambda"), cases)
    assert 1 / found[0] == pytest.approx(3000, rel=0.5)


def test_power_is_below_the_limit() -> None:
    cases = power.read(rows(POWER))
    assert [bool(case.refusal) for case in cases] == [False, True, True]
    assert 100 < power.predict(shipped("power"), cases)[0] < 700


def test_timms_parameters_tell_which_network_ran_and_its_torch_how_attention_did() -> None:
    cases = vision.read(rows(TIMM))
    plain, merged, unfused, fused, other = (case.work.trace for case in cases)
    assert merged["n_conv"] < plain["n_conv"]
    assert merged["params"] < plain["params"]
    assert unfused["attn_flop"] == 0.0
    assert unfused["bmm_flop"] == fused["attn_flop"] > 0.0
    assert unfused["norm_elems"] > fused["norm_elems"]
    assert other["params"] == 3e8
    assert other["n_attn"] == 0.0
    times = vision.predict(shipped("timm"), cases)
    assert times[1] < times[0]
    assert times[3] < times[2]


@pytest.mark.parametrize("gpu", ["t4", "a100-pcie-40gb", "rtx-4090", "h100-sxm5-80gb", "mi300x", "b200-sxm"])
def test_shipped_parameters_give_finite_times(gpu: str) -> None:
    trace = transformer("bert_large", batch=8, length=512, train=True)
    assert 0.005 < usual(trace, card(gpu)).seconds < 60.0


def test_work_above_the_limit_is_stretched() -> None:
    found = card("rtx-4090")
    rates = on_card(shipped("timm"), found)
    one = np.array([1.0])
    assert stretch(rates, found, "fp16", one * 1e12, one * 1e9, one)[0] == 1.0
    assert stretch(rates, found, "fp16", one * 1e16, one * 1e9, one)[0] > 1.0
