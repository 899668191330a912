"""Records what the command line answers, and compares a later tree with it.

    python tools/snapshot.py record tests/data/snapshot-0.1.0.json.gz
    python tools/snapshot.py compare tests/data/snapshot-0.1.0.json.gz
    python tools/snapshot.py compare FILE --only predict
    python tools/snapshot.py list

Run it in the root of the tree: `src`, `results` and `examples` of the working directory are used. All
calls run in one process through the console entry, with an empty home, no GPU and one fixed day. Of a
call are kept: the exit code, and the parsed JSON; where there is none, the numbers that were printed or
stand in the table cells of a page. Words are not compared, so texts may be rewritten. A number may differ
by 1e-9; new keys and further numbers are allowed, missing ones are differences. Numbers inside of
sentences are compared only with --words.
"""

# ruff: noqa: E501, SIM905

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib
import io
import json
import math
import os
import re
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

DAY = 1_795_305_600.0  # 2026-11-22 noon UTC: ages of prices count from here
TOLERANCE = 1e-9
LONG = 64  # a longer list of numbers is kept as its length, sums and ends
VOLATILE = re.compile(
    r"(version|gpuwise|gpuwise_version|host|hostname|path|file|folder|command|pid|port|elapsed\w*|\w+_at)$"
)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)
TOKEN = re.compile(r"[^\s/]{1,60}$")

# ---------------------------------------------------------------------------------------------- inputs

