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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

from gpuwise.checks import network_in
from gpuwise.facts import catalog
from gpuwise.judge.audit import agree, cells, evidence, grid, words
from gpuwise.judge.audit.abilities import NAMED, abilities
from gpuwise.judge.audit.cells import NEAR, STARRED, SUMMED, TWICE, WHOLE, Reading, ability_of, mark_near
from gpuwise.judge.audit.comparisons import comparisons
from gpuwise.judge.audit.english import is_understood
from gpuwise.judge.audit.grid import IN_CONTEXT, Scope, Subject, claim_of, is_known, ratios, subject
from gpuwise.judge.audit.sentence import IN_PASSING, SMALLEST, STRETCH, Sentence, is_possessive, title_says
from gpuwise.judge.audit.typed import BRANDS, MOST, TELEGRAM
from gpuwise.judge.audit.words import COUNTS, CUES, FIELDS, LEAD, NAMES, OF_BUS, Token, cue_before, scan
from gpuwise.model.judgement import Claim

# Characters; a longer sentence is a table or a listing that lost its line ends.
LONGEST = 4000
# Costs that lie closer leave open whose a value is.
NEARLY = 0.8
# What it is worth that the catalog has just this value of this field. An owner that costs so much more than
# another one cannot win with it, whatever the costs of the fields.
CONFIRMED = 2.2
OUT_OF_REACH = CONFIRMED + NEARLY + 6.0
# A value that is not confirmed needs words for its field that cost less, and an owner that is not too far.
SAID, FAR = 1.0, 6.0
# Dollars above which a price below a title of hourly rates is none: no machine of eight GPUs costs so much.
DEAREST_HOUR = 150.0
# Words that cost more are not read at all.
UNREAD = 1.25
# Costs of distance, of a GPU in between, of a turn, of being what something else is compared with, and of a
# comma or an "and" between a value and the word for its field.
PER_CHARACTER, BETWEEN, TURN, COMPARED, APART = 1 / 45, 1.5, 1.2, 3.2, 0.9
# The same where an architecture before the value is another one's.
OTHER = 2.5
# What a field costs without a word for it.
UNSAID: Mapping[str, float] = NAMES["unsaid"]
# The same in a list behind a GPU, or where the GPU "has" it.
LISTED = 0.3
# Fields that the unit tells where nothing else is said: of an owner that costs no more than this, and a value
# within this factor of a known one.
LEADS = 1.6
BY_UNIT, NEAR_BY, LIKE = frozenset({"memory_bytes_per_s", "power_w", "memory_bus_bits"}), 2.5, 2.5
# The same where the value before it in the sentence was of that field, and another GPU stands between.
AGAIN = 0.6
# Fields whose words stand for the memory, too.
OF_SIZE = frozenset({"memory_bytes", "memory_type"})
# Years that a month behind a GPU is off its launch at most.
DATED = 2
# GPUs before and behind a value that may own it.
NEIGHBOURS = 8
# Units of which a value is worth a word that it was not judged.
WORTH_NOTING = frozenset({"bytes", "bytes/s", "op/s", "w", "hz", "pin"})
_INSIDE = re.compile(r"\b(?:in|into|on) (?:\w{1,6} )?$")
_WITH = re.compile(r"\bwith (?:its |only |just |a ){0,2}$", re.I)
_TENSOR = re.compile(r"tensor[ -]cores?\b[^.;,]*$", re.I)
_LEADS = re.compile(r"(?: \w{4,20}){0,2}, (?:the |an? |nvidia'?s? |amd'?s? ){0,2}", re.IGNORECASE)
_OF_IT = re.compile(r" (?:(?:architecture|chip|die) )?(?:of|in|on|inside) (?:(?:older |newer )?the |an? )?")
_BUS = re.compile(r"\bbus", re.I)
_OF_MEMORY = re.compile("memory|vram|hbm|gddr", re.IGNORECASE)
_LABEL = re.compile(r"\W*(?:[^.,;\d][^.,;]{2,31}:\s|[^\d.,;]{3,32}[: ])?")
_OR = re.compile(r" (?:or|vs\.?|versus) ")


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph with the source line of every character, and what it speaks of before it begins."""

    text: str
    lines: tuple[tuple[int, int], ...]
    """(offset, line), ascending."""
    scope: Scope
    block: int

    def line(self, offset: int) -> int:
        return self.lines[bisect_right(self.lines, offset, key=itemgetter(0)) - 1][1]

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


@lru_cache(maxsize=16)
def _sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Where each sentence begins and ends, but for those that are too long."""
    ends = [match.span() for match in CUES["sentence_ends"].finditer(text)]
    parts = pairwise([(0, 0), *ends, (len(text), 0)])
    return tuple((start, end) for (_, start), (end, _) in parts if end - start <= LONGEST)


def gpus_of(text: str) -> list[Token]:
    """The GPUs of a paragraph that are not only compared with others."""
    sentences = (text[start:end] for start, end in _sentences(text))
    found = ((s, t) for s in sentences for t in scan(s) if t.kind == "gpu")
    return [gpu for sentence, gpu in found if not cue_before("related", sentence, gpu.start)]


