"""Workloads that are not gpuwise's own: files, adapters to model libraries, installed packages.

Their code is somebody else's, so it runs in a process of its own: `ask` starts one that answers with
the specifications alone. Whatever the code prints, forks, raises or crashes stays there.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, fields
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING, Any

from gpuwise.errors import GpuwiseError, InputError, MachineError
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import WorkloadSpec
from gpuwise.workloads import adapters, user
from gpuwise.workloads.workload import Workload

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

GROUP = "gpuwise.workloads"
PATIENCE_S = 180.0
"""Importing a model library takes some seconds; what takes minutes hangs."""
LOG_TAIL = 600


def entry_points() -> dict[str, metadata.EntryPoint]:
    """What installed packages offer, by name."""
    return {point.name: point for point in metadata.entry_points(group=GROUP)}


def is_foreign(name: str) -> bool:
    """Whether `name` means a file, an adapter or what a package offers."""
    return user.split(name) is not None or adapters.library(name) is not None or name in entry_points()


def load(reference: str) -> tuple[Workload, ...]:
    """Run the foreign code and return its workloads. For a process that may die of it."""
    if user.split(reference) is not None:
        return user.load(reference)
    if adapters.library(reference) is not None:
        return (adapters.load(reference),)
    point = entry_points()[reference]
    found = point.load()
    if not isinstance(found, Workload) or (fault := user.unsound(found.spec)) is not None:
        what = "no workload" if not isinstance(found, Workload) else fault
        raise InputError(f"{reference} ({point.value}): {what}", hint=user.HOW)
    if found.spec.id != reference:
        raise InputError(
            f"{point.value} has the id {found.spec.id!r}, its entry point {reference!r}", hint=user.HOW
        )
    return (found,)


def build(found: Workload, config: RunConfig, batch: int) -> Job:
    """The job of a foreign workload. Raises InputError for what cannot be timed as one."""
    from gpuwise.workloads.job import Job

    job = found.build(config, batch)
    fault = None
    if not isinstance(job, Job):
        fault = f"its function returns a Job, not {type(job).__name__}"
    elif not callable(job.step):
        fault = f"step is a function without arguments, not {job.step!r}"
    elif not isinstance(job.items, int) or job.items < 1:
        fault = f"items is a positive whole number, not {job.items!r}"
    if fault is not None:
        raise InputError(f"{found.spec.id}: {fault}", hint=user.HOW)
    return job


def ask(reference: str) -> tuple[Workload, ...]:
    """The workloads that `reference` means, asked of a process of its own.

    Raises what `load` raises there, InputError where that process dies or hangs, and MachineError
    where a library is not installed.
    """
    adapters.check_installed(reference)
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
        raise InputError(_death(_public(reference), code, tail), hint=user.HOW)
    return _read(json.loads(said))


def _death(name: str, code: int | None, tail: str) -> str:
    if code is None:
        how = f"was not read within {PATIENCE_S:.0f} s"
    elif code < 0:
        how = f"killed the process that reads it, by {signal.Signals(-code).name}"
    else:
        how = f"ended the process that reads it, with code {code}"
    return f"{name} {how}" + (f"; its last words: {tail}" if tail else "")


def _public(reference: str) -> str:
    found = user.split(reference)
    return found[0].name if found is not None else reference


def _read(answer: dict[str, Any]) -> tuple[Workload, ...]:
    """Workloads from an answer, or the error in it."""
    if "error" in answer:
        kind: type[GpuwiseError] = MachineError if answer["error"] == "MachineError" else InputError
        raise kind(answer["message"], hint=answer["hint"])
    return tuple(_workload(each["reference"], each["spec"]) for each in answer["workloads"])


def _workload(reference: str, stated: dict[str, Any]) -> Workload:
    """A workload that loads its code when it is built."""
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in stated.items()}
    return Workload(spec=WorkloadSpec(**values), build=partial(_build, reference), reference=reference)


def _build(reference: str, config: RunConfig, batch: int) -> Job:
    (found,) = load(reference)
    return found.build(config, batch)


def answer(reference: str) -> dict[str, Any]:
    """What `ask` is told: specifications without their cost functions, or an error in words."""
    try:
        found = load(reference)
    except GpuwiseError as error:
        return {"error": type(error).__name__, "message": str(error), "hint": error.hint}
    except ModuleNotFoundError as missing:
        message = f"{missing.name} is not installed, and {_public(reference)} needs it"
        needed = adapters.library(reference) or missing.name
        return {"error": "MachineError", "message": message, "hint": f"pip install {needed}"}
    except (Exception, SystemExit) as error:  # noqa: BLE001  foreign code may raise anything
        message = f"{_public(reference)}: {type(error).__name__}: {error}"
        needed = adapters.library(reference)
        hint = f"does it fit this torch? python -c 'import {needed}'" if needed else user.HOW
        return {"error": "InputError", "message": message, "hint": hint}
    stated = [f.name for f in fields(WorkloadSpec) if f.name != "cost"]
    return {
        "workloads": [
            {
                "reference": w.reference or w.spec.id,
                "spec": {name: value for name, value in asdict(w.spec).items() if name in stated},
            }
            for w in found
        ]
    }


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
