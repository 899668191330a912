"""The server: a request becomes a view, a view an answer, and every error a page with words.

Views compute, so they run in threads; uploads stay in memory and are parsed in processes of their own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartParser
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive

from gpuwise import store
from gpuwise.errors import Abandoned, GpuwiseError, InputError, MachineError, NoDataError
from gpuwise.jobs.facts import Facts
from gpuwise.show import html
from gpuwise.web import guard, site
from gpuwise.web.site import ADDRESSES, FILES, FORMATS, LIVE, STATIC, Address, Place, warm
from gpuwise.web.view import Asked, View
from gpuwise.web.views import audit, gpus, results

if TYPE_CHECKING:
    from gpuwise.web.team import Team

# Connections that wait to be accepted; so many are taken in one go, each with a file descriptor.
WAITING = 128
# A connection without a request is closed after this time.
IDLE_S = 5
# Requests that are still answered after Ctrl-C.
STOP_S = 3
LONGEST_HEADERS = 32 * 1024
# Bytes of all pages that are remembered.
MOST_BYTES = 2**26
# While a page is made, others may be so old: a crowd of readers waits for no more than one.
STALE_S = 5.0
# What takes a file: a function of what is known, the bytes and the file's name.
READERS = {"/audit": audit.audit, "/upload": results.uploaded}
JSON = FORMATS["json"]
# Where a team's results are sent to.
PUSH = "/push"

MOST_FIELDS = 8
MultiPartParser.spool_max_size = guard.LARGEST_BODY  # nothing touches the disk
# What it warns of is answered; a crowd of damaged forms must not fill the log.
logging.getLogger("python_multipart").setLevel(logging.ERROR)


@dataclass(frozen=True, slots=True)
class Form:
    """Fields by name; the file, or the text field where no file was chosen, and what it is called."""

    fields: Mapping[str, str]
    name: str = "text.md"
    data: bytes = b""

    @classmethod
    async def of(cls, request: Request) -> Form:
        """Of a request. Raises InputError for anything but a form."""
        kind = request.headers.get("content-type", "")
        if not kind.startswith(("multipart/form-data", "application/x-www-form-urlencoded")):
            raise InputError("a form with a file or a text was expected", hint="use the form of the page")
        await request.body()  # whole first: the parser leaves its files open where a body is refused
        try:
            form = await request.form(max_files=1, max_fields=MOST_FIELDS, max_part_size=guard.LARGEST_BODY)
        except (HTTPException, KeyError, ValueError) as error:
            why = getattr(error, "detail", error)
            raise InputError(f"the form cannot be read: {why}", hint="send it again from the page") from error
        try:
            fields = {key: value for key, value in form.items() if isinstance(value, str)}
            file = form.get("file")
            if isinstance(file, UploadFile) and file.size:
                # The last part of the name alone: a label, never a path.
                name = PurePosixPath((file.filename or "").replace("\\", "/")).name[:100]
                return cls(fields, name or "text.md", await file.read())
            return cls(fields, data=fields.get("text", "").encode())
        finally:
            await form.close()


def run(
    files: Sequence[Path],
    host: str,
    port: int,
    token: str | None,
    *,
    public: bool,
    ready: Callable[[str], None],
    team: Team | None = None,
    webhook: str = "",
) -> None:
    """Serve the explorer; `ready` is called with its address, token included, once it listens.

    With `team` its tokens open the server; `token` is then one of them, to be shown, or none. Its alerts are
    sent to `webhook`. Raises InputError where the address cannot be listened on.
    """
    with _listening(host, port) as listening, ExitStack() as ends:
        name = f"[{host}]" if ":" in host else host
        facts = Facts(files, given=team.shown() if team is not None else ())
        warm(facts)
        app = create(facts, token=token, hosts=None if public else guard.LOOPBACK | {name}, team=team)
        query = f"?{urlencode({'token': token})}" if token else ""
        if team is not None and webhook:
            from gpuwise.web.team import Courier

            ends.callback(Courier(team, webhook).end)
        ready(f"http://{name}:{listening.getsockname()[1]}/{query}")
        server(app).run(sockets=[listening])


def server(app: Starlette) -> uvicorn.Server:
    """What answers with the application, within limits of places, time and log."""
    # An access log would hold tokens; errors are still reported. Nothing waits for start or end (`lifespan`),
    # and a server that is stopped at once would print the end of that wait as an error.
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, http=guard.Connection,
        backlog=WAITING, limit_concurrency=guard.MOST_CONNECTIONS + WAITING, timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=STOP_S, h11_max_incomplete_event_size=LONGEST_HEADERS, lifespan="off",
    )  # fmt: skip
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(guard.OnceAMinute())
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
        problem = f"cannot listen on {host}:{port}: {error.strerror or error}"
        raise InputError(problem, hint="choose another", code="port") from error
    return opened


def create(
    facts: Facts,
    *,
    token: str | None = None,
    hosts: frozenset[str] | None = guard.LOOPBACK,
    team: Team | None = None,
) -> Starlette:
    """The application. Opened by `token`, or by the tokens of a `team`, whose results it keeps."""
    reader, pages = guard.Reader(partial(_work, facts)), Pages(facts)
    routes = [Route("/static/{name}", _static)]
    # The longer paths first, so that `.json` is not a part of a name.
    for path in READERS:
        routes += [
            Route(f"{path}.{form}", partial(_posted, reader, form), methods=["POST"]) for form in FORMATS
        ]
        routes.append(Route(path, partial(_posted, reader, "html"), methods=["POST"]))
    addresses = [*LIVE, *ADDRESSES]
    if team is not None:
        from gpuwise.web import members

        routes += members.Members(team, facts, reader).routes()
        addresses = [*members.addresses(team), *addresses]
    for address in addresses:
        stem = "/index" if address.path == "/" else address.path
        routes += [Route(f"{stem}.{form}", partial(_asked, pages, address, form)) for form in FORMATS]
        routes.append(Route(address.path, partial(_asked, pages, address, "html")))
    owner = team.user if team is not None else guard.only(token) if token is not None else None
    app = Starlette(
        routes=routes,
        middleware=[Middleware(guard.Guard, owner=owner, hosts=hosts)],
        exception_handlers={HTTPException: _refused, GpuwiseError: _refused},
    )
    app.state.team = team
    return app


class Pages:
    """Pages of what is known, each made once for all who ask and remembered until something else is known."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.queue = facts, guard.Queue(guard.READING)
        self._made: dict[Hashable, tuple[object, float, guard.Answer]] = {}
        self._making: dict[Hashable, asyncio.Task[guard.Answer | None]] = {}
        self._readers: Counter[Hashable] = Counter()  # who wait for a page

    async def get(
        self, key: Hashable, make: Callable[[], guard.Answer], receive: Receive, *, keep: bool = True
    ) -> guard.Answer:
        """The page of that key. Raises as `make`, Refused where too many wait, ClientDisconnect."""
        of, at, answer = self._made.get(key, (None, 0.0, None))
        fresh = of == self.facts.version or (self._making and time.monotonic() - at < STALE_S)
        if answer is not None and fresh:
            self._made[key] = self._made.pop(key)  # the one that was asked for last stands last
            return answer
        self._readers[key] += 1
        try:
            while True:
                if key not in self._making:
                    self._making[key] = asyncio.ensure_future(self._make(key, make, keep))
                answer = await guard.unless_left(self._making[key], receive)
                if answer is not None:  # else it was given up when this one had not come yet
                    return answer
        finally:
            self._readers -= Counter([key])  # which forgets those that nobody waits for

    async def _make(self, key: Hashable, make: Callable[[], guard.Answer], keep: bool) -> guard.Answer | None:
        """The page; None where all its readers have left."""
        try:
            version, now = self.facts.version, time.monotonic()
            answer = await self.queue.run(make, lambda: key in self._readers)
            self._made.pop(key, None)
            if keep:
                self._made[key] = version, now, answer
            while sum(len(body) for *_, (_, _, body) in self._made.values()) > MOST_BYTES:
                del self._made[next(iter(self._made))]  # nobody has asked for it for longest
            return answer
        except Abandoned:
            return None
        finally:
            del self._making[key]