def claims(text: Text) -> Iterator[Claim | Left | Subject]:
    """Every claim of a paragraph; last, what it spoke of in the end."""
    about = text.scope.about
    topic: str | None = None
    asked, counting, speed = text.scope.asked, "", ""
    asked = asked or "launch" * (CUES["when_launched"].search(text.scope.title) is not None)
    cached = asked == "l2_bytes"
    formats, named_last = list[str](), list[Token]()
    able: str | None = None
    # What cannot be understood may be a rumour as well.
    leaked = title_says("leaked", text.scope.title) or not is_understood(text.text)
    # The GPUs named so far: where these are one of each maker, "AMD" and "the GeForce" stand for them.
    rivals = {one.gpu_ids: one for one in (*text.scope.pair, about) if one and one.sure and not one.several}
    for start, end in _sentences(text.text):
        words = text.text[start:end]
        if about is None and not scan(words) and not NAMED.search(words):
            asked = ""
            continue
        if about is not None and about.sure:
            # "The Radeon has 16 GB" behind a GeForce, "The TX2 rose to 256 cores", "In notebooks it has
            # 16 GB", "The next chip is the Navi 22. It has 40 units": not the card of before.
            typed, ids = scan(words), about.gpu_ids
            brand, called = CUES["brand"].search(words), CUES["other_name"].match(words)
            chips = {t.field or t.kind for t in typed if t.kind in ("gpu", "name")} == {"chip"}
            laptops = "desktop" not in words.lower() and CUES["names_laptops"].search(words)
            not_it = (
                (brand and BRANDS[brand[0].lower()] not in {str(catalog.get(i).vendor).lower() for i in ids})
                or (called and all(t.start >= called.end() for t in typed))
                or (laptops and not any("laptop" in i for i in ids))
                or (chips and CUES["another_chip"].search(words))
            )
            about = replace(about, sure=not not_it)
        about = _chip_led(words, about) or about
        # "With Blackwell, NVIDIA stays below 600 W": of no single card that was spoken of.
        family = all(t.kind != "gpu" for t in scan(words)) and CUES["of_family"].search(words)
        sentence = _Choice(words, None if family else about, topic, text.scope, tuple(rivals.values()))
        sentence.asked, sentence.counting, sentence.speed = asked, counting, speed
        sentence.formats_said = formats = sentence.formats_named or formats
        sentence.named_last = named_last = sentence.gpus or named_last
        rivals |= {ids: one for one in sentence.subjects.values() if (ids := one.gpu_ids)}
        near = text.text[max(0, start - 2 * STRETCH) : end]
        sentence.of_model = CUES["language_model"].search(near) is not None
        around = text.text[max(0, start - 2 * STRETCH) : end + STRETCH]
        sentence.of_measured = CUES["measured_around"].search(around) is not None
        fields = [t.field for t in sentence.tokens if t.kind == "field" and t.field]
        caches = {t.field for t in sentence.tokens if "cache" in t.text.lower()}
        sentence.cached = cached = caches <= {"l2_bytes"} and (bool(caches) or cached)
        # "Which bus does it have? 192-bit." A sentence without figures or GPUs may stand between.
        asks = words.rstrip(' *"').endswith("?")
        if asks or sentence.values or sentence.gpus:
            asked = fields[0] if asks and fields else ""
        # "The unreleased RTX 3070 16 GB": of no product that there is.
        leaked |= CUES["leaked"].search(words) is not None
        denied = (CUES["denied"].match(text.text, end) or CUES["guessed"].search(words)) is not None
        heads = {head.start for head in sentence.listed.values()}
        for gpu in (g for g in sentence.gpus if g.start in heads or _states_size(g.text)):
            yield from sized(gpu, text.line(start + gpu.start), text.block)
        stated: list[Claim] = []
        for place, token in enumerate(sentence.tokens):
            # "Tensor performance is another area. It offers 222.2 TFLOPS": the format was named before.
            if token.field.startswith("peak:") and token.field != "peak:":
                sentence.topic = topic = token.field
            if token.kind not in ("value", "name") or token.field in ("sparse", "dense", "none"):
                continue
            line = text.line(start + token.start)
            claim = sentence.claim(place, line, text.block)
            if claim is not None:
                if claim.field in IN_CONTEXT:
                    part = text.part(start + token.start, start, end)
                    # A model that this sentence does not name may be that of the one before.
                    model = CUES["language_model"].search(part) or network_in(part)
                    before = "" if model else text.text[max(0, start - 2 * STRETCH) : start]
                    if token.dimension == "item/s":
                        sentence.speed = speed = token.text
                    part = f"{part} {speed}" if token.dimension == "bare" else part
                    titles = f"{text.scope.title} | {text.scope.section}"
                    context = (part, before, text.scope.opening, titles)
                    claim = replace(claim, context=context)
                claim = replace(claim, sentence=start, sure=claim.sure and not (denied or leaked))
                stated += sentence.each(place, claim)
            elif token.dimension in WORTH_NOTING and (
                sentence.gpus or about or CUES["product_leads"].match(words)
            ):  # fmt: skip
                yield Left(line, token.text)
        yield from grid.of_size(stated)
        counting = next((c.field for c in reversed(stated) if c.field in WHOLE), counting)
        line = text.line(start)
        named: Sequence[Token] = sentence.gpus
        known = about if about is not None and about.sure else None
        spoken = [Token(kind="gpu", start=0, end=0, text=known.text, gpu_ids=known.gpu_ids)] if known else []
        if about is not None and (pronoun := CUES["pronoun"].match(words) or CUES["that_is"].match(words)):
            at, end_at = pronoun.span("it")
            it = Token(kind="gpu", start=at, end=end_at, text=about.text, gpu_ids=about.gpu_ids)
            named = sorted([it, *named], key=lambda g: g.start) if not about.several else named
        elif spoken and not named and len(words) < 2 * NEAR:
            # "No tensor cores." below the name of a GPU, or of several, none of which may have it then.
            named = spoken
        # Of "FP8 in its tensor cores" FP8 alone.
        said_abilities = [
            (field, match) for match in NAMED.finditer(words) if (field := ability_of(match[0]))
            # "(Full GPU, no MIG)" is how a machine was set up.
            if field != "mig" or "(" not in words[: match.start()].rpartition(")")[2]
            if field != "matrix_units" or not CUES["in_units"].search(words, 0, match.start())
        ]  # fmt: skip
        named = sentence.with_it(named) if said_abilities else named
        for claim in abilities(words, named, text.block, said_abilities, able):
            certain = claim.sure and not (denied or leaked)
            yield replace(claim, line=text.line(start + claim.line), sure=certain)
        able = said_abilities[-1][0] if said_abilities else None
        if named and CUES["compares"].search(words, 0, named[0].start):
            named = [*spoken, *named]
        yield from comparisons(words, named, line, text.block)
        for match, speaks, other, field in sentence.ellipses(named):
            said = f"{words[: match.start('of')]} the {field} of "
            end, ids = len(said) + 1, other.gpu_ids
            second = Token(kind="gpu", start=len(said), end=end, text=other.text, gpu_ids=ids)
            for claim in comparisons(f"{said}X", [speaks, second], line, text.block):
                yield replace(claim, stated=match[0])
        about = about if family else sentence.subject_after()
        about = grid.of_maker(words, about) if about is not None and sentence.gpus else about
    if about is not None:
        yield about


def _chip_led(text: str, about: Subject | None) -> Subject | None:
    """The products of the chip that a sentence without a GPU is about: "The GA100 is the largest chip."
    What follows is the chip's, until a GPU is named."""
    led = CUES["chip_led"].match(text)
    named = scan(text) if led is not None else ()
    chip = next((t for t in named if t.kind != "field"), None)
    if led is None or chip is None or chip.field != "chip" or chip.start > led.end():
        return None
    ids = grid.products_of(chip.name)
    if any(t.kind == "gpu" for t in named) or not ids:
        return None
    if about is not None and set(about.gpu_ids) <= {*ids} and not about.several:
        return replace(about, text=f"{chip.name} / {about.text}", die=True)
    return Subject(chip.name, ids, die=True)


@lru_cache(maxsize=1024)
def _states_size(name: str) -> bool:
    """Whether the size in a name states something: "RTX 3090 24GB" and "A100 80 GB", not that which tells
    variants apart, "A100 80GB"."""
    if re.search(r" GB|\dgb|\(|[Г]Б|\d Go", name) or not (sold := CUES["sold"].search(name)):
        return True
    ids = [i for gpu in scan(name[: sold.start()]) for i in gpu.gpu_ids]
    return len({catalog.get(i).number("memory_bytes") for i in ids}) == 1


def sized(gpu: Token, line: int, block: int) -> Iterator[Claim]:
    """The memory that a name states: "A100 80GB", "3090 - 24gb gddr6x"."""
    for field, stated in (("memory_bytes", CUES["sold"]), ("memory_type", CUES["named_type"])):
        found = stated.search(gpu.text)
        owner = subject([gpu]) if found is not None else None
        if found is not None and owner is not None:
            token = scan(found[0].upper().replace("GO", "GB"))[0]
            values = token.numbers or (token.name,)
            # "RTX 3090 (24 GB GDDR6)": what stands in brackets is a statement, not a part of the name.
            named = "(" not in gpu.text
            reading = Reading(field=field, values=values, token=replace(token, text=found[0]), either=named)
            yield claim_of(reading, replace(owner, count=1), line, block, True)


