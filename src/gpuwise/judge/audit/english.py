"""Put the function words and terms of other languages into English, so that one set of cues serves for all.

The rest of a line stays as it is written: names, figures and units are those of the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache

from gpuwise.judge.audit.words import data

_LANGUAGES: Mapping[str, Mapping[str, list[str]]] = data("languages")
# Letters of languages that part no words by spaces, by language.
_SCRIPTS = {"ja": "[\u3040-\u30ff]", "ko": "[\uac00-\ud7a3]", "zh": "[\u4e00-\u9fff]"}
_GLOSSARIES = {
    language: {
        # "l'A100" is two words.
        word: f"\0{english}\0" if language in _SCRIPTS else english + " " * (word[-1] in "'\u2019")
        for english, words in glossary.items() for word in words
    }
    for language, glossary in _LANGUAGES.items() if language != "en"
}  # fmt: skip
_ENGLISH = {
    word.lower() for glossary in _LANGUAGES.values() for english in glossary for word in english.split()
}
# The languages that a word is of.
_OF: dict[str, list[str]] = {}
for _language, _words in {"en": _LANGUAGES["en"]["words"], **_GLOSSARIES}.items():
    # Of phrases the words that are long enough to be of one language, and not taken from English.
    for _word in dict.fromkeys(
        word.lower() for phrase in _words for word in phrase.split()
        if " " not in phrase or (len(word) > 3 and not {word.lower(), f"{word.lower()}s"} & _ENGLISH)
    ):  # fmt: skip
        _OF.setdefault(_word, []).append(_language)
_WORDS = re.compile(r"[^\W\d_]+['\u2019]?")
_BEGINS = re.compile(r"(?:^|[.!?:] |[(\u00ab\u201e\"|*-] ?|\t| {2})$")
# Of so many words of a paragraph one in so many is a function word in any language that is read here.
MANY, ONE_IN = 20, 12
_SMALL_WORDS = re.compile(r"(?<![\w-])[^\W\d_A-Z]{2,}(?![\w-])")
# Spaces in a line from which on it may be in another language than its document.
ENOUGH = 4


@cache
def _phrases(language: str) -> re.Pattern[str]:
    """Longer phrases first. A word ends where no letter follows, or with its apostrophe."""
    return re.compile(
        ("(?:" if language in _SCRIPTS else r"(?:(?<![\w/-])|(?=,))(?:")
        + "|".join(
            f"[{word[0]}{word[0].upper()}]{re.escape(word[1:])}"
            + ("" if language in _SCRIPTS or word[-1] in "'\u2019." else r"(?![\w-])")
            for word in sorted(_GLOSSARIES[language], key=len, reverse=True)
        )
        + ")"
    )


def language_of(texts: Iterable[str], otherwise: str = "en") -> str:
    """The language that most words are of, two at least; `otherwise` where none leads."""
    text = "\n".join(texts).lower()
    counted = Counter(of for word in _WORDS.findall(text) for of in _OF.get(word, ()))
    # Japanese is written with as many Chinese letters.
    counted.update({of: len(re.findall(script, text)) << (of == "ja") for of, script in _SCRIPTS.items()})
    (best, most), (_, second) = [*counted.most_common(2), ("", 0), ("", 0)][:2]
    return best if most > max(second, 1) else otherwise


def in_english(text: str, otherwise: str) -> str:
    """A line or cell with its function words in English; `otherwise` is the language of its document."""
    language = language_of([text], otherwise) if text.count(" ") >= ENOUGH else otherwise
    if language == "en":
        return text
    glossary = _GLOSSARIES[language]

    def english(found: re.Match[str]) -> str:
        word, start = found[0], found.start()
        if word in glossary:
            return glossary[word]
        # A capital counts only where a sentence begins, and is kept: "Pro" is part of a name.
        begins = _BEGINS.search(text, max(0, start - 2), start) if start else True
        instead = glossary[word[0].lower() + word[1:]]
        return instead[:1].upper() + instead[1:] if begins else word

    # One space parts a word from the letters beside it: two would be a gap between columns.
    return re.sub(" ?\0[\0 ]*", " ", _phrases(language).sub(english, text))


def is_understood(text: str) -> bool:
    """Whether a paragraph may be in a language whose function words are known: of another one what is denied,
    expected or compared cannot be seen."""
    words = _SMALL_WORDS.findall(text)
    # A word of Chinese, Japanese or Korean is as long as the text up to the next mark.
    return len(words) < MANY or ONE_IN * sum(word in _OF for word in words) >= len(words)
