"""Find out which GPU and field a value in running text belongs to.

Every GPU that a sentence names, and the one that the text speaks of, is a candidate for the owner of every
value; every field of its unit is a candidate for its field. Costs are those of layout: distance, other GPUs
and turns ("while", "compared to") between, what binds close ("the A100's 40 GB", "40 GB on the A100"), lists
behind a GPU, words for the field. What the catalog confirms costs less. The cheapest pair is the claim;
where another pair costs nearly the same, nobody is accused.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from gpuwise.facts import catalog
from gpuwise.judge.audit import evidence
from gpuwise.judge.audit.cells import (
    NEAR,
    SUMMED,
    Reading,
    ability_of,
    label_of,
    mark_near,
    own_field,
    scaled,
)
from gpuwise.judge.audit.grid import IN_CONTEXT, Scope, Subject, claim_of, is_known, of_form, subject
from gpuwise.judge.audit.words import ABILITIES, COUNTED, COUNTS, CUES, FIELDS, Token, scan
from gpuwise.model.judgement import Claim, Number, Relation

# Characters; a longer sentence is a table or a listing that lost its line ends.
LONGEST = 4000
# Costs that lie closer leave open whose a value is.
NEARLY = 0.8
# What it is worth that the catalog has just this value of this field.
CONFIRMED = 2.2
# A value that is not confirmed needs words for its field that cost less, and an owner that is not too far.
SAID, FAR = 1.0, 6.0
# Words that cost more are not read at all.
UNREAD = 1.25
# Characters of words for each value below which a line is a table without its line ends.
TELEGRAM = 9
# Costs of distance, of a GPU in between, of a turn, of being what something else is compared with, and of a
# comma or an "and" between a value and the word for its field.
PER_CHARACTER, BETWEEN, TURN, COMPARED, APART = 1 / 45, 1.5, 1.2, 3.2, 0.9
# What a field costs without a word for it: a size is not always the memory's, watts are seldom another's.
UNSAID = {
    "memory_bytes": 1.6, "memory_bytes_per_s": 1.2, "link_bytes_per_s": 3.0, "power_w": 1.0,
    "memory_bus_bits": 1.2, "process_nm": 0.4, "boost_hz": 2.6, "base_hz": 3.0, "l2_bytes": 4.0,
}  # fmt: skip
# The same in a list behind a GPU, or where the GPU "has" it.
LISTED = 0.3
# Fields that the unit tells where nothing else is said: of an owner that costs no more than this, and a value
# within this factor of a known one.
LEADS = 1.6
BY_UNIT, NEAR_BY, LIKE = frozenset({"memory_bytes_per_s", "power_w", "memory_bus_bits"}), 2.5, 2.5
# The same where the value before it in the sentence was of that field, and another GPU stands between.
AGAIN = 0.6
# Typed words of a sentence that is looked at so closely.
MOST = 400
# Fields that in passing are often of another product than the nearest.
IN_PASSING = frozenset({"architecture", "chip", "pcie_generation", "process_nm"})
# Units of which a value is worth a word that it was not judged.
WORTH_NOTING = frozenset({"bytes", "bytes/s", "op/s", "w", "hz"})
# Bytes/s of the fastest slot, PCIe 5.0 x16 in both directions.
SLOT = 128e9
# Words for a ratio that are no number.
TIMES = {
    "half": 0.5, "a third": 1 / 3, "a quarter": 0.25, "twice": 2.0, "double": 2.0, "triple": 3.0, "two": 2.0,
    "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "eight": 8.0, "ten": 10.0,
}  # fmt: skip

# Fields that texts compare without a number.
COMPARED_FIELDS = frozenset(
    {"memory_bytes", "memory_bytes_per_s", "power_w", "cuda_cores", "tensor_cores", "sm_count", "l2_bytes",
     "memory_bus_bits"}
)  # fmt: skip

_SENTENCE = re.compile(
    r"(?<=[.!?])[\"')\]]{0,2}(?:\[\d{1,4}\]){0,4}\s(?=[A-Z\[(\"'\u201c$]|\d{1,3} ?x )|\n\n"
    r"|(?<=[\u3002\uff01\uff1f])|(?<=\))\.\s(?=[A-Z])|\]\s(?=[A-Z][a-z]{1,40} [a-z])"
)
_GPUS = re.compile(r"\b(\d{1,2}|[a-z]{3,7}) (?:gpus|accelerators)\b", re.IGNORECASE)
_SOLD = re.compile(r"(?<![A-Za-z\d])\d{1,3} ?GB")
_ABILITY = re.compile(
    r"(?<![A-Za-z0-9])(?:" + "|".join(ABILITIES.values()) + r")(?![A-Za-z0-9-])", re.IGNORECASE
)
_ABLE = ("able_not", "able_verb", "able_weak", "able_turn", "able_filler")
_PRONOUN = re.compile(r"(?:and |but )?(?:it|this (?:card|gpu|chip)|the (?:card|gpu|chip))\b", re.IGNORECASE)
_FILLED = (
    r"\s{1,3}(?:the |an? |its |those of |that of )*"
    r"(?:predecessor |successor |older |nvidia'?s? |amd'?s? ){0,3}"
)
_TIMES = (
    r"(?P<times>half|a third|a quarter|twice|double|triple"
    r"|(?:two|three|four|five|six|eight|ten)(?= times\b)"
    r"|(?<![\d.,])\d{1,3}(?:\.\d{1,2})?(?= ?(?:x|\u00d7|times|-?fold)\b))"
    r"(?: ?(?:x|\u00d7|times|-?fold))?(?![\w/])"
)
_AMOUNT = r"(?<![\w.,])(?P<amount>\d[\d.,]{0,6} ?(?:%|percent|W|watts?|GB/s|TB/s|GB))"
_MORE = r"(?P<more>more|higher|larger|bigger|greater|wider|less|lower|smaller|fewer|narrower)\b"
_SAME = r"(?P<same>the (?:very )?same|as (?:much|many)|identical|equal)\b"
_STATED = (
    rf"(?:{_TIMES}(?:\s(?:as (?:much|many)|{_MORE}))?"
    rf"|(?:{_AMOUNT}\s)?{_MORE.replace('more>', 'more_>')}|{_SAME})"
    r"(?P<field>(?:(?!\bthan\b)[^.;,()\d]){0,50}?)"
)
_COMPARES = re.compile(
    rf"{_STATED}\b(?:of|than|as|to|over|compared (?:to|with)|versus|vs\.?|relative to){_FILLED}$", re.I
)
_COMPARED_TO = re.compile(rf"{_STATED}(?=[.;,]|$)", re.I)
_BESIDE = re.compile(r"(?:compared (?:to|with)|versus|against|relative to|next to)\s(?:the |an? )?", re.I)
_BOUND = re.compile(r"(?P<more>more|less|fewer) than (?:a )?$|(?P<over>over) $|(?P<under>under) $", re.I)
# What denies a comparison, or sets a condition.
_OPEN = re.compile(r"\b(?:no|not|if|would|could|should|needs?|neither|barely|per)\b|n't", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph with the source line of every character, and what it speaks of before it begins."""

    text: str
    lines: tuple[tuple[int, int], ...]
    """(offset, line), ascending."""
    scope: Scope
    block: int

    def line(self, offset: int) -> int:
        return self.lines[bisect_right(self.lines, (offset, 1 << 60)) - 1][1]

    def part(self, offset: int, start: int, end: int) -> str:
        """The part of a sentence from `start` to `end` that stands on the line of a character."""
        begins = [begin for begin, _ in self.lines]
        place = bisect_right(begins, offset)
        last = begins[place] if place < len(begins) else end
        return self.text[max(start, begins[place - 1]) : min(end, last)]


