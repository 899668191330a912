"""A sentence and its structure: which GPUs are listed, compared or in brackets, which words go with a value.

It only describes the sentence: `prose` weighs the readings of a value and chooses one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import islice, pairwise

from gpuwise.facts import catalog
from gpuwise.judge.audit import evidence
from gpuwise.judge.audit.cells import FASTEST_SLOT, NEAR, OF_UNIT, WHOLE, Reading, own_field
from gpuwise.judge.audit.grid import Scope, Subject, is_known, subject
from gpuwise.judge.audit.typed import PRONOUNS, TELEGRAM, in_order, typed
from gpuwise.judge.audit.words import (
    COUNTED,
    CUES,
    FIELDS,
    LEAD,
    Token,
    became,
    count_of,
    cue_before,
    scan,
    united,
)  # fmt: skip

# Characters of a longer text between a GPU and a value that are looked at, on either side.
STRETCH = 300
# Fields that in passing are often of another product than the nearest.
IN_PASSING = frozenset({"architecture", "chip", "pcie_generation", "process_nm"})
# What a value without words is at least: a size, watts, more than the fastest slot.
SMALLEST = {"bytes": FIELDS["memory_bytes"].low, "w": FIELDS["power_w"].low, "bytes/s": FASTEST_SLOT}
_AS_MUCH = re.compile(r"\b(?:as|than|like|of|from|on) (?:the|its|an?) $")
_NUMBERED = re.compile(r"(?:\d[x\u00d7]\s?)?\d{4}")
_VERSION = re.compile(r" (?:version|variant|model|one|card)\b")
_NOT_SPARSE = re.compile(
    r"\([^()\d]{0,200}\d[^()]{0,200}\)"
    r"|\b(?:without|no|w/o|forget|ignor(?:e|ing)|exclud(?:e|ing)|not (?:counting|using))"
    r" (?:structured )?sparsity"
)
# The number of GPUs that a list begins with.
_COUNT_BEFORE = re.compile(rf"(?:\b(?:{'|'.join(COUNTED)})|\d)[\s-]?(?:x\s?)?$", re.IGNORECASE)


def is_possessive(gpu: Token, behind: str) -> bool:
    """Whether what stands behind a GPU is its own: "the A100's 40 GB", in Chinese with \u7684."""
    return gpu.text.endswith(("'s", "\u2019s")) or behind.lstrip()[:1] in {"'", "\u2019", "\u7684"}


@lru_cache(maxsize=1024)
def title_says(cue: str, title: str) -> bool:
    """Whether a title, of which many sentences stand below, has a cue."""
    return CUES[cue].search(title) is not None


def in_parallel(
    text: str, tokens: tuple[Token, ...]
) -> tuple[tuple[Token, ...], dict[int, Token], frozenset[int]]:
    """The words with the unit of a list's last value for each of it, and by the start of each value its GPU,
    where three or more GPUs and as many values are listed and the catalog has most of it: "3.35, 4.8 and 8
    TB/s for the H100, H200 and B200"; else the starts of values whose order stays open."""
    gpus, values = (_lists(text, [t for t in tokens if t.kind == kind]) for kind in ("gpu", "value"))
    owned: dict[int, Token] = {}
    shared: dict[int, Token] = {}
    for named in gpus:
        for run in (one for one in values if len(one) == len(named)):
            dimension = run[-1].dimension
            field = OF_UNIT.get(run[-1].measures, "launch_price_usd" if dimension == "usd" else "")
            run = [united(value, run[-1]) for value in run]
            if not field or {t.dimension for t in run} != {dimension}:
                continue
            shared |= {value.start: value for value in run}
            known = sum(
                is_known(Subject(gpu.text, gpu.gpu_ids), Reading(field=field, values=t.numbers, token=t))
                for t, gpu in zip(run, named, strict=True)
            )
            if 2 * known > len(run):
                owned |= {value.start: gpu for value, gpu in zip(run, named, strict=True)}
    return (
        tuple(shared[t.start] if t.start in owned else t for t in tokens),
        owned,
        frozenset(shared.keys() - owned.keys()),
    )


def _lists(text: str, words: Sequence[Token]) -> list[list[Token]]:
    """The runs of three or more words of which nothing but a comma or an "and" stands between two."""
    runs: list[list[Token]] = []
    for before, word in zip((None, *words), words, strict=False):
        if before is not None and CUES["list"].fullmatch(text, before.end, word.start):
            runs[-1].append(word)
        else:
            runs.append([word])
    return [run for run in runs if len(run) > 2 and all(len(t.numbers) == (t.kind == "value") for t in run)]


