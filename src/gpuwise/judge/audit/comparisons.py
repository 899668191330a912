"""Find out how sentences compare two GPUs: "2.4 times the memory of", "100 W less than", "the same bus"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from gpuwise.judge.audit.cells import FORMATS, NEAR, OF_UNIT, SUMMED, Reading, label_of
from gpuwise.judge.audit.grid import claim_of, subject
from gpuwise.judge.audit.words import COUNTED, CUES, LEAD, NAMES, Token, cue_before, scan
from gpuwise.model.judgement import Claim, Number, Relation

TIMES: Mapping[str, float] = {**COUNTED, **NAMES["times"]}
LESS = ("less", "lower", "smaller", "fewer", "narrower", "decrease", "reduction", "drop")
# Fields that texts compare without a number.
COMPARED_FIELDS = SUMMED | {
    "power_w", "sm_count", "l2_bytes", "memory_bus_bits", "link_bytes_per_s", "transistors", *FORMATS
}  # fmt: skip


class _Compared(NamedTuple):
    """Two GPUs in a sentence, and what it says of the first beside the second."""

    match: re.Match[str]  # Of `CUES["compares"]` and the like
    speaks: Token
    beside: Token
    words: str  # Between the first GPU and what is matched

    def field(self, lead: str, amount: Token | None, of_unit: str | None) -> str | None:
        """The field that a comparison names, or that of its unit, or what is compared: "The memory of the A40
        is", "In capacity the A40 is"."""
        match, words = self.match, self.words
        led = CUES["its_field"].match(match[0])
        led = led or re.search(r"\b(?:of|on) (?:the |an? )?$|^in (\w+(?: \w+)??),? (?:the )?$", lead, re.I)
        of_subject = label_of(led[1] or lead[-NEAR:]).first if led else None
        named = label_of(re.sub(r"^\W*the ", "", match["field"])).first
        named = named or (label_of(match[0]).first if amount is None else None)
        field = named if named is not None else of_unit
        if field or not CUES["open_field"].fullmatch(match["field"]):
            return field
        # "1,408 cores and 336 GB/s, which is more": the last of what it states; "draws a third less".
        stated = [t.dimension for t in scan(words) if t.kind == "value"]
        drawn = "power_w" if re.search(r"\b(?:draws?|consumes?)\b", words) else None
        of_words = OF_UNIT.get(stated[-1]) if stated else None
        return of_subject or of_words or label_of(words).first or drawn

    def is_stated(self, field: str) -> bool:
        """Whether the words say that it is so: a verb, or a form that does without."""
        words, speaks = self.words, self.speaks
        return bool(
            CUES["has_ratio"].search(words)
            or (self.match["times"] or "").lower() in ("doubles", "triples", "quadruples", "halves")
            or (field == "power_w" and re.search(r"\b(?:needs?|requires?)\b", words))
            # "The A10's memory, 1.5 times that of"; "and 1.4 times the bandwidth of", of the same GPU.
            or (speaks.text.endswith(("'s", "\u2019s")) and label_of(words).first == field)
            or CUES["and_also"].fullmatch(words)
            # "67 TFLOPS, 3.4 times the rate of", of what the text speaks of.
            or (speaks.end == 0 and re.search(r"\d ?[\w/]{1,6}, $", words))
        )

    @property
    def is_less(self) -> bool:
        return (self.match["more"] or self.match["more_"] or "").lower() in LESS

    def amount(self, amount: Token | None) -> tuple[Relation, Number, bool]:
        """(how the two figures compare, by how much, whether so many times are added: "2 times more")."""
        match, sign = self.match, -1 if self.is_less else 1
        said = match["more"] or match["more_"]
        if match["times"]:
            written = match["times"].lower()
            value = TIMES.get(written) or float(written.replace(",", ".")) / (100 if match["percent"] else 1)
            if said and value < 1:
                return "times", Number(value=1 + sign * value, digits=2), False
            # "twice" and "3 times" are round numbers; "2.4 times" is printed to its last digit.
            digits = 3 if match["percent"] else len(written) - 1 if re.search(r"[.,]", written) else 1
            return "times", Number(value=value, digits=digits), said is not None and value > 1
        if amount is None:
            return (
                "same" if match["same"] else "under" if sign < 0 else "over",
                Number(value=1.0, digits=1),
                False,
            )
        by, exact = sign * amount.numbers[0].value, amount.numbers[0].digits
        if amount.dimension == "%":
            return "times", Number(value=1 + by / 100, digits=3), False
        return "plus", Number(value=by, digits=exact), False


