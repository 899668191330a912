"""What every request must pass, and every answer carries: who may ask, how much, and what a page may do.

A page may run this site's one script, load its style sheet, and ask this site alone (Content-Security-Policy
without `unsafe-inline`). A host name that is not this server's is refused, so that no other site can make a
browser on this machine read it (DNS rebinding), and so is a POST that a browser sends for another site.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Bytes of an upload, with everything around it.
LARGEST_BODY = 8 * 2**20
# For the whole body: a sender that trickles must not hold a connection.
SLOWEST_BODY_S = 30.0
COOKIE = "gpuwise-token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # With no-referrer browsers hide the origin of their own forms, which the check below needs.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-cache",
}
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})


class TooLarge(Exception):
    """The body has more than LARGEST_BODY bytes."""


class TooSlow(Exception):
    """The body takes more than SLOWEST_BODY_S to come."""


@dataclass(frozen=True, slots=True)
class Guard:
    """ASGI middleware. `token` is asked of every request where it is set; `hosts` None takes any name."""

    app: ASGIApp
    token: str | None = None
    hosts: frozenset[str] | None = LOOPBACK

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, headers = time.perf_counter(), Headers(scope=scope)

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                spent = (time.perf_counter() - began) * 1e3
                MutableHeaders(scope=message).update({**HEADERS, "Server-Timing": f"app;dur={spent:.1f}"})
            await send(message)

        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, told)
            return
        try:
            await self.app(scope, _limited(receive), told)
        except TooLarge:
            await too_large()(scope, receive, told)
        except TooSlow:
            await PlainTextResponse("The upload takes too long.\n", 408)(scope, receive, told)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        if self.hosts is not None and _host(headers.get("host", "")) not in self.hosts:
            return PlainTextResponse("This server does not answer to that name.\n", 421)
        if int(_digits(headers.get("content-length", "0"))) > LARGEST_BODY:
            return too_large()
        if scope["method"] not in ("GET", "HEAD") and not _same_site(headers):
            return PlainTextResponse("Another site may not send anything to this server.\n", 403)
        return self._stranger(scope, headers) if self.token is not None else None

    def _stranger(self, scope: Scope, headers: Headers) -> Response | None:
        """The refusal of a request without the token; one that brings it in its address gets a cookie."""
        assert self.token is not None
        query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
        if _same(query.get("token", ""), self.token):
            response = RedirectResponse(scope["path"], 303)
            response.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
            return response
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if _same(bearer, self.token) or _same(_cookie(headers.get("cookie", "")), self.token):
            return None
        return PlainTextResponse(
            "This server asks for its token: open the address that it printed when it started.\n", 401
        )


def _same_site(headers: Headers) -> bool:
    """False where a browser says that another site sends the request; a program says neither."""
    # Browsers send these two by themselves; no script of a page can change them.
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host", "")


def too_large() -> Response:
    return PlainTextResponse(f"An upload has at most {LARGEST_BODY // 2**20} MiB.\n", 413)


def _limited(receive: Receive) -> Receive:
    """`receive` that raises TooLarge and TooSlow."""
    got, more, until = 0, True, time.monotonic() + SLOWEST_BODY_S

    async def counted() -> MutableMapping[str, Any]:
        nonlocal got, more
        # Once the body is there, what is awaited is that the client leaves; that has no limit.
        patience = max(0.0, until - time.monotonic()) if more else None
        try:
            message = await asyncio.wait_for(receive(), patience)
        except TimeoutError:
            raise TooSlow from None
        more = bool(message.get("more_body", False))
        got += len(message.get("body", b""))
        if got > LARGEST_BODY:
            raise TooLarge
        return message

    return counted


def _host(value: str) -> str:
    """The name without its port."""
    return value.rsplit(":", 1)[0] if not value.endswith("]") and ":" in value else value


def _digits(value: str) -> str:
    return value if value.isascii() and value.isdigit() else "0"


def _cookie(value: str) -> str:
    try:
        found = SimpleCookie(value).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _same(given: str, token: str) -> bool:
    """Compared in a time that tells nothing."""
    return secrets.compare_digest(given.encode("utf-8", "replace"), token.encode())