@dataclass(frozen=True, slots=True)
class Left:
    """A value that was not assigned to a GPU and field."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class _Option:
    """One pair of an owner and a field for a value."""

    owner: Subject
    reading: Reading
    owned: float
    said: float
    known: bool

    @property
    def cost(self) -> float:
        return self.owned + self.said - CONFIRMED * self.known


def claims(text: Text) -> Iterator[Claim | Left | Subject]:
    """Every claim of a paragraph; last, what it spoke of in the end."""
    about = text.scope.about
    topic: str | None = None
    ends = [(match.start(), match.end()) for match in _SENTENCE.finditer(text.text)]
    for (_, start), (end, _) in pairwise([(0, 0), *ends, (len(text.text), 0)]):
        words = text.text[start:end]
        if len(words) > LONGEST:
            continue
        sentence = _Sentence(words, about, topic, text.scope)
        denied = CUES["denied"].match(text.text, end) is not None
        heads = {g.start: g for g in sentence.gpus if g in sentence.listed.values() or " GB" in g.text}
        yield from (c for at, gpu in heads.items() for c in sized([gpu], text.line(start + at), text.block))
        for place, token in enumerate(sentence.tokens):
            # "Tensor performance is another area. It offers 222.2 TFLOPS": the format was named before.
            if token.field.startswith("peak:") and token.field != "peak:":
                sentence.topic = topic = token.field
            if token.kind not in ("value", "name") or token.field in ("sparse", "dense", "none"):
                continue
            line = text.line(start + token.start)
            claim = sentence.claim(place, line, text.block)
            if claim is not None:
                context = (text.part(start + token.start, start, end), text.scope.title)
                yield replace(
                    claim,
                    sure=claim.sure and not denied,
                    context=context if claim.field in IN_CONTEXT else (),
                )
            elif token.dimension in WORTH_NOTING and (sentence.gpus or about):
                yield Left(line, token.text)
        line = text.line(start)
        yield from abilities(words, sentence.gpus, about, line, text.block)
        yield from _comparisons(words, sentence.gpus, line, text.block)
        about = sentence.subject_after()
    if about is not None:
        yield about


def sized(gpus: Sequence[Token], line: int, block: int) -> Iterator[Claim]:
    """The memory that a name states: "A100 80GB"."""
    for gpu in gpus:
        size, owner = _SOLD.search(gpu.text), subject([gpu])
        if size is not None and owner is not None:
            token = next(t for t in scan(size[0]) if t.kind == "value")
            reading = Reading(field="memory_bytes", values=token.numbers, token=token)
            yield replace(claim_of(reading, replace(owner, count=1), line, block, True), sure=False)


class _Sentence:
    """The typed words of a sentence, and the GPU and the format that the text spoke of before it."""

    def __init__(self, text: str, about: Subject | None, topic: str | None, scope: Scope) -> None:
        self.text, self.about, self.topic, self.tokens = text, about, topic, scan(text)
        self.gpus = [t for t in self.tokens if t.kind == "gpu"]
        counted = _GPUS.search(text) if len(self.gpus) == 1 and CUES["machine"].search(text) else None
        if counted is not None and self.gpus[0].count == 1:
            # "A DGX H100 has 8 GPUs with 640 GB in total."
            written = counted[1].lower()
            one = replace(
                self.gpus[0], count=int(written) if written.isdecimal() else COUNTED.get(written, 1)
            )
            self.tokens = tuple(one if t is self.gpus[0] else t for t in self.tokens)
            self.gpus = [one]
        title = f"{scope.title} {scope.opening}"
        # Where the title speaks of what was measured, its values are not those of the product.
        # By field the place of the last value that was read as one.
        self.last: dict[str, int] = {}
        # By place of a value its owner, and whether that is sure.
        self.owned: dict[int, tuple[Subject, bool]] = {}
        self.measured = any(CUES[cue].search(title) for cue in ("ratio", "reached", "taken"))
        # By place of a GPU the parentheses around it that hold more than its name.
        self.enclosed = {
            g.start: m.span() for m in re.finditer(r"\([^()]*\)", text) for g in self.gpus
            if m.start() < g.start < m.end() and m.end() - m.start() > g.end - g.start + 6
        }  # fmt: skip
        # "Ten nodes with two T4": so many times the GPUs of one.
        named = CUES["machines"].search(text)
        times = named["count"].lower() if named else ""
        self.machines = int(times) if times.isdecimal() else COUNTED.get(times, 1)
        # By place of a token the GPU right before it, where only values and few words stand between.
        self.listed: dict[int, Token] = {}
        head, end = None, 0
        for place, token in enumerate(self.tokens):
            if token.kind == "gpu":
                head, end = token, token.end
            elif head is not None and CUES["listing"].fullmatch(text, end, token.start):
                self.listed[place], end = head, token.end
            else:
                head = None
        values = [n for n, t in enumerate(self.tokens) if t.kind == "value"]
        heads = {self.listed[n].start for n in values if n in self.listed}
        # Each GPU has its own list: every value is the GPU's before it.
        self.in_turn = len(heads) == len(self.gpus) and all(n in self.listed for n in values)

    def claim(self, place: int, line: int, block: int) -> Claim | None:
        """The claim that layout and catalog make likeliest; None where there is none."""
        token = self.tokens[place]
        readings = list(self.readings(place)) if self.gpus or self.about else []
        options = [
            self.option(of_form(owner, self.text, token), reading, owned, said)
            for owned, owner in (self.owners(place) if readings else ()) for said, reading in readings
        ]  # fmt: skip
        if not options:
            return None
        options.sort(key=lambda one: one.cost)
        best = options[0]
        if not best.known and best.said >= UNREAD:
            return None
        rivals = [
            one.cost for one in options[1:]
            if one.reading.field != best.reading.field or set(one.owner.gpu_ids) != set(best.owner.gpu_ids)
        ]  # fmt: skip
        field = best.reading.field
        total = best.owner.count > 1 and field in SUMMED and self.is_total(place, best)
        if total and (count := self.times(best)) != best.owner.count:
            best = replace(best, owner=replace(best.owner, count=count))
        if best.known or best.said < SAID:
            self.last[field] = place
        sure = (best.said < SAID or best.known) and (not rivals or rivals[0] - best.cost >= NEARLY)
        if sure and not best.known and field != "throughput":
            sure = self.is_owned(place, best)
        if sure and not total and (not best.known or field.startswith("peak:")) and field != "throughput":
            sure = not self.is_doubtful(place, field)
        if token.field == "memory_type" and place and place - 1 in self.owned:
            # "141 GB of HBM3e": the type is of the memory beside it.
            owner, certain = self.owned[place - 1]
            best, sure = replace(best, owner=owner), sure and certain
        self.owned[place] = best.owner, sure
        claim = claim_of(best.reading, best.owner, line, block, sure)
        if field == "launch_price_usd" and not self.is_launch_price(place):
            # Today's or the one at launch: as the other prices of the sentence.
            claim = replace(claim, group=f"prices {line}")
        return replace(claim, total=total)

    def option(self, owner: Subject, reading: Reading, owned: float, said: float) -> _Option:
        """A pair of an owner and a field; the unit tells the field of a value like the known one."""
        alike = sum(t.measures == reading.token.measures for t in self.tokens if t.kind == "value")
        # Bits a second are a network's.
        alone = alike <= max(1, len(self.gpus)) and not reading.token.in_bits
        if reading.field == "memory_bytes_per_s" and CUES["link"].search(self.text):
            alone = False
        if SAID <= said < UNREAD and owned < NEAR_BY and reading.field in BY_UNIT and alone:
            known = [k.value for i in owner.gpu_ids for k in evidence.of(i, reading.field)]
            values = [(v.value, k) for v in reading.values for k in known if isinstance(v, Number) and k]
            if any(isinstance(k, float) and 1 / LIKE < value / k < LIKE for value, k in values):
                said = LISTED
        return _Option(owner, reading, owned, said, is_known(owner, reading))

    def readings(self, place: int) -> Iterator[tuple[float, Reading]]:
        """What a value or name may claim, GPU aside, with the cost of its field."""
        token = self.tokens[place]
        if token.kind == "name":
            if token.field != "launch" or CUES["launched"].search(self.text[: token.start]):
                yield 0.0, Reading(field=token.field, values=token.numbers or (token.name,), token=token)
            return
        for cost, field in self.fields(place):
            numbers = scaled(token, field, None)
            if field == "launch" and numbers:
                yield cost, Reading(field=field, values=(f"{numbers[0].value:.0f}",), token=token)
            elif numbers:
                sparse = mark_near(self.text, self.tokens, place) if field.startswith("peak:") else None
                near = self.text[max(0, token.start - NEAR) : token.end + NEAR]
                vector = field[:5] == "peak:" and CUES["vector"].search(near) is not None
                yield cost, Reading(field=field, values=numbers, token=token, sparse=sparse, vector=vector)

    def fields(self, place: int) -> Iterator[tuple[float, str]]:
        """The fields that a value may be of, each with its cost."""
        token, dimension = self.tokens[place], self.tokens[place].measures
        before, after = self.text[: token.start], self.text[token.end : token.end + 60]
        if dimension == "usd":
            if token.hourly or re.match(r"\s?(?:/|per |an )\s?(?:gpu[- ])?h", after):
                yield 0.0, "rent per hour"
            elif self.is_launch_price(place) or place in self.listed:
                yield 0.0, "launch_price_usd"
            return
        if dimension == "item/s":
            yield 0.0, "throughput"
            return
        if token.dimension == "bare":
            own = own_field(self.text, self.tokens, place)
            said = re.search(r"\b(?:in|since)\s(?:early |late |mid-?)?$|ed \(?$", before[-14:])
            named = place and self.tokens[place - 1].kind == "gpu" and re.fullmatch(
                r"\s?\($", self.text[self.tokens[place - 1].end : token.start]
            )  # fmt: skip
            if own in COUNTS and not self.is_of_part(place):
                yield 0.0, own
            elif re.fullmatch(r"20[0-3]\d", token.text) and (
                (named and after.startswith(")")) or (said and CUES["launched"].search(before[-60:]))
            ):
                yield 0.0, "launch"
            elif own is None and "." in token.text and self.follows(place, "compute_capability"):
                yield LISTED, "compute_capability"
            return
        foreign = CUES["not_ours"].match(after)
        own = own_field(self.text, self.tokens, place)
        summed = self.is_summed(place)
        if own == "none" or (own is None and foreign and not summed) or self.is_others(place):
            return
        if own is not None and own != "peak:" and not (own.startswith("peak:") and dimension == "count"):
            if not (foreign and own != "l2_bytes") and not self.is_of_part(place):
                yield 0.0, own
            return
        if dimension == "op/s":
            yield from self.formats(place)
            return
        follows = self.tokens[place + 1] if place + 1 < len(self.tokens) else token
        if dimension == "bytes" and follows.field.endswith("bytes_per_s") and follows.start - token.end < 12:
            # "A 900 GB bandwidth" is a rate that lost its second.
            return
        around = before[-40:] + after[:30]
        if dimension == "w" and (
            CUES["system"].search(around) or re.match(r"\s?(?:psu|power suppl)", after, re.I)
        ):
            return
        linked = CUES["network"].search(before[-30:]) or CUES["network"].search(after[:24])
        if dimension == "bytes/s" and linked:
            return
        for field in UNSAID:
            if FIELDS[field].dimension == dimension:
                again = AGAIN if self.follows(place, field) else FAR
                yield min(self.unsaid(place, field), self.named(place, field), again), field

    def follows(self, place: int, field: str) -> bool:
        """Whether a value goes on about a field with another GPU: "80 GB of VRAM, 48 GB on the A40"."""
        before = self.tokens[self.last[field] : place + 2] if field in self.last else ()
        return any(t.kind == "gpu" for t in before) and len(self.tokens) < MOST

    def formats(self, place: int) -> Iterator[tuple[float, str]]:
        """Formats of a rate: by the words near it, or as the text said before."""
        token = self.tokens[place]
        named = dict.fromkeys(
            t.field for t in self.tokens if t.field.startswith("peak:") and t.field != "peak:"
        )
        # "FP16 tensor compute" is of FP16.
        fields = [f for f in named if f != "peak:tensor"] or list(named)
        for field in fields or ([self.topic] if self.topic else []):
            # "3,352 AI TOPS" may count any format.
            if field != "peak:tensor" or "fl" in token.text.lower():
                # The only format that a sentence names is that of its rates.
                far = 0.9 if len(fields) == 1 else FAR
                yield (min(self.named(place, field), far) if fields else LISTED), field

    def named(self, place: int, field: str) -> float:
        """The cost of the nearest word for a field; of memory also its type, "40 GB of HBM2"."""
        token, best = self.tokens[place], FAR
        for step in (1, -1):
            at = place + step
            while 0 <= at < len(self.tokens):
                other = self.tokens[at]
                between = self.text[min(token.end, other.end) : max(token.start, other.start)]
                if len(between) > 90 or (
                    step > 0 and other.kind == "value" and other.dimension == token.dimension
                ):
                    break
                beside = other.field == "memory_type" and field in ("memory_bytes", "memory_bytes_per_s")
                near = other.field == "memory_bytes" and field == "memory_bytes_per_s"
                label = step < 0 and re.fullmatch(r"[^:;.]{0,40}:\s*(?:\w{1,16} )?", between)
                if other.field == field and label:
                    # "FP32 Standard (non-Tensor Core): approximately 67 TFLOPS"
                    return 0.2
                if other.field == field or beside or near:
                    apart = len(re.findall(r";|, |\. |\band\b", between))
                    far = 0.0 if step > 0 else 0.2
                    # The type stands beside the size; beside a rate it names the memory only.
                    far += 0.0 if other.field == field or (beside and field == "memory_bytes") else 0.4
                    best = min(best, len(between) * PER_CHARACTER + APART * apart + far)
                at += step
        return best

    def unsaid(self, place: int, field: str) -> float:
        """The cost of a field that no word names."""
        token = self.tokens[place]
        if field == "link_bytes_per_s" and CUES["link"].search(self.text):
            return UNSAID["memory_bytes_per_s"]
        if field not in ("memory_bytes", "memory_bytes_per_s", "power_w"):
            return UNSAID[field]
        least = SLOT if field == "memory_bytes_per_s" else FIELDS[field].low
        alike = [
            n for n, head in self.listed.items()
            if head is self.listed.get(place) and self.tokens[n].measures == token.measures
            and self.tokens[n].numbers[0].value >= least and own_field(self.text, self.tokens, n) is None
        ]  # fmt: skip
        # The only such value of a list, or the one that a GPU "has".
        head = self.listed.get(place)
        many = sum(other is head and self.tokens[n].kind == "value" for n, other in self.listed.items()) > 1
        if head is not None and alike == [place] and (many or field != "memory_bytes_per_s"):
            return LISTED
        if field == "memory_bytes_per_s":
            return LEADS * UNSAID[field] if CUES["link"].search(self.text) else UNSAID[field]
        if self.is_summed(place):
            return LISTED
        follows = self.tokens[place + 1] if place + 1 < len(self.tokens) else None
        if field == "memory_bytes" and follows is not None and follows.kind == "gpu":
            # "A 24GB RTX 4090"; "With its 32 GB, the RTX 4090 ...".
            gap = self.text[token.end : follows.start]
            with_it = re.search(r"\bwith (?:its |only |just |a ){0,2}$", self.text[: token.start], re.I)
            if not gap.strip() or (with_it and re.fullmatch(r", ?(?:the |an? )?(?:\w{1,20} )?", gap)):
                return LISTED
        leads = field == "power_w" and CUES["leads"].search(self.text[: token.start])
        return LISTED if leads or self.has(place) else UNSAID[field]

    def has(self, place: int) -> bool:
        """Whether the GPU just before a value has it: "The A6000 has 32 GB", "the A100's 40 GB"."""
        start = self.tokens[place].start
        said = CUES["it_has"].search(self.text[max(0, start - 48) : start])
        if said and said["subject"].strip(" (,").lower() in (
            "it",
            "which",
            "that",
            "this card",
            "the card",
            "the gpu",
        ):
            return True
        before = [t for t in self.tokens[:place] if t.kind in ("gpu", "value")]
        if said and before and before[-1].kind == "gpu":
            # "Every H100 with that socket has 80 GB": the words between say which one.
            words = self.text[before[-1].end : start]
            other = (
                CUES["turn"].search(words) or CUES["machine"].search(words) or CUES["together"].search(words)
            )
            if len(words) < 2 * NEAR and not other and not re.search(r"[.;:]", words):
                return True
        previous = self.tokens[place - 1] if place else None
        if previous is None or previous.kind != "gpu":
            return False
        gap = self.text[previous.end : self.tokens[place].start]
        owns = previous.text.endswith(("'s", "\u2019s")) or gap.strip()
        return bool(owns and len(gap) < NEAR and CUES["has"].fullmatch(gap))

    def is_launch_price(self, place: int) -> bool:
        """Whether words beside a price call it the one at launch."""
        token = self.tokens[place]
        near = self.text[max(0, token.start - 40) : token.start] + self.text[token.end : token.end + 30]
        return re.search(r"\b(?:MSRP|launch(?:ed)?)\b", near) is not None

    def is_of_part(self, place: int) -> bool:
        """Whether a value is that of each part, or of the machine."""
        token = self.tokens[place]
        before, after = self.text[max(0, token.start - 40) : token.start], self.text[token.end :][:60]
        if CUES["holds"].search(before):
            # "Two T4 each hold 32 GB" may count either.
            return False
        return bool(CUES["each"].search(before[-24:]) or CUES["each_after"].match(after))

    def is_others(self, place: int) -> bool:
        """Whether a size is what something needs, or a sum or a difference of no GPUs before it."""
        token = self.tokens[place]
        if token.dimension != "bytes" or self.is_summed(place):
            return False
        return CUES["others_before"].search(self.text[max(0, token.start - 30) : token.start]) is not None

    def is_summed(self, place: int) -> bool:
        """Whether the words around a value say that it is the sum over the GPUs before it."""
        token = self.tokens[place]
        if token.dimension == "bare" or not any(g.count > 1 for g in self.gpus):
            return False
        start = max((g.end for g in self.gpus if g.end <= token.start), default=0)
        before = self.text[max(start, token.start - 40) : token.start]
        after = self.text[token.end : token.end + 40]
        # Behind a product an equals sign gives something computed.
        equals = re.search(r"=\s?$", before) and not re.search(r"[*/\u00d7]", before)
        said = CUES["total"].search(f"{before} {after}") or CUES["of_video_memory"].match(after)
        return bool(equals or said or CUES["holds"].search(before))

    def is_total(self, place: int, best: _Option) -> bool:
        """Whether a value is the sum over its GPUs: said so, or a multiple of one's right behind."""
        if self.is_summed(place):
            return True
        head, first = self.listed.get(place), best.reading.values[0]
        if (
            head is None
            or " and " in self.text[head.end : self.tokens[place].start]
            or best.reading.field != "memory_bytes"
            or not isinstance(first, Number)
        ):
            return False
        if CUES["machine_beside"].search(self.text) or re.search(r"\b(?:ram|ssd|nvme)\b", self.text, re.I):
            return False
        known = [k.value for i in best.owner.gpu_ids for k in evidence.of(i, "memory_bytes")]
        whole = [first.value / k for k in known if isinstance(k, float)]
        return any(r > 1.5 and abs(r - round(r)) < 0.01 for r in whole)

    def times(self, best: _Option) -> int:
        """How many GPUs a sum is of: those of one machine, or of all that the sentence counts."""
        counts = (best.owner.count, best.owner.count * self.machines)
        stated = [v.value for v in best.reading.values if isinstance(v, Number)]
        known = [k.value for i in best.owner.gpu_ids for k in evidence.of(i, best.reading.field)]
        return next(
            (
                n
                for n in counts
                for k in known
                for v in stated
                if isinstance(k, float) and abs(v / n / k - 1) < 0.03
            ),
            counts[-1],
        )

    def owners(self, place: int) -> Iterator[tuple[float, Subject]]:
        """The GPUs that a value may be of, each with its cost."""
        token, about = self.tokens[place], self.about
        head = self.listed.get(place) if self.in_turn else None
        # Where each GPU has its own list, the values of a list are of no other one.
        named = [(self.distance(g, token), g) for g in self.gpus if head is None or g is head]
        named += [(0.0, head)] if head is not None else []
        held = next((g for g in reversed(self.gpus) if g.end <= token.start), None)
        gap = self.text[held.end : token.start] if held is not None else ""
        if gap.strip() and CUES["has"].fullmatch(gap):
            # "The T4 has 16 GB, the L4 24 GB": what has a value leaves it to none behind.
            named = [(cost + COMPARED * (g.start >= token.end and cost >= AGAIN), g) for cost, g in named]
        if any(cost < AGAIN and g.start >= token.end for cost, g in named):
            # "250 W for the A100": what binds a value behind it leaves nothing to the GPUs before.
            named = [(cost + COMPARED * (g.end <= token.start), g) for cost, g in named]
        # The architecture that a sentence names before a value, with no GPU between: "Hopper has 528 ...".
        start = max((g.end for g in self.gpus if g.end <= token.start), default=0)
        architectures = [
            t.name[:5].lower() for t in self.tokens
            if t.field == "architecture" and t.kind == "name" and start <= t.start < token.start
        ]  # fmt: skip

        def other(owner: Subject) -> float:
            known = {(catalog.get(i).architecture or "").lower() for i in owner.gpu_ids}
            return (
                2.5 if architectures and known and not any(k[:5] == architectures[-1] for k in known) else 0.0
            )

        for cost, gpu in named:
            if (one := subject([gpu])) is not None:
                yield cost + other(one), one
        if about is not None and head is None:
            # What a sentence names before the value comes first; then what the text spoke of, unless a
            # pronoun brings it back.
            first = [c for c, g in named if g.end <= token.start and not self.is_related(g)]
            again = CUES["again"].search(self.text, 0, token.start)
            behind = BETWEEN + (0 if again or min(first, default=FAR) > LEADS else CONFIRMED)
            yield (min(first) + behind if first else 1.0) + (0 if about.sure else 0.5) + other(about), about

    def before(self, gpu: Token) -> str:
        """The words before a GPU that say what it is to the others."""
        return self.text[max(0, gpu.start - 64) : gpu.start]

    def is_related(self, gpu: Token) -> bool:
        """Whether another GPU is compared with this one; "8 x H100" counts it."""
        return gpu.count == 1 and CUES["related"].search(self.before(gpu)) is not None

    def distance(self, gpu: Token, token: Token) -> float:
        """How far a GPU is from a value in the sentence's layout."""
        around = self.enclosed.get(gpu.start)
        if around and not around[0] < token.start < around[1]:
            return 2 * COMPARED
        beside = [g for g in self.gpus if g.start not in self.enclosed or around]
        if gpu.start >= token.end:
            between = self.text[token.end : gpu.start]
            turns = len(CUES["turn"].findall(between))
            others = sum(token.end <= g.start < gpu.start for g in beside)
            cost = len(between) * PER_CHARACTER + BETWEEN * others
            if re.search(r"\d ?(?:x|\u00d7|%|times)|\b(?:twice|double|half|more|faster|higher)\b", between):
                # "1.67 times the bandwidth of the H200" is of the other GPU.
                return cost + COMPARED
            if (
                len(between) < 60
                and not turns
                and not set(",)") & set(between)
                and CUES["binds"].search(between[-40:])
            ):
                return 0.2 + cost
            if between.strip() == "(":
                return 0.1
            # "At 72 W, the L4 ..."; of several values in front the sentence's first GPU has all.
            lead = self.text[: token.start]
            if (
                not others
                and re.fullmatch(r"[^,;:.]{0,48}, (?:the |an? |nvidia'?s? ){0,3}", between)
                and CUES["leads"].search(lead)
            ):
                return 0.1
            # "72 W L4" and "the 80 GB A100" stand right before their name.
            after = 3.0 if "," in between else 2.2
            return 0.4 if len(between) <= 2 else after + cost + BETWEEN * turns
        # "..., faster than the A100, ..." is an aside that ends with its comma.
        between = CUES["aside"].sub("", self.text[gpu.end : token.start])
        between = re.sub(r"\([^()]*\)", "", between)
        others = sum(gpu.end <= g.start and g.end <= token.start and g.text in between for g in beside)
        # The only GPU that a sentence names is its subject, however long it is.
        most = 1.0 if len(beside) == 1 and not self.text[: gpu.start].strip(" Ttheanwil,") else 4.0
        cost = min(len(between) * PER_CHARACTER, most) + BETWEEN * others
        cost += TURN * len(CUES["turn"].findall(between))
        owns = gpu.text.endswith(("'s", "\u2019s")) or between.startswith(("'", "\u2019"))
        if owns and len(between) < 60:
            # "It doubles the H100's bandwidth to 8 TB/s".
            return cost + COMPARED if between.endswith(" to ") else max(0.0, cost - 0.8)
        if re.match(r",? (?:whose|which|with its)\b", between):
            return cost
        # What a GPU is compared with, or derived from, seldom owns what follows.
        if self.is_related(gpu):
            return cost + COMPARED
        if CUES["compared"].search(self.before(gpu)) and not CUES["has"].fullmatch(between):
            return cost + (COMPARED if re.search(r"[,;)]", between) else COMPARED / 2)
        return cost

    def is_owned(self, place: int, best: _Option) -> bool:
        """Whether a value that the catalog does not confirm surely is of its owner."""
        token, owner, field = self.tokens[place], best.owner, best.reading.field
        own = [g for g in self.gpus if g.end <= token.start and set(g.gpu_ids) & set(owner.gpu_ids)]
        others = [
            g for g in self.gpus
            if not set(g.gpu_ids) & set(owner.gpu_ids) and not CUES["compared"].search(self.before(g))
        ]  # fmt: skip
        # What the text spoke of before is not sure to own a value of a sentence about another GPU.
        if (not own and owner is self.about and others) or best.owned > FAR or owner.several:
            return False
        # Behind a turn ("4.8 TB/s vs 3.35 TB/s") another GPU is meant that the sentence does not name.
        if own and CUES["turn"].search(CUES["aside"].sub("", self.text[own[-1].end : token.start])):
            return False
        # "A100 and H100 have 80 GB" is said of both.
        at = self.gpus.index(own[-1]) if own else 0
        gap = self.text[self.gpus[at - 1].end : self.gpus[at].start] if at else "-"
        if not gap.strip() or CUES["list"].fullmatch(gap):
            return False
        plain_ddr = any(str(value).startswith(("DDR", "LPDDR")) for value in best.reading.values)
        if field == "memory_type" and (plain_ddr or (len(self.gpus) > 1 and not self.in_turn)):
            return False
        alone = len(self.gpus) == 1 and best.owned <= 1 and own
        return field not in IN_PASSING or bool(alone) or (self.in_turn and place in self.listed)

    def is_doubtful(self, place: int, field: str) -> bool:
        """Whether the words around a value make it something else than what its product has."""
        token = self.tokens[place]
        # The names of GPUs are not words: "RTX PRO 6000 Server Edition".
        words = self.text[0 if self.in_turn else max(0, token.start - 70) : token.start]
        for gpu in self.gpus:
            words = words.replace(gpu.text, " ")
        others = re.sub("|".join(re.escape(g.text) for g in self.gpus) or "$^", " ", self.text)
        near = self.text[max(0, token.start - 40) : token.end + 40]
        around = {"op/s": "reached", "bytes/s": "reached", "bytes": "taken"}.get(token.measures)
        values = [t for t in self.tokens if t.kind == "value"]
        rest = len(self.text) - sum(t.end - t.start for t in self.tokens)
        telegram = rest < TELEGRAM * len(values) and len(values) > 4 and not self.in_turn
        typed = {"value", "name"}
        unnamed = not re.search(r"memory|vram|hbm|gddr", near, re.IGNORECASE) and place not in self.listed
        # "A node of it holds 320 GB": of the GPUs in it, which the sentence before counts.
        machine = field in ("memory_bytes", "power_w") and not self.gpus
        reasons = (
            machine and (CUES["machine"].search(self.text) or CUES["together"].search(self.text)),
            self.measured or self.text.endswith("?"),
            CUES["doubt"].search(words) or CUES["doubt_after"].match(self.text, token.end),
            around and CUES[around].search(words),
            CUES["computed"].search(self.text[max(0, token.start - 4) : token.start]),
            # From so much to so much is what was reached, or grew from one GPU to the next.
            token.is_range and (token.dimension in ("op/s", "bytes/s") or words.rstrip().endswith("from")),
            # Many values and few words are a table without its line ends; values that touch are its cells.
            telegram or (self.text.count("|") > 3 and not self.in_turn),
            any(a.end == b.start and {a.kind, b.kind} <= typed for a, b in pairwise(self.tokens)),
            # Beside words for links a bandwidth that is not called the memory's may be theirs.
            field == "memory_bytes_per_s" and unnamed
            and (CUES["link"].search(others) or CUES["network"].search(others)),
            # In a list, the rate that its GPU's link has.
            field == "memory_bytes_per_s" and place in self.listed and any(
                evidence.supports(i, "link_bytes_per_s", token.numbers[0]) for i in self.listed[place].gpu_ids
            ),
            token.dimension == "op/s" and mark_near(self.text, self.tokens, place) is None
            and re.search(
                r"sparsity|sparse",
                # What stands in parentheses with a value is said of that one.
                re.sub(r"\([^()]*\d[^()]*\)", "", self.text[token.end :]),
            ),
            # "350 W against 300 W" compares two GPUs in the order of a list that only a reader sees.
            any(
                CUES["against"].fullmatch(self.text, a.end, b.start)
                for a, b in pairwise(self.tokens) if a.dimension == b.dimension and token in (a, b)
            ),
        )  # fmt: skip
        return any(reasons)

    def subject_after(self) -> Subject | None:
        """What the next sentence speaks of: the GPU of this one, the first of several if it leads it."""
        if not self.gpus:
            return self.about
        if self.about is not None and all(self.is_related(g) for g in self.gpus):
            return self.about
        everyone, first = subject(self.gpus), self.gpus[0]
        if everyone is not None and not everyone.several:
            return everyone
        if first.start < 40 and not CUES["compared"].search(self.before(first)):
            listed = CUES["list"].fullmatch(self.text, first.end, self.gpus[1].start)
            one = None if listed else subject([first])
            return replace(one, sure=False) if one else everyone
        return everyone


