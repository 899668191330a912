"""Each framework's own tests, in a process of their own: torch's and TensorFlow's compilers crash in one."""

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
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:]
