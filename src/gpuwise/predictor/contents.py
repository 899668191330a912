"""What tensors contain while a step is recorded: computed where small, else assumed, else refused.

Networks derive their structure from small tensors (`torch.linspace(0, rate, depth).tolist()`), so small ones
are computed for real: those of the host, and a copy of those of the device. Weights, inputs and random draws
are large or arbitrary: they are *hollow*, no memory of theirs is touched and nothing follows from them.

Where the course of a step depends on what is unknown, an assumption takes its place and is written down: the
choices of a router are spread evenly, so that of E experts each sees k/E of the tokens, and a comparison of
numbers holds for half of them, but what would be an error does not occur. Anything else is refused with the
operator and the line that called it; never a silent guess.
"""

from __future__ import annotations

import linecache
import math
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NoReturn

import torch
from torch import Tensor

from gpuwise.errors import InputError

HINT = (
    "see that the step runs at all; if so, measure it (gpuwise bench), or give one of fixed shapes and torch "
    "operators"
)


def refuse(why: str, cause: BaseException | None = None) -> NoReturn:
    """Raise InputError with the operator and the line that called it."""
    raise InputError(f"cannot trace {why}{place()}", hint=HINT) from cause


def place() -> str:
    """` (FILE, line n)`: the innermost line that runs now outside torch and this package."""
    return _place(traceback.extract_stack(sys._getframe(1)))


def _place(frames: traceback.StackSummary) -> str:
    """` (file, line n)`: the innermost line outside torch and this package."""
    own = ("/torch/", "/gpuwise/predictor/", "<frozen", "/contextlib.py", "/unittest/")
    for frame in reversed(frames):
        if not any(mark in frame.filename.replace("\\", "/") for mark in own):
            return f" ({frame.filename.replace(chr(92), '/').rsplit('/', 1)[-1]}, line {frame.lineno})"
    return ""


@contextmanager
def refusals() -> Iterator[None]:
    """Turn what a model raises for want of data or a device into an InputError."""
    try:
        yield
    except (RuntimeError, AssertionError, TypeError, ValueError, AttributeError, LookupError) as error:
        place = _place(traceback.extract_tb(error.__traceback__))
        first = (str(error).splitlines() or [""])[0][:200]
        raise InputError(f"cannot trace: {type(error).__name__}: {first}{place}", hint=HINT) from error


def _harmless(usual: bool) -> bool:
    """The answer by which the line that asks raises no error; the usual one where it raises none by any."""
    for frame, number in traceback.walk_stack(None):
        now, then = (linecache.getline(frame.f_code.co_filename, number + i).strip() for i in (0, 1))
        if now.startswith(("if ", "elif ")) and then.startswith("raise "):
            return now.startswith(("if not ", "elif not "))
    return usual


META = torch.device("meta")
# Elements up to which a tensor is computed, such as a mask of every sequence; those of random draws.
MOST, MOST_DRAWN = 2**22, 2**12
SCALARS = ("aten._local_scalar_dense", "aten.item", "aten.equal", "aten.is_nonzero")
# Operators whose result, or its shape, depends on what a tensor contains.
DEPENDENT = (
    *SCALARS, "aten.nonzero", "aten.masked_select", "aten._unique2", "aten.unique_consecutive",
    "aten.unique_dim", "aten.bincount", "aten._pack_padded_sequence",
)  # fmt: skip
_NEVER = ("aten.isnan", "aten.isinf", "aten.eq")
# The last: such as the mask of large images, which nothing pads.
_ALWAYS = ("aten.isfinite", "aten.ne", "aten.ones", "aten.ones_like", "aten.new_ones")
_COMPARED = ("aten.gt", "aten.ge", "aten.lt", "aten.le")
_KEEPING = ("aten.view", "aten.sort", "aten.index", "aten.gather", "aten.upsample_nearest2d")
_COPIES = ("aten._to_copy", "aten.clone", "aten.copy_", "aten.any", "aten.all")


def tensors_in(tree: Any) -> list[Tensor]:
    """The tensors in nested lists and tuples, in order."""
    found: list[Tensor] = []
    for item in tree:
        if isinstance(item, Tensor):
            found.append(item)
        elif isinstance(item, list | tuple):
            found.extend(tensors_in(item))
    return found


