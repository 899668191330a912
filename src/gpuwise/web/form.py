"""What a form of a page sends: its fields and its file, in memory."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartParser
from starlette.requests import Request

from gpuwise.errors import InputError
from gpuwise.web.guard import LARGEST_BODY

MOST_FIELDS = 8
MultiPartParser.spool_max_size = LARGEST_BODY  # nothing touches the disk
# What it warns of is answered; a crowd of damaged forms must not fill the log.
logging.getLogger("python_multipart").setLevel(logging.ERROR)


@dataclass(frozen=True, slots=True)
class Form:
    """Fields by name; the file, or the text field where no file was chosen, and what it is called."""

    fields: Mapping[str, str]
    name: str = "text.md"
    data: bytes = b""

    @classmethod
    async def of(cls, request: Request) -> Form:
        """Of a request. Raises InputError for anything but a form."""
        kind = request.headers.get("content-type", "")
        if not kind.startswith(("multipart/form-data", "application/x-www-form-urlencoded")):
            raise InputError("a form with a file or a text was expected", hint="use the form of the page")
        await request.body()  # whole first: the parser leaves its files open where a body is refused
        try:
            form = await request.form(max_files=1, max_fields=MOST_FIELDS, max_part_size=LARGEST_BODY)
        except (HTTPException, KeyError, ValueError) as error:
            why = getattr(error, "detail", error)
            raise InputError(f"the form cannot be read: {why}", hint="send it again from the page") from error
        try:
            fields = {key: value for key, value in form.items() if isinstance(value, str)}
            file = form.get("file")
            if isinstance(file, UploadFile) and file.size:
                # The last part of the name alone: a label, never a path.
                name = PurePosixPath((file.filename or "").replace("\\", "/")).name[:100]
                return cls(fields, name or "text.md", await file.read())
            return cls(fields, data=fields.get("text", "").encode())
        finally:
            await form.close()
