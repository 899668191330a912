"""How GPUs reach each other, from an NVML of recorded answers."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from gpuwise.measure.telemetry.nvml import links
from gpuwise.model.result import Link


class NVMLError(Exception):
    """What NVML raises."""


def nvml(*, nvlink: bool, level: int = 50, reads: bool = True) -> SimpleNamespace:
    def peer(a: int, b: int, capability: int) -> int:
        return 0 if {0: reads, 2: nvlink}[capability] else 5

    def lane(handle: int, number: int) -> int:
        if number >= 6:
            raise NVMLError
        return 1 if number < 4 else 0

    return SimpleNamespace(
        NVMLError=NVMLError,
        NVML_P2P_STATUS_OK=0,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetP2PStatus=peer,
        nvmlDeviceGetNvLinkState=lane,
        nvmlDeviceGetTopologyCommonAncestor=lambda a, b: level,
    )


def test_nvlinks_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml(nvlink=True))
    assert links([3, 5, 6]) == tuple(
        Link(a=a, b=b, path="NV4", peer=True) for a, b in ((0, 1), (0, 2), (1, 2))
    )


def test_without_them_the_way_over_pcie_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml(nvlink=False, level=30, reads=False))
    assert links([0, 1]) == (Link(a=0, b=1, path="PHB", peer=False),)


def test_what_nvml_does_not_tell_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    old = nvml(nvlink=False)
    del old.nvmlDeviceGetP2PStatus, old.nvmlDeviceGetTopologyCommonAncestor
    monkeypatch.setitem(sys.modules, "pynvml", old)
    assert links([0, 1]) == (Link(a=0, b=1, path="unknown", peer=None),)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert links([0, 1]) == ()
