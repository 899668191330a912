"""A whole step of decoding one sequence as one kernel (`step.cu`), on GPUs that copy in bulk: Hopper and later."""

from __future__ import annotations

import ctypes
import struct
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
from torch import Tensor

from gpuwise.model.precision import Precision
from gpuwise.workloads.kernels.stream import KINDS

if TYPE_CHECKING:
    from gpuwise.workloads.models.decoder import Cache, Decoder

ATTENTION = 6
UNDER_WAY, CLOCKS, BOUND = 2, None, []
TOKENS = 128  # of a part of a cache
THREADS = 17 * 32
STAGE = 16384
# Bytes of a stage beside its rows: of scales and zero points.
BESIDE = {Precision.INT4: (512, 256), Precision.MXFP4: (1024, 0), Precision.NVFP4: (2048, 0)}
SUMS = 12864  # Bytes of shared memory before the input


class WholeStep:
    """Phases of one decoder and its cache; called with tokens and position it gives the logits."""

    def __init__(self, decoder: Decoder, cache: Cache, eps: float) -> None:
        from gpuwise.workloads.models.decoder import stored

        shape, weight = decoder.shape, decoder.embedding.weight
        self.decoder, device = decoder, weight.device
        properties = torch.cuda.get_device_properties(device)
        self.blocks = properties.multi_processor_count
        heads, shared, size = shape.heads, shape.kv_heads, shape.head_size
        first = decoder.layers[0]
        self.logits = weight.new_empty((1, len(decoder.head_weight)))
        widths = (shape.hidden, (heads + 2 * shared) * size, heads * size, shape.inner)
        x, qkv, y, inner = (torch.zeros(width, dtype=torch.int32, device=device) for width in widths)
        self.held: list[Tensor] = [x, qkv, y, inner]
        bits = struct.unpack("i", struct.pack("f", eps))[0]
        factor = struct.unpack("i", struct.pack("f", size**-0.5))[0]
        rows: list[list[int]] = []
        widest, beside, turn = shape.hidden, 0, 0

        def product(out: Tensor, x: Tensor, stored: tuple[Any, ...], norm: Tensor | None, gated: bool, x_from: int, add: int | None = None) -> None:
            nonlocal widest, beside, turn
            w, scale, zero, kind = (*stored, None, None, None)[:4]
            k, n = x.numel(), out.numel()
            assert len(w) == n * (1 + gated)
            widest = max(widest, 2 * k if kind is None and norm is not None else k)
            beside = max(beside, sum(BESIDE.get(kind, (0,))))
            wide = rows_of(w, 16, gated)
            if kind in BESIDE:
                scale = map_of(scale.view(torch.uint8), gated, BESIDE[kind][0] // 16)
            if kind == Precision.INT4:
                zero = map_of(zero, gated, 16)
            parts = (wide, scale, zero, x, norm, None if add is None else out, out)
            self.held += [wide, scale, zero]
            rows.append([0 if kind is None else KINDS[kind], n, k, gated, *map(address, parts), 0, 0, 0, bits, turn, x_from, -1 if add is None else add])
            turn = (turn + -(-n // (8 if gated else 16))) % self.blocks

        for layer, (keys, values) in zip(decoder.layers, cache.layers(), strict=True):
            product(qkv, x, stored(layer.attention.qkv), layer.norm1.weight, False, len(rows) - 1)
            tokens = keys.shape[2]
            chunks = tokens // TOKENS
            each = -(-chunks * shared // self.blocks)
            while shared * -(-chunks // each) > self.blocks:
                each += 1
            splits = -(-chunks // each)
            part = torch.zeros(heads * splits * (size + 2), dtype=torch.int64, device=device)
            self.held += [part, *(rows_of(each.view(-1, size), 64, False) for each in (keys, values))]
            rows.append(
                [ATTENTION, shared, tokens, heads // shared, *map(address, self.held[-2:]), 0, address(qkv), 0, 0,
                 address(y), address(part), each, splits, factor, turn, len(rows) - 1, -1, address(keys), address(values)]
            )  # fmt: skip
            turn = (turn + shared * splits) % self.blocks
            product(x, y, stored(layer.attention.output), None, False, len(rows) - 1, len(rows) - 3)
            product(inner, x, stored(layer.feed_forward.gate_up), layer.norm2.weight, True, len(rows) - 1)
            product(x, inner, stored(layer.feed_forward.down), None, False, len(rows) - 1, len(rows) - 2)
        product(self.logits, x, (decoder.head_weight,), decoder.norm.weight, False, len(rows) - 1)
        self.phases = torch.tensor([row + [0] * (24 - len(row)) for row in rows], dtype=torch.int64, device=device)
        self.counters = torch.zeros(8192, dtype=torch.int32, device=device)
        self.counters[0] = 1  # No tag is zero at first.
        self.beside, self.room = beside, SUMS + 2 * widest
        free = properties.shared_memory_per_block_optin - 512 - 1024 - 64
        self.stages = (free - self.room) // (STAGE + beside + 16)
        assert self.stages > 2
        self.bytes = self.stages * (STAGE + beside + 16) + self.room + 1024 + 64
        self.kernel = compiled(device)
        self.kernel.set_shared_memory_config(self.bytes)

    def __call__(self, tokens: Tensor, position: Tensor) -> Tensor:
        table = self.decoder.table
        embedding = self.decoder.embedding.weight
        numbers = (self.beside, self.stages, min(UNDER_WAY, self.stages), self.room)
        self.kernel(
            grid=(self.blocks, 1, 1), block=(THREADS, 1, 1), shared_mem=self.bytes,
            args=[self.phases, len(self.phases), self.counters, position, table, table.stride(0), tokens, embedding,
                  embedding.shape[1], *numbers],
        )  # fmt: skip
        return self.logits


def address(x: Tensor | None) -> int:
    return 0 if x is None else x.data_ptr()


def w_bytes(w: Tensor) -> int:
    return w.shape[1] * w.element_size()


def map_of(x: Tensor, gated: bool, box: int) -> Tensor:
    """Of bytes: boxes of 16 rows of so many; with a gate 8 of each half."""
    width, rows, both = w_bytes(x), len(x) // (1 + gated), 1 + gated
    return tensor_map(x, 0, (width, rows, both), (width, width * rows), (box, 16 // both, both), 0)


def rows_of(x: Tensor, count: int, gated: bool) -> Tensor:
    """Boxes of so many rows as blocks of 128 bytes, swizzled: 16 kB."""
    width, rows, both = w_bytes(x), len(x) // (1 + gated), 1 + gated
    box = (32, count // both, both, 128 // count)
    return tensor_map(x, 2, (32, rows, both, width // 128), (width, width * rows, 128), box, 3)


def tensor_map(x: Tensor, item: int, sizes: tuple[int, ...], strides: tuple[int, ...], box: tuple[int, ...], swizzle: int) -> Tensor:
    out = ctypes.create_string_buffer(192)
    at = -ctypes.addressof(out) % 64
    numbers = lambda kind, values: (kind * len(values))(*values)
    failed = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
        ctypes.c_void_p(ctypes.addressof(out) + at), item, len(sizes), ctypes.c_void_p(x.data_ptr()),
        numbers(ctypes.c_uint64, sizes), numbers(ctypes.c_uint64, strides), numbers(ctypes.c_uint32, box),
        numbers(ctypes.c_uint32, [1] * len(sizes)), 0, swizzle, 3, 0,
    )  # fmt: skip
    if failed:
        raise RuntimeError(f"no tensor map of {tuple(x.shape)}: {failed}")
    return torch.frombuffer(bytearray(out.raw[at : at + 128]), dtype=torch.uint8).to(x.device)


def compiled(device: torch.device) -> Any:
    source = files("gpuwise.workloads.kernels").joinpath("step.cu").read_text()
    # torch looks for a toolkit's headers, of which there are none in `step.cu`.
    with mock.patch("torch.utils.cpp_extension.include_paths", return_value=[]):
        options = BOUND + ([] if CLOCKS is None else [f"-DCLOCKS={CLOCKS}"])
        return torch.cuda._compile_kernel(source, "decode_step", nvcc_options=options)
