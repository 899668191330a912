"""Writes the library that draws a page's charts, with its licence, as the installed vl-convert holds it.

python tools/bundle.py
"""

from __future__ import annotations

import gzip
from pathlib import Path

import vl_convert

SHOW = Path(__file__).parents[1] / "src" / "gpuwise" / "show"

if __name__ == "__main__":
    text = f"/*\n{(SHOW / 'vega.LICENSE').read_text()}*/\n{vl_convert.javascript_bundle()}"
    (SHOW / "vega.js.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