MODEL = Path(__file__).with_name("my_model.py").read_text(encoding="utf-8")
PRICES = """gpu,amount,kind,count,seen_on,provider,currency
RTX 4090,0.40,on-demand,1,2026-11-01,cloud,USD
RTX 3090,0.15,on-demand,1,2026-11-01,cloud,USD
RTX 4090,1900,new,1,2026-11-01,shop,EUR
H100 SXM5 80GB,2.10,spot,8,2026-11-10,cloud,USD
"""
AIME_LOG = """OS: Linux, 6.8.0
Device-name: box
2 GPU(s) used for benchmark:
0: NVIDIA A100-SXM4-80GB
1: NVIDIA A100-SXM4-80GB
Nvidia GPU driver version: 570.1
Cuda-version: 12.4
PyTorch-version: 2.5.1
Model: resnet50
Global train batch size: 512
Local train batch size: 256
Precision: Automatic mixed precision
Compile-Mode: True
Benchmark start : 2025/03/14 18:14:27

Epoch 1

Epoch [1 / 1], Step [10 / 60], Loss: 7.03,  Images per second: 771.2
Epoch [1 / 1], Step [20 / 60], Loss: 7.00,  Images per second: 4800.0
Epoch [1 / 1], Step [30 / 60], Loss: 6.98,  Images per second: 4810.0
"""
IMPORTED_ARTICLE = """---
title: "NVIDIA RTX A5000: an example"
datePublished: Sat Jun 22 2024 18:30:00 GMT+0000
---
It ran tf_cnn_benchmarks. With FP32 a batch size of 64 was used, while FP16 tests had a batch size of 128.

| **Neural Network** | **Precision** | **1 GPU** | **2 GPUs** |
| --- | --- | --- | --- |
| **ResNet50** | FP16 | 812.5 | 1,601.3 |
|  | FP32 | 405.1 | n/a |
| **Inception v3** | FP16 | 500.2 | 950.5 |
| broken | FP16 | 1 |
"""
LAMBDA_CSV = """,ssd,bert_large_squad,resnet50
Cloud_1x_City_2xH100_80GB_SXM5_10_v2,1700.0,600.0,5500.0
RTX_A6000,300.0,0.0,780.0
A100_PCIe,400.0,118.0
"""
TIMM_CSV = """model,train_samples_per_sec,train_step_time,train_batch_size,train_img_size,param_count
resnet50,1210.5,423.0,512,224,25.56
vit_base_patch16_224.augreg_in1k,305.2,839.0,256,224,86.57
resnet50.a1_in1k,800.0,640.0,512,288,25.56
inception_v3,780.0,490.0,384,299,23.83
broken,12
"""
MILABENCH = {
    "resnet50": {
        "name": "resnet50",
        "n": 2,
        "train_rate": {"mean": 212.0, "median": 227.0},
        "per_gpu": {"0": {"mean": 210.0}, "1": {"mean": 214.0}},
    },
    "bert-tf32-fp16": {"n": 1, "train_rate": {"mean": 98.9}, "per_gpu": {"0": {"mean": 98.9}}},
}
SUPERBENCH = {
    "node": "n1",
    "resnet_models/pytorch-resnet50/throughput_train_float32": 400.5,
    "resnet_models/pytorch-resnet50/steptime_train_float32": 80.0,
    "bert_models/pytorch-bert-large/throughput_train_float16": 154.8,
}
NVIDIA_README = """# ResNet50 v1.5 For PyTorch

## Performance
### Results
#### Training performance results

##### Training performance: NVIDIA DGX A100 (8x A100 80GB)

| **GPUs** | **Throughput - TF32** | **Throughput - mixed precision** | **Throughput speedup** | **Scaling** |
|:---:|:---:|:---:|:---:|:---:|
| 1 | 900 img/s | 2400 img/s | 2.6 x | 1.0 x |
| 8 | 7000 img/s | - | 2.3 x | 7.7 x |
"""
MLPERF = "\n".join(
    ":::MLLOG " + json.dumps({"key": key, "value": value, "time_ms": at, "metadata": more})
    for key, value, at, more in (
        ("submission_benchmark", "resnet", 1_655_293_400_000, {}),
        ("submission_org", "Maker", 1_655_293_400_000, {}),
        ("submission_platform", "2xBOX", 1_655_293_400_000, {}),
        ("global_batch_size", 3200, 1_655_293_400_000, {}),
        ("train_samples", 1_281_167, 1_655_293_400_000, {}),
        ("run_start", None, 1_655_293_400_000, {}),
        ("epoch_stop", None, 1_655_294_000_000, {"epoch_num": 36}),
        ("run_stop", None, 1_655_294_000_000, {"status": "success"}),
    )
)
SETS = {
    "gemm": "m,n,k,h100_sxm,l40s,toaster\n4096,4096,4096,0.21,0.6,1\n16,4096,4096,0.013,0.045,1\n"
    "8192,8192,1024,0.25,0.9,1\n512,2048,8192,0.06,0.15,1\n",
    "neusight": """model,mode,seq_len,batch,option,precision,gpu,num_layer,measured_ms,pred_neusight_ms
bert_large,infer_fwd,512,8,,"fp32(no TF32, eager attention)",NVIDIA_L4,24,300,310
gpt2_large,train_fwd_bwd,1024,4,tp4,fp32,NVIDIA_A100-SXM4-40GB,24,480,
bert_large,infer_fwd,512,8,,fp16,NVIDIA_L4,24,300,
mystery,infer_fwd,512,8,,fp32,NVIDIA_L4,24,300,
bert_large,infer_fwd,512,8,,fp32,Unknown 9,24,300,
""",
    "serving": "backend,model_path,system,precision,mode,isl,osl,gemm_quant_mode,moe_quant_mode,batch_size,"
    "tp_size,attention_dp_size,moe_tp_size,moe_ep_size,silicon_ttft_ms,silicon_tpot_ms,pred_aic_ttft_ms\n"
    "vllm,meta-llama/Llama-3.1-70B,h100_sxm,fp8,agg,1024,1024,fp8,fp8,16,4,1,1,1,200,14,150\n"
    "vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,agg,1024,1024,fp8,fp8,32,4,1,1,1,220,12,150\n"
    "vllm,deepseek-ai/DeepSeek-R1,h100_sxm,fp4,agg,1024,1024,nvfp4,nvfp4,16,8,1,8,1,200,14,\n",
    "lambda": """set,gpu,num_gpu,precision,model,train_throughput,price_usd,tdp_w
v1,2x A100 80GB PCIe,2,fp16,resnet50,2800,1,300
v1,RTX 3090,1,fp16,resnet50,1000,1,350
v2,LambdaOD_8x_Texas_4xH100_80GB_SXM5_1-2-3-4_v2,,fp32,ssd,1000,,
v1,RTX 3090,1,fp16,alexnet,100,1,350
""",
    "timm": """\
model,mode,precision,layout,compiled,torch,cuda,gpu,img_size,batch,samples_per_s,gmacs,macts,params_m
mobileone_s0,infer,amp,nchw,0,240,cu124,RTX 4090,224,1024,3552,1.09,15.48,5.29
vit_base_patch16_224,infer,amp,nchw,0,113,cu117,RTX 3090,224,1024,1000,16.87,16.49,86.57
vit_base_patch16_224,infer,amp,nchw,0,240,cu124,RTX 3090,224,1024,1400,16.87,16.49,86.57
resnet50,train,amp,nchw,0,240,cu124,RTX 4090,224,256,1500,4.11,11.11,25.56
""",
    "power": """task,activated_params_billions,total_params_billions,avg_batch_size,avg_power_watts,gpu_model,\
max_num_seqs,model_id,num_gpus,weight_precision
gpqa,14.0,14.0,8,320,H100,8,Qwen/Qwen3-14B,1,bfloat16
gpqa,8.0,8.0,64,480,H100,64,Qwen/Qwen3-8B,1,bfloat16
weather,14.0,14.0,8,320,H100,8,Qwen/Qwen3-14B,1,bfloat16
""",
}
PAGE = """<html><body><h1>RTX 3090 and RTX 4090</h1><table>
<tr><th></th><th>RTX 3090</th><th>RTX 4090</th></tr>
<tr><td>Memory</td><td>24 GB</td><td>48 GB</td></tr>
<tr><td>Memory bandwidth</td><td>936 GB/s</td><td>1,008 GB/s</td></tr>
<tr><td>TDP</td><td>350 W</td><td>450 W</td></tr></table>
<p>An H100 SXM rents for $2.49/h and reaches 989 TFLOPS in BF16.</p></body></html>
"""
KEPT = ("h200/resnet50-parity.json", "h200/quick.json", "h200/bert-large-tuned.json", "known/h200.json")
"""Results that are in the store for calls whose folder is `kept`."""


