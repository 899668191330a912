"""Listen, say where, and answer until Ctrl-C."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlencode

import uvicorn

from gpuwise.errors import InputError
from gpuwise.jobs.facts import Facts
from gpuwise.web.app import create
from gpuwise.web.guard import LOOPBACK
from gpuwise.web.rehearsal import rehearse

# Connections that wait to be accepted.
WAITING = 256
# At once; more are answered with 503, so that half-open ones cannot take all memory and files.
MOST_CONNECTIONS = 400
# A connection without a request is closed after this time.
IDLE_S = 5
# Requests that are still answered after Ctrl-C.
STOP_S = 3
LONGEST_HEADERS = 32 * 1024


def run(
    files: Sequence[Path],
    host: str,
    port: int,
    token: str | None,
    *,
    public: bool,
    ready: Callable[[str], None],
) -> None:
    """Serve the explorer; `ready` is told its address, token included, once it listens.

    Raises InputError where the address cannot be listened on.
    """
    with listen(host, port) as listening:
        name = f"[{host}]" if ":" in host else host
        facts = Facts(files)
        rehearse(facts)
        app = create(facts, token=token, hosts=None if public else LOOPBACK | {name})
        query = f"?{urlencode({'token': token})}" if token else ""
        ready(f"http://{name}:{listening.getsockname()[1]}/{query}")
        # An access log would hold tokens; errors are still told.
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False,
            limit_concurrency=MOST_CONNECTIONS, timeout_keep_alive=IDLE_S, timeout_graceful_shutdown=STOP_S,
            h11_max_incomplete_event_size=LONGEST_HEADERS,
        )  # fmt: skip
        uvicorn.Server(config).run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises InputError where the system refuses."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
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
