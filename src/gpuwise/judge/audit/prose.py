"""Find out which GPU and field a value in running text belongs to.

Every GPU that a sentence names, and the one that the text speaks of, is a candidate for every value. The
costs are those of layout: distance, other GPUs and turns ("while", "compared to") between, and what binds
close ("the A100's 40 GB", "40 GB on the A100"). Where two candidates cost nearly the same, and where a
dearer one makes a true sentence that the cheapest would not, nobody is accused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from gpuwise.facts import catalog
from gpuwise.judge.audit import evidence, kinds
from gpuwise.judge.audit.cells import NEAR, Reading, mark_near, own_field, scaled
from gpuwise.judge.audit.fields import COUNTS, FIELDS
from gpuwise.judge.audit.scan import Token, scan
from gpuwise.judge.audit.tables import Subject, claim_of, subject
from gpuwise.model.claim import Claim

NEARLY = 0.8
"""Costs that lie closer leave open whose a value is."""
PLAUSIBLE = 2.2
"""A candidate that costs so much more than the cheapest may still be meant, if that makes the text true."""
TELEGRAM = 9
"""Characters of words for each value below which a line is a table without its line ends."""
_PER_CHARACTER = 1 / 45
_OF_MEMORY = ("memory_bytes", "memory_type", "memory_bus_bits")

_SENTENCE = re.compile(
    r"(?<=[.!?])[\"')\]]{0,2}(?:\[\d+\]){0,4}\s+(?=[A-Z\[(\"'\u201c$]|\d+ ?x )|\n\n"
    r"|(?<=\))\.\s+(?=[A-Z])|\]\s(?=[A-Z][a-z]+ [a-z])"
)
_TURN = re.compile(
    r";|\b(?:while|whereas|but|than|versus|vs\.?|compared (?:to|with)|against|unlike|over the"
    r"|by contrast|in contrast|however)\b",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"(?:\b(?:than|versus|vs\.?|compared (?:to|with)|against|unlike|over|beats?|outperforms?|like"
    r"|from|replaces|successor to|exceeds|match(?:es)?|same (?:[\w-]+ ){0,3}as|similar to|identical to"
    r"|of|generation)|\()\s+(?:the |an? |prior-generation |older |previous |nvidia'?s? )*$",
    re.IGNORECASE,
)
_RELATED = re.compile(
    r"\b(?:than|versus|vs\.?|compared (?:to|with)|against|unlike|(?:versions?|variants?"
    r"|siblings?|brother|sister|successor|predecessor"
    r"|compromise|alternative|similar|equal|identical) (?:of|to)|replaces|like|over|beats?"
    r"|outperforms?|generation|same (?:[\w-]+ ){0,3}as)"
    r"\s+(?:the |an? |older |previous |nvidia |amd |single )*$",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:than|versus|vs\.?|compared (?:to|with)|over|unlike) [^,;()]{0,50}[,)]", re.IGNORECASE
)
_BINDS = re.compile(
    r"\s*\(?\s*(?:of (?:gpu )?(?:memory|vram|bandwidth|hbm\w*) )?(?:on|for|of|in|from|per"
    r"|with)\s+(?:the |an? |each |a single )?(?:nvidia |amd )?$",
    re.IGNORECASE,
)
_HAS = re.compile(
    r"(?:['\u2019]s?)?\s*(?:[,(]|\b(?:gpu|card|also|now|which|that|with|has|have|had|offers?"
    r"|provides?|comes? with|features?|packs?|sports?|ships? with|gets?|carries|boasts?|includes?"
    r"|uses?|delivers?|at|and its|a|an|just|only|up to|massive|the|full|about|around|its|whopping"
    r"|generous|=|:)\b\s*)*\s*",
    re.IGNORECASE,
)
_LIST = re.compile(r"\s*(?:,|/|&|and|or|,\s*and)\s*(?:the )?(?:nvidia |amd )?", re.IGNORECASE)
_NOT_OURS = re.compile(
    r"^\W{0,2}(?:of )?(?:additional|extra|headroom|spare|remaining|buffer|more|less|lower"
    r"|higher|fewer|(?:system|host|main|cpu"
    r"|server)[ -]?(?:ram|memory|ddr\d)|ram|lpddr\d|ddr\d (?:ecc |ram)|model|weights?|(?:nvme"
    r"|ssd|disk|storage)|dataset|file"
    r"|parameters?|checkpoint|per (?:node|server|rack)|free|left|for (?:the )?(?:model|weights|kv)|kv)",
    re.IGNORECASE,
)
_OTHERS_BEFORE = re.compile(
    r"(?:needs?|requires?|required|fits? (?:in|into|on)|consum\w+|tak(?:es?|ing)|exceed\w*|least"
    r"|minimum|under|below|models?|weights?|save[sd]?|saving|total(?:ing|s)?|combined|pool(?:ed)?"
    r"|aggregate|increase[sd]?|more|extra|additional|for|every|than) (?:of |about |around |up to "
    r"|than |approximately |~ ?)?$",
    re.IGNORECASE,
)
_SYSTEM = re.compile(
    r"\b(?:server|system|node|rack|psu|power supply|cluster|chassis|cpu|wall|dgx|hgx)\b", re.IGNORECASE
)
_DOUBT = re.compile(
    # Denied, reported or asked; measured or set; of a part, of several, or of something else.
    r"\bnot\b(?! only)|n['\u2019]t\b|\bnever\b|\bmyth\b|\bclaim(?:ed|s)?\b|\bwrote\b|\bfalse\b"
    r"|\bdifference\b|\bdelta\b|\bgap\b|\badvantage\b"
    r"|\brumou?r|\ballegedly\b|\bif\b|\bwould\b|\bmeasured\b|\btests?\b|\bshowed\b|\breached\b"
    r"|\bunder load\b|\btook\b|\bwas\b"
    r"|\blimit(?:ed|s)?\b|\bcap(?:ped)?\b|\bundervolt|\boverclock|\bbios\b|\bconnector|\bplug\b"
    r"|-pin\b|\bcables?\b|\btrains?\b|\bslices?\b|\bmig\b"
    r"|\binstances?\b|\beach\b|\bdies?\b|\bchiplets?\b|\bpairs?\b|\btwo\b|\bfour\b|\beight\b"
    r"|\btotal\b|\bcombined\b|\btogether\b"
    r"|\bdgx\b|\bhgx\b|\bnodes?\b|\bserver\b|\bbox\b|\bcluster|\bcpu\b|\bhost\b|\b(?:amd|nvidia"
    r"|intel)['\u2019]s\b"
    r"|\b(?:sxm\d?|pcie|nvl|laptop|mobile|base|older|newer)\b (?:module|version|card|variant|model|part)\b",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"[^.;]{0,24}\b(?:increase|bios|plug|connector|per direction|each way|slices?|in total|combined"
    r"|false|psu)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\W*(?:that|this|it)\b[^.]{0,12}\b(?:wrong|false|incorrect|not true|nonsense|a (?:myth|typo))",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\s*(?:against|vs\.?|versus|compared (?:to|with)|instead of|rather than)\s*(?:about |just |only )?",
    re.IGNORECASE,
)
_LAUNCHED = re.compile(
    r"\b(?:launch|announc|releas|introduc|debut|unveil|available|arriv)\w*\b[^.;]{0,30}$", re.IGNORECASE
)
_NETWORK = re.compile(
    r"\b(?:infiniband|ethernet|network|nic|storage|nvme|pci-?e?|disk|per direction|unidirectional)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph with the source line of every character, and what it speaks of before it begins."""

    text: str
    lines: tuple[tuple[int, int], ...]
    """(offset, line), ascending."""
    about: Subject | None
    block: int

    def line(self, offset: int) -> int:
        return next((line for start, line in reversed(self.lines) if start <= offset), self.lines[0][1])


