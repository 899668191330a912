"""What an operator returns for tensors without data, asked of torch once for equal operands.

Torch's rules for the meta device are written in Python and take most of the time of a recording; a network
of equal layers asks them the same a hundred times, and both steps of a recording ask all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gpuwise.predict.pretend import META


class Form(NamedTuple):
    """All that a tensor without data has, where nothing else lives in its storage."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype

    def make(self) -> Tensor:
        return torch.empty_strided(self.shape, self.strides, dtype=self.dtype, device=META)


Forms = tuple[Form | None, ...]
"""Of the results of an operator that returns several."""


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
