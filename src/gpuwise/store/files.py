"""Where results are kept and how they are called; no codec, so that listing them is fast."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from errno import EISDIR
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
    elif Path(reference).is_file():
        return Path(reference)
    else:
        exact = tuple(path for path in kept if path.stem == reference)
        matching = exact or tuple(path for path in kept if path.stem.startswith(reference))
    if not matching:
        raise _nothing(reference, kept)
    if len(matching) > 1:
        some = ", ".join(path.stem for path in matching[-5:])
        message = f"{reference!r} begins {len(matching)} results: {some}"
        raise InputError(message, hint=f"gpuwise show {matching[-1].stem}")
    return matching[0]


def _nothing(reference: str, kept: tuple[Path, ...]) -> NoDataError:
    """The error for a reference that names no file."""
    if not kept:
        return NoDataError(f"no result has been kept yet in {results_dir()}", hint="gpuwise bench --quick")
    message = f"no file and none of {len(kept)} kept results is called {reference!r}"
    return NoDataError(message, hint="gpuwise show last, or measure: gpuwise bench --quick")


def check_writable(path: Path) -> None:
    """Raise InputError now if a result could not be written to `path` later; makes its folder."""
    probe = path.parent / f".{os.urandom(8).hex()}.gpuwise"
    try:
        if path.is_dir():
            raise IsADirectoryError(EISDIR, "it is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: OSError) -> InputError:
    """The error for a result that cannot be written."""
    return InputError(
        f"cannot write {path}: {error.strerror or error}",
        hint="choose another place: gpuwise bench -o FILE.json, or set GPUWISE_HOME",
    )
