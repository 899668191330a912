"""What kind of work a kernel does, told by its name. Data and one pure function.

Names are those of CUDA and ROCm libraries (cuBLAS, cuDNN, CUTLASS, NCCL, Tensile, MIOpen), of torch's and
gpuwise's own kernels, of Triton as torch.compile calls it, and of torch's operators, which stand for kernels
on a CPU.
The first rule that fits decides: a cuDNN attention kernel is called cudnn as well, an implicit-GEMM
convolution is called gemm, and a fused pointwise kernel lists every operator that it ends.
"""

from __future__ import annotations

from gpuwise.model.verdict import KernelKind

RULES: tuple[tuple[KernelKind, tuple[str, ...]], ...] = (
    ("collective", ("nccl", "rccl", "allreduce", "all_reduce", "all_gather", "reduce_scatter", "c10d::")),
    ("transfer", ("memcpy htod", "memcpy dtoh", "memcpy ptop", "copyhosttodevice", "copydevicetohost")),
    ("pointwise", ("triton_poi",)),
    ("matmul", ("triton_tem", "triton_mm")),
    ("attention", ("flash", "fmha", "attention", "sdpa", "_attend", "_pull_queries", "_pull_keys")),
    ("copy", ("memcpy", "memset", "copy", "nchwtonhwc", "nhwctonchw", "aten::cat", "catarray", "transpose")),
    ("copy", ("_cast",)),
    ("normalisation", ("_norm", "norm_", "layernorm", "batchnorm", "bn_fw", "bn_bw", "softmax", "welford")),
    ("convolution", ("conv", "fprop", "dgrad", "wgrad", "winograd", "implicit", "cudnn::cnn", "miopen")),
    ("matmul", ("gemm", "gemv", "cutlass", "cublas", "nvjet", "xmma", "splitk", "matmul", "cijk_")),
    ("matmul", ("aten::mm", "addmm", "::bmm", "linear", "mmbackward")),
    ("pointwise", ("elementwise", "pointwise", "multi_tensor", "foreach", "reduce", "triton_", "fused")),
    ("pointwise", ("dropout", "relu", "gelu", "loss", "pool", "index", "embedding", "distribution")),
    ("pointwise", ("aten::add", "aten::mul", "aten::sub", "aten::div", "aten::sum", "aten::mean")),
    ("pointwise", ("addbackward", "mulbackward")),
)


def kind(name: str) -> KernelKind:
    """The kind of the kernel called `name`; `other` where no rule knows it."""
    text = name.casefold()
    return next((found for found, signs in RULES if any(sign in text for sign in signs)), "other")
