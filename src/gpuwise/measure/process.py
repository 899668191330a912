"""A measuring process as its parent sees it: started, given orders, listened to, and ended.

It leads its own process group, so Ctrl-C reaches the parent alone, and the parent decides. Reading its events
blocks in the kernel: a parent that spins would disturb what it watches.
"""

from __future__ import annotations

import os
import select
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from gpuwise import workloads
from gpuwise.measure import events
from gpuwise.measure.request import Order, Rendezvous
from gpuwise.model.question import Framework, RunConfig
from gpuwise.model.result import Window

# A child that says nothing for so long hangs. Before the first step it builds a model, searches for fast
# kernels (51 s for EfficientNet-B3 on an H200), compiles (338 s for ResNet-50 with the compiler's search),
# and ranks wait for each other; after the last window it runs under a profiler.
BUILDING_S, COMPILING_S = 300.0, 900.0
# Between windows it is a step that hangs: the next word is due after the time budget, and this.
STEP_S = 60.0

# A child that has hung up ends at once, unless the driver holds it.
ENDING_S = 60.0

LOG_TAIL = 2000


class Child:
    """A running child. Give it an `order()`, iterate `events()`; always `close()`."""

    def __init__(self, environment: dict[str, str], framework: Framework = "torch") -> None:
        reader, writer = os.pipe()
        self._reader, self._pending, self._environment = reader, b"", environment
        self.idle = True  # Waits for an order
        self._told: tuple[RunConfig, ...] = ()  # What ranks will do after it
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed in close()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gpuwise.measure.child", str(writer), framework],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            pass_fds=(writer,),
            env=environment,
            start_new_session=True,
        )
        os.close(writer)

    def serves(self, environment: dict[str, str]) -> bool:
        """True if it can take an order for a process of that environment."""
        return self._process.poll() is None and self._environment == environment

    def order(
        self,
        config: RunConfig,
        reference: str | None = None,
        rendezvous: Rendezvous | None = None,
        *,
        more: bool = False,
        then: Sequence[RunConfig] = (),
        turn: str = "",
    ) -> None:
        """Send an order; `more` orders follow, else the process ends with it. Ranks also get what comes
        `then`, and go on by themselves. `turn` is the file of `locks.Turn`."""
        self.idle, self._heard_s = False, time.monotonic()
        slow = config.compile or config.gpus > 1
        self._building_s = max(COMPILING_S if slow else BUILDING_S, 2 * config.time_s)
        # The warm-up may take the whole budget without a word, and a window after it as well.
        # Of a soak a window is a hundredth of it.
        self._stepping_s = (0.1 if config.protocol == "soak" else 2.0) * config.time_s + STEP_S
        if config in self._told:
            return
        self._told = tuple(then)
        order = Order(
            config=config,
            reference=reference or config.workload,
            rendezvous=rendezvous or Rendezvous(),
            more=more and not then,
            then=tuple((each, workloads.get(each.workload).reference or each.workload) for each in then),
            turn=turn,
        )
        import msgspec  # where a child is ordered: help needs none

        self._send(msgspec.json.encode(order))

    @property
    def pid(self) -> int:
        return self._process.pid

    def resume(self) -> None:
        """Resume a child that is ready for a timed run."""
        self._send(b"")

    def prepared(self, tick_s: float = 0.5) -> bool:
        """True once it is ready for a timed run, has no order or has ended, as one that hangs is; what it
        reports is kept for `events`."""
        if self.idle or b'"Cooldown"' in self._pending:
            return True
        if select.select([self._reader], [], [], tick_s)[0]:
            chunk = os.read(self._reader, 1 << 16)
            self._pending, self._heard_s = self._pending + chunk, time.monotonic()
            return not chunk
        if time.monotonic() - self._heard_s > self._building_s:
            end(self._process, 3.0)
        return self._process.poll() is not None

    def _send(self, line: bytes) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        with suppress(BrokenPipeError):  # it has died, which its events show
            pipe.write(line + b"\n")
            pipe.flush()

    def events(self, tick_s: float = 0.5) -> Iterator[events.Event | None]:
        """Events as they come, None every `tick_s` of silence, until the order is done or the child ends.

        Raises TimeoutError where it hangs.
        """
        last, limit_s, stepping_s = time.monotonic(), self._building_s, self._stepping_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._reader, selectors.EVENT_READ)
            while True:
                line, newline, rest = self._pending.partition(b"\n")
                if newline:
                    self._pending = rest
                    event = events.decode(line)
                    if isinstance(event, events.Idle):
                        self.idle = True
                        return
                    if isinstance(event, events.First):
                        # Steps of a minute, as of a large model on a CPU, are not a hang.
                        compiled_s = event.compilation.seconds if event.compilation else 0.0
                        stepping_s += 3 * (event.seconds - compiled_s)
                    stepping = isinstance(event, events.First | events.Cooled | events.Warmup | Window)
                    limit_s = stepping_s if stepping else self._building_s
                    yield event
                    # After what the parent did with it: it may have let the device cool meanwhile.
                    last = time.monotonic()
                    continue
                if not selector.select(tick_s):
                    if self._process.poll() is not None and not selector.select(0):
                        return  # it ended, and a process that it forked off holds the pipe
                    if time.monotonic() - last > limit_s:
                        silent = f"the measuring process said nothing for {limit_s:.0f} s"
                        raise TimeoutError(f"{silent}; a step that takes so long needs more --time")
                    yield None
                    continue
                chunk = os.read(self._reader, 1 << 16)
                if not chunk:
                    return
                self._pending += chunk

    def ending(self) -> str | None:
        """How the child died, with the end of its log; None where it ended well, or waits for an order."""
        if self.idle:
            return None
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
        """Stop the child's process group."""
        try:
            end(self._process, 3.0)
        finally:
            assert self._process.stdin is not None
            with suppress(BrokenPipeError):
                self._process.stdin.close()
            os.close(self._reader)
            self._log.close()


def end(process: subprocess.Popen[bytes], grace_s: float) -> None:
    """End the group that a process leads: SIGTERM, and SIGKILL after `grace_s`."""
    try:
        _signal(process, signal.SIGTERM, grace_s)
    finally:  # also where a second Ctrl-C takes away its time to end
        _signal(process, signal.SIGKILL, 10.0)


def _signal(process: subprocess.Popen[bytes], sign: signal.Signals, timeout_s: float) -> None:
    # Also when it has ended: what it forked off belongs to its group and may live on.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, sign)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout_s)
