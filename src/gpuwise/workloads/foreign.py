"""Workloads that are not gpuwise's own: files of users, model libraries, installed packages.

Their code is somebody else's, so it runs in a process of its own: `ask` starts one that answers with
the specifications alone. Whatever the code prints, forks, raises or crashes stays there. A file is trusted
like any program that its user starts: nothing is sandboxed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gpuwise.errors import GpuwiseError, InputError, MachineError
from gpuwise.model.precision import PRECISIONS
from gpuwise.model.question import MODES, RunConfig, WorkloadSpec
from gpuwise.workloads.registry import Workload, spec_of

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

HOW = "docs/add-a-workload.md shows a whole one"
GROUP = "gpuwise.workloads"  # Entry points of installed packages
LIBRARIES = {
    "timm": ("timm", "from_timm"),
    "torchvision": ("torchvision", "from_torchvision"),
    "hf": ("transformers", "from_config"),
}
"""Prefix -> (library, function of `libraries` that turns the rest of the name into a workload)."""
PATIENCE_S = 180.0  # Importing a model library takes some seconds; what takes minutes hangs
LOG_TAIL = 600


def split(reference: str) -> tuple[Path, str | None] | None:
    """(file, name of one workload in it); None where `reference` means no file."""
    if reference.endswith(".py"):
        return Path(reference), None
    file, mark, name = reference.rpartition(".py:")
    return (Path(file + ".py"), name) if mark and name else None


def library(name: str) -> str | None:
    """The library that `timm:NAME` needs, or None where `name` has no such prefix."""
    prefix, colon, rest = name.partition(":")
    return LIBRARIES[prefix][0] if colon and rest and prefix in LIBRARIES else None


def entry_points() -> dict[str, metadata.EntryPoint]:
    """Entry points of installed packages, by name."""
    return {point.name: point for point in metadata.entry_points(group=GROUP)}


def is_foreign(name: str) -> bool:
    """True if `name` means a file, a network of a model library or what a package offers."""
    return split(name) is not None or library(name) is not None or name in entry_points()


def load(reference: str) -> tuple[Workload, ...]:
    """Run the foreign code and return its workloads. For a process that may die of it.

    Raises InputError for what is not a sound workload.
    """
    if split(reference) is not None:
        return load_file(reference)
    if library(reference) is not None:
        prefix, _, rest = reference.partition(":")
        module = import_module("gpuwise.workloads.libraries")
        made = getattr(module, LIBRARIES[prefix][1])(rest)
        assert isinstance(made, Workload)
        return (made,)
    point = entry_points()[reference]
    workload = point.load()
    if not isinstance(workload, Workload) or (fault := unsound(workload.spec)) is not None:
        what = "not a workload" if not isinstance(workload, Workload) else fault
        raise InputError(f"{reference} ({point.value}): {what}", hint=HOW)
    if workload.spec.id != reference:
        problem = f"{point.value} has the id {workload.spec.id!r}, its entry point {reference!r}"
        raise InputError(problem, hint=HOW)
    return (workload,)


def load_file(reference: str) -> tuple[Workload, ...]:
    """Run a user's file and return its workloads, called `my_model.py:name` without its folder.

    Raises InputError with file and line where it cannot be run or holds none.
    """
    parts = split(reference)
    assert parts is not None
    path, wanted = parts
    if not path.is_file():
        hint = "name it with its folder, or run this in its folder"
        raise InputError(f"there is no file {path}", hint=hint)
    module = _run(path.resolve())
    # What the file imports from elsewhere is not its own.
    found = (each for each in vars(module).values() if isinstance(each, Workload))
    defined = [w for w in found if w.build.__module__ == module.__name__]
    if not defined:
        problem = f"{path.name} has no workload: no function in it is decorated with @workload"
        classes = [each for each in vars(module).values() if isinstance(each, type)]
        networks = [c.__name__ for c in classes if hasattr(c, "forward") and c.__module__ == module.__name__]
        made = [f"from Python predict({name}(...), inputs) takes one without" for name in networks[:1]]
        raise InputError(problem, hint="; ".join([HOW, *made]))
    by_id: dict[str, Workload] = {}
    for w in defined:
        fault = unsound(w.spec)
        if w.spec.id in by_id and by_id[w.spec.id] is not w:
            fault = f"a second workload with the id {w.spec.id!r}"
        if fault is not None:
            raise InputError(f"{path.name}, line {w.build.__code__.co_firstlineno}: {fault}", hint=HOW)
        by_id[w.spec.id] = w
    if wanted is not None and wanted not in by_id:
        problem = f"{path.name} has no workload {wanted!r}, only {', '.join(by_id)}"
        raise InputError(problem, hint=f"such as {path}:{next(iter(by_id))}")
    # The name is what results keep; the reference is how a child process finds the file.
    return tuple(
        replace(w, spec=replace(w.spec, id=f"{path.name}:{name}"), reference=f"{path.resolve()}:{name}")
        for name, w in by_id.items()
        if wanted in (None, name)
    )


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
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines.append(error.lineno)
    place = f"{path.name}, line {lines[-1]}" if lines else path.name
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{place}: {type(error).__name__}: {said}".rstrip(": ")


def unsound(spec: WorkloadSpec) -> str | None:
    """The fault of a specification, or None."""
    if not isinstance(spec.id, str) or not spec.id or set(spec.id) & set(":/\\,"):
        return f"an id is a word without : / \\ and comma, not {spec.id!r}"
    allowed: dict[str, tuple[str, ...]] = {"modes": MODES, "precisions": PRECISIONS}
    for field, words in allowed.items():
        given = getattr(spec, field)
        if not isinstance(given, tuple) or not given or not set(given) <= set(words):
            return f"{field} is a tuple of {', '.join(words)}, not {given!r}"
    for field in ("version", "default_batch", "cpu_batch"):
        given = getattr(spec, field)
        if not isinstance(given, int) or given < 1:
            return f"{field} is a positive whole number, not {given!r}"
    return None


def build(workload: Workload, config: RunConfig, batch: int) -> Job:
    """The job of a foreign workload. Raises InputError for what cannot be timed as one."""
    from gpuwise.workloads.job import Job

    job = workload.build(config, batch)
    fault = None
    if not isinstance(job, Job):
        fault = f"its function returns a Job, not {type(job).__name__}"
    elif not callable(job.step):
        fault = f"step is a function without arguments, not {job.step!r}"
    elif not isinstance(job.items, int) or not 1 <= job.items < 10**15:
        fault = f"items is a positive whole number of up to 15 digits, not {str(job.items)[:80]}"
    if fault is not None:
        raise InputError(f"{workload.spec.id}: {fault}", hint=HOW)
    return job


def ask(reference: str) -> tuple[Workload, ...]:
    """The workloads that `reference` means, asked of a process of its own.

    Raises what `load` raises there, InputError where that process dies or hangs, and MachineError
    where a library is not installed.
    """
    needed = library(reference)
    if needed is not None and importlib.util.find_spec(needed) is None:
        problem = f"{needed} is not installed, and {reference} needs it"
        raise MachineError(problem, hint=f"pip install {needed}")
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "gpuwise.workloads.foreign", str(answer.fileno()), reference],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(answer.fileno(),),
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with suppress(ProcessLookupError):  # and everything that it forked off
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        answer.seek(0)
        said = answer.read()
        log.seek(0)
        tail = log.read()[-LOG_TAIL:].decode(errors="replace").strip()
    if not said:
        if code is None:
            how = f"was not read within {PATIENCE_S:.0f} s"
        elif code < 0:
            how = f"killed the process that reads it, by {signal.Signals(-code).name}"
        else:
            how = f"ended the process that reads it, with code {code}"
        last = f"; its last words: {tail}" if tail else ""
        raise InputError(f"{_public(reference)} {how}{last}", hint=HOW)
    return read_answer(json.loads(said))


def _public(reference: str) -> str:
    parts = split(reference)
    return parts[0].name if parts is not None else reference


def read_answer(answer: dict[str, Any]) -> tuple[Workload, ...]:
    """Workloads that load their code when they are built. Raises the error that is in the answer."""
    if "error" in answer:
        kind: type[GpuwiseError] = MachineError if answer["error"] == "MachineError" else InputError
        raise kind(answer["message"], hint=answer["hint"])

    def build_there(reference: str, config: RunConfig, batch: int) -> Job:
        (workload,) = load(reference)
        return workload.build(config, batch)

    workloads = []
    for each in answer["workloads"]:
        spec, reference = spec_of(each["spec"].pop("id"), each["spec"]), each["reference"]
        workloads.append(Workload(spec=spec, build=partial(build_there, reference), reference=reference))
    return tuple(workloads)


def answer(reference: str) -> dict[str, Any]:
    """The answer to `ask`: specifications without their cost functions, or an error in words."""
    try:
        workloads = load(reference)
    except GpuwiseError as error:
        return {"error": type(error).__name__, "message": str(error), "hint": error.hint}
    except ModuleNotFoundError as missing:
        message = f"{missing.name} is not installed, and {_public(reference)} needs it"
        needed = library(reference) or missing.name
        return {"error": "MachineError", "message": message, "hint": f"pip install {needed}"}
    except (Exception, SystemExit) as error:  # noqa: BLE001  foreign code may raise anything
        message = f"{_public(reference)}: {type(error).__name__}: {error}"
        needed = library(reference)
        hint = f"does it fit this torch? python -c 'import {needed}'" if needed else HOW
        return {"error": "InputError", "message": message, "hint": hint}
    stated = []
    for w in workloads:
        spec = asdict(w.spec)
        del spec["cost"]  # a function, which stays here
        stated.append({"reference": w.reference or w.spec.id, "spec": spec})
    return {"workloads": stated}


def main() -> None:
    """Entry point of the process that `ask` starts: `... FD REFERENCE`."""
    born = os.getpid()
    said = json.dumps(answer(sys.argv[2])).encode()
    if os.getpid() == born:
        with os.fdopen(int(sys.argv[1]), "wb") as stream:
            stream.write(said)
    sys.stdout.flush()
    os._exit(0)  # without waiting for threads that foreign code may have left


if __name__ == "__main__":
    main()
