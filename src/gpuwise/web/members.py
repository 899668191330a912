"""What members of a team send: results, by a program or the page, tags of them, and who may.

A form changes something only where it brings the secret that its page had, so that a page of another site
cannot send it in the name of who reads both; a program brings its token with each request instead.
"""

from __future__ import annotations

import base64
import json
import zlib
from functools import partial
from typing import Any, cast, get_args
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.jobs.facts import Facts
from gpuwise.web import site
from gpuwise.web.guard import PUSHES, WRITING, Queue, Rate, Reader
from gpuwise.web.server import JSON, PUSH, Form, place_of
from gpuwise.web.site import Address
from gpuwise.web.team import MOST_SHOWN, Pushed, Role, Team, User
from gpuwise.web.views import team as views

# Base64 of a signature.
SIGNATURE = "x-gpuwise-signature"


def addresses(team: Team) -> list[Address]:
    """The pages of a team."""
    pages = {
        "/team": views.projects, "/team/{name}": views.project, "/team/{name}/{series}": views.history,
        "/cards": views.cards, "/cards/{name}": views.card, "/alerts": views.alerts,
        "/results/files/{name}": views.kept,
    }  # fmt: skip
    read = [Address(path, partial(view, team), role="read") for path, view in pages.items()]
    return [*read, Address("/members", partial(views.members, team), role="admin")]


class Members:
    """What takes what members send, and gives back files as they were signed."""

    def __init__(self, team: Team, facts: Facts, reader: Reader) -> None:
        self.team, self.facts, self.reader = team, facts, reader
        self.rate, self.queue = Rate(*PUSHES), Queue(WRITING)

    def routes(self) -> list[Route]:
        """Every address that takes something, and that of a file."""
        return [
            Route(PUSH, self.pushed, methods=["POST"]),
            Route("/team", self.form_pushed, methods=["POST"]),
            Route("/team/{name}", self.tagged, methods=["POST"]),
            Route("/members", self.managed, methods=["POST"]),
            Route("/files/{name}.{form}", self.file),
        ]

    async def pushed(self, request: Request) -> Response:
        """A result from a program: `gpuwise push`."""
        self.rate.count(_member(request, "push").name)
        query = request.query_params
        status, body, kept = await self.push(
            request, await request.body(), "the file", request.headers.get(SIGNATURE, ""),
            project=query.get("project", "default"), tags=query.getlist("tag"), host=query.get("host", ""),
        )  # fmt: skip
        if kept is not None:
            status, body = 201 if kept.new else 200, json.dumps(kept.document).encode()
        return Response(body, status, media_type=JSON)

    async def push(
        self, request: Request, data: bytes, name: str, signature: str, **place: Any
    ) -> tuple[int, bytes, Pushed | None]:
        """Read in a process of its own, then kept at its project, tags and host: (status, why not, what
        became of it)."""
        name = "the file" if signature else name  # what is signed is a result file, and no report
        question = {"path": PUSH, "form": "json", "name": name}
        status, _, body = await self.reader(question, data, request.receive)
        if status != 200:
            return status, body, None

        def keep() -> Pushed:
            # What the other process wrote is what it understood: this one may read it.
            result = store.decode(body, name)
            signed = None
            if signature:
                try:
                    signed = (data, base64.b64decode(signature, validate=True).decode("ascii"))
                except ValueError as error:
                    hint = "gpuwise team sign makes one, and gpuwise push sends it"
                    raise InputError("the signature is not base64", hint=hint) from error
            kept = self.team.push(result, by=request.state.user.name, data=body, signed=signed, **place)
            if kept.new and not kept.problem:
                self.facts.give(result, MOST_SHOWN)
            return kept

        return 200, b"", await self.queue.run(keep)

    async def form_pushed(self, request: Request) -> Response:
        """A result from the page of the team."""
        user, form = await _sent(request, "push")
        self.rate.count(user.name)
        signature = base64.b64encode(form.fields.get("signature", "").strip().encode()).decode()
        status, body, kept = await self.push(
            request, form.data, form.name, signature,
            project=form.fields.get("project", ""), tags=form.fields.get("tags", "").split(), host="",
        )  # fmt: skip
        if kept is None:
            problem = json.loads(body)
            error = InputError(problem["error"], hint=problem["hint"])
            page = site.failure(error, place_of(request), "Not understood")
            return Response(page, status, media_type="text/html")
        return RedirectResponse(f"team/{quote(kept.project)}", 303)

    async def tagged(self, request: Request) -> Response:
        """Tags of a result, from its project's page."""
        user, form = await _sent(request, "push")
        tags = form.fields.get("tags", "").split()
        project = await run_in_threadpool(self.team.mark, form.fields.get("result", ""), tags=tags, by=user)
        return RedirectResponse(quote(project), 303)

    async def managed(self, request: Request) -> Response:
        """A token made, which the page shows once, or taken back."""
        user, form = await _sent(request, "admin")
        name, role = form.fields.get("name", "").strip(), form.fields.get("role", "")
        if form.fields.get("do") == "revoke":
            await run_in_threadpool(partial(self.team.revoke, name, by=user.name))
            return RedirectResponse("members", 303)
        if role not in get_args(Role):
            raise InputError(f"a role is one of {', '.join(get_args(Role))}", hint="choose one")
        add = partial(
            self.team.add_user, name, cast("Role", role), public_key=form.fields.get("key", ""), by=user.name
        )
        token = await run_in_threadpool(add)
        view = await run_in_threadpool(partial(views.members, self.team, self.facts, token=token))
        return Response(site.page(view, place_of(request)), media_type="text/html")

    async def file(self, request: Request) -> Response:
        """A result file as it was pushed, or the signature of it."""
        form = request.path_params["form"]
        head = await run_in_threadpool(self.team.head, request.path_params["name"])
        if form == "sig" and not head["signature"]:
            raise HTTPException(404)
        data = head["signature"] if form == "sig" else zlib.decompress(head["data"])
        media = "text/plain" if form == "sig" else JSON
        return Response(data, media_type=media, headers={"Content-Disposition": "attachment"})


def _member(request: Request, role: Role) -> User:
    """Who sends it. Raises InputError where that role is needed and not theirs."""
    user: User = request.state.user
    if not user.may(role):
        problem = f"the token of {user.name} may {user.role} and not {role}"
        raise InputError(problem, hint="ask an admin", code="role")
    return user


async def _sent(request: Request, role: Role) -> tuple[User, Form]:
    """A form with who sends it. Raises InputError as `_member`, and for a form of no page of this server."""
    user, form = _member(request, role), await Form.of(request)
    secret = request.state.form_secret  # empty where a program brought its token itself
    if secret and form.fields.get("secret") != secret:
        raise InputError("the form is not of this server's page", hint="open the page again", code="role")
    return user, form
