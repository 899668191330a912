"""Record one step on tensors without data: every operator with its operands, every allocation and release.

A dispatch mode sees each operator that torch would send to the device, below autograd and autocast, in
forward, backward and optimiser alike. Storages are watched by weak references, so their lives are those
of the real step: what autograd saves lives until its backward ran, gradients until they are set to None.
The step runs twice; the second one, in which the optimiser has its state, is what counts.
"""

from __future__ import annotations

import sys
import traceback
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from types import FrameType
from typing import Any, NamedTuple, NoReturn

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode

from gpuwise.errors import InputError
from gpuwise.model.trace import Phase
from gpuwise.predict.graph import ALLOCATE, FREE, RUN, Call, Event, Node, Tape, Value
from gpuwise.predict.operators import nodes_of
from gpuwise.predict.pretend import META, attention, dropout, pretend_cuda

DTYPES = {
    torch.float64: "fp64",
    torch.float32: "fp32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.int8: "int8",
}
HINT = "measure it instead (gpuwise bench), or give a workload whose step has fixed shapes and torch operators"

_DATA_DEPENDENT = (
    "aten._local_scalar_dense", "aten.item", "aten.nonzero", "aten.masked_select", "aten._unique2",
    "aten.unique_consecutive", "aten.unique_dim", "aten.equal", "aten.is_nonzero",
)  # fmt: skip

_OWN = {"aten.scaled_dot_product_attention": attention, "aten.dropout": dropout}


class Operator(NamedTuple):
    """What the schema of an operator says."""

    name: str
    inplace: tuple[int | str, ...]
    """Positions and keywords of the arguments that it overwrites."""
    pointwise: bool
    composite: bool


@lru_cache(maxsize=None)
def _operator(func: Any) -> Operator:
    schema = func._schema
    written = [
        a.name if a.kwarg_only else i
        for i, a in enumerate(schema.arguments)
        if a.alias_info is not None and a.alias_info.is_write
    ]
    has = partial(torch._C._dispatch_has_kernel_for_dispatch_key, func.name())
    return Operator(
        name=schema.name.replace("::", "."),
        inplace=tuple(written),
        pointwise=torch.Tag.pointwise in func.tags,
        composite=has("CompositeImplicitAutograd") and not has("Meta"),
    )


def _dtype(tensor: Tensor) -> str:
    found = DTYPES.get(tensor.dtype)
    name = str(tensor.dtype).removeprefix("torch.")
    return found or ("fp8" if name.startswith("float8") else name)