def abilities(
    sentence: str, gpus: Sequence[Token], about: Subject | None, line: int, block: int
) -> Iterator[Claim]:
    """What a GPU can do: "The T4 supports FP8", "the RTX 4090 has no NVLink", "FP8 is not on it"."""
    for match in _ABILITY.finditer(sentence):
        field = ability_of(match[0])
        before = [g for g in gpus if g.end <= match.start()]
        after = next((g for g in gpus if g.start >= match.end()), None)
        owner, start = (subject(before[-1:]), before[-1].end) if before else (None, 0)
        if owner is None and about is not None and (pronoun := _PRONOUN.match(sentence)):
            owner, start = about, pronoun.end()
        natively = CUES["natively"].match(sentence, match.end()) is not None
        said = _answer(sentence[start : match.start()], natively) if owner else None
        if said is None and after is not None:
            # "FP8 is not supported on the A100", "You cannot use FP8 on an A100".
            lead = max(sentence.rfind(mark, 0, match.start()) + 1 for mark in ",;:")
            owner, start = subject([after]), max(lead, start)
            said = _answer(
                f"{sentence[start : match.start()]} {sentence[match.end() : after.start]}", natively
            )
        if owner is None or field is None or said is None:
            continue
        follows = CUES["not_an_ability"].match(sentence, match.end())
        stated = sentence[start : match.end()].strip(" ,'\u2019")
        token = Token(kind="name", start=match.start(), end=match.end(), text=stated)
        reading = Reading(field=field, values=(said,), token=token)
        # What runs in software, or of stored weights alone, is no ability of the chip.
        doubt = follows or CUES["in_software"].search(sentence) or sentence.endswith("?")
        sure = (owner.count == 1 or field == "link") and not doubt
        yield claim_of(reading, replace(owner, count=1), line, block, sure)


