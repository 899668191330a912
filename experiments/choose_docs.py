"""Run the examples of `gpuwise choose` in the docs and put their output below them.

    python experiments/choose_docs.py          # writes docs/how-it-chooses.md

An example stands between `<!-- choose -->` and `<!-- end of choose -->`: a `sh` block with the command and
a `text` block with what it prints on DAY, with the shipped prices and without results of one's own.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
from datetime import date
from pathlib import Path
from unittest import mock

from gpuwise.cli.main import run

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "docs" / "how-it-chooses.md",)
DAY = date(2026, 11, 21)
EXAMPLE = re.compile(
    r"(<!-- choose -->\n```sh\n(.*?)\n```\n\n```text\n)(.*?)(\n```\n<!-- end of choose -->)", re.DOTALL
)


def output(command: str) -> str:
    """What `gpuwise ... [| head -N]` prints on DAY."""
    typed, _, rest = command.replace("\\\n", " ").partition(" | head -")
    words, most = shlex.split(typed), int(rest) if rest else None
    printed = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as home,
        mock.patch.dict(os.environ, {"GPUWISE_HOME": home}),
        mock.patch("gpuwise.cli.print.today", return_value=DAY),
        contextlib.redirect_stdout(printed),
        contextlib.suppress(SystemExit),
    ):
        run(words[1:])
    return "\n".join(printed.getvalue().splitlines()[:most]).rstrip()


def rendered(text: str) -> str:
    """The page with every example's output as it is now."""
    return EXAMPLE.sub(lambda match: match[1] + output(match[2]) + match[4], text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(rendered(page.read_text(encoding="utf-8")), encoding="utf-8")
