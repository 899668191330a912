"""Limits of the hardware: products, copies, launches and links, each measured by one plain step.

Everything that later numbers are read against. Data is random, never zeros: multiplying zeros draws less
power and runs faster (13 % on one H200). Copies count a byte read and a byte written as two; links count a
byte transferred once.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import torch
import torch.distributed as dist
from torch import Tensor

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.model.precision import Precision
from gpuwise.model.question import RunConfig
from gpuwise.model.units import si
from gpuwise.workloads.job import Job, as_graph, dtype_of, set_precision
from gpuwise.workloads.registry import Build

# 8192^3 in bf16 touches 400 MB, so a step finds the L2 cache cold for most of its operands.
PRODUCT_SIDE, CPU_PRODUCT_SIDE, TOY_PRODUCT_SIDE = 8192, 2048, 256

# 4 GiB are dozens of times any L2, so every byte comes from and goes to device memory.
COPY_BYTES, CPU_COPY_BYTES, TOY_COPY_BYTES = 2**32, 2**28, 2**22

# torch does not report the caches of a CPU; a core of today has about one MiB of L2.
CPU_L2_BYTES, TOY_L2_BYTES = 2**20, 2**14
L2_STEP_BYTES, TOY_L2_STEP_BYTES = 2**30, 2**22

LAUNCHES, TOY_LAUNCHES = 1000, 300
TRANSFER_BYTES, PEER_BYTES, TOY_LINK_BYTES = 2**28, 2**30, 2**22
MIB, TOY_MIB = 2**20, 2**14
DISK_BYTES, TOY_DISK_BYTES, READERS = 2**30, 2**20, 4


def _random_bytes(size: int, device: str) -> Tensor:
    return torch.randint(-(2**31), 2**31 - 1, (size // 4,), dtype=torch.int32, device=device)


def matmul(config: RunConfig, batch: int) -> Job:
    """One square product a step, whatever the batch: fp64 and fp32 as IEEE, fp16 and bf16 with fp32 sums.

    fp8 is E4M3 with one scale a matrix and a bf16 result (Micikevicius et al. 2022, arXiv:2209.05433).
    """
    set_precision(config)
    toy, cpu = config.size == "toy", config.device == "cpu"
    side = TOY_PRODUCT_SIDE if toy else CPU_PRODUCT_SIDE if cpu else PRODUCT_SIDE
    # fp64 is drawn as such: numbers widened from fp32 have zeros in their lower half.
    drawn = torch.float64 if config.precision == Precision.FP64 else torch.float32
    a, b = (torch.randn(side, side, device=config.device, dtype=drawn) for _ in range(2))
    if config.precision == Precision.FP8:
        # cuBLASLt wants the second operand stored by columns.
        left, right = a.to(torch.float8_e4m3fn), b.t().contiguous().to(torch.float8_e4m3fn).t()
        one = torch.ones((), device=a.device)

        def step() -> Tensor:
            # Fast accumulation keeps fewer bits of the sum than fp32; it is what inference uses.
            return torch._scaled_mm(
                left, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
            )

        return Job(step=step, items=2 * side**3)
    dtype = dtype_of(config.precision)
    a, b = a.to(dtype), b.to(dtype)
    out = torch.empty_like(a)
    return Job(step=lambda: torch.matmul(a, b, out=out), items=2 * side**3)


def memory_copy(config: RunConfig, batch: int) -> Job:
    """One large buffer to another, whatever the batch; smaller ones where the device lacks memory for two."""
    toy, cpu = config.size == "toy", config.device == "cpu"
    size = TOY_COPY_BYTES if toy else CPU_COPY_BYTES if cpu else COPY_BYTES
    if config.device == "cuda":
        free, _ = torch.cuda.mem_get_info()
        while 2.5 * size > free:
            size //= 2
    source = _random_bytes(size, config.device)
    target = torch.empty_like(source)
    return Job(step=lambda: target.copy_(source), items=2 * size)


def copy_l2(config: RunConfig, batch: int) -> Job:
    """Copies within a working set, source and target together, of `batch` eighths of the L2.

    Half of it is the limit; `--batch 2,4,8,16,32` shows where the cache ends (at 8) and memory begins.
    """
    words = max(1, batch * l2_bytes(config) // 8 // 2 // 4)
    source = _random_bytes(4 * words, config.device)
    target = torch.empty_like(source)
    moved = TOY_L2_STEP_BYTES if config.size == "toy" else L2_STEP_BYTES
    repeats = max(1, moved // (2 * source.nbytes))

    def copies() -> Tensor:
        for _ in range(repeats):
            target.copy_(source)
        return target

    # One copy of some megabytes takes no longer than its launch, so a step is one CUDA graph of many. The gap
    # between two, about a microsecond, is part of the number.
    step = as_graph(copies) if config.device == "cuda" else copies
    return Job(step=step, items=repeats * 2 * source.nbytes)


def l2_bytes(config: RunConfig) -> int:
    """Size of the GPU's L2 as torch reports it; a customary one for a CPU."""
    if config.size == "toy":
        return TOY_L2_BYTES
    if config.device == "cpu":
        return CPU_L2_BYTES
    return int(torch.cuda.get_device_properties(0).L2_cache_size)


