"""The rules of `data/words.toml` with their patterns written out, and how they are looked for in a text.

A question is read by some thousand expressions, each of which takes half a millisecond to compile. Nearly all
of them hold words, so `holds` looks first whether one of these stands in the text: compiled are only those of
which one does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from gpuwise.facts import catalog, prices
from gpuwise.judge.choose.need import DATA, WORDS
from gpuwise.model import units
from gpuwise.model.precision import PRECISIONS, WEIGHTS

NUMBERS = {"a": 1, "an": 1, "single": 1, "dual": 2, "double": 2, "triple": 3, "quad": 4, **units.NUMBERS}
MANY = {
    "": 1, "dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9,
    "trillion": 10**12,
}  # fmt: skip
# What is taken for usual where a question does not say it, with a reason beside each.
USUAL: Any = SimpleNamespace(**WORDS["usual"])
# What tokens are read, and what is written.
ROLES = {
    "in": r"in(?:put)?|prompts?",
    "out": r"out(?:put)?|answers?|repl(?:y|ies)|responses?|completions?|generated|generation",
}
# Providers whose names are words that questions use for something else.
COMMON = ("modal", "salad", "vast", "lambda", "fal", "hugging face")
THINGS = tuple(catalog.rows(DATA / "things.csv"))
# Of a pattern: names of others, what stands for more than one character, innermost groups, what is repeated.
_NAME = re.compile(r"\{([a-z]\w*)\}")
_CLASS = re.compile(r"\\(?:x..|u....|.)|\[\^?\]?(?:\\.|[^\]\\])*\]|\.|\^|\$")
_GROUP = re.compile(r"\((\?(?:P<\w+>|<?[=!]|:))?([^()]*)\)(?:[*?]|\{0?,\d*\})?")
_AGAIN = re.compile(r"(?:\+|\{[1-9][\d,]*\})\??")
_PERHAPS = re.compile(r"(?:\*|\?|\{0?,\d*\})\??")
SIGNS = ("\2", "#", "+")  # The first is the dollar's, which is no end of a text
_NAMED: dict[str, str] = {
    "numbers": "|".join(NUMBERS), "tens": "|".join(each for each in units.NUMBERS if each[-2:] == "ty"),
    "ones": "|".join(list(units.NUMBERS)[:9]), "scales": "|".join(filter(None, MANY)),
    "from_two": "|".join(list(units.NUMBERS)[1:]), "datasets": units.DATASET_NAMES,
    "precisions": "|".join(PRECISIONS), "weights": "|".join(WEIGHTS), "common": "|".join(COMMON),
    # The Turkish lira's code is a word of English: it counts behind a number alone.
    "currencies": "|".join(code.casefold() for code in prices.rates() if code != "TRY"),
    "unrated": "|".join(WORDS["unrated"]),
    "things": "|".join(f"(?P<t{n}>{row['words']})" for n, row in enumerate(THINGS)),
    "roles": "|".join(ROLES.values()), "areas": "|".join(words for _, words, _ in prices.areas()),
    "nouns": "|".join(row["words"] for row in THINGS if row["kind"] == "text"), **WORDS["patterns"],
}  # fmt: skip
# Each pattern as it stands in another one: `{money}`.
P: Any = SimpleNamespace(**{name: f"{{{name}}}" for name in _NAMED})
RULES: dict[str, Any] = dict(WORDS)
_TABLES = {
    "moneys": [
        (rf"(?<!\w)(?:{words}) ?({P.amount}k?)(?!\w)|(?<=\d)(\s?k)? ?(?:{words})(?!\w)", rf"\1\2 {code}")
        for code, words in WORDS["moneys"].items()
    ],
    "numerals": [
        row
        for number, words in WORDS["numerals"].items()
        for row in (
            (rf"\bmore (?:{words}|{number})(?!\w)", f"{number} more"),
            (rf"(?<!\w)(?:{words}){P.before_counted}", number),
            (rf"\b(need|take|buy|have|get|or) (?:{words})(?=$| ?[,.;)]| for\b)", rf"\1 {number}"),
        )
    ],
}
RULES["rewrite"] = [row for each in RULES["rewrite"] for row in _TABLES.get(str(each), [each])]
_ruled = "|".join((*RULES["denied"].values(), *(row[1] for row in (*RULES["kinds"], *RULES["traits"]))))
# "No Pascal or Turing" is none of them; of three, too.
RULES["rewrite"] += [(rf"({P.denial}(?:{_ruled})),? (?:or|nor) (?=(?:{_ruled})\b)", r"\1, no ")] * 2


def _surely(pattern: str) -> str:
    """A pattern without groups, and without the characters of it that may be left out."""
    *parts, last = _PERHAPS.split(_AGAIN.sub("\0", pattern))
    return "\0".join((*(part[:-1] for part in parts), last))


def _one_of(alternatives: str, groups: Sequence[Sequence[str]]) -> list[str]:
    """Texts of which one stands in each match of alternatives; none where one of these may match without
    any, or with one of a single letter."""
    found = list[str]()
    for part in _surely(alternatives).split("|"):
        most, texts = 1, list[str]()
        for run in filter(None, part.split("\0")):
            each = groups[int(run[1:])] if run[0] == "\1" else [run]
            # Other letters than those of English say as much as two of these, and so do signs.
            if (least := min(len(text.encode()) + (text in SIGNS) for text in each)) > most:
                most, texts = least, [*each]
        if not texts:
            return []
        found += texts
    return found


@lru_cache(4096)
def written(pattern: str) -> str:
    """A pattern with those that it names in their places."""
    return _NAME.sub(lambda name: written(_NAMED[name[1]]), pattern)


@lru_cache(4096)  # `re` itself keeps 512, fewer than a question is read by
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(written(pattern))


@lru_cache(4096)
def _needed(pattern: str) -> tuple[str, ...]:
    """Texts of which one stands in each match of a pattern; none where that is not known."""
    groups = list[Sequence[str]]()

    def one_of(texts: Sequence[str]) -> str:
        groups.append(texts)
        return f"\0\1{len(groups) - 1}\0" if texts else "\0"

    def group(found: re.Match[str]) -> str:
        if (found[1] or "")[-1:] == "!" or found[0][-1] != ")":
            return "\0"
        return one_of(_one_of(found[2], groups))

    if "(?(" in pattern:
        return ()
    plain = _NAME.sub(lambda name: f"({one_of(_needed(_NAMED[name[1]]))})", pattern)
    plain, again = _CLASS.sub("\0", plain.replace(r"\$", "\2")), 1
    while again:
        plain, again = _GROUP.subn(group, plain)
    return tuple(dict.fromkeys(text.replace("\2", "$") for text in _one_of(plain, groups)))


def holds(text: str, pattern: str) -> bool:
    """Whether a pattern may match: False where a text has nothing of what each match holds."""
    return not (needed := _needed(pattern)) or any(map(text.__contains__, needed))


def search(pattern: str, text: str) -> re.Match[str] | None:
    return compiled(pattern).search(text) if holds(text, pattern) else None


def fullmatch(pattern: str, text: str) -> re.Match[str] | None:
    return compiled(pattern).fullmatch(text)


def match(pattern: str, text: str) -> re.Match[str] | None:
    return compiled(pattern).match(text) if holds(text, pattern) else None


def finditer(pattern: str, text: str) -> Iterator[re.Match[str]]:
    return compiled(pattern).finditer(text) if holds(text, pattern) else iter(())


def sub(pattern: str, instead: str | Callable[[re.Match[str]], str], text: str) -> str:
    return compiled(pattern).sub(instead, text) if holds(text, pattern) else text


def findall(pattern: str, text: str) -> list[str]:
    return compiled(pattern).findall(text) if holds(text, pattern) else []