def comparisons(sentence: str, gpus: Sequence[Token], line: int, block: int) -> Iterator[Claim]:
    """What one GPU has beside another: "2.4 times the memory of", "78 % more bandwidth", "100 W less than",
    "the same bus as", "more power than"; also behind "Compared with the one, the other ..."."""
    last: str | None = None
    for found in _compared(sentence, gpus):
        match, speaks, beside, words = found
        one, other = subject([speaks]), subject([beside])
        if one is None or other is None or set(one.gpu_ids) & set(other.gpu_ids):
            continue
        lead = sentence[: speaks.start]
        amount = next(iter(scan(match["amount"])), None) if match["amount"] else None
        of_unit = OF_UNIT.get(amount.dimension) if amount is not None else None
        field = found.field(lead, amount, of_unit)
        # "..., and the MI355X about 1.8 times that of the MI325X", of what was compared before.
        goes_on = last is not None and field is None and CUES["compares_too"].fullmatch(words) is not None
        field = last = last if goes_on else field
        # "33 % de m\u00e9moire de plus" says how much more, not how much.
        extra = match["percent"] and re.search(r"\b(?:additional|more|extra)\b", match[0])
        if not field or field not in COMPARED_FIELDS or (of_unit and of_unit != field) or extra:
            continue
        open_ = CUES["open"].search(words.replace("need", "") if field == "power_w" else words + match[0])
        if open_ or not (goes_on or found.is_stated(field)):
            continue
        relation, number, more = found.amount(amount)
        if more and found.is_less:
            continue
        bound = CUES["bound"].search(words)
        if match["times"] and bound is not None:
            relation = "over" if bound["over"] or str(bound["more"]).lower() == "more" else "under"
        about = cue_before("about", sentence, match.start())
        token = Token(
            kind="value", start=match.start(), end=match.end("field"), approximate=about is not None,
            text=sentence[match.start() : match.end("field")].strip(),
        )  # fmt: skip
        # Rates may be measured, or of two formats: "20 times the FP32 rate of the V100, with TF32".
        peak = CUES["peak_rate"].search(match[0]) and not CUES["other_rate"].search(sentence)
        doubt = (
            (field[:5] == "peak:" and not peak) or sentence[-1:] == "?" or CUES["doubt"].search(lead[-LEAD:])
        )
        reading = Reading(field=field, values=(number,), token=token)
        claim = claim_of(reading, one, line, block, not doubt and one.count == 1)
        yield replace(claim, than=other.gpu_ids, more=more, relation=relation)


def _compared(sentence: str, gpus: Sequence[Token]) -> Iterator[_Compared]:
    """Which of two GPUs behind each other a sentence compares with which, and by what words."""
    before: tuple[Token, Token] | None = None
    for place, (first, second) in enumerate(pairwise(gpus)):
        behind = gpus[place + 2].start if place + 2 < len(gpus) else len(sentence)
        turned = CUES["beside"].fullmatch(sentence[: first.start]) and re.fullmatch(
            r"(?:\s?\([^()]*\))?(?:[,:]?| to)\s(?:the |an? )?", sentence[first.end : second.start]
        )
        start, end = (second.end, behind) if turned else (first.end, second.start)
        match = (CUES["compared_to"] if turned else CUES["compares"]).search(sentence, start, end)
        # Two comparisons in a row are of one GPU: "more power than the A10 and less than the A40".
        speaks = before[0] if before is not None and before[1] is first else first
        words = sentence[start : match.start()] if match else ""
        if place and speaks is first and re.match(r"\W*(?:but|and)\b", words):
            # "The H200 keeps the compute of the H100 but offers 1.76 times ...".
            speaks = gpus[0]
        if match is None or re.search(r"[.;](?!\d)", words) or len(words) > 3 * NEAR:
            continue
        before = (second, first) if turned else (speaks, second)
        yield _Compared(match, *before, words)
        if further := CUES["its_too"].match(sentence, match.end() if turned else second.end, behind):
            yield _Compared(further, *before, "has")
