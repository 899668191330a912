"""What every request must pass, and every answer carries: who may ask, how much, and what a page may do.

A page may run this site's one script, load its style sheet, and ask this site alone (Content-Security-Policy
without `unsafe-inline`). A host name that is not this server's is refused, so that no other site can make a
browser on this machine read it (DNS rebinding), and so is a POST that a browser sends for another site.

Nobody holds a place by waiting: a request's header, its body and the reading of its answer each have a time,
and where all places are taken the connection that has waited longest for a header gives its own up.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

# Bytes of an upload, with everything around it.
LARGEST_BODY = 8 * 2**20
# Of all uploads together while they come and are read.
LARGEST_TOGETHER = 64 * 2**20
# For the whole header, and for the whole body: a sender that trickles must not hold a connection.
SLOWEST_HEADER_S = 10.0
SLOWEST_BODY_S = 30.0
# For each part of an answer: a reader that stops must not hold its page.
SLOWEST_READER_S = 30.0
# At once; where all are taken, the one that has waited longest for a header is closed.
MOST_CONNECTIONS = 400
# A kind of log message stands once in this time, so that no crowd of clients fills a disk.
LOG_EVERY_S = 60.0
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
TOO_LARGE = 413, f"An upload has at most {LARGEST_BODY // 2**20} MiB.\n"
TOO_SLOW = 408, "The upload takes too long.\n"
TOO_MANY = 503, "Too many uploads come at once: send it again.\n"


class Refused(Exception):
    """A body that is not taken; its arguments are the status and the words."""


class Guard:
    """ASGI middleware. `token` is asked of every request where it is set; `hosts` None takes any name."""

    def __init__(
        self, app: ASGIApp, token: str | None = None, hosts: frozenset[str] | None = LOOPBACK
    ) -> None:
        self.app, self.token, self.hosts = app, token, hosts
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        body = Body(receive, self)

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start":
                spent = (time.perf_counter() - began) * 1e3
                MutableHeaders(scope=message).update({**HEADERS, "Server-Timing": f"app;dur={spent:.1f}"})
            async with asyncio.timeout(SLOWEST_READER_S):
                await send(message)

        try:
            refusal = self._refusal(scope, Headers(scope=scope))
            if refusal is not None:
                await refusal(scope, receive, answered)
                return
            try:
                await self.app(scope, body.receive, answered)
            except Refused as refused:
                status, words = refused.args
                await PlainTextResponse(words, status)(scope, receive, answered)
        except (ClientDisconnect, TimeoutError):
            pass  # nobody reads the answer
        finally:
            self._held -= body.size

    def hold(self, size: int) -> None:
        """Count bytes that a body takes. Raises Refused where all together are too many."""
        self._held += size
        if self._held > LARGEST_TOGETHER:
            raise Refused(*TOO_MANY)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        name = host.rsplit(":", 1)[0] if ":" in host and not host.endswith("]") else host
        if self.hosts is not None and name.lower() not in self.hosts:
            return PlainTextResponse("This server does not answer to that name.\n", 421)
        length = headers.get("content-length", "0")
        if length.isascii() and length.isdigit() and int(length[:20]) > LARGEST_BODY:
            return PlainTextResponse(TOO_LARGE[1], TOO_LARGE[0])
        if scope["method"] not in ("GET", "HEAD"):
            # Browsers send these two by themselves, and no script of a page can change them; where another
            # program sends the request, both are missing.
            site, origin = headers.get("sec-fetch-site", "same-origin"), headers.get("origin")
            other = origin is not None and urlsplit(origin).netloc != host
            if other or site not in ("same-origin", "none"):
                return PlainTextResponse("Another site may not send anything to this server.\n", 403)
        return self._stranger(scope, headers, self.token) if self.token is not None else None

    def _stranger(self, scope: Scope, headers: Headers, token: str) -> Response | None:
        """The refusal of a request without the token; one that brings it in its address gets a cookie."""
        query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
        if _same(query.get("token", ""), token):
            # `//host` would be the address of another server.
            response = RedirectResponse("/" + scope["path"].lstrip("/\\"), 303)
            response.set_cookie(COOKIE, token, httponly=True, samesite="strict")
            return response
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            cookie = None
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if _same(bearer, token) or (cookie is not None and _same(cookie.value, token)):
            return None
        return PlainTextResponse(
            "This server asks for its token: open the address that it printed when it started.\n", 401
        )


def _same(given: str, token: str) -> bool:
    """Compared in constant time."""
    return secrets.compare_digest(given.encode("utf-8", "replace"), token.encode())


@dataclass(slots=True)
class Body:
    """The messages of one request, with limits on its size and time."""

    source: Receive
    guard: Guard
    size: int = 0
    more: bool = True
    until: float = 0.0

    async def receive(self) -> MutableMapping[str, Any]:
        """The next message. Raises Refused for what comes too slowly or is too much."""
        self.until = self.until or time.monotonic() + SLOWEST_BODY_S
        # Once the body is there, what is awaited is that the client leaves; that has no limit.
        patience = max(0.0, self.until - time.monotonic()) if self.more else None
        try:
            message = await asyncio.wait_for(self.source(), patience)
        except TimeoutError:
            raise Refused(*TOO_SLOW) from None
        self.more = bool(message.get("more_body", False))
        came = len(message.get("body", b""))
        self.size += came
        self.guard.hold(came)
        if self.size > LARGEST_BODY:
            raise Refused(*TOO_LARGE)
        return message


# In the order in which they came or were last answered: connections without a whole header.
_waiting: dict[Connection, None] = {}


class Connection(H11Protocol):
    """A connection that is closed where its header takes too long, or where all places are taken."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MOST_CONNECTIONS and _waiting:
            oldest = next(iter(_waiting))
            # Now, since the next of a crowd may come before the loop closes it.
            oldest._go_on()
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._go_on()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._go_on()

    def on_response_complete(self) -> None:
        self._wait()
        super().on_response_complete()

    def _wait(self) -> None:
        self._go_on()
        _waiting[self] = None
        self._late = self.loop.call_later(SLOWEST_HEADER_S, self.transport.abort)

    def _go_on(self) -> None:
        _waiting.pop(self, None)
        if self._late is not None:
            self._late.cancel()


class OnceAMinute(logging.Filter):
    """Lets a kind of message through once in LOG_EVERY_S."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[object, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the message is written."""
        # Of asyncio the first line alone tells kinds apart; the rest names sockets.
        kind, now = str(record.msg)[:80].partition("\n")[0], time.monotonic()
        if now - self._said.get(kind, -LOG_EVERY_S) < LOG_EVERY_S:
            return False
        self._said[kind] = now
        return True
