"""Every result at hand: the store's, and those that were given beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.model.result import Result

Tell = Callable[[str], None]


def known(given: Sequence[Result], tell: Tell) -> tuple[Result, ...]:
    """Every measured result of the store and those `given`, each once.

    A file of the store that cannot be read is left out, and `tell` hears why.
    """
    kept = (result for path in store.saved() for result in _kept(path, tell))
    own = {result.id: result for result in (*given, *kept) if result.origin == "measured"}
    return tuple(own.values())


def _kept(path: Path, tell: Tell) -> tuple[Result, ...]:
    try:
        return _load(path, path.stat().st_mtime_ns)
    except (OSError, InputError) as error:
        tell(f"left out: {error}")
        return ()


@lru_cache(maxsize=256)
def _load(path: Path, changed: int) -> tuple[Result, ...]:
    return store.load_all(path)