def inputs(folder: Path) -> None:
    """Write every file that a call names."""
    (folder / "my_model.py").write_text(MODEL)
    (folder / "prices.csv").write_text(PRICES)
    (folder / "aime.log").write_text(AIME_LOG)
    (folder / "article-a5000.md").write_text(IMPORTED_ARTICLE)
    (folder / "pytorch-train-throughput-v2-fp16.csv").write_text(LAMBDA_CSV)
    (folder / "benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv").write_text(TIMM_CSV)
    (folder / "summary.json").write_text(json.dumps(MILABENCH))
    (folder / "superbench.jsonl").write_text(json.dumps(SUPERBENCH))
    (folder / "README-resnet.md").write_text(NVIDIA_README)
    (folder / "mlperf.log").write_text(MLPERF)
    (folder / "page.html").write_text(PAGE)
    (folder / "figures.csv").write_text("gpu,memory,tdp\nRTX 4090,24 GB,450 W\nA100 PCIe 80GB,80 GB,400 W\n")
    (folder / "note.txt").write_text("The RTX 4090 has 24 GB and 16,384 CUDA cores; the L40S has 864 GB/s.\n")
    (folder / "broken.json").write_text('{"schema": 1, "id": ')
    (folder / "empty.json").write_text("")
    for name, text in SETS.items():
        (folder / f"set-{name}.csv").write_text(text)


# ----------------------------------------------------------------------------------------------- calls

H = "results/h200/"
RESULTS = (
    [
        H + name + ".json"
        for name in (
            "accept aime-earlier aime auto-batch bert-large-fp8-192 bert-large-parity bert-large-tuned "
            "full-dit-512 full-pretrain infer-compiled jax-2 jax limits-four limits llm-1b-prefill-8k-tf32 "
            "quick-earlier quick repeat-1 resnet50-compiled-fp32 resnet50-parity-earlier resnet50-parity "
            "resnet50-tuned scaling-bert-large scaling-eager-three scaling-resnet50-2048 scenarios-compiled "
            "scenarios-int8 scenarios-lora scenarios-unet suite-tf-cnn-compiled suite-tf-cnn-two tf32-eager "
            "tune-bert-large-bf16 tune-bert-large-fp8 tune-resnet152-fp16-earlier workloads-bert-input "
            "workloads-bert workloads-llm workloads-science workloads-vision"
        ).split()
    ]
    + ["results/known/h200.json"]
    + [
        f"results/experiments/{name}.json"
        for name in (
            "bert-large-fp8-wrong compile-googlenet int8-slow killed-rank plain-attention-tf32 region-block-cpu "
            "region-step-cpu tf-cnn-tensorflow-toy tune-bert-base tune-resnet50-bf16"
        ).split()
    ]
)
NO_RESULTS = [
    "results/accept/verdict.json", "results/accept/health.json", "results/experiments/recipes-1.json",
    "results/predict/steps.json", "broken.json", "empty.json", "no-such-file.json", "results",
]  # fmt: skip
GPUS = "rtx-4090,rtx-5090,rtx-a5000,l40s,a100-pcie-80gb,h100-sxm5-80gb,h200-sxm,mi300x"
Call = dict[str, Any]


def call(line: str, *, take: str = "json", out: str | None = None, home: str = "empty", **more: Any) -> Call:
    """One call; `{}` in a word is a space. `take`: json adds --json; numbers; shape; code."""
    words = [word.replace("{}", " ") for word in line.split()]
    words += ["--json"] if take in ("json", "shape") and out is None and "--json" not in words else []
    words += ["-o", out] if out else []
    return {"args": words, "take": take, "home": home, "out": out, **more}


def calls() -> Iterator[Call]:
    yield from _catalog()
    yield from _results()
    yield from _predict()
    yield from _choose()
    yield from _money()
    yield from _judged()
    yield from _machines()
    yield from _pages()
    yield from _measured()


def _catalog() -> Iterator[Call]:
    yield call("gpus")
    for line in (
        "gpus 24GB.. ampere", "gpus H100:8", "gpus RTX4090,RTX5090 --sort -price", "gpus ..16GB consumer",
        "gpus amd --sort memory", "gpus sxm --sort price", "gpus laptop", "gpus intel", "gpus nosuch",
    ):  # fmt: skip
        yield call(line, take="numbers")
    yield call("gpus 24GB..48GB --sort price", take="numbers")
    yield call("gpus hopper", take="numbers", out="gpus.csv")
    yield call("gpus ada", take="numbers", out="gpus.md")
    for gpu in (
        "rtx-4090 rtx-5090 rtx-a5000 a100-pcie-80gb a100-sxm4-80gb h100-sxm5-80gb h200-sxm b200-sxm l40s l4 t4 "
        "v100-sxm2-32gb mi300x rtx-3090 rtx-2080-ti rtx-6000-ada"
    ).split():
        yield call(f"show {gpu}")
    yield call("show rtx-4090", take="numbers")
    for gpu in ("rtx-4090", "a100-pcie-80gb", "h200-sxm", "mi300x"):
        yield call(f"show {gpu} --for-whom")
    for name in ("h100", "a100", "rtx{}4080", "4090", "RTX{}A5000", "nosuch", "v100"):
        yield call(f"show {name}", take="numbers")
    yield call("show rtx-a5000", take="numbers", out="card.html")
    yield call("show h200-sxm", take="numbers", out="card.html")
    yield call("show l40s", take="numbers", out="card.md")
    for pair in (
        "rtx-a5000 rtx-4090", "a100-sxm4-80gb h100-sxm5-80gb", "rtx-3090 rtx-4090 rtx-5090", "mi300x h200-sxm",
        "l4 t4", "h100 h200",
    ):  # fmt: skip
        yield call(f"compare {pair}")
    yield call("compare rtx-a5000 rtx-4090", take="numbers")
    yield call("compare rtx-a5000 rtx-a4000 --article")
    yield call("compare rtx-4090 a100-pcie-80gb --article", take="numbers")
    yield call("compare rtx-a5000 rtx-a4000 --article", take="numbers", out="article.html")
    yield call(f"compare h200-sxm h100-sxm5-80gb --article --file {H}resnet50-parity.json")
    yield call("workloads")
    yield call("workloads", take="numbers")
    yield call("workloads resnet50 bert-large llm-1b-decode")
    yield call("workloads ./my_model.py")
    yield call("workloads served:llama-3.1-70b")
    yield call("workloads nosuch", take="code")


