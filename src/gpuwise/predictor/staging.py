"""What torch's reductions take beside their tensors while they run.

Where few results are sums of many elements, several blocks of threads add parts of each, which they leave in
memory for the last of them to add up (aten/src/ATen/native/cuda/Reduce.cuh, `setReduceConfig`). Along columns
each thread leaves its part in a place of its own row of its block, so that a sum over the rows of a batch may
take more than the tensor. To the byte what sums and means of seven networks took on an H200
(`results/experiments/allocations.jsonl.gz`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import prod

from gpuwise.predictor.graph import Call, Value

# Of Hopper's data centre cards, on which peaks were measured: as many blocks are wanted as run at once. The
# memory of a step is of no card; what others take is in proportion to theirs.
MULTIPROCESSORS, THREADS = 132, 2048
# Of a block, for numbers of any size but complex ones of 128 bits; a warp; how many results a thread may load
# at once; elements that a thread adds at least, and at most before others help; a row is loaded by fours
# from its length on.
BLOCK, WARP, VECTOR, LEAST, MOST, LONG = 512, 32, 4, 16, 256, 128
# Positions of the dimensions that are no second argument.
_DIMS = {"linalg_vector_norm": 2, "norm": 2}
# Bytes of what a thread keeps of its elements (aten/src/ATen/native/SharedReduceOps.h): sums in 32 bits, or
# as their elements; moments with their number; a place beside a value; an extreme, which is one.
SUM, _MOMENTS, _PLACED = 4, 16, 16
_KEPT = {
    **dict.fromkeys(("sum", "mean", "nansum", "prod", "norm", "linalg_vector_norm"), SUM),
    **dict.fromkeys(("var", "std", "var_mean", "std_mean"), _MOMENTS),
    **dict.fromkeys(("max", "min", "argmax", "argmin"), _PLACED),
    **dict.fromkeys(("amax", "amin"), 0),
}
_SIZES = {"fp64": 8, "int64": 8, "fp32": 4, "int32": 4, "fp16": 2, "bf16": 2}


def staged(call: Call) -> float:
    """Bytes that a reduction takes beside its tensors; 0 for another operator."""
    name = call.name.removeprefix("aten.")
    if name not in _KEPT or not call.ins:
        return 0.0
    x, place = call.ins[0], _DIMS.get(name, 1)
    given = call.args[place] if len(call.args) > place else None
    dims = [given] if isinstance(given, int) else given or range(len(x.shape))
    return staged_bytes(x, {d % max(1, len(x.shape)) for d in dims}, max(_KEPT[name], _SIZES.get(x.dtype, 1)))


def staged_bytes(x: Value, axes: Collection[int], kept: int) -> float:
    """Bytes of the parts of a sum of `x` over the dimensions `axes`, of `kept` bytes each."""
    each = list(enumerate(zip(x.shape, x.strides, strict=True)))
    summed = _joined(order for i, order in each if i in axes)
    left = _joined(order for i, order in each if i not in axes)
    if not summed:
        return 0.0
    inputs, outputs = prod(size for size, _ in summed), prod(size for size, _ in left)
    along = not left or summed[0][1] < left[0][1]  # the elements of a sum lie next to each other
    width, height, step = (inputs, outputs, summed[0][1]) if along else (outputs, inputs, left[0][1])
    loaded = 1
    if step == 1 and along and inputs >= LONG and len(summed) == 1:
        width //= VECTOR
    elif step == 1 and not along:
        # The largest of 4, 2 and 1 that divides all.
        all_of_them = (left[0][0], *(step for _, step in (*summed, *left[1:])))
        loaded = next(n for n in (VECTOR, VECTOR // 2, 1) if not any(each % n for each in all_of_them))
        width //= loaded
    columns, rows = _block(width, height, BLOCK // loaded)
    values = -(-inputs // columns) if along else inputs
    if values < min(rows * LEAST, MOST):
        return 0.0
    values = -(-values // rows)
    grid = -(-(outputs // loaded) // (1 if along else columns))
    wanted = MULTIPROCESSORS * (THREADS // (columns * rows))
    if values < MOST or grid > wanted:
        return 0.0
    blocks = max(min(-(-wanted // grid), -(-values // LEAST)), -(-values // MOST))
    return float(kept * outputs * blocks * (1 if along else columns * loaded)) if blocks > 1 else 0.0


def _joined(orders: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """(size, step) of dimensions from the closest step, those that lie one after the other as one."""
    found = list[tuple[int, int]]()
    for size, step in sorted((order for order in orders if order[0] > 1), key=lambda order: order[1]):
        if found and found[-1][0] * found[-1][1] == step:
            found[-1] = (found[-1][0] * size, found[-1][1])
        else:
            found.append((size, step))
    return found


def _block(width: int, height: int, most: int) -> tuple[int, int]:
    """Threads of a block along both sides: powers of two, a warp along the first if there is work for the
    other."""
    columns, rows = (min(1 << (max(1, side).bit_length() - 1), most) for side in (width, height))
    across = min(rows, most // min(columns, WARP))
    return min(columns, most // across), across
