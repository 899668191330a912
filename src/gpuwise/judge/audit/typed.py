"""Mark the GPUs and values of a sentence, beyond what single words say.

A GPU may be called by its number, maker or form, or be counted; a list's values may be its GPUs', in order.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise

from gpuwise.facts import catalog
from gpuwise.judge.audit import evidence
from gpuwise.judge.audit.cells import OF_UNIT
from gpuwise.judge.audit.grid import Scope, Subject, subject, subject_of, variant
from gpuwise.judge.audit.words import CUES, NAMES, RATHER, Token, count_of, cue_before, scan, united

# Characters of words for each value below which a line is a table without its line ends.
TELEGRAM = 9
# Pronouns of a sentence for which a GPU is looked for.
PRONOUNS = 8
# Typed words of a sentence that is looked at so closely.
MOST = 400
# Dimensions of values whose unit another one may share, and how many times as large that one is at most.
UNITED, LIKELY = frozenset({"w", "bytes", "bytes/s", "op/s", "hz", "bit", "usd"}), 8
BRANDS: Mapping[str, str] = NAMES["brands"]
_VERSUS = ("vs", "vs.", "versus")
# The number that ends the name of a card.
_CARD = re.compile(r"(?<=\s)\d{4}$")
# Between the values of two GPUs.
_JOINED = re.compile(r"\s?(?:,|/|and|or|,\s?and|vs\.?|versus|against|[\u3068\u548c\u5bf9\u3001])\s?")
_OF_LINE = re.compile(r"(?:[RG]TX|RX) \d{4}")
_BASE = re.compile(r"GTX (\d{4})(?= (?:Ti|SUPER)\b)")


def short_names(gpus: Iterable[Token]) -> Mapping[str, tuple[str, ...]]:
    """What GPUs that a document names in full may be called further on, each if it is one's alone: by their
    number, or by what follows it; beside a GTX 1660 Ti the GTX 1660 by its own."""
    found: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    bases: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for gpu in gpus:
        for part in CUES["parts_of_name"].findall(gpu.text) if gpu.gpu_ids else ():
            found[part.lower()].add(gpu.gpu_ids)
        for base in (_BASE.search(catalog.get(i).name) for i in gpu.gpu_ids):
            if base and (named := catalog.mentions(base[0])):
                bases[base[1]].add(named[0].gpu_ids)
    return {part: next(iter(ids)) for part, ids in {**bases, **found}.items() if len(ids) == 1}


def _numbered(
    text: str, tokens: Sequence[Token], about: Subject | None, short: Mapping[str, tuple[str, ...]]
) -> Iterator[Token]:
    """The words, with the number alone of a GPU that is named in full, here or before, as that GPU: "The RTX
    5090 is new. The 5090 ..."."""
    named = [(t.text, t.gpu_ids) for t in tokens if t.kind == "gpu"]
    named += [(about.text, about.gpu_ids)] if about is not None and not about.several else []
    numbers = {match[0]: ids for name, ids in named if (match := _CARD.search(name)) is not None}
    called = {
        m.span(m.lastgroup or 0): ids for m in CUES["short_name"].finditer(text)
        if (ids := short.get((m["name"] or m["its"]).lower()) or _sister(m, tokens, about))
    }  # fmt: skip
    for (start, end), ids in called.items():
        if not any(t.kind == "gpu" and t.start < end and start < t.end for t in tokens):
            yield Token(kind="gpu", start=start, end=end, text=catalog.get(ids[0]).name, gpu_ids=ids)
    for place, token in enumerate(tokens):
        follows = tokens[place + 1] if place + 1 < len(tokens) else token
        counts = follows.kind == "field" and follows.start - token.end < TELEGRAM
        if token.kind != "gpu" and any(start <= token.start < end for start, end in called):
            continue
        if token.dimension == "bare" and token.text in numbers and not counts:
            ids = numbers[token.text]
            yield Token(kind="gpu", start=token.start, end=token.end, text=token.text, gpu_ids=ids)
        else:
            yield token