@dataclass(frozen=True, slots=True)
class Left:
    """A value that was not assigned to a GPU and field."""

    line: int
    text: str


def claims(text: Text) -> Iterator[Claim | Left | Subject]:
    """Every claim of a paragraph; last, what it spoke of in the end."""
    about = text.about
    topic: str | None = None
    for start, end in _sentences(text.text):
        sentence = text.text[start:end]
        if len(sentence) > 4000:
            continue
        tokens = scan(sentence)
        gpus = [t for t in tokens if t.kind == "gpu"]
        for place, token in enumerate(tokens):
            if token.field.startswith("peak:") and token.field != "peak:":
                topic = token.field
            if token.kind not in ("value", "name") or token.field in ("sparse", "dense", "none"):
                continue
            line = text.line(start + token.start)
            reading = _reading(sentence, tokens, place, topic)
            if reading is None:
                if token.dimension in ("bytes", "bytes/s", "op/s", "w", "hz") and (gpus or about):
                    yield Left(line, token.text)
                continue
            claim = _assigned(sentence, gpus, about, reading, line, text.block)
            if claim is not None and (_doubtful(sentence, tokens, place) or _DENIED.match(text.text, end)):
                claim = replace(claim, sure=False)
            yield claim if claim is not None else Left(line, token.text)
        about = _next(sentence, gpus, about)
    if about is not None:
        yield about


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _SENTENCE.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _doubtful(sentence: str, tokens: Sequence[Token], place: int) -> bool:
    """Whether the words around a value make it something else than what its product has."""
    token = tokens[place]
    # The names of GPUs are not words: "RTX PRO 6000 Server Edition".
    words = sentence[max(0, token.start - 70) : token.start]
    for gpu in (t for t in tokens if t.kind == "gpu"):
        words = words.replace(gpu.text, " ")
    if _DOUBT.search(words) or _AFTER.match(sentence, token.end) or sentence.endswith("?"):
        return True
    values = [t for t in tokens if t.kind == "value"]
    if len(values) > 4:
        # A table without its line ends: many values, few words.
        typed = sum(t.end - t.start for t in tokens)
        if len(sentence) - typed < TELEGRAM * len(values) or sentence.count("|") > 3:
            return True
    # Values that touch are the cells of a table that ran together.
    if any(a.end == b.start and {a.kind, b.kind} <= {"value", "name"} for a, b in pairwise(tokens)):
        return True
    # A rate that no word names is taken for that of the memory; it may be that of a link.
    rates = ("memory_bytes_per_s", "link_bytes_per_s", *_OF_MEMORY)
    if token.dimension in ("bytes/s", "bits/s") and not any(t.field in rates for t in tokens):
        return True
    # "350 W against 300 W" compares two GPUs in the order of a list that only a reader sees.
    beside = [tokens[n] for n in (place - 1, place + 1) if 0 <= n < len(tokens)]
    for other in beside:
        first, second = sorted((token, other), key=lambda t: t.start)
        if other.dimension == token.dimension and _AGAINST.fullmatch(sentence, first.end, second.start):
            return True
    return (
        token.dimension == "op/s" and mark_near(sentence, tokens, place) is None
        and re.search(r"sparsity|sparse", sentence[token.end :]) is not None
    )  # fmt: skip


