"""Write and read result files; a file is either whole or the old one."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from gpuwise.errors import InputError
from gpuwise.model.result import Result
from gpuwise.store import pages
from gpuwise.store.codec import decode, encode
from gpuwise.store.files import check_target, results_dir, unwritable


def save(result: Result, path: Path | None = None) -> Path:
    """Write a result atomically, by default to its own place in the store; returns the path.

    Raises InputError where the system refuses.
    """
    return write(encode(result), path or results_dir() / f"{result.id}.json")


def write(data: bytes, path: Path) -> Path:
    """Write a file atomically: temporary file beside it, fsync, rename, fsync of the folder.

    On any error the file that was there is untouched. Raises InputError where the system refuses.
    """
    temporary = path.parent / f".{os.urandom(8).hex()}.gpuwise"
    try:
        check_target(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(temporary, data)
        temporary.replace(path)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        # After the rename it is gone; after anything else, Ctrl-C included, it must go.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)
    return path


def _write(path: Path, data: bytes) -> None:
    """Write a new file and see it on the disk, not just in the cache."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the file system can (some network ones cannot).

    The new file is in place by now, so a refusal is no failure to write it.
    """
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def load(path: str | Path) -> Result:
    """Read a result, also from a report that holds one.

    Raises InputError where the file cannot be read, is no result, or is a report of several.
    """
    found = load_all(path)
    if len(found) > 1:
        raise InputError(
            f"{path} is a report of {len(found)} results where one is needed", hint=f"gpuwise show {path}"
        )
    return found[0]


def load_all(path: str | Path) -> tuple[Result, ...]:
    """The one result of a result file, or every result of a report. Raises InputError as `load` does."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {error.strerror or error}", hint="gpuwise show last"
        ) from error
    if path.suffix.lower() in pages.SUFFIXES:
        return pages.results(data, str(path))
    return (decode(data, str(path)),)