async def _asked(pages: Pages, address: Address, form: str, request: Request) -> Response:
    """A page, or its data."""
    facts = pages.facts
    if address.role and not request.state.user.may(address.role):
        raise HTTPException(403)
    asked = Asked(request.query_params.multi_items(), path=tuple(request.path_params.values()))
    place = place_of(request)
    # The form of the comparison sends GPUs as values; the comparison has an address of its own.
    if address.path == "/compare" and form == "html" and len(asked.many("gpu")) > 1:
        specs = await run_in_threadpool(gpus.picked, asked)
        if len(specs) > 1:
            return RedirectResponse(place.to(f"/compare/{','.join(spec.id for spec in specs)}"), 303)

    def made() -> guard.Answer:
        view = address.view(facts, asked)
        if not view.message:
            asked.check()
        return _answer(view, form, place)

    # What a team's database holds now is made for each; the menu of others depends on the role alone.
    who = place.user and (request if address.role else place.user.role)
    key = (form, place.path, place.query, who)
    status, media, body = await pages.get(key, made, request.receive, keep=not address.role)
    return Response(body, status, media_type=media)


async def _posted(reader: guard.Reader, form: str, request: Request) -> Response:
    """An article or a result file: read in memory, judged, shown, forgotten."""
    sent = await Form.of(request)
    question = {"path": request.url.path.removesuffix(f".{form}"), "form": form, "name": sent.name}
    status, media, body = await reader(question, sent.data, request.receive)
    return Response(body, status, media_type=media)