def _next(sentence: str, gpus: Sequence[Token], about: Subject | None) -> Subject | None:
    """What the next sentence speaks of: the GPU of this one, the first of them if it leads the sentence."""
    if not gpus:
        return about
    if about is not None and all(_RELATED.search(sentence[max(0, g.start - 40) : g.start]) for g in gpus):
        return about
    everyone = subject(gpus)
    if everyone is not None and not everyone.several:
        return everyone
    first = gpus[0]
    if first.start < 40 and not _COMPARED.search(sentence[: first.start]):
        listed = len(gpus) > 1 and _LIST.fullmatch(sentence[first.end : gpus[1].start])
        one = None if listed else subject([first])
        return replace(one, sure=False) if one else everyone
    return everyone


def _reading(sentence: str, tokens: Sequence[Token], place: int, topic: str | None) -> Reading | None:
    """What a value or name in a sentence claims, GPU aside; None where no words say it."""
    token = tokens[place]
    if token.kind == "name":
        if token.field == "launch" and not _LAUNCHED.search(sentence[: token.start]):
            return None
        values = token.numbers or (token.name,)
        return Reading(field=token.field, values=values, stated=token.text, token=token)
    field = _field(sentence, tokens, place, topic)
    numbers = scaled(token, field, None) if field else ()
    if not field or not numbers:
        return None
    if field == "launch":
        return Reading(field=field, values=(f"{numbers[0].value:.0f}",), stated=token.text, token=token)
    sparse = mark_near(sentence, tokens, place) if field.startswith("peak:") else None
    return Reading(field=field, values=numbers, stated=token.text, token=token, sparse=sparse)


