"""Sentences that claim without a value beside a field: what a GPU can do, and how many times another's.

"The T4 supports FP8", "the RTX 4090 has no NVLink", "FP8 is not supported on the A100", "2.4 times the memory
of the H100". Only what a verb ties closely to a GPU is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from gpuwise.judge.audit.cells import Reading, capability_of, label_of
from gpuwise.judge.audit.tables import Subject, claim_of, subject
from gpuwise.judge.audit.words import ABILITIES, CUES, Token
from gpuwise.model.claim import Claim, Number

# Words for a ratio that are no number.
TIMES = {"half": 0.5, "twice": 2.0, "double": 2.0, "triple": 3.0}
_ABILITY = re.compile(
    r"(?<![A-Za-z0-9])(?:" + "|".join(ABILITIES.values()) + r")(?![A-Za-z0-9-])", re.IGNORECASE
)
_PRONOUN = re.compile(r"(?:and |but )?(?:it|this (?:card|gpu|chip)|the (?:card|gpu|chip))\b", re.IGNORECASE)
_RATIO = re.compile(
    r"(?P<words>[^.;]{0,40}?)"
    r"(?P<times>half|twice|double|triple|(?<![\d.,])\d{1,3}(?:\.\d{1,2})?(?= ?(?:x|\u00d7|times|-?fold)\b))"
    r"(?: ?(?:x|\u00d7|times|-?fold))?(?P<field>[^.;,()]{2,50}?)"
    r"\b(?:of|than|as|over|compared (?:to|with)|versus|vs\.?|relative to) +(?:the |an? |its )?"
    r"(?:predecessor |successor |older |nvidia'?s? |amd'?s? )*",
    re.IGNORECASE,
)


def claims(sentence: str, gpus: list[Token], about: Subject | None, line: int, block: int) -> Iterator[Claim]:
    """Every claim of a sentence about abilities and ratios."""
    yield from _abilities(sentence, gpus, about, line, block)
    for first, second in pairwise(gpus):
        match = _RATIO.fullmatch(sentence, first.end, second.start)
        label = label_of(match["field"]) if match else None
        one, other = subject([first]), subject([second])
        if match is None or label is None or not label.first or one is None or other is None:
            continue
        if label.first.startswith("peak:") or not CUES["has_ratio"].search(match["words"]):
            continue
        written = match["times"].lower()
        value = TIMES.get(written) or float(written)
        # "twice" and "3 times" are round numbers; "2.4 times" is printed to its last digit.
        number = Number(value=value, digits=len(written.replace(".", "")) if "." in written else 1)
        start, end = match.start("times"), match.end("field")
        token = Token(
            kind="value", start=start, end=end, text=sentence[start:end].strip(),
            approximate=CUES["about"].search(sentence[max(0, start - 14) : start]) is not None,
        )  # fmt: skip
        claim = claim_of(Reading(field=label.first, values=(number,), token=token), one, line, block, True)
        more = re.search(r"\b(?:more|higher|larger|greater|faster|bigger)\b", match["field"]) is not None
        sure = not CUES["doubt"].search(sentence[max(0, first.start - 70) : start]) and sentence[-1:] != "?"
        yield replace(claim, than=other.gpu_ids, more=more, sure=sure and claim.count == 1)


def _abilities(
    sentence: str, gpus: list[Token], about: Subject | None, line: int, block: int
) -> Iterator[Claim]:
    for match in _ABILITY.finditer(sentence):
        before = [g for g in gpus if g.end <= match.start()]
        after = next((g for g in gpus if g.start >= match.end()), None)
        owner = subject(before[-1:])
        start = before[-1].end if before else 0
        if owner is None and about is not None and (pronoun := _PRONOUN.match(sentence)):
            owner, start = about, pronoun.end()
        said = CUES["can"].fullmatch(sentence, start, match.start()) if owner else None
        denied = CUES["cannot"].fullmatch(sentence, start, match.start()) if owner else None
        if not (said or denied) and after is not None:
            # "FP8 is not supported on the A100".
            owner = subject([after])
            passive = CUES["is_supported"].fullmatch(sentence, match.end(), after.start)
            denied = passive if passive and re.search(r"\bnot\b|n't", passive[0]) else None
            said = passive if not denied else None
        field = capability_of(match[0])
        if owner is None or field is None or not (said or denied):
            continue
        follows = CUES["not_an_ability"].match(sentence, match.end())
        token = Token(kind="name", start=match.start(), end=match.end(), text=match[0])
        reading = Reading(field=field, values=("no" if denied else "yes",), token=token)
        claim = claim_of(reading, replace(owner, count=1), line, block, owner.count == 1)
        # What runs in software, or of stored weights alone, is no ability of the chip.
        doubt = follows or CUES["in_software"].search(sentence) or sentence.endswith("?")
        yield replace(
            claim, sure=claim.sure and not doubt, stated=sentence[start : match.end()].strip(" ,'\u2019")
        )
