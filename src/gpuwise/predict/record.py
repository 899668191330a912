"""Record one step on tensors without data: every operator with its operands, every allocation and release.

A dispatch mode sees each operator that torch would send to the device, below autograd and autocast, in
forward, backward and optimiser alike. Storages are watched by weak references, so their lives are those
of the real step: what autograd saves lives until its backward ran, gradients until they are set to None.
The step runs twice; the second one, in which the optimiser has its state, is what counts.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode

from gpuwise.model.trace import Phase
from gpuwise.predict.dispatch import (
    DATA_DEPENDENT,
    OWN,
    Operator,
    answer,
    argument,
    arranged,
    dtype_of,
    on_meta,
    operator_of,
    optimised,
    tensors_in,
    tf32_allowed,
    to_meta,
)
from gpuwise.predict.graph import ALLOCATE, FREE, RUN, Call, Event, Node, Tape, Value
from gpuwise.predict.operators import nodes_of
from gpuwise.predict.pretend import pretend_cuda
from gpuwise.predict.refuse import refusals, refuse
from gpuwise.predict.rules import Rules


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sends every operator to the meta device and writes down what it would cost."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.nodes: list[Node] = []
        self.events: list[Event] = []
        self.alive: dict[int, float] = {}
        self.storage: dict[int, int] = {}
        self.unknown: dict[str, None] = {}
        self.parameters: dict[int, tuple[int, float]] = {}
        self.gradients: list[float] = []
        """Bytes of each."""
        self.optimiser_bytes = 0.0
        self.recording = False
        self._known: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self._current: dict[int, int] = {}
        self._rules = Rules()
        self._count = 0
        self._after_backward = False

    def begin(self) -> dict[int, float]:
        """Forget what was recorded and start; what is alive now is the state before the step."""
        self.nodes, self.events, self.unknown = [], [], {}
        self.gradients, self.recording, self._after_backward = [], True, False
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
            dtype=dtype_of(tensor),
            bytes=float(touched),
            channels_last=tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last),
            strides=tuple(tensor.stride()),
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
            refuse(f"{func} is no plain operator")
        operator = operator_of(func)
        if operator.composite:
            # Seen undone in inference mode only, where no autograd takes them apart first.
            own: Any = OWN.get(operator.name) or partial(
                func._op_dk, torch._C.DispatchKey.CompositeImplicitAutograd
            )
            with self:
                return own(*args, **kwargs)
        to_meta(args, kwargs)
        args, kwargs = on_meta(args), {key: on_meta(x) for key, x in kwargs.items()}
        tensors = list(tensors_in((args, tuple(kwargs.values()))))
        on_device = any(t.is_meta for t in tensors)
        if on_device and operator.name in DATA_DEPENDENT:
            return answer(operator.name)
        if not self.recording or not (on_device or "device" in kwargs):
            return self._watch(self._run(operator, func, args, kwargs, tensors))
        return self._record(operator, func, args, kwargs, tensors)

    def _run(self, operator: Operator, func: Any, args: Any, kwargs: Any, tensors: list[Tensor]) -> Any:
        """Shapes of the result. Raises InputError where torch has no rule for them."""
        if _keeps_shape(operator, tensors):
            return args[0] if func._schema.returns else None

        def ask() -> Any:
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

    def _record(self, operator: Operator, func: Any, args: Any, kwargs: Any, tensors: list[Tensor]) -> Any:
        phase = self._phase()
        call_args = tuple(self._tree(x) for x in args)
        call_kwargs = {key: self._tree(x) for key, x in kwargs.items()}
        targets = [t for place in operator.inplace for t in tensors_in((argument(args, kwargs, place),))]
        before = tuple(self._value(t) for t in targets)
        result = self._run(operator, func, args, kwargs, tensors)
        known = {t.untyped_storage()._cdata for t in tensors}
        fresh = [t for t in tensors_in((result,)) if t.is_meta and t.untyped_storage()._cdata not in known]
        if not fresh and not targets:
            return result
        outs = (
            *(self._value(t, written=True) for t in fresh),
            *(self._value(t, written=True) for t in targets),
        )
        call = Call(
            name=operator.name,
            args=call_args,
            kwargs=call_kwargs,
            outs=outs,
            inplace=before,
            pointwise=operator.pointwise,
            phase=phase,
            tf32=tf32_allowed(operator.name),
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
        for p in optimised(optimizer):
            if p.is_meta:
                self._value(p)
            if p.grad is not None:
                self.gradients.append(p.grad.numel() * p.grad.itemsize)

    def after_optimiser(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """The state is complete here."""
        states = [x for state in optimizer.state.values() for x in state.values()]
        self.optimiser_bytes = float(sum(t.numel() * t.itemsize for t in tensors_in(states) if t.is_meta))


def _keeps_shape(operator: Operator, tensors: list[Tensor]) -> bool:
    """Whether an operator only overwrites tensors whose shape it cannot change, so that it need not run:
    those on lists, and element-wise ones of equal shapes, of which an optimiser has thousands."""
    if not operator.name.endswith("_") or not any(t.is_meta for t in tensors):
        return False
    if operator.name.startswith(("aten._foreach_", "aten._fused_", "aten._amp_")):
        return True
    first = tensors[0].shape if tensors else ()
    return operator.pointwise and all(t.shape == first or t.numel() == 1 for t in tensors)


def record(build: Callable[[], tuple[Callable[[], object], float]]) -> Tape:
    """The steady step of what `build` returns: (step, items). Raises InputError where it cannot be traced."""
    with refusals(), torch.random.fork_rng(devices=[]), pretend_cuda(), Recorder() as recorder:
        hooks = (
            register_optimizer_step_pre_hook(recorder.before_optimiser),
            register_optimizer_step_post_hook(recorder.after_optimiser),
        )
        try:
            step, items = build()
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
        gradient_bytes=float(sum(recorder.gradients)),
        gradient_count=len(recorder.gradients),
        optimiser_bytes=recorder.optimiser_bytes,
        unknown=tuple(recorder.unknown),
        items=items,
    )