def _sister(match: re.Match[str], tokens: Sequence[Token], about: Subject | None) -> tuple[str, ...]:
    """The card that its suffix alone names beside another one of its number: behind an RTX 4070 "the Ti"."""
    before = [t.gpu_ids for t in tokens if t.kind == "gpu" and t.end <= match.start()]
    ids = before[-1] if before else about.gpu_ids if about is not None and not about.several else ()
    base = _OF_LINE.search(catalog.get(ids[0]).name) if ids and match["name"] else None
    if base is None or match["name"][0].isdigit() or match["name"] == "super":
        return ()
    named = catalog.mentions(f"{base[0]} {match['name']}")
    return named[0].gpu_ids if named and named[0].end > len(base[0]) else ()


def _of_brand(text: str, tokens: Sequence[Token], rivals: Sequence[Subject]) -> Iterator[Token]:
    """The words, with the name of a maker alone as the GPU of it, where two were named so far, of two makers:
    "While AMD has 16 GB, Nvidia offers 12 GB"."""
    makers = [{str(catalog.get(i).vendor).lower() for i in one.gpu_ids} for one in rivals]
    brands = CUES["brand"].finditer(text) if len(makers) == 2 and sum(map(len, makers)) == 2 else ()
    for brand in islice(brands, PRONOUNS):
        of = {BRANDS[brand[0].lower()]}
        if of in makers and not any(t.start < brand.end() and brand.start() < t.end for t in tokens):
            one = rivals[makers.index(of)]
            named = any({*t.gpu_ids} & {*one.gpu_ids} for t in tokens)
            if not (one.several or named) and makers[0] != makers[1]:
                start, end = brand.span()
                yield Token(kind="gpu", start=start, end=end, text=one.text, gpu_ids=one.gpu_ids)


def _of_two(text: str, tokens: Sequence[Token], about: Subject | None) -> Iterator[Token]:
    """The former, the second or the newer card as the GPU that is meant: of two that the sentence has named,
    or that the text spoke of."""
    for match in islice(CUES["one_of_two"].finditer(text), PRONOUNS):
        start, end = match.span()
        named = {t.gpu_ids: Subject(t.text, t.gpu_ids) for t in tokens if t.kind == "gpu" and t.end <= start}
        two = tuple(named.values()) or (about.two if about is not None else ())
        if len(two) == 2 and all(one.gpu_ids for one in two) and (order := match.lastgroup) is not None:
            if order in ("older", "newer"):
                two = tuple(sorted(two, key=lambda one: catalog.get(one.gpu_ids[0]).text("launch") or ""))
            one = two[order in ("two", "newer")]
            yield Token(kind="gpu", start=start, end=end, text=one.text, gpu_ids=one.gpu_ids)


