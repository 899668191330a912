"""Write and read result files; a file is either whole or the old one."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from gpuwise.errors import InputError
from gpuwise.model.result import Result
from gpuwise.store.codec import decode, encode
from gpuwise.store.files import results_dir, unwritable


def save(result: Result, path: Path | None = None) -> Path:
    """Write a result atomically: temporary file beside it, fsync, rename, fsync of the folder.

    Returns the path, by default the result's own in the store. On any error the file that was
    there is untouched. Raises InputError where the system refuses.
    """
    path = path or results_dir() / f"{result.id}.json"
    data = encode(result)
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; a result is an ordinary file.
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
        temporary = None
        _sync_folder(path.parent)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                Path(temporary).unlink()
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def load(path: Path) -> Result:
    """Read a result. Raises InputError where the file cannot be read or is no result."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", hint="gpuwise show last") from error
    return decode(data, str(path))
