"""Record one step on tensors without data: every operator with its operands, every allocation and release.

A dispatch mode sees each operator that torch would send to the device, below autograd and autocast, in
forward, backward and optimiser alike. Storages are watched by weak references, so their lives are those
of the real step: what autograd saves lives until its backward ran, gradients until they are set to None.
The step runs twice; the second one, in which the optimiser has its state, is what counts.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch._prims_common import suggest_memory_format
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode

from gpuwise.predictor import cuda_on_meta as cuda
from gpuwise.predictor.contents import (
    DEPENDENT,
    META,
    SCALARS,
    Contents,
    on_meta,
    refusals,
    refuse,
    swapped,
    tensors_in,
)
from gpuwise.predictor.costs import nodes_of, rule_of
from gpuwise.predictor.graph import ALLOCATE, FREE, RUN, Call, Event, Node, Tape, Value
from gpuwise.predictor.kernels import Phase

DTYPES = {
    torch.float64: "fp64", torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16",
    torch.int8: "int8",
}  # fmt: skip
# Positions of input and weight.
CONVOLUTIONS = {"aten.convolution": (0, 1), "aten.convolution_backward": (1, 2)}

# Where the code lies that runs for the recording alone: this, and what torch does for its modes.
RECORDING = (
    str(Path(__file__).parent),
    *(
        str(Path(torch.__file__).parent / name)
        for name in ("overrides.py", "utils/_python_dispatch.py", "_ops.py", "_library", "_compile.py",
                     "_dynamo", "compiler")
    ),
    contextlib.__file__,
)  # fmt: skip

OWN = {
    "aten.scaled_dot_product_attention": cuda.attention, "aten._native_multi_head_attention": cuda.heads,
    "aten._transformer_encoder_layer_fwd": cuda.encoder_layer, "aten._safe_softmax": cuda.safe_softmax,
    "aten.matmul": cuda.matmul, "aten.linear": cuda.linear, "aten.dropout": cuda.dropout,
    **{f"aten.{n}.input": cuda.recurrent(n) for n in cuda.MODES},
    **{f"aten.{n}.data": cuda.recurrent(n, packed=True) for n in cuda.MODES},
    **{f"aten.{n}": cuda.cell(n) for n in cuda.CELLS},
}  # fmt: skip
MASKED = ("aten.index", "aten.index_put", "aten.index_put_")
# Sums of whole numbers and truths: torch copies these to the format of the result before it adds them
# (aten/src/ATen/native/ReduceOpsUtils.h, `make_reduction`; of numbers in 16 bits its kernels widen each).
WIDENED = ("aten.sum", "aten.prod", "aten.nansum", "aten.cumsum", "aten.cumprod")
# Under a dispatch mode backward makes new tensors of what it else changes in place where no one else holds it
# (torch/csrc/autograd/input_buffer.cpp, FunctionsManual.cpp: `isTensorSubclassLike`).
IN_PLACE = ("aten.add", "aten.scatter", "aten.scatter_add", "aten.index_put")


class Operator(NamedTuple):
    """What the schema of an operator says."""

    name: str
    inplace: tuple[int | str, ...]  # Positions and keywords of the arguments that it overwrites
    aliases: bool  # Whether it overwrites an argument or returns a view of one
    pointwise: bool
    composite: torch._C.DispatchKey | None  # Whose kernel makes it of others, where it is taken apart


@cache
def operator_of(func: Any) -> Operator:
    schema, name = func._schema, func._schema.name.replace("::", ".")
    written = [
        a.name if a.kwarg_only else i
        for i, a in enumerate(schema.arguments)
        if a.alias_info is not None and a.alias_info.is_write
    ]
    aliases = any(each.alias_info is not None for each in (*schema.arguments, *schema.returns))
    has = partial(torch._C._dispatch_has_kernel_for_dispatch_key, func.name())
    pointwise = torch.Tag.pointwise in func.tags
    # Seen whole in inference mode, where no autograd takes them apart, or since they have their own gradient.
    keys = () if has("Meta") else ("CompositeImplicitAutograd",)
    plain = func.namespace == "aten" and not (aliases or has("CPU"))
    if plain and rule_of(name, pointwise=pointwise) is None:
        keys = (*keys, "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
    return Operator(
        name=name,
        inplace=tuple(written),
        aliases=aliases,
        pointwise=pointwise,
        composite=next((getattr(torch._C.DispatchKey, key) for key in keys if has(key)), None),
    )


def _holders(tensor: Any) -> tuple[int, int]:
    """How many references a tensor and its storage have."""
    return tensor._use_count(), torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)


class _Sums(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Reads the references of a gradient to which autograd adds another."""

    holders = (0, 0)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten.add.Tensor and torch._C._current_autograd_node() is not None:
            self.holders = _holders(args[0])
        return func(*args, **(kwargs or {}))


