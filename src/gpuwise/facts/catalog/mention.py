"""Find which GPUs a text speaks of, and every variant that each spelling may mean.

A mention is a brand or none, a model ("A100", "RTX 6000 Ada"), and the words behind it that tell
variants apart ("(80GB SXM4)", "Laptop GPU"). The longest model wins. Words of one kind are
alternatives ("NVL / SXM"), words of several kinds narrow the choice; a word that fits no variant
("A100 24GB") is left outside the mention, so that it can be judged as a claim. A word that makes
another product of the model ("RTX 3080 Ti", "RTX 5090 Laptop") makes it a GPU outside the catalog.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from gpuwise.facts.catalog import load

_GAP = r"[ \t\u00a0\u2122\u00ae_-]{0,3}"
_MODEL_GAP = r"[ \t\u00a0\u2122\u00ae_(-]{0,3}"
_BRANDS = r"NVIDIA|AMD|Intel|Habana|GeForce|Tesla|Quadro|Instinct"
_BETWEEN = r"[ \t\u00a0]{0,2}[-_/(]?[ \t\u00a0(]{0,2}"
_WORD = (
    r"PCI-?e(?:[ \t]?Gen[ \t]?\d(?!\.|[ \t]?x\d))?(?!\s*(?:gen|x\d|[1-7](?:\.\d)?\b))"
    r"|SXM\d?|NVL(?:72)?|OAM|\d{1,3}[ \u00a0]?Gi?B?(?!\s?/\s?s\b|ps)"
    r"|HBM\d?e?|GDDR\d?X?|LPDDR\dX?|Laptop|Mobile|Max-?Q|Server|Workstation|Edition|Generation"
    r"|GPU|SUPER|Ti|Ada|SFF|WS|SE|(?-i:D)"
)
_END = r"(?![A-Za-z0-9]|\.\d)"
_ANOTHER = frozenset({"ti", "super", "laptop", "mobile", "maxq", "ada", "sff", "d"})
"""Words that make another product of the model before them."""
_KINDS = (("gb", "memory"), ("hbm", "type"), ("ddr", "type"))
_LISTED = r"[ \t\u00a0]*(?:/|,|&|\+|and|or|vs\.?|versus)[ \t\u00a0]*(?:the[ \t]+)?"
_THE = re.compile(r"\bthe[ \t]+$", re.IGNORECASE)
_ELSEWHERE = (
    r"(?:RTX|GTX|Quadro|Titan)[ \t-]?(?:(?:RTX|PRO|SFF)[ \t-]?){0,3}(?:[A-Z]{0,2}\d{3,4}[A-Z]{0,2}|V|Xp?)"
    r"|Tesla[ \t-][KMP]\d{1,3}|Radeon(?:[ \t-](?:RX|Pro|VII|W?\d{3,4}\w{0,3})){1,4}|MI\d{2,3}[A-Z]?"
    r"|Titan[ \t]RTX|RX[ \t-]?\d{4}(?:[ \t]XTX?)?|MX\d{3}|(?-i:M40|P40|L20|T10)|TPU[ \t-]?v\d\w?"
)
"""GPUs that the catalog lacks: named so that no figure of theirs goes to the GPU named before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """`text[start:end]` names a GPU; `gpu_ids` are all catalog entries that it may mean."""

    start: int
    end: int
    text: str
    gpu_ids: tuple[str, ...]
    """In the order of the catalog; empty for a GPU outside it."""


@dataclass(frozen=True, slots=True)
class _Variant:
    gpu_id: str | None
    words: frozenset[str]


def mentions(text: str, *, unknown: bool = False) -> tuple[Mention, ...]:
    """Every GPU that `text` names, in order and without overlap.

    GPUs outside the catalog are left out unless `unknown`; they have no `gpu_ids`.
    """
    found = tuple(_mentions(text))
    return tuple(mention for mention in found if unknown or mention.gpu_ids)


def _mentions(text: str) -> Iterator[Mention]:
    last: re.Match[str] | None = None
    for match in _pattern().finditer(text):
        if _in_list(match, last) if match["number"] else _is_name(match):
            last = match
            yield _mention(match)


def _is_name(match: re.Match[str]) -> bool:
    """Whether a model is meant: codes of two or three characters stand in capitals or behind a brand."""
    model = match["model"] or match["elsewhere"]
    return len(model) > 3 or model.isupper() or bool(match["brand"])


def _in_list(match: re.Match[str], last: re.Match[str] | None) -> bool:
    """Whether a bare number is a card's: in a list of RTX cards, `RTX 4090 / 5090`, or as `the 4090`."""
    if _THE.search(match.string[max(0, match.start() - 6) : match.start()]):
        return True
    if last is None or not (last["number"] or "RTX" in last[0].upper()):
        return False
    between = match.string[last.end() : match.start()]
    return re.fullmatch(_LISTED, between, re.IGNORECASE) is not None


