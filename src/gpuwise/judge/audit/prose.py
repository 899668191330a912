"""Find out which GPU and field a value in running text belongs to.

Every GPU that a sentence names, and the one that the text speaks of, is a candidate for every value. The
costs are those of layout: distance, other GPUs and turns ("while", "compared to") between, and what binds
close ("the A100's 40 GB", "40 GB on the A100"). Where two candidates cost nearly the same, and where a
dearer one makes a true sentence that the cheapest would not, nobody is accused.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from gpuwise.facts import catalog
from gpuwise.judge.audit import evidence, kinds, phrases
from gpuwise.judge.audit.cells import NEAR, OF_MEMORY, Reading, mark_near, own_field, scaled
from gpuwise.judge.audit.tables import IN_CONTEXT, Subject, claim_of, subject
from gpuwise.judge.audit.words import COUNTS, CUES, FIELDS, Token, scan
from gpuwise.model.claim import Claim

# Characters; a longer sentence is a table or a listing that lost its line ends.
LONGEST = 4000
# Costs that lie closer leave open whose a value is.
NEARLY = 0.8
# A candidate that costs so much more than the cheapest may still be meant, if that makes the text true.
PLAUSIBLE = 2.2
# A cheapest candidate that costs more is too far away to be sure.
FAR = 6
# Characters of words for each value below which a line is a table without its line ends.
TELEGRAM = 9
# Costs of distance, of a GPU in between, of a turn, and of being what something else is compared with.
PER_CHARACTER, BETWEEN, TURN, COMPARED = 1 / 45, 1.5, 1.2, 3.2
# Fields that in passing are often of another product than the nearest.
IN_PASSING = frozenset({"architecture", "chip", "pcie_generation", "process_nm"})
# Fields of several GPUs that texts add up.
SUMMED = frozenset({"memory_bytes", "memory_bytes_per_s", "cuda_cores", "tensor_cores"})
# Units of the values of a list of specifications; with any other among them the list says something else.
LISTED = frozenset({"bytes", "bytes/s", "w", "op/s", "hz", "bit", "nm", "usd"})
# Typed words of a list of specifications; a longer one is something else.
LONGEST_LIST = 24
# Bytes/s of the fastest slot, PCIe 5.0 x16 in both directions.
SLOT = 128e9
# Dollars; less, without a word for it, is the price of an hour.
LEAST_PRICE = 50
# Units of which a value is worth a word that it was not judged.
WORTH_NOTING = frozenset({"bytes", "bytes/s", "op/s", "w", "hz"})

_SENTENCE = re.compile(
    r"(?<=[.!?])[\"')\]]{0,2}(?:\[\d+\]){0,4}\s+(?=[A-Z\[(\"'\u201c$]|\d+ ?x )|\n\n"
    r"|(?<=\))\.\s+(?=[A-Z])|\]\s(?=[A-Z][a-z]+ [a-z])"
)

# A size that a mention takes for a part of the name, where a list goes on behind it: "RTX A4500 (20 GB, ...".
_SIZE = re.compile(r"(?P<name>.*\w)(?:\s?[(:]\s?|\s[-\u2013\u2014]\s)(?P<size>\d+\s?[GT]i?B)")
_GOES_ON = re.compile(r"\s?[,;/|\u00b7]|\s[-\u2013\u2014]\s")


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph with the source line of every character, and what it speaks of before it begins."""

    text: str
    lines: tuple[tuple[int, int], ...]
    """(offset, line), ascending."""
    about: Subject | None
    block: int
    title: str = ""
    """The heading above it."""
    opening: str = ""
    """The sentence with a colon above a list."""

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