def typed(text: str, about: Subject | None, scope: Scope, rivals: Sequence[Subject]) -> tuple[Token, ...]:
    """The typed words of a sentence: "the PCIe version" is that of what the text speaks of; "the P100 with 12
    GB", or "a 12 GB P100", is the variant of that size; where the text is about laptops, theirs is meant."""
    tokens: list[Token] = []
    spoken = about.gpu_ids if about is not None and about.sure else ()
    laptops = (scope.portable or "laptop" in "".join(spoken) or CUES["of_laptops"].search(text)) and (
        "desktop" not in text.lower()
    )
    named = [*_numbered(text, scan(text), about, scope.short)]
    named += _of_brand(text, named, rivals)
    named += _of_two(text, tuple(named), about)
    for token in sorted(named, key=lambda t: t.start):
        size = None
        if len(token.gpu_ids) > 1:
            size = CUES["of_size"].match(text, token.end) or cue_before("size_before", text, token.start)
        owner = subject([token]) if size else None
        narrowed = variant(owner, size[1]).gpu_ids if size and owner else token.gpu_ids
        called = laptops or CUES["of_laptops"].search(text, max(0, token.start - 2 * TELEGRAM), token.start)
        if called and token.kind == "gpu" and (theirs := _laptop(token)):
            narrowed = spoken if set(theirs) >= {*spoken} != set() else (*narrowed, *theirs)
        tokens.append(token if narrowed == token.gpu_ids else replace(token, gpu_ids=narrowed))
    gpus = [t for t in tokens if t.kind == "gpu"]
    for match in islice(CUES["version"].finditer(text), PRONOUNS):
        name = next((g.text for g in reversed(gpus) if g.end <= match.start()), about.text if about else "")
        # "The PCIe version of the H100"
        of = next((g for g in gpus if re.fullmatch(r" of (?:the |an? )?", text[match.end() : g.start])), None)
        name, end = (of.text, of.end) if of else (name, match.end())
        forms = "".join(CUES["form_name"].findall(" " + match["form"])).replace("Go", "GB")
        form = subject_of(f"{CUES['form_name'].sub('', name)}{forms}") if name else None
        narrows = form is not None and form.gpu_ids and not (of and {*form.gpu_ids} >= {*of.gpu_ids})
        if form is not None and narrows and not form.several:
            tokens = [t for t in tokens if t.end <= match.start("form") or t.start >= end]
            start, ids = match.start("form"), form.gpu_ids
            version = Token(kind="gpu", start=start, end=end, text=form.text, gpu_ids=ids)
            tokens.append(version)
    for match in islice(CUES["of_them"].finditer(text) if " of th" in text else (), PRONOUNS):
        # "Two of them hold 96 GB"
        last = next((subject([g]) for g in reversed(gpus) if g.end <= match.start()), about)
        if last is not None and not last.several:
            start, end, ids, number = match.start(), match.end(1), last.gpu_ids, count_of(match[1])
            tokens.append(Token(kind="gpu", start=start, end=end, text=last.text, gpu_ids=ids, count=number))
    tokens.sort(key=lambda token: token.start)
    for place in range(len(tokens)):
        tokens[place] = _in_same_unit(text, tokens, place)
    return tuple(tokens)


def _in_same_unit(text: str, tokens: Sequence[Token], place: int) -> Token:
    """A word, with the unit of the value before where it is the bare one of another GPU: "The T4 draws 70 W,
    the L4 72", "70 W for the T4 and 72 for the L4"."""
    token, gpu, follows = tokens[place], tokens[place - 1], tokens[min(place + 1, len(tokens) - 1)]
    before = (t for t in reversed(tokens[:place]) if t.dimension not in ("", "bare"))
    first = next(before, token)
    year = re.fullmatch(r"20[0-3]\d", token.text)
    if token.dimension != "bare" or first.dimension not in UNITED or year or len(first.numbers) > 1:
        return token
    has = gpu.kind == "gpu" and CUES["has"].fullmatch(text, gpu.end, token.start)
    bound = follows.kind == "gpu" and CUES["binds"].fullmatch(text, token.end, follows.start)
    if not (bound or (has and CUES["clause_goes_on"].match(text, token.end))):
        return token
    one = united(token, first)
    likely = 1 / LIKELY < one.numbers[0].value / (first.numbers[0].value or 1.0) < LIKELY
    return one if likely else token


def _laptop(gpu: Token) -> tuple[str, ...]:
    """The laptops' GPU that is called like a desktop card."""
    name = catalog.get(gpu.gpu_ids[0]).name if gpu.text.isdigit() and gpu.gpu_ids else gpu.text
    name = re.sub(r" (?:GDDR\dX?|\d+ GB)$", "", name)
    found = subject_of(f"{name} Laptop GPU") if re.search(r"[RG]TX", name) else None
    return tuple(i for i in found.gpu_ids if "laptop" in i and i not in gpu.gpu_ids) if found else ()


def _beside(text: str, tokens: Sequence[Token], about: Subject | None) -> Iterator[tuple[int, Token]]:
    """The starts of two values in brackets behind two GPUs that are compared, each with its GPU: "faster than
    the A30 (600 GB/s vs 933 GB/s)"."""
    spoken = [Token(kind="gpu", start=-1, end=-1, text=about.text, gpu_ids=about.gpu_ids)] if about else []
    for one, two in pairwise(t for t in tokens if t.kind == "value"):
        before = [t for t in tokens if t.kind == "gpu" and t.end < one.start]
        owners = [*spoken, *before][-2:]
        behind = bool(before) and text[before[-1].end : one.start] == " (" and (
            cue_before("compared", text, before[-1].start)
            or CUES["list"].fullmatch(text, owners[0].end, before[-1].start)
        )  # fmt: skip
        if behind and len({g.gpu_ids for g in owners}) == 2 and one.measures == two.measures and (
            RATHER.fullmatch(text, one.end, two.start)
        ):  # fmt: skip
            yield from zip((one.start, two.start), owners, strict=True)