def _mention(match: re.Match[str]) -> Mention:
    if match["elsewhere"]:
        return Mention(start=match.start(), end=match.end(), text=match[0], gpu_ids=())
    text, tail = match.string, match["tail"]
    gpu_ids, used = _meaning(match["model"] or "RTX" + match["number"], tail or "")
    end = match.end() if tail is None else match.start("tail") + used
    if "(" in text[match.start() : end] and text[end : end + 1] == ")":
        end += 1
    return Mention(start=match.start(), end=end, text=text[match.start() : end], gpu_ids=gpu_ids)


@lru_cache(maxsize=4096)
def _meaning(model: str, tail: str) -> tuple[tuple[str, ...], int]:
    """The ids that a model and the words behind it may mean, and how much of the words was used."""
    variants = _variants(model)
    kept, used = _narrowed(variants, tail)
    return tuple(sorted((v.gpu_id for v in kept if v.gpu_id), key=_rank)), used


def _narrowed(variants: tuple[_Variant, ...], tail: str) -> tuple[tuple[_Variant, ...], int]:
    """The variants that the words leave, and where the last word used ends."""
    asked: dict[str, set[str]] = {}
    kept, used = variants, 0
    for match in _words().finditer(tail):
        word = _canonical(match[0])
        trial = {kind: set(words) for kind, words in asked.items()}
        trial.setdefault(_kind(word), set()).add(word)
        fitting = tuple(v for v in variants if _fits(v, trial))
        if not fitting and word in _ANOTHER:
            return (), match.end()
        if not fitting or not any(_says(v, word) for v in variants):
            break
        asked, kept, used = trial, fitting, match.end()
    return kept, used


def _canonical(word: str) -> str:
    """`80 GiB` -> `80gb`, `Max-Q` -> `maxq`, `PCIe Gen5` -> `pcie`."""
    plain = re.sub(r"(\d)gi?b?$", r"\1gb", _plain(word))
    return "pcie" if plain.startswith("pcie") else plain


def _fits(variant: _Variant, asked: Mapping[str, set[str]]) -> bool:
    """Whether the variant has one of the asked words of every kind."""
    return all(any(_says(variant, word) for word in words) for words in asked.values())


def _says(variant: _Variant, word: str) -> bool:
    """`sxm` is said by `sxm4`, `hbm2` by `hbm2e`; a memory size only by itself."""
    return any(w == word or (not word[0].isdigit() and w.startswith(word)) for w in variant.words)


def _kind(word: str) -> str:
    for part, kind in _KINDS:
        if part in word:
            return kind
    return word if word in ("edition", "gpu", "generation") else "form"


@cache
def _by_model() -> Mapping[str, tuple[_Variant, ...]]:
    """Models without spaces, in lower case, to their variants; gpu_id None stands outside the catalog."""
    found: dict[str, list[_Variant]] = {}
    for gpu_id, models, words in load.models():
        for model in models:
            key = _plain(model)
            found.setdefault(key, []).append(_Variant(gpu_id, frozenset(words)))
    return {key: tuple(variants) for key, variants in found.items()}


def _variants(written: str) -> tuple[_Variant, ...]:
    """The variants of a model as written; `V100s` may be several V100 or the V100S."""
    key = _plain(written)
    variants = _by_model()[key]
    if written.endswith("s") and any(c.isupper() for c in written):
        variants += _by_model().get(key[:-1], ())
    return variants


def _plain(model: str) -> str:
    return re.sub(r"[^a-z0-9]", "", model.lower())


@cache
def _ranks() -> Mapping[str, int]:
    return {spec.id: place for place, spec in enumerate(load.all_gpus())}


def _rank(gpu_id: str) -> int:
    return _ranks()[gpu_id]


@cache
def _words() -> re.Pattern[str]:
    return re.compile(rf"(?:{_WORD}){_END}", re.IGNORECASE)


@cache
def _pattern() -> re.Pattern[str]:
    """Brand, model (the longest first) and the words behind it, as one expression.

    Every repetition has an end, so that no text takes more than linear time.
    """
    models = {model for _, models, _ in load.models() for model in models}
    longest = sorted(models, key=lambda model: (-len(model), model))
    parts = (_MODEL_GAP.join(re.findall(r"[A-Za-z]+\d+[A-Za-z]*|\d+[A-Za-z]*|[A-Za-z]+", m)) for m in longest)
    numbers = sorted({m[4:] for m in models if re.fullmatch(r"RTX \d{4}", m)})
    return re.compile(
        # Behind a word or a count: 8xA100. 0xA100 is a number.
        rf"(?:(?<![A-Za-z0-9])|(?<=[1-9]x)|(?<=\d0x))(?P<brand>(?:(?:{_BRANDS}){_GAP}){{0,3}})"
        rf"(?:(?:(?P<model>{'|'.join(parts)})|(?P<number>{'|'.join(numbers)}))"
        # What a possessive has ("the A4000's 16 GB") is a claim, no part of its name.
        rf"(?:['\u2019]s{_END}|s?{_END}(?P<tail>(?:{_BETWEEN}(?:{_WORD}){_END}){{0,8}}))"
        rf"|(?P<elsewhere>{_ELSEWHERE})s?{_END}(?:[ \t-]?(?:Ti|SUPER|Laptop|Mobile|Ada|GPU)\b){{0,4}})",
        re.IGNORECASE,
    )