def _field(sentence: str, tokens: Sequence[Token], place: int, topic: str | None) -> str | None:
    """The field that the words around a value give it."""
    token = tokens[place]
    before, after = sentence[: token.start], sentence[token.end : token.end + 60]
    dimension = {"bits/s": "bytes/s"}.get(token.dimension, token.dimension)
    if dimension == "usd":
        if token.hourly or re.match(r"\s?(?:/|per |an )\s?(?:gpu[- ])?h", after):
            return "rent per hour"
        return (
            "launch_price_usd"
            if re.search(r"\b(?:MSRP|launch(?:ed)?)\b", before[-40:] + after[:30])
            else None
        )
    own = own_field(sentence, tokens, place)
    if own == "none" or (dimension in ("bytes", "w", "bytes/s") and _NOT_OURS.match(after)):
        return None
    if own is not None and not (own.startswith("peak:") and dimension == "count"):
        if own == "memory_bytes" and _OTHERS_BEFORE.search(before[-30:]):
            return None
        if own in COUNTS and re.search(r"\beach\b[\w ]{0,12}$|\bper \w+ (?:of|with)? ?$", before[-24:]):
            return None
        if own in COUNTS and re.match(
            r"[^.,;=(\d]{0,40}\b(?:per (?:sm|cu|multi)|each)", after, re.IGNORECASE
        ):
            return None
        return None if own == "power_w" and _SYSTEM.search(before[-40:] + after[:30]) else own
    if dimension == "bare":
        year = token.numbers[0].value
        said = _LAUNCHED.search(before[-60:]) and re.search(
            r"\b(?:in|since)\s+(?:early |late |mid-?)?$", before[-14:]
        )
        return "launch" if said and 2005 <= year <= 2035 and len(token.text) == 4 else None
    near = _nearest(sentence, tokens, place)
    if dimension == "bytes":
        return _memory(sentence, tokens, place, near, before)
    if dimension == "bytes/s":
        if _NETWORK.search(before[-30:]) or _NETWORK.search(after[:24]):
            return None
        if near in ("link_bytes_per_s", "memory_bytes_per_s"):
            return near
        if near in _OF_MEMORY:
            return "memory_bytes_per_s"
        before_that = tokens[max(0, place - 2) : place]
        if not before_that or before_that[-1].kind != "gpu" or not token.start - before_that[-1].end < NEAR:
            return None
        # "1.0 TB/s compared to the other one's 0.9 TB/s": what is compared is of one field.
        if before_that[0].kind == "value" and before_that[0].dimension == token.dimension:
            return _field(sentence, tokens, place - 2, topic)
        gap = sentence[before_that[-1].end : token.start]
        return "memory_bytes_per_s" if gap.strip() and _HAS.fullmatch(gap) else None
    if dimension == "op/s":
        # "Tensor performance is another area. It offers 222.2 TFLOPS": the format was named before.
        found = near if near is not None and near.startswith("peak:") and near != "peak:" else topic
        # "3,352 AI TOPS" may count any format.
        return None if found == "peak:tensor" and "fl" not in token.text.lower() else found
    if dimension == "w":
        return (
            None
            if _SYSTEM.search(before[-40:] + after[:30])
            or re.match(r"\s*(?:psu|power suppl)", after, re.IGNORECASE)
            else "power_w"
        )
    if dimension == "hz":
        return near if near in ("boost_hz", "base_hz") else None
    if dimension == "bit":
        return (
            "memory_bus_bits"
            if near == "memory_bus_bits"
            or re.match(r"\s*(?:wide )?(?:memory )?(?:bus|interface)", after, re.IGNORECASE)
            else None
        )
    if dimension == "nm":
        return "process_nm"
    return None


