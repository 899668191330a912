"""By which address others reach this machine."""

from __future__ import annotations

import socket

import pytest

from gpuwise.measure.frameworks.torch import ranks as address


def test_the_loopback_and_what_is_unknown_are_left_to_torchrun() -> None:
    assert address.towards("localhost:29400") is None
    assert address.towards("127.0.0.1:29400") is None
    assert address.towards("no such host:29400") is None


def test_an_address_is_that_of_the_route(monkeypatch: pytest.MonkeyPatch) -> None:
    class Route:
        def __enter__(self) -> Route:
            return self

        def __exit__(self, *_: object) -> None: ...

        def connect(self, place: tuple[str, int]) -> None:
            assert place == ("node0", 29400)

        def getsockname(self) -> tuple[str, int]:
            return "10.0.0.7", 40000

    monkeypatch.setattr(socket, "socket", lambda *_: Route())
    assert address.towards("node0:29400") == "10.0.0.7"


def test_an_interface_is_found_by_its_address() -> None:
    assert address.interface("127.0.0.1") in {name for _, name in socket.if_nameindex()}
    assert address.interface("192.0.2.1") is None  # nobody's