@cache
def _alone() -> tuple[int, int]:
    """The references of one that autograd alone holds, as a dispatch mode sees it."""
    sums: Any = _Sums()  # type: ignore[no-untyped-call]
    with torch.enable_grad(), sums:
        one: Any = torch.empty(2, device="meta", requires_grad=True) * 1
        (one * 2 + one * 3).sum().backward()
    return sums.holders[0], sums.holders[1]


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sends every operator to the meta device and writes down what it would cost."""

    def __init__(self, *, compiled: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._alone = None if compiled else _alone()
        self.nodes: list[Node] = []
        self.events: list[Event] = []
        self.alive: dict[int, float] = {}
        self.storage: dict[int, int] = {}
        self.unknown: list[Call] = []
        self.parameters: dict[int, tuple[int, float]] = {}
        self.gradients: list[float] = []
        """Bytes of each."""
        self.optimiser_bytes = 0.0
        self.recording = False
        self.calls: dict[str, int] = {}
        """What the host does: see `kernels.Trace.calls`."""
        self._known: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self._current: dict[int, int] = {}
        self.contents = Contents()
        self._rules = Rules()
        self._count = 0
        self._after_backward = False

    def begin(self) -> dict[int, float]:
        """Forget what was recorded and start; what is alive now is the state before the step."""
        self.nodes, self.events, self.unknown = [], [], []
        self.gradients, self.recording, self._after_backward = [], True, False
        self.calls = dict.fromkeys(("forward", "backward", "optimiser", "modules", "functions"), 0)
        return dict(self.alive)

    def _phase(self) -> Phase:
        if torch._C._current_autograd_node() is not None:
            self._after_backward = True
            return "backward"
        return "optimiser" if self._after_backward else "forward"

    # -- tensors ---------------------------------------------------------------------------------

    def _storage_of(self, tensor: Tensor) -> int:
        """The number of a tensor's storage; a new one is an allocation."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        found = self._known.get(key)
        if found is not None:
            return found[0]
        self._count += 1
        number, size = self._count, float(storage.nbytes())
        self._known[key] = (number, weakref.ref(storage, partial(self._release, key, number)))
        self.alive[number] = size
        self.events.append((ALLOCATE, number, size))
        return number

    def _release(self, key: int, number: int, _: Any) -> None:
        self._known.pop(key, None)
        self._current.pop(number, None)
        if self.alive.pop(number, None) is not None:
            self.events.append((FREE, number, 0.0))

    def _value(self, tensor: Tensor, *, written: bool = False) -> Value:
        number = self._storage_of(tensor)
        if written or number not in self._current:
            self._new_value(number)
        if isinstance(tensor, nn.Parameter):
            self.parameters[number] = (tensor.numel(), tensor.numel() * tensor.itemsize)
        touched = tensor.itemsize
        for size, step in zip(tensor.shape, tensor.stride(), strict=True):
            touched *= size if step else min(1, size)
        return Value(
            id=self._current[number],
            storage=number,
            shape=tuple(tensor.shape),
            dtype=dtype_of(tensor),
            bytes=float(touched),
            # Also a slice of channels, by whose strides libraries choose their kernel.
            channels_last=tensor.dim() == 4
            and (
                tensor.is_contiguous(memory_format=torch.channels_last)
                or suggest_memory_format(tensor) == torch.channels_last
            ),
            strides=tuple(tensor.stride()),
        )

    def _new_value(self, storage: int) -> int:
        self._count += 1
        self._current[storage] = self._count
        self.storage[self._count] = storage
        return self._count

    def _tree(self, item: Any) -> Any:
        if isinstance(item, Tensor):
            return self._value(item)
        if isinstance(item, list | tuple):
            return [self._tree(x) for x in item]
        return item

    # -- dispatch --------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        watching = sys.getprofile()
        sys.setprofile(None)
        try:
            return self._dispatched(func, args, dict(kwargs or {}))
        finally:
            sys.setprofile(watching)

    def _dispatched(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        if not isinstance(func, torch._ops.OpOverload):
            refuse(f"{func} is not a plain operator")
        operator = operator_of(func)
        own: Any = OWN.get(str(func).removesuffix(".default"))
        if own is None and operator.composite is not None:
            own = partial(func._op_dk, operator.composite)
        if own is not None:
            with self:
                return own(*args, **kwargs)
        device = kwargs.get("device")
        tensors = tensors_in((args, tuple(kwargs.values())))
        on_device = any(t.is_meta for t in tensors)
        if device is not None and (on_device or torch.device(device).type != "cpu"):
            # Also what is copied to the host: it stays without data.
            kwargs["device"] = META
            kwargs.pop("pin_memory", None)
            on_device = True
        if not on_device:
            written = _written(operator, args, kwargs)
            if operator.name in DEPENDENT and any(self.contents.value(t) is None for t in tensors):
                return self.contents.depends(operator.name, func, args, kwargs)
            return self.contents.on_host(func, args, kwargs, written, aliases=operator.aliases)
        if operator.name in SCALARS:
            return self.contents.depends(operator.name, func, args, kwargs)
        if operator.name in MASKED:
            with self:
                args = _selected(args)
        if operator.name in IN_PLACE and self._unshared(operator.name, args):
            with self:
                return getattr(args[0], operator.name.removeprefix("aten.") + "_")(*args[1:], **kwargs)
        if operator.name in WIDENED and not args[0].is_floating_point() and not args[0].is_complex():
            with self:
                args = (args[0].to(kwargs.get("dtype") or torch.int64), *args[1:])
        if operator.name in CONVOLUTIONS:
            with self:
                args = _in_order(operator.name, args)
        host = args, kwargs
        args, kwargs = swapped(args, on_meta), {k: swapped(x, on_meta) for k, x in kwargs.items()}
        tensors = tensors_in((args, tuple(kwargs.values())))
        if self.recording:
            return self._record(operator, func, args, kwargs, tensors, host)
        return self._watch(self._run(operator, func, args, kwargs, tensors, host))

    def _unshared(self, name: str, args: Any) -> bool:
        """Whether backward would change the first argument, which nobody else holds, in place."""
        if torch._C._current_autograd_node() is None or _holders(args[0]) != self._alone:
            return False
        forms = [(x.shape, x.dtype) for x in tensors_in(args)]
        return len(forms) > 1 and (name != "aten.add" or forms[0] == forms[1])

    def _run(
        self, operator: Operator, func: Any, args: Any, kwargs: Any, tensors: list[Tensor], host: Any
    ) -> Any:
        """Shapes of the result, and its contents where they follow. `host` has the arguments with the data of
        the host. Raises InputError where torch has no rule."""
        if operator.name in DEPENDENT:
            return self.contents.depends(operator.name, func, *host)
        written = _written(operator, args, kwargs)
        # What only overwrites tensors whose shape it cannot change need not run: operators on lists, and
        # element-wise ones of equal shapes, of which an optimiser has thousands.
        keeps = operator.name.endswith("_") and any(t.is_meta for t in tensors)
        listed = operator.name.startswith(("aten._foreach_", "aten._fused_", "aten._amp_"))
        alike = operator.pointwise and all(t.shape == tensors[0].shape or t.numel() == 1 for t in tensors)
        if keeps and (listed or alike):
            result = args[0] if func._schema.returns else None
        else:
            result = self._shape(operator, func, args, kwargs, tensors)
        self.contents.follow(operator.name, func, host[0], host[1], result, written)
        return result

    def _shape(self, operator: Operator, func: Any, args: Any, kwargs: Any, tensors: list[Tensor]) -> Any:
        def ask() -> Any:
            if operator.name == "aten._grouped_mm":
                return _grouped_product(args, kwargs)
            return arranged(operator.name, args, func(*args, **kwargs))

        try:
            return ask() if operator.aliases else self._rules.answer(func, args, kwargs, tensors, ask)
        except (NotImplementedError, RuntimeError) as error:
            refuse(f"{operator.name}: {str(error).splitlines()[0][:200]}", error)

    def _watch(self, result: Any) -> Any:
        for tensor in tensors_in((result,)):
            if tensor.is_meta:
                self._storage_of(tensor)
        return result

    def _record(
        self, operator: Operator, func: Any, args: Any, kwargs: Any, tensors: list[Tensor], host: Any
    ) -> Any:
        phase = self._phase()
        self.calls[phase] += 1
        call_args = tuple(self._tree(x) for x in args)
        call_kwargs = {key: self._tree(x) for key, x in kwargs.items()}
        targets = _written(operator, args, kwargs)
        before = tuple(self._value(t) for t in targets)
        result = self._run(operator, func, args, kwargs, tensors, host)
        known = {t.untyped_storage()._cdata for t in tensors}
        fresh = [t for t in tensors_in((result,)) if t.is_meta and t.untyped_storage()._cdata not in known]
        if not fresh and not targets:
            return result
        outs = tuple(self._value(t, written=True) for t in (*fresh, *targets))
        call = Call(
            name=operator.name, args=call_args, kwargs=call_kwargs, outs=outs, inplace=before,
            pointwise=operator.pointwise, phase=phase, tf32=tf32_allowed(operator.name),
            searched=torch.backends.cudnn.benchmark,
        )  # fmt: skip
        self._append(call)
        return result

    def _append(self, call: Call) -> None:
        made = nodes_of(call)
        if made is None:
            self.unknown.append(call)
            made = ()
        for node in made:
            # A kernel that changes what one before it wrote (a convolution's bias) makes a new value.
            again = {value for value, _ in node.reads} & {value for value, _ in node.writes}
            new = {value: self._new_value(self.storage[value]) for value in sorted(again)}
            if new:
                node = replace(
                    node, writes=tuple((new.get(value, value), size) for value, size in node.writes)
                )
            self.events.append((RUN, len(self.nodes), 0.0))
            self.nodes.append(node)

    def before_module(self, *_: Any) -> None:
        if self.recording:
            self.calls["modules"] += 1

    def before_function(self, frame: FrameType, event: str, _: Any) -> None:
        """Count what Python enters on its way forward, as its profiler tells; not what only records."""
        if event == "call" and not self._after_backward:
            self.calls["functions"] += not frame.f_code.co_filename.startswith(RECORDING)

    # -- optimiser -------------------------------------------------------------------------------

    def before_optimiser(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """Gradients are complete here."""
        for p in (p for group in optimizer.param_groups for p in group["params"]):
            if p.is_meta:
                self._value(p)
            if p.grad is not None:
                self.gradients.append(p.grad.numel() * p.grad.itemsize)

    def after_optimiser(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """The state is complete here."""
        states = [x for state in optimizer.state.values() for x in state.values()]
        self.optimiser_bytes = float(sum(t.numel() * t.itemsize for t in tensors_in(states) if t.is_meta))


def dtype_of(tensor: Tensor) -> str:
    name = str(tensor.dtype).removeprefix("torch.")
    return DTYPES.get(tensor.dtype) or ("fp8" if name.startswith("float8") else name)


def tf32_allowed(name: str) -> bool:
    if "convolution" in name:
        return bool(torch.backends.cudnn.allow_tf32)
    return torch.get_float32_matmul_precision() != "highest"


def _format(name: str, args: Any) -> torch.memory_format:
    """The order in which cuDNN convolves: channels last where input or weight is, in all formats but fp64
    (aten/src/ATen/native/ConvUtils.h). By strides: where a size is 1, a tensor can be contiguous in both."""
    operands = (args[place] for place in CONVOLUTIONS.get(name, ()))
    formats = {suggest_memory_format(t) for t in operands if t.dtype != torch.float64}
    return next(iter(formats - {torch.contiguous_format}), torch.contiguous_format)


def _in_order(name: str, args: Any) -> Any:
    """The arguments of a convolution as torch hands them to cuDNN, copied where they lie otherwise."""
    order, found = _format(name, args), list(args)
    for place in range(CONVOLUTIONS[name][1] + 1):
        if isinstance(args[place], Tensor) and not args[place].is_contiguous(memory_format=order):
            found[place] = args[place].contiguous(memory_format=order)
    return tuple(found)


def arranged(name: str, args: Any, result: Any) -> Any:
    """The result of an operator, of a convolution in the order in which cuDNN leaves it. Torch's rule for
    tensors without a device does not know the library, and says channels first."""
    if (order := _format(name, args)) == torch.contiguous_format:
        return result
    if isinstance(result, Tensor):
        return torch.empty_like(result, memory_format=order)
    return tuple(arranged(name, args, t) if t is not None and t.dim() > 3 else t for t in result)


def _grouped_product(args: Any, kwargs: Any) -> Tensor:
    """The result of a product by groups of rows, of which torch's rule knows bf16 alone: a matrix, or one for
    each group where rows are summed over or the groups are a dimension."""
    a, b = args[:2]
    offsets = args[2] if len(args) > 2 else kwargs.get("offs")
    shape: tuple[int, ...] = (a.shape[-2], b.shape[-1])
    if a.dim() == b.dim():
        shape = (a.shape[0] if a.dim() == 3 else offsets.shape[0], *shape)
    made: Tensor = a.new_empty(shape, dtype=kwargs.get("out_dtype") or a.dtype)
    return made


def _written(operator: Operator, args: Any, kwargs: Any) -> list[Tensor]:
    """The tensors that an operator overwrites."""
    found = []
    for place in operator.inplace:
        given = kwargs.get(place) if isinstance(place, str) else args[place] if place < len(args) else None
        found += tensors_in((given,))
    return found


def _selected(args: Any) -> Any:
    """The arguments of an indexing with positions in place of masks, which a device has to find first, and
    those of 32 bits in 64, to which torch copies them (aten/src/ATen/native/TensorAdvancedIndexing.cpp)."""
    positions: list[Any] = []
    for index in args[1]:
        if isinstance(index, Tensor) and index.dtype in (torch.bool, torch.uint8):
            positions += index.nonzero().unbind(1)
        else:
            wide = isinstance(index, Tensor) and index.dtype == torch.int32
            positions.append(index.long() if wide else index)
    return (args[0], positions, *args[2:])


class Form(NamedTuple):
    """All that a tensor without data has, where nothing else lives in its storage."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype

    def make(self) -> Tensor:
        return torch.empty_strided(self.shape, self.strides, dtype=self.dtype, device=META)


# Of the results of an operator that returns several.
Forms = tuple[Form | None, ...]


class Rules:
    """Answers of one recording."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Form | Forms] = {}

    def answer(
        self, func: Any, args: Any, kwargs: Any, tensors: Sequence[Tensor], ask: Callable[[], Any]
    ) -> Any:
        """What `ask` returns, or new tensors like those that it returned for equal operands.

        The operator must neither write to its operands, `tensors`, nor return a view of one.
        """
        if any(not t.is_meta or t.is_conj() or t.is_neg() for t in tensors):
            return ask()
        key = (func, _signature(args), _signature(tuple(kwargs.items())))
        try:
            known = self._known.get(key)
        except TypeError:  # an argument that has no hash
            return ask()
        if known is not None:
            return known.make() if isinstance(known, Form) else tuple(each and each.make() for each in known)
        result = ask()
        form = _form(result)
        if form is not None and not _share(result, tensors):
            self._known[key] = form
        return result


def _signature(item: Any) -> Hashable:
    """Equal for arguments that a rule cannot tell apart. Types are part of it, for 1 == 1.0 == True."""
    if isinstance(item, Tensor):
        return Form(tuple(item.shape), tuple(item.stride()), item.dtype)
    if isinstance(item, list | tuple):
        return tuple(_signature(each) for each in item)
    return type(item), item


def _form(result: Any) -> Form | Forms | None:
    """The form of a result; None where it is no tensor, or one that has less or more than its storage."""
    if isinstance(result, Tensor):
        made = Form(tuple(result.shape), tuple(result.stride()), result.dtype)
        whole = result.is_meta and result.untyped_storage().nbytes() == made.make().untyped_storage().nbytes()
        return made if whole else None
    if not isinstance(result, tuple):
        return None
    every = tuple(None if each is None else _form(each) for each in result)
    if any(found is None and each is not None for found, each in zip(every, result, strict=True)):
        return None
    return every  # type: ignore[return-value]


def _share(result: Any, tensors: Sequence[Tensor]) -> bool:
    """Whether results share a storage with each other or with an operand."""
    every = [result] if isinstance(result, Tensor) else [each for each in result if each is not None]
    news = [each.untyped_storage()._cdata for each in every]
    olds = {each.untyped_storage()._cdata for each in tensors}
    return len({*news}) < len(news) or not olds.isdisjoint(news)


def record(build: Callable[[], tuple[Callable[[], object], float]], *, compiled: bool = False) -> Tape:
    """The steady step of what `build` returns: (step, items), of a network that takes itself for `compiled`
    or not; it is not merged here. Raises InputError where it cannot be traced."""
    recorder = Recorder(compiled=compiled)
    with (
        refusals(),
        torch.random.fork_rng(devices=[]),
        cuda.cuda_on_meta(recorder.contents, compiled=compiled),
        recorder,
    ):
        hooks = (
            register_optimizer_step_pre_hook(recorder.before_optimiser),
            register_optimizer_step_post_hook(recorder.after_optimiser),
            register_module_forward_pre_hook(recorder.before_module),
        )
        try:
            step, items = build()
            step()
            earlier, start, before = tuple(recorder.events), recorder.begin(), sys.getprofile()
            # Whoever asked to hear of collections of garbage would be counted as functions of the step.
            listening, gc.callbacks[:] = [*gc.callbacks], []
            sys.setprofile(recorder.before_function)
            try:
                step()
            finally:
                sys.setprofile(before)
                gc.callbacks[:] = listening
            recorder.recording = False
            return Tape(
                nodes=tuple(recorder.nodes), events=tuple(recorder.events), start=start,
                storage=recorder.storage, parameters=sum(count for count, _ in recorder.parameters.values()),
                parameter_bytes=sum(size for _, size in recorder.parameters.values()),
                gradient_bytes=float(sum(recorder.gradients)), gradient_count=len(recorder.gradients),
                optimiser_bytes=recorder.optimiser_bytes, unknown=tuple(recorder.unknown),
                notes=tuple(recorder.contents.assumed), items=items, calls=recorder.calls,
                earlier=earlier,
            )  # fmt: skip
        finally:
            for hook in hooks:
                hook.remove()
