"""The explorer as files: the same pages without forms, links relative: a web server, or none, shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpuwise.errors import GpuwiseError, InputError
from gpuwise.jobs.facts import Facts
from gpuwise.web import pages
from gpuwise.web.api import ADDRESSES, Address
from gpuwise.web.app import FILES, STATIC
from gpuwise.web.asked import Asked
from gpuwise.web.pages import FORMATS, Place, file_stem


def export(facts: Facts, folder: Path) -> Iterator[str]:
    """Write every page with its JSON and CSV, and tell each path. Raises InputError where the folder is not
    empty or cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(
                f"{folder} is not empty", hint="give a new folder, so that no file is overwritten"
            )
        for name, content in files(facts):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            yield name
    except OSError as error:
        raise InputError(
            f"cannot write to {folder}: {error.strerror}", hint="choose another folder"
        ) from error


def files(facts: Facts) -> Iterator[tuple[str, bytes]]:
    """(path, content) of everything that the site is."""
    yield "static/web.css", pages.style().encode()
    for name in FILES:
        yield f"static/{name}", (STATIC / name).read_bytes()
    for address in ADDRESSES:
        for name in address.prepared(facts):
            yield from _page(facts, address, name)


def _page(facts: Facts, address: Address, name: str) -> Iterator[tuple[str, bytes]]:
    path = address.path.replace("{name}", name)
    try:
        view = address.view(facts, Asked(path=(name,) if name else ()))
    except GpuwiseError:  # nothing to say of it, so no page links to it
        return
    stem = file_stem(path)
    place = Place(path, static=True, gpus=frozenset(facts.studied))
    yield f"{stem}.html", pages.page(view, place).encode()
    for form in FORMATS:
        yield f"{stem}.{form}", pages.data(view, form)
