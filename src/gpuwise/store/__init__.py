"""Keep results: one JSON file a run, where it lies, what it is called; written whole or not at all.

The codec (and with it msgspec) is loaded when a result is read or written, so that listing results is fast.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from errno import EINVAL, EISDIR
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from gpuwise.errors import InputError, NoDataError, on_first_use

if TYPE_CHECKING:
    from gpuwise.model.question import Environment
    from gpuwise.model.result import Measurement, Result
    from gpuwise.store.codec import compact, decode, encode

__all__ = [
    "begun", "changed", "check_writable", "compact", "decode", "decoded", "encode", "find", "home", "is_file",
    "load", "load_all", "named", "new_id", "placed", "read", "results_dir", "results_of", "save",
    "saved", "slug", "write",
]  # fmt: skip


__getattr__ = on_first_use(__name__, {"codec": ("compact", "decode", "encode")})


# Bytes of the largest file that is read: ten hours of step times have some 30 MB.
LARGEST = 256 * 2**20
# Of a file that is not where it is looked for.
ELSEWHERE = "check the path and the folder you are in"
# msgspec learns a type at its first use, and two threads that do so at the same time crash the process:
# cards of a host are tested side by side.
ONE_READER = Lock()


def home() -> Path:
    """The folder of gpuwise's own files: $GPUWISE_HOME, else the platform's user data folder."""
    stated = os.environ.get("GPUWISE_HOME")
    if stated:
        return Path(stated).expanduser()
    from platformdirs import user_data_path

    return user_data_path("gpuwise")


def results_dir() -> Path:
    """The folder in which results are kept unless -o says otherwise."""
    return home() / "results"


def begun(command: str, place: Environment, measurements: Sequence[Measurement] = ()) -> Result:
    """A new result of now, that `command` makes again."""
    from gpuwise.model.result import Result

    now = datetime.now(UTC)
    return Result(
        id=new_id(now, place.gpu_id or place.device, os.urandom(2).hex()),
        created_at=now.isoformat(timespec="seconds"),
        command=command,
        environment=place,
        measurements=tuple(measurements),
    )


def new_id(now: datetime, device: str, token: str) -> str:
    """`20261121-044012-h200-3fa9`: UTC, so that it sorts by time; fit for a file name."""
    return f"{now.astimezone(UTC):%Y%m%d-%H%M%S}-{slug(device)}-{token}"


def slug(device: str) -> str:
    """The part of a file's name that says which device it is of."""
    return re.sub(r"[^a-z0-9]+", "-", device.lower())[:40].strip("-") or "device"


def saved() -> tuple[Path, ...]:
    """Every result kept in the store, oldest first; no pipe or device, which would never end."""
    return tuple(sorted(path for path in results_dir().glob("*.json") if is_file(str(path))))


