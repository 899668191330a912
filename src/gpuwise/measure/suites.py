"""Suites: named lists of what is measured together, as data.

`aime`       the benchmark article: BERT-large and ResNet-50, training, fp32 and fp16 AMP, eager and
             compiled, 50 steps, mean of three runs, start below 50 C. Its "fp32" may have run as TF32
             on some cards, so eager tf32 is a row of its own, after the article's.
`tf-cnn`     the article on the A5000: four networks, training, fp16 at batch 256 and fp32 at batch 128, on
             1, 2, 4 and 8 GPUs.
`limits`     every ceiling of the hardware, cold and warm, in every precision that the device has.
`scenarios`  what GPUs are bought for: training of language models, their inference and fine-tuning,
             vision and diffusion, science.
`full`       all of these, and every other workload.

What a device lacks (a precision, a second GPU) is skipped, and listed.
"""

from __future__ import annotations

from dataclasses import replace

from gpuwise import workloads
from gpuwise.errors import InputError
from gpuwise.measure.request import Request
from gpuwise.model.precision import NETWORK_PRECISIONS, Precision
from gpuwise.model.workload import Mode

# The article's rows of each network.
ARTICLE = tuple(
    Request(
        workloads=(workload,),
        modes=("train",),
        precisions=(Precision.FP16, Precision.FP32),
        compile=(False, True),
        batch=(batch,),
    ).given(recipe="script", protocol="aime")
    for workload, batch in (("resnet50", 256), ("bert-large", 64))
)
AIME = (*ARTICLE, *(replace(rows, precisions=(Precision.TF32,), compile=(False,)) for rows in ARTICLE))

FOUR_NETWORKS = ("resnet50", "resnet152", "inception-v3", "googlenet")

# GPUs, of those that the machine has.
COUNTS = (1, 2, 4, 8)

TF_CNN = tuple(
    Request(
        workloads=FOUR_NETWORKS,
        modes=("train",),
        precisions=(precision,),
        compile=(False, True),
        batch=(batch,),
        gpus=COUNTS,
    ).given(time_s=20.0)
    for precision, batch in ((Precision.FP16, 256), (Precision.FP32, 128))
)

# Eighths of the L2: a quarter of it to four times as much.
L2_SWEEP = (2, 4, 8, 16, 32)

# From latency to bandwidth.
ALL_REDUCE_MIB = (1, 16, 256, 1024)

LIMITS = (
    Request(workloads=("matmul", "copy"), precisions=(Precision.FP64, *NETWORK_PRECISIONS, Precision.FP8)),
    Request(workloads=("copy-l2",), batch=L2_SWEEP),
    Request(workloads=("launch", "host-to-device", "device-to-host", "peer")),
    Request(workloads=("all-reduce",), batch=ALL_REDUCE_MIB),
)

WANTED: tuple[tuple[tuple[str, ...], tuple[Mode, ...]], ...] = (
    (("llm-124m", "llm-1b"), ("train",)),
    (("llm-1b-prefill", "llm-1b-decode", "llm-8b-prefill", "llm-8b-decode"), ("infer",)),
    (("llm-1b-finetune", "llm-1b-lora", "llm-8b-lora"), ("train",)),
    (("resnet50", "vit-b16", "unet-sd15", "unet-sd15-1024", "dit-xl2"), ("train", "infer")),
    (("fft", "stencil", "cholesky"), ("compute",)),
)
SCENARIOS = tuple(Request(workloads=names, modes=modes).given(time_s=20.0) for names, modes in WANTED)

SUITES: dict[str, tuple[Request, ...]] = {
    "aime": AIME,
    "tf-cnn": TF_CNN,
    "scenarios": SCENARIOS,
    "limits": LIMITS,
}


def names() -> tuple[str, ...]:
    """Every suite; `full` is the last."""
    return (*SUITES, "full")


def requests(name: str) -> tuple[Request, ...]:
    """The requests of a suite. Raises InputError for an unknown name."""
    if name == "full":
        # Every workload in every mode that the scenarios leave out.
        seen = {workload for request in (*SCENARIOS, *LIMITS) for workload in request.workloads}
        others = tuple(workload for workload in workloads.names() if workload not in seen)
        rest = replace(SCENARIOS[0], workloads=others, modes=("train", "infer", "compute"))
        return (*LIMITS, *SCENARIOS, rest, *AIME, *TF_CNN)
    if name not in SUITES:
        raise InputError(f"unknown suite {name!r}", hint=f"choose from {', '.join(names())}")
    return SUITES[name]