def _results() -> Iterator[Call]:
    for path in RESULTS + NO_RESULTS:
        yield call(f"show {path}")
    for path in (H + "quick.json", H + "limits-four.json", "results/known/h200.json"):
        yield call(f"show {path}", take="numbers")
        yield call(f"show {path} --full", take="numbers")
        yield call(f"show {path} --chart", take="numbers")
    yield call(f"show {H}jax.json", take="numbers", out="shown.csv")
    yield call(f"show {H}jax.json", take="numbers", out="shown.svg")
    yield call("show last", home="empty")
    yield call("show last", home="kept")
    yield call("show last", home="kept", take="numbers")
    yield call("", take="numbers", home="kept")
    for words in (
        f"{H}resnet50-parity-earlier.json {H}resnet50-parity.json", f"{H}quick-earlier.json {H}quick.json",
        f"results/known/h200.json {H}resnet50-parity.json", f"{H}repeat-1.json {H}repeat-2.json {H}repeat-3.json",
        f"{H}scaling-bert-large.json {H}scaling-bert-large-after.json", f"{H}limits-two.json {H}limits-four.json",
        f"{H}resnet50-tuned-eager.json {H}resnet50-tuned.json", f"{H}suite-tf-cnn.json {H}suite-tf-cnn-compiled.json",
    ):  # fmt: skip
        yield call(f"compare {words}")
    yield call(f"compare {H}repeat-1.json {H}repeat-2.json", take="numbers")
    yield call(f"compare {H}resnet50-parity-earlier.json {H}resnet50-parity.json --fail-if slower>5%")
    yield call(f"compare {H}resnet50-tuned.json {H}resnet50-tuned-eager.json --fail-if slower>0.1%")
    yield call(f"compare {H}repeat-1.json last", home="kept")
    yield call(f"compare {H}repeat-1.json {H}repeat-2.json", take="numbers", out="ratios.svg")
    yield call(f"compare {H}repeat-1.json {H}repeat-2.json", take="numbers", out="ratios.csv")
    yield call("results")
    yield call("results", home="kept")
    for words in (
        "resnet50", "resnet50 --mode train", "resnet50 --mode infer", "resnet50 --precision tf32",
        "resnet50 --gpus 8", "resnet50 --gpu 4090", "resnet50 --gpu a100-sxm4", "bert-large",
        "bert-large --mode train --precision fp16", "inception-v3", "googlenet", "llm-8b-decode", "ssd",
        "resnet50 --source server_gear", "nosuch", f"resnet50 --file {H}resnet50-parity.json",
        f"bert-large --file {H}bert-large-tuned.json --file {H}bert-large-fp8.json",
    ):  # fmt: skip
        yield call(f"results {words}")
    yield call("results resnet50", home="kept")
    yield call("results bert-large --gpu h200-sxm", home="kept")
    yield call("results resnet50 --mode train", take="numbers")
    for name in (
        "aime.log", "article-a5000.md", "pytorch-train-throughput-v2-fp16.csv", "superbench.jsonl",
        "benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv", "README-resnet.md", "mlperf.log", "note.txt",
    ):  # fmt: skip
        yield call(f"results --import {name}")
    yield call("results --import summary.json --gpu h200-sxm")
    yield call("results resnet50 --import aime.log --format aime")


