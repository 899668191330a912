"""The server: a request becomes a view, a view an answer, and every error a page with words.

Views compute, so they run in threads; uploads stay in memory and are parsed in processes of their own.
"""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from urllib.parse import urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from gpuwise.errors import GpuwiseError, InputError, NoDataError
from gpuwise.jobs.facts import Facts
from gpuwise.web import pages
from gpuwise.web.guard import LARGEST_BODY, LOOPBACK, MOST_CONNECTIONS, Connection, Guard, OnceAMinute
from gpuwise.web.pages import FILES, FORMATS, STATIC, Place
from gpuwise.web.reader import Answer, Reader
from gpuwise.web.site import ADDRESSES, LIVE, Address, warm
from gpuwise.web.view import Asked, View
from gpuwise.web.views import audit, compare, results

# Connections that wait to be accepted; so many are taken in one go, each with a file descriptor.
WAITING = 128
# A connection without a request is closed after this time.
IDLE_S = 5
# Requests that are still answered after Ctrl-C.
STOP_S = 3
LONGEST_HEADERS = 32 * 1024
# What takes a file: a function of what is known, the bytes and the file's name.
READERS = {"/audit": audit.audit, "/upload": results.uploaded}


def run(
    files: Sequence[Path],
    host: str,
    port: int,
    token: str | None,
    *,
    public: bool,
    ready: Callable[[str], None],
) -> None:
    """Serve the explorer; `ready` is called with its address, token included, once it listens.

    Raises InputError where the address cannot be listened on.
    """
    with _listening(host, port) as listening:
        name = f"[{host}]" if ":" in host else host
        facts = Facts(files)
        warm(facts)
        app = create(facts, token=token, hosts=None if public else LOOPBACK | {name})
        query = f"?{urlencode({'token': token})}" if token else ""
        ready(f"http://{name}:{listening.getsockname()[1]}/{query}")
        server(app).run(sockets=[listening])


def server(app: Starlette) -> uvicorn.Server:
    """What answers with the application, within limits of places, time and log."""
    # An access log would hold tokens; errors are still reported.
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, http=Connection, backlog=WAITING,
        limit_concurrency=MOST_CONNECTIONS + WAITING, timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=STOP_S, h11_max_incomplete_event_size=LONGEST_HEADERS,
    )  # fmt: skip
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(OnceAMinute())
    return uvicorn.Server(config)


def _listening(host: str, port: int) -> socket.socket:
    """A listening socket. Raises InputError where the system refuses."""
    opened = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
        opened.listen(WAITING)
    except OSError as error:
        opened.close()
        raise InputError(
            f"cannot listen on {host}:{port}: {error.strerror or error}", hint="choose another", code="port"
        ) from error
    return opened


def create(facts: Facts, *, token: str | None = None, hosts: frozenset[str] | None = LOOPBACK) -> Starlette:
    """The application."""
    reader = Reader(partial(_work, facts))
    routes = [Route("/static/{name}", _static)]
    # The longer paths first, so that `.json` is not a part of a name.
    for path in READERS:
        routes += [
            Route(f"{path}.{form}", partial(_posted, reader, form), methods=["POST"]) for form in FORMATS
        ]
        routes.append(Route(path, partial(_posted, reader, "html"), methods=["POST"]))
    for address in (*LIVE, *ADDRESSES):
        stem = "/index" if address.path == "/" else address.path
        routes += [Route(f"{stem}.{form}", partial(_asked, facts, address, form)) for form in FORMATS]
        routes.append(Route(address.path, partial(_asked, facts, address, "html")))
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, token=token, hosts=hosts)],
        exception_handlers={HTTPException: _refused, GpuwiseError: _refused},
    )