def swapped(item: Any, swap: Callable[[Tensor], Tensor]) -> Any:
    """The same tree with other tensors."""
    if isinstance(item, Tensor):
        return swap(item)
    if isinstance(item, list | tuple) and not hasattr(item, "_fields"):
        return type(item)(swapped(x, swap) for x in item)
    return item


def on_meta(tensor: Tensor) -> Tensor:
    """The same without data, where it is a tensor of the host with more than one element."""
    if tensor.is_meta or tensor.numel() == 1:
        return tensor
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=META)


@cache
def _is_factory(func: Any) -> bool:
    """True for an operator that makes a tensor of no other."""
    arguments = func._schema.arguments
    has_tensors = any("Tensor" in str(argument.type) for argument in arguments)
    return not has_tensors and any(argument.name == "device" for argument in arguments)


class Contents:
    """What is known of the tensors that are alive."""

    def __init__(self) -> None:
        self.assumed: dict[str, None] = {}
        """What was assumed, and where."""
        self._values: dict[int, Tensor] = {}
        """Storage of the device -> its elements."""
        self._hollow: set[int] = set()
        """Storages of the host that hold nothing."""
        self._shares: dict[int, float] = {}
        """Storage -> the assumed share of its elements that are not zero."""
        self._choices: dict[int, int] = {}
        """Storage of indices that a router chose -> among how many."""
        self._refs: dict[int, weakref.ref[Any]] = {}

    def _watch(self, tensor: Tensor) -> int:
        """The key of a tensor's storage; what is known of it ends with it."""
        storage = tensor.untyped_storage()
        key = int(storage._cdata)
        if key not in self._refs:

            def forget(_: Any) -> None:
                self._hollow.discard(key)
                for known in (self._values, self._shares, self._choices, self._refs):
                    known.pop(key, None)

            self._refs[key] = weakref.ref(storage, forget)
        return key

    def value(self, tensor: Tensor) -> Tensor | None:
        """A tensor of the host that holds the same; None where that is not known."""
        key = tensor.untyped_storage()._cdata
        if not tensor.is_meta:
            return None if key in self._hollow else tensor
        base = self._values.get(key)
        if base is None or base.dtype != tensor.dtype or tensor.is_conj() or tensor.is_neg():
            return None
        return base.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    def put(self, tensor: Tensor, value: Tensor) -> None:
        """Keep what a tensor of the device contains, if it is small."""
        count = tensor.untyped_storage().nbytes() // tensor.itemsize
        if tensor.is_meta and count <= MOST and value.dtype == tensor.dtype:
            base = torch.zeros(count, dtype=tensor.dtype)
            base.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).copy_(value)
            self._values[self._watch(tensor)] = base

    # -- host ------------------------------------------------------------------------------------

    def on_host(self, func: Any, args: Any, kwargs: Any, written: Sequence[Tensor], *, aliases: bool) -> Any:
        """The result of an operator without tensors of the device: computed, or hollow."""
        tensors = tensors_in((args, tuple(kwargs.values())))
        drawn = torch.Tag.nondeterministic_seeded in func.tags
        if self._decides(func, args):
            return func(*args, **kwargs).fill_(0.5)
        most = MOST_DRAWN if drawn else MOST
        hollow = any(t.untyped_storage()._cdata in self._hollow for t in tensors)
        hollow = hollow or sum(t.numel() for t in tensors) > most
        if written:
            if not hollow:
                return func(*args, **kwargs)
            for tensor in written:
                self._hollow.add(self._watch(tensor))
            return args[0] if func._schema.returns else None
        if aliases or not (hollow or _is_factory(func)):
            return func(*args, **kwargs)
        made = func(*swapped(args, on_meta), **{**kwargs, **({} if tensors else {"device": META})})
        if not hollow and all(t.numel() <= most for t in tensors_in((made,))):
            return func(*args, **kwargs)
        return self._emptied(made) if isinstance(made, Tensor) else type(made)(map(self._emptied, made))

    def _decides(self, func: Any, args: Any) -> bool:
        """Whether one number is drawn, which decides whether a layer is dropped: its mean is taken."""
        if decides := bool(func._schema.name == "aten::rand" and math.prod(args[0]) == 1):
            self._note("a random number between 0 and 1 is 0.5")
        return decides

    def _emptied(self, made: Any) -> Any:
        """A hollow tensor of the host of this form; the system gives memory only to what is written."""
        if not isinstance(made, Tensor):
            return made
        tensor = torch.empty_strided(made.shape, made.stride(), dtype=made.dtype, device="cpu")
        self._hollow.add(self._watch(tensor))
        return tensor

    # -- device ----------------------------------------------------------------------------------

    def follow(
        self, name: str, func: Any, args: Any, kwargs: Any, result: Any, written: Sequence[Tensor]
    ) -> None:
        """Compute what the results of an operator on the device contain, where its operands are known."""
        tensors = tensors_in((args, tuple(kwargs.values())))
        drawn = torch.Tag.nondeterministic_seeded in func.tags
        values = [] if drawn else [self.value(t) for t in tensors]
        small = sum(t.numel() for t in tensors) <= MOST
        results = tensors_in((result,))
        fresh = not written and not any(r is t for r in results for t in tensors)
        if fresh and not tensors:
            small = all(r.numel() <= MOST for r in results)
        if drawn or not small or any(v is None for v in values) or name.startswith("aten.empty"):
            for tensor in written:
                self._values.pop(tensor.untyped_storage()._cdata, None)
                self._shares.pop(tensor.untyped_storage()._cdata, None)
            self._spread(name, args, tensors, results)
            if self._decides(func, args):
                self.put(results[0], torch.full(results[0].shape, 0.5, dtype=results[0].dtype))
            return
        known = iter(values)
        here = swapped(args, lambda _: next(known))  # type: ignore[return-value, arg-type]
        named = {
            key: torch.device("cpu") if key == "device" else swapped(value, lambda _: next(known))  # type: ignore[return-value, arg-type]
            for key, value in kwargs.items()
        }
        olds = {t.untyped_storage()._cdata for t in tensors}
        if fresh and all(r.untyped_storage()._cdata in olds for r in results):
            return  # a view shows what its storage holds
        try:
            computed = func(*here, **named)
        except (RuntimeError, NotImplementedError, TypeError):
            for tensor in written:
                self._values.pop(tensor.untyped_storage()._cdata, None)
            return
        if fresh:
            for tensor, value in zip(results, tensors_in((computed,)), strict=False):
                self.put(tensor, value)

    def _spread(self, name: str, args: Any, tensors: Sequence[Tensor], results: Sequence[Tensor]) -> None:
        """Which share of unknown results is not zero, by what routers and masks do."""
        if not results:
            return
        base = name.removesuffix("_")
        key = self._watch(results[-1])
        keys = [t.untyped_storage()._cdata for t in tensors]
        shares = [self._shares[k] for k in keys if k in self._shares]
        chosen = next((self._choices[k] for k in keys if k in self._choices), None)
        if base in ("aten.topk", "aten.argmax"):
            place = 2 if base == "aten.topk" else 1
            dim = args[place] if len(args) > place else -1
            if isinstance(dim, int):
                self._choices[key] = tensors[0].shape[dim]
        elif base == "aten.eq" and chosen:
            self._shares[key] = 1.0 / chosen
        elif base == "aten.scatter" and results[-1].numel():
            self._shares[key] = min(1.0, tensors[1].numel() / results[-1].numel())
        elif base in ("aten.logical_not", "aten.bitwise_not") and shares:
            self._shares[key] = 1.0 - shares[0]
        elif base in ("aten.logical_and", "aten.bitwise_and") and shares:
            self._shares[key] = shares[0] * shares[-1] if len(shares) > 1 else shares[0]
        elif base == "aten.mul" and shares:
            self._shares[key] = math.prod(shares)
        elif base == "aten.sum" and shares and shares[0] in (0.0, 1.0) and results[-1].numel() == 1:
            total = int(shares[0]) * tensors[0].numel()  # such as of what is no number: none is
            self.put(results[-1], torch.full(results[-1].shape, total, dtype=results[-1].dtype))
        elif base in ("aten.any", "aten.all") and shares:
            self._shares[key] = float(shares[0] > 0.0 if base == "aten.any" else shares[0] == 1.0)
        elif base in _NEVER:
            self._shares[key] = 0.0
        elif base in _ALWAYS:
            self._shares[key] = 1.0
        elif base in _COMPARED and results[-1].dim():
            # Counts of what was routed are above zero everywhere; numbers are on either side.
            self._shares[key] = 0.5 if tensors[0].is_floating_point() else 1.0
        elif name in _COPIES or base in _KEEPING:
            if shares:
                self._shares[key] = shares[0]
            if chosen and not results[-1].is_floating_point():
                self._choices[key] = chosen

    def depends(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        """The result of an operator that depends on contents: known, or by an assumption that is noted.

        Raises InputError where neither is possible.
        """
        if name == "aten._pack_padded_sequence":
            return self._packed(*args)
        tensor = args[0]
        values = [self.value(t) for t in tensors_in(args)]
        if all(v is not None for v in values):
            known = iter(values)
            found = func(*swapped(args, lambda _: next(known)), **kwargs)  # type: ignore[return-value, arg-type]
            return self._moved(found)
        callers = (frame.f_code.co_filename for frame, _ in traceback.walk_stack(None))
        if any(file.endswith("grad_scaler.py") for file in callers):
            return 0.0  # torch's gradient scaler asks whether a gradient overflowed: none does
        if tensor.dtype == torch.bool and tensor.numel() == 1 and not tensor.is_meta:
            return False  # of weights that are not drawn: whether a draw has to be repeated
        key = tensor.untyped_storage()._cdata
        share, chosen = self._shares.get(key), self._choices.get(key)
        if name in SCALARS and tensor.dtype == torch.bool and share is not None and name != "aten.equal":
            self._note(f"{name} is {(found := _harmless(share >= 0.5))}")
            return found
        if name in ("aten.nonzero", "aten.masked_select") and tensor.dim():
            mask = args[-1]
            share = self._shares.get(mask.untyped_storage()._cdata)
            if share is not None:
                count = round(share * mask.numel())
                self._note(f"{name} finds {share:.2g} of the elements")
                if share == 1.0 and name == "aten.nonzero" and count <= MOST:
                    return self._moved(torch.ones(mask.shape).nonzero())
                if name == "aten.masked_select":
                    return torch.empty(count, dtype=tensor.dtype, device=META)
                # As torch lays it out: a column for each dimension.
                return torch.empty((mask.dim(), count), dtype=torch.int64, device=META).t()
        if name in ("aten._unique2", "aten.bincount") and chosen:
            self._note(f"{name}: {chosen} choices are equally frequent")
            counts = torch.full((chosen,), tensor.numel() // chosen)
            counts[: tensor.numel() % chosen] += 1
            if name == "aten.bincount":
                return self._moved(counts)
            inverse = torch.empty_like(tensor, device=META, dtype=torch.int64)
            return self._moved(torch.arange(chosen)), inverse, self._moved(counts)
        return refuse(
            f"{name}: its result decides how the step goes on, and depends on data that is not known"
        )

    def _packed(self, rows: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
        """The places that sequences have, one after the other, and how many have each."""
        places = rows.shape[1 if batch_first else 0]
        known = self.value(lengths)
        if known is None:
            self._note("packed sequences are as long as the longest")
            known = torch.full(lengths.shape, places)
        sizes = [int((known > place).sum()) for place in range(int(known.max()))]
        return torch.empty((sum(sizes), *rows.shape[2:]), dtype=rows.dtype, device=META), torch.tensor(sizes)

    def _moved(self, found: Any) -> Any:
        """Tensors of the host as those of the device that hold the same."""
        if isinstance(found, tuple):
            return tuple(self._moved(each) for each in found)
        if not isinstance(found, Tensor):
            return found
        made = torch.empty_strided(found.shape, found.stride(), dtype=found.dtype, device=META)
        self.put(made, found)
        return made

    def _note(self, what: str) -> None:
        self.assumed[f"assumed that {what}{place()}"] = None