def _nearest(sentence: str, tokens: Sequence[Token], place: int) -> str | None:
    """The field word nearest to a value, of those that take such a value, no other such value between."""
    token = tokens[place]
    dimension = {"bits/s": "bytes/s"}.get(token.dimension, token.dimension)
    best: tuple[float, str] | None = None
    for step in (1, -1):
        at = place + step
        while 0 <= at < len(tokens):
            other = tokens[at]
            gap = other.start - token.end if step > 0 else token.start - other.end
            if gap > 90 or (other.kind == "value" and other.dimension == token.dimension and step > 0):
                break
            known = FIELDS.get(other.field)
            if known is not None and other.field and (
                known.dimension == dimension
                or other.field in ("memory_type", "memory_bytes", "memory_bus_bits")
            ) and not (dimension == "op/s" and known.dimension != "op/s"):  # fmt: skip
                between = sentence[token.end : other.start] if step > 0 else sentence[other.end : token.start]
                cost = gap + 40 * len(re.findall(r"[;]|, |\. |\band\b", between)) + (8 if step < 0 else 0)
                if known.dimension != dimension:
                    cost += 30
                if best is None or cost < best[0]:
                    best = (cost, other.field)
                if other.field != "peak:":
                    break
            at += step
    return best[1] if best is not None else None


def _memory(sentence: str, tokens: Sequence[Token], place: int, near: str | None, before: str) -> str | None:
    """memory_bytes where a value in bytes is a GPU's memory: beside its words, its type, or what "has" it."""
    token = tokens[place]
    if near == "l2_bytes" or _OTHERS_BEFORE.search(before[-30:]):
        return "l2_bytes" if near == "l2_bytes" else None
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    if after is not None and after.field in ("memory_type", "memory_bytes") and after.start - token.end < 24:
        return "memory_bytes"
    previous = tokens[place - 1] if place else None
    if previous is not None and previous.field in ("memory_bytes", "memory_type"):
        gap = sentence[previous.end : token.start]
        if len(gap) < 30 and not re.search(r"[.;]|\bneeds?\b|\bfor\b", gap):
            return "memory_bytes"
    if previous is not None and previous.kind == "gpu":
        gap = sentence[previous.end : token.start]
        owns = previous.text.endswith(("'s", "\u2019s")) or gap.strip()
        if owns and len(gap) < 40 and _HAS.fullmatch(gap):
            return "memory_bytes"
    return None


def _assigned(
    sentence: str, gpus: Sequence[Token], about: Subject | None, reading: Reading, line: int, block: int
) -> Claim | None:
    """The claim with the GPU that layout and catalog together make likeliest; None where nobody can tell."""
    token = reading.token
    options: list[tuple[float, Subject]] = []
    named: list[float] = []
    for place, gpu in enumerate(gpus):
        one = subject([gpu])
        if one is not None:
            options.append((_cost(sentence, gpus, place, token), one))
    if about is not None:
        # What a sentence names before the value comes first; then what the text spoke of.
        named = [
            _cost(sentence, gpus, n, token)
            for n, g in enumerate(gpus)
            if g.end <= token.start and not _RELATED.search(sentence[max(0, g.start - 40) : g.start])
        ]
        carried = min(named) + 1.5 if named else 1.0
        options.append((carried if about.sure else carried + 0.5, about))
    if not options:
        return None
    name = _architecture(sentence, gpus, token)
    if name:
        options = [(c if _is_of(s, name) else c + 2.5, s) for c, s in options]
    options.sort(key=lambda one: one[0])
    cost, owner = options[0]
    rivals = [(c, s) for c, s in options[1:] if set(s.gpu_ids) != set(owner.gpu_ids)]
    sure = not rivals or rivals[0][0] - cost >= NEARLY
    # What the text spoke of before is not meant where the sentence names its own GPU first.
    meant = [(c, s) for c, s in options if s is not about or owner is about or not named]
    true = [s for c, s in meant if c - cost < PLAUSIBLE and _true(reading, s)]
    if true and true[0] is not owner:
        owner = true[0]
    # "A100 and H100 have 80 GB" is said of both.
    conjoined = next(
        (n for n, g in enumerate(gpus) if g.gpu_ids == owner.gpu_ids and g.text == owner.text), None
    )
    if conjoined and not true and _LIST.fullmatch(sentence[gpus[conjoined - 1].end : gpus[conjoined].start]):
        sure = False
    # What the text spoke of before is not sure to own a value of a sentence about another GPU.
    others = [
        g for g in gpus
        if not (set(g.gpu_ids) & set(owner.gpu_ids))
        and not _COMPARED.search(sentence[max(0, g.start - 40) : g.start])
    ]  # fmt: skip
    if (
        (owner is about and others)
        or cost > 6
        or (name and not _is_of(owner, name))
        or (owner.several and not true)
    ):
        sure = False
    # Architecture, chip and interface in passing are often of another product than the nearest.
    plain_ddr = any(str(value).startswith(("DDR", "LPDDR")) for value in reading.values)
    if reading.field == "memory_type" and (len(gpus) > 1 or plain_ddr):
        sure = False
    if reading.field in ("architecture", "chip", "pcie_generation", "process_nm") and (
        len(gpus) != 1 or cost > 1 or owner is about
    ):
        sure = False
    return claim_of(reading, owner, line, block, sure)


