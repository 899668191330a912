"""The server: a request becomes a view, a view an answer, and every error a page with words.

Views compute, so they run in threads; uploads stay in memory and are parsed as data.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from gpuwise.errors import GpuwiseError, InputError, NoDataError
from gpuwise.jobs.facts import Facts
from gpuwise.web import pages
from gpuwise.web.api import ADDRESSES, LIVE, Address
from gpuwise.web.asked import Asked
from gpuwise.web.guard import LARGEST_BODY, LOOPBACK, Guard
from gpuwise.web.pages import FORMATS, Place
from gpuwise.web.view import Message, View, message
from gpuwise.web.views import audit, compare, results

STATIC = Path(__file__).with_name("static")
# The only files that are served, by name.
FILES = {"live.js": "text/javascript", "icon.svg": "image/svg+xml"}


def create(facts: Facts, *, token: str | None = None, hosts: frozenset[str] | None = LOOPBACK) -> Starlette:
    """The application."""
    routes = [route for address in (*LIVE, *ADDRESSES) for route in _routes(facts, address)]
    posts = [
        Route(path, partial(_posted, facts, path.split(".")[0], path.partition(".")[2]), methods=["POST"])
        for path in ("/audit", "/audit.json", "/audit.csv", "/upload", "/upload.json", "/upload.csv")
    ]
    fixed = [Route("/static/web.css", _style), Route("/static/{name}", _file)]
    return Starlette(
        routes=[*posts, *fixed, *routes],
        middleware=[Middleware(Guard, token=token, hosts=hosts)],
        exception_handlers={HTTPException: _refused, GpuwiseError: _failed},
    )


def _routes(facts: Facts, address: Address) -> list[Route]:
    """The page and its data; the longer paths first, so that `.json` is no part of a name."""
    stem = "/index" if address.path == "/" else address.path
    made = [Route(f"{stem}.{form}", partial(_shown, facts, address, form)) for form in FORMATS]
    return [*made, Route(address.path, partial(_shown, facts, address, "html"))]


async def _shown(facts: Facts, address: Address, form: str, request: Request) -> Response:
    if address.path == "/compare" and form == "html" and len(request.query_params.getlist("gpu")) > 1:
        asked = Asked(request.query_params.multi_items())
        specs = await run_in_threadpool(compare.picked, facts, asked)
        if len(specs) > 1:
            place = Place("/compare")
            return RedirectResponse(place.to(f"/compare/{','.join(spec.id for spec in specs)}"), 303)
    return await run_in_threadpool(_answer, facts, address, form, request)


def _answer(facts: Facts, address: Address, form: str, request: Request) -> Response:
    asked = Asked(request.query_params.multi_items(), path=tuple(request.path_params.values()))
    return _made(address.view(facts, asked), form, _place(request))


def _made(view: View, form: str, place: Place) -> Response:
    if form in FORMATS:
        return Response(pages.data(view, form), media_type=FORMATS[form])
    return Response(pages.page(view, place), media_type="text/html")


def _place(request: Request) -> Place:
    path = request.url.path.removesuffix("/") or "/"
    return Place(path, request.url.query)


async def _posted(facts: Facts, path: str, form: str, request: Request) -> Response:
    """An article or a result file: read in memory, judged, shown, forgotten."""
    name, data = await _uploaded(request)
    return await run_in_threadpool(_judged, facts, path, form or "html", name, data)


def _judged(facts: Facts, path: str, form: str, name: str, data: bytes) -> Response:
    if path == "/audit":
        view = audit.audit(facts, data, name)
    else:
        view = results.shown(facts, results.read(data, name))
    return _made(view, form, Place(path))


async def _uploaded(request: Request) -> tuple[str, bytes]:
    """(name, bytes) of a posted file, or of the text field of a form where no file was chosen.

    Raises InputError for anything but a form with one of them.
    """
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise InputError("a form with a file or a text was expected", hint="use the form of the page")
    parser = MultiPartParser(
        request.headers, request.stream(), max_files=1, max_fields=3, max_part_size=LARGEST_BODY
    )
    parser.spool_max_size = LARGEST_BODY  # nothing touches the disk
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, ValueError) as error:
        raise InputError(f"the form cannot be read: {error}", hint="send it again from the page") from error
    try:
        file, text = form.get("file"), form.get("text")
        if isinstance(file, UploadFile) and file.size:
            return audit.name_of(file.filename or ""), await file.read()
        return "text.md", text.encode() if isinstance(text, str) else b""
    finally:
        await form.close()


def _style(request: Request) -> Response:
    return Response(pages.style(), media_type="text/css")


def _file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in FILES:
        raise HTTPException(404)
    return FileResponse(STATIC / name, media_type=FILES[name])


def _failed(request: Request, error: Exception) -> Response:
    """An error of gpuwise in its own words: nothing known is 404, anything else the asker's mistake."""
    assert isinstance(error, GpuwiseError)
    return _error(request, message(error), 404 if isinstance(error, NoDataError) else 400)


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = {404: "There is no such page.", 405: "This page takes no such request."}
    return _error(request, Message(text=text.get(error.status_code, error.detail)), error.status_code)


def _error(request: Request, problem: Message, status: int) -> Response:
    if request.url.path.endswith(tuple(f".{form}" for form in FORMATS)):
        return JSONResponse({"error": problem.text, "hint": problem.hint}, status)
    title = "Not found" if status == 404 else "Not understood"
    return Response(pages.failure(problem, _place(request), title), status, media_type="text/html")