def changed(path: Path) -> int:
    """When a file or folder last changed, in nanoseconds; 0 where it is not there (any more)."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def find(reference: str) -> Path:
    """The file that `reference` names: `last`, a path, an id or the beginning of one.

    Raises NoDataError where nothing matches, InputError for a file that is not there and where several do.
    """
    kept = saved()
    if reference == "last":
        matching = kept[-1:]
    elif is_file(reference):
        return Path(reference)
    else:
        exact = tuple(path for path in kept if path.stem == reference)
        # The empty text begins every id: an unset shell variable must not mean the only result.
        matching = exact or tuple(p for p in kept if reference and p.stem.startswith(reference))
    if not matching and os.path.isdir(reference):  # noqa: PTH112  a name of any length is asked
        hint = f"name its files: {reference.rstrip('/')}/*.json"
        raise InputError(f"{reference} is a folder, not a result", hint=hint)
    if not matching and reference != "last" and (Path(reference).suffix or "/" in reference):
        raise InputError(f"there is no file {reference}", hint=ELSEWHERE)
    if not kept:
        message = f"no result has been kept yet in {results_dir()}"
        raise NoDataError(message, hint="measure first", code="bench-quick")
    if not matching:
        message = f"no file and none of {len(kept)} kept results is called {reference!r}"
        raise NoDataError(message, hint="see the last one, or measure", code="show")
    if len(matching) > 1:
        some = ", ".join(path.stem for path in matching[-5:])
        message = f"{reference!r} begins {len(matching)} results: {some}"
        raise InputError(message, hint=f"write more of it, like {matching[-1].stem}")
    return matching[0]


def is_file(reference: str) -> bool:
    """True if `reference` is the path of a file, also of one that may not be read: `load` says why."""
    try:
        return Path(reference).is_file()
    except PermissionError:
        return True
    except OSError:  # too long for a file name
        return False


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
        raise OSError(EINVAL, "it is not an ordinary file")


def unwritable(path: Path, error: OSError) -> InputError:
    """The error for a result that cannot be written."""
    problem = f"cannot write {path}: {error.strerror or error}"
    return InputError(problem, hint="choose another place", code="output")


def save(result: Result, path: Path | None = None) -> Path:
    """Write a result atomically, by default to its own place in the store; returns the path.

    Raises InputError where the system refuses.
    """
    from gpuwise.store.codec import encode

    return write(encode(result), path or results_dir() / f"{result.id}.json")


def write(data: bytes, path: Path) -> Path:
    """Write a file as `placed` does; returns the path."""
    with placed(path) as temporary:
        temporary.write_bytes(data)
    return path


@contextmanager
def placed(path: Path) -> Iterator[Path]:
    """A file that appears whole or not at all: what is written to the temporary path that this yields, beside
    it, is synced and renamed, and then its folder is synced.

    On any error the file that was there is untouched. Raises InputError where the system refuses.
    """
    temporary = path.parent / f".{os.urandom(8).hex()}.gpuwise"
    try:
        check_target(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        _sync(temporary)
        temporary.replace(path)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        # After the rename it is gone; after anything else, Ctrl-C included, it must go.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    # The rename itself becomes durable, where the file system can (some network ones cannot). The new file is
    # in place by now, so a refusal is not a failure to write it.
    with suppress(OSError):
        _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path, *, largest: int = LARGEST, hint: str = "check the path") -> bytes:
    """The bytes of a file. Raises InputError where it cannot be read, or has more than `largest` bytes."""
    try:
        with path.open("rb") as file:
            # A device or a pipe has no size to ask for: read one byte more than is allowed, and see.
            data = file.read(largest + 1)
    except FileNotFoundError as error:
        raise InputError(f"cannot read {path}: there is no such file", hint=ELSEWHERE) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {path}: {reason}", hint=hint) from error
    if len(data) > largest:
        raise InputError(f"{path} has more than {largest / 1e6:,.0f} MB", hint="give a smaller file")
    return data


def decoded(data: bytes, name: str) -> str:
    """Text of a file in UTF-8 or, with its mark, UTF-16. Raises InputError for anything else."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif b"\0" in data:
        raise InputError(f"{name} is a binary file", hint="give the text, CSV or JSON file")
    else:
        encoding = "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        message = f"{name} is not text in {encoding.removesuffix('-sig').upper()}: byte {error.start}"
        raise InputError(message, hint="save it as text in UTF-8") from error


def load(path: str | Path) -> Result:
    """Read a result, also from a report that holds one.

    Raises InputError where the file cannot be read, is not a result, or is a report of several.
    """
    results = load_all(path)
    if len(results) > 1:
        problem = f"{path} is a report of {len(results)} results where one is needed"
        raise InputError(problem, hint="give one of its result files")
    return results[0]


def load_all(path: str | Path) -> tuple[Result, ...]:
    """The one result of a result file, or every result of a report. Raises InputError as `load` does."""
    from gpuwise.store import codec
    from gpuwise.store.codec import decode

    path = Path(path)
    data = read(path, hint="give the file of a result")
    if path.suffix.lower() in codec.SUFFIXES:
        return codec.results(data, str(path))
    return (decode(data, str(path)),)


def results_of(what: str) -> tuple[Result, ...]:
    """The results that a file, `last`, the beginning of an id or a report holds. Raises as `find`."""
    return load_all(find(what))


def named(what: str) -> tuple[Result, ...] | None:
    """The results that `what` names, or None where it can only be a GPU.

    Raises what `find` raises where `what` is clearly meant as a result.
    """
    meant = what == "last" or Path(what).suffix in (".json", ".html") or is_file(what)
    meant = meant or ("/" in what and os.path.isdir(what))  # noqa: PTH112
    try:
        return results_of(what)
    except (InputError, NoDataError) as error:
        if meant or (isinstance(error, InputError) and what[:8].isdecimal()):
            raise
    return None