def launch(config: RunConfig, batch: int) -> Job:
    """A thousand empty kernels a step; a toy on a CPU adds zero to one number instead.

    The driver's queue is shorter than that, so the time of a step is what the host and the front end of the
    GPU need for a launch. Its inverse is the shortest kernel worth writing.
    """
    count = TOY_LAUNCHES if config.size == "toy" else LAUNCHES
    one = torch.ones(1, device=config.device)
    nothing: Callable[[], object] = lambda: one.add_(0.0)  # noqa: E731  two ways to do nothing
    if config.device == "cuda":
        # A kernel that spins for no cycles: the one empty kernel that torch brings.
        nothing = lambda: torch.cuda._sleep(0)  # type: ignore[no-untyped-call]  # noqa: E731

    def step() -> Tensor:
        for _ in range(count):
            nothing()
        return one

    return Job(step=step, items=count)


def transfer(out: bool, config: RunConfig, batch: int) -> Job:
    """One copy a step, whatever the batch, to the host or `out` to the device."""
    host = _random_bytes(TOY_LINK_BYTES if config.size == "toy" else TRANSFER_BYTES, "cpu")
    device = torch.empty_like(host, device=config.device).copy_(host)
    # Pinned memory is what a DataLoader with `pin_memory=True` and every offloading scheme copies from;
    # pageable memory goes through a pinned buffer and is slower.
    host = host.pin_memory() if config.device == "cuda" else host
    source, target = (host, device) if out else (device, host)
    return Job(step=lambda: target.copy_(source, non_blocking=True), items=host.nbytes)


def peer(config: RunConfig, batch: int) -> Job:
    """One copy a step, whatever the batch, on the stream of the sending GPU, which is the timed one.

    Direct over NVLink or PCIe where the driver allows the two to see each other's memory
    (`nvidia-smi topo -p2p r`), else through host memory: the number says which.
    """
    size = TOY_LINK_BYTES if config.size == "toy" else PEER_BYTES
    here, there = ("cuda:0", "cuda:1") if config.device == "cuda" else ("cpu", "cpu")
    source = _random_bytes(size, here)
    target = torch.empty_like(source, device=there)
    return Job(step=lambda: target.copy_(source, non_blocking=True), items=size)


