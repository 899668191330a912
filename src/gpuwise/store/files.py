"""Where results are kept and how they are called; no codec, so that listing them is fast."""

from __future__ import annotations

import os
import re
import tempfile
from datetime import datetime
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
    """`20261121-044012-h200-sxm-3fa9`: sorts by time, fit for a file name."""
    slug = re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")[:40].strip("-") or "device"
    return f"{now:%Y%m%d-%H%M%S}-{slug}-{token}"


def saved() -> tuple[Path, ...]:
    """Every result kept in the store, oldest first."""
    return tuple(sorted(results_dir().glob("*.json")))


def find(reference: str) -> Path:
    """The file that `reference` names: a path, `last`, or the beginning of an id.

    Raises NoDataError where nothing matches, InputError where several do.
    """
    if Path(reference).is_file():
        return Path(reference)
    kept = saved()
    matching = kept[-1:] if reference == "last" else tuple(p for p in kept if p.stem.startswith(reference))
    if not matching:
        what = "no result has been kept yet" if reference == "last" else f"no result is called {reference!r}"
        raise NoDataError(what, hint="gpuwise bench --quick" if not kept else "gpuwise show last")
    if len(matching) > 1:
        some = ", ".join(path.stem for path in matching[-5:])
        raise InputError(f"{reference!r} begins {len(matching)} results: {some}", hint=f"gpuwise show {matching[-1].stem}")
    return matching[0]


def check_writable(path: Path) -> None:
    """Raise InputError now if a result could not be written to `path` later."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(21, "it is a folder")
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".gpuwise-"):
            pass
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: OSError) -> InputError:
    """The error for a result that cannot be written."""
    return InputError(
        f"cannot write {path}: {error.strerror or error}",
        hint="choose another place: gpuwise bench -o FILE.json, or set GPUWISE_HOME",
    )
