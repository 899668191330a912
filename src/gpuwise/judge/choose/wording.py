"""The words of a question in one spelling, and which of them some rule has read.

Numbers become digits, and what other languages and short forms say is written in English (`data/words.toml`,
`data/glossary.csv`). What no rule reads stays, and is named with the answer.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Mapping
from datetime import date
from functools import cache
from typing import Any

from gpuwise.errors import InputError
from gpuwise.facts import catalog, prices
from gpuwise.judge.choose import amounts, rules
from gpuwise.judge.choose import need as needs
from gpuwise.judge.choose.need import DATA, USUAL, Purpose, is_model
from gpuwise.judge.choose.rules import NUMBERS, RULES, P, finditer, fullmatch, match, search, sub
from gpuwise.model import units

# Chinese digits, with other forms of zero and two, and what they count.
_DIGITS = "零一二三四五六七八九〇\0两"
_MYRIAD = 10_000
_STEPS = {"十": 10, "百": 100, "千": 1000, "万": _MYRIAD, "萬": _MYRIAD, "亿": _MYRIAD**2, "億": _MYRIAD**2}
_STEPS |= {"백": 100, "천": 1000, "만": _MYRIAD, "억": _MYRIAD**2}
_DAYS = {day: n for n, day in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))}
# Of a lakh, a crore and a million.
_THOUSANDS = {"l": 100, "c": 10_000, "m": 1000}
# A name of a machine to rent: "g5.12xlarge", "a2-highgpu-8g", "Standard_NC24ads_A100_v4".
_MACHINE = re.compile(r"(?<![\w.-])(?=[\w.-]*\d)[a-z]+\d*[a-z\d]*[._-](?:[\w.-]*\w)?(?![\w-])", re.IGNORECASE)
# Words that set nothing: grammar, people, and what every such question is about.
_PLAIN = frozenset((DATA / "plain_words.txt").read_text(encoding="utf-8").split())


def plainly(text: str) -> str:
    """A text in lower case with numbers as digits and everyday short forms written out."""
    text = sub(P.plural_v100, "", unicodedata.normalize("NFKC", text.replace("\uff0c", ", ")))
    plain = text.casefold().replace("\u2019", "'").replace("\u2010", "-")
    plain = sub(P.line_end, ". ", plain)
    # Of a price that is a range, its middle.
    plain = sub(P.cost_range, lambda m: f"{m[1]}{m[2] or '$'}{(int(m[3]) + int(m[4])) / 2:g}k", plain)
    plain = sub(P.dash, ", ", " ".join(plain.split()).rstrip("?.! "))
    plain = sub(P.weekdays, lambda m: f"for {(_DAYS[m[2][:3]] - _DAYS[m[1][:3]]) % 7 or 7} days", plain)
    plain = sub(P.weekday_hours, lambda m: f"{m[1]} to {m[2]} weekdays" if m[1] else "weekdays", plain)
    # What is written without blanks, or with endings of its own, is not read as another language's words.
    language = next((name for name, signs in RULES["languages"].items() if search(signs, plain)), "")
    if not plain.isascii():
        plain = sub(P.numeral, lambda found: f"{_count(found[0]):.0f}", plain)
        plain = sub(P.myriads, lambda found: _in_thousands(_count(found[0])), plain)
    for pattern, instead in RULES.get(language, ()):
        plain = sub(pattern, instead, plain)
    for pattern, instead in _glossary(language):
        plain = sub(pattern, instead, plain)
    code = "eur" if search(rf"€|\beur|{P.eurozone}", plain) else ""
    plain = sub(P.cents, lambda m: _in_cents(m, code), plain)
    plain = " ".join(plain.split())
    plain = sub(P.lakh, lambda m: f"{units.read_number(m[1]) * _THOUSANDS[m[2][0]]:g}k", plain)
    plain = sub(P.millions, lambda m: f"{units.read_number(m[1]) * 1000:g}k", plain)
    plain = sub(P.power_of_ten, lambda m: f"{float(m[1] or 1) * 10 ** int(m[2]):.0f}", plain)
    plain = sub(P.two_words, lambda m: str(NUMBERS[m[1]] + NUMBERS[m[2]]), plain)
    # "Two thousand", "half a million"
    plain = sub(P.in_words, lambda m: f"{NUMBERS.get(m[1], 0.5) * rules.MANY[m[2] or '']:.0f}", plain)
    plain = sub(P.rooms_of, lambda m: str(number_of(m[1]) * int(m[2])), plain)
    plain = sub(P.days_of_hours, lambda m: f"for {number_of(m[1]) * int(m[2])} hours ", plain)
    plain = sub(P.clock, lambda m: f"{int(m[1]) % 12 + 12 * bool(m[3])}{m[2] or ''} o clock", plain)
    plain = sub(P.crowns, lambda m: f"{m[1] or m[2] or ''} {crown_of(plain)}", plain)
    for pattern, instead in RULES["rewrite"]:
        plain = sub(pattern, instead, plain)
    plain = sub(P.thousands_of, lambda m: f"{1000 * float(m[1]):.0f} ", plain)
    # "4090x2", "h100:8": each number of GPUs before its name.
    plain = sub(
        r"(?<![\w-])[a-z\d-]+(?:x|:)\d{1,2}(?![\w-])",
        lambda word: f"{n[1]}x {n[0]}" if (n := catalog.counted(word[0]))[1] else n[0],
        plain,
    )
    plain = sub(P.terabytes, lambda m: f"{1000 * float(m[1]):g}gb", plain)
    plain = sub(P.crowd, lambda m: f"{sum(map(int, re.findall('[0-9]+', m[0])))} staff", plain)
    return sub(P.from_to, r"\1", plain)  # "2 or 3 pages": the most


@cache
def vocabulary() -> frozenset[str]:
    """Every word that some list of the reader has: any other word may be a name."""
    lists = ("words.toml", "plain_words.txt", "glossary.csv", "stand_ins.csv", "things.csv")
    texts = ((DATA / name).read_text(encoding="utf-8") for name in lists)
    return frozenset(word for text in texts for word in re.findall(r"[a-z]+", text))


def crown_of(plain: str) -> str:
    """The code of the crowns that a text speaks of, by the first word of their country; those of Sweden where
    none stands there, and of Denmark where they are spelt as in Danish and Norwegian."""
    own = search(P.own_crowns, plain)  # "Danish kroner", wherever that is asked
    whose = own[0] if own else plain
    named = {code: at.start() for code, words in RULES["crowns"].items() if (at := search(words, whose))}
    return min(named, key=lambda code: named[code], default="dkk" if "kroner" in plain else "sek")


@cache
def _glossary(language: str) -> tuple[tuple[str, str], ...]:
    """What stands for an English word, and that word: in a language that is known by its signs, else in all
    of those that are not."""
    rows = catalog.rows(DATA / "glossary.csv")
    together = [name for name in rows[0] if name != "english" and name not in RULES["languages"]]
    columns = [language, "other"] if language in rows[0] else together
    return tuple(
        (rf"(?<!\w)(?:{words})(?!\w|-\d)", row["english"])  # "Nova-7b" is a name
        for row in rows
        if (words := _without_accents("|".join(filter(None, map(row.get, columns)))))
    )


def _without_accents(words: str) -> str:
    """Words, and those of them that people type without their accents: of four letters at least, as shorter
    ones are words of English."""
    plain = unicodedata.normalize("NFKD", words.replace("ł", "l")).encode("ascii", "ignore").decode()
    # Alternatives in parentheses are parts of a phrase: "gráfica" behind "única" is not one alone.
    whole = sub(r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "()", plain)
    apart = {*re.findall(r"(?:^|(?<=\|))\w{4,}(?=\||$)", whole)} - {*words.split("|")} - _PLAIN
    return "|".join((words, *sorted(apart))) if words else ""


def _count(text: str) -> float:
    """The value of a Chinese, Japanese or Korean number, whose digits may be ours: 二十万 is 200,000, 四千五
    4,500, 1.5万 15,000 and 3억2천만 320,000,000."""
    whole = part = digit = 0.0
    step = 1
    for token in re.findall(r"[\d.]+|[^\d.]", re.sub(r"[,\s]", "", text)):
        if token in _DIGITS or token[0].isdecimal():
            digit = _DIGITS.index(token) % 10 if token in _DIGITS else float(token)
            step = step if digit else 1  # Behind a zero, ones
        elif (step := _STEPS[token]) >= _MYRIAD:
            whole, part, digit = whole + (part + digit) * step, 0.0, 0.0
        else:
            part, digit = part + (digit or 1) * step, 0.0
    return whole + part + digit * max(1, step // 10)


def _in_thousands(value: float) -> str:
    return f"{value / 1000:.10g}k" if value >= 1000 else f"{value:.10g}"


def _in_cents(said: re.Match[str], code: str) -> str:
    """Hundredths of a currency, else of that of their name, with which English alone puts its plural."""
    value = f"{float(said[1].replace(',', '.')) / 100:g}"
    code = code or ("gbp" if said[4] else "eur" if said[3] or said[2] in ("ct", "cent") else "")
    return f"{value} {code}" if code else f"${value}"


def corrected(text: str) -> tuple[str, list[str]]:
    """A text with what it takes back, the last of a kind or its number, replaced by what it says instead
    ("single slot, no wait, dual slot"), and notes of that."""
    notes = list[str]()
    while again := search(P.second_thought, text):
        before, after = text[: again.start()], text[again.end() :]
        for kind in RULES["kinds_of_pieces"]:
            # A bare number may belong to anything: "but now I need 48 GB" corrects no card
            far, unit = (12, P.no_unit) if kind is RULES["kinds_of_pieces"][-1] else (30, "")
            later = match(rf"[^.;?!\d]{{0,{far}}}?(?<![\w.])({kind})(?!\w){unit}", after)
            pieces = [*finditer(rf"(?<![\w.])(?:{kind})(?!\w)", before)]
            if later and pieces and len(before) - pieces[-1].end() <= USUAL.near_before:
                start, end = pieces[-1].span()
                notes.append(f"{later[1]}, not {pieces[-1][0]}")
                text = f"{before[:start]}{later[1]}{before[end:]}{after[later.end() :]}"
                break
        else:
            text = f"{before}, {after}"
    return text, notes


@cache
def _instances() -> Mapping[str, tuple[str, int, str]]:
    """What large providers call their machines: GPU, how many of it, and provider."""
    named = (o for o in prices.shipped() if o.provider in USUAL.hyperscalers and len(o.gpu_ids) == 1)
    machines = ((o, o.instance.casefold()) for o in named if _MACHINE.fullmatch(o.instance.casefold()))
    return {
        name: (offer.gpu_ids[0], int(offer.count), offer.provider)
        for offer, whole in machines if not offer.count % 1
        for name in (whole, whole.removeprefix("standard_"))
    }  # fmt: skip


def _with_cards(text: str) -> tuple[str, list[str]]:
    """A text with its names of rented machines (`g5.12xlarge`) as the GPUs in them, and notes of that."""
    notes = list[str]()

    def cards(name: re.Match[str]) -> str:
        if (found := _instances().get(name[0].casefold())) is None:
            return name[0]
        gpu, count, provider = found
        notes.append(f"{name[0]} is {count} x {gpu} of {provider}")
        return f"{count}x {gpu} on {provider}"

    return _MACHINE.sub(cards, text), list(dict.fromkeys(notes))


class Words:
    """A text, which of its words some rule has read, and what they set."""

    fields: dict[str, Any]  # Of a `Need`
    notes: list[str]

    def __init__(self, text: str, rates: Mapping[str, float], today: date) -> None:
        self.text, self.rates, self.today = text, rates, today
        self.fields, self.assumed, self.usual = dict[str, Any](), dict[str, Any](), dict[str, Any]()
        text, machines = _with_cards(text)
        plain, self.notes = corrected(plainly(text))
        self.notes += machines
        if (spelt := self._spelt(plain)) != plain:
            plain = plainly(spelt)  # What several words mean together was not seen before
        # Who names the parts of a machine has it; one in between parts an owner from his card.
        if parts := [part[0] for part in finditer(P.parts, plain)]:
            self.ignore(*(sub(P.around_parts, "", part) for part in parts))
            self.assumed["host_usd"] = 0.0
            plain = " ".join(sub(P.parts, lambda part: ", " * part[0].endswith(","), plain).split())
        if search(P.machine_that_is, plain):
            self.assumed["host_usd"] = 0.0
        for name in finditer(P.identifiers, plain):
            self.ignore(name[0])
        plain = " ".join(sub(P.identifiers, " ", plain).split())
        self.plain = self._left = plain  # The words of it that no rule has read
        self.currency = units.currency_of(plain, {*rates} - {"USD"})
        if self.currency.casefold() in RULES["crowns"] and not search(rf"\b{self.currency}\b", text.upper()):
            self.notes.append(f"crowns are taken as {self.currency}")
        while self.take(P.in_currency, again=False):
            pass
        self.late = ""  # A limit on the time of an answer, as it was written
        self.api = False  # Whether an API is named
        self.single, self.small, self.watts_each = False, False, 0.0
        self.several = 1  # Machines, of which one is looked at
        self.gpus_at_once = 1  # Of hours of GPUs
        self.external = False  # A card stands outside the computer, which is there
        self.copies = 1  # Of a model, each on a machine that is there, which share the people
        self.some = False  # One kind of GPU is named in the plural, without a number
        self.members = self.people = 1  # Of whom not all are there at once; who share a machine
        self.at_once = 1  # How many people ask at one moment, where that is said by itself
        self.soon = ""  # Words that may mean a deadline: "in a weekend"
        self.people_at, self.callers = -1, False  # Where their number stands; whether these ask at one moment
        self.open_model = False  # Some language model, none by name
        self.sets, self.mixed = tuple[tuple[str, int], ...](), tuple[tuple[str, float], ...]()
        self.gpus: tuple[int, int] | None = None  # How many of them
        self.by_use = self.stands_in = False  # No name stands there, but a size or a use, or what is like it
        self.stands_in_counted = False  # What is like it has as many items, each of so many of its runs
        self.named_at = -1  # Where the name or size stands
        self.mode: Purpose | None = None
        self.found: tuple[amounts.Quantity, ...] = ()  # Amounts of work
        self.gpu_hours: re.Match[str] | None = None
        self.denied = dict[str, bool]()  # By the names of `denied` and `kinds` in `data/words.toml`
        self.rents = self.owns = self.once = False  # Whether it says so
        self.times_a_week = 0.0  # That a piece of work comes, of whoever has it
        self.hired_for = ""  # The words of for how long
        self.hired = False  # Before the name of a GPU: "4 rented 4090"

    def _spelt(self, plain: str) -> str:
        """The text with words of the subject that are one letter off as they are written."""
        ends = r"(?![a-z_\d]|-[a-z])"  # "lama-3.1-8b", too
        for word in dict.fromkeys(re.findall(rf"(?<![\w-])[a-z][a-z-]{{2,}}[a-z]{ends}", plain)):
            if word in _PLAIN or word in RULES["spelling"] or is_model(word, None):
                continue
            meant = "".join(difflib.get_close_matches(word, RULES["spelling"], 1, USUAL.one_letter))
            swapped = (word[:n] + word[n + 1] + word[n] + word[n + 2 :] for n in range(1, len(word) - 1))
            meant = meant or next((each for each in swapped if each in RULES["spelling"]), "")
            if word[0] == meant[:1] and not meant.startswith(word.rstrip("s")):
                plain = sub(rf"(?<![\w-]){word}{ends}", meant, plain)
                self.notes.append(f"{word} is read as {meant}")
        return plain

    def mark(self, start: int, end: int) -> None:
        while self.plain[:end][-1:].isalnum() and self.plain[end : end + 1].isalnum():
            end += 1
        self._left = self._left[:start] + " " * (end - start) + self._left[end:]

    def said(self, pattern: str) -> re.Match[str] | None:
        """The first match of a pattern anywhere, read or not."""
        return search(pattern, self.plain)

    def take(self, pattern: str, *, again: bool = True) -> re.Match[str] | None:
        """The first match of a pattern, unless `again` among words that no rule has read; the words that it
        touches are read."""
        if found := search(pattern, self.plain if again else self._left):
            self.mark(*found.span())
        return found

    def blank(self, pattern: str) -> re.Match[str] | None:
        """The first match of a pattern, which is then gone for every other rule."""
        if (found := self.take(pattern)) is not None:
            start, end = found.span()
            self.plain = self.plain[:start] + " " * (end - start) + self.plain[end:]
        return found

    def every(self, pattern: str) -> list[str]:
        """Each match of a pattern among words that no rule has read, which then are."""
        found = list[str]()
        # What matches no word is not gone once it is read.
        while (one := self.take(pattern, again=False)) and (said := one[0].strip()):
            found.append(said)
        return found

    def first(self, pattern: str, *, again: bool = True) -> str:
        """The first group that holds something of what `take` finds; empty without one."""
        found = self.take(pattern, again=again)
        return next(filter(None, found.groups()), "") if found else ""

    def deny(self, pattern: str) -> bool:
        """Whether the text says that it is not to be."""
        denied = False
        if not (self.said(P.denial) and self.said(pattern)):  # To compile both together takes milliseconds
            return False
        while self.blank(rf"{P.denial}(?:{pattern})\b"):  # Wherever it says so
            denied = True
        return denied

    def unread(self) -> list[str]:
        words = re.findall(r"[^\W_][\w.+-]*", self._left)
        return [word for word in words if word.strip(".") not in _PLAIN]

    def ignore(self, *words: str) -> None:
        if found := dict.fromkeys((*self.fields.get("ignored", ()), *filter(None, words))):
            self.fields["ignored"] = tuple(found)

    def correct(self, sentence: str) -> None:
        """Notes what the question takes for granted and is not so."""
        self.fields["corrected"] = tuple(dict.fromkeys((*self.fields.get("corrected", ()), sentence)))

    def _usd(self, text: str, *, hourly: bool = False) -> float:
        """USD of a sum as people write it; of dollars, where no currency stands there."""
        plain = sub(r"\s?euros?$", "eur", sub(r"\s?(?:dollars?|bucks|usd)", "", text)).strip()
        if self.currency and plain == text and fullmatch(rf"{P.sum}", plain):
            plain += f" {self.currency.casefold()}"  # Of the only one that is named
        if not hourly and not match(r"\D*0", plain):
            # Nobody pays tenths of a cent: "1.500 euro", "20,000 euros" and "1 200" are thousands.
            plain = sub(r"(?<=\d)[., ](?=\d{3}(?!\d))", "", plain)
        plain = plain.replace(" ", "")
        return units.parse_usd(f"${plain}" if fullmatch(rf"{P.amount}k?", plain) else plain, self.rates)[0]

    def _of_llm(self) -> bool:
        """Whether a language model is spoken of, which those who ask share."""
        return self.said(rf"{P.llms}|\b(?:{amounts.families()})|\b\d+b\b") is not None

    def done(self) -> bool:
        """Whether an amount of work is stated."""
        stated = any(each.kind != "other" for each in self.found) or "epoch" in self.plain
        return stated or self.said(P.whole_data_set) is not None


@cache
def sellers() -> str:
    """Names of providers, the longest first, but for words that questions use for something else."""
    names = sorted({*prices.renting(), *needs.PROVIDERS}.difference(rules.COMMON))
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True)))


def span_seconds(span: re.Match[str]) -> float:
    return units.parse_seconds(f"{NUMBERS.get(span[1], span[1])} {span[2].replace('hrs', 'h')}")


def number_of(word: str) -> int:
    return NUMBERS.get(word) or max(1, int(word) if word.isdigit() else 1)


def amount_of(text: str) -> float:
    """A number of watts, hours or GB, whose dot or comma before three digits groups thousands."""
    try:
        return units.read_number(sub(P.thousands, "", text.rstrip(".,")))
    except ValueError as error:
        raise InputError(str(error), hint="write it without a comma or dot for thousands") from error
