"""Results inside a report: JSON in script elements that no browser runs, read back byte by byte.

`<` is written as its JSON escape, so that nothing in a result can end the element, and no parser of
HTML is needed to find it again. Together larger than `LARGE` they are compressed (zlib, base64), for a
page that is mailed holds its step times twice over otherwise.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Sequence

from gpuwise.errors import InputError
from gpuwise.model.result import Result
from gpuwise.store.codec import decode

# Media type of the elements.
TYPE = "application/vnd.gpuwise+json"
PACKED = ' data-packed="zlib"'
SUFFIXES = (".html", ".htm")
LARGE = 2**20
# Bytes that compressed results may have together: a small file must not become an endless one.
MOST = 2**25

_OPENS = re.compile(f'<script type="{re.escape(TYPE)}"({re.escape(PACKED)})?>'.encode())
_CLOSES = b"</script>"


def elements(documents: Sequence[bytes]) -> str:
    """The script elements that hold JSON documents, one each."""
    packed = PACKED if sum(map(len, documents)) > LARGE else ""
    made = []
    for document in documents:
        if packed:
            text = base64.b64encode(zlib.compress(document)).decode()
        else:
            # The separators are line breaks to old scripts, so they are escaped too.
            text = document.decode().replace("<", "\\u003c")
            text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
        made.append(f'<script type="{TYPE}"{packed}>{text}</script>')
    return "\n".join(made)


def results(page: bytes, origin: str) -> tuple[Result, ...]:
    """The results that a report holds; `origin` names it in errors.

    Raises InputError where it holds none, a damaged one, or more than `MOST`.
    """
    found, room = [], MOST
    at = 0
    # Each byte is looked at once: where one element is never closed, no later one can be.
    while (opens := _OPENS.search(page, at)) and (end := page.find(_CLOSES, opens.end())) >= 0:
        document = page[opens.end() : end]
        if opens[1]:
            try:
                packed = base64.b64decode(document, validate=True)
                # One byte more than there is room for, and no more: a small file can hold gigabytes.
                document = zlib.decompressobj().decompress(packed, room + 1)
            except (ValueError, zlib.error) as error:
                raise InputError(f"{origin} is damaged: {error}", hint="make the report again") from error
            room -= len(document)
            if room < 0:
                raise InputError(f"{origin} holds more than {MOST >> 20} MiB", hint="give its result files")
        found.append(decode(document, origin))
        at = end
    if not found:
        raise InputError(
            f"{origin} holds no gpuwise result",
            hint="only a report that gpuwise wrote as HTML keeps its data",
        )
    return tuple(found)