async def _asked(facts: Facts, address: Address, form: str, request: Request) -> Response:
    """A page, or its data."""
    asked = Asked(request.query_params.multi_items(), path=tuple(request.path_params.values()))
    place = _place(request)
    # The form of the comparison sends GPUs as values; the comparison has an address of its own.
    if address.path == "/compare" and form == "html" and len(asked.many("gpu")) > 1:
        specs = await run_in_threadpool(compare.picked, facts, asked)
        if len(specs) > 1:
            return RedirectResponse(place.to(f"/compare/{','.join(spec.id for spec in specs)}"), 303)
    status, media, body = await run_in_threadpool(lambda: _answer(address.view(facts, asked), form, place))
    return Response(body, status, media_type=media)


async def _posted(reader: Reader, form: str, request: Request) -> Response:
    """An article or a result file: read in memory, judged, shown, forgotten."""
    name, data = await _uploaded(request)
    question = {"path": request.url.path.removesuffix(f".{form}"), "form": form, "name": name}
    status, media, body = await reader(question, data, request.receive)
    return Response(body, status, media_type=media)


def _work(facts: Facts, question: dict[str, str], data: bytes) -> Answer:
    """The answer to an upload; in the process that reads it."""
    place, form = Place(question["path"]), question["form"]
    try:
        return _answer(READERS[place.path](facts, data, question["name"]), form, place)
    except GpuwiseError as error:
        return _problem(error, form, place)


def _answer(view: View, form: str, place: Place) -> Answer:
    if form in FORMATS:
        return 200, FORMATS[form], pages.data(view, form)
    return 200, "text/html", pages.page(view, place).encode()


async def _uploaded(request: Request) -> tuple[str, bytes]:
    """(name, bytes) of a posted file, or of the text field of a form where no file was chosen.

    Raises InputError for anything but a form with one of them.
    """
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise InputError("a form with a file or a text was expected", hint="use the form of the page")
    # Whole first: the parser leaves its files open where a body is refused.
    body = await request.body()

    async def whole() -> AsyncGenerator[bytes, None]:
        yield body

    parser = MultiPartParser(request.headers, whole(), max_files=1, max_fields=3, max_part_size=LARGEST_BODY)
    parser.spool_max_size = LARGEST_BODY  # nothing touches the disk
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, ValueError) as error:
        raise InputError(f"the form cannot be read: {error}", hint="send it again from the page") from error
    try:
        file, text = form.get("file"), form.get("text")
        if isinstance(file, UploadFile) and file.size:
            # The last part of the name alone: a label, never a path.
            name = PurePosixPath((file.filename or "").replace("\\", "/")).name[:100]
            return name or "text.md", await file.read()
        return "text.md", text.encode() if isinstance(text, str) else b""
    finally:
        await form.close()


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name == "web.css":
        return Response(pages.style(), media_type="text/css")
    if name not in FILES:
        raise HTTPException(404)
    return FileResponse(STATIC / name, media_type=FILES[name])


def _refused(request: Request, error: Exception) -> Response:
    """An error in words."""
    form = request.url.path.rpartition(".")[2]
    status = None
    if isinstance(error, HTTPException):
        said = {404: "There is no such page.", 405: "This page takes no such request."}
        status = error.status_code
        error = GpuwiseError(said.get(status, error.detail))
    assert isinstance(error, GpuwiseError)
    status, media, body = _problem(error, form, _place(request), status)
    return Response(body, status, media_type=media)


def _problem(error: GpuwiseError, form: str, place: Place, status: int | None = None) -> Answer:
    """Nothing known is 404, anything else of gpuwise's own the asker's mistake."""
    status = status or (404 if isinstance(error, NoDataError) else 400)
    if form in FORMATS:
        return status, FORMATS["json"], json.dumps({"error": str(error), "hint": error.hint or ""}).encode()
    title = "Not found" if status == 404 else "Not understood"
    return status, "text/html", pages.failure(error, place, title).encode()


def _place(request: Request) -> Place:
    return Place(request.url.path.removesuffix("/") or "/", request.url.query)
