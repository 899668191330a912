"""Workloads in a file of the user's: `./my_model.py` for all in it, `./my_model.py:name` for one.

The file is run, so this happens in a process of its own (`describe`, or the measuring child), never
in the one that keeps results. What goes wrong in it is told with its file and line.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from gpuwise.errors import InputError
from gpuwise.model.precision import PRECISIONS
from gpuwise.model.workload import MODES, WorkloadSpec
from gpuwise.workloads.workload import Workload

HOW = "docs/add-a-workload.md shows a whole one"
_ALLOWED = {"modes": MODES, "precisions": PRECISIONS}


def split(reference: str) -> tuple[Path, str | None] | None:
    """(file, name of one workload in it); None where `reference` means no file."""
    if reference.endswith(".py"):
        return Path(reference), None
    file, mark, name = reference.rpartition(".py:")
    return (Path(file + ".py"), name) if mark and name else None


def load(reference: str) -> tuple[Workload, ...]:
    """Run the file and return its workloads, called `my_model.py:name` without its folder.

    Raises InputError with file and line where it cannot be run or holds none.
    """
    found = split(reference)
    assert found is not None
    path, wanted = found
    if not path.is_file():
        raise InputError(
            f"there is no file {path}", hint="name it with its folder, or run this in its folder"
        )
    own = _own(_run(path.resolve()), path)
    if wanted is not None and wanted not in own:
        raise InputError(
            f"{path.name} has no workload {wanted!r}, only {', '.join(own)}",
            hint=f"gpuwise bench {path}:{next(iter(own))}",
        )
    return tuple(_named(w, path) for name, w in own.items() if wanted in (None, name))


def _run(path: Path) -> ModuleType:
    """The module of the file, with its folder on the path for what it imports from there."""
    spec = importlib.util.spec_from_file_location(f"gpuwise_user_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(path.parent))
    born = os.getpid()
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(describe(error, path), hint=f"see all of it with: python {path}") from error
    if os.getpid() != born:
        os._exit(0)  # a copy that the file forked off: one process measures
    return module


def describe(error: BaseException, path: Path) -> str:
    """`my_model.py, line 3: NameError: ...`: the innermost line of the file that led to the error."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
    ]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines.append(error.lineno)
    place = f"{path.name}, line {lines[-1]}" if lines else path.name
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{place}: {type(error).__name__}: {said}".rstrip(": ")


def _own(module: ModuleType, path: Path) -> dict[str, Workload]:
    """The file's workloads by id, in its order; what it imports from elsewhere is not its own."""
    found = [value for value in vars(module).values() if isinstance(value, Workload)]
    own = [w for w in found if w.build.__module__ == module.__name__]
    if not own:
        raise InputError(
            f"{path.name} has no workload: no function in it is decorated with @workload", hint=HOW
        )
    by_id: dict[str, Workload] = {}
    for w in own:
        fault = unsound(w.spec)
        if w.spec.id in by_id and by_id[w.spec.id] is not w:
            fault = f"a second workload with the id {w.spec.id!r}"
        if fault is not None:
            raise InputError(f"{path.name}, line {w.build.__code__.co_firstlineno}: {fault}", hint=HOW)
        by_id[w.spec.id] = w
    return by_id


def unsound(spec: WorkloadSpec) -> str | None:
    """What is wrong with a specification, or None."""
    if not isinstance(spec.id, str) or not spec.id or set(spec.id) & set(":/\\,"):
        return f"an id is a word without : / \\ and comma, not {spec.id!r}"
    for field, allowed in _ALLOWED.items():
        given = getattr(spec, field)
        if not isinstance(given, tuple) or not given or not set(given) <= set(allowed):
            return f"{field} is a tuple of {', '.join(allowed)}, not {given!r}"
    for field in ("version", "default_batch", "cpu_batch"):
        given = getattr(spec, field)
        if not isinstance(given, int) or given < 1:
            return f"{field} is a positive whole number, not {given!r}"
    return None


def _named(w: Workload, path: Path) -> Workload:
    """With the name under which results keep it, and the reference by which a child finds it."""
    spec = replace(w.spec, id=f"{path.name}:{w.spec.id}")
    return replace(w, spec=spec, reference=f"{path.resolve()}:{w.spec.id}")
