"""MkDocs hook: a link to a file of the repository that is no page becomes the name of that file."""

from __future__ import annotations

import re

FOLDERS = "src|tests|results|experiments|evaluation|benchmarks|tools|examples"
OUTSIDE = re.compile(rf"\[([^\]]+)\]\((?:\.\./)+((?:{FOLDERS})/[^)]*|[A-Z]+\.md)\)")


def on_page_markdown(markdown: str, **_: object) -> str:
    """`[text](../folder/file)` as "text (`folder/file`)"; a text that is the path stands once."""
    return OUTSIDE.sub(_named, markdown)


def _named(link: re.Match[str]) -> str:
    text, path = link.groups()
    return f"`{path}`" if text.strip("`") == path else f"{text} (`{path}`)"
