"""Each framework's own tests, in a process of their own: torch's and TensorFlow's compilers crash in one.

That process does not find Triton, which torch would load beside TensorFlow's compiler.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["jax", "tensorflow"])
def test_a_framework_s_own_tests_pass(name: str) -> None:
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    file = Path(__file__).with_name(f"test_{name}.py")
    alone = "import sys, pytest; sys.modules['triton'] = None; raise SystemExit(pytest.main(sys.argv[1:]))"
    command = [sys.executable, "-c", alone, "-n", "0", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:]