def in_order(
    text: str, tokens: Sequence[Token], about: Subject | None, pair: Sequence[Subject] = ()
) -> tuple[tuple[Token, ...], dict[int, Token]]:
    """The words with each value of an ordered list apart, and by the start of such a value its GPU:
    "The T4 and the L4 have 16 and 24 GB respectively", "T4/L4: 16/24 GB"."""
    gpus = [t for t in tokens if t.kind == "gpu"]
    values = [t for t in tokens if t.kind == "value" and t.numbers]
    said = CUES["respectively"].search(text) is not None
    # "Their bandwidths are 300 and 320 GB/s, respectively": two GPUs named earlier, as if before the text.
    two = () if gpus else about.two if about is not None and about.several else pair if len(pair) == 2 else ()
    named: Sequence[Subject | Token] = two or (
        gpus if len(gpus) == 2 and all(t.start > gpus[1].end for t in values) else ()
    )
    # So are "The memory is 16 and 24 GB, the power 70 and 72 W", where the catalog has most of it.
    parts: list[Token] = []
    for value in values:
        # Each number of "16/24 GB" by itself.
        written = [*re.finditer(r"\d[\d.,]*", value.text)] if len(value.numbers) > 1 else []
        parts += [value] if len(written) != len(value.numbers) else []
        for match, number in zip(written, value.numbers, strict=False):
            said_so = value.text[match.start() :] if match is written[-1] else match[0]
            start, end = value.start + match.start(), value.start + match.start() + len(said_so)
            one = replace(value, start=start, end=end, text=said_so, numbers=(number,), is_range=False)
            parts += [one] if len(written) == len(value.numbers) else []
    pairs = [*zip(parts[::2], parts[1::2], strict=False)] if len(named) == 2 and not said else []
    known = [
        any(evidence.supports(i, OF_UNIT[b.measures], n) for i in one.gpu_ids)
        for a, b in pairs if b.measures in OF_UNIT
        for t, one in zip((a, b), named, strict=True)
        for n in united(t, b).numbers
    ]  # fmt: skip
    paired = len(known) < 2 * sum(known) and len(parts) == 2 * len(pairs) and all(
        a.dimension in ("bare", b.dimension) and _JOINED.fullmatch(text, a.end, b.start) for a, b in pairs
    )  # fmt: skip
    two = two if said or paired else ()
    for at, mine in enumerate(two, -2):
        gpus.append(Token(kind="gpu", start=at, end=at, text=mine.text, gpu_ids=mine.gpu_ids))
    gaps = [text[a.end : b.start].strip() for a, b in pairwise(gpus)]
    slashed = bool(gaps) and set(gaps) == {"/"}
    slashed |= len(gaps) == 1 and gaps[0] in _VERSUS
    listed = gaps and all(
        two or gap in _VERSUS or CUES["list"].fullmatch(text, a.end, b.start)
        for gap, (a, b) in zip(gaps, pairwise(gpus), strict=True)
    )
    if not listed or len(tokens) > MOST // 5 or not (slashed or said or paired):
        return tuple(tokens), dict(_beside(text, tokens, about))
    owned: dict[int, Token] = {}
    for at in range(len(parts) - len(gpus) + 1):
        run = parts[at : at + len(gpus)]
        last = run[-1].dimension
        if (last != "bare" or said or paired) and {t.dimension for t in run} <= {"bare", last} and all(
            _JOINED.fullmatch(text, a.end, b.start) for a, b in pairwise(run)
        ):  # fmt: skip
            for n, (value, gpu) in enumerate(zip(run, gpus, strict=True), at):
                owned[value.start], parts[n] = gpu, united(value, run[-1])
    others = [t for t in tokens if t not in values]
    return tuple(sorted([*others, *parts], key=lambda t: t.start)) if owned else tuple(tokens), owned