class Recorder(TorchDispatchMode):
    """Sends every operator to the meta device and writes down what it would cost."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[Node] = []
        self.events: list[Event] = []
        self.alive: dict[int, float] = {}
        self.storage: dict[int, int] = {}
        self.unknown: dict[str, None] = {}
        self.parameters: dict[int, tuple[int, float]] = {}
        self.gradient_bytes = self.optimiser_bytes = 0.0
        self.recording = False
        self._known: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self._current: dict[int, int] = {}
        self._count = 0
        self._after_backward = False

    def begin(self) -> dict[int, float]:
        """Forget what was recorded and start; what is alive now is the state before the step."""
        self.nodes, self.events, self.unknown = [], [], {}
        self.gradient_bytes, self.recording, self._after_backward = 0.0, True, False
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
            self._count += 1
            self._current[number] = self._count
            self.storage[self._count] = number
        if isinstance(tensor, nn.Parameter):
            self.parameters[number] = (tensor.numel(), tensor.numel() * tensor.itemsize)
        touched = tensor.itemsize
        for size, step in zip(tensor.shape, tensor.stride(), strict=True):
            touched *= size if step else min(1, size)
        return Value(
            id=self._current[number],
            storage=number,
            shape=tuple(tensor.shape),
            dtype=_dtype(tensor),
            bytes=float(touched),
            channels_last=tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last),
        )

    def _tree(self, item: Any) -> Any:
        if isinstance(item, Tensor):
            return self._value(item)
        if isinstance(item, list | tuple):
            return [self._tree(x) for x in item]
        return item

    # -- dispatch --------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if not isinstance(func, torch._ops.OpOverload):
            _refuse(f"{func} is no plain operator")
        operator = _operator(func)
        if operator.composite:
            # Seen undone in inference mode only, where no autograd takes them apart first.
            own = _OWN.get(operator.name) or partial(func._op_dk, torch._C.DispatchKey.CompositeImplicitAutograd)
            with self:
                return own(*args, **kwargs)
        _to_meta(args, kwargs)
        args, kwargs = _on_meta(args), {key: _on_meta(x) for key, x in kwargs.items()}
        tensors = list(_tensors((args, tuple(kwargs.values()))))
        on_device = any(t.is_meta for t in tensors)
        if on_device and operator.name in _DATA_DEPENDENT:
            return _answer(operator.name)
        if not self.recording or not (on_device or "device" in kwargs):
            return self._watch(self._run(operator, func, args, kwargs))
        return self._record(operator, func, args, kwargs)

    def _run(self, operator: Operator, func: Any, args: Any, kwargs: Any) -> Any:
        """Shapes of the result. Raises InputError where torch has no rule for them."""
        try:
            return func(*args, **kwargs)
        except (NotImplementedError, RuntimeError) as error:
            _refuse(f"{operator.name}: {str(error).splitlines()[0][:200]}", error)

    def _watch(self, result: Any) -> Any:
        for tensor in _tensors((result,)):
            if tensor.is_meta:
                self._storage_of(tensor)
        return result

    def _record(self, operator: Operator, func: Any, args: Any, kwargs: Any) -> Any:
        phase = self._phase()
        call_args = tuple(self._tree(x) for x in args)
        call_kwargs = {key: self._tree(x) for key, x in kwargs.items()}
        targets = [
            t
            for place in operator.inplace
            for t in _tensors((_argument(args, kwargs, place),))
        ]
        before = tuple(self._value(t) for t in targets)
        many = operator.name.endswith("_") and "_foreach_" in operator.name or "_fused_adam" in operator.name
        many = many or operator.name == "aten._fused_sgd_"
        result = (args[0] if func._schema.returns else None) if many else self._run(operator, func, args, kwargs)
        known = {t.untyped_storage()._cdata for t in targets} | {
            t.untyped_storage()._cdata for t in _tensors((args, tuple(kwargs.values())))
        }
        fresh = [t for t in _tensors((result,)) if t.is_meta and t.untyped_storage()._cdata not in known]
        if not fresh and not targets:
            return result
        outs = (*(self._value(t, written=True) for t in fresh), *(self._value(t, written=True) for t in targets))
        call = Call(
            name=operator.name,
            args=call_args,
            kwargs=call_kwargs,
            outs=outs,
            inplace=before,
            pointwise=operator.pointwise,
            phase=phase,
            tf32=_tf32(operator.name),
        )
        self._append(call)
        return result

    def _append(self, call: Call) -> None:
        made = nodes_of(call)
        if made is None:
            self.unknown[call.name] = None
            made = ()
        for node in made:
            self.events.append((RUN, len(self.nodes), 0.0))
            self.nodes.append(node)

    # -- optimiser -------------------------------------------------------------------------------

    def before_optimiser(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """Gradients are complete here."""
        for p in _optimised(optimizer):
            if p.is_meta:
                self._value(p)
            if p.grad is not None:
                self.gradient_bytes += p.grad.numel() * p.grad.itemsize

    def after_optimiser(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """The state is complete here."""
        states = [x for state in optimizer.state.values() for x in state.values()]
        self.optimiser_bytes = float(sum(t.numel() * t.itemsize for t in _tensors(states) if t.is_meta))


def _optimised(optimizer: torch.optim.Optimizer) -> Iterator[nn.Parameter]:
    return (p for group in optimizer.param_groups for p in group["params"])


def _argument(args: Any, kwargs: Any, place: int | str) -> Any:
    if isinstance(place, str):
        return kwargs.get(place)
    return args[place] if place < len(args) else None


def _tensors(tree: Any) -> Iterator[Tensor]:
    for item in tree:
        if isinstance(item, Tensor):
            yield item
        elif isinstance(item, list | tuple):
            yield from _tensors(item)


def _tf32(name: str) -> bool:
    if "convolution" in name:
        return bool(torch.backends.cudnn.allow_tf32)
    return torch.get_float32_matmul_precision() != "highest"


def _to_meta(args: Any, kwargs: dict[str, Any]) -> None:
    """Make a tensor on the meta device that was to be on a CUDA device, or has more than one element."""
    device = kwargs.get("device")
    if device is None:
        return
    first = args[0] if args else None
    single = isinstance(first, list | tuple) and all(x == 1 for x in first)
    host = isinstance(first, Tensor) and not first.is_meta
    if torch.device(device).type == "cuda" or not (single or host):
        kwargs["device"] = META
        kwargs.pop("pin_memory", None)


def _on_meta(item: Any) -> Any:
    """The same without data, where it is a tensor of the host with more than one element."""
    if isinstance(item, list | tuple):
        return type(item)(_on_meta(x) for x in item) if not hasattr(item, "_fields") else item
    if isinstance(item, Tensor) and item.device.type != "meta" and item.numel() > 1:
        return torch.empty_like(item, device=META)
    return item


def _answer(name: str) -> float:
    """What a question about a tensor's content is answered: only the gradient scaler's overflow check
    has a known answer (no overflow). Raises InputError for all others."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.endswith("grad_scaler.py"):
            return 0.0
        frame = frame.f_back
    _refuse(f"{name}: the step depends on what a tensor contains, and tensors have no content here")


