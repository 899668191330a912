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
# From it on characters stand for the groups of a pattern that were read, and one for a dollar.
_FIRST, _MARKS, _DOLLAR = 0xE000, "\ue000\uf900", "\2"
# They say as much as two letters of English, and so does any letter of other languages.
SIGNS = frozenset((_DOLLAR, "#", "+"))
# Texts of which one stands in each match of a pattern, behind how many letters the shortest has.
_Texts = tuple[int, tuple[str, ...]]
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


def _alternatives(pattern: str, groups: Sequence[_Texts]) -> list[list[_Texts]]:
    """Of a pattern without groups, but for those that were read: what each of its alternatives holds; none
    where one of them may be anything."""
    if "+" in pattern or "{" in pattern:
        pattern = _AGAIN.sub("\0", pattern)
    if "?" in pattern or "*" in pattern or "{" in pattern:
        # What may be left out goes with the character before it.
        *parts, last = _PERHAPS.split(pattern)
        pattern = "\0".join([*[part[:-1] for part in parts], last])
    found = list[list[_Texts]]()
    for part in pattern.split("|"):
        found.append([
            groups[ord(run) - _FIRST] if _MARKS[0] <= run < _MARKS[1] else (len(run), (run,))
            for run in part.split("\0") if len(run) > 1 or run in SIGNS or run > "\x7f"
        ])  # fmt: skip
        if not found[-1]:
            return []
    return found


@lru_cache(4096)
def written(pattern: str) -> str:
    """A pattern with those that it names in their places, in which no number ends at its point."""
    pattern = pattern.replace("[^.;?]", r"(?:[^.;?]|\.(?=\d))")
    return _NAME.sub(lambda name: written(_NAMED[name[1]]), pattern)


@lru_cache(4096)  # `re` itself keeps 512, fewer than a question is read by
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(written(pattern))


@lru_cache(4096)
def _needed(pattern: str) -> Sequence[Sequence[_Texts]]:
    """Of which texts each match of an alternative of a pattern holds one, of several each one; nothing where
    one of these may be anything."""
    groups = list[_Texts]()

    def one_of(alternatives: Sequence[Sequence[_Texts]]) -> str:
        if not alternatives:
            return "\0"
        best = [max(each) for each in alternatives]
        groups.append((min(best)[0], tuple([text for _, texts in best for text in texts])))
        return f"\0{chr(_FIRST - 1 + len(groups))}\0"

    def group(found: re.Match[str]) -> str:
        kind, inner = found.groups("")
        perhaps = kind[-1:] == "!" or found[0][-1] != ")"
        return "\0" if perhaps else one_of(_alternatives(inner, groups))

    if "(?(" in pattern:
        return ()
    if "{" in pattern:
        pattern = _NAME.sub(lambda name: f"({one_of(_needed(_NAMED[name[1]]))})", pattern)
    plain, again = _CLASS.sub("\0", named := pattern.replace(r"\$", _DOLLAR)), 1
    while again and "(" in plain:
        plain, again = _GROUP.subn(group, plain)
    whole = _alternatives(plain, groups)
    if _DOLLAR not in named:
        return whole
    return [[(n, tuple(t.replace(_DOLLAR, "$") for t in texts)) for n, texts in each] for each in whole]


@lru_cache(4096)
def _first_needed(pattern: str) -> tuple[str, ...]:
    """Texts of which one stands in each match, the longest of each alternative: most texts have none."""
    return tuple(dict.fromkeys(text for each in _needed(pattern) for text in max(each)[1]))


def holds(text: str, pattern: str) -> bool:
    """Whether a pattern may match: False where a text has nothing of what each match holds."""
    if not (first := _first_needed(pattern)):
        return True
    return any(map(text.__contains__, first)) and any(
        all(any(map(text.__contains__, texts)) for _, texts in each) for each in _needed(pattern)
    )


def search(pattern: str, text: str) -> re.Match[str] | None:
    return compiled(pattern).search(text) if holds(text, pattern) else None


def fullmatch(pattern: str, text: str) -> re.Match[str] | None:
    return compiled(pattern).fullmatch(text) if holds(text, pattern) else None


def match(pattern: str, text: str) -> re.Match[str] | None:
    return compiled(pattern).match(text) if holds(text, pattern) else None


def finditer(pattern: str, text: str) -> Iterator[re.Match[str]]:
    return compiled(pattern).finditer(text) if holds(text, pattern) else iter(())


def sub(pattern: str, instead: str | Callable[[re.Match[str]], str], text: str) -> str:
    return compiled(pattern).sub(instead, text) if holds(text, pattern) else text