class _Choice(Sentence):
    """A sentence that chooses an owner and a field for each value; earlier choices guide later ones."""

    def __init__(
        self, text: str, about: Subject | None, topic: str | None, scope: Scope, rivals: Sequence[Subject]
    ) -> None:
        super().__init__(text, about, scope, rivals)
        self.topic = topic
        # The field that the sentence before asks for.
        self.asked = ""
        # The formats and the GPUs that the sentences before named last.
        self.formats_said: list[str] = []
        self.named_last: list[Token] = []
        # Whether it or the words before it name a language model, whose size a value may be.
        self.of_model = self.of_measured = False
        # Whether it or the sentence before it names the L2 cache, and no other one.
        self.cached = False
        # The speed that the text before states last: "54 tokens/s on the 4090, on the 3090 48".
        self.speed = ""
        # By field the place of the last value that was read as one.
        self.last: dict[str, int] = {}
        # By place of a value its owner, and whether that is sure.
        self.owned: dict[int, tuple[Subject, bool]] = {}
        # Places of values that are wrong only where they are of none of the GPUs that the text speaks of.
        self.of_any: set[int] = set()
        # Ends of rates that are sums over several GPUs.
        self.totals: set[int] = set()
        # Starts of architectures that it surely says of a GPU.
        self.own_architectures: set[int] = set()

    def claim(self, place: int, line: int, block: int) -> Claim | None:
        """The claim that layout and catalog make likeliest; None where there is none."""
        token = self.tokens[place]
        readings = sorted(self.readings(place), key=lambda one: one[0]) if self.gpus or self.about else []
        # A field that costs so much more than another can neither win nor come near it.
        readings = [one for one in readings if one[0] <= readings[0][0] + CONFIRMED + NEARLY]
        owners = sorted(self.owners(place), key=lambda one: one[0]) if readings else []
        options = [
            self.option(mine, reading, owned, said)
            # What costs so much more than the nearest owner is neither the best nor near it.
            for owned, owner in owners if owned <= owners[0][0] + OUT_OF_REACH
            for mine in (grid.of_form(owner, self.text, token),) for said, reading in readings
        ]  # fmt: skip
        if not options:
            return None
        options.sort(key=lambda one: one.cost)
        near = min(options, key=lambda one: (one.owned, one.said))
        mine = [one for one in options if one.owner is near.owner is not self.about]
        large = token.kind == "value" and token.numbers[0].value >= SMALLEST.get(token.measures, 0.0)
        fits = options[0].known and options[0] in mine
        if large and mine and not fits and self.is_vouched(place, near.owner):
            # What stands in a list of what its GPU has is that one's, however well it fits another.
            listed = (replace(o, said=min(o.said, LISTED)) if o.said == near.said else o for o in mine)
            options = sorted(listed, key=lambda one: one.cost)
        best = options[0]
        if not best.known and best.said >= UNREAD:
            return None
        rivals = [
            one.cost for one in options[1:]
            if one.reading.field != best.reading.field or set(one.owner.gpu_ids) != set(best.owner.gpu_ids)
        ]  # fmt: skip
        field = best.reading.field
        each = best.owner.count > 1 and CUES["each_of_several"].match(self.text, token.end) is not None
        if best.owner.count > 1 and not each:
            # "Per GPU: 80 GB, 2 TB/s", "FP16 per GPU 312 TFLOPS".
            last = self.last_value(place)
            lead = self.text[:NEAR].partition(":")
            beside = self.text[max(last, token.start - NEAR) : token.start]
            found = (CUES["of_one"].search(words) for words in (lead[0] if lead[1] else "", beside))
            each = any(one is not None and one[0].lower() != "each" for one in found)
        total = best.owner.count > 1 and not each and field in SUMMED and self.is_total(place, best)
        # What several cards draw together is more often measured than added up.
        total |= field == "power_w" and (place in self.listed or self.says("added") is not None) and (
            self.is_summed(place)
        )  # fmt: skip
        if field.startswith("peak:") and best.owner.count > 1 and not each and (
            self.is_summed(place)
            # "Eight of them make 36 PFLOPS dense and 72 PFLOPS sparse."
            or ((last := self.last_value(place)) in self.totals
                and re.fullmatch(r"(?: \w+){0,3},? and ", self.text[last : token.start]))
        ):  # fmt: skip
            total = True
            self.totals.add(token.end)
        each |= not (total or self.is_summed(place)) and self.is_of_one(self.listed.get(place))
        if each:
            best = replace(best, owner=replace(best.owner, count=1))
        if total and (count := self.times(best)) != best.owner.count:
            best = replace(best, owner=replace(best.owner, count=count))
        if best.known or best.said < SAID:
            self.last[field] = place
        sure = (best.said < SAID or best.known) and (not rivals or rivals[0] - best.cost >= NEARLY)
        if sure and not best.known and field != "throughput":
            if token.start not in self.ordered:
                best = replace(best, owner=self.joined(best.owner))
            sure = self.is_owned(place, best) and not self.became_other(place, best)
        open_ = not (sure or best.known or field == "throughput") and best.said < SAID
        if open_ and (everyone := self.everyone(best, options)) is not None:
            best, sure = replace(best, owner=everyone), True
            self.of_any.add(place)
        # "4x RTX 3090 + 1x RTX 5090 = 128 GB": the sum of both.
        counted = [g for g in self.gpus if g.end <= token.start] if total else []
        if len({g.gpu_ids for g in counted}) > 1 and "+" in self.text[counted[0].end : counted[-1].start]:
            sure = False
        settled = best.known and not field.startswith("peak:")
        self.owned[place], doubt = (best.owner, sure), ""
        if sure and (each or not (total or settled or field == "throughput")):
            doubt = self.doubt(place, field, each)
            if doubt in OPEN and place not in self.of_any and (of_any := self.everyone(best, options)):
                best = replace(best, owner=of_any)
                self.of_any.add(place)
                doubt = self.doubt(place, field, each)
            sure = not doubt
        beside = self.text[self.tokens[place - 1].end : token.start] if place else ""
        if token.field == "memory_type" and place - 1 in self.owned and CUES["its_type"].fullmatch(beside):
            # "141 GB of HBM3e": the type is of the memory beside it.
            owner, certain = self.owned[place - 1]
            # A card that the catalog lacks has no figure that confirms it.
            best, sure = replace(best, owner=owner), certain and bool(best.owner.gpu_ids)
        of_whole = field in WHOLE and not (best.known or place in self.of_any)
        sure = sure and not (of_whole and self.has_right(place, best))
        # "3090 63 tokens/s, P40 22 tokens/s": the speed of a card that is called by its number.
        # A range, "14 to 16", is not the count of a product's units.
        other = (field == "throughput" and self.numbered is not None) or (token.is_range and field in COUNTS)
        sure = sure and not other
        self.owned[place] = best.owner, sure
        if sure and field == "architecture":
            self.own_architectures.add(token.start)
        claim = claim_of(best.reading, best.owner, line, block, sure)
        claim = replace(claim, doubt=doubt, of_any=place in self.of_any)
        if field == "launch_price_usd" and not CUES["at_launch"].search(self.around(token)):
            # Today's or the one at launch: as the other prices of the sentence.
            claim = replace(claim, group="prices")
        return replace(claim, total=True) if total else claim

    def everyone(self, best: _Option, options: Sequence[_Option]) -> Subject | None:
        """All GPUs that a value may be of whose owner stays open, where its field does not: it is wrong only
        where it is of none of them. None where it may be of another one, or a rate of another format."""
        field = best.reading.field
        fields = {one.reading.field for one in options if one.cost - best.cost < NEARLY}
        about = () if self.about is None else (self.about,)
        paired = any(set(one.gpu_ids) & set(of.gpu_ids) for one in self.pair for of in about)
        subjects = (*(self.subjects[g.start] for g in self.gpus), *about, *self.pair * paired)
        named = {one.gpu_ids: one.text for one in subjects}
        # Of a joint subject the figure may be of both together; such a width no product has.
        no_bus = field == "memory_bus_bits" and best.reading.token.numbers[0].value % OF_BUS
        of_them = self.of_them(best.owner, field)
        few = len(named) < 2 and not no_bus and not of_them
        if field[:5] == "peak:" or fields != {field} or few or not all(named):
            return None
        if best.reading.token.approximate or (field in IN_PASSING and not of_them):
            # "About 432 GB/s" may lie between them; "Blackwell" may be said of what has no name here.
            return None
        if grid.is_of_host(best.owner, best.reading):
            return None
        ids = dict.fromkeys(i for its in named for i in its)
        text = " / ".join(dict.fromkeys(" / ".join(named.values()).split(" / ")))
        return replace(best.owner, text=text, gpu_ids=tuple(ids), several=False)

    def each(self, place: int, claim: Claim) -> tuple[Claim, ...]:
        """The claim, of each of the two GPUs where it is said of both."""
        start = self.tokens[place].start
        if start in self.kinds and claim.field in ("memory_bytes", "architecture"):
            return tuple(replace(claim, gpu=g.text, gpu_ids=g.gpu_ids) for g in self.kinds[start])
        for one, two in self.of_both:
            of_them = {*claim.gpu_ids} <= {*one.gpu_ids, *two.gpu_ids} and two.end <= start < two.end + LEAD
            alone = of_them and claim.count == 1 and not claim.total and claim.field in FIELDS
            # "Both use PCIe, but only the A30 has ...", "Both are Ada, 24 GB and 48 GB"
            alone = alone and sum(t.measures == self.tokens[place].measures for t in self.values) < 2
            if alone and not CUES["apart"].search(self.text, two.end, start):
                return tuple(
                    replace(claim, gpu=g.text, gpu_ids=g.gpu_ids, several=False, of_any=False)
                    for g in (one, two)
                )
        return (claim,)

    def became_other(self, place: int, best: _Option) -> bool:
        """Whether a value follows on what its owner has: "from the A10's 24 GB to 48" is of another GPU."""
        first = self.tokens[place - 1] if place and self.changed.get(self.tokens[place - 1].start) else None
        return first is not None and is_known(best.owner, replace(best.reading, values=first.numbers))

    def has_right(self, place: int, best: _Option) -> bool:
        """Whether another count of the sentence is what the GPU has: this one may be that of its die."""
        alike = (None, best.reading.field)
        others = (
            t for n, t in enumerate(self.tokens)
            if n != place and t.dimension == "bare" and t.numbers and self.own(n) in alike
        )  # fmt: skip
        return any(is_known(best.owner, replace(best.reading, values=other.numbers)) for other in others)

    def option(self, owner: Subject, reading: Reading, owned: float, said: float) -> _Option:
        """A pair of an owner and a field; the unit tells the field of a value like the known one."""
        token, unit = reading.token, SAID <= said < UNREAD and owned < NEAR_BY and reading.field in BY_UNIT
        # Bits a second are a network's; and beside a word for a link a rate is not plainly the memory's.
        most = max(1, len(self.gpus) + (self.about is not None))
        unit = unit and not token.in_bits and self.unsaid_alike[token.measures] <= most
        # What follows the rate of a link may be another's link, too.
        linked = self.link_open or self.last.get("link_bytes_per_s", -1) > self.last.get(reading.field, -1)
        if unit and not (reading.field == "memory_bytes_per_s" and linked):
            near = ratios(owner, reading)
            # "5.3 GB/s" for 5.3 TB/s: the right digits with a wrong prefix.
            digits = [times * ratio for times in (1e3, 1e-3) for ratio in near]
            like = any(1 / LIKE < ratio < LIKE for ratio in near)
            said = LISTED if like or any(evidence.alike(d, 1, agree.CLOSE) for d in digits) else said
        return _Option(owner, reading, owned, said, is_known(owner, reading))

    def readings(self, place: int) -> Iterator[tuple[float, Reading]]:
        """What a value or name may claim, GPU aside, with the cost of its field."""
        token = self.tokens[place]
        if token.kind == "name":
            if token.field != "launch" or self.asked == "launch" or any(
                self.before(cue, token.start) for cue in ("launched", "card_of_year")
            ) or (
                CUES["launched_behind"].match(self.text, token.end) or self.follows(place, "launch")
                or self.is_dated(place)
            ):  # fmt: skip
                inside = cue_before(_INSIDE, self.text, token.start)
                if token.field == "pcie_generation" and inside and (
                    CUES["its_slot"].match(self.text, token.end)
                ):  # fmt: skip
                    # "It sits in a PCIe 3.0 slot"
                    return
                yield 0.0, Reading(field=token.field, values=token.numbers or (token.name,), token=token)
            return
        for cost, field in self.fields(place):
            numbers = cells.scaled(token, field, None)
            if field == "launch" and numbers:
                yield cost, Reading(field=field, values=(f"{numbers[0].value:.0f}",), token=token)
            elif numbers:
                if field[:5] != "peak:":
                    yield cost, Reading(field=field, values=numbers, token=token)
                    continue
                sparse = mark_near(self.text, self.tokens, place)
                # "1,979 TFLOPS of FP16*" above a footnote on sparsity.
                behind = re.split("[,;.(]", self.text[token.end : token.end + NEAR])[0]
                marked = sparse is None and any(mark in behind for mark in self.marks or ())
                near = self.around(token)
                # "Without tensor cores, ..." is said of the whole sentence.
                vector = CUES["vector"].search(near) or CUES["vector"].match(self.text)
                yield cost, Reading(
                    field=field, values=numbers, token=token, sparse=True if marked else sparse,
                    vector=vector is not None,
                    times=STARRED if sparse is None and self.marks is None else None,
                )  # fmt: skip

    def is_dated(self, place: int) -> bool:
        """Whether a month stands in parentheses behind a GPU that came out in about that year: "the A40
        (October 2020)", not "RTX 3090 (Feb 2026)", which dates a price."""
        token = self.tokens[place]
        held = next((t for t in reversed(self.tokens[:place]) if t.kind == "gpu"), None)
        priced = any(t.measures == "usd" for t in self.values)
        if held is None or priced or self.text[token.end : token.end + 1] not in (")", ","):
            return False
        known = (k.value for i in held.gpu_ids for k in evidence.of(i, "launch"))
        near = any(abs(int(token.name[:4]) - int(str(date)[:4])) <= DATED for date in known)
        return near and CUES["year_behind"].fullmatch(self.text, held.end, token.start) is not None

    def fields(self, place: int) -> Iterator[tuple[float, str]]:
        """The fields that a value may be of, each with its cost."""
        token, dimension = self.tokens[place], self.tokens[place].measures
        before, after = self.text[: token.start], self.text[token.end :][:LEAD]
        if dimension == "usd" and CUES["differs"].match(after):
            # "$120 lower than": of no card.
            return
        if dimension == "usd":
            # "$1.99 on demand", "Spot prices: $1.20 for the T4, $2.50 for ..."
            of_it = self.text[: self.values[0].start] + re.split(r"[,;]|\.(?!\d)|\b(?:but|and)\b", before)[-1]
            of_it += re.split(r"[,;.]", self.text[token.end :], maxsplit=1)[0]
            # "$2.80/hr for the A100 and $3.37 for the H100"
            last = next((t for t in reversed(self.tokens[:place]) if t.dimension == "usd"), token)
            listed = last.hourly and CUES["listed_price"].fullmatch(self.nameless(last.end, token.start))
            hourly = bool(self.hourly or listed or CUES["hourly"].search(of_it))
            hourly = hourly and token.numbers[0].value < DEAREST_HOUR
            other = any(CUES[cue].search(after[:10]) for cue in ("ratio", "longer"))
            if token.hourly or (hourly and not other):
                yield 0.0, "rent per hour"
            elif not CUES["of_today"].search(of_it) and (
                place in self.listed or CUES["at_launch"].search(self.around(token))
            ):
                yield 0.0, "launch_price_usd"
            else:
                yield LISTED, "price"
            return
        if dimension == "item/s":
            yield 0.0, "throughput"
            return
        if token.dimension == "bare":
            own = self.own(place)
            said, dated = (self.before(cue, token.start) for cue in ("year_leads", "card_of_year"))
            held = next((t for t in reversed(self.tokens[:place]) if t.kind == "gpu"), None)
            # "The A10 makes 40 tokens/s, the L4 20 and the T4 19."
            beside = held is not None and self.text[held.end : token.start] == " "
            rated = beside and held and re.search(r"/s\b.*(?:,| and) (?:the )?$", self.text[: held.start])
            named = held and CUES["year_behind"].fullmatch(self.text, held.end, token.start)
            dates = (evidence.supports(i, "launch", token.text) for i in (held.gpu_ids if held else ()))
            if after == ")" and not any(dates):
                named = None  # "RTX 4090 against RTX 3090 (2025)": the year of the page
            after_it = CUES["year_of"].match(self.text, token.end)
            many = token.numbers[0].value >= FIELDS["cuda_cores"].low or re.fullmatch(
                r"\d{1,2}\.\d{3}", token.text
            )
            if own in COUNTS and not self.is_of_part(place):
                yield 0.0, own
            elif own and own[:5] == "peak:" and self.rates and token.numbers[0].digits > 1:
                # "989 TFLOPS in FP16 and 1,979 in FP8"
                yield LISTED, own
            elif own is None and self.before("rated_at", token.start):
                # "A TDP of 350"
                yield LISTED, "power_w"
            elif own is None and self.speed and (rated or self.before("speed_leads", token.start)) and (
                re.match(r"[.,;)]|$| (?:and|on|with)\b", after) and not re.fullmatch(r"20[0-3]\d", token.text)
            ):  # fmt: skip
                yield LISTED, "throughput"
            elif re.fullmatch(r"20[0-3]\d", token.text) and (
                (named and (named["own"] or after[:1] in (")", ",")))
                or after_it
                or dated
                or (said and (self.before("launched", token.start) or self.follows(place, "launch")))
            ):
                yield 0.0, "launch"
            elif own is None and re.fullmatch(r"\d{1,2}\.\d", token.text) and any(
                t.field == "compute_capability" for t in self.tokens[:place]
            ):  # fmt: skip
                yield LISTED, "compute_capability"
            elif own is None and (many or token.start in self.ordered) and (counted := self.counted(place)):
                # "The MI50 has 3,840 stream processors, the MI60 4,096."
                yield LISTED, counted
            return
        if dimension == "bytes" and self.unified and re.match(r" (?:unified )?RAM\b", after):
            # "It supports up to 128 GB RAM"
            yield LISTED, "memory_bytes"
            return
        if dimension == "bytes/s" and re.match(
            r"\W{0,3}(?:\w{1,12} )?(?:bisection|reduction|network)\b", after
        ):
            return
        if dimension == "bytes/s" and "link_bytes_per_s" in self.last and CUES["both_ways"].match(after):
            yield LISTED, "link_bytes_per_s"
            return
        shared = self.unified and re.match(r" LPDDR", after)
        foreign = None if shared else CUES["not_ours"].match(after)
        own = self.own(place)
        summed = self.is_summed(place)
        if own == "none" or (own is None and foreign and not summed) or self.is_others(place):
            return
        follows = self.tokens[place + 1] if place + 1 < len(self.tokens) else token
        # "A 209 GB model, on an M3 Max", but not "a 24 GB model RTX 3090"
        apart = follows.kind != "gpu" or "," in self.text[token.end : follows.start]
        if dimension == "bytes" and apart and (
            CUES["of_model"].match(after)
            or (
                re.match(r"\s(?:of|for|de|von|di|du)\b", after)
                and CUES["language_model"].search(after[:NEAR])
            )
        ):  # fmt: skip
            return
        # Of its own clause: "at 575 W, needs a strong power supply"; not what a GPU behind needs, "At 320 W
        # the RTX 4080 needs a supply of 750 W".
        far = next((g.start for g in self.gpus if g.start >= token.end), len(self.text))
        far = min(far if self.before("leads", token.start) else len(self.text), token.end + LEAD)
        clause = (
            re.split("[,;]", self.nameless(token.start - LEAD, token.start))[-1],
            re.split(r"[,;]|\band\b", self.nameless(token.end, far))[0],
        )
        around = dimension in ("w", "bytes") and not summed and CUES["machine_around"].search(clause[0])
        cpu = dimension == "w" and not self.gpus and CUES["processor"].search(self.text, 0, token.start)
        if around or cpu or (dimension == "w" and CUES["whole_machine"].search(" W ".join(clause))):
            return
        if own is not None and own != "peak:" and not (own.startswith("peak:") and dimension == "count"):
            if not (
                foreign and own not in ("l1_bytes", "l2_bytes") and dimension != "op/s"
            ) and not self.is_of_part(place):
                yield 0.0, own
            return
        if dimension == "op/s":
            yield from self.formats(place)
            return
        if dimension == "bytes" and token.numbers[0].value < SMALLEST["bytes"] and self.cached:
            # "It has 36 MB of L2 cache, the next one 48 MB."
            yield LISTED, "l2_bytes"
            return
        if dimension == "bytes" and follows.field.endswith("bytes_per_s") and (
            follows.start - token.end < TELEGRAM and not re.match(r",| and\b", after)
        ):  # fmt: skip
            # "A 900 GB bandwidth" is a rate that lost its second.
            return
        if dimension == "w" and CUES["system"].search(" W ".join(clause)):
            return
        if dimension == "count" and self.follows(place, "transistors"):
            yield LISTED, "transistors"
        if dimension in ("bytes/s", "pin") and CUES["network"].search(" W ".join(clause)):
            return
        if dimension == "pin" and _OF_MEMORY.search(self.around(token)):
            # "16 GB of GDDR6 at 18 Gbps"
            yield LISTED, "memory_transfers_per_s"
            return
        for field in UNSAID:
            if FIELDS[field].dimension == dimension:
                if dimension == "bit" and _BUS.search(self.text):
                    yield LISTED, field
                    continue
                again = LISTED if field == self.asked else AGAIN if self.follows(place, field) else FAR
                yield min(self.unsaid(place, field), self.named(place, field), again), field

    def follows(self, place: int, field: str) -> bool:
        """Whether a value goes on about a field with another GPU: "80 GB of VRAM, 48 GB on the A40"."""
        before = self.tokens[self.last[field] : place + 2] if field in self.last else ()
        return any(t.kind == "gpu" for t in before) and len(self.tokens) < MOST

    def formats(self, place: int) -> Iterator[tuple[float, str]]:
        """Formats of a rate: by the words near it, or as the text said before."""
        token = self.tokens[place]
        fields = self.formats_named
        if not (fields or self.topic) and cue_before(_TENSOR, self.text, token.start):
            fields = ["peak:tensor"]
        if not (fields or self.topic):
            # "82.6 TFLOPS" alone: of single precision, where the GPU has just that rate. Integers are not.
            yield (UNREAD, "peak:fp32") if "fl" in token.text.lower() else (LISTED, "peak:tensor")
        for field in fields or ([self.topic] if self.topic else []):
            # The only format that a sentence names is that of its rates.
            far = 0.9 if len(fields) == 1 else FAR
            yield (min(self.named(place, field), far) if fields else LISTED), field

    def named(self, place: int, field: str) -> float:
        """The cost of the nearest word for a field; of memory also its type, "40 GB of HBM2"."""
        token, best = self.tokens[place], FAR
        of_memory = field in ("memory_bytes", "memory_bytes_per_s") and OF_SIZE & self.fields_named
        if field not in self.fields_named and not of_memory:
            return best
        for step in (1, -1):
            at = place + step
            while 0 <= at < len(self.tokens):
                other = self.tokens[at]
                between = self.text[min(token.end, other.end) : max(token.start, other.start)]
                if len(between) > LEAD or (
                    step > 0 and other.kind == "value" and other.dimension == token.dimension
                    # "16 GB instead of 24 GB GDDR6"
                    and not (at == place + 1 and words.RATHER.fullmatch(between))
                ):  # fmt: skip
                    break
                beside = other.field == "memory_type" and field in ("memory_bytes", "memory_bytes_per_s")
                near = other.field == "memory_bytes" and field == "memory_bytes_per_s"
                label = step < 0 and re.fullmatch(r"[^:;.]{0,40}:\s*(?:\w{1,16} )?", between)
                if other.field == field and label:
                    # "FP32 Standard (non-Tensor Core): approximately 67 TFLOPS"
                    return 0.2
                follows = self.tokens[at + 1] if at + 1 < len(self.tokens) else other
                if step > 0 and other.field == field and follows.measures == token.measures and (
                    follows.start - other.end < 2 or self.own(at + 1) == field
                ):  # fmt: skip
                    # "5.3 TB/s, NVLink at 900 GB/s": the word has its own value.
                    break
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
        if field == "link_bytes_per_s" and self.link_open:
            return UNSAID["memory_bytes_per_s"]
        if field not in ("memory_bytes", "memory_bytes_per_s", "power_w"):
            return UNSAID[field]
        first = not self.text[: self.tokens[0].start].strip()
        sizable = token.numbers[0].value >= SMALLEST["bytes"]
        below = field == "memory_bytes" and sizable and not self.gpus and (
            (self.tokens[0] is token and (len(self.values) > 2 or first))
            or (first and place > 0
                and CUES["listing"].fullmatch(self.text, self.tokens[place - 1].end, token.start) is not None)
        )  # fmt: skip
        if token.start in self.ordered or token.start in self.kinds or below:
            # "- 40 GB" and "24 GB, 300 GB/s, 72 W" below the name of a GPU.
            return LISTED
        # The only such value of a list, or the one that a GPU "has".
        head = self.listed.get(place)
        if head is not None and self.in_list[head.start, token.measures] == 1 and (
            token.numbers[0].value >= SMALLEST[token.measures]
            and self.own(place) is None
            and (self.in_list[head.start, ""] > 1 or field != "memory_bytes_per_s")
        ):  # fmt: skip
            return LISTED
        if field == "memory_bytes_per_s":
            return LEADS * UNSAID[field] if self.link_open else UNSAID[field]
        if self.is_summed(place):
            return LISTED
        follows = self.tokens[place + 1] if place + 1 < len(self.tokens) else None
        sized = field == "memory_bytes" and follows is not None
        behind = self.text[token.end : follows.start] if follows else ""
        if sized and CUES["its_size"].search(f"{self.text[: token.start][-LEAD:]}|{behind}"):
            # "The 32 GB of the RTX 4090", "You get 32 GB with an RTX 4090".
            return LISTED
        if field == "memory_bytes" and follows is not None and follows.kind == "gpu":
            # "A 24GB RTX 4090"; "With its 32 GB, the RTX 4090 ...".
            gap = self.text[token.end : follows.start]
            with_it = cue_before(_WITH, self.text, token.start)
            if not gap.strip() or (with_it and re.fullmatch(r", ?(?:the |an? )?(?:\w{1,20} )?", gap)):
                return LISTED
        leads = self.before("leads", token.start) or re.match(
            r"(?:with|at) [^,.;]{0,30} and (?:an? )?$", self.text[: min(token.start, LEAD)], re.I
        )
        leads = (leads or self.before("drawn", token.start)) if field == "power_w" else None
        return LISTED if leads or self.has(place) else UNSAID[field]

    def is_total(self, place: int, best: _Option) -> bool:
        """Whether a value is the sum over its GPUs: said so, or a multiple of one's right behind."""
        if self.is_summed(place):
            return True
        head = self.listed.get(place)
        if head is None or best.reading.field != "memory_bytes":
            return False
        if self.says("machine_beside") or re.search(r"\b(?:ram|ssd|nvme)\b", self.text, re.I):
            return False
        whole = ratios(best.owner, best.reading)
        if self.text[head.end : self.tokens[place].start].strip() == "(" and min(whole, default=0.0) > 1.5:
            # "4x L40S (192 GB)": more than one has.
            return True
        return any(r > 1.5 and abs(r - round(r)) < 0.01 for r in whole)

    def times(self, best: _Option) -> int:
        """How many GPUs a sum is of: those of one machine, or of all that the sentence counts."""
        counts = (best.owner.count, best.owner.count * self.machines)
        of_one = ratios(best.owner, best.reading)
        return next((n for n in counts for ratio in of_one if evidence.alike(ratio, n, TWICE)), counts[-1])

    def owners(self, place: int) -> Iterator[tuple[float, Subject]]:
        """The GPUs that a value may be of, each with its cost."""
        token, about = self.tokens[place], self.about
        if token.start in self.ordered:
            own = self.ordered[token.start]
            of_text = about is not None and own.gpu_ids == about.gpu_ids
            yield 0.0, about if about is not None and of_text else self.subjects[own.start]
            return
        if token.start in self.kinds:
            yield 0.0, self.subjects[self.kinds[token.start][0].start]
            return
        head = self.listed.get(place) if self.in_turn else self.bracketed.get(place)
        # Where each GPU has its own list, its values are of no other one, but "the AD102 of the 4090".
        near = self.near(token)
        head = self.behind(token) or head
        held = next((g for g in reversed(near) if g.end <= token.start), None)
        if held and CUES["dated"].fullmatch(self.text, held.end, token.end):
            # "the V100 in 2017, the T4 in 2018": each year is of the GPU before it.
            head = held
        named = [(self.distance(g, token), g) for g in near] if head is None else [(0.0, head)]
        gap = self.between(held.end, token.start) if held is not None else ""
        if gap.strip() and CUES["has"].fullmatch(gap):
            # "The T4 has 16 GB, the L4 24 GB": what has a value leaves it to none behind.
            # "The 3090 has 24 GB, and the 3080 also has 24 GB": nor to those before.
            relative = re.match(r",? (?:which|that)\b", gap)
            clear = relative is not None
            if held is not None and not clear:
                clear = "," not in gap and (held.start not in self.compared or is_possessive(held, gap))
            named = [
                (cost + COMPARED * (cost >= AGAIN if g.start >= token.end else clear and g is not held), g)
                for cost, g in named
            ]
        if held is not None and self.text[held.start : held.end] != held.text and not set(",;") & set(gap):
            # "Two of them hold 96 GB": nothing binds closer than a pronoun.
            named = [(cost + COMPARED * (g is not held and cost >= AGAIN), g) for cost, g in named]
        if bound := any(cost < AGAIN and g.start >= token.end for cost, g in named):
            # "250 W for the A100": what binds a value behind it leaves nothing to the GPUs before.
            named = [(cost + COMPARED * (g.end <= token.start), g) for cost, g in named]
        for cost, gpu in named:
            one = self.subjects[gpu.start]
            yield cost + OTHER * self.is_of_other(one, token), one
        # "Hopper's 132 SMs" are of no Ampere that was spoken of before.
        other = about is not None and self.is_of_other(about, token)
        # Nor is what is said of a GPU the chip's that the text spoke of.
        other |= about is not None and about.die and held is not None
        if about is not None and head is None and not self.labelled and not other:
            # What a sentence names before the value comes first; then what the text spoke of, unless a
            # pronoun brings it back.
            first = [c for c, g in named if g.end <= token.start and g.start not in self.related]
            again = (said := self.says("again")) and said.end() <= token.start and not any(
                # "For the RTX 5080, it is ..."
                g.end <= said.start() and self.before("leads", g.start) for g in self.gpus[:1]
            )  # fmt: skip
            behind = BETWEEN + (0 if again or min(first, default=FAR) > LEADS else CONFIRMED)
            far = (min(first) + behind if first else 1.0) + (0 if about.sure else 0.5)
            yield far + COMPARED * (bound and not again), about

    def is_of_other(self, owner: Subject, token: Token) -> bool:
        """Whether the last architecture before a value, with no GPU between, is not the owner's: "Hopper has
        528 ..."."""
        start = max((g.end for g in self.gpus if g.end <= token.start), default=0)
        # What the sentence says of the GPU itself ("it uses the Turing architecture") names no other product.
        others = (t for t in self.architectures if t.start not in self.own_architectures)
        named = [t.name[:5].lower() for t in others if start <= t.start < token.start]
        known = [(catalog.get(i).architecture or "")[:5].lower() for i in owner.gpu_ids] if named else []
        return bool(known) and not any(one.startswith(named[-1]) for one in known)

    def behind(self, token: Token) -> Token | None:
        """The GPU right behind a value that owns it: "the AD102 of the 4090"."""
        gpu = next((g for g in self.near(token) if g.start >= token.end), None)
        return gpu if gpu and _OF_IT.fullmatch(self.text, token.end, gpu.start) else None

    def near(self, token: Token) -> Sequence[Token]:
        """The GPUs around a value, of which one may own it."""
        at = bisect_right(self.gpus, token.start, key=lambda g: g.start)
        return self.gpus[max(0, at - NEIGHBOURS) : at + NEIGHBOURS]

    def distance(self, gpu: Token, token: Token) -> float:
        """How far a GPU is from a value in the sentence's layout."""
        around = self.enclosed.get(gpu.start)
        if around and not around[0] < token.start < around[1]:
            return 2 * COMPARED
        if self.owns_one.get(gpu.start, token.start) != token.start:
            return 2 * COMPARED
        if gpu.start in self.owns_one:
            return 0.1
        beside = [g for g in self.near(token) if g.start not in self.enclosed or around]
        if gpu.start >= token.end:
            between = CUES["apposed"].sub(" ", self.between(token.end, gpu.start))
            turns = len(CUES["turn"].findall(between))
            others = sum(token.end <= g.start < gpu.start for g in beside)
            cost = len(between) * PER_CHARACTER + BETWEEN * others
            its = CUES["set_off"].match(self.text, gpu.end + 1)
            own = its and any(
                t.measures == token.measures and its.start() < t.start < its.end() for t in self.values
            )
            if own or CUES["compares_between"].search(between) or CUES["relative"].match(self.text, gpu.end):
                # "1.67 times the bandwidth of the H200", "ahead of the A100 (19.5 TFLOPS)": of the other GPU.
                return cost + COMPARED
            bound = len(between) < LEAD and not turns and not set(",)") & set(between)
            if bound and between[:5] != " and " and CUES["binds"].search(between[-NEAR:]):
                return 0.2 + cost / 2
            # "At 72 W, the L4 ..."; of several values in front the sentence's first GPU has all.
            first = not others and re.fullmatch(
                r"(?:[^,;:.]{0,48},)? (?:the |an? |nvidia'?s? ){0,3}", between
            )
            if first and self.before("leads", token.start):
                return 0.1
            # "72 W L4" and "the 80 GB A100" stand right before their name.
            after = 3.0 if "," in between else 2.2
            touches = len(between) <= 2 and not set(",;.:") & set(between)
            return 0.4 if touches else after + cost + BETWEEN * turns
        # "..., faster than the A100, ..." is an aside that ends with its comma.
        between = CUES["aside"].sub("", self.between(gpu.end, token.start))
        turns = len(CUES["turn"].findall(between + self.text[token.start : token.start + 5]))
        between = re.sub(r"\([^()]*\)", "", between)
        others = sum(gpu.end <= g.start and g.end <= token.start and g.text in between for g in beside)
        # The only GPU that a sentence names is its subject, however long it is.
        alone = sum(g.start not in self.enclosed or around is not None for g in self.gpus) == 1
        most = 1.0 if alone and not self.text[: gpu.start].strip(" Ttheanwil,") else 4.0
        cost = min(len(between) * PER_CHARACTER, most) + BETWEEN * others
        cost += TURN * turns
        owns = is_possessive(gpu, between)
        if owns and len(between) < LEAD and not CUES["relative"].match(between):
            # "It doubles the H100's bandwidth to 8 TB/s".
            return cost + COMPARED if between.endswith(" to ") else max(0.0, cost - 0.8)
        if re.match(r",? (?:whose|which|with its)\b", between):
            return cost
        # What a GPU is compared with, or derived from, seldom owns what follows, but "ahead of the A30 at",
        # "twice what the L4 does at".
        if gpu.start in self.related and not CUES["owns_though_related"].fullmatch(between):
            return cost + COMPARED
        # "As fast as the A10 with 24 GB" may be said of either.
        if gpu.start in self.compared and (between == " with " or not CUES["has"].fullmatch(between)):
            return cost + (COMPARED if re.search(r"[,;)]", between) else COMPARED / 2)
        return cost

    def is_owned(self, place: int, best: _Option) -> bool:
        """Whether a value that the catalog does not confirm surely is of its owner."""
        token, owner, field = self.tokens[place], best.owner, best.reading.field
        if token.start in self.ordered or (field == "architecture" and token.start in self.kinds):
            return True
        own = [g for g in self.gpus if g.end <= token.start and set(g.gpu_ids) & set(owner.gpu_ids)]
        others = any(not set(g.gpu_ids) & set(owner.gpu_ids) for g in self.uncompared)
        if token.start in self.unordered:
            return False
        if best.owned >= COMPARED and owner is not self.about and not others and self.related:
            # "192 GB, 2.4 times the H100's": of something that the sentence does not name.
            return False
        # What the text spoke of before is not sure to own a value of a sentence about another GPU.
        cue = "pronoun" if self.uncompared else "about_it"
        pronoun = CUES[cue].match(self.text) if owner is self.about and owner.sure else None
        carried = pronoun is not None and all(g.start >= token.end for g in self.gpus)
        if (not own and owner is self.about and others and not carried) or best.owned > FAR or owner.several:
            return False
        # Behind a turn ("4.8 TB/s vs 3.35 TB/s") another GPU is meant that the sentence does not name.
        since = CUES["aside"].sub("", self.between(own[-1].end, token.start + 1)) if own else ""
        # "The A10 came in 2021; it has 24 GB"; of one GPU alone a sentence may go on behind any semicolon.
        one = len({g.gpu_ids for g in self.gpus}) == 1
        # A list may name the chip of another one: "The K80? Two GK210 chips with 12 GB each".
        vouched = field != "chip" and self.is_vouched(place, owner)
        goes_on = vouched or self.gpus or self.goes_on or CUES["about_it"].match(self.text)
        if owner is self.about and not own and CUES["relative_leads"].match(self.text):
            # "The successor got 4,915 cores"
            return False
        if owner is self.about and not goes_on:
            # "From a 4090 the 5090 is a step. 16,384 cores are enough": of another one that was named;
            # "The successor has 24 GB": or that is near it in the range.
            near = {i for one in self.named_last for i in one.gpu_ids}
            if self.of_own_subject:
                near |= {i for its in owner.gpu_ids for of in (agree.family, agree.next_to) for i in of(its)}
            near -= {*owner.gpu_ids}
            if any(evidence.supports(i, field, v) for i in sorted(near) for v in best.reading.values):
                return False
        since = re.sub(r";" if one else r";(?= (?:it|its)\b)", ",", since)
        if not vouched and place not in self.listed and CUES["turn"].search(since):
            return False
        if field == "launch" and not self.gpus and not self.goes_on and not vouched:
            return False
        if field == "memory_type" and (
            grid.is_of_host(owner, best.reading) or (len(self.gpus) > 1 and not (self.in_turn or vouched))
        ):
            return False
        alone = one or (self.labelled and not others)
        # "The A100 is made in 7 nm, the T4 in 12 nm"
        beside = bool(own) and token.start - own[-1].end <= TELEGRAM and best.owned < AGAIN
        # "Based on the Hopper architecture"
        based = field == "architecture" and bool(own) and self.before("based_on", token.start) is not None
        leads = field == "chip" and self.before("chip_leads", token.start)
        made = leads or based or (field == "process_nm" and self.says("made"))
        # A line that says nothing else, below its GPU: "PCIe Gen5 x16", "Interface: PCIe 5.0".
        bare = _LABEL.fullmatch(self.text[: token.start]) and token.end + 7 > len(self.text)
        if carried or (not self.gpus and owner is self.about and owner.sure):
            beside |= bool(self.goes_on or made or vouched or bare)
        # "The Hopper architecture of the H200" binds as close as any.
        owned = bool(own) or best.owned < AGAIN
        beside |= self.behind(token) is not None
        # "Built on the Ampere architecture, the A100 ..."
        beside |= field == "architecture" and one and self.before("based_on", token.start) is not None and (
            _LEADS.fullmatch(self.text, token.end, self.gpus[0].start) is not None
        )  # fmt: skip
        alone = (alone and (best.owned <= 1 or bool(made)) and owned) or beside or vouched or based
        return field not in IN_PASSING or alone or (self.in_turn and place in self.listed)

    def is_vouched(self, place: int, owner: Subject) -> bool:
        """Whether a value beside this one in a list is what the owner has: the list is of its figures."""
        for places in (range(place - 1, -1, -1), range(place + 1, len(self.tokens))):
            stated = (
                n for n in places
                if (t := self.tokens[n]).kind != "field" and t.field not in ("dense", "sparse")
                and not (t.dimension == "bare" and self.own(n) is None)
            )  # fmt: skip
            at = next(stated, place)
            if self.tokens[at].kind == "name" and self.tokens[at].field == self.tokens[place].field:
                # "Between the Ampere and Blackwell architectures"
                continue
            run = self.tokens[min(at, place) : max(at, place) + 1]
            gap = "".join(f" {self.text[a.end : b.start]}" for a, b in pairwise(run))
            if gap and self.tokens[at].kind != "gpu" and CUES["listing"].fullmatch(gap) and any(
                cost <= LEADS and is_known(owner, reading) for cost, reading in self.readings(at)
            ):  # fmt: skip
                return True
        return False

    def is_impossible(self, place: int, field: str) -> bool:
        """Whether a rate, or a power, is above all that its owner has, without a word of sparsity."""
        rate = field[:5] == "peak:" or field in ("memory_bytes_per_s", "power_w")
        owner = self.owned[place][0] if place in self.owned and rate else None
        known = [k for i in owner.gpu_ids for k in evidence.of(i, field)] if owner else []
        most = max((k.value for k in known if isinstance(k.value, float) and k.form != "sparse"), default=0.0)
        return self.sparse_at < 0 < most < self.tokens[place].numbers[0].value

    def doubt(self, place: int, field: str, each: bool) -> str:
        """What the words around a value make of it, where it is something else than what its product has, or
        each of several."""
        token = self.tokens[place]
        # The names of GPUs are not words: "RTX PRO 6000 Server Edition"; nor is their count.
        words = self.nameless(token.start - (4 * LEAD if self.in_turn else LEAD), token.start)
        if self.in_turn and place in self.listed:
            # What stands with the other GPUs of the list is said of those.
            head, lead = self.listed[place], self.nameless(0, self.gpus[0].start)
            gap = self.text[head.start : token.start]
            if head.count == 1 or ("(" in gap and ")" not in gap):
                # "Nodes with four A40 (48 GB, 300 W)", "For servers the L40S: 48 GB": of the GPU before them.
                lead = CUES["machine"].sub("", lead)
            if head is not self.gpus[0]:
                # "Measured ..." is said of all of them, "Each ..." of the first.
                lead = re.sub(r"\b(?:each|both|two|four|eight)\b", "", lead, flags=re.IGNORECASE)
            behind = self.nameless(max(head.end, token.start - 4 * LEAD), token.start)
            words = lead[-4 * LEAD :] + behind.rpartition(": ")[2]
        after = next((g for g in self.near(token) if g.start >= token.end), None)
        bound = after is not None and CUES["binds"].search(self.between(token.end, after.start)) is not None
        if bound:
            # "3.35 TB/s for the H100": nothing before the value before says what it is.
            words = self.nameless(max(self.last_value(place), token.start - LEAD), token.start)
        held = next((g for g in reversed(self.near(token)) if g.end <= token.start), None)
        if held and token.start - held.end < NEAR and is_possessive(held, self.text[held.end : token.start]):
            # What a GPU has is its own, whatever is said of it: "not far from the A10's 150 W".
            words = self.nameless(held.end, token.start)
        # "It was in 2021 released" reports nothing.
        words = words.replace("was ", "") if field.startswith("launch") else words
        value = _Value(place, token, field, words, held, bound, self.is_impossible(place, field))
        doubts = (one for one in _doubts(field, token.measures) if not each or "of_each" in one)
        return next((one["says"] for one in doubts if _holds(one, self, value)), "")


