"""One request to another server: a push, or an alert. No redirect is followed, since its body is for one."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from gpuwise.errors import InputError, MachineError

LONGEST_ANSWER, TRIES = 32 * 2**20, 20


@dataclass(frozen=True, slots=True)
class Sent:
    """What came back."""

    status: int
    body: bytes
    wait_s: float  # That the server asks to wait before the next one


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def check_address(address: str) -> None:
    """Raise InputError where this is not the address of a server."""
    if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname:
        hint = f"http://{address}" if re.match(r"[\w.-]+(:\d+)?(/|$)", address) else "http://lab:8080"
        named = address.partition("?")[0]  # what follows is of this request
        raise InputError(f"{named!r} is not an address of a server", hint=hint)


def post(address: str, data: bytes, headers: Mapping[str, str], *, within_s: float) -> Sent:
    """Send JSON. Raises InputError for what is no address, MachineError where nobody answers in time."""
    check_address(address)
    request = Request(
        address, data=data, method="POST", headers={"Content-Type": "application/json", **headers}
    )
    try:
        try:
            with build_opener(_Stay).open(request, timeout=within_s) as answer:
                return Sent(answer.status, answer.read(LONGEST_ANSWER), 0.0)
        except HTTPError as error:
            wait = error.headers.get("Retry-After", "")
            wait_s = float(wait) if wait.isascii() and wait.isdigit() else 0.0
            return Sent(error.code, error.read(10_000), wait_s)
    except (OSError, ValueError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        server = address.partition("?")[0]  # what follows is of this request, and may be a key
        problem = f"{server} does not answer: {getattr(reason, 'strerror', None) or reason}"
        raise MachineError(problem, hint="see that it runs") from error


def post_patiently(address: str, data: bytes, headers: Mapping[str, str], *, within_s: float) -> Sent:
    """The same, again where the server says that too much comes at once, TRIES times at the most."""
    for number in range(TRIES):
        sent = post(address, data, headers, within_s=within_s)
        if sent.status not in (429, 503) or not sent.wait_s or number == TRIES - 1:
            break
        time.sleep(min(sent.wait_s, within_s))
    return sent