def _work(facts: Facts, question: dict[str, str], data: bytes) -> guard.Answer:
    """The answer to an upload; in the process that reads it."""
    place, form = Place(question["path"]), question["form"]
    try:
        if place.path == PUSH:
            return 200, JSON, store.compact(results.one(data, question["name"]))
        return _answer(READERS[place.path](facts, data, question["name"]), form, place)
    except GpuwiseError as error:
        return _problem(error, form, place)


def _answer(view: View, form: str, place: Place) -> guard.Answer:
    """The view as HTML, JSON or CSV. Raises the view's error where JSON or CSV would hold no data."""
    if form in FORMATS:
        if view.message:
            raise view.message
        return 200, FORMATS[form], site.data(view, form)
    status = 400 if isinstance(view.message, InputError) else 200
    return status, "text/html", site.page(view, place).encode()


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name == "web.css":
        return Response(site.style(), media_type="text/css")
    if name == "charts.js":
        return Response(html.script(), media_type="text/javascript")
    if name == "vega.js":
        kept = {"Content-Encoding": "gzip", "Cache-Control": "max-age=31536000, immutable"}
        return Response(html.library(), media_type="text/javascript", headers=kept)
    if name not in FILES:
        raise HTTPException(404)
    return FileResponse(STATIC / name, media_type=FILES[name])


def _refused(request: Request, error: Exception) -> Response:
    """An error in words."""
    form = request.url.path.rpartition(".")[2]
    status = None
    if isinstance(error, HTTPException):
        said = {403: "Your token does not allow that.", 404: "There is no such page.",
                405: "This page takes no such request."}  # fmt: skip
        status = error.status_code
        error = GpuwiseError(said.get(status, error.detail))
    assert isinstance(error, GpuwiseError)
    status, media, body = _problem(error, form, place_of(request), status)
    return Response(body, status, media_type=media)


def _problem(error: GpuwiseError, form: str, place: Place, status: int | None = None) -> guard.Answer:
    """Nothing known is 404, a database that refuses 503, anything else the asker's mistake."""
    codes = {"taken": 409, "role": 403}
    status = status or codes.get(
        error.code or "", {NoDataError: 404, MachineError: 503}.get(type(error), 400)
    )
    if form in FORMATS or place.path == PUSH:
        return status, JSON, json.dumps({"error": str(error), "hint": error.hint or ""}).encode()
    title = "Not found" if status == 404 else "Not understood"
    return status, "text/html", site.failure(error, place, title).encode()


def place_of(request: Request) -> Place:
    """Where the page of a request stands, and who opens it."""
    user = request.scope.get("state", {}).get("user") if request.app.state.team is not None else None
    secret = request.scope.get("state", {}).get("form_secret", "")
    return Place(request.url.path.removesuffix("/") or "/", request.url.query, user=user, form_secret=secret)