class _Value(NamedTuple):
    """A value of a sentence, with the words before it that may be about it, the GPU before it, whether it is
    bound to one behind it, above all that its GPU has."""

    place: int
    token: Token
    field: str
    words: str
    held: Token | None
    bound: bool
    over: bool


# What a doubt of `data/doubts.toml` may ask of a sentence and a value of it.
FACTS: Mapping[str, Callable[[_Choice, _Value], object]] = {
    "no GPU": lambda s, v: not s.gpus,
    "another subject": lambda s, v: s.is_of_another_subject(v.token),
    "each": lambda s, v: CUES["each_of_several"].match(s.text, v.token.end),
    # "Both cards have 24 GB", not "together".
    "both of them": lambda s, v: CUES["both_of_them"].match(s.text) and not s.says("total") and (
        s.about is not None and s.about.count == 1),
    "vouched": lambda s, v: s.is_vouched(v.place, s.owned[v.place][0]),
    "bound": lambda s, v: v.bound,
    "possessed": lambda s, v: v.held and v.token.start - v.held.end < NEAR and is_possessive(
        v.held, s.text[v.held.end : v.token.start]),
    "wrong for all": lambda s, v: v.place in s.of_any,
    "wrong for all named": lambda s, v: v.place in s.of_any and len(s.gpus) > 1,
    "vouched, with words": lambda s, v: any(t.kind == "field" for t in s.tokens) and FACTS["vouched"](s, v),
    "names alone": lambda s, v: len(s.gpus) > 1 and all(t.kind in ("gpu", "name") for t in s.tokens),
    "in order": lambda s, v: v.token.start in s.ordered,
    "above all": lambda s, v: v.over,
    # More watts than are allowed were measured, too; of what a list holds only power and rates are.
    "impossible": lambda s, v: v.over and v.token.measures != "w",
    "vouched, no rate": lambda s, v: v.token.measures not in ("w", "op/s") and FACTS["vouched"](s, v),
    "measured around it": lambda s, v: s.of_measured,
    "measured in its title": lambda s, v: s.measured,
    "card by number": lambda s, v: s.numbered is not None and s.numbered < v.token.start,
    "a question": lambda s, v: s.text.endswith("?") and not CUES["tag_question"].search(s.text),
    # "12 GB on a 192-bit bus = 504 GB/s"
    "of its bus": lambda s, v: v.token.measures == "bytes/s" and " would " not in s.text and re.search(
        r"\d[ -]?bits?\b[^.;=\d]{0,24}= ?$", s.text[: v.token.start]),
    "a table without its cells": lambda s, v: s.telegram,
    "unnamed field": lambda s, v: s.own(v.place) is None,
    # "The 1.01 TB/s of the 4090"
    "rated": lambda s, v: v.place in s.listed or s.behind(v.token) or s.own(v.place) == v.field or s.before(
        "built_for", v.token.start) or CUES["built_for_behind"].match(s.text, v.token.end) or (
            s.gpus and not CUES["set_so"].search(s.text, v.token.end, v.token.end + LEAD)
            if s.before("leads", v.token.start) else any(
                g.start - v.token.end < 2 for g in s.gpus if g.start >= v.token.end)),
    "language model": lambda s, v: s.of_model and v.token.approximate,
    "chip leads": lambda s, v: s.chip_leads(v.token) and not s.owned[v.place][0].die,
    "another form": lambda s, v: (said := s.form_of(v.token)) is not None and not any(
        catalog.get(i).text("form") in (None, re.sub(r"[-\d]", "", said["form"].lower()))
        for i in s.owned[v.place][0].gpu_ids),
    "of a die": lambda s, v: s.owned[v.place][0].die,
    "twice its own": lambda s, v: any(
        one.value == 2 * known.value for i in s.owned[v.place][0].gpu_ids
        for known in evidence.of(i, v.field) for one in v.token.numbers),
    "goes on": lambda s, v: s.goes_on or CUES["about_it"].match(s.text),
    "or another size": lambda s, v: v.held and CUES["or_size"].fullmatch(
        v.held.text[-NEAR:] + s.between(v.held.end, v.token.start)),
    # Both directions of a link are its total.
    "count of one": lambda s, v: (v.token.measures == "count" or v.field == "link_bytes_per_s") and all(
        g.count == 1 for g in s.gpus),
    "or another type": lambda s, v: any(
        a.field == b.field == "memory_type" and _OR.fullmatch(s.text, a.end, b.start)
        for a, b in pairwise(s.tokens[max(0, v.place - 1) : v.place + 2])),
    "title or several": lambda s, v: len(s.tokens) == 1 or len({t.name for t in s.architectures}) > 1,
    "before a change": lambda s, v: s.changed.get(v.token.start),
    "after a change": lambda s, v: v.place and s.changed.get(s.tokens[v.place - 1].start),
    "in a range": lambda s, v: any(
        s.changed.get(t.start) is False for t in s.tokens[max(0, v.place - 1) : v.place + 1]),
    "more families than GPUs": lambda s, v: len({t.name for t in s.architectures}) > max(1, len(s.gpus)),
    "behind a plus": lambda s, v: v.held and s.text[: v.held.start].rstrip()[-1:] == "+",
    "one of several formats": lambda s, v: not s.formats_named and len(s.formats_said) > 1,
    "any format": lambda s, v: v.field == "peak:tensor" and "fl" not in v.token.text.lower(),
    "other architecture": lambda s, v: s.is_of_other(s.owned[v.place][0], v.token),
    "CUDA of others": lambda s, v: "cuda" in s.around(v.token).lower() and all(
        catalog.get(gpu_id).vendor != "NVIDIA" for gpu_id in s.owned[v.place][0].gpu_ids),
    "a name": lambda s, v: v.token.kind == "name",
    "an architecture": lambda s, v: v.field == "architecture",
    "in bits": lambda s, v: v.token.in_bits,
    # "RTX 3060 = 12 GB", no result of a sum
    "behind its name": lambda s, v: (
        v.held and v.held.count == 1 and s.text[v.held.end : v.token.start].strip() == "="),
    "equals its label": lambda s, v: v.place and s.tokens[v.place - 1].field == v.field,
    "reached range": lambda s, v: v.token.is_range and (
        v.token.measures in ("op/s", "bytes/s") or v.words.rstrip().endswith("from")),
    "links": lambda s, v: s.linked and v.place not in s.listed and not _OF_MEMORY.search(s.around(v.token)),
    "rate of its link": lambda s, v: v.place in s.listed and any(evidence.supports(
        i, "link_bytes_per_s", v.token.numbers[0]) for i in s.listed[v.place].gpu_ids),
    "sparsity behind it": lambda s, v: s.sparse_at > v.token.end and (
        mark_near(s.text, s.tokens, v.place) is None),
    "two figures": lambda s, v: any(
        CUES["against"].fullmatch(s.text, a.end, b.start)
        # "16 GB instead of 24": the first is its own.
        and not (a is v.token and CUES["in_place_of"].fullmatch(s.text, a.end, b.start))
        for a, b in pairwise(s.tokens[max(0, v.place - 1) : v.place + 2]) if a.dimension == b.dimension),
}  # fmt: skip
# Where a doubt looks for a cue.
AT: Mapping[str, Callable[[str, _Choice, _Value], object]] = {
    "text": lambda cue, s, v: s.says(cue),
    "before": lambda cue, s, v: s.before(cue, v.token.start),
    "after": lambda cue, s, v: CUES[cue].match(s.text, v.token.end),
    "words": lambda cue, s, v: CUES[cue].search(v.words),
    "end": lambda cue, s, v: CUES[cue].search(v.words[-LEAD // 4 :]),
    # What another clause denies is not this one's.
    "clause": lambda cue, s, v: CUES[cue].search(CUES["clause_ends"].split(v.words)[-1]),
}
DOUBTS = tuple(words.data("doubts").values())
# What they say where only the owner stays open.
OPEN = frozenset(one["says"] for one in DOUBTS if any("wrong for all" in f for f in one.get("unless", ())))


@lru_cache(maxsize=1024)
def _doubts(field: str, measures: str) -> tuple[Mapping[str, Any], ...]:
    """Those that a value of that field and dimension can meet."""
    return tuple(
        one for one in DOUBTS
        if field in one.get("fields", (field,)) and measures in one.get("measures", (measures,))
    )  # fmt: skip


def _holds(doubt: Mapping[str, Any], s: _Choice, v: _Value) -> bool:
    """Whether all else that a doubt states is so."""
    at = AT[doubt.get("at", "text")]
    return (
        ("cues" not in doubt or any(at(cue, s, v) for cue in doubt["cues"]))
        and all(FACTS[fact](s, v) for fact in doubt.get("when", ()))
        and not any(FACTS[fact](s, v) for fact in doubt.get("unless", ()))
    )