def _answer(words: str, natively: bool) -> str | None:
    """Whether words between a GPU and an ability say "yes" or "no"; None where one of them may say more."""
    kinds: list[str] = []
    for word in re.findall(r"[^\W_][\w'\u2019-]*|['\u2019]s|[,;:().!?]", _ABILITY.sub(" ", words).lower()):
        kind = next((k for k in _ABLE if CUES[k].fullmatch(word)), "" if word in (",", "(", ")") else None)
        if kind is None:
            return None
        kinds.append(kind)
    if re.search(r"\b(?:or|and|/) ?without\b", words):
        return None
    # What stands last before the ability says it; behind a turn the contrary of what was said before.
    told = [kind for kind in kinds if kind not in ("able_filler", "")]
    if not told or (told[-1] == "able_weak" and not natively and "able_not" not in told[-2:]):
        return None
    negated = told[-1] == "able_not" or (
        told[-1] in ("able_verb", "able_weak") and told[-2:-1] == ["able_not"]
    )
    if told[-1] == "able_turn":
        negated = "able_not" not in told
    return "no" if negated else "yes"


def _comparisons(sentence: str, gpus: Sequence[Token], line: int, block: int) -> Iterator[Claim]:
    """What one GPU has beside another: "2.4 times the memory of", "78 % more bandwidth", "100 W less than",
    "the same bus as", "more power than"; also behind "Compared with the one, the other ..."."""
    before: tuple[Token, Token] | None = None
    for place, (first, second) in enumerate(pairwise(gpus)):
        behind = gpus[place + 2].start if place + 2 < len(gpus) else len(sentence)
        lead = sentence[: first.start]
        turned = _BESIDE.fullmatch(lead) and re.fullmatch(
            r",\s(?:the |an? )?", sentence[first.end : second.start]
        )
        start, end = (second.end, behind) if turned else (first.end, second.start)
        match = (_COMPARED_TO if turned else _COMPARES).search(sentence, start, end)
        # Two comparisons in a row are of one GPU: "more power than the A10 and less than the A40".
        speaks = before[0] if before is not None and before[1] is first else first
        one, other = (subject([gpu]) for gpu in ((second, first) if turned else (speaks, second)))
        words = sentence[start : match.start()] if match else ""
        if match is None or one is None or other is None or re.search(r"[.;]", words) or len(words) > NEAR:
            continue
        said, times = match["more"] or match["more_"], match["times"]
        less = said is not None and said.lower() in ("less", "lower", "smaller", "fewer", "narrower")
        amount = next(iter(scan(match["amount"])), None) if match["amount"] else None
        units = {"w": "power_w", "bytes": "memory_bytes", "bytes/s": "memory_bytes_per_s"}
        of_unit = units.get(amount.dimension) if amount is not None else None
        # The field that it names, or that of its unit, or what is compared: "The memory of the one is".
        of_subject = label_of(lead[-NEAR:]).first if re.search(r"\bof (?:the |an? )?$", lead) else None
        named = label_of(match["field"]).first or (label_of(match[0]).first if amount is None else None)
        field = named if named is not None else of_unit or label_of(words).first or of_subject
        if not field or field not in COMPARED_FIELDS or (of_unit and of_unit != field):
            continue
        verb = CUES["has_ratio"].search(words) or (
            field == "power_w" and re.search(r"\b(?:needs?|requires?)\b", words)
        )
        if _OPEN.search(words.replace("need", "") if field == "power_w" else words + match[0]) or not verb:
            continue
        before = (second, first) if turned else (speaks, second)
        value, digits, more = 1.0, 1, False
        relation: Relation = "same" if match["same"] else "under" if less else "over"
        sign = -1 if less else 1
        if times:
            relation, written = "times", times.lower()
            value = TIMES.get(written) or float(written)
            # "twice" and "3 times" are round numbers; "2.4 times" is printed to its last digit.
            digits, more = (
                len(written.replace(".", "")) if "." in written else 1,
                said is not None and value > 1,
            )
            if said and value < 1:
                value, digits = 1 + sign * value, 2
            if less and more:
                continue
        elif amount is not None:
            relation = "times" if amount.dimension == "%" else "plus"
            stated = sign * amount.numbers[0].value
            value, digits = (
                (1 + stated / 100, 3) if relation == "times" else (stated, amount.numbers[0].digits)
            )
        bound = _BOUND.search(words)
        if times and bound is not None:
            relation = "over" if bound["over"] or str(bound["more"]).lower() == "more" else "under"
        about = CUES["about"].search(sentence[max(0, match.start() - 14) : match.start()])
        token = Token(
            kind="value", start=match.start(), end=match.end("field"), approximate=about is not None,
            text=sentence[match.start() : match.end("field")].strip(),
        )  # fmt: skip
        sure = sentence[-1:] != "?" and not CUES["doubt"].search(
            sentence[max(0, first.start - 70) : first.start]
        )
        reading = Reading(field=field, values=(Number(value=value, digits=digits),), token=token)
        claim = claim_of(reading, one, line, block, sure)
        yield replace(
            claim, than=other.gpu_ids, more=more, relation=relation, sure=claim.sure and claim.count == 1
        )
