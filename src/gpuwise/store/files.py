"""Where results are kept and how they are called; no codec, so that listing them is fast."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from errno import EINVAL, EISDIR
from pathlib import Path

from gpuwise.errors import InputError, NoDataError


def home() -> Path:
    """The folder of gpuwise's own files: $GPUWISE_HOME, else the platform's user data folder."""
    own = os.environ.get("GPUWISE_HOME")
    if own:
        return Path(own).expanduser()
    from platformdirs import user_data_path

    return user_data_path("gpuwise")


def results_dir() -> Path:
    """The folder in which results are kept unless -o says otherwise."""
    return home() / "results"


def new_id(now: datetime, device: str, token: str) -> str:
    """`20261121-044012-h200-3fa9`: UTC, so that it sorts by time; fit for a file name."""
    slug = re.sub(r"[^a-z0-9]+", "-", device.lower())[:40].strip("-") or "device"
    return f"{now.astimezone(UTC):%Y%m%d-%H%M%S}-{slug}-{token}"


def saved() -> tuple[Path, ...]:
    """Every result kept in the store, oldest first."""
    return tuple(sorted(results_dir().glob("*.json")))


def find(reference: str) -> Path:
    """The file that `reference` names: `last`, a path, an id or the beginning of one.

    Raises NoDataError where nothing matches, InputError where several do.
    """
    kept = saved()
    if reference == "last":
        matching = kept[-1:]
    elif _is_file(reference):
        return Path(reference)
    else:
        exact = tuple(path for path in kept if path.stem == reference)
        # The empty text begins every id: an unset shell variable must not mean the only result.
        matching = exact or tuple(p for p in kept if reference and p.stem.startswith(reference))
    if not matching:
        raise _nothing(reference, kept)
    if len(matching) > 1:
        some = ", ".join(path.stem for path in matching[-5:])
        message = f"{reference!r} begins {len(matching)} results: {some}"
        raise InputError(message, hint=f"gpuwise show {matching[-1].stem}")
    return matching[0]


def _is_file(reference: str) -> bool:
    """Whether `reference` is the path of a file; one that may not be looked at counts, and `load`
    says why it cannot be read."""
    try:
        return Path(reference).is_file()
    except PermissionError:
        return True
    except OSError:  # too long for a file name
        return False


def _nothing(reference: str, kept: tuple[Path, ...]) -> NoDataError:
    """The error for a reference that names no file."""
    if not kept:
        return NoDataError(f"no result has been kept yet in {results_dir()}", hint="gpuwise bench --quick")
    message = f"no file and none of {len(kept)} kept results is called {reference!r}"
    return NoDataError(message, hint="gpuwise show last, or measure: gpuwise bench --quick")


def check_writable(path: Path | None = None) -> Path:
    """Raise InputError now if a result could not be written to `path` (None: the store) later.

    Makes the folder that would hold it, and returns that.
    """
    folder = results_dir() if path is None else path.parent
    probe = folder / f".{os.urandom(8).hex()}.gpuwise"
    try:
        if path is not None:
            check_target(path)
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        raise unwritable(path or folder, error) from error
    return folder


def check_target(path: Path) -> None:
    """Raise OSError where `path` is a folder, a pipe or a device: a rename would replace the last two."""
    if path.is_dir():
        raise IsADirectoryError(EISDIR, "it is a folder")
    if path.exists() and not path.is_file():
        raise OSError(EINVAL, "it is no ordinary file")


def unwritable(path: Path, error: OSError) -> InputError:
    """The error for a result that cannot be written."""
    return InputError(
        f"cannot write {path}: {error.strerror or error}",
        hint="choose another place: gpuwise bench -o FILE.json, or set GPUWISE_HOME",
    )
