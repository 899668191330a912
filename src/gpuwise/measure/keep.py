"""Keep the growing result whatever the disk does: in its place, else in the temporary folder."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.model.result import Result


@dataclass(slots=True)
class Keeper:
    """Call it with each new state of the result; it never raises for a full or vanished disk."""

    path: Path
    kept: Path | None = None
    """Where the newest state is; None while it is in memory alone."""
    trouble: InputError | None = None
    """Why it is not, or not whole, at `path`."""

    def __call__(self, result: Result) -> None:
        self.kept = self.trouble = None
        for place in (self.path, Path(tempfile.gettempdir()) / f"{result.id}.json"):
            try:
                self.kept = store.save(result, place)
                return
            except InputError as error:
                # The first reason is the one to tell.
                self.trouble = self.trouble or error