def claims(text: Text) -> Iterator[Claim | Left | Subject]:
    """Every claim of a paragraph; last, what it spoke of in the end."""
    about = text.about
    topic: str | None = None
    ends = [(match.start(), match.end()) for match in _SENTENCE.finditer(text.text)]
    for (_, start), (end, _) in pairwise([(0, 0), *ends, (len(text.text), 0)]):
        words = text.text[start:end]
        if len(words) > LONGEST:
            continue
        sentence = _Sentence(words, about, topic, f"{text.title} {text.opening}")
        denied = CUES["denied"].match(text.text, end) is not None
        for place, token in enumerate(sentence.tokens):
            # "Tensor performance is another area. It offers 222.2 TFLOPS": the format was named before.
            if token.field.startswith("peak:") and token.field != "peak:":
                sentence.topic = topic = token.field
            if token.kind not in ("value", "name") or token.field in ("sparse", "dense", "none"):
                continue
            line = text.line(start + token.start)
            reading = sentence.reading(place)
            claim = sentence.assigned(reading, line, text.block) if reading else None
            if claim is not None:
                total = claim.count > 1 and claim.field in SUMMED and sentence.is_total(place)
                speed = claim.field == "throughput"
                doubtful = denied or (not (speed or total) and sentence.is_doubtful(place, claim.field))
                said = (text.part(start + token.start, start, end), text.title)
                context = said if claim.field in IN_CONTEXT else ()
                yield replace(claim, sure=claim.sure and not doubtful, context=context, total=total)
            elif reading or (token.dimension in WORTH_NOTING and (sentence.gpus or about)):
                yield Left(line, token.text)
        line = text.line(start)
        yield from phrases.claims(words, sentence.gpus, about, line, text.block)
        about = sentence.subject_after()
    if about is not None:
        yield about


def _without_size(text: str) -> Iterator[Token]:
    """The typed words of a sentence; a size at the head of a list is a value, not a part of a name."""
    for token in scan(text):
        size = _SIZE.fullmatch(token.text) if token.kind == "gpu" else None
        if size is None or not _GOES_ON.match(text, token.end):
            yield token
            continue
        at = token.start + size.start("size")
        yield replace(token, end=token.start + size.end("name"), text=size["name"])
        yield from (replace(t, start=at + t.start, end=at + t.end) for t in scan(size["size"]))


def _lists(text: str, tokens: Sequence[Token]) -> Iterator[tuple[Token, list[Token]]]:
    """Each GPU that a list of values follows directly: "RTX 4500 Ada: 24 GB, 432 GB/s, 210 W"."""
    for place, gpu in enumerate(tokens):
        single, end = gpu.kind == "gpu" and gpu.count == 1, gpu.end
        found: list[Token] = []
        for token in tokens[place + 1 :] if single else ():
            listed = len(found) <= LONGEST_LIST and CUES["listing"].fullmatch(text, end, token.start)
            if token.kind == "gpu" or not listed:
                break
            found.append(token)
            end = token.end
        last = place + 1 + len(found)
        values = [n for n in range(place + 1, last) if tokens[n].kind == "value"]
        specified = len(found) <= LONGEST_LIST and all(
            (tokens[n].dimension in LISTED and not tokens[n].hourly)
            or own_field(text, tokens, n) not in (None, "none", "throughput")
            for n in values
        )
        if len(values) > 1 and specified:
            yield gpu, found


