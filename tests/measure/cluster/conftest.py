"""A Slurm of shell scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

SCONTROL = "#!/bin/bash\nprintf 'node0\\nnode1\\n'\n"
"""The names of the job's two machines."""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str]], None]:
    """Put programs, name -> text, in `bin` of the test's folder, before those of the machine."""

    def write(programs: Mapping[str, str]) -> None:
        (tmp_path / "bin").mkdir()
        for name, text in {"scontrol": SCONTROL, **programs}.items():
            (tmp_path / "bin" / name).write_text(text)
            (tmp_path / "bin" / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")

    return write
