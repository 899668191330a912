"""By which address of this machine the others reach it.

torchrun and gloo take what the host's own name stands for, which is often the loopback (Debian writes
127.0.1.1), and then wait for each other in vain. So the kernel is asked instead: where its route to the
meeting place begins. On the machine that the meeting place names, that is this address itself.
"""

from __future__ import annotations

import fcntl
import socket
import struct
from contextlib import suppress

SIOCGIFADDR = 0x8915
"""Linux: the IPv4 address of an interface, see netdevice(7)."""


def towards(endpoint: str) -> str | None:
    """This machine's IPv4 address on the route to `HOST:PORT`; nothing is sent there.

    None where the route is the loopback or unknown: torchrun's own way is then as good.
    """
    host, _, port = endpoint.rpartition(":")
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, int(port)))
        found = str(probe.getsockname()[0])
        return None if found.startswith("127.") else found
    return None


def interface(address: str) -> str | None:
    """The name of the interface that has this IPv4 address, as GLOO_SOCKET_IFNAME wants it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            with suppress(OSError):  # one without an IPv4 address
                told = fcntl.ioctl(probe, SIOCGIFADDR, struct.pack("256s", name.encode()))
                if socket.inet_ntoa(told[20:24]) == address:
                    return name
    return None
