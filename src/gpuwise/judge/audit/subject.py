"""Which GPU a text is about at a place: the names around it, the title above it, or none.

A GPU named as the measure of another ("successor of the A100", "faster than the V100") is not what
the sentence is about, unless a figure is attached to it ("than the V100's 900 GB/s").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpuwise.facts.catalog import Mention, mentions


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The GPU or GPUs that figures belong to."""

    text: str
    gpu_ids: tuple[str, ...]
    several: bool = False
    """Whether different products are meant, as under the title "A5000 vs A4000"."""


_MEASURE = re.compile(
    r"\b(?:(?:sister|brother|sibling|cousin|counterpart|rival|competitor) (?:of|to)"
    r"|success?or (?:of|to)|predecessor (?:of|to)|versions? of|variant of|replacement (?:for|of)"
    r"|upgrade (?:to|over|from)|similar(?:ly)? to|like|unlike|instead of|than|compared (?:to|with)|based on"
    r"|against|versus|vs\.?|exceeds|beats|outperforms|as|of both|match(?:es)?|equal to|over"
    r"|doubles?|twice|triples?|half|replaces?|surpass(?:es)?|times|from)"
    r"\s+(?:that of\s+)?(?:the\s+|a\s+|an\s+|its\s+)?(?:\w+\s+)?$",
    re.IGNORECASE,
)
_ATTACHED = re.compile(
    r"(?:['\u2019]s?)?(?:\s+(?:[\w-]+\s+){0,3}|\s*\()(?:of\s+|at\s+|with\s+)?$", re.IGNORECASE
)
_TIED = re.compile(
    r"(?:\w{0,2}['\u2019]s?)\s+(?:(?!with|to|by|from)[A-Za-z-]+\s+){0,2}|\w{0,2}\s*\(", re.IGNORECASE
)
_INTRODUCES = re.compile(r"[^;:.]{0,40}?,?\s*(?:the\s+|an?\s+)?(?:NVIDIA(?:['\u2019]s)?\s+)?")
_OPENED = re.compile(r"\s*\((?:the\s+)?")
_BELONGS = re.compile(
    r"\s*(?:\([^)]*\)\s*)?(?:per GPU\s+)?(?:of|for|on|in)\s+(?:an?\s+|the\s+)?(?:single\s+)?", re.IGNORECASE
)


def of_mentions(found: Sequence[Mention]) -> Subject | None:
    """The subject that a title or table cell names; None where it names none."""
    if not found:
        return None
    ids = tuple(dict.fromkeys(gpu_id for mention in found for gpu_id in mention.gpu_ids))
    apart = {mention.gpu_ids for mention in found}
    return Subject(text=" / ".join(dict.fromkeys(m.text for m in found)), gpu_ids=ids, several=len(apart) > 1)


def of_text(text: str) -> Subject | None:
    """The subject of a title or table cell."""
    return of_mentions(known(text))


def rivals(title: str) -> tuple[Subject, ...]:
    """The GPUs of a title "A vs B", in its order; those outside the catalog have no ids."""
    if not re.search(r"\b(?:vs|versus)\b", title, re.IGNORECASE):
        return ()
    each = [of_mentions([mention]) for mention in known(title)]
    return tuple(one for one in each if one is not None)


def known(text: str) -> tuple[Mention, ...]:
    """The GPUs that `text` names; one outside the catalog counts, with no ids."""
    return mentions(text, unknown=True)


def covers(text: str) -> bool:
    """Whether a line is little more than the name of a GPU."""
    letters = sum(m.end - m.start for m in known(text))
    return letters > 0 and 2 * letters >= len(text.strip())


def before(sentence: str, position: int, found: Sequence[Mention]) -> Mention | None:
    """The last GPU named before `position` that the figure there can belong to."""
    for mention in reversed([m for m in found if m.end <= position]):
        if is_subject(sentence, mention) or _ATTACHED.fullmatch(sentence, mention.end, position):
            return mention
        if _in_parenthesis(sentence, mention, position):
            return mention
    return None


def after(sentence: str, position: int, found: Sequence[Mention]) -> Mention | None:
    """The GPU that follows as "600 W of a H200 NVL" or "600 W (H200 NVL)"; None where more stands between."""
    later = (m for m in found if m.start >= position)
    return next(
        (
            m
            for m in later
            if _BELONGS.fullmatch(sentence, position, m.start)
            or (_OPENED.fullmatch(sentence, position, m.start) and sentence.startswith(")", m.end))
        ),
        None,
    )


def is_subject(sentence: str, mention: Mention) -> bool:
    """Whether the sentence is about this GPU, not measured by it."""
    return _MEASURE.search(sentence[: mention.start]) is None


def attached(sentence: str, mention: Mention, position: int) -> bool:
    """Whether the figure at `position` is tied to the GPU: "the A100's 40 GB", "A100 (40 GB"."""
    # A mention may hold its own "'s".
    return _in_parenthesis(sentence, mention, position) or any(
        _TIED.fullmatch(sentence, end, position) for end in (mention.end - 2, mention.end)
    )


def _in_parenthesis(sentence: str, mention: Mention, position: int) -> bool:
    """Whether the place is in a parenthesis that opens right behind the name: "the T4 (16 GB, 70 W"."""
    opened = sentence.rfind("(", mention.start, position)
    return 0 <= opened <= mention.end + 1 and ")" not in sentence[opened:position]


def ahead(sentence: str, position: int, found: Sequence[Mention]) -> Subject | None:
    """The one GPU that a figure may introduce: "with 24 GB of memory, the RTX 4090 ..."."""
    later = [m for m in found if m.start >= position and is_subject(sentence, m)]
    near = len(later) == 1 and _INTRODUCES.fullmatch(sentence, position, later[0].start)
    return of_mentions(later) if near else None


def of_sentence(sentence: str, found: Sequence[Mention]) -> Subject | None:
    """What a following sentence's "it" means: the GPU that the sentence is about, or any of them."""
    return of_mentions([m for m in found if is_subject(sentence, m)])
