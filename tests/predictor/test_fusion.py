"""Merging may save bytes and launches, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from gpuwise.model.question import RunConfig
from gpuwise.predictor.graph import ALLOCATE, FREE, RUN, Event, Node, Role, Tape, fuse
from gpuwise.predictor.kernels import Phase, arrays
from gpuwise.predictor.trace import record_workload, trace_module

ROLES: tuple[Role, ...] = ("map", "row", "column", "opaque")


def tape(*nodes: Node, outputs: tuple[int, ...] = ()) -> Tape:
    """A step in which value n lives in storage n, until its last reader ran unless it is an output."""
    written = {value: size for node in nodes for value, size in node.writes}
    start = {v: s for node in nodes for v, s in node.reads if v not in written}
    last = {v: i for i, node in enumerate(nodes) for v, _ in (*node.writes, *node.reads)}
    events: list[Event] = []
    for index, node in enumerate(nodes):
        events += [(ALLOCATE, value, size) for value, size in node.writes]
        events.append((RUN, index, 0.0))
        touched = {value for value, _ in (*node.reads, *node.writes)}
        events += [
            (FREE, v, 0.0) for v in sorted(touched) if last[v] == index and v in written and v not in outputs
        ]
    values = {*written, *start}
    return Tape(nodes=nodes, events=tuple(events), start=start, storage={v: v for v in values})


def node(
    name: str, reads: tuple[int, ...], writes: tuple[int, ...], role: Role = "map", phase: Phase = "forward",
    size: float = 400.0, domain: int = 100,
) -> Node:  # fmt: skip
    return Node(
        kind="pointwise" if role == "map" else "matmul", name=f"aten.{name}", dtype="fp32", shape=(domain,),
        flop=float(domain), phase=phase, role=role, domain=domain,
        reads=tuple((v, size) for v in reads), writes=tuple((v, size) for v in writes),
    )  # fmt: skip


def moved(done: Tape) -> float:
    return sum(size for n in done.nodes for _, size in (*n.reads, *n.writes))


@pytest.mark.parametrize("summed", [False, True])
def test_a_kernel_that_ends_in_a_sum_down_the_columns_takes_no_place(summed: bool) -> None:
    """The gradient of a layer with a bias stood beside the scores (a GRU's of 1.2 GiB on an H100)."""
    nodes = [node("mm", (0,), (1,), "opaque"), node("mul", (1,), (2,))]
    nodes += [node("sum", (2,), (3,), "column")] if summed else []
    events = fuse(tape(*nodes, node("mm", (2,), (4,), "opaque"), outputs=(3, 4))).events
    assert (events.index((FREE, 1, 0.0)) > events.index((ALLOCATE, 2, 400.0))) == summed


def test_a_chain_becomes_one_kernel_that_never_stores_what_is_between() -> None:
    done = fuse(
        tape(node("mul", (0,), (1,)), node("add", (1,), (2,)), node("relu", (2,), (3,)), outputs=(3,))
    )
    (kernel,) = done.nodes
    assert kernel.name == "aten.mul+relu"
    assert (kernel.reads, kernel.writes) == (((0, 400.0),), ((3, 400.0),))
    assert kernel.fused == 3
    assert [event for event in done.events if event[0] == ALLOCATE] == [(ALLOCATE, 3, 400.0)]


def test_a_matrix_product_takes_no_epilogue() -> None:
    done = fuse(tape(node("mm", (0,), (1,), "opaque"), node("relu", (1,), (2,)), outputs=(2,)))
    assert [n.name for n in done.nodes] == ["aten.mm", "aten.relu"]
    assert moved(done) == 4 * 400


def test_what_a_product_reads_is_stored() -> None:
    done = fuse(
        tape(
            node("mul", (0,), (1,)), node("add", (1,), (2,)), node("mm", (1,), (3,), "opaque"), outputs=(2, 3)
        )
    )
    assert dict(done.nodes[0].writes) == {1: 400.0, 2: 400.0}


def test_a_path_through_a_product_keeps_a_chain_apart() -> None:
    done = fuse(
        tape(
            node("mul", (0,), (1,)), node("mm", (1,), (2,), "opaque"), node("add", (1, 2), (3,)), outputs=(3,)
        )
    )
    assert [n.name for n in done.nodes] == ["aten.mul", "aten.mm", "aten.add"]


def test_a_column_reduction_ends_a_chain() -> None:
    done = fuse(
        tape(
            node("mul", (0,), (1,)),
            node("sum", (1,), (2,), "column"),
            node("sub", (1, 2), (3,)),
            outputs=(3,),
        )
    )
    assert [n.name for n in done.nodes] == ["aten.mul+sum", "aten.sub"]


def test_two_that_read_the_same_tensor_read_it_once() -> None:
    done = fuse(tape(node("sin", (0,), (1,)), node("cos", (0,), (2,)), outputs=(1, 2)))
    assert len(done.nodes) == 1
    assert moved(done) == 3 * 400


def test_backward_computes_again_what_follows_from_what_is_kept() -> None:
    steps = (
        node("gelu", (0,), (1,)), node("tanh", (0,), (2,)), node("mm", (1,), (3,), "opaque"),
        node("mm_backward", (1, 3), (4,), "opaque", "backward"),
        node("gelu_backward", (0, 2, 4), (5,), "map", "backward"),
    )  # fmt: skip
    done = fuse(tape(*steps, outputs=(5,)))
    backward = done.nodes[-1]
    assert {value for value, _ in backward.reads} == {0, 4}
    assert all(value != 2 for n in done.nodes for value, _ in n.writes)


def test_backward_computes_again_what_forward_reads_elsewhere() -> None:
    """A global norm reads an activation whole before it is scaled; backward keeps the product alone."""
    steps = (
        node("mm", (0,), (1,), "opaque"), node("gelu", (1,), (2,)), node("sum", (2,), (3,), "column"),
        node("mul", (2, 3), (4,)), node("mm", (4,), (5,), "opaque"),
        node("gelu_backward", (1, 2, 5), (6,), phase="backward"),
    )  # fmt: skip
    done = fuse(tape(*steps, outputs=(6,)))
    assert {value for value, _ in done.nodes[-1].reads} == {1, 5}
    last = {value: n.name for n in done.nodes for value, _ in n.reads}
    assert last[2] == "aten.mul"


def test_what_one_kernel_alone_reads_is_computed_there_however_early_it_could_be() -> None:
    """The gradient of a mean is known at once, and is as large as the output."""
    steps = (
        node("mm", (0,), (1,), "opaque"), node("div", (9,), (2,), phase="backward"),
        node("mul", (1, 2), (3,), phase="backward"), node("mm", (3,), (4,), "opaque", "backward"),
    )  # fmt: skip
    done = fuse(tape(*steps, outputs=(4,)))
    assert [n.name for n in done.nodes] == ["aten.mm", "aten.div+mul", "aten.mm"]


@pytest.mark.parametrize(("size", "casts"), [(400.0, 1), (200.0, 2)])
def test_a_whole_tensor_is_cast_once(size: float, casts: int) -> None:
    steps = (
        node("mm", (0,), (1,), "opaque"), node("_to_copy", (1,), (2,)), node("_to_copy", (1,), (3,)),
        node("mm", (2,), (4,), "opaque"), node("mm", (3,), (5,), "opaque"),
    )  # fmt: skip
    parts = [replace(n, reads=((1, size),)) if n.name == "aten._to_copy" else n for n in steps]
    done = fuse(tape(*parts, outputs=(4, 5)))
    written = {v for n in done.nodes for v, _ in n.writes}
    assert len(written & {2, 3}) == casts


def test_two_that_read_parts_of_a_tensor_may_read_different_ones() -> None:
    """Chunks of a loss: merged, all chunks' logits would be there at once."""
    part = (0, 200.0)
    first = replace(node("gather", (), (1,)), reads=(part,))
    second = replace(node("gather", (), (2,)), reads=(part,))
    given = tape(node("mm", (3,), (0,), "opaque"), first, second, outputs=(1, 2))
    assert [n.name for n in fuse(given).nodes] == ["aten.mm", "aten.gather", "aten.gather"]
    whole = tape(*(replace(n, reads=((n.reads[0][0], 400.0),)) for n in given.nodes), outputs=(1, 2))
    assert [n.name for n in fuse(whole).nodes] == ["aten.mm", "aten.gather+gather"]


def widened(reader: Node) -> Tape:
    """A product in 16 bits (1), cast to 32 (2) for a norm (3) whose result is cast (4) and multiplied (6)."""
    narrow, wide = 200.0, 400.0
    return tape(
        node("mm", (0,), (1,), "opaque", size=narrow),
        replace(node("_to_copy", (1,), (2,)), reads=((1, narrow),), writes=((2, wide),)),
        node("native_layer_norm", (2,), (3,), "row", size=wide),
        replace(node("_to_copy", (3,), (4,)), reads=((3, wide),), writes=((4, narrow),)),
        node("mul", (4,), (5,), size=narrow),
        node("mm", (5,), (6,), "opaque", size=narrow),
        reader,
        outputs=(6, 7),
    )


def test_backward_keeps_the_narrow_tensor_from_which_it_widens() -> None:
    backward = node("native_layer_norm_backward:input", (2,), (7,), "row", "backward")
    done = fuse(widened(backward))
    assert done.nodes[-1].reads == ((1, 200.0),)
    assert 2 not in {value for n in done.nodes for value, _ in n.writes}


def test_backward_normalises_again_from_what_it_keeps_for_the_norm() -> None:
    """Two values that follow from one: neither is kept."""
    both = node("native_layer_norm_backward:input", (2, 4), (7,), "row", "backward")
    done = fuse(widened(both))
    assert done.nodes[-1].reads == ((1, 200.0),)


def test_backward_keeps_what_would_take_more_to_compute_again() -> None:
    """Of two tensors added, both would have to be kept for their sum."""
    done = fuse(
        tape(
            node("mm", (0,), (1,), "opaque"),
            node("mm", (0,), (2,), "opaque"),
            node("add", (1, 2), (3,)),
            node("mm", (3,), (4,), "opaque"),
            node("mul", (3,), (5,), phase="backward"),
            outputs=(4, 5),
        )
    )
    assert done.nodes[-1].reads == ((3, 400.0),)


def test_backward_reads_a_branch_from_what_the_branches_were_joined_to() -> None:
    """The next convolution keeps the whole; its parts end with the forward pass."""
    steps = (
        node("mm", (0,), (1,), "opaque"), node("relu", (1,), (2,)),
        node("mm", (0,), (3,), "opaque"), node("relu", (3,), (4,), domain=50),
        node("cat", (2, 4), (5,), size=800.0, domain=150),
        node("convolution", (5,), (6,), "opaque"),
        node("convolution_backward", (5, 6), (7,), "opaque", "backward"),
        node("relu_backward", (2, 7), (8,), phase="backward"),
    )  # fmt: skip
    done = fuse(tape(*steps, outputs=(8,)))
    assert dict(done.nodes[-1].reads).keys() == {5, 7}
    joined = next(n for n in done.nodes if n.name.endswith("cat"))
    assert {value for value, _ in joined.reads} == {1, 3}
    assert not any(value in (2, 4) for n in done.nodes for value, _ in n.writes)


def test_convolutions_with_a_bias_stay_in_their_order() -> None:
    layers = [layer for _ in range(6) for layer in (nn.Conv1d(8, 8, 1), nn.ReLU())]
    compiled, eager = (
        trace_module(
            nn.Sequential(*layers), (torch.empty(64, 8, 4096),), name="own", mode="infer", compiled=compiled
        )
        for compiled in (True, False)
    )
    assert sum(k.count for k in compiled.kernels if k.kind == "pointwise") == 6
    assert compiled.memory
    assert eager.memory
    assert compiled.memory.peak <= eager.memory.peak


@pytest.mark.parametrize("turned", [False, True])
def test_what_puts_elements_in_another_order_is_not_in_place(turned: bool) -> None:
    """ESRGAN's shuffled pixels stand beside what they were (44.6 MiB on an H200, 31.1 if they did not)."""
    copy = replace(node("clone:strided" if turned else "clone", (2,), (3,)), kind="copy")
    last = node("mm", (3,), (4,), "opaque")
    done = fuse(tape(node("mm", (0,), (1,), "opaque"), node("add", (1, -1), (2,)), copy, last, outputs=(4,)))
    assert (done.events.index((FREE, 1, 0.0)) > done.events.index((ALLOCATE, 3, 400.0))) == turned


@pytest.mark.parametrize(
    ("last", "operands", "apart"), [("relu", 5, False), ("silu", 4, False), ("silu", 5, True)]
)
def test_an_activation_that_uses_what_is_made_of_many_twice_is_not_in_place(
    last: str, operands: int, apart: bool
) -> None:
    """RDNet's, of a convolution and its bias, is in place (1,003 MiB on an H100, 1,444 if it were not)."""
    done = fuse(
        tape(
            node("mm", (0,), (1,), "opaque"), node("mul", (1, *range(-operands + 1, 0)), (2,)),
            node(last, (2,), (3,)), node("mm", (3,), (4,), "opaque"), outputs=(4,),
        )
    )  # fmt: skip
    assert (done.events.index((FREE, 1, 0.0)) > done.events.index((ALLOCATE, 3, 400.0))) == apart


@pytest.mark.parametrize(
    ("operands", "library", "written"), [(4, False, False), (5, False, True), (2, True, True)]
)
def test_a_sum_of_few_that_only_kernels_read_is_computed_in_each(
    operands: int, library: bool, written: bool
) -> None:
    """NF-ResNet-50's sums of branches were thought to be written (395 MiB; 672 on an H100)."""
    branches = tuple(range(-operands + 1, 1))
    last = node("mm", (1,), (5,), "opaque") if library else node("cos", (1,), (5,), domain=50)
    done = fuse(
        tape(
            node("add", branches, (1,)), node("sum", (1,), (2,), "column"),
            node("mm", (2,), (3,), "opaque"), last, outputs=(3, 5),
        )
    )  # fmt: skip
    assert (1 in {value for one in done.nodes for value, _ in one.writes}) == written


@pytest.mark.parametrize(("beside", "unread", "waits"), [(97.5, 9.0, True), (96.5, 0.0, False)])
def test_a_place_waits_for_a_later_tensor_if_the_pass_takes_as_much_elsewhere(
    beside: float, unread: float, waits: bool
) -> None:
    """Value 5 takes the place of value 1; two kernels run between, of which the first takes 197 bytes and
    what nobody reads (attention's sums, so that DeiT's hidden layers kept their places on an H200)."""
    sizes = {1: 400.0, 7: beside, 2: 100.0, 3: 97.0, 8: unread, 4: 92.0, 5: 400.0, 6: 50.0}
    reads = ((0,), (1, 7), (2,), (3,), (4,), (5,))
    writes = ((1, 7), (2,), (3, 8), (4,), (5,), (6,))
    nodes = [node("mm", r, w, "opaque") for r, w in zip(reads, writes, strict=True)]
    nodes = [replace(one, writes=tuple((v, sizes[v]) for v, _ in one.writes)) for one in nodes]
    events = fuse(tape(*nodes, outputs=(6,))).events
    assert (events[events.index((ALLOCATE, 5, 400.0)) - 1] == (FREE, 1, 0.0)) == waits


@pytest.mark.parametrize(("m", "n", "taken"), [(1123, 510, 0), (1124, 510, 1), (1124, 512, 0)])
def test_a_weight_that_eight_does_not_divide_is_copied_for_a_product_that_is_bound(
    m: int, n: int, taken: int
) -> None:
    """To 512 columns: m n k is more than 148 times m k + n k + m n from m = 1,124 on."""
    product = replace(
        node("mm", (0, 1), (2,), "opaque"), kind="matmul", dtype="bf16", shape=(1, m, n, 256),
        reads=((0, 2.0 * m * 256), (1, 2.0 * n * 256)),
    )  # fmt: skip
    (done,) = fuse(tape(product, outputs=(2,))).nodes
    assert done.beside == taken * 2.0 * 512 * 256


def test_the_optimiser_is_not_compiled() -> None:
    steps = (node("mul", (0,), (1,), phase="optimiser"), node("add", (1,), (2,), phase="optimiser"))
    assert len(fuse(tape(*steps, outputs=(2,))).nodes) == 2


@st.composite
def tapes(draw: st.DrawFn) -> Tape:
    """Steps of some twenty nodes: any may read what was written before, forward nodes come first."""
    count = draw(st.integers(1, 20))
    split = draw(st.integers(0, count))
    nodes = []
    for index in range(count):
        phase: Phase = "forward" if index < split else "backward"
        reads = draw(st.sets(st.integers(-3, index - 1), min_size=1, max_size=3))
        role = draw(st.sampled_from(ROLES))
        domain = draw(st.sampled_from((100, 200)))
        nodes.append(
            node(f"n{index}", tuple(r + 10 for r in reads), (index + 10,), role, phase, domain=domain)
        )
    outputs = draw(st.sets(st.integers(10, count + 9), max_size=4))
    return tape(*nodes, outputs=tuple(outputs))


def check(eager: Tape, done: Tape) -> None:
    assert moved(done) <= moved(eager) + 1e-6
    assert sum(n.flop for n in done.nodes) == pytest.approx(sum(n.flop for n in eager.nodes))
    assert sum(n.fused for n in done.nodes) == len(eager.nodes)
    assert len(done.nodes) <= len(eager.nodes)
    before = {v for n in eager.nodes for v, _ in n.reads} - {v for n in eager.nodes for v, _ in n.writes}
    for n in done.nodes:  # nothing is read before it is written
        assert {v for v, _ in n.reads} <= before
        before |= {v for v, _ in n.writes}
    lasting = {eager.storage[v] for n in done.nodes for v, _ in n.writes} & eager.lasting
    assert lasting == {eager.storage[v] for n in eager.nodes for v, _ in n.writes} & eager.lasting


@given(tapes())
def test_never_more_bytes_the_same_operations_and_a_valid_order(eager: Tape) -> None:
    check(eager, fuse(eager))


@pytest.mark.parametrize(("also", "kernels", "reads"), [((), 3, {1, 2, 7}), ((5,), 4, {5, 7})])
def test_a_concatenation_computes_its_parts(also: tuple[int, ...], kernels: int, reads: set[int]) -> None:
    """As in a dense block; what outlives the step, or is read elsewhere, is computed apart."""
    done = fuse(
        tape(
            node("mm", (0,), (1,), "opaque"), node("mm", (0,), (7,), "opaque"),
            node("add_", (1, 2), (4,), domain=50), node("relu", (4,), (5,), domain=50),
            node("relu", (7,), (8,), domain=30), node("cat", (5, 8), (6,), size=800.0, domain=80),
            outputs=(6, *also),
        )
    )  # fmt: skip
    assert len(done.nodes) == kernels
    assert {value for value, _ in done.nodes[-1].reads} == reads
    assert sum(one.fused for one in done.nodes) == 6
    assert sum(one.flop for one in done.nodes) == 410.0


@given(tapes())
def test_allocations_of_the_merged_step_balance(eager: Tape) -> None:
    done = fuse(eager)
    alive = set(eager.start)
    for kind, storage, _ in done.events:
        if kind == ALLOCATE:
            assert storage not in alive
            alive.add(storage)
        elif kind == FREE:
            alive.remove(storage)
    assert alive <= eager.lasting


@cache
def recorded(name: str, mode: str, precision: str = "bf16") -> Tape:
    return record_workload(
        RunConfig(workload=name, mode=mode, precision=precision, size="toy"),  # type: ignore[arg-type]
        4,
    )


@pytest.mark.parametrize(
    ("name", "mode"),
    [("resnet50", "train"), ("bert-large", "train"), ("llm-1b", "train"), ("unet-sd15", "infer")],
)
def test_networks_keep_their_operations_and_lose_bytes(name: str, mode: str) -> None:
    eager = recorded(name, mode)
    done = fuse(eager)
    assert moved(done) < moved(eager)
    assert sum(n.flop for n in done.nodes) == pytest.approx(sum(n.flop for n in eager.nodes))
    assert len(done.nodes) < len(eager.nodes)
    products = [sum(n.kind in ("matmul", "convolution", "attention") for n in t.nodes) for t in (eager, done)]
    assert products[0] == products[1]


class Scores(nn.Module):
    """Attention as people write it down, of four heads."""

    def __init__(self, *, mask: str, scale: str) -> None:
        super().__init__()
        self.inner, self.mask, self.scale = nn.Linear(256, 768), mask, scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = [y.view(*x.shape[:2], 4, 64).transpose(1, 2) for y in self.inner(x).chunk(3, -1)]
        scores = parts[0] @ parts[1].transpose(-2, -1)
        scores = scores / 8.0 if self.scale == "div" else scores * 0.125 if self.scale else scores
        if self.mask:
            dtype = torch.float32 if self.mask == "wide" else scores.dtype
            scores = scores + scores.new_zeros(1, 1, *scores.shape[-2:], dtype=dtype)
        return (scores.softmax(-1).to(x.dtype) @ parts[2]).transpose(1, 2).reshape(x.shape)


@pytest.mark.parametrize(
    ("mode", "compiled", "mask", "scale", "fused"),
    [
        ("infer", True, "", "div", "flash"), ("infer", True, "narrow", "div", "efficient"),
        ("infer", True, "", "mul", "flash"), ("infer", True, "narrow", "mul", ""),
        ("infer", True, "wide", "div", ""), ("infer", False, "", "div", ""), ("infer", True, "", "", ""),
        ("train", True, "", "div", ""),
    ],
)  # fmt: skip
def test_attention_that_is_written_down_is_one_kernel_where_a_compiler_sees_it(
    mode: Any, compiled: bool, mask: str, scale: str, fused: str
) -> None:
    """Torch's compiler looks for such products in inference; CANINE took 6.6 ms where 8.4 were predicted."""
    made = trace_module(
        Scores(mask=mask, scale=scale), (torch.empty(8, 1024, 256),), name="a", mode=mode, compiled=compiled
    )
    found = [kernel for kernel in made.kernels if kernel.kind == "attention"]
    assert [kernel.shape for kernel in found] == [(8, 4, 1024, 1024, 64, 4)] * bool(fused)
    assert all(fused in kernel.name and kernel.flop == 4.0 * 8 * 4 * 1024**2 * 64 for kernel in found)
    assert made.memory is not None
    scores = 2 * 8 * 4 * 1024**2
    assert (made.memory.peak < scores) == bool(fused)


class Pools(nn.Module):
    """One window of every kind, of an image."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pool, mean = nn.functional.max_pool2d, nn.functional.avg_pool2d
        return pool(x, 2) + pool(x, 2, 2) + pool(x, 3, 2, 1) + mean(x, 3, 3).sum() + mean(x, 3, 1, 1).sum()


def test_windows_that_overlap_are_another_class_and_each_is_handled_once() -> None:
    """Reads do not make it more: windows of 4 and of 9 places took as long on an H200, in 16 and 32 bits."""
    made = trace_module(Pools(), (torch.empty(2, 8, 36, 36),), name="p", mode="infer", compiled=False)
    found = {k.name: k for k in made.kernels if "_pool" in k.name}
    apart = {name.split(":")[0]: k.count for name, k in found.items() if ":apart" in name}
    assert apart == {"aten.max_pool2d_with_indices": 2, "aten.avg_pool2d": 1}
    assert sum(":apart" not in name for name in found) == 2
    largest = found["aten.max_pool2d_with_indices:nchw"]
    assert arrays([largest]).handled[0] == 2 * 8 * 18 * 18


def test_adaptive_pooling_has_no_window_that_could_overlap() -> None:
    module = nn.Sequential(nn.Conv2d(8, 8, 3), nn.AdaptiveMaxPool2d(4), nn.Flatten(), nn.Linear(128, 1))
    made = trace_module(module, (torch.empty(2, 8, 36, 36),), name="p", mode="train", compiled=False)
    found = [k.name for k in made.kernels if "_pool2d" in k.name]
    assert found == ["aten.adaptive_max_pool2d:nchw", "aten.adaptive_max_pool2d_backward:nchw"]
