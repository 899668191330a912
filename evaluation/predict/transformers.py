"""Steps of eager transformers from their published shapes, without tracing: what each layer launches.

Shapes: `b` sequences of `s` tokens, width `h`, `a` heads. A linear layer of n inputs and m outputs costs
2 b s n m operations; scores and context each 2 b s^2 h (Kaplan et al. 2020, appendix; Narayanan et al.
2021, section 5.1). The backward pass repeats every product twice (by operand and by weight) and every
pointwise operator once, with its saved operand read again. Eager attention keeps the (b, a, s, s) scores
in memory: the operators on them are what the `passes` of a family count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from gpuwise.errors import InputError
from gpuwise.predictor.kernels import BYTES, Kernel, KernelClass, Trace

USUAL: Mapping[str, str] = MappingProxyType(
    {"pointwise": "aten.add", "copy": "aten.clone", "normalisation": "aten._softmax", "reduction": "aten.sum"}
)
"""The operator that stands for each kind of kernel, as one that was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transformer:
    """Shape of one network and how its eager code walks through memory."""

    layers: int
    width: int
    heads: int
    inner: int
    vocabulary: int
    head: bool
    """Whether inference computes logits over the vocabulary."""
    score_passes: int
    """Pointwise operators over the scores, softmax aside: scale, mask, dropout."""
    activation_passes: int
    """Pointwise operators of the activation: 1 for ReLU and the exact GELU, 8 for the tanh form."""
    merged: bool
    """Whether queries, keys and values are one product."""
    experts: int = 0
    """Each computes a padded share of the tokens, length / experts for each sequence."""
    decoder: bool = False
    """A second stack of as many layers that attends to the first one as well."""


TRANSFORMERS: Mapping[str, Transformer] = MappingProxyType(
    {
        "bert_large": Transformer(
            layers=24, width=1024, heads=16, inner=4096, vocabulary=30522, head=False,
            score_passes=2, activation_passes=1, merged=False,
        ),
        "gpt2_large": Transformer(
            layers=36, width=1280, heads=20, inner=5120, vocabulary=50257, head=True,
            score_passes=2, activation_passes=8, merged=True,
        ),
        "gpt3_xl": Transformer(
            layers=24, width=3072, heads=24, inner=12288, vocabulary=50257, head=True,
            score_passes=2, activation_passes=8, merged=True,
        ),
        "gpt3_27": Transformer(
            layers=32, width=2560, heads=32, inner=10240, vocabulary=50257, head=True,
            score_passes=2, activation_passes=8, merged=True,
        ),
        "opt_13": Transformer(
            layers=24, width=2048, heads=32, inner=8192, vocabulary=50272, head=True,
            score_passes=2, activation_passes=1, merged=False,
        ),
        "switchxl4": Transformer(
            layers=24, width=2048, heads=32, inner=5120, vocabulary=32128, head=True,
            score_passes=4, activation_passes=1, merged=False, experts=4, decoder=True,
        ),
    }
)  # fmt: skip
"""Published configurations under the names of the NeuSight set; the GPT-3 sizes are GPT-2 code."""


def transformer(
    name: str, *, batch: int, length: int, train: bool, precision: str = "fp32", compiled: bool = False
) -> Trace:
    """One step of a network of the set. Raises InputError for a name that has no published shape here."""
    shape = TRANSFORMERS.get(name)
    if shape is None:
        raise InputError(f"no shape is known of {name!r}", hint=f"known: {', '.join(TRANSFORMERS)}")
    kernels = tuple(_Builder(shape, batch, length, precision, compiled, train).step())
    return Trace(
        workload=name,
        version=1,
        mode="train" if train else "infer",
        precision=precision,
        batch=batch,
        compiled=compiled,
        item="sequence",
        items=batch,
        parameters=_parameters(shape),
        kernels=kernels,
    )


def _parameters(shape: Transformer) -> int:
    stacks = 2 if shape.decoder else 1
    attention = 4 * shape.width**2 * (3 if shape.decoder else 1) * shape.layers
    inner = 2 * shape.width * shape.inner * max(1, shape.experts) * shape.layers * stacks
    return attention + inner + shape.vocabulary * shape.width