def _predict() -> Iterator[Call]:
    for workload in (
        "resnet50 resnet152 inception-v3 googlenet vit-b16 bert-base bert-large bert-large-pretrain-s512 llm-124m "
        "llm-1b llm-1b-lora llm-8b-lora unet-sd15 dit-xl2"
    ).split():
        yield call(f"predict {workload} --gpu {GPUS}")
    for workload in (
        "llm-8b-prefill",
        "llm-8b-decode",
        "llm-1b-decode-8k",
        "resnet50",
        "dit-xl2",
        "unet-sd15",
    ):
        yield call(f"predict {workload} --mode infer --gpu {GPUS}")
    for line in (
        "resnet50", "bert-large --gpu 24GB.. --sort efficiency", "llm-8b-decode --mode infer --gpu all --batch 16",
        "resnet50 --gpu rtx-4090,h100-sxm --precision fp32", "resnet50 --gpu h200-sxm --precision tf32 --batch 64",
        "resnet50 --gpu h200-sxm --precision fp16 --compile off", "resnet50 --gpu h200-sxm --recipe parity",
        "bert-large --gpu rtx-4090 --gpus 4", "bert-large --gpu h100-sxm5-80gb --gpus 8 --batch 64",
        "llm-1b --gpu a100-sxm4-80gb,h100-sxm5-80gb --gpus 8", "llm-8b-lora --gpu l40s,rtx-4090 --batch 1",
        f"resnet50 --gpu h200-sxm,h100-sxm --calibrate {H}limits.json",
        f"resnet50 --gpu h200-sxm,rtx-4090 --calibrate {H}resnet50-parity.json --precision fp16",
        f"resnet50 --gpu rtx-4090,l40s --from {H}resnet50-tuned.json",
        f"bert-large --gpu rtx-4090,h100-sxm --from {H}bert-large-tuned.json", "fft --gpu h200-sxm",
        "bert-large --gpu h200-sxm --precision fp8", "resnet50 --gpu rtx-2080-ti,t4 --sort memory",
        "vit-b16 --gpu mi300x,l4 --sort power", "llm-8b-decode --gpu l40s", "nosuch --gpu l40s",
        "resnet50 --gpu nosuch", "resnet50 --batch many",
    ):  # fmt: skip
        yield call(f"predict {line}")
    yield call("predict resnet50 --gpu rtx-4090,h100-sxm", take="numbers")
    for line in (
        "llama-3.1-70b --gpu h100-sxm --gpus 4", "llama-3.1-70b --gpu h200-sxm --gpus 4 --precision fp8",
        "llama-3.1-8b --gpu l40s,rtx-4090,h100-sxm", "llama-3.1-8b --gpu a100-sxm4-80gb --prompt 4096 --answer 256",
        "llama-3.1-8b --gpu h100-sxm --batch 32", "nosuch --gpu l40s", "qwen3-32b --gpu h100-sxm --gpus 2",
    ):  # fmt: skip
        yield call(f"predict served:{line}")
    yield call("predict ./my_model.py --gpu rtx-4090,h100-sxm")
    yield call("predict ./my_model.py --mode infer --batch 64 --gpu l40s --precision fp32 --compile off")
    for name in SETS:
        yield call(f"validate --set {name} --data set-{name}.csv")
    yield call("validate --set gemm --data set-gemm.csv", take="numbers")
    yield call("validate --set gemm --data set-gemm.csv --owned")
    yield call("validate --set gemm --data set-gemm.csv --transfer h100_sxm")
    yield call("validate --set gemm --data set-gemm.csv --holdout gpu")
    yield call("validate --set timm --data set-gemm.csv", take="code")


def _choose() -> Iterator[Call]:
    yield call("choose resnet50")
    yield call("choose resnet50 --top 3", take="numbers")
    for line in (
        "bert-large --top 5", "resnet50 --mode infer --top 5", "llm-8b-lora --top 5", "dit-xl2 --rent --top 5",
        "llm-8b --mode infer --work 50M{}tokens/day --latency TPOT<=30ms --gpus 1..2 --top 3",
        "llm-8b-prefill --mode infer --latency TTFT<=2s --top 3", "unet-sd15 --mode infer --top 3 --rejected",
        "llm-1b --mode train --work 20B{}tokens --deadline 14d --gpus 1..8 --top 5",
        "resnet50 --work 300{}epochs{}of{}1.3M{}images --own --budget $2000 --host $0 --top 5",
        "resnet50 --work 3{}epochs{}of{}1.3M{}images --own --prices prices.csv --rate EUR=1.08 --top 4",
        "resnet50 --work 1M{}images --rent --prices prices.csv --rate EUR=1.08 --provider cloud --rejected",
        "bert-large --work 1M{}sequences --deadline 24h --budget $50 --both --top 5",
        "bert-large --have rtx-3090:2 --top 5", f"resnet50 --measured {H}resnet50-tuned.json --top 5",
        f"bert-large --have {H}bert-large-tuned.json --top 4", "resnet50=2,bert-large=1 --top 5",
        "large-model-training --top 3", "llm-inference --top 3", "llm-finetuning --top 3", "vision-cnn --top 3",
        "vision-diffusion --top 3", "scientific-fp64 --top 3", "mobile --top 3", "fft --top 4", "cholesky --top 3",
        "resnet50 --own --electricity $0.40/kWh --hours-per-week 40 --years 3 --depreciation 50% --top 4",
        "resnet50 --own --host-power 200W --cooling 1.4 --utilisation 60% --host $800 --top 4",
        "resnet50 --memory 40GB.. --power 850W --slots 4 --form pcie --gpus 1..4 --top 4 --own",
        "resnet50 --spot ok --rent --top 5 --every-provider", "resnet50 --newer-than 90d --top 5",
        "resnet50 --precision fp32 --compile off --batch 64 --top 3", "resnet50 --budget $2/h --top 4",
        "nosuch", "resnet50 --budget nothing", "resnet50 --latency soon", "resnet50 --top 0",
    ):  # fmt: skip
        yield call(f"choose {line}")
    yield call("choose resnet50 --wide --top 4", take="numbers")
    yield call("choose resnet50 --top 4", out="choice.json")
    yield call("choose choice.json", needs="choice.json")
    yield call("choose resnet50 --top 4", take="numbers", out="choice.csv")
    yield call("choose --model ./my_model.py --top 3")


