"""`gpuwise serve`: what it refuses before it listens, and what it says."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuwise.measure.telemetry import is_loopback

from .conftest import Ran
from .test_schemas import check

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "example.org"])
@pytest.mark.parametrize("more", [(), ("--public",), ("--token", TOKEN)])
def test_a_public_address_needs_the_flag_and_a_token(
    host: str, more: tuple[str, ...], gpuwise: Callable[..., Ran]
) -> None:
    code, out, err = gpuwise("serve", "--host", host, *more)
    assert (code, out) == (2, "")
    assert f"{host} can be reached from other machines: that needs --public and --token" in err


def test_a_short_token_is_refused(gpuwise: Callable[..., Ran]) -> None:
    code, _, err = gpuwise("serve", "--host", "0.0.0.0", "--public", "--token", "short")
    assert code == 2
    assert "a token has at least 16 characters" in err


LOCAL = ("127.0.0.1", "127.9.9.9", "::1", "localhost")


@pytest.mark.parametrize(
    ("host", "is_it"), [*((name, True) for name in LOCAL), ("0.0.0.0", False), ("a", False)]
)
def test_what_only_this_machine_reaches(host: str, is_it: bool) -> None:
    assert is_loopback(host) == is_it


def test_a_port_that_is_taken_is_said(gpuwise: Callable[..., Ran]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, _, err = gpuwise("serve", "--port", port)
    assert code == 2
    assert f"cannot listen on 127.0.0.1:{port}" in err


def test_the_address_is_told_as_json(gpuwise: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr("gpuwise.web.server.warm", lambda facts: None)
    monkeypatch.setattr(
        "uvicorn.Server.run", lambda self, sockets: seen.extend(s.getsockname() for s in sockets)
    )
    code, out, err = gpuwise("serve", "--port", "0", "--token", TOKEN, "--json")
    ((host, port),) = seen
    assert (code, host, err) == (0, "127.0.0.1", "")
    check("serve", out)
    assert json.loads(out) == {"address": f"http://127.0.0.1:{port}/?token={TOKEN}"}


def test_a_missing_file_is_said(gpuwise: Callable[..., Ran]) -> None:
    code, _, err = gpuwise("serve", "missing.json")
    assert code == 2
    assert "missing.json is not a file" in err


def test_a_missing_library_is_named(gpuwise: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuwise.cli.serve.find_spec", lambda name: None if name == "uvicorn" else object())
    code, _, err = gpuwise("serve")
    assert code == 3
    assert "the explorer needs uvicorn" in err
    assert 'pip install "gpuwise[web]"' in err


def test_static_writes_pages_and_says_how_many(
    gpuwise: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpuwise.web import site

    monkeypatch.setattr(site, "ADDRESSES", [of for of in site.ADDRESSES if of.path in ("/", "/gpus")])
    code, out, _ = gpuwise("serve", "--static", str(tmp_path / "site"))
    assert code == 0
    assert re.match(r"\d+ pages in \d+ files: ", out)
    assert (tmp_path / "site" / "index.html").is_file()
    code, _, err = gpuwise("serve", "--static", str(tmp_path / "site"))
    assert code == 2
    assert ("is not empty" in err, "writing" in err) == (True, False)
    check("serve-static", gpuwise("serve", "--static", str(tmp_path / "other"), "--json")[1])
