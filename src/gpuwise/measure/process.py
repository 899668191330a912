"""Start a measuring child and read its events; the parent never imports torch.

The child leads its own process group, so Ctrl-C reaches the parent alone, and the parent decides.
Reading blocks in the kernel: a parent that spins would disturb what it watches.
"""

from __future__ import annotations

import hashlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from gpuwise.errors import InputError
from gpuwise.measure import events
from gpuwise.model.run import RunConfig

# A child that says nothing for so long hangs. Before the first step it builds a model, searches for fast
# kernels (51 s for EfficientNet-B3 on an H200), compiles (338 s for ResNet-50 with the compiler's search),
# and ranks wait for each other; after the last window it runs under a profiler.
BUILDING_S, COMPILING_S = 300.0, 900.0
# Between windows it is a step that hangs: the next word is due after the time budget, and this.
STEP_S = 60.0

# A child that has hung up ends at once, unless the driver holds it.
ENDING_S = 60.0

LOG_TAIL = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendezvous:
    """Where the ranks of a measurement meet: by themselves on one machine, else as torchrun's options say.

    Every machine runs the same command, so all have the same plan; each measurement on several machines has
    an id of its own, named after what it measures.
    """

    endpoint: str = "localhost:0"  # HOST:PORT on one of the machines; port 0 takes a free one
    id: str = "gpuwise"  # The same on all machines, another for each measurement
    node: int | None = None
    """0 where the ranks meet; None finds that out by the address. The ranks' own order is torchrun's."""

    def of(self, config: RunConfig) -> Rendezvous:
        """The rendezvous of one measurement of the session."""
        return replace(self, id=f"gpuwise-{hashlib.sha256(config.key().encode()).hexdigest()[:16]}")


def rendezvous_of(nodes: int, endpoint: str | None, node: int | None) -> Rendezvous | None:
    """The rendezvous that the options mean, None for one machine. Raises InputError where they disagree."""
    if nodes == 1:
        if endpoint is not None or node is not None:
            raise InputError(
                "a place to meet and a number of the machine are for several machines",
                hint="say how many",
                code="machines",
            )
        return None
    if endpoint is None:
        raise InputError(
            f"{nodes} machines need a place to meet", hint="name an address of the first", code="rendezvous"
        )
    if node is not None and node >= nodes:
        raise InputError(
            f"{nodes} machines are numbered 0 to {nodes - 1}, not {node}", hint=f"such as {nodes - 1}"
        )
    host, colon, port = endpoint.rpartition(":")
    if not host or not colon or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InputError(f"a rendezvous is HOST:PORT, not {endpoint!r}", hint="such as node0:29400")
    return Rendezvous(endpoint=endpoint, node=node)


class Child:
    """A running child. Iterate `events()`; always `close()`."""

    def __init__(
        self,
        config: RunConfig,
        environment: dict[str, str],
        reference: str | None = None,
        rendezvous: Rendezvous | None = None,
    ) -> None:
        reader, writer = os.pipe()
        self._reader = reader
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed in close()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gpuwise.measure.child", str(writer)],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            pass_fds=(writer,),
            env=environment,
            start_new_session=True,
        )
        os.close(writer)
        slow = config.compile or config.gpus > 1
        self._building_s = max(COMPILING_S if slow else BUILDING_S, 2 * config.time_s)
        # The warm-up may take the whole budget without a word, and a window after it as well.
        self._stepping_s = 2 * config.time_s + STEP_S
        self._send(
            {
                "config": asdict(config),
                "reference": reference or config.workload,
                "rendezvous": asdict(rendezvous or Rendezvous()),
            }
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def resume(self) -> None:
        """Resume a child that waits for the device to cool."""
        self._send({})

    def _send(self, what: dict[str, object]) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        with suppress(BrokenPipeError):  # it has died, which its events show
            pipe.write(json.dumps(what).encode() + b"\n")
            pipe.flush()

    def events(self, tick_s: float = 0.5) -> Iterator[events.Event | None]:
        """Events as they come, None every `tick_s` of silence, until the child ends.

        Raises TimeoutError where it hangs.
        """
        pending, last, limit_s, stepping_s = b"", time.monotonic(), self._building_s, self._stepping_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._reader, selectors.EVENT_READ)
            while True:
                if not selector.select(tick_s):
                    if self._process.poll() is not None and not selector.select(0):
                        return  # it ended, and a process that it forked off holds the pipe
                    if time.monotonic() - last > limit_s:
                        raise TimeoutError(
                            f"the measuring process said nothing for {limit_s:.0f} s; a step that takes so "
                            "long needs more --time"
                        )
                    yield None
                    continue
                chunk = os.read(self._reader, 1 << 16)
                if not chunk:
                    return
                *lines, pending = (pending + chunk).split(b"\n")
                for line in lines:
                    event = events.decode(line)
                    if isinstance(event, events.First):
                        # Steps of a minute, as of a large model on a CPU, are no hang.
                        stepping_s += 3 * (event.seconds - (event.compile_s or 0.0))
                    stepping = isinstance(event, events.First | events.Warmup | events.Timed)
                    limit_s = stepping_s if stepping else self._building_s
                    yield event
                # After what the parent did with them: it may have let the device cool meanwhile.
                last = time.monotonic()

    def ending(self) -> str | None:
        """How the child died, with the end of its log; None where it ended well."""
        try:
            code = self._process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            return f"the measuring process hung up and did not end within {ENDING_S:.0f} s"
        if code == 0:
            return None
        self._log.seek(0)
        tail = self._log.read()[-LOG_TAIL:].decode(errors="replace").strip()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
        # Where one line is shown, it is the last of the log.
        last = f"; its last words: {tail.splitlines()[-1]}\n{tail}" if tail else ""
        return f"the measuring process {how}{last}"

    def close(self) -> None:
        """Stop the child's process group: SIGTERM, then SIGKILL."""
        try:
            self._end(signal.SIGTERM, 3.0)
        finally:  # also where a second Ctrl-C takes away its time to end
            self._end(signal.SIGKILL, 10.0)
            assert self._process.stdin is not None
            with suppress(BrokenPipeError):
                self._process.stdin.close()
            os.close(self._reader)
            self._log.close()

    def _end(self, sign: signal.Signals, timeout_s: float) -> None:
        # Also when it has ended: what it forked off belongs to its group and may live on.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