def _money() -> Iterator[Call]:
    yield call("prices")
    for line in (
        "h100 --spot", "rtx a5000 --kind on-demand,spot", "h100:8 --provider aws --max $7/h --newer-than 90d",
        "h100 --count 8 --region US-EAST-1", "rtx-a5000 --max $3000", "a100 --provider aws --on-demand",
        "a100 --provider aws --on-demand --all", "rtx-4090 --prices prices.csv --rate EUR=1.08", "nosuch",
        "h200 --sort date", "l40s --sort provider --top 0", "mi300x", "v100 --newer-than 1y", "t4 --wide",
        "rtx-4090 --prices prices.csv", "h100 --max cheap",
    ):  # fmt: skip
        yield call(f"prices {line}")
    yield call("prices h100", take="numbers")
    yield call("prices", take="numbers")
    yield call("prices h100", take="numbers", out="prices.md")


def _judged() -> Iterator[Call]:
    yield call("audit examples/article.md")
    yield call("audit examples/article.md --all")
    yield call("audit examples/article.md", take="numbers")
    for path in (
        "page.html", "figures.csv", "note.txt", "article-a5000.md", "README-resnet.md", H + "quick.json",
        H + "aime.json", H + "limits.json", H + "scaling-resnet50.json", H + "jax.json",
        "results/experiments/bert-large-fp8-wrong.json", "results/known/h200.json", "broken.json", "empty.json",
    ):  # fmt: skip
        yield call(f"audit {path}")
        yield call(f"audit {path} --all")
    yield call(f"audit {H}quick.json examples/article.md", take="numbers")
    yield call("audit -", stdin="The RTX 4090 has 12 GB of memory and draws 450 W.\n")
    yield call("audit examples/article.md", take="numbers", out="audit.csv")
    for words in (
        f"{H}repeat-1.json {H}repeat-2.json {H}repeat-3.json", H + "accept.json", "results/h200 --margin 15%",
        f"{H}quick.json --against {H}quick-earlier.json", f"{H}accept.json --against h200-sxm --margin 10%",
        f"{H}limits-four.json", "results/accept/verdict.json", "results/accept", f"{H}limits.json --against nosuch",
        f"{H}limits.json --margin wide",
    ):  # fmt: skip
        yield call(f"accept {words}")
    yield call(f"accept {H}accept.json", take="numbers")
    yield call(f"accept {H}repeat-1.json {H}repeat-2.json", take="numbers", out="verdict.md")


def _machines() -> Iterator[Call]:
    yield call("launch slurm --nodes 2 --gpus-per-node 8 --dry-run -- resnet50 --mode train", take="numbers")
    yield call("launch slurm --dry-run --json --sbatch=--partition=gpu -- bert-large", take="numbers")
    yield call("launch slurm --dry-run --time soon -- resnet50", take="code")
    yield call("launch kubernetes --nodes 2 --image me/it --claim results -- resnet50", take="numbers")
    yield call("launch kubernetes --image me/it --name My{}Job -- bert-large", take="code")
    yield call(f"merge {H}repeat-1.json {H}repeat-2.json")
    yield call(f"merge {H}limits-two.json")
    yield call("nosuch", take="code")
    yield call("--help", take="code")
    for verb in (
        "bench tune reproduce accept launch merge show compare report serve gpus results choose prices audit predict "
        "validate workloads doctor"
    ).split():
        yield call(f"{verb} --help", take="code")


def _pages() -> Iterator[Call]:
    one = [
        "resnet50-tuned quick", "aime", "limits-four", "scaling-resnet50 scaling-bert-large", "jax",
        "suite-tf-cnn suite-tf-cnn-two suite-tf-cnn-four", "workloads-llm", "scenarios-vision",
        "workloads-science workloads-input", "tune-resnet50-fp16", "repeat-1 repeat-2 repeat-3",
    ]  # fmt: skip
    for names in one:
        paths = " ".join(f"{H}{name}.json" for name in names.split())
        yield call(f"report {paths}", take="numbers", out="report.html")
    yield call(f"report {H}quick.json")
    yield call(f"report {H}aime.json", take="numbers")
    yield call("report", home="kept")
    yield call(f"report {H}resnet50-tuned.json", take="numbers", out="again.html")
    yield call("show again.html", needs="again.html")
    yield call("compare again.html again.html", needs="again.html")
    yield call(f"report {H}quick.json", take="numbers", out="report.svg")
    yield call(f"report {H}quick.json", take="numbers", out="report.txt")


def _measured() -> Iterator[Call]:
    small = "--toy --device cpu --quick --time 0.3s --mode infer --precision fp32"
    yield call(f"bench resnet50 {small} --batch 8", take="shape", home="bench")
    yield call(f"bench ./my_model.py {small} --batch 8,16", take="shape", home="bench")
    yield call("bench resnet50 --toy --device cpu --precision fp8", take="code")
    yield call("bench nosuch", take="code")
    yield call("bench resnet50 --precision fp12 --device cpu", take="code")
    yield call("bench resnet50 --batch many --device cpu", take="code")
    yield call("bench --suite nosuch --device cpu", take="code")
    yield call("tune nosuch --device cpu", take="code")
    yield call("reproduce no-such-file.json", take="code")


# ------------------------------------------------------------------------------------------- one answer


def numbers(text: str) -> list[float]:
    """The numbers of a text, smallest first."""
    return sorted(float(found.replace(",", "")) for found in NUMBER.findall(text))


