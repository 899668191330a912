"""One sequence's step by gpuwise's own decoding kernels, which needs no recording: six of a layer, or one.

    product     each weight once; a multiprocessor unpacks and multiplies so many in a clock
    attention   the cache once, then the parts of each head together

A step follows the step before and its weights are more than any L2 holds, so all of them come from memory.
What each format's kernel needs beside its bytes was set on whole steps of Llama 3.1 8B on one H100 and one
H200 (`python -m evaluation.predict.decoding`), where weights in 8 and 4 bits are unpacked at the speed of the
multiprocessors, which both cards have alike.
"""

from __future__ import annotations

from functools import lru_cache

from gpuwise.model.precision import Precision
from gpuwise.model.question import RunConfig
from gpuwise.predictor.kernels import KEPT_TRACES, Kernel, Memory, Trace
from gpuwise.workloads import registry
from gpuwise.workloads.llm import Decoding

# Beside weights and cache: activations, parts of attention and tables.
BESIDE = 40e6
OWN = frozenset({Precision.INT8, Precision.INT4})  # Which no other kernels of few rows multiply


def find(config: RunConfig) -> Trace | None:
    """The step of one sequence (`registry.decodes_one`) that these kernels run alone; None of any other."""
    if config.switches.decode == "torch" and config.precision not in OWN:
        return None
    found = registry.get(config.workload)
    if not isinstance(found.build, Decoding) or found.build.model.experts or config.size != "full":
        return None  # Of a mixture the products of experts alone are these kernels'.
    assert config.precision is not None
    return step(found.build, workload=found.spec.id, version=found.spec.version, precision=config.precision)


@lru_cache(maxsize=KEPT_TRACES)
def step(asked: Decoding, *, workload: str, version: int, precision: Precision) -> Trace:
    """One token of one sequence of `asked`, of a model without experts that `decodes_fused`."""
    m, kernels = asked.model, list[Kernel]()
    stored = precision if precision.weight_bytes < 2 else Precision.BF16

    def add(name: str, shape: tuple[int, ...], flop: float, read: float, wrote: float, count: int) -> None:
        kernels.append(Kernel(
            kind="reduction", name=name, dtype="bf16", shape=shape, flop=flop, bytes_read=read,
            bytes_written=wrote, phase="forward", count=count,
        ))  # fmt: skip

    (inputs, parts), (result, _) = m.attention_products
    sizes = ((sum(parts), inputs), (m.hidden, result), (2 * m.inner, m.hidden), (m.hidden, m.inner))
    for n, k in sizes:
        add(f"decode.stream:{stored}", (n, k), 2.0 * n * k, n * k * stored.weight_bytes, 2.0 * n, m.layers)
    cache = 2.0 * m.cache_width * asked.tokens
    flop = m.attention_flop(asked.tokens) / m.layers
    add("decode.attend", (m.heads, asked.tokens), flop, cache, 0, m.layers)
    add("decode.join", (m.heads, m.value_size), 0, 0, 2.0 * m.heads * m.value_size, m.layers)
    n, k = m.vocabulary, m.hidden
    add(f"decode.stream:{Precision.BF16}", (n, k), 2.0 * n * k, 2.0 * n * k, 2.0 * n, 1)
    add("decode.choose", (1, n), 0, 2.0 * n, 8, 1)
    outer = m.embedding * (1 if m.tied else 2)
    weights = (m.parameters - outer) * stored.weight_bytes + 2.0 * outer
    return Trace(
        workload=workload, version=version, mode="infer", precision=precision, batch=1, compiled=True,
        item="token", items=1.0, parameters=m.parameters, kernels=tuple(kernels),
        memory=Memory(parameters=weights, gradients=0, optimiser=0, peak=weights + m.layers * cache + BESIDE,
                      largest=2.0 * m.embedding),
    )  # fmt: skip