def _architecture(sentence: str, gpus: Sequence[Token], token: Token) -> str:
    """The architecture that a sentence names before a value, with no GPU between: "Hopper has 528 ..."."""
    start = max((g.end for g in gpus if g.end <= token.start), default=0)
    names = [
        t
        for t in scan(sentence)
        if t.field == "architecture" and t.kind == "name" and start <= t.start < token.start
    ]
    return names[-1].name if names else ""


def _is_of(owner: Subject, architecture: str) -> bool:
    wanted = kinds.word("architecture", architecture)
    known = [kinds.word("architecture", catalog.get(i).architecture or "") for i in owner.gpu_ids]
    return not known or any(name == wanted for name in known)


def _true(reading: Reading, owner: Subject) -> bool:
    return any(
        evidence.supports(gpu_id, reading.field, value)
        for gpu_id in owner.gpu_ids
        for value in reading.values
    )


def _cost(sentence: str, gpus: Sequence[Token], place: int, token: Token) -> float:
    """How far a GPU is from a value in the sentence's layout."""
    gpu = gpus[place]
    if gpu.start >= token.end:
        between = sentence[token.end : gpu.start]
        distance = len(between) * _PER_CHARACTER
        others = sum(token.end <= g.start < gpu.start for g in gpus)
        if (
            _BINDS.search(between[-40:])
            and len(between) < 60
            and not _TURN.search(between)
            and "," not in between
        ):
            return 0.2 + distance + 1.5 * others
        if between.strip() == "(":
            return 0.1
        # "72 W L4" and "the 80 GB A100" stand right before their name.
        if len(between) <= 2:
            return 0.4
        return 2.2 + distance + 1.5 * others + 1.5 * len(_TURN.findall(between))
    # "..., faster than the A100, ..." is an aside that ends with its comma.
    between = _ASIDE.sub("", sentence[gpu.end : token.start])
    distance = min(len(between) * _PER_CHARACTER, 4.0)
    others = sum(gpu.end <= g.start and g.end <= token.start and g.text in between for g in gpus)
    cost = distance + 1.5 * others + 1.2 * len(_TURN.findall(between))
    owns = gpu.text.endswith(("'s", "\u2019s")) or between.startswith(("'s", "\u2019s", "\u2019", "'"))
    if owns and len(between) < 60:
        return max(0.0, cost - 0.8)
    # What a GPU is compared with, or derived from, seldom owns what follows.
    before = sentence[max(0, gpu.start - 40) : gpu.start]
    if re.match(r",? (?:whose|which|with its)\b", between):
        return cost
    if _RELATED.search(before):
        cost += 3.2
    elif _COMPARED.search(before) and not _HAS.fullmatch(between):
        cost += 3.2 if re.search(r"[,;)]", between) else 1.6
    return cost
