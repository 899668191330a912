"""GPU names as arguments of commands: the usual variant of a generic name, with a note beside the result."""

from __future__ import annotations

from gpuwise.cli import print as printer
from gpuwise.facts import catalog
from gpuwise.model.gpu import GpuSpec


def gpu(name: str) -> GpuSpec:
    """The GPU that `name` means; where it has several variants, standard error names them.

    Raises InputError for an unknown name and for a whole product line ("rtx").
    """
    found = catalog.resolve(name)
    if found.note:
        printer.talk(f"note: {found.note}")
    return found.spec
