"""What holds for every test: neither luck nor a slow machine makes one fail.

Hypothesis draws the same examples in every run, so a failure is there again on the next machine;
`pytest --hypothesis-profile=explore` draws new ones.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import time
from collections.abc import Iterator
from statistics import median

import pytest
from hypothesis import HealthCheck, settings

from gpuwise.cli.print import ENDING

from . import zygote

if shutil.which("nvidia-smi") is None:
    # Without a GPU gpuwise's kernels are interpreted; Triton asks once, when it is first imported.
    os.environ.setdefault("TRITON_INTERPRET", "1")

# Many small processes side by side, none of which is measured for its speed: threads of each other's would
# wait for cores, and what is compiled runs a few times.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
# Code for vectors takes g++ longer, whose headers it reads for each kernel; and what the processor can do
# would be tried with it first, six seconds for each cache.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "0")
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
# A hundred processes start: what one of them has compiled, the others read, as where users install it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# To look for garbage among a million objects that stay takes a tenth of the time of what makes many.
gc.set_threshold(100_000, 20, 50)
# Lines are as wide as they are, whatever the terminal of who starts the tests.
os.environ.pop("COLUMNS", None)

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """What ends a session is as it was: a session that was interrupted ignores it from then on, and so would
    all processes that later tests start."""
    before = {sign: signal.getsignal(sign) for sign in ENDING}
    yield
    for sign, handler in before.items():
        signal.signal(sign, handler)


settings.register_profile(
    "gate", deadline=None, derandomize=True, max_examples=30, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("gate")

YARDSTICK_S = 0.0014
"""What `yardstick` took on the machine that the tests' time limits were set on."""


def yardstick() -> float:
    """Seconds of a fixed piece of plain Python."""
    began = time.perf_counter()
    sorted(str(i * 7919 % 10_007) for i in range(10_000))
    return time.perf_counter() - began


@pytest.fixture
def slowness() -> float:
    """By how much to stretch a time limit here and now: 1 on a machine as fast as the first, or faster. In
    the median, for other processes share the caches with what is timed as with this."""
    return max(1.0, median(yardstick() for _ in range(15)) / YARDSTICK_S)


@pytest.fixture(scope="session", autouse=True)
def forked() -> Iterator[None]:
    """Processes that measure in torch are forked of one that has imported it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpuwise.measure.process.subprocess", zygote.MODULE)
        yield
    zygote.end()