@dataclass(frozen=True, slots=True)
class _Builder:
    """Kernels of one step; `b` is the batch and `s` the tokens of a sequence."""

    shape: Transformer
    b: int
    s: int
    precision: str
    compiled: bool
    train: bool

    def step(self) -> Iterator[Kernel]:
        """Forward, and in training the backward pass of each kernel."""
        for kernel in self._forward():
            yield kernel
            if self.train:
                yield from backward(kernel)

    def _forward(self) -> Iterator[Kernel]:
        shape, tokens = self.shape, self.b * self.s
        layers = shape.layers
        yield self._pointwise("gather", tokens * shape.width, reads=2, count=2)
        for cross in (False, True) if shape.decoder else (False,):
            for kernel in self._layer(cross):
                yield replace(kernel, count=kernel.count * layers)
        if shape.head or self.train:
            yield self._matmul(1, tokens, shape.vocabulary, shape.width)
            if self.train:
                yield self._pointwise("reduction", tokens * shape.vocabulary, reads=2, count=2)

    def _layer(self, cross: bool) -> Iterator[Kernel]:
        shape, tokens = self.shape, self.b * self.s
        for _ in range(2 if cross else 1):
            yield from self._attention()
        if shape.experts:
            yield from self._experts()
        else:
            yield self._matmul(1, tokens, shape.inner, shape.width)
            yield from self._chain(tokens * shape.inner, shape.activation_passes)
            yield self._matmul(1, tokens, shape.width, shape.inner)
        yield from self._chain(tokens * shape.width, 2 if self.train else 1, reads=2)
        yield self._pointwise("normalisation", tokens * shape.width, reads=1, count=1)

    def _attention(self) -> Iterator[Kernel]:
        shape, tokens, scores = self.shape, self.b * self.s, self.b * self.shape.heads * self.s**2
        width, head, groups = shape.width, shape.width // shape.heads, self.b * shape.heads
        if shape.merged:
            yield self._matmul(1, tokens, 3 * width, width)
        else:
            yield replace(self._matmul(1, tokens, width, width), count=3)
        yield self._pointwise("copy", tokens * width, reads=1, count=4)
        yield self._matmul(groups, self.s, self.s, head)
        yield from self._chain(scores, shape.score_passes + (1 if self.train else 0))
        yield self._pointwise("normalisation", scores, reads=1, count=1)
        yield self._matmul(groups, self.s, head, self.s)
        yield self._matmul(1, tokens, width, width)
        yield from self._chain(tokens * width, 2 if self.train else 1, reads=2)
        yield self._pointwise("normalisation", tokens * width, reads=1, count=1)

    def _experts(self) -> Iterator[Kernel]:
        """Every expert computes its padded capacity, whether or not tokens came."""
        shape, tokens = self.shape, self.b * self.s
        padded = self.b * self.s // shape.experts
        yield self._matmul(1, tokens, shape.experts, shape.width)
        yield replace(self._matmul(1, padded, shape.inner, shape.width), count=shape.experts)
        yield replace(self._matmul(1, padded, shape.width, shape.inner), count=shape.experts)
        yield self._pointwise("gather", tokens * shape.width, reads=1, count=3 * shape.experts)
        choice = self._pointwise("gather", tokens, reads=1, count=3 * shape.experts)
        yield replace(choice, name="aten.nonzero")  # the host waits for how many tokens came
        yield self._pointwise("pointwise", padded * shape.inner, reads=1, count=shape.experts)

    def _chain(self, elements: int, passes: int, reads: int = 1) -> Iterator[Kernel]:
        """`passes` pointwise operators in a row; compiled code makes one kernel of them."""
        if self.compiled:
            passes, reads = min(passes, 1), reads
        if passes:
            yield self._pointwise("pointwise", elements, reads=reads, count=passes)

    def _matmul(self, batch: int, m: int, n: int, k: int) -> Kernel:
        size = BYTES[self.precision]
        return Kernel(
            kind="matmul", name="aten.mm" if batch == 1 else "aten.bmm", dtype=self.precision,
            shape=(batch, m, n, k), flop=2.0 * batch * m * n * k,
            bytes_read=float(size * batch * (m * k + k * n)), bytes_written=float(size * batch * m * n),
            phase="forward",
        )  # fmt: skip

    def _pointwise(self, kind: KernelClass, elements: int, *, reads: int, count: int) -> Kernel:
        size = BYTES[self.precision]
        return Kernel(
            kind=kind, name=USUAL.get(kind, f"aten.{kind}"), dtype=self.precision, shape=(elements,),
            flop=float(elements),
            bytes_read=float(size * elements * reads), bytes_written=float(size * elements),
            phase="forward", count=count,
        )  # fmt: skip


def backward(kernel: Kernel) -> Iterator[Kernel]:
    """What the backward pass of one kernel launches."""
    if kernel.kind == "matmul":
        batch, m, n, k = kernel.shape
        yield replace(kernel, shape=(batch, m, k, n), phase="backward")
        yield replace(kernel, shape=(batch, k, n, m), phase="backward")
    elif kernel.kind in ("normalisation", "reduction"):
        yield replace(kernel, bytes_read=2 * kernel.bytes_read, phase="backward")
    else:
        yield replace(kernel, bytes_read=kernel.bytes_read + kernel.bytes_written, phase="backward")
