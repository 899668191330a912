"""Results inside a report: JSON in script elements that no browser runs, read back byte by byte.

`<` is written as its JSON escape, so that nothing in a result can end the element, and no parser of
HTML is needed to find it again.
"""

from __future__ import annotations

import re

from gpuwise.errors import InputError
from gpuwise.model.result import Result
from gpuwise.store.codec import decode

TYPE = "application/vnd.gpuwise+json"
"""Media type of the elements."""
SUFFIXES = (".html", ".htm")

_ELEMENT = re.compile(rb'<script type="' + re.escape(TYPE).encode() + rb'">(.*?)</script>', re.DOTALL)


def element(document: bytes) -> str:
    """The script element that holds a JSON document."""
    # The separators are line breaks to old scripts, so they are escaped too.
    text = document.decode().replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f'<script type="{TYPE}">{text}</script>'


def results(page: bytes, origin: str) -> tuple[Result, ...]:
    """The results that a report holds; `origin` names it in errors.

    Raises InputError where it holds none, or a damaged one.
    """
    found = _ELEMENT.findall(page)
    if not found:
        raise InputError(
            f"{origin} holds no gpuwise result", hint="only `gpuwise report ... -o FILE.html` keeps its data"
        )
    return tuple(decode(document, origin) for document in found)