def disk_read(config: RunConfig, batch: int) -> Job:
    """One pass over the file a step, whatever the batch, by four threads as loaders read, in blocks of 8 MiB.

    O_DIRECT where the file system has it; else what the kernel keeps of the file is dropped before each pass.
    Raises InputError where the disk has no room for the file.
    """
    size, block = (TOY_DISK_BYTES, 2**16) if config.size == "toy" else (DISK_BYTES, 2**23)
    store.home().mkdir(parents=True, exist_ok=True)
    file = tempfile.NamedTemporaryFile(dir=store.home())  # noqa: SIM115  the job keeps it
    try:
        for _ in range(size // block):
            file.write(os.urandom(block))
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"cannot write {si(size, 'B')} to {store.home()}: {error.strerror}") from error
    try:
        reader = os.open(file.name, os.O_RDONLY | getattr(os, "O_DIRECT", 0))
    except OSError:  # tmpfs and some network disks
        reader = os.open(file.name, os.O_RDONLY)
    rooms = [mmap.mmap(-1, block) for _ in range(READERS)]  # aligned, as O_DIRECT wants it
    pool = ThreadPoolExecutor(READERS)

    def part(number: int) -> int:
        places = range(number * block, size, READERS * block)
        return sum(os.preadv(reader, [rooms[number]], at) for at in places)

    def step() -> Tensor:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(reader, 0, 0, os.POSIX_FADV_DONTNEED)
        read = sum(pool.map(part, range(READERS)))
        assert read == file.tell(), "the file became shorter"
        return torch.tensor(read)

    return Job(step=step, items=size)


# Bytes that at least cross each rank's link for a byte of S, over n ranks, whatever the algorithm: the bus
# bandwidth of nccl-tests, by which counts of GPUs can be compared (doc/PERFORMANCE.md of NVIDIA/nccl-tests).
# S is what a rank reduces, all that is gathered or scattered, all that a rank sends to all, or one message.
BUS: dict[str, Callable[[int], float]] = {
    "all-reduce": lambda n: 2 * (n - 1) / n,
    "all-gather": lambda n: (n - 1) / n,
    "reduce-scatter": lambda n: (n - 1) / n,
    "all-to-all": lambda n: (n - 1) / n,
    "send-receive": lambda n: 1.0,
}


def exchange(name: str, config: RunConfig, batch: int) -> Job:
    """One exchange of `batch` MiB of fp32 a step; the ranks have met already. gloo on CPUs.

    An item is one byte of bus bandwidth. Large sizes show bandwidth, small ones latency.
    """
    ranks = config.gpus
    # Other names since torch 2.13.
    gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
    scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    size = (TOY_MIB if config.size == "toy" else MIB) * batch
    part = max(1, size // 4 // ranks)
    # The mean, not the sum: the values stay finite however often they are reduced.
    average = dist.ReduceOp.AVG if config.device == "cuda" else dist.ReduceOp.MAX
    whole = torch.rand(part * ranks, device=config.device)
    other = part * ranks if name in ("all-to-all", "send-receive") else part
    mine = torch.rand(other, device=config.device)

    def step() -> Tensor:
        if name == "all-reduce":
            dist.all_reduce(whole, average)
        elif name == "all-gather":
            gather(whole, mine)
        elif name == "reduce-scatter":
            scatter(mine, whole, average)
        elif name == "all-to-all":
            dist.all_to_all_single(mine, whole)
        else:  # in a ring, every rank both at once
            rank = dist.get_rank()
            sent = dist.P2POp(dist.isend, whole, (rank + 1) % ranks)
            for one in dist.batch_isend_irecv([sent, dist.P2POp(dist.irecv, mine, (rank - 1) % ranks)]):
                one.wait()
        return whole if name in ("all-reduce", "all-gather") else mine

    return Job(step=step, items=round(whole.nbytes * BUS[name](ranks)))


JOBS: dict[str, Build] = {
    "matmul": matmul,
    "copy": memory_copy,
    "copy-l2": copy_l2,
    "launch": launch,
    "host-to-device": partial(transfer, True),
    "device-to-host": partial(transfer, False),
    "peer": peer,
    "disk-read": disk_read,
    **{name: partial(exchange, name) for name in BUS},
}