class _Sentence:
    """The typed words of a sentence, and the GPU and the format that the text spoke of before it."""

    def __init__(self, text: str, about: Subject | None, topic: str | None, title: str) -> None:
        self.text, self.about, self.topic = text, about, topic
        self.tokens = scan(text)
        # Where the title speaks of what was measured there are no lists of specifications.
        reached = any(CUES[cue].search(title) for cue in ("ratio", "reached", "taken"))
        parted = () if reached else tuple(_without_size(text))
        self.lists = list(_lists(text, parted))
        # A size stays a part of its GPU's name unless it heads a list.
        sized = {t.start for t in parted if t.kind == "gpu" and t not in self.tokens}
        if sized <= {gpu.start for gpu, _ in self.lists}:
            self.tokens = parted or self.tokens
        else:
            self.lists = list(_lists(text, self.tokens))
        self.gpus = [t for t in self.tokens if t.kind == "gpu"]
        # By the start of each value of a list its place in `lists`.
        self.listed = {t.start: n for n, (_, tokens) in enumerate(self.lists) for t in tokens}
        # Where each GPU is followed by its own list, each value is the GPU's before it.
        opened = (re.match(r"\s?\(|:| [-\u2013\u2014] ", self.text[g.end :]) for g, _ in self.lists)
        self.in_turn = 0 < len(self.lists) == len(self.gpus) and all(opened) and all(
            t.start in self.listed for t in self.tokens if t.kind == "value"
        )  # fmt: skip

    def is_alone(self, place: int) -> bool:
        """Whether a list holds no second value of this unit that no word names."""
        token = self.tokens[place]
        if token.start not in self.listed:
            return False
        mine = self.lists[self.listed[token.start]][1]
        least = FIELDS["memory_bytes"].low if token.dimension == "bytes" else 0.0
        alike = [n for n, t in enumerate(self.tokens) if t in mine and t.measures == token.measures]
        bare = [n for n in alike if self.tokens[n].kind == "value" and self.own(n) is None]
        return [n for n in bare if self.tokens[n].numbers[0].value >= least] == [place]

    def own(self, place: int) -> str | None:
        """The field that words beside a value name, unless the next value takes them."""
        token, following = self.tokens[place], self.tokens[place + 1 : place + 3]
        if token.start in self.listed and [t.kind for t in following] == ["field", "value"]:
            word, value = following
            parted = "," in self.text[token.end : word.start]
            if (
                parted
                and value.measures == token.measures
                and not self.text[word.end : value.start].strip(" :")
            ):
                return None
        return own_field(self.text, self.tokens, place)

    def before(self, gpu: Token) -> str:
        """The words before a GPU that say what it is to the others."""
        return self.text[max(0, gpu.start - 64) : gpu.start]

    def reading(self, place: int) -> Reading | None:
        """What a value or name claims, GPU aside; None where no words say it."""
        token = self.tokens[place]
        if token.kind == "name":
            if token.field == "launch" and not CUES["launched"].search(self.text[: token.start]):
                return None
            return Reading(field=token.field, values=token.numbers or (token.name,), token=token)
        field = self.field(place)
        numbers = scaled(token, field, None) if field else ()
        if not field or not numbers:
            return None
        if field == "launch":
            return Reading(field=field, values=(f"{numbers[0].value:.0f}",), token=token)
        sparse = mark_near(self.text, self.tokens, place) if field.startswith("peak:") else None
        return Reading(field=field, values=numbers, token=token, sparse=sparse)

    def field(self, place: int) -> str | None:
        """The field that the words around a value give it."""
        token = self.tokens[place]
        before, after = self.text[: token.start], self.text[token.end : token.end + 60]
        dimension = token.measures
        if dimension == "usd":
            if token.hourly or re.match(r"\s?(?:/|per |an )\s?(?:gpu[- ])?h", after):
                return "rent per hour"
            listed = self.is_alone(place) and token.numbers[0].value >= LEAST_PRICE
            return "launch_price_usd" if listed or self.is_launch_price(place) else None
        if dimension == "item/s":
            return "throughput"
        own = self.own(place)
        foreign = dimension in ("bytes", "w", "bytes/s") and CUES["not_ours"].match(after)
        if own == "none" or (foreign and own != "l2_bytes"):
            return None
        if own is not None and not (own.startswith("peak:") and dimension == "count"):
            # A size that something needs, a count of each part, the power of a machine.
            if own in COUNTS and (CUES["each"].search(before[-24:]) or CUES["each_after"].match(after)):
                return None
            if own == "memory_bytes" and self.is_others(place):
                return None
            return None if own == "power_w" and CUES["system"].search(before[-40:] + after[:30]) else own
        if token.dimension == "bare":
            year = token.numbers[0].value
            said = re.search(r"\b(?:in|since)\s+(?:early |late |mid-?)?$", before[-14:])
            is_year = 2005 <= year <= 2035 and len(token.text) == 4
            return "launch" if said and is_year and CUES["launched"].search(before[-60:]) else None
        near = self.nearest(place)
        if dimension == "bytes":
            return self.memory(place, near)
        if dimension == "bytes/s":
            return self.rate(place, near, before[-30:], after[:24])
        if dimension == "op/s":
            named = near is not None and near.startswith("peak:") and near != "peak:"
            found = near if named else self.topic
            # "3,352 AI TOPS" may count any format.
            return None if found == "peak:tensor" and "fl" not in token.text.lower() else found
        if dimension == "w":
            supply = re.match(r"\s*(?:psu|power suppl)", after, re.IGNORECASE)
            return None if supply or CUES["system"].search(before[-40:] + after[:30]) else "power_w"
        if dimension == "hz":
            return near if near in ("boost_hz", "base_hz") else None
        if dimension == "bit":
            bus = re.match(r"\s*(?:wide )?(?:memory )?(?:bus|interface)", after, re.IGNORECASE)
            return "memory_bus_bits" if bus or near == "memory_bus_bits" else None
        return "process_nm" if dimension == "nm" else None

    def is_launch_price(self, place: int) -> bool:
        """Whether words beside a price call it the one at launch."""
        token = self.tokens[place]
        near = self.text[max(0, token.start - 40) : token.start] + self.text[token.end : token.end + 30]
        return re.search(r"\b(?:MSRP|launch(?:ed)?)\b", near) is not None

    def is_others(self, place: int) -> bool:
        """Whether a size is what something needs, or a sum or a difference of no GPUs before it."""
        summed = any(g.count > 1 for g in self.gpus) and self.is_total(place)
        start = self.tokens[place].start
        return not summed and CUES["others_before"].search(self.text[max(0, start - 30) : start]) is not None

    def nearest(self, place: int) -> str | None:
        """The field word nearest to a value, of those that take such a value, no other such value between."""
        token = self.tokens[place]
        best: tuple[float, str] | None = None
        for step in (1, -1):
            at = place + step
            while 0 <= at < len(self.tokens):
                other = self.tokens[at]
                at += step
                between = self.text[min(token.end, other.end) : max(token.start, other.start)]
                if len(between) > 90 or (
                    step > 0 and other.kind == "value" and other.dimension == token.dimension
                ):
                    break
                known = FIELDS.get(other.field) if other.field else None
                if known is None:
                    continue
                same = known.dimension == token.measures
                # Beside the words for memory a size or a rate is the memory's.
                memory = other.field in ("memory_type", *OF_MEMORY.values()) and token.measures != "op/s"
                if same or (memory and other.field != "memory_bytes_per_s"):
                    apart = len(re.findall(r"[;]|, |\. |\band\b", between))
                    cost = len(between) + 40 * apart + (0 if step > 0 else 8) + (0 if same else 30)
                    if best is None or cost < best[0]:
                        best = (cost, other.field)
                    if other.field != "peak:":
                        break
        return best[1] if best is not None else None

    def owner_before(self, place: int) -> str | None:
        """The words between a value and the GPU just before it that has it; None where there is none."""
        previous = self.tokens[place - 1] if place else None
        if previous is None or previous.kind != "gpu":
            return None
        gap = self.text[previous.end : self.tokens[place].start]
        owns = previous.text.endswith(("'s", "\u2019s")) or gap.strip()
        return gap if owns and len(gap) < NEAR and CUES["has"].fullmatch(gap) else None

    def rate(self, place: int, near: str | None, before: str, after: str) -> str | None:
        """The link or the memory of which a rate in bytes is."""
        if CUES["network"].search(before) or CUES["network"].search(after):
            return None
        # In a list a word for the link belongs to a rate of its own: "80 GB, 3.35 TB/s, NVLink 900 GB/s".
        own = (self.own(n) for n, t in enumerate(self.tokens) if t.kind == "value")
        if self.is_alone(place) and (near is None or "link_bytes_per_s" in own):
            return "memory_bytes_per_s"
        if near is not None:
            return "link_bytes_per_s" if near == "link_bytes_per_s" else "memory_bytes_per_s"
        # "1.0 TB/s compared to the other one's 0.9 TB/s": what is compared is of one field.
        token, others = self.tokens[place], self.tokens[max(0, place - 2) : place]
        compared = [t.kind for t in others] == ["value", "gpu"] and token.start - others[1].end < NEAR
        if compared and others[0].dimension == token.dimension:
            return self.field(place - 2)
        gap = self.owner_before(place)
        return "memory_bytes_per_s" if gap and gap.strip() else None

    def memory(self, place: int, near: str | None) -> str | None:
        """memory_bytes of a size beside words for memory, or that a GPU "has"; l2_bytes of a cache."""
        token = self.tokens[place]
        if near == "l2_bytes" or self.is_others(place):
            return "l2_bytes" if near == "l2_bytes" else None
        after = self.tokens[place + 1] if place + 1 < len(self.tokens) else None
        if (
            after is not None
            and after.field in ("memory_type", "memory_bytes")
            and after.start - token.end < 24
        ):
            return "memory_bytes"
        previous = self.tokens[place - 1] if place else None
        if previous is not None and previous.field in ("memory_bytes", "memory_type"):
            gap = self.text[previous.end : token.start]
            if len(gap) < 30 and not re.search(r"[.;]|\bneeds?\b|\bfor\b", gap):
                return "memory_bytes"
        if after is not None and after.kind == "gpu":
            # "A 24GB RTX 4090"; "With its 32 GB, the RTX 4090 ...".
            gap = self.text[token.end : after.start]
            with_it = re.search(r"\bwith (?:its |only |just |a )*$", self.text[: token.start], re.IGNORECASE)
            if not gap.strip() or (with_it and re.fullmatch(r", ?(?:the |an? )?(?:\w+ )?", gap)):
                return "memory_bytes"
        summed = any(g.count > 1 for g in self.gpus) and self.is_total(place)
        owned = self.owner_before(place) is not None or self.is_alone(place)
        return "memory_bytes" if summed or owned else None

    def is_doubtful(self, place: int, field: str) -> bool:
        """Whether the words around a value make it something else than what its product has."""
        token = self.tokens[place]
        # The names of GPUs are not words: "RTX PRO 6000 Server Edition".
        # "We measured" is said of all lists that follow.
        words = self.text[0 if self.in_turn else max(0, token.start - 70) : token.start]
        for gpu in self.gpus:
            words = words.replace(gpu.text, " ")
        if CUES["doubt"].search(words) or CUES["doubt_after"].match(self.text, token.end):
            return True
        values = [t for t in self.tokens if t.kind == "value"]
        typed = sum(t.end - t.start for t in self.tokens)
        # A price that no word calls the one at launch may be today's.
        if field == "launch_price_usd" and not self.is_launch_price(place):
            return True
        # Many values and few words are a table without its line ends; values that touch are its cells.
        telegram = len(self.text) - typed < TELEGRAM * len(values) or self.text.count("|") > 3
        typed_only = {"value", "name"}
        touching = any(a.end == b.start and {a.kind, b.kind} <= typed_only for a, b in pairwise(self.tokens))
        around = {"op/s": "reached", "bytes/s": "reached", "bytes": "taken"}.get(token.measures)
        if around is not None and CUES[around].search(words):
            return True
        if CUES["computed"].search(self.text[max(0, token.start - 4) : token.start]):
            return True
        if self.text.endswith("?") or (len(values) > 4 and telegram and not self.in_turn) or touching:
            return True
        # A rate that no word names is taken for that of the memory; it may be that of a link.
        rates = ("link_bytes_per_s", "memory_type", *OF_MEMORY.values())
        # In a list it is the memory's, unless a slot, a disk or the GPU's own link may have it.
        listed = (
            token.measures == "bytes/s" and self.is_alone(place) and token.numbers[0].value > SLOT
            and not any(
                evidence.supports(i, "link_bytes_per_s", token.numbers[0])
                for i in self.lists[self.listed[token.start]][0].gpu_ids
            )
        )  # fmt: skip
        if token.measures == "bytes/s" and not listed and not any(t.field in rates for t in self.tokens):
            return True
        # Beside words for networks a bandwidth that is not called the memory's may be theirs.
        near = self.text[max(0, token.start - 40) : token.end + 40]
        unnamed = field == "memory_bytes_per_s" and not re.search(r"memory|vram|hbm|gddr", near, re.I)
        linked = CUES["link"].search(self.text) is not None and not listed
        if unnamed and (linked or CUES["network"].search(self.text)):
            return True
        # "350 W against 300 W" compares two GPUs in the order of a list that only a reader sees.
        for other in (self.tokens[n] for n in (place - 1, place + 1) if 0 <= n < len(self.tokens)):
            first, second = sorted((token, other), key=lambda t: t.start)
            if other.dimension == token.dimension and CUES["against"].fullmatch(
                self.text, first.end, second.start
            ):
                return True
        unmarked = token.dimension == "op/s" and mark_near(self.text, self.tokens, place) is None
        return unmarked and re.search(r"sparsity|sparse", self.text[token.end :]) is not None

    def is_total(self, place: int) -> bool:
        """Whether the words around a value say that it is the sum over the GPUs before it."""
        token = self.tokens[place]
        start = max((g.end for g in self.gpus if g.end <= token.start), default=0)
        before = self.text[max(start, token.start - 40) : token.start]
        # Behind a product an equals sign gives something computed.
        equals = re.search(r"=\s*$", before) and not re.search(r"[*/\u00d7]", before)
        return bool(equals or CUES["total"].search(f"{before} {self.text[token.end : token.end + 40]}"))

    def assigned(self, reading: Reading, line: int, block: int) -> Claim | None:
        """The claim with the GPU that layout and catalog make likeliest; None where there is none."""
        token, about = reading.token, self.about
        # Where each GPU has its own list, the values of a list are of no other one.
        at = self.listed.get(token.start) if self.in_turn and token.kind == "value" else None
        if at is not None and (owner := subject([self.lists[at][0]])) is not None:
            return claim_of(reading, owner, line, block, True)
        options = [(self.cost(gpu, token), one) for gpu in self.gpus if (one := subject([gpu])) is not None]
        # What a sentence names before the value comes first; then what the text spoke of.
        named = [
            self.cost(g, token) for g in self.gpus
            if about is not None and g.end <= token.start and not CUES["related"].search(self.before(g))
        ]  # fmt: skip
        if about is not None:
            carried = min(named) + BETWEEN if named else 1.0
            options.append((carried if about.sure else carried + 0.5, about))
        if not options:
            return None
        # The architecture that a sentence names before a value, with no GPU between: "Hopper has 528 ...".
        start = max((g.end for g in self.gpus if g.end <= token.start), default=0)
        architectures = [
            kinds.word("architecture", t.name) for t in self.tokens
            if t.field == "architecture" and t.kind == "name" and start <= t.start < token.start
        ]  # fmt: skip

        def is_other(owner: Subject) -> bool:
            known = {kinds.word("architecture", catalog.get(i).architecture or "") for i in owner.gpu_ids}
            return bool(architectures and known) and architectures[-1] not in known

        options = sorted(((c + 2.5 * is_other(s), s) for c, s in options), key=lambda one: one[0])
        cost, owner = options[0]
        rivals = [c for c, s in options[1:] if set(s.gpu_ids) != set(owner.gpu_ids)]
        sure = not rivals or rivals[0] - cost >= NEARLY
        # What the text spoke of before is not meant where the sentence names its own GPU first.
        meant = [
            s for c, s in options if c - cost < PLAUSIBLE and (s is not about or owner is about or not named)
        ]
        true = [
            s for s in meant
            if any(evidence.supports(i, reading.field, value) for i in s.gpu_ids for value in reading.values)
        ]  # fmt: skip
        owner = true[0] if true else owner
        # "A100 and H100 have 80 GB" is said of both.
        at = next((n for n, g in enumerate(self.gpus) if subject([g]) == owner), 0)
        if at and not true and CUES["list"].fullmatch(self.text, self.gpus[at - 1].end, self.gpus[at].start):
            sure = False
        # Behind a turn ("4.8 TB/s vs 3.35 TB/s") another GPU is meant that the sentence does not name.
        own = next((g for g in reversed(self.gpus) if g.end <= token.start and subject([g]) == owner), None)
        if own is not None and not true and CUES["turn"].search(self.text, own.end, token.start):
            sure = False
        # What the text spoke of before is not sure to own a value of a sentence about another GPU.
        others = [
            g for g in self.gpus
            if not set(g.gpu_ids) & set(owner.gpu_ids) and not CUES["compared"].search(self.before(g))
        ]  # fmt: skip
        if (owner is about and others) or cost > FAR or is_other(owner) or (owner.several and not true):
            sure = False
        plain_ddr = any(str(value).startswith(("DDR", "LPDDR")) for value in reading.values)
        if reading.field == "memory_type" and (len(self.gpus) > 1 or plain_ddr):
            sure = False
        if reading.field in IN_PASSING and (len(self.gpus) != 1 or cost > 1 or owner is about):
            sure = False
        return claim_of(reading, owner, line, block, sure)

    def cost(self, gpu: Token, token: Token) -> float:
        """How far a GPU is from a value in the sentence's layout."""
        if gpu.start >= token.end:
            between = self.text[token.end : gpu.start]
            turns = len(CUES["turn"].findall(between))
            others = sum(token.end <= g.start < gpu.start for g in self.gpus)
            cost = len(between) * PER_CHARACTER + BETWEEN * others
            if len(between) < 60 and not turns and "," not in between and CUES["binds"].search(between[-40:]):
                return 0.2 + cost
            if between.strip() == "(":
                return 0.1
            # "72 W L4" and "the 80 GB A100" stand right before their name.
            return 0.4 if len(between) <= 2 else 2.2 + cost + BETWEEN * turns
        # "..., faster than the A100, ..." is an aside that ends with its comma.
        between = CUES["aside"].sub("", self.text[gpu.end : token.start])
        others = sum(gpu.end <= g.start and g.end <= token.start and g.text in between for g in self.gpus)
        cost = min(len(between) * PER_CHARACTER, 4.0) + BETWEEN * others
        cost += TURN * len(CUES["turn"].findall(between))
        owns = gpu.text.endswith(("'s", "\u2019s")) or between.startswith(("'", "\u2019"))
        if owns and len(between) < 60:
            return max(0.0, cost - 0.8)
        if re.match(r",? (?:whose|which|with its)\b", between):
            return cost
        # What a GPU is compared with, or derived from, seldom owns what follows.
        if CUES["related"].search(self.before(gpu)):
            return cost + COMPARED
        if CUES["compared"].search(self.before(gpu)) and not CUES["has"].fullmatch(between):
            return cost + (COMPARED if re.search(r"[,;)]", between) else COMPARED / 2)
        return cost

    def subject_after(self) -> Subject | None:
        """What the next sentence speaks of: the GPU of this one, the first of several if it leads it."""
        if not self.gpus:
            return self.about
        if self.about is not None and all(CUES["related"].search(self.before(g)) for g in self.gpus):
            return self.about
        everyone, first = subject(self.gpus), self.gpus[0]
        if everyone is not None and not everyone.several:
            return everyone
        if first.start < 40 and not CUES["compared"].search(self.before(first)):
            listed = CUES["list"].fullmatch(self.text, first.end, self.gpus[1].start)
            one = None if listed else subject([first])
            return replace(one, sure=False) if one else everyone
        return everyone
