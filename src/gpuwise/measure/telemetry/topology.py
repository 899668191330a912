"""How the GPUs of this machine reach each other, as `nvidia-smi topo -m` and `-p2p r` show it.

Reference: https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

from gpuwise.model.result import Link

PATHS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""Nearest common ancestor on PCIe, by nvmlGpuTopologyLevel_t; two chips of one board are near as PIX."""
NVLINKS = 18
"""Most NVLinks of one GPU so far."""
READ, NVLINK = 0, 2
"""Of nvmlGpuP2PCapsIndex_t, as numbers: the library's name of the first is a tuple (13.580)."""


def links(indices: Sequence[int]) -> tuple[Link, ...]:
    """The link of every pair of the GPUs with these indices, numbered in their order.

    Empty without NVML. Only queries are used.
    """
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # noqa: BLE001  no library or no driver: nothing is known
        return ()
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in indices]
        return tuple(_link(pynvml, *a, *b) for a, b in combinations(enumerate(handles), 2))
    except pynvml.NVMLError:
        return ()
    finally:
        with suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def _link(nvml: Any, a: int, one: Any, b: int, other: Any) -> Link:
    reads = _ask(nvml, "nvmlDeviceGetP2PStatus", one, other, READ)
    fast = _ask(nvml, "nvmlDeviceGetP2PStatus", one, other, NVLINK)
    if fast == nvml.NVML_P2P_STATUS_OK:
        path = f"NV{sum(_ask(nvml, 'nvmlDeviceGetNvLinkState', one, n) == 1 for n in range(NVLINKS))}"
    else:
        level = _ask(nvml, "nvmlDeviceGetTopologyCommonAncestor", one, other)
        path = "unknown" if level is None else PATHS.get(level, "unknown")
    return Link(a=a, b=b, path=path, peer=None if reads is None else reads == nvml.NVML_P2P_STATUS_OK)


def _ask(nvml: Any, query: str, *arguments: Any) -> Any:
    try:
        return getattr(nvml, query)(*arguments)
    except (nvml.NVMLError, AttributeError):
        return None