class Cells(HTMLParser):
    """The numbers in the table cells of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag in ("td", "th"):
            self._depth += 1
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._depth = max(0, self._depth - 1)

    def handle_data(self, data: str) -> None:
        if self._depth:
            self.found[-1] += data


def cells(page: str) -> list[float]:
    parser = Cells()
    parser.feed(page)
    return numbers("\n".join(cell.strip() for cell in parser.found if len(cell) < 60))


def digits(value: float) -> float | int | str:
    """With 12 significant digits."""
    if isinstance(value, int):
        return value
    return float(f"{value:.12g}") if math.isfinite(value) else repr(value)


def packed(value: Any, key: str = "") -> Any:
    """A JSON document without what changes from run to run, and without words."""
    if isinstance(value, dict):
        return {k: packed(v, k) for k, v in value.items() if not VOLATILE.match(k)}
    if isinstance(value, list):
        if len(value) > LONG and all(type(v) in (int, float) for v in value):
            weighted = sum(v * (place % 17 + 1) for place, v in enumerate(value))
            kept = (sum(value), weighted, min(value), max(value), value[0], value[-1])
            return {"#": len(value), "of": [digits(v) for v in kept]}
        return [packed(v) for v in value]
    if isinstance(value, str):
        if TOKEN.match(value):
            return "=" + value
        mark = "~" if len(value) <= 40 and NUMBER.match(value.lstrip("$~±<> ")) else "."
        return mark + " ".join(f"{number:.12g}" for number in numbers(value))
    return digits(value) if isinstance(value, float) else value


def shape(value: Any) -> Any:
    """Keys and kinds: what a measurement of this machine has in common with the next."""
    if isinstance(value, dict):
        return {k: shape(v) for k, v in value.items() if not VOLATILE.match(k) and k != "environment"}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "=number"
    return ".text" if isinstance(value, str) else value


class Stream(io.TextIOWrapper):
    """Standard output or input as bytes and text, as a pipe is."""

    def __init__(self, text: str = "") -> None:
        super().__init__(io.BytesIO(text.encode()), encoding="utf-8", write_through=True)

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode(errors="replace")  # type: ignore[attr-defined]


def entry() -> Callable[[list[str]], None]:
    """The console entry of the tree in the working directory."""
    script = "gpuwise.cli.main:run"
    with contextlib.suppress(OSError, KeyError):
        script = tomllib.loads(Path("pyproject.toml").read_text())["project"]["scripts"]["gpuwise"]
    module, name = script.split(":")
    return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]


class World:
    """A folder of inputs, homes that are empty, and one day."""

    def __init__(self, folder: Path) -> None:
        root = Path.cwd()
        self.folder, self.tree = folder, root
        source = root / "src"
        if source.is_dir():
            sys.path.insert(0, str(source))
            os.environ["PYTHONPATH"] = str(source)
        self.run = entry()
        self.work = folder / "work"
        self.work.mkdir()
        for name in ("results", "examples"):
            (self.work / name).symlink_to(root / name)
        inputs(self.work)
        for variable in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            os.environ[variable] = str(folder / "user")
        os.environ.update(
            COLUMNS="200", LINES="50", TERM="dumb", NO_COLOR="1", CUDA_VISIBLE_DEVICES="", TZ="UTC",
            TRITON_INTERPRET="1", OMP_NUM_THREADS="1",
        )  # fmt: skip
        for variable in ("GPUWISE_TOKEN", "FORCE_COLOR"):
            os.environ.pop(variable, None)
        kept = folder / "homes" / "kept" / "results"
        kept.mkdir(parents=True)
        for place, name in enumerate(KEPT):
            text = (root / "results" / name).read_bytes()
            (kept / f"2026112{place}-000000-h200-sxm-{place:04x}.json").write_bytes(text)

    def answer(self, one: Call) -> dict[str, Any]:
        """Exit code and what is kept of the rest."""
        os.environ["GPUWISE_HOME"] = str(self.folder / "homes" / one["home"])
        out, err = Stream(), Stream()
        began, real = time.time(), time.time
        before = Path.cwd(), sys.argv, sys.stdin, sys.stdout, sys.stderr
        os.chdir(self.work)
        target = self.work / one["out"] if one["out"] else None
        if target is not None:
            target.unlink(missing_ok=True)
        code: Any = 0
        time.time = lambda: DAY + real() - began  # date.today() asks it
        sys.argv, sys.stdin = ["gpuwise", *one["args"]], Stream(one.get("stdin", ""))
        sys.stdout, sys.stderr = out, err
        try:
            self.run(list(one["args"]))
        except SystemExit as leave:
            code = leave.code or 0
        except BaseException as failure:  # noqa: BLE001
            code = f"{type(failure).__name__}: {failure}"
        finally:
            time.time = real
            folder, sys.argv, sys.stdin, sys.stdout, sys.stderr = before
            os.chdir(folder)
        written = target.read_text(errors="replace") if target is not None and target.is_file() else None
        return {"exit": code, "what": kept(one, out.text() if written is None else written)}


def kept(one: Call, text: str) -> Any:
    """What of a text counts."""
    suffix = Path(one["out"]).suffix if one["out"] else ""
    if one["take"] == "code":
        return None
    if one["take"] in ("json", "shape") and suffix in ("", ".json"):
        try:
            document = json.loads(text)
        except ValueError:
            return {"no JSON": bool(text.strip())} if text.strip() else None
        return shape(document) if one["take"] == "shape" else packed(document)
    found = cells(text) if suffix == ".html" else numbers(text)
    if len(found) > 2000:
        found = [*found[:1000], *found[-1000:]]
    return {"numbers": [digits(number) for number in found]}


# ------------------------------------------------------------------------------------------ differences

Difference = tuple[str, str]
"""How grave (hard or words), and what."""


def differences(old: Any, new: Any, path: str = "") -> Iterator[Difference]:
    if isinstance(old, dict) and isinstance(new, dict):
        if set(old) == {"numbers"} and "numbers" in new:
            gone = Counter(map(_close, old["numbers"])) - Counter(map(_close, new["numbers"]))
            if gone:
                some = ", ".join(f"{number:g}" for number in sorted(gone)[:8])
                yield "hard", f"{sum(gone.values())} of {len(old['numbers'])} numbers are gone: {some}"
            return
        for key, value in old.items():
            here = f"{path}.{key}" if path else key
            if key in new:
                yield from differences(value, new[key], here)
            else:
                yield "hard", f"{here} is missing"
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield "hard", f"{path}: {len(old)} entries, now {len(new)}"
        for place, (a, b) in enumerate(zip(old, new, strict=False)):
            yield from differences(a, b, f"{path}[{place}]")
    elif isinstance(old, str) and isinstance(new, str):
        if old != new and not (old[:1] == new[:1] == "." and _holds(old, new)):
            words = old[:1] == "." or (old[:1] == "=" and new[:1] == ".")
            yield "words" if words else "hard", f"{path}: {old[1:]!r}, now {new[1:]!r}"
    elif not same(old, new):
        yield "hard", f"{path}: {_short(old)}, now {_short(new)}"


def same(old: Any, new: Any) -> bool:
    if isinstance(old, bool) or isinstance(new, bool) or old is None or new is None:
        return old is new
    if isinstance(old, int | float) and isinstance(new, int | float):
        return math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=1e-15)
    return bool(old == new)


def _close(number: float) -> float:
    return float(f"{float(number):.9g}")


def _holds(old: str, new: str) -> bool:
    return not Counter(old[1:].split()) - Counter(new[1:].split())


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 80 else text[:77] + "..."


# ------------------------------------------------------------------------------------------------ verbs


def name_of(one: Call) -> str:
    words = " ".join(repr(word) if " " in word or not word else word for word in one["args"]) or "(no verb)"
    return words if one["home"] == "empty" else f"{words}  [{one['home']}]"


def record(path: Path, asked: list[Call], *, verbose: bool) -> None:
    answers, took = [], []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        world = World(Path(folder))
        for one in asked:
            began = time.perf_counter()
            answers.append({"call": one, **world.answer(one)})
            took.append((time.perf_counter() - began, name_of(one)))
            if verbose:
                print(f"{took[-1][0]:6.2f} s  {answers[-1]['exit']!s:>3}  {took[-1][1]}", flush=True)
    text = json.dumps({"snapshot": 1, "answers": answers}, separators=(",", ":"), ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    codes = Counter(str(answer["exit"]) for answer in answers)
    total = sum(seconds for seconds, _ in took)
    print(f"{len(answers)} calls in {total:.0f} s, exit codes {dict(codes)}, {path.stat().st_size:,} bytes")


def compare(path: Path, only: str, *, words: bool, most: int, verbose: bool) -> int:
    answers = json.loads(gzip.decompress(path.read_bytes()))["answers"]
    wanted = [answer for answer in answers if only in name_of(answer["call"])]
    needed = {answer["call"].get("needs") for answer in wanted} - {None}
    began, differing, worded = time.perf_counter(), 0, 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        world = World(Path(folder))
        for old in answers:
            one = old["call"]
            if old not in wanted:
                if one["out"] in needed:
                    world.answer(one)
                continue
            started = time.perf_counter()
            new = json.loads(json.dumps(world.answer(one)))
            found = list(differences(old["what"], new["what"]))
            if old["exit"] != new["exit"]:
                found.insert(0, ("hard", f"exit code {old['exit']}, now {new['exit']}"))
            hard = [text for grave, text in found if grave == "hard" or words]
            worded += sum(grave == "words" for grave, _ in found)
            if verbose:
                print(f"{time.perf_counter() - started:6.2f} s  {name_of(one)}", flush=True)
            if hard:
                differing += 1
                print(f"gpuwise {name_of(one)}")
                for text in hard[:most]:
                    print(f"    {text}")
                if len(hard) > most:
                    print(f"    and {len(hard) - most} more")
    print(
        f"{len(wanted)} calls in {time.perf_counter() - began:.0f} s: {differing or 'none'} differ"
        + (f"; {worded} sentences with other numbers (--words)" if worded and not words else "")
    )
    return 1 if differing else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("verb", choices=("record", "compare", "list"))
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="calls that contain it")
    parser.add_argument("--words", action="store_true", help="numbers inside of sentences count as well")
    parser.add_argument("--most", type=int, default=6, help="differences shown of a call")
    parser.add_argument("--verbose", action="store_true", help="each call with its time")
    asked = parser.parse_args()
    chosen = [one for one in calls() if asked.only in name_of(one)]
    if asked.verb == "list":
        print("\n".join(name_of(one) for one in chosen))
        return 0
    if asked.file is None:
        parser.error("name a FILE")
    file = asked.file.resolve()
    if asked.verb == "record":
        record(file, chosen, verbose=asked.verbose)
        return 0
    return compare(file, asked.only, words=asked.words, most=asked.most, verbose=asked.verbose)


if __name__ == "__main__":
    sys.exit(main())
