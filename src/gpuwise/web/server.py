"""The server: a request becomes a view, a view an answer, and every error a page with words.

Views compute, so they run in threads; uploads stay in memory and are parsed in processes of their own.
"""

from __future__ import annotations

import json
import logging
import re
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
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

from gpuwise import store
from gpuwise.errors import GpuwiseError, InputError, MachineError, NoDataError
from gpuwise.jobs.facts import Facts
from gpuwise.web import site
from gpuwise.web.guard import (
    LARGEST_BODY,
    LOOPBACK,
    MOST_CONNECTIONS,
    Answer,
    Connection,
    Guard,
    OnceAMinute,
    Reader,
    only,
)
from gpuwise.web.site import ADDRESSES, FILES, FORMATS, LIVE, STATIC, Address, Place, warm
from gpuwise.web.view import Asked, View
from gpuwise.web.views import audit, compare, results

if TYPE_CHECKING:
    from gpuwise.web.team import Team

# Connections that wait to be accepted; so many are taken in one go, each with a file descriptor.
WAITING = 128
# A connection without a request is closed after this time.
IDLE_S = 5
# Requests that are still answered after Ctrl-C.
STOP_S = 3
LONGEST_HEADERS = 32 * 1024
# What takes a file: a function of what is known, the bytes and the file's name.
READERS = {"/audit": audit.audit, "/upload": results.uploaded}
JSON = FORMATS["json"]
# Where a team's results are sent to.
PUSH = "/push"
PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)


def run(
    files: Sequence[Path],
    host: str,
    port: int,
    token: str | None,
    *,
    public: bool,
    ready: Callable[[str], None],
    team: Team | None = None,
) -> None:
    """Serve the explorer; `ready` is called with its address, token included, once it listens.

    With `team` its tokens open the server; `token` is then one of them, to be shown, or none. Raises
    InputError where the address cannot be listened on.
    """
    with _listening(host, port) as listening:
        name = f"[{host}]" if ":" in host else host
        facts = Facts(files, given=team.shown() if team is not None else ())
        warm(facts)
        app = create(facts, token=token, hosts=None if public else LOOPBACK | {name}, team=team)
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


def create(
    facts: Facts,
    *,
    token: str | None = None,
    hosts: frozenset[str] | None = LOOPBACK,
    team: Team | None = None,
) -> Starlette:
    """The application. Opened by `token`, or by the tokens of a `team`, whose results it keeps."""
    reader = Reader(partial(_work, facts))
    routes = [Route("/static/{name}", _static)]
    # The longer paths first, so that `.json` is not a part of a name.
    for path in READERS:
        routes += [
            Route(f"{path}.{form}", partial(_posted, reader, form), methods=["POST"]) for form in FORMATS
        ]
        routes.append(Route(path, partial(_posted, reader, "html"), methods=["POST"]))
    addresses = [*LIVE, *ADDRESSES]
    if team is not None:
        from gpuwise.web.views import team as views

        routes.append(Route(PUSH, partial(_pushed, reader, team, facts), methods=["POST"]))
        addresses += [
            Address("/team", partial(views.projects, team)),
            Address("/team/{name}", partial(views.project, team)),
            Address("/team/{name}/{series}", partial(views.history, team)),
        ]
    for address in addresses:
        stem = "/index" if address.path == "/" else address.path
        routes += [Route(f"{stem}.{form}", partial(_asked, facts, address, form)) for form in FORMATS]
        routes.append(Route(address.path, partial(_asked, facts, address, "html")))
    owner = team.user if team is not None else only(token) if token is not None else None
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, owner=owner, hosts=hosts)],
        exception_handlers={HTTPException: _refused, GpuwiseError: _refused},
    )
    app.state.team = team
    return app


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


async def _pushed(reader: Reader, team: Team, facts: Facts, request: Request) -> Response:
    """A result file for the team: read in a process of its own, then kept."""
    user, project = request.state.user, request.query_params.get("project", "default")
    if user.role != "push":
        return Response(_error(f"the token of {user.name} may read and not push"), 403, media_type=JSON)
    if not PROJECT.fullmatch(project):
        raise InputError(
            f"a project is letters, digits, . _ and -, not {project[:80]!r}", hint="--project lab"
        )
    question = {"path": PUSH, "form": "json", "name": "the file"}
    status, media, body = await reader(question, await request.body(), request.receive)
    if status == 200:
        # What the other process wrote is what it understood: this one may read it.
        result = store.decode(body, "the file")
        kept = await run_in_threadpool(team.push, result, by=user.name, project=project)
        if kept.new and not kept.problem:
            facts.give(result)
        status, body = 201 if kept.new else 200, json.dumps(kept.document).encode()
    return Response(body, status, media_type=media)


def _work(facts: Facts, question: dict[str, str], data: bytes) -> Answer:
    """The answer to an upload; in the process that reads it."""
    place, form = Place(question["path"]), question["form"]
    try:
        if place.path == PUSH:
            return 200, JSON, store.compact(store.decode(data, question["name"]))
        return _answer(READERS[place.path](facts, data, question["name"]), form, place)
    except GpuwiseError as error:
        return _problem(error, form, place)


def _answer(view: View, form: str, place: Place) -> Answer:
    if form in FORMATS:
        return 200, FORMATS[form], site.data(view, form)
    return 200, "text/html", site.page(view, place).encode()


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
        return Response(site.style(), media_type="text/css")
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
    """Nothing known is 404, a database that refuses 503, anything else the asker's mistake."""
    codes = {NoDataError: 404, MachineError: 503}
    status = status or (409 if error.code == "taken" else codes.get(type(error), 400))
    if form in FORMATS or place.path == PUSH:
        return status, JSON, _error(str(error), error.hint or "")
    title = "Not found" if status == 404 else "Not understood"
    return status, "text/html", site.failure(error, place, title).encode()


def _error(problem: str, hint: str = "") -> bytes:
    return json.dumps({"error": problem, "hint": hint}).encode()


def _place(request: Request) -> Place:
    team = request.app.state.team is not None
    return Place(request.url.path.removesuffix("/") or "/", request.url.query, team=team)