class Sentence:
    """The typed words of a sentence, what stands where, and the GPU that the text spoke of before it."""

    def __init__(self, text: str, about: Subject | None, scope: Scope, rivals: Sequence[Subject]) -> None:
        self.text, self.about = text, about
        # What the sentences before counted last.
        self.counting = ""
        self.marks = scope.marks
        self.heard: dict[str, re.Match[str] | None] = {}
        self.own_fields: dict[int, str | None] = {}
        self.tokens, self.ordered = in_order(text, typed(text, about, scope, rivals), about, scope.pair)
        # The starts of values in a list beside one of as many GPUs, where nothing shows that one is in order.
        self.unordered = frozenset[int]()
        if not self.ordered:
            self.tokens, self.ordered, self.unordered = in_parallel(text, self.tokens)
        # By the start of a figure whether it became the next one, or is the least of a range.
        alike = ((a, b) for a, b in pairwise(self.tokens) if a.dimension == b.dimension != "")
        self.changed = {a.start: became(text, a, b) for a, b in alike}
        self.read_gpus()
        self.read_title(scope)
        # A number that is some card's ("3090 came out in 2020") may be what the sentence is about.
        # "2x3090" is, too.
        bare = (t for t in self.tokens if t.kind == "value" and _NUMBERED.fullmatch(t.text))
        numbers = ((t.start, t.text[-4:]) for t in bare)
        self.numbered = next((start for start, name in numbers if catalog.mentions(name, loose=True)), None)
        self.read_brackets(about)
        self.read_kinds()
        self.read_lists(about)
        self.read_layout()
        # "L40S: 48 GB, 350 W" is about nothing before it.
        self.labelled = bool(self.gpus) and re.match(r"\W{0,3}$", text[: self.gpus[0].start]) is not None
        self.labelled = self.labelled and re.match(r"\s?:\s", text[self.gpus[0].end :]) is not None
        self.architectures: list[Token] = [
            t for t in self.tokens if t.field == "architecture" and t.kind == "name"
        ]
        self.fields_named = {t.field for t in self.tokens}
        # The formats that it names: "FP16 tensor compute" is of FP16.
        formats = dict.fromkeys(t.field for t in self.tokens if t.field[:5] == "peak:" != t.field)
        self.formats_named: list[str] = [f for f in formats if f != "peak:tensor"] or list(formats)

    def read_gpus(self) -> None:
        """The GPUs, how many each is, and which of them another one is only compared with."""
        text = self.text
        self.gpus = [t for t in self.tokens if t.kind == "gpu"]
        counted = CUES["counted_gpus"].search(text) if CUES["machine"].search(text) else None
        counted = counted or CUES["product_of_gpus"].search(text)
        if counted and len({g.gpu_ids for g in self.gpus}) == 1 and all(g.count == 1 for g in self.gpus):
            # "A DGX H100 has 8 GPUs with 640 GB in total", "8 x 141 GB = 1,128 GB".
            one = replace(self.gpus[0], count=count_of(counted[1]))
            self.tokens = tuple(one if t is self.gpus[0] else t for t in self.tokens)
            self.gpus[0] = one
        # Owners in order may be those that the text spoke of.
        self.subjects = {
            gpu.start: Subject(gpu.text, gpu.gpu_ids, count=gpu.count)
            for gpu in (*self.gpus, *self.ordered.values())
        }
        # By start the GPUs that another one is compared with or derived from; "8 x H100" counts it.
        self.compared = {g.start for g in self.gpus if self.before("compared", g.start)}
        for one, other in pairwise(self.gpus):
            # "slower than A100/H100", than either
            if one.start in self.compared and re.fullmatch(
                r" ?/ ?| or (?:the |an? )?", text[one.end : other.start]
            ):
                self.compared.add(other.start)
        self.related = {
            g.start for g in self.gpus if g.count == 1
            and (
                self.before("related", g.start)
                or CUES["relative"].match(text, g.end)
                or (g.start in self.compared and CUES["then_lists"].match(text, g.end))
            )
        }  # fmt: skip
        self.uncompared = [g for g in self.gpus if g.start not in self.compared | self.related]

    def read_title(self, scope: Scope) -> None:
        """What the title says of the values: a list of rents, what was measured."""
        title = f"{scope.title} {scope.opening}"
        # A list of rents says so above: "Rates per GPU-hour:".
        self.hourly = title_says("hourly", title)
        self.pair = scope.pair
        # Where the title speaks of what was measured, its values are not those of the product.
        leads = scope.opening.endswith(":")
        title = title if leads else scope.title
        # "Measured bandwidth (GB/s)" says so, "Two used cards" and "A practical guide" do not.
        said = any(title_says(cue, title) for cue in ("ratio", "reached", "taken"))
        self.measured = said and (leads or any(t.kind == "field" and t.field for t in scan(title)))

    def read_brackets(self, about: Subject | None) -> None:
        """What parentheses and dashes set apart, and whose that is."""
        text = self.text
        # By place of a GPU the parentheses around it that hold more than its name.
        self.enclosed = {
            g.start: m.span() for m in re.finditer(r"\([^()]*\)", text) for g in self.gpus
            if m.start() < g.start < m.end() and m.end() - m.start() > g.end - g.start + 6
        }  # fmt: skip
        # "It brings 32 GB - 8 more than the RTX 4090 - and 1,792 GB/s": so are dashes around a comparison.
        self.enclosed |= {
            g.start: m.span()
            for m in CUES["set_off"].finditer(text)
            for g in self.gpus
            if m["dash"] and m.start() < g.start < m.end() and g.start in self.compared
        }
        # "192 GB/s instead of 288 GB/s (GTX 1660 Ti)": a name alone in brackets owns the value before only.
        # A word for its field may stand between: "640 Tensor cores (V100)".
        self.owns_one = {
            gpu.start: a.start
            for a, (b, gpu) in zip((None, *self.tokens), pairwise(self.tokens), strict=False)
            if gpu.kind == "gpu" and text[b.end : gpu.start].strip() == "(" and text[gpu.end :][:1] == ")"
            for a in (b if b.kind == "value" else a,) if a is not None and a.kind == "value"
            and (a is b or (b.kind == "field" and b.start - a.end < TELEGRAM))
        }  # fmt: skip
        # By place of a token in parentheses the GPU right before them: "the T4 (16 GB, 70 W)".
        self.bracketed = {
            n: gpu for within in (CUES["set_off"].finditer(text) if len(self.gpus) > (about is None) else ())
            for gpu in self.gpus if gpu.start < within.start() <= gpu.end + 2
            if within["dash"] or gpu.start not in self.compared
            for n, t in enumerate(self.tokens) if max(gpu.end, within.start()) <= t.start < within.end()
        }  # fmt: skip

    def read_kinds(self) -> None:
        """Lists of GPUs behind what they have alike, and how many machines hold them."""
        text = self.text
        # By the start of a size or an architecture the list behind it that it is said of: "24 GB cards (RTX
        # 3090, RTX 4090)", "Ampere (A100, A40)".
        self.kinds: dict[int, list[Token]] = {}
        for at, gpu in enumerate(self.gpus):
            place = self.tokens.index(gpu)
            before, size = [gpu, gpu, *(t for t in self.tokens[:place] if t.kind != "field")][-2:]
            # "Hopper / Ada (H100, L4)" does not say which is which.
            one = before.field != size.field or not CUES["list"].fullmatch(text, before.end, size.start)
            family = size.field == "architecture" and one and (
                CUES["family_of"].fullmatch(text, size.end, gpu.start) is not None
            )  # fmt: skip
            if not family and (size.dimension != "bytes" or gpu.start - size.end > NEAR):
                continue
            cues = ["such_as" if self.before("cards_with", size.start) else "kind_of_card"]
            end = at + 1
            while end < len(self.gpus) and CUES["list"].fullmatch(
                text, self.gpus[end - 1].end, self.gpus[end].start
            ):  # fmt: skip
                end += 1
            listed = self.gpus[at:end]
            if not family and len(listed) > 1 and not text[: size.start].strip() and (
                all(g.count == 1 for g in listed)
            ):  # fmt: skip
                # "24 GB: RTX 3090, RTX 4090"
                cues.append("such_as")
            if family or any(CUES[cue].fullmatch(text, size.end, gpu.start) for cue in cues):
                self.kinds[size.start] = listed
        # "Ten nodes with two T4": so many times the GPUs of one.
        named = CUES["machines"].search(text)
        self.machines = count_of(named["count"]) if named else 1

    def read_lists(self, about: Subject | None) -> None:
        """Whose list each token stands in, where only values and few words stand between."""
        text = self.text
        # By place of a token the GPU right before it, where only values and few words stand between.
        self.listed: dict[int, Token] = {}
        head, end = None, 0
        for place, token in enumerate(self.tokens):
            if token.kind == "gpu":
                # "**A4000.** Half of an A6000: 16 GB, 140 W" lists what the text speaks of.
                # So does "twice the bandwidth of the L4, at 600 GB/s".
                likened = (about and self.before("likened", token.start)) or (
                    token.start in self.related
                    and (text.startswith(", at ", token.end) or CUES["then_lists"].match(text, token.end))
                )
                head, end = None if likened else token, token.end
            elif head is not None and (
                (end > head.end or text[end : token.start] != " and ")
                and CUES["listing" if end > head.end else "list_begins"].fullmatch(text, end, token.start)
            ):  # fmt: skip
                self.listed[place], end = head, token.end
            else:
                head = None

    def read_layout(self) -> None:
        """Whether each GPU has its list, or a table lost its line ends."""
        text = self.text
        values = [n for n, t in enumerate(self.tokens) if t.kind == "value"]
        self.values = [self.tokens[n] for n in values]
        self.rates = any(t.measures == "op/s" for t in self.values)
        # How many measure the same: of the list of each GPU those that no word names.
        self.in_list = Counter[tuple[int, str]]()
        for place, head in self.listed.items():
            token = self.tokens[place]
            if token.kind == "value":
                self.in_list[head.start, ""] += 1
                large = token.numbers[0].value >= SMALLEST.get(token.measures, 0.0)
                if large and self.own(place) is None:
                    self.in_list[head.start, token.measures] += 1
        heads = {self.listed[n].start for n in values if n in self.listed}
        # Each GPU has its own list: every value is the GPU's before it.
        self.in_turn = len(heads) == len(self.gpus) and all(n in self.listed for n in values)
        # "RTX 3060 for 220 dollars, 12 GB, 170 W, ..." is a list of one.
        one_list = len(self.gpus) < 2 and all(gpu.start < 4 for gpu in self.gpus)
        rest = len(text) - sum(t.end - t.start for t in self.tokens)
        # Many values and few words are a table without its line ends; values that touch are its cells.
        close = (
            rest < TELEGRAM * len(values) and len(values) > 4 and text.rstrip()[-1:] not in (".", "\u3002")
        )
        # Bars part the figures of one, unless two measure the same: those may be of two columns.
        bars, doubled = text.count("|"), any(count > 1 for count in self.unsaid_alike.values())
        lost = bars if doubled or len(self.gpus) > 1 else 0
        close = close and not (one_list and text.count(", ") + bars - lost > len(values) - 3)
        stated = {"value", "name"}
        touching = any(a.end == b.start and {a.kind, b.kind} <= stated for a, b in pairwise(self.tokens))
        self.telegram = touching or ((close or lost > 3) and not self.in_turn)

    @cached_property
    def unsaid_alike(self) -> Counter[str]:
        """How many values measure the same of those whose field no word names."""
        return Counter(t.measures for n, t in enumerate(self.tokens) if t.kind == "value" and not self.own(n))

    def own(self, place: int) -> str | None:
        """The field that the words beside a value name; looked for once."""
        if place not in self.own_fields:
            self.own_fields[place] = own_field(self.text, self.tokens, place)
            token = self.tokens[place]
            if self.own_fields[place] is None and self.changed.get(token.start) is not None:
                # "The cores rise from the A10's 9,216 to ...": of the word before, whatever GPUs are between.
                words = (t for t in reversed(self.tokens[:place]) if t.kind != "gpu")
                label = next(words, token)
                if label.kind == "field" and FIELDS[label.field].dimension == token.measures and (
                    token.start - label.end < LEAD and "," not in self.text[label.end : token.start]
                ):  # fmt: skip
                    self.own_fields[place] = label.field
            # What changes "from 128 to 96 bits" is one field.
            for at in (place - 1, place + 1):
                first = self.tokens[min(at, place)].start if 0 <= at < len(self.tokens) else -1
                if self.own_fields[place] is None and self.changed.get(first):
                    self.own_fields[place] = self.own(at)
        return self.own_fields[place]

    @cached_property
    def unified(self) -> bool:
        """Whether all that it speaks of shares the machine's memory."""
        ids = [i for g in self.gpus for i in g.gpu_ids] or (self.about.gpu_ids if self.about else ())
        return bool(ids) and all(catalog.get(i).text("form") == "soc" for i in ids)

    @cached_property
    def words(self) -> str:
        """The text without the names and counts of GPUs, each letter in its place: "8 x H100 PCIe" speaks of
        no slot."""
        words = self.text
        for gpu in self.gpus:
            count = _COUNT_BEFORE.search(words, 0, gpu.start) if gpu.count > 1 else None
            start = count.start() if count else gpu.start
            words = words[:start] + " " * (gpu.end - start) + words[gpu.end :]
        return words

    def last_value(self, place: int) -> int:
        """Where the value before a word ends, or the sentence begins."""
        return max((t.end for t in self.tokens[:place] if t.kind == "value"), default=0)

    def says(self, cue: str) -> re.Match[str] | None:
        """Where a cue stands first in the whole text; looked for once."""
        if cue not in self.heard:
            self.heard[cue] = CUES[cue].search(self.text)
        return self.heard[cue]

    def before(self, cue: str, end: int) -> re.Match[str] | None:
        """A cue that ends at a place."""
        return cue_before(cue, self.text, end)

    def between(self, start: int, end: int) -> str:
        """The text between two places; of a long one its beginning and its end, so that it takes no time."""
        if end - start <= 2 * STRETCH:
            return self.text[start:end]
        return self.text[start : start + STRETCH] + self.text[end - STRETCH : end]

    def around(self, token: Token) -> str:
        """The words close to a value, and it."""
        return self.text[max(0, token.start - NEAR) : token.end + NEAR]

    def nameless(self, start: int, end: int) -> str:
        """A part of the text without the names of GPUs."""
        return self.words[max(0, start) : end]

    @cached_property
    def sparse_at(self) -> int:
        """Where it last speaks of sparsity, but for parentheses with a value, of which they say it."""
        return _NOT_SPARSE.sub(lambda m: " " * len(m[0]), self.text).rfind("spars")

    @cached_property
    def link_open(self) -> bool:
        """Whether it speaks of a link without its rate: in "NVLink 900 GB/s" the word has its value."""
        return self.says("link") is not None and not any(
            t.kind == "value" and self.own(n) == "link_bytes_per_s" for n, t in enumerate(self.tokens)
        )

    @cached_property
    def linked(self) -> bool:
        """Whether it speaks of links between GPUs."""
        return any(CUES[cue].search(self.words) for cue in ("link", "network"))

    def form_of(self, token: Token) -> re.Match[str] | None:
        """The form of a GPU that the clause around a value names."""
        start = max((m.end() for m in re.finditer("[;,.:(]", self.text[: token.start])), default=0)
        end = re.search("[;,.:)]", self.text[token.end :])
        stop = token.end + end.start() if end else len(self.text)
        return CUES["form_said"].search(self.text, start, stop)

    def of_them(self, owner: Subject, field: str) -> bool:
        """Whether it speaks of all GPUs that were named last: "Both have 24 GB", "They are made in 8 nm"."""
        of_chip = field in IN_PASSING and not self.gpus and self.goes_on and self.says("made") is not None
        said = of_chip or CUES["both_of_them"].match(self.text) is not None
        return owner is self.about and owner.several and said

    @cached_property
    def of_both(self) -> list[tuple[Token, Token]]:
        """The pairs of GPUs of which what follows is said of both: "Both the A40 and the L40 have 48 GB",
        "A40 and L40: 48 GB"."""
        label = len(self.gpus) == 2 and re.match(r"\W{0,3}$", self.text[: self.gpus[0].start])
        return [
            (one, two) for one, two in pairwise(self.gpus)
            if CUES["list"].fullmatch(self.text, one.end, two.start)
            and (
                self.before("both_before", one.start) or CUES["both_behind"].match(self.text, two.end)
                or (label and self.text[two.end : two.end + 2] == ": ")
            )
        ]  # fmt: skip

    def counted(self, place: int) -> str | None:
        """What a bare number bound to a GPU counts, by the word before: "fewer CUDA cores, 1,280 for the GTX
        1660 and 1,536 for the 1660 Ti"."""
        token = self.tokens[place]
        gpu = next((g for g in self.gpus if g.start >= token.end), None)
        said = next((t.field for t in reversed(self.tokens[:place]) if t.kind == "field"), self.counting)
        bound = gpu is not None and gpu.start - token.end < TELEGRAM * 2 and (
            CUES["binds"].search(self.between(token.end, gpu.start)) is not None
        )  # fmt: skip
        # "Fewer CUDA cores than before: the TITAN V crammed in 3,840."
        before = self.tokens[place - 1] if place else token
        gap = self.text[before.end : token.start]
        bound |= token.start in self.ordered
        alone = CUES["clause_goes_on"].match(self.text, token.end) is not None
        # "RTX 3090: 10,496 CUDA cores, RTX 3080: 8,704"
        gap = gap.removeprefix(":")
        # "A V100 does 256 a cycle, an A100 can do 512": what it does, not what it has.
        near = len(gap) < NEAR / 2 and not set(",.;:()") & set(gap)
        does = re.search(r"\b(?:can|do|does)\b", gap)
        bound |= before.kind == "gpu" and near and alone and not does
        return said if said in WHOLE and bound else None

    def has(self, place: int) -> bool:
        """Whether the GPU just before a value has it: "The A6000 has 32 GB", "the A100's 40 GB"."""
        start = self.tokens[place].start
        said = self.before("it_has", start)
        subjects = ("it", "which", "that", "this card", "the card", "the gpu")
        if said and (
            said["subject"].strip(" (,").lower() in subjects
            # "It draws 300 W and has 16 GB."
            or self.text.endswith(" and ", 0, said.end("subject"))
        ):
            return True
        before = [t for t in self.tokens[:place] if t.kind in ("gpu", "value")]
        if said and before and before[-1].kind == "gpu":
            # "Every H100 with that socket has 80 GB": the words between say which one.
            words = self.text[before[-1].end : start]
            other = any(CUES[cue].search(words) for cue in ("turn", "machine", "together"))
            if len(words) < 2 * NEAR and not other and not re.search(r"[.;:]", words):
                return True
        previous = self.tokens[place - 1] if place else None
        if previous is None or previous.kind != "gpu":
            return False
        gap = self.text[previous.end : self.tokens[place].start]
        owns = is_possessive(previous, gap) or gap.strip()
        return bool(owns and len(gap) < NEAR and CUES["has"].fullmatch(gap))

    def is_of_part(self, place: int) -> bool:
        """Whether a value is that of each part, or of the machine."""
        token = self.tokens[place]
        if self.own(place) == "l1_bytes" or self.before("holds", token.start):
            # "Two T4 each hold 32 GB" may count either.
            return False
        part = CUES["each_after"].match(self.text, token.end) or CUES["of_a_part"].match(self.text, token.end)
        each = self.before("each", token.start)
        # "The L40 and the L40S each have 142 SMs"
        of_both = each is not None and any(each.start() == two.end + 1 for _, two in self.of_both)
        return bool(part or (each and not of_both))

    def is_others(self, place: int) -> bool:
        """Whether a size is what something needs, or a sum or a difference of no GPUs before it."""
        token = self.tokens[place]
        if token.dimension != "bytes" or self.is_summed(place):
            return False
        # "half as much as the 80 GB version"
        version = cue_before(_AS_MUCH, self.text, token.start) and _VERSION.match(self.text, token.end)
        # "At least 84 GB of VRAM for LoRA and 144 GB for ..." needs both.
        last = next((n for n in range(place - 1, -1, -1) if self.tokens[n].kind in ("gpu", "value")), None)
        gap = self.text[self.tokens[last].end : token.start] if last is not None else ""
        goes_on = last is not None and CUES["needs_both"].fullmatch(gap) and self.is_others(last)
        # "It swaps the 80 GB for 141 GB of HBM3e": what is needed has no type.
        typed = self.text.endswith("for ", 0, token.start) and any(
            t.field == "memory_type" and t.start - token.end < TELEGRAM for t in self.tokens[place + 1 :][:1]
        )
        goes_on = goes_on or self.before("stacked", token.start) is not None
        return bool(version or goes_on or (not typed and self.before("others_before", token.start)))

    def is_summed(self, place: int) -> bool:
        """Whether the words around a value say that it is the sum over the GPUs before it."""
        token = self.tokens[place]
        if token.dimension == "bare" or not any(g.count > 1 for g in self.gpus):
            return False
        start = max((g.end for g in self.gpus if g.end <= token.start), default=0)
        before = self.text[max(start, token.start - NEAR) : token.start]
        # What stands right behind another value is said of that one.
        last = self.last_value(place)
        if last > start and (parted := re.search(r"[,;()]| and ", self.text[last : token.start])):
            before = before[-(token.start - last - parted.end()) :]
        end = min((t.start for t in self.tokens[place + 1 :] if t.kind == "value"), default=len(self.text))
        # "3 of 12 GB total 48 GB": what stands right before the next value is said of that one.
        after = CUES["total_ahead"].sub("", self.text[token.end : end + 1])[:NEAR]
        if CUES["each_of_several"].match(after):
            return False
        # Behind a product an equals sign gives something computed.
        equals = re.search(r"(?:=|->|\u2192)\s?$", before) and not re.search(r"[*/\u00d7] ?\d+ ?$", before)
        # "Total VRAM of four L40S: 192 GB"
        ahead = not before.strip(" :=is") and CUES["total"].search(self.text, max(0, start - LEAD), start)
        said = ahead or CUES["total"].search(f"{before} {after}") or CUES["of_video_memory"].match(after)
        holds = CUES["holds"].search(before)
        # "For 405 GB you need six H100": before any GPU stands what is needed.
        return bool(equals or said or (holds and (start or holds[0].strip().lower() != "for")))

    def is_of_one(self, head: Token | None) -> bool:
        """Whether the list of several GPUs states what one has: "4x A100 (40 GB HBM2, 1.5 TB/s)"."""
        if head is None or head.count == 1:
            return False
        stated = [
            t for n, t in enumerate(self.tokens) if self.listed.get(n) is head and t.measures in OF_UNIT
        ]
        return re.search(r"\(\d+ ?GB", head.text) is not None or any(
            evidence.supports(i, OF_UNIT[t.measures], t.numbers[0]) for t in stated for i in head.gpu_ids
        )

    def joined(self, owner: Subject) -> Subject:
        """The owner with those that stand in a list with it: "A100 and H100 have 80 GB" is said of both, and
        wrong only where it is of neither."""
        at = next((n for n, g in enumerate(self.gpus) if g.gpu_ids == owner.gpu_ids), 0)
        first = at
        while first and CUES["list"].fullmatch(self.text, self.gpus[first - 1].end, self.gpus[first].start):
            first -= 1
        ids = dict.fromkeys(i for g in self.gpus[first : at + 1] for i in g.gpu_ids)
        text = " / ".join(g.text for g in self.gpus[first : at + 1])
        return replace(owner, text=text, gpu_ids=tuple(ids)) if first < at else owner

    def chip_leads(self, token: Token) -> bool:
        """Whether the sentence names a chip before a value, and before it no GPU."""
        before = (t for t in self.tokens if t.end <= token.start and t.kind != "field")
        first = next((t for t in before if t.kind == "gpu" or t.field == "chip"), None)
        # "TU116, 1408 shaders, 6GB" lists what a card has.
        lists = first is not None and re.match(r",\s\d", self.text[first.end :]) is not None
        # "128 SMs of the AD102, which has 144"
        of_it = re.search(r"\b[AGT][A-Z]?\d{3},? (?:which|that|whose)\b", self.text[: token.start])
        return bool(of_it) or (first is not None and first.field == "chip" and not lists)

    @cached_property
    def of_own_subject(self) -> bool:
        """Whether it begins with a subject that no name says: "The successor has", "The larger one runs"."""
        verb = CUES["own_subject"].match(self.text) or CUES["moves_on"].match(self.text)
        fields = (t for t in self.tokens if t.kind == "field")
        return verb is not None and all(t.start >= verb.end() for t in fields)

    def is_of_another_subject(self, token: Token) -> bool:
        """Whether a value is what a subject has that is not a card: "Most PCs come with", "Memory in this
        segment is"."""
        start = self.text.rfind(";", 0, token.start) + 1
        led = CUES["subject_and_verb"].match(self.text, start, token.start)
        before = [t for t in self.tokens if led and start <= t.start < led.end("subject")]
        if led is None or any(t.kind != "field" and t.dimension != "bare" and t.field != "architecture"
                              for t in before):  # fmt: skip
            return False
        own = CUES["own_noun"].search(led["subject"])
        fields = [t for t in before if t.kind == "field" and t.field]
        placed = fields and CUES["in_or_on"].match(self.text, fields[-1].end, led.end("subject"))
        others = CUES["other_noun"].search(f"{led['subject']} {'' if own else led['place'] or ''}")
        return others is not None or not (led["place"] or own or (fields and not placed))

    @cached_property
    def goes_on(self) -> bool:
        """Whether it goes on about what the text speaks of: "It is 8 nm", "Got Ampere tech"."""
        return bool(CUES["pronoun"].match(self.text) or CUES["no_subject"].match(self.text))

    def ellipses(self, named: Sequence[Token]) -> Iterator[tuple[re.Match[str], Token, Subject, str]]:
        """Ratios without the second GPU's name: "twice its memory", of another GPU of this sentence or of the
        one that the text spoke of."""
        its = self.says("its_ratio") if " its " in self.text else None
        before = [g for g in named if g.end <= its.start()] if its else []
        if its is None or not before:
            return
        # "Slower than the A10, which has twice its memory", else the one that is compared with no other.
        which = re.match(r",? (?:which|that|with|at)\b", self.text[before[-1].end :])
        # "It doubles the H100's memory and more than doubles its bandwidth": of what the H100 is likened to.
        own = [g for g in before if not g.text.endswith(("'s", "\u2019s"))] or before
        speaks = next((g for g in reversed(own) if which or g.start not in self.compared), own[-1])
        for other in (*(subject([g]) for g in reversed(before)), self.about):
            if other and not other.several and not set(other.gpu_ids) & set(speaks.gpu_ids):
                yield its, speaks, other, its["field"]
                return

    def with_it(self, named: Sequence[Token]) -> list[Token]:
        """The GPUs of the sentence, and each "it" behind the only one before it."""
        found = list(named)
        for start, end in (it.span("it") for it in islice(CUES["it_too"].finditer(self.text), PRONOUNS)):
            before = [g for g in named if g.end <= start and g.start not in self.compared]
            if len({g.gpu_ids for g in before}) == 1:
                found.append(replace(before[-1], start=start, end=end))
        return sorted(found, key=lambda g: g.start)

    def subject_after(self) -> Subject | None:
        """What the next sentence speaks of: the GPU of this one, the first of several if it leads it."""
        if self.about and self.about.two and CUES["one_of_two"].search(self.text) and (
            {g.gpu_ids for g in self.gpus} <= {one.gpu_ids for one in self.about.two}
        ):  # fmt: skip
            # "The former has 80 GB." still leaves both to speak of.
            return self.about
        if self.about and self.gpus and all(
            g.start in self.enclosed or self.text[g.start : g.end] != g.text for g in self.gpus
        ):  # fmt: skip
            # "FP4 for inference (MI300X: no FP4)", "Four of them need a supply of 1600 W"
            return self.about
        if not self.gpus:
            return replace(self.about, sure=False) if self.about and self.numbered is not None else self.about
        it = CUES["about_it"].match(self.text)
        related = self.related.issuperset(g.start for g in self.gpus)
        # "Its 300 GB/s are half of the A10's", but "Its 300 GB/s put the L4 behind".
        if related and self.about is None:
            return None
        if self.about is not None and (related or not self.uncompared or (it and it["it"])):
            return self.about
        everyone, first = subject(self.gpus), self.gpus[0]
        if self.about is not None and CUES["for_example"].search(self.text, 0, first.start):
            return self.about
        if everyone is not None and not everyone.several:
            # A GPU far behind in a sentence may be named by the way: the text may go on about another one.
            other = self.about is not None and set(self.about.gpu_ids) != set(everyone.gpu_ids)
            return replace(everyone, sure=False) if other and first.start > LEAD else everyone
        alone = len({g.gpu_ids for g in self.uncompared}) == 1
        if alone and first.start in self.compared and (main := subject(self.uncompared)):
            # "Compared to the 3090, the 4090 ...": "it" is the latter.
            return main
        if first.start < NEAR and first.start not in self.compared:
            # "A and B", "A has it; B does not": "it" may be either.
            cues = ("list",) if any(t.dimension != "bare" for t in self.values) else ("list", "versus")
            listed = any(
                CUES[cue].fullmatch(self.text, first.end, self.gpus[1].start) for cue in cues
            ) or re.search(r";|\b(?:while|whereas)\b", self.text[first.end : self.gpus[-1].start])
            one = None if listed else subject([first])
            return replace(one, sure=alone) if one else everyone
        return everyone