def _refuse(why: str, cause: BaseException | None = None) -> NoReturn:
    """Raise InputError with the operator and the line that called it."""
    place = _place(traceback.extract_stack(sys._getframe(1)))
    raise InputError(f"cannot trace {why}{place}", hint=HINT) from cause


def _place(frames: traceback.StackSummary) -> str:
    """` (file, line n)`: the innermost line outside torch and this package."""
    own = ("/torch/", "/gpuwise/predict/", "<frozen", "/contextlib.py", "/unittest/")
    for frame in reversed(frames):
        if not any(mark in frame.filename.replace("\\", "/") for mark in own):
            return f" ({frame.filename.replace(chr(92), '/').rsplit('/', 1)[-1]}, line {frame.lineno})"
    return ""


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn what a model raises for want of data or a device into an InputError."""
    try:
        yield
    except (RuntimeError, AssertionError, TypeError, ValueError, AttributeError, LookupError) as error:
        place = _place(traceback.extract_tb(error.__traceback__))
        first = (str(error).splitlines() or [""])[0][:200]
        raise InputError(f"cannot trace: {type(error).__name__}: {first}{place}", hint=HINT) from error


def record(build: Callable[[], tuple[Callable[[], object], float]]) -> Tape:
    """The steady step of what `build` returns: (step, items). Raises InputError where it cannot be traced."""
    with _refusals(), torch.random.fork_rng(devices=[]), pretend_cuda(), Recorder() as recorder:
        hooks = (
            register_optimizer_step_pre_hook(recorder.before_optimiser),
            register_optimizer_step_post_hook(recorder.after_optimiser),
        )
        try:
            step, items = build()
            recorder.begin()
            step()
            start = recorder.begin()
            step()
            recorder.recording = False
            return _tape(recorder, start, items)
        finally:
            for hook in hooks:
                hook.remove()


def _tape(recorder: Recorder, start: dict[int, float], items: float) -> Tape:
    return Tape(
        nodes=tuple(recorder.nodes),
        events=tuple(recorder.events),
        start=start,
        storage=recorder.storage,
        parameters=sum(count for count, _ in recorder.parameters.values()),
        parameter_bytes=sum(size for _, size in recorder.parameters.values()),
        gradient_bytes=recorder.gradient_bytes,
        optimiser_bytes=recorder.optimiser_bytes,
        unknown=tuple(recorder.unknown),
        items=items,
    )
