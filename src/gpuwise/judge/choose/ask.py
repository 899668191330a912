"""A question in plain words as a need: `serve a 70B for 50 users`, `two 3090s or one 4090 for llama-3.1-70b`.

Nothing is guessed silently: what was assumed is said with the answer, and so are words and numbers that no
rule read, with the "no" or "must" before them. A rule is a pattern and what it sets: those of words alone
stand in `data/words.toml`, those with numbers in `_Reader`, which reads a text from the most particular rule
to the most general one.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from functools import cache, lru_cache, partial
from itertools import pairwise
from typing import Any

from gpuwise.errors import InputError
from gpuwise.facts import catalog, llms, prices
from gpuwise.judge.choose import amounts
from gpuwise.judge.choose import need as needs
from gpuwise.judge.choose.amounts import NUMBERS, RULES, USUAL, P
from gpuwise.judge.choose.candidates import FEW, is_sold_new, least_host_usd
from gpuwise.judge.choose.fit import HOST_PEAK_W, SUPPLY, made_for_fp64
from gpuwise.judge.choose.need import ALIASES, DATA, DIFFUSION, Purpose, is_model, presets
from gpuwise.judge.choose.speeds import item_of
from gpuwise.model import units
from gpuwise.model.gpu import GpuSpec, OfferKind
from gpuwise.model.judgement import Assumptions, Bill, Need, Quote
from gpuwise.model.units import Latency, Work
from gpuwise.predictor.card import MODULES
from gpuwise.workloads import registry

_DRAWN = frozenset(model.like for model in DIFFUSION.values())
# Words that set nothing: grammar, people, and what every such question is about.
_compiled = lru_cache(4096)(re.compile)  # `re` itself keeps 512, fewer than a question is read by
_PLAIN = frozenset((DATA / "plain_words.txt").read_text(encoding="utf-8").split())
_ASSUMED = frozenset(each.name for each in fields(Assumptions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a question says: the work, how it runs, and the limits of a `Need` by field."""

    workload: str | tuple[tuple[str, float], ...]
    mode: Purpose | None = None
    precision: str | None = None
    work: Work | None = None
    gpus: tuple[int, int] | None = None
    form: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    assumed: Mapping[str, Any] = field(default_factory=dict)  # Fields of `Assumptions`
    notes: tuple[str, ...] = ()  # What was assumed, and what was not read


def read(text: str, rates: Mapping[str, float], today: date | None = None) -> Asked:
    """What a question says, on the day that it is unless another is given. Raises InputError where it names
    no work, or a price that a shell ate."""
    return _Reader(text, rates, today or date.today()).asked()


def need_of(asked: Asked, given: Mapping[str, Any] | None = None) -> Need:
    """The need of a question; `given` are arguments of `need_for` that were stated apart."""
    stated = {
        "mode": asked.mode, "work": asked.work, "gpus": asked.gpus, "form": asked.form,
        "precision": asked.precision, "latency": asked.fields.get("latency"),
        "steps": asked.fields.get("steps"),
        **{name: value for name, value in (given or {}).items() if value is not None},
    }  # fmt: skip
    need = needs.need_for(asked.workload, **stated)
    fields = {name: value for name, value in asked.fields.items() if name not in ("latency", "steps")}
    if need.task != "infer":
        fields.pop("concurrent", None)
    if stated["gpus"] != asked.gpus and len({count for _, count in fields.get("sets", ())}) == 1:
        # The number was said apart from the names.
        fields["sets"] = tuple((gpu, stated["gpus"][1]) for gpu, _ in fields["sets"])
    if stated["gpus"] is None:  # A machine that holds so many
        least, most = (1, 1) if fields.get("at_home") else need.gpus
        fields["gpus"] = (least, max(most, len(fields.get("have", ()))))
    assumptions = replace(need.assumptions, **asked.assumed)
    return replace(need, **fields, assumptions=assumptions, notes=(*need.notes, *asked.notes))


def _plainly(text: str) -> str:
    """A text in lower case with numbers as digits and everyday short forms written out."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    plain = " ".join(plain.split()).rstrip("?.! ")
    unspaced = RULES["ideographs"] if re.search(P.ideograph, plain) else ()
    for pattern, instead in (*unspaced, *_glossary(), *RULES["rewrite"]):
        plain = _compiled(pattern).sub(instead, plain)
    plain = re.sub(P.two_words, lambda m: str(NUMBERS[m[1]] + NUMBERS[m[2]]), plain)
    plain = re.sub(P.cents, lambda m: f"${float(m[1]) / 100:g}", plain)
    # "4090x2", "h100:8": each number of GPUs before its name.
    plain = re.sub(
        r"(?<![\w-])[a-z\d-]+(?:x|:)\d{1,2}(?![\w-])",
        lambda word: f"{n[1]}x {n[0]}" if (n := catalog.counted(word[0]))[1] else n[0],
        plain,
    )
    plain = re.sub(P.terabytes, lambda m: f"{1000 * float(m[1]):g}gb", plain)
    # "Two thousand", "half a million"
    return re.sub(P.in_words, lambda m: f"{NUMBERS.get(m[1], 0.5) * amounts.MANY[m[2] or '']:.0f}", plain)


@cache
def _glossary() -> tuple[tuple[str, str], ...]:
    """What stands for an English word in other languages, and that word."""
    rows = [list(row.values()) for row in catalog.rows(DATA / "glossary.csv")]
    return tuple((rf"(?<!\w)(?:{'|'.join(filter(None, words))})(?!\w)", english) for english, *words in rows)


class _Reader:
    """A text, which of its words some rule has read, and what they set."""

    def __init__(self, text: str, rates: Mapping[str, float], today: date) -> None:
        self.text, self.rates, self.today = text, rates, today
        self.notes = list[str]()
        self.fields, self.assumed, self.usual = dict[str, Any](), dict[str, Any](), dict[str, Any]()
        plain = self._spelt(_plainly(text))
        # Who names the parts of a machine has it; one in between parts an owner from his card.
        if parts := [part[0] for part in re.finditer(P.parts, plain)]:
            self.ignore(*(re.sub(P.around_parts, "", part) for part in parts))
            self.assumed["host_usd"] = 0.0
            plain = " ".join(re.sub(P.parts, " ", plain).split())
        self.plain = self._left = plain  # The words of it that no rule has read
        self.stands_in = False
        self.single, self.small, self.watts_each, self.gpus_each = False, False, 0.0, False
        self.several = 1  # Machines, of which one is looked at
        self.members = self.people = 1  # Of whom not all are there at once; who share a machine
        self.open_model = False  # Some language model, none by name
        self.sets, self.mixed = tuple[tuple[str, int], ...](), tuple[tuple[str, float], ...]()
        self.by_use = False  # No name stands there, but a size or a use
        self.mode: Purpose | None = None

    def _spelt(self, plain: str) -> str:
        """The text with words of the subject that are one letter off as they are written."""
        for word in dict.fromkeys(re.findall(r"(?<![\w-])[a-z][a-z-]{3,}(?![\w-])", plain)):
            if word in _PLAIN or word in RULES["spelling"] or is_model(word, None):
                continue
            meant = "".join(difflib.get_close_matches(word, RULES["spelling"], 1, USUAL.one_letter))
            if word[0] == meant[:1] and not meant.startswith(word.rstrip("s")):
                plain = re.sub(rf"(?<![\w-]){word}(?![\w-])", meant, plain)
                self.notes.append(f"{word} is read as {meant}")
        return plain

    def mark(self, start: int, end: int) -> None:
        while self.plain[:end][-1:].isalnum() and self.plain[end : end + 1].isalnum():
            end += 1
        self._left = self._left[:start] + " " * (end - start) + self._left[end:]

    def said(self, pattern: str) -> re.Match[str] | None:
        """The first match of a pattern anywhere, read or not."""
        return _compiled(pattern).search(self.plain)

    def take(self, pattern: str, *, again: bool = True) -> re.Match[str] | None:
        """The first match of a pattern, unless `again` among words that no rule has read; the words that it
        touches are read."""
        if match := _compiled(pattern).search(self.plain if again else self.left()):
            self.mark(*match.span())
        return match

    def blank(self, pattern: str) -> re.Match[str] | None:
        """The first match of a pattern, which is then gone for every other rule."""
        if (match := self.take(pattern)) is not None:
            start, end = match.span()
            self.plain = self.plain[:start] + " " * (end - start) + self.plain[end:]
        return match

    def every(self, pattern: str) -> list[str]:
        """Each match of a pattern among words that no rule has read, which then are."""
        found = list[str]()
        # What matches no word is not gone once it is read.
        while (match := self.take(pattern, again=False)) and (said := match[0].strip()):
            found.append(said)
        return found

    def first(self, pattern: str, *, again: bool = True) -> str:
        """The first group that holds something of what `take` finds; empty without one."""
        match = self.take(pattern, again=again)
        return next(filter(None, match.groups()), "") if match else ""

    def deny(self, pattern: str) -> bool:
        """Whether the text says that it is not to be."""
        return bool(self.blank(rf"{P.denial}(?:{pattern})\b"))

    def left(self) -> str:
        """The text without what was read."""
        return self._left

    def unread(self) -> list[str]:
        words = re.findall(r"[^\W_][\w.+-]*", self.left())
        return [word for word in words if word.strip(".") not in _PLAIN]

    def ignore(self, *words: str) -> None:
        if found := dict.fromkeys((*self.fields.get("ignored", ()), *filter(None, words))):
            self.fields["ignored"] = tuple(found)

    def asked(self) -> Asked:
        """Reads it all, the most particular rules first, and takes what nothing reads as a limit for one."""
        while later := self.blank(P.unreleased):
            self.ignore(later[0].strip())
        if self.fields:
            self.notes.append("what GPUs will come and what they will cost is not known: this is of today")
        self._read_first()
        self._read_cards()
        self._read_quotes()
        self._read_bill()
        self._read_amounts()
        if self.have and (times := self.take(P.faster)):
            said = re.sub(r"x$| times", "", times[1])
            self.fields["faster"] = NUMBERS.get(said) or float(USUAL.times.get(said, said))
            self.fields["upgrade"], self.usual["goal"] = True, "price"
        for pattern, problem, hint, goal in RULES["refused"]:
            if (found := self.take(pattern, again=False)) and goal and len(self.sets) > (goal == "speed"):
                self.usual |= {"goal": goal} if goal == "speed" else {}  # Which of them is faster
                self.ignore("" if goal == "speed" else found[0])
            elif found:
                raise InputError(f"'{found[0]}': {problem}", hint=hint)
        self._read_machines()
        for words, values in RULES["sets"]:
            if self.take(words, again=False):
                for name, value in values.items():
                    (self.assumed if name in _ASSUMED else self.usual).setdefault(name, value)
        self._read_use()
        self._read_denials()
        self._read_kinds_of_gpu()
        self._read_limits()
        self._read_money()
        if self.per_person:
            self.fields["concurrent"] = self._at_once(self.fields.pop("users", 1))
        self._read_number_of_gpus()
        self._settle_gpus()
        named = self._read_work()
        self._settle_work(named)
        precision = self._read_precision(named)
        self._settle_budget(named)
        return self._whole(named, precision)

    def _read_first(self) -> None:
        """What holds words that mean something else elsewhere: hours of GPUs, and what a GPU may have."""
        self.gpu_hours = self.blank(P.gpu_hours)
        for name, (words, _) in RULES["features"].items():
            if self.blank(rf"{P.is_needed}(?:{words})(?: {P.needed})?|\b(?:{words}) {P.needed}"):
                self.fields["feature"] = name
        if self.gpu_hours and not self.gpu_hours[2]:
            self.fields |= {"hire_h": _amount(self.gpu_hours[1]), "acquire": "rent"}

    def _read_machines(self) -> None:
        """Several machines: each works by itself, for somebody of its own where they are to be bought."""
        several = self.take(rf"{P.machines}(?:{P.machines_of})?")
        if several is None:
            return
        number = _number(several[0].split()[0])
        if self.said(rf"{P.money}|\b(?:buy|purchas\w*|procure\w*|course|class|students?|employees)\b"):
            self.fields |= {"users": number, "concurrent": 1, "acquire": "own"}
            if self.said(P.money):
                self.usual["goal"] = "speed"
            self.gpus_each = re.search(r"\b(?:an?|one|1|single) (?:gpu|card)", several[0]) is not None
            self.notes.append(f"{number} machines, each by itself")
            return
        self.several = number
        one = self.said(P.watts)  # Of which one has its share
        if not one and {count for _, count in self.sets} == {needs.MOST_TOGETHER}:
            self.sets = tuple((gpu, count * number) for gpu, count in self.sets)
            self.notes.append(several[0].strip())
        elif not one:
            self.ignore(several[0].strip())
            self.notes.append("of one machine: nothing is known of a network between several")

    def _read_cards(self) -> None:
        """GPUs to compare with how many of each, those that are there, and those that are not to be."""
        sets, have, barred = list[tuple[str, int]](), list[str](), set[str]()
        added = list[tuple[str, int, int]]()  # "A second 3090": GPU, how many more, beside how many
        self.families = dict[str, tuple[str, ...]]()  # A usual variant -> all that its name may mean
        owned = -1  # Where the last owned card ends
        self.of_mine = mine = bool(self.blank(P.of_mine))  # All of them are
        self.places = list[tuple[str, int, int, int]]()  # Of all of them: GPU, number, start and end
        for named in catalog.mentions(self.plain, loose=True):
            text = self.plain[named.start : named.end].strip()
            # "4090", "p40" and "t4" are cards; "m4" in a sentence may be anything.
            before, after = self.plain[: named.start], self.plain[named.end :]
            card = named.exact or re.search(r"\d{4}|[a-z]\d\d|\b[tl]4s?\b", text)
            if not named.gpu_ids or not (card or re.search(r"\bmac(?:book)?\b.{0,12}$", before)):
                continue
            # A number alone may be the RTX 8000, or an amount: "4000 reais", "under 8000 dollars".
            priced = re.search(rf"(?:[$€£]\s?|\b{P.at_most} )$", before) or re.match(P.other_unit, after)
            if text.isdigit() and (priced or text.endswith("000")):
                continue
            number = re.search(P.count_before, before)
            behind = None if number else re.match(P.count_behind, after)
            said = number or behind
            count = _number(next(filter(None, said.groups()))) if said else 1
            if said and (count > USUAL.most_gpus or re.fullmatch(r"\D*0+\D*", said[0])):
                raise InputError(f"{said[0].strip()} GPUs", hint=f"1 to {USUAL.most_gpus:,} of them")
            one = len(named.gpu_ids) == 1
            if not one:
                self.families[catalog.resolve(text.removesuffix("s")).spec.id] = named.gpu_ids
            usual = named.gpu_ids[0] if one else catalog.resolve(text.removesuffix("s")).spec.id
            if re.search(rf"(?:{P.used}) (?:\S+ )?$", before) and catalog.get(usual).text("form") in MODULES:
                # Nobody sells a module singly.
                cards = (gpu for gpu in named.gpu_ids if catalog.get(gpu).text("form") not in MODULES)
                usual = next(cards, usual)
            if re.search(rf"\b(?:{P.laptop}) (?:with )?(?:an? )?$", before) or re.match(
                rf" (?:{P.laptop})\b", after
            ):
                usual = _of_laptop(usual)
            owner = re.compile(P.owner).search(before, self.places[-1][3] if self.places else 0)
            also = owned >= 0 and re.fullmatch(rf" ?(?:and|plus|\+|&) (?:{P.count}\s*x? ?)?", before[owned:])
            if owner and (
                (owner[2] and self.said(P.replaceable)) or re.search(r"\brented (?:\S+ )?$", before)
            ):
                owner = None  # Whether one is as good as the other, and what is hired
            if owner or also or mine:
                have += [usual] * count
            elif more := re.search(rf"\b{P.another} (?:(?:used|new) )?$", before):
                added.append((usual, count, 1 + ("third" in more[0])))
            elif re.search(rf"{P.denial}(?:{P.count} ?x? ?)?$", before):
                barred |= set(named.gpu_ids)
            else:
                sets.append((usual, count))
            start = number.start() if number else named.start
            end = named.end + (behind.end() if behind else 0)
            self.places.append((usual, count, start, end))
            owned = end if owner or also else -1
            self.mark(start, end)
            if owner:  # What stands between may be the work: "my sdxl on a 3060"
                self.mark(*owner.span(1 if owner[1] else 2))
        for gpu, count, beside in added:
            have += [] if gpu in have else [gpu] * beside
            sets.append((gpu, have.count(gpu) + count))
        if (
            have
            and not added
            and (more := self.take(rf"\b(?:{P.another}|({P.count}) more)\b(?: (?:one|cards?|gpus?|of)\b)*"))
        ):
            # To what is there: each such card is one beside them.
            gpu, there = have[0], have.count(have[0])
            count = next((n for each, n in sets if each == gpu), _number(more[1] or ""))
            sets = [(gpu, there + count), *(one for one in sets if one[0] != gpu)]
            self.notes += [f"{count} more, beside {there}"] if count > 1 else []
        if self.said(rf"\b(?:{P.laptop})\b") and not self.said(P.either_computer):
            sets = [(_of_laptop(gpu), 1) for gpu, _ in sets]
            have = [_of_laptop(gpu) for gpu in have]
        if len(have) > 1:
            self.take(r"\b(?:the|these|both|of) (?:2|two|both)\b")
        self.quotes: tuple[Quote, ...] = ()
        self.sets, self.have, self.barred = tuple(dict.fromkeys(sets)), tuple(have), frozenset(barred)

    def _read_quotes(self) -> None:
        """Prices that stand beside cards: what is paid now, or what is asked for two of them, or for one of
        which that is the question. Others are budgets."""
        sums, sellers = (re.finditer(each, self.plain) for each in (P.price, rf"\b(?:{_sellers()})\b"))
        pieces: list[tuple[int, int, Any]] = [(start, end, (gpu, n)) for gpu, n, start, end in self.places]
        if len(alone := {gpu for gpu, *_ in self.places}) == 1:  # "Or buy one for $2400"
            same = re.finditer(P.same_card, self.plain)
            pieces += [(match.start(), match.end(), (*alone, 1)) for match in same]
        pieces += [(match.start(), match.end(), match) for match in (*sums, *sellers)]
        runs: list[list[tuple[int, int, Any]]] = []
        for piece in sorted(pieces, key=lambda piece: piece[:2]):
            if runs and re.fullmatch(P.about_price, self.plain[runs[-1][-1][1] : piece[0]]):
                runs[-1].append(piece)
            else:
                runs.append([piece])
        paid, found = bool(self.said(P.paying)), list[tuple[Quote, int, int]]()
        for run in runs:
            cards = [what for *_, what in run if isinstance(what, tuple)]
            matches = [what for *_, what in run if not isinstance(what, tuple)]
            money = [match for match in matches if "sum" in match.re.groupindex]
            if len(cards) != 1 or len(money) != 1:
                continue
            if not paid and re.search(P.budget, self.plain[: money[0].start()]):
                continue
            (gpu, count), (price,), start, end = cards[0], money, run[0][0], run[-1][1]
            seller = next((match[0] for match in matches if match is not price), "")
            text, usd = self.plain[start : end + 5], self._usd(price["sum"], hourly=price["per"] == "h")
            # "We pay 14 for this box; is that one at 24 worth it?": only the first is paid.
            mine = paid and not (found and re.search(P.other_one, self.plain[found[-1][2] : start]))
            hourly = bool(price["per"]) or (mine and usd < USUAL.least_purchase)
            usd /= {"m": 730.5, "y": 8766.0}.get((price["per"] or "")[:1], 1.0)
            if one := re.search(P.each_card, text):
                # "8 H100 at $2 an hour" are $16; at $24, the whole machine.
                whole = one[0] in ("at", "@") and hourly and usd > USUAL.dearest_card_hour
                if count > 1 and not whole:
                    self.notes.append(f"{count} x {gpu} at {units.usd(usd)} each")
                    usd *= count
            if (machines := -(-count // needs.MOST_TOGETHER)) > 1 and count % machines == 0:
                self.notes.append(f"{count} x {gpu} at {units.usd(usd)} are {machines} machines like this")
                count, usd = count // machines, usd / machines
                self.sets = tuple((g, count if g == gpu else n) for g, n in self.sets)
            kinds: dict[OfferKind, bool] = {
                "on-demand": hourly, "used": bool(re.search(P.used, text)), "new": "new" in text,
            }  # fmt: skip
            kind: OfferKind = next((kind for kind, said in kinds.items() if said), "street")
            quote = Quote(
                gpu_id=gpu, count=count, kind=kind, usd=usd, provider=needs.PROVIDERS.get(seller, seller),
                paid=mine and hourly, whole=not hourly and bool(re.search(P.with_machine, text)),
            )  # fmt: skip
            found.append((quote, start, end))
        if not (paid or len(found) > 1 or self.said(P.fair) or self.said(P.rent_or_not)):
            return
        for quote, start, end in found:
            self.mark(start, end)
            each = "/h" if quote.kind == "on-demand" else ""
            self.notes.append(f"{quote.count} x {quote.gpu_id} at {units.usd(quote.usd)}{each}, as stated")
        self.quotes = tuple(quote for quote, *_ in found)
        priced = {quote.gpu_id for quote in self.quotes}
        # "I get an A6000 for $3000": what is offered is not there yet.
        offered = ((quote.gpu_id, quote.count) for quote in self.quotes if quote.gpu_id in self.have)
        self.sets = tuple(dict.fromkeys((*self.sets, *offered)))
        self.have = tuple(gpu for gpu in self.have if gpu not in priced)
        # What is paid now competes with everything, or with what else is named.
        paid_now = {quote.gpu_id for quote in self.quotes if quote.paid}
        if {gpu for gpu, _ in self.sets} <= paid_now:
            self.sets = ()

    def _read_bill(self) -> None:
        """What an API asks for the same work, or what is paid now for something else than these cards."""
        self.bill: Bill | None = None
        api = self.said(P.api) if self.said(P.api_compared) else None
        name = re.sub(r"\bapis?\b.*", "API", api[0]) if api and api[0] != "api" else "an API"
        if price := self.take(P.item_price):
            items = RULES["scales"].get(price[2], 1.0)
            self.bill = Bill(of=name, usd=self._usd(price[1], hourly=True), items=items)
        elif (paying := self.said(P.paying) and not self.quotes) or api:
            monthly = re.search(P.monthly_sum, self.left())
            if monthly and (paying or not re.search(P.budget, self.plain[: monthly.start()])):
                of = name if api else monthly[2] or "what you have"
                self.bill = Bill(of=of, usd=self._usd(monthly[1]))
                self.blank(re.escape(monthly[0]))
            elif api:
                self.bill = Bill(of=name)
        while self.bill and self.blank(P.api):  # No model to run
            pass
        if self.bill:
            self.fields["bill"] = self.bill

    def _read_amounts(self) -> None:
        """How much is to be done, once or again and again."""
        self.found = amounts.quantities(self.plain)
        self.work: Work | None = None
        self.per_person, self.pixels = False, self.first(P.resolution)
        for each in self.found:
            for start, end in each.spans:
                maker = self.plain[start:end].strip()
                if not (maker in needs.names() or (maker and is_model(maker, None))):  # "1000 sdxl images"
                    self.mark(start, end)
        if (often := self.said(P.again)) and not any(each.period for each in self.found):
            # "Every night, 2M tokens each time"
            counted = next((each for each in self.found if each.kind not in ("epoch", "step", "other")), None)
            period = next(filter(None, often.groups()))
            self.found = tuple(replace(e, period=period) if e is counted else e for e in self.found)
            self.mark(*often.span() if counted else (0, 0))
        speeds = (each for each in self.found if each.kind == "token" and each.tokens == 1 and each.period)
        speed = next(speeds, None)
        # So many in a short time are a speed: of each answer, or as a service all day long.
        slow = speed.number / amounts.seconds(speed.period) <= USUAL.one_reader if speed else False
        able = self.said(RULES["asks"]["able"])
        meant = self.said(P.alone) or (slow and (self.said(P.at_least) or able))
        if speed and meant and amounts.seconds(speed.period) < amounts.DAY_S:
            self.per_person, rate = True, speed.number / amounts.seconds(speed.period)
            if (self.sets or self.have) and able:
                self.fields |= {"asks": "speed", "rate": rate}  # Whether what is named is as fast
            else:
                self.fields["latency"] = Latency("TPOT", 1 / rate)
            self.notes.append(f"{speed.words} per {speed.period} is the speed of each answer")
            self.found = tuple(each for each in self.found if each is not speed)

    def _read_use(self) -> None:
        """What the use of one's own machine costs, and for how long it is used."""
        if energy := self.take(P.energy_price):
            self.assumed["electricity_usd_per_kwh"] = self._usd(energy[1] or energy[2], hourly=True)
        if any(each.period == "night" for each in self.found):
            self.assumed["utilisation"] = USUAL.night
            self.notes.append("the work of a night is done within 12 hours")
        if day := self.take(P.day_hours):
            start, end = int(day[1] or 9), int(day[2] or 5)
            hours = end - start if end > start else (end - start) % 12 or 12  # Past noon
            days = 7 if re.search(r"\b(?:each|every|per) day|daily", day[0]) else 5
            self.assumed["hours_per_week"] = hours * days
            self.notes.append(f"{day[0].strip()}: {hours} hours on {days} days")
        # Years of a reservation are not those of what is owned.
        if not self.said(r"reserv|commit") and (years := self.take(P.kept)):
            months = years[2] or years[4]
            self.assumed["years"] = int(months) / 12 if months else float(_number(years[1] or years[3]))

    def _read_denials(self) -> None:
        """What is not to be: ways of getting GPUs, and providers."""
        self.denied = {name: self.deny(words) for name, words in (*RULES["denied"].items(), *RULES["kinds"])}
        while name := self.take(rf"{P.denial}({_sellers()})\b", again=False):
            self.fields["avoid"] = (*self.fields.get("avoid", ()), needs.PROVIDERS.get(name[1], name[1]))

    def _read_kinds_of_gpu(self) -> None:
        """What only some GPUs are: (kind, field of the catalog, pattern of it, whether it must match)."""
        table = RULES["traits"]
        self.traits = [(kind, name, value, False) for kind, words, name, value in table if self.deny(words)]
        if self.barred:
            self.traits.append(("name", "id", f"^(?:{'|'.join(self.barred)})$", False))
        if length := self.take(P.length):
            most = float(length[1]) * {"m": 1e-3, "c": 1e-2, "i": 0.0254}[length[2][0]]
            short = (spec.id for spec in catalog.all_gpus() if (spec.number("length_m") or 1.0) <= most)
            self.traits.append(("length", "id", f"^(?:{'|'.join(short)})$", True))
        for kind, words, name, value in table:
            if found := self.take(rf"\b(?:{words})\b", again=False):
                if any(0 <= start - found.end() <= 1 for *_, start, _ in self.places):
                    continue  # "Mac Studio M3 Ultra": of the name behind it
                if kind == "link" and self.sets:
                    self.ignore(found[0])  # What is named has it or not
                else:
                    self.traits.append((kind, name, value, True))
                    self.notes += [] if kind in ("maker", "segment") else [f"only: {found[0]}"]
        self.form = "pcie" if self.denied["nvlink"] else self.first(P.board, again=False) or None
        if not (self.traits or self.sets) and self.take(P.computer):
            self.form = "mobile" if self.said(P.laptop) else "small"
            # Few of them were measured, and none has a price that is fresh.
            self.fields |= {"acquire": "own", "unproven": True, "thrifty": True}

    def _read_limits(self) -> None:
        """What the words say of memory, kinds of rent, places, delays, people and one's own machine."""
        fields, take = self.fields, self.take
        self.every(P.shown)
        self.ignore(*self.every(P.beside))
        # "A100 80 GB" is a name, read with the GPUs: its size is no limit.
        if size := self.first(P.total_memory, again=False):
            fields["total_gb"] = float(size)
        elif size := self.first(P.least_memory, again=False):
            fields["memory_gb"] = (float(size), None)
        elif either := take(P.either_memory):
            sizes = sorted(float(size) for size in either.groups())
            fields["memory_gb"] = (sizes[0], sizes[1])
        elif size := self.first(P.exact_memory, again=False):
            fields["memory_gb"] = (float(size), float(size))
            # "on a 16 GB card" is one card, unless another number of them is said.
            self.single = bool(self.said(rf"\b(?:on|an?|is|in|into|one|single|with) {size} ?gi?b"))
        self._read_rent()
        self._read_question()
        for name, pattern, factors in RULES["numbers"]:
            if found := take(pattern):
                value = NUMBERS.get(found[1]) or _amount(re.sub(P.thousands, "", found[1]))
                value *= factors.get(found[2], 1)
                whole = int(value) if value == int(value) else value
                (self.assumed if name in _ASSUMED else fields).setdefault(name, whole)
        if late := take(rf"\b(ttft|first token)\D{{0,20}}?({P.decimal}) ?(ms|s)\w*\b"):
            first_s = units.parse_seconds(late[2] + late[3])
            fields["latency"] = Latency("TTFT", first_s)
            if next_s := take(rf"\btpot\D{{0,20}}?({P.decimal}) ?(ms|s)\b"):
                fields["latency"] = Latency("TPOT", units.parse_seconds(next_s[1] + next_s[2]), first_s)
            else:
                self.notes.append(f"the first token comes within {late[2]} {late[3]}")
        elif late := take(P.token_time):
            if not take(r"\btpot\b") and "token" not in late[0]:
                first = f"'TTFT<={late[1]}ms'"
                self.notes.append(f"{late[0].strip()} is of each token; of the first one it would be {first}")
            fields["latency"] = Latency("TPOT", float(late[1]) / 1e3)
        elif late := take(P.answer_time):
            of = next((e for e in self.found if e.role == "out" and e.kind in ("token", "part")), None)
            written = of.number * of.tokens if of else USUAL.answer
            fields["latency"] = Latency("TPOT", float(late[1]) / written)
            self.notes.append(f"an answer of {written:,.0f} tokens within {late[1]} s, without its prompt")
        if people := take(P.how_many_people, again=False) or take(P.team):
            self._read_people(people, _number(people[1]))
            if take(P.each_own) or fields["users"] == 1:
                fields["concurrent"] = 1
        self._read_own_machine()

    def _read_people(self, said: re.Match[str], users: int) -> None:
        """How many there are, whether all of them at once, and how many come again in which period."""
        if part := self.take(P.part_of_them):
            self.notes.append(f"{part[0].strip()} are {float(part[1]) / 100:.2g} of {users:,}")
            users = max(1, round(users * float(part[1]) / 100))
        self.fields["users"] = users
        self.callers = re.search(P.callers, said[0]) is not None  # Who ask, not who may
        if not self.take(P.at_once) and (users > USUAL.crowd or not self.callers):
            self.members = users
        again = re.match(rf"{P.period}(?P<period>{P.periods})", self.plain[said.end() :])
        counted = [e for e in self.found if e.kind in ("text", "image", "sequence", "part")]
        if again and not any(each.period for each in counted):
            self.mark(said.end(), said.end() + again.end())
            one = amounts.Quantity(1.0, "text", 0.0, "", "", "each", (), "one request")
            first, period = counted[0] if counted else one, again["period"]
            found = self.found if counted else (*self.found, one)
            self.found = tuple(replace(e, period=period) if e is first else e for e in found)

    def _read_offers(self) -> bool:
        """Kinds of rent, providers and places; whether any of the first two says to rent."""
        fields, take = self.fields, self.take
        spot = take(RULES["denied"]["spot"])
        allowed = {kind: True for kind, words in RULES["kinds"] if take(rf"\b(?:{words})\b", again=False)}
        if allowed.get("reserved") and (term := take(rf"\b({P.count})[ -](month|year)s?\b", again=False)):
            fields["most_commitment_h"] = units.parse_seconds(f"{_number(term[1])}{term[2]}") / 3600
        # Words of everyday English are providers only behind "on" or "at", or beside another one.
        beside = rf"\b({P.common})(?=(?:,|,? (?:or|vs\.?|versus|and)|/) ?(?:{_sellers()}|{P.common})\b)"
        seller, providers = rf"({_sellers()})\b|\b(?:on|at|via|from) ({P.common})\b|{beside}", list[str]()
        near = rf"(?:,|\b(?:or|vs|versus|and)\b|/) ?({P.common})\b"
        for pattern in (rf"\b(?:(?:on|at|from|via|by) )?(?:{seller})(?: only)?", near):
            while (providers or pattern != near) and (name := self.first(pattern, again=False)):
                providers.append(needs.PROVIDERS.get(name, name))
        fields |= allowed | ({"providers": tuple(dict.fromkeys(providers))} if providers else {})
        fields |= {"spot": True} if spot else {}
        # "A firm in Germany, data stays in the EU": the last is the demand.
        if places := [
            (at.start(), area) for area, words, _ in prices.areas() if (at := take(words, again=False))
        ]:
            fields["region"] = place = max(places)[1]
            self.notes.append(f"rented in {place}, where a source states it; prices to buy are of the US")
        return bool(spot or allowed or providers)

    def _read_rent(self) -> None:
        """Whether to rent or to own, where that is said, and for how long."""
        fields, take, denied = self.fields, self.take, self.denied
        no_cloud = bool(take(P.offline)) or denied["rent"]
        used, offered = take(RULES["denied"]["used"]), self._read_offers()
        than = self.said(P.owning) and take(rf"\b(?:or|vs|versus|than) (?:on |at |from )?(?:{_sellers()})\b")
        either = take(P.rent_or_not, again=False) or than
        rents: Any = offered or take(P.renting, again=False) or either
        owns = used or take(P.owning) or (None if self.said(P.replaceable) else take(P.replacing))
        # What no shop sells singly is rented, unless somebody says that it is to be bought.
        modules = [catalog.get(gpu).text("form") in MODULES for gpu, _ in self.sets]
        if modules and all(modules) and not (used or self.said(P.owning)):
            rents = rents or owns or [*self.have] or self.said(r"\bcheap\w*")
            owns = None
        once = take(P.once)
        self.once = once is not None and not (owns or self.have or denied["rent"] or either)
        if self.once:
            rents = once
            self.notes.append("done once, so rented: for a single run nothing pays that is bought")
        named = self.sets or self.traits or "memory_gb" in fields or self.said(P.number_of_gpus)
        if named and not (rents or owns or self.have or self.done()) and (hire := self.said(P.hire)):
            rents = None if hire[2].startswith("y") else hire  # GPUs for a week are rented
        if no_cloud or rents or owns or self.have or denied["buy"]:
            fields["acquire"] = "rent" if (rents or denied["buy"]) and not no_cloud else "own"
            if rents and not no_cloud and (self.have or either or take(P.to_own)):
                fields |= {"acquire": "both", "either": bool(either or self.said(P.to_own))}
        self.rents, self.owns = bool(rents), bool(owns)
        if rents and not self.done() and (hire := take(P.hire)):
            fields["hire_h"] = _span_seconds(hire) / 3600
        elif rents and self.sets and not (self.done() or re.search(P.money, self.left())) and take(P.monthly):
            fields["hire_h"] = 730.5
        self._read_condition(bool(used))

    def _read_condition(self, used: bool) -> None:
        """Whether what is bought is used or new, and quiet. Raises InputError for both at once."""
        fields, new, denied = self.fields, self.take(P.new_only), self.denied["used"]
        if used and ((new and not self.said(P.either_condition)) or denied):
            raise InputError("used and new at once", hint="leave one of them out")
        # "A used 3090 or a new 5070"
        both = used and bool((self.sets and self.said(r"\bnew\b")) or self.said(P.either_condition))
        if (used or new or denied) and not both:
            fields["sold"] = ("used" if used else "new", "street")
        if both or ((new or denied) and not used):
            self.notes.append("a price that says 'used or new' is of both kinds of offers together")
        if self.denied["loud"]:
            fields |= {"quiet": True, "acquire": fields.get("acquire", "own")}

    def _read_question(self) -> None:
        """What is wanted most, and what is asked of a GPU or of the work."""
        fields, take = self.fields, self.take
        self.thrifty = bool(take(P.cheaply))
        if take(P.efficient):
            fields["goal"] = "energy"
        elif (take(P.by_price) or (self.sets and take("cheapest"))) and (
            not self.done() or self.said(P.least_card)
        ):
            fields["goal"] = "price"  # Of work that is stated the least cost is meant
        # Whether something is able stands around its name: "will flux run on my 3060".
        read = {"able": self.said}
        asks = [what for what, pattern in RULES["asks"].items() if read.get(what, take)(pattern)]
        able = asks[:1] == ["able"]
        # Whether what is there does it may be asked beside what else could.
        alone = len({*self.have} or {gpu for gpu, _ in self.sets}) == 1
        alone |= bool(able and self.have and not self.sets)  # "Can the two run it"
        alone &= able or not (self.sets and self.have)
        if fields.get("asks") == "speed":
            return
        able &= "memory_gb" in fields
        several = len({*self.sets, *((gpu, 1) for gpu in self.have)}) > 1
        if several and (self.of_mine or self.said(P.which_faster)):
            fields |= {"asks": "faster", "goal": "speed"}
            return
        if asks[:1] == ["able"] and len(self.sets) > 1 and not self.have:
            fields["asks"] = "faster"  # "Is A enough, or should I take B"
        number = self.said(r"\bhow (?:long|much|many)\b")  # Asked of a number, not whether
        if asks[:1] == ["largest"] and (self.sets or self.have or "memory_gb" in fields):
            fields |= {"asks": "largest", "keep": bool(self.have), "unproven": bool(self.sets)}
            return
        alone &= bool(asks) and (asks[0] in ("energy", "speed") or not number)
        if asks and (asks[0] == "memory" or able or alone):
            fields["asks"] = asks[0]
        if fields.get("asks") == "memory":
            fields.setdefault("goal", "price")  # The least that has it

    def _read_own_machine(self) -> None:
        """Slots, plugs, supplies and watts of a machine that one has."""
        fields, take = self.fields, self.take
        if fuse := take(P.fuse):
            # By the codes of most countries.
            self.notes.append(f"a circuit of {fuse[0].strip()}: four fifths of it for what runs for hours")
            if volts := fuse[1] or fuse[3]:
                fields["outlet_w"] = 0.8 * float(fuse[2]) * float(volts)
            elif not re.search(r"\d ?k?w(?:atts?)?\b", self.left()):
                raise InputError(f"how many watts has a {fuse[0]}?", hint="say its volts: '15 A at 120 V'")
        if watts := take(P.watts):
            # What a card may draw limits cards; what a supply or an outlet gives, the whole machine.
            near = self.plain[max(0, watts.start() - 40) : watts.end() + 20]
            whole, each = re.search(P.whole_machine, near), watts[0].endswith("each")
            if of_cards := re.match(P.of_cards, self.plain[watts.end() :]):
                whole = None
            value = _amount(watts[1]) * (1000 if watts[2] else 1)
            value *= USUAL.power_factor if "va" in watts[0] else 1
            wall = self.said(r"outlet|socket|circuit|breaker|wall")
            limit = "outlet_w" if whole and not each else "power_w"
            there = "host_usd" in self.assumed and whole and not wall
            if (self.said("psu|supply") and not of_cards) or there:
                limit, supply = "power_w", value
                value = max(USUAL.slot_w, value / SUPPLY - HOST_PEAK_W)
                self.notes.append(f"a supply of {supply:g} W has {value:.0f} W for cards, as makers advise")
                if not (self.sets or self.said(P.in_server)):
                    fields.setdefault("at_home", True)  # A PC, whose fans cool no server's card
            # "10 kW in the rack" of forty people, each with a machine, is for all of these.
            share = self.several * (fields.get("users", 1) if re.search(r"\brack|\broom\b", near) else 1)
            self.notes += [f"{watts[0].strip()} are for {share} machines"] if share > 1 else []
            value /= share
            fields[limit] = min(value, fields.get(limit, value))
            self.watts_each = value if each else 0.0
            self.every(rf"\b(?:{P.whole_machine})\w*\b")
        if pins := take(P.pins):  # What they bring beside the slot
            fields.setdefault("power_w", USUAL.slot_w + _number(pins[1] or "1") * USUAL.pin_w[pins[2]])
            self.notes.append(f"{fields['power_w']:g} W by a slot and {pins[0].strip()}")
        fields["fans"] = bool(self.said(P.in_server))
        if {"slots", "outlet_w", "power_w"} & fields.keys():
            fields.setdefault("acquire", "own")

    def _read_money(self) -> None:
        """Deadlines and budgets; so much money over so much time is a price of an hour."""
        fields, take, often = self.fields, self.take, any(each.period for each in self.found)
        if last := take(rf"\b{P.until} ((?:{units.DAYS})(?!\w)){P.hour}"):
            day = units.parse_day(last[1], self.today)
            hours = take(rf"\((?:in |within |about |~)?{P.span}\)", again=False)  # As it was counted
            fields["deadline_s"] = _span_seconds(hours) if hours else (day - self.today).days * amounts.DAY_S
            self.notes.append(f"{last[0].strip()} is {day}, {(day - self.today).days} days from now")
        elif span := take(rf"\b{P.before} {P.span}") or take(
            rf"(?<![$€£\w] )(?<!euros )(?<!dollars )\b{P.span},? {P.after}\b"  # "400 dollars a month max"
        ):
            fields["deadline_s"] = _span_seconds(span)
        elif (
            "hire_h" not in fields
            and self.done()
            and (span := take(rf"{'' if self.rents or often else '(?<!for )'}\b{P.span}", again=False))
        ):
            if often:  # The GPU is needed for that long, again and again: it is rented
                fields |= {"acquire": fields.get("acquire", "rent"), "hire_h": _span_seconds(span) / 3600}
            else:
                fields["deadline_s"] = _span_seconds(span)
                self.notes.append(f"{span[0].strip()} is taken as the deadline")
        if "deadline_s" in fields and (week := self.assumed.get("hours_per_week")) and self.have:
            fields["deadline_s"] *= week / 168
            self.notes.append(f"{fields['deadline_s'] / 3600:,.0f} hours of use until then")
        self.fields = fields = self.usual | fields
        hires = self.rents or self.said(r"\bfor (?:an?|the|one) (?:\S+ )?(?:weekend|night)\b")
        known = self.done() or self.said(rf"\b(?:{units.DATASET_NAMES})\b")
        if "deadline_s" in fields and hires and not (known or re.search(P.money, self.left())):
            # Who says no amount rents for so long.
            fields |= {"hire_h": fields.pop("deadline_s") / 3600, "acquire": fields.get("acquire", "rent")}
        credits = rf"(?:(?:of|in|worth|cloud|free|gpu|{_sellers()}|{P.common}) )*credits\b"
        money = (
            re.search(P.money, self.left())
            or take(rf"\b({P.amount}\s?k?) {credits}")  # "40k google cloud credits"
            or take(rf"{P.at_most} ?({P.amount}\s?k?)\b{P.sum_alone}", again=False)
            or take(rf"(?<![\w-])({P.decimal}\s?k)\b{P.sum_alone}", again=False)
            or (take(r"(?<![\w.-])(\d{3,5})$", again=False) if self.said(rf"\b(?:{P.machine})\b") else None)
        )  # fmt: skip
        if money is None:
            if self.every(P.fastest) and not self.done():
                fields.setdefault("goal", "speed")
            return
        self.mark(*money.span())
        text = (money[1] if money.re.groups else money[0]).strip()
        if re.fullmatch(r"0\d*", text):
            hint = "a shell takes $800 for a variable: write '... $800' in single quotes"
            raise InputError(f"a budget of {text}", hint=hint)
        if re.fullmatch(rf"{P.amount}\s?k?", text):
            self.notes.append(f"{money[0].strip()} is read as ${text}")
        # What follows the amount says what it is for.
        after = self.plain[money.end() : money.end() + 14]
        per = re.match(rf"{P.period}(month|h|year)", after) or take(r"()\bhourly\b")
        budget = self._usd(text, hourly=bool(per))
        fields["budget_usd"] = budget
        hired_h = fields.get("hire_h", 0.0) if per and per[1] == "month" else 0.0
        if not per and "deadline_s" in fields and not (self.owns or self.have or self.done()):
            hired_h = fields.pop("deadline_s") / 3600
            fields["acquire"] = "rent"
        if hired_h:
            self.notes.append(f"{text} for {hired_h:g} h: at most ${budget / hired_h:.2f} an hour")
            fields |= {"budget_usd": budget / hired_h, "budget_per_hour": True}
        elif per:
            self.mark(money.start(), money.end() + (per.end() if per[1] else 0))
            if per[1] == "year":
                fields["budget_usd"] = budget / 12
            fields["budget_per_hour" if per[1] in ("", "h") else "budget_per_month"] = True
            if per[1] in ("", "h") and not (self.owns or self.have):
                fields.setdefault("acquire", "rent")  # What is bought has no price of an hour
        elif not self.rents and not (self.done() and not (self.owns or self.have)):
            gpus = self.owns or self.have or self.sets or self.traits or self.said(rf"\b(?:{P.machine})\b")
            self.small = budget < USUAL.small_sum and not gpus
            fields["acquire"] = "both" if self.small else "own"
            most = take(rf"\bbest\b(?! value)|{P.fastest}")
            least = self.thrifty or self.small or fields.get("users", 1) > 1 or "latency" in fields
            if not self.done() and (most or not least):
                fields.setdefault("goal", "speed")  # The most that the money buys

    def _usd(self, text: str, *, hourly: bool = False) -> float:
        """USD of a sum as people write it; of dollars, where no currency stands there."""
        plain = re.sub(r"\s?euros?$", "eur", re.sub(r"\s?(?:dollars?|bucks|usd)", "", text)).strip()
        if not hourly and not re.match(r"\D*0", plain):
            # Nobody pays tenths of a cent: "1.500 euro", "20,000 euros" and "1 200" are thousands.
            plain = re.sub(r"(?<=\d)[., ](?=\d{3}(?!\d))", "", plain)
        plain = plain.replace(" ", "")
        return units.parse_usd(f"${plain}" if re.fullmatch(rf"{P.amount}k?", plain) else plain, self.rates)[0]

    def done(self) -> bool:
        """Whether an amount of work is stated."""
        return any(each.kind != "other" for each in self.found) or "epoch" in self.plain

    def _at_once(self, people: int) -> int:
        """How many of so many people are answered at one moment."""
        if self.members < 2:
            return people
        some = max(2, -(-min(people, USUAL.crowd) * (1.0 if self.callers else USUAL.at_once) // 1))
        some += USUAL.at_once_of_crowd * max(0, people - USUAL.crowd) // 1
        self.notes.append(f"of {people:,} people {some:.0f} at once ('at once' behind a number states it)")
        return int(some)

    def _read_number_of_gpus(self) -> None:
        number = self.take(P.number_of_gpus) or self.take(r"()\b(\d{1,2}) ?x\b(?! ?\d)", again=False)
        self.number = number[0] if number else ""
        self.gpus = (1 if number[1] else _number(number[2]), _number(number[2])) if number else None
        if len(self.sets) < 2 and not number and self.take(P.how_many):
            self.fields |= {"asks": "number"} | ({"only": (self.sets[0][0],)} if self.sets else {})
            self.sets, self.gpus = (), (1, needs.MOST_TOGETHER)
        if self.gpus and self.gpus[1] == self.fields.get("users"):
            self.gpus = (1, 1)  # "5 GPUs for 5 students"
        fields, one = self.fields, self.single or self.gpus_each or self.said(r"\bmy own (?:gpu|card)\b")
        much = fields.get("budget_usd", 0.0) >= USUAL.large_sum and "budget_per_hour" not in fields
        much &= fields.get("users", 1) == 1 and self.said(P.several_cards) is not None
        if self.gpus is None and (fields.get("goal") == "energy" or (one and not self.sets)):
            self.gpus = (1, 1)
        elif self.gpus is None and ("total_gb" in fields or (much and not self.sets)):
            self.gpus = (1, needs.MOST_TOGETHER)
        if self.watts_each and self.gpus:
            self.fields["power_w"] = self.watts_each * self.gpus[1]

    def _settle_gpus(self) -> None:
        """What the names, kinds and numbers of GPUs say together."""
        fields = self.fields
        if self.quotes:
            self._settle_quotes()
        self._settle_people()
        if self.gpu_hours and self.gpu_hours[2] and len(self.sets) < 2:
            week = _amount(self.gpu_hours[1]) * amounts.seconds("week") / amounts.seconds(self.gpu_hours[2])
            number = int(max(1, -(-week // 168)))
            self.assumed["hours_per_week"] = week / number
            self.sets, self.gpus = tuple((gpu, number) for gpu, _ in self.sets), (number, number)
        if self.have:
            self._settle_owned(self.sets)
        large = fields.get("acquire") == "own" and fields.get("budget_usd", 0.0) >= USUAL.supported_sum
        open_to = not (self.sets or self.have or self.traits or fields.keys() & {"at_home", "sold"})
        if large and open_to and fields.get("users", 1) > 1 and self.said(P.organisation):
            every = ((spec.id, spec.text("segment")) for spec in catalog.all_gpus())
            fields["only"] = tuple(gpu for gpu, segment in every if segment in ("server", "workstation"))
            self.notes.append(needs.SUPPORTED)
        like = tuple(spec.id for spec in catalog.all_gpus() if self._meant(spec)) if self.traits else ()
        apart = next((gpu for gpu, _ in self.sets if self.traits and gpu not in like), None)
        if apart and not self.said(r"\b(?:or|vs|versus|than)\b"):
            problem = f"the question names {apart}, and others that it is not one of"
            raise InputError(problem, hint="name each GPU")
        if apart and {count for _, count in self.sets} != {1}:
            self.sets, apart = (*self.sets, *((gpu, 1) for gpu in like)), None
        one = self.sets[0] if len(self.sets) == 1 else ("", 0)
        if apart or (self.traits and not self.sets):
            self._settle_kind(like)
        elif one[0] in self.families and (self.rents or fields.get("goal") == "price"):
            # "An A100" to rent is any of them.
            fields["only"], self.gpus = self.families[one[0]], (one[1], one[1])
        elif self.sets:
            self._settle_sets()
        if fields.get("either"):
            fields["hired"] = self._hired()
        self.named_gpus = {gpu for gpu, _ in self.sets} or {*fields.get("only", ())}
        if self.named_gpus and not any(catalog.get(gpu).vendor == "NVIDIA" for gpu in self.named_gpus):
            fields["unproven"] = True  # None of them was measured: the answer says so
        if "hire_h" in fields and "hours_per_week" in self.assumed:
            week, weeks = self.assumed["hours_per_week"], fields["hire_h"] / 168
            fields["hire_h"] = week * weeks
            self.notes.append(f"{weeks:.3g} weeks of {week:.3g} h")
        # One kind of computer is ranked at a time. What a laptop that is there may be replaced by is open.
        there = any(needs.has_form(catalog.get(gpu), "laptop") for gpu in self.have)
        either = self.said(P.either_computer)
        self.laptop = bool(self.take(P.laptop)) and not (there or either)
        laptops = any(needs.has_form(catalog.get(gpu), "laptop") for gpu, _ in self.sets)
        self.ignore("laptop" if either and self.form != "mobile" and not laptops else "")

    def _hired(self) -> tuple[str, ...]:
        """Of several GPUs those that stand with a word for rent: "a 4090 at home or renting an L4"."""
        ends = [*(each.end() for each in re.finditer(r"\b(?:or|vs|versus)\b|,", self.plain)), len(self.plain)]
        parts = [self.plain[start:end] for start, end in pairwise([0, *ends])]
        rented = {
            gpu for gpu, *_, start, _ in self.places
            if re.search(P.renting, parts[next(n for n, end in enumerate(ends) if start < end)])
        }  # fmt: skip
        if not rented or rented == {gpu for gpu, _ in self.sets}:
            return ()
        return tuple(dict.fromkeys(each for gpu in rented for each in (gpu, *self.families.get(gpu, ()))))

    def _settle_quotes(self) -> None:
        """What is compared where the question states prices, and in which ways."""
        fields, sets = self.fields, self.sets
        fields["quotes"] = self.quotes
        quoted = tuple((quote.gpu_id, quote.count) for quote in self.quotes)
        self.sets = tuple(dict.fromkeys((*sets, *quoted))) if sets else ()
        ways = {"rent" if quote.kind == "on-demand" else "own" for quote in self.quotes}
        # Whether one price to buy is good is also a question of what renting costs.
        alone = len(self.quotes) == 1 and not (self.denied["rent"] or fields.get("at_home"))
        both = len(ways) > 1 or (self.owns if "rent" in ways else alone)
        fields["acquire"] = "both" if both else ways.pop()
        if not sets and "budget_usd" not in fields:
            # Nothing that costs more an hour is cheaper.
            fields |= {"budget_usd": max(quote.usd for quote in self.quotes), "budget_per_hour": True}
            self.gpus = self.gpus or (1, max(8, *(quote.count for quote in self.quotes)))

    def _settle_kind(self, like: Sequence[str]) -> None:
        """ "A Mac or a 5090": each of the kind is one of the alternatives."""
        fields, sets = self.fields, self.sets
        if not (sets or fields.get("sold")):  # Of computers that are to be bought, those in the shops
            cards = {gpu for gpu in like if catalog.get(gpu).text("form") != "soc"}
            like = tuple(gpu for gpu in like if gpu in cards or is_sold_new(gpu, self.today)) or like
        fields["only"] = tuple(dict.fromkeys((*(gpu for gpu, _ in sets), *like)))
        if len(fields["only"]) > FEW:
            fields["named"] = tuple(gpu for gpu, _ in sets)
        self.gpus = self.gpus or ((1, 1) if sets else None)
        if not fields["only"]:
            raise InputError("no GPU is all that the question names", hint="leave one of it out")

    def _settle_sets(self) -> None:
        """How many of each GPU that is named. Raises InputError for two numbers."""
        fields, gpus = self.fields, self.gpus
        counts = [count for _, count in self.sets]
        if gpus and not gpus[0] <= min(counts) <= max(counts) <= gpus[1]:
            if set(counts) != {1}:
                raise InputError(f"{self.number}, or as many as stand beside the names?", hint="say one")
            # The number was said apart from the names.
            counts = [gpus[1]] * len(self.sets)
        self.gpus, own = (min(counts), max(counts)), fields.get("acquire") == "own"
        sets = tuple((gpu, count) for (gpu, _), count in zip(self.sets, counts, strict=True))
        if len(sets) > 1 and not fields.get("asks") and not self.quotes:
            # Any variant of a name with the same memory will do: the cheapest of them decides.
            sets = tuple(
                (each, count)
                for gpu, count in sets
                for each in dict.fromkeys((gpu, *self.families.get(gpu, ())))
                if catalog.get(each).memory_bytes == catalog.get(gpu).memory_bytes
                and (each == gpu or not own or catalog.get(gpu).text("form") in MODULES)
            )
        fields["sets"] = sets

    def _settle_people(self) -> None:
        """Whether people share a machine, and for how many hours a week they all use it together."""
        fields = self.fields
        # Many people, each with a small job now and then, need no machine each: their hours are what counts.
        often = self.take(P.now_and_then, again=False) if fields.get("users", 1) > 1 else None
        apart = fields.get("concurrent") == 1 and not often  # Each has one; "together" is of the money
        self.shared = fields.get("users", 1) > 1 and not apart and bool(self.take(P.sharing) or often)
        if often:
            week = self.assumed.get("hours_per_week", {"day": 7, "week": 1}.get(often[1] or "week", 1))
            self.notes += [] if "hours_per_week" in self.assumed else ["an hour for each time"]
            self.assumed["hours_per_week"] = min(168.0, fields["users"] * week)
        elif self.shared and "hours_per_week" in self.assumed and self.said(r"\beach\b"):
            hours = self.assumed["hours_per_week"]
            self.notes.append(f"{hours:g} h a week of each of {fields['users']} people")
            self.assumed["hours_per_week"] = min(168.0, fields["users"] * hours)

    def _settle_owned(self, sets: Sequence[tuple[str, int]]) -> None:
        """What is to become of the cards that are there, beside those that were named."""
        fields, have = self.fields, self.have
        fields["have"] = have
        # Whether it is worth it is a question about what is there; what to buy instead is not.
        replaced = self.take(r"upgrad\w*|replac\w*") and not {gpu for gpu, _ in sets}.intersection(have)
        asked = replaced and self.take(r"\bworth\b|\bshould (?:i|we)\b")
        fields["upgrade"] = "faster" in fields or (bool(replaced) and not asked)
        # "QLoRA on my 3060", "can I run ... or rent": whether it can, before what else could.
        able, mine, other = map(self.said, (RULES["asks"]["able"], P.mine, P.other))
        keep = (able or self.of_mine or (mine and not other)) and not sets and not fields["upgrade"]
        fields |= {
            "keep": bool(keep),
            "beside": {gpu for gpu, _ in sets} <= {*have} and bool(self.said(P.beside_it)),
        }
        if self.of_mine:
            fields["only"] = tuple(dict.fromkeys(have))
        if keep and (self.of_mine or not any(catalog.get(gpu).vendor == "NVIDIA" for gpu in have)):
            fields["unproven"] = True  # Whether it can is answered, however little is known of how fast

    def _meant(self, spec: GpuSpec) -> bool:
        """Whether a GPU is of every kind that is wanted, and of none that is not."""
        found = dict[tuple[str, bool], bool]()
        for kind, name, value, wanted in self.traits:
            stated = spec.facts[name].value if name in spec.facts else getattr(spec, name, "")
            found[kind, wanted] = found.get((kind, wanted), False) | bool(re.search(value, str(stated)))
        return all(has == wanted for (_, wanted), has in found.items())

    def _read_work(self) -> str:
        """The model, network or use, or several with their shares of time. Raises InputError without any."""
        # Who fine-tunes by QLoRA says both, and means the first.
        modes: list[Purpose] = [mode for pattern, mode in RULES["modes"] if self.take(pattern)]
        self.mode = modes[0] if modes else None
        self._read_shares()
        self._read_sizes_of_images()
        named = self.mixed[0][0] if self.mixed else self._name() or self._open_instead()
        if not named:
            # A model that has a size wins over what people are or do.
            named = self._of_size()
            self.by_use = bool(named) or not (named := self._stand_in())
        elif not self.mixed:
            self._read_others(named := self._largest(named))
        named = named or self._use(again=True) or ("mobile" if self.laptop else None)
        if named is None and self.bill and self.bill.of.endswith("API"):
            named = str(P.open)
            self.notes.append(f"no model was named: {named}, an open one, is taken")
        if named is None:
            named = self._no_work()
        else:
            self._read_size_behind(named)
        start = f"{ALIASES.get(named, named)}-pretrain"
        whole = [name for name in registry.names() if name.startswith(start)]
        if whole and self.said(r"pre-?train|from scratch"):
            named = min(whole)  # of the shortest sequences, on which nine steps of ten are made
            self.notes.append(f"pre-training is taken as {named}: {registry.get(named).spec.title}")
        if self.shared and not (is_model(named, self.mode) and self.mode in (None, "infer")):
            # One machine for all of them, and of what the money buys the most.
            people = self.people = self.fields.pop("users")
            self.notes.append(f"one machine that {people} people share")
            self.gpus = self.gpus or (1, 8)
            if "budget_usd" in self.fields and not self.done():
                self.fields.setdefault("goal", "speed")
        images = named in DIFFUSION or "diffusion" in named or ALIASES.get(named) == "unet-sd15"
        if self.mode is None and (images or any(each.period for each in self.found)):
            # What comes again every day is answered, not learnt; people make images more often than models.
            self.mode = "infer"
        if images:
            self._read_steps(named)
        return named

    def _read_sizes_of_images(self) -> None:
        """Marks sizes that are of networks of images: "wan 14b", unless a language model is named before."""
        drawn = (*(row["words"] for row in catalog.rows(DATA / "stand_ins.csv")), *map(re.escape, DIFFUSION))
        words = rf"(?<![\w-])(?:{'|'.join(drawn)})(?![\w-])"
        for one in re.finditer(rf"(?<!\w){P.decimal}b\b", self.left()):
            before, after = self.plain[: one.start()], self.plain[one.end() :]
            near = re.search(rf"{words}[^,;]{{0,12}}$", before) or re.match(rf"[^,;]{{0,12}}{words}", after)
            more = re.match(r"(?: models?)? (?:and|plus|\+|&) ", after)
            if near and not (more or re.search(rf"\b(?:{amounts.families()})[ -]?[\d.]*[ -]?$", before)):
                self.mark(*one.span())

    def _largest(self, named: str) -> str:
        """Of several models of one kind the largest: what does it does the others, one at a time."""
        drawn = named in DIFFUSION
        if not (drawn or is_model(named, None)):
            return named
        kind = DIFFUSION.__contains__ if drawn else partial(is_model, mode=None)
        several = [named, *iter(lambda: self._name(kind), None)]
        if len(set(several)) > 1:
            self.notes.append(f"of {', '.join(dict.fromkeys(several))} the largest decides, one at a time")
        return max(several, key=lambda name: DIFFUSION[name].gb if drawn else llms.find(name).parameters)

    def _read_others(self, named: str) -> None:
        """A second network beside a first, where no amount of one of them is stated."""
        own, apart = ALIASES.get(named, named), {*DIFFUSION, *presets()}
        if self.found or named in apart or is_model(named, None):
            return
        if other := self._name(
            lambda name: not (name in apart or is_model(name, None) or ALIASES.get(name, name) == own)
        ):
            self.mixed = ((named, 1.0), (other, 1.0))
            self.notes.append(f"{named} and {other}, half of the time each")

    def _read_size_behind(self, named: str) -> None:
        """The size of a model behind its name: "gpt-2 124M"."""
        if size := re.search(rf"{P.model_size}(?: param(?:eter)?s?)?", self.left()):
            like = (name for name in registry.names() if name.startswith(ALIASES.get(named, named)))
            weights = next((n for name in like if (n := registry.get(name).spec.parameters)), 0)
            weights = llms.find(named).parameters if is_model(named, self.mode) else weights
            stated = float(size[1]) * {"m": 1e6, "b": 1e9}[size[2]]
            if abs(weights - stated) < USUAL.rounded * stated:
                self.mark(*size.span())

    def _read_steps(self, named: str) -> None:
        """Steps of each image that is made; where a model of images learns, of all of it: so many batches."""
        steps = next((each for each in self.found if each.kind == "step"), None)
        if self.mode == "infer":
            self.found = tuple(each for each in self.found if each is not steps)
            if steps and named in DIFFUSION:
                self.fields["steps"] = int(steps.number)
            elif steps:
                self.ignore(steps.words)
            return
        images = next((each for each in self.found if each.kind == "image"), None)
        if any(each.kind == "epoch" for each in self.found):
            return
        # What it learns from is seen again and again.
        learns = self.mode in ("lora", "qlora", "finetune")
        if steps is None and learns and self.fields.get("asks") != "able":  # Whether it can takes no amount
            words = f"{USUAL.steps:,} steps, as is usual" + (f" for {images.words}" if images else "")
            steps = amounts.Quantity(USUAL.steps, "step", 0.0, "", "", "", (), words)
        if steps is not None:
            self.found = (*(each for each in self.found if each not in (steps, images)), steps)
            self.fields.setdefault("batch", 1)

    def _read_shares(self) -> None:
        """Several works with their shares of the time, each before its share or behind it. Raises InputError
        for a share of nothing, and for works in different modes."""
        shares = list(re.finditer(rf"({P.decimal}) ?%", self.plain))
        if len(shares) < 2:
            shares = list(re.finditer(r"\bhalf()\b (?:of )?(?:the time|it)?", self.plain))
        if len(shares) < 2:
            return
        for share in shares:
            self.mark(*share.span())
        ends = [0, *(share.start() for share in shares), len(self.plain)]
        first = self._within(ends[0], ends[1])
        spans = [(ends[n], ends[n + 1]) for n in range(len(shares) + 1)][0 if first else 1 :][: len(shares)]
        names: list[str | None] = [first] if first else []
        names += [self._within(start, end) for start, end in spans[len(names) :]]
        if not all(names):
            raise InputError("shares of what?", hint="name each: 'llm-8b-decode 70 %, sd 30 %'")
        weights = [float(share[1] or 50) for share in shares]
        if not all(weights):
            raise InputError("a share of nothing", hint="leave out what takes no time")
        parts = [self.plain[start:end] for start, end in spans]
        said = [next((mode for words, mode in RULES["modes"] if re.search(words, p)), "") for p in parts]
        if len({*filter(None, said)}) > 1:
            problem = f"{' and '.join(filter(None, said))} in one mix: only works of one mode have one speed"
            raise InputError(problem, hint="ask for each apart")
        self.mode = self.mode or "infer"
        self.notes += [f"all of it is taken in mode {self.mode}"] if "" in said and any(said) else []
        self.mixed = tuple(zip(map(str, names), weights, strict=True))

    def _within(self, start: int, end: int) -> str | None:
        """The work that is named there, as though all other words were read."""
        before = self._left
        self._left = f"{' ' * start}{before[start:end]}{' ' * (len(before) - end)}"
        found = self._name() or self._use()
        self._left = before[:start] + self._left[start:end] + before[end:]
        return found

    def _no_work(self) -> str:
        """What work is taken for in a question about GPUs alone. Raises InputError for others."""
        fields, limits = self.fields, {"memory_gb", "total_gb", "only"}
        gpus = any((self.have, self.sets, self.quotes, self.traits, limits & fields.keys()))
        gpus = gpus or {"providers", "budget_usd"} <= fields.keys()  # "40k credits on gcp"
        # What so many hours cost, whatever they are for.
        priced = bool(self.sets) and "hire_h" in fields
        words = "|".join(re.escape(word) for word in self.unread() if not re.fullmatch(P.bits, word))
        # What is to be run, trained or worked with has a name that means nothing here.
        of_work = self.said(rf"\b(?:{P.of_work}) (?:(?:an?|the|my|our) )?(?:{words or '(?!)'})\b")
        hired = self.rents and "memory_gb" in fields
        known = gpus and (self.mode or self.sets or self.have or self.quotes or hired) and not of_work
        if (words and not (priced or known)) or not (gpus or self.take(P.machine)):
            raise needs.unknown(self.text)
        if other := self.said(P.other_work):
            problem = f"{other[0]}: no work of this tool, which knows training, inference and FP64 alone"
            raise InputError(problem, hint="name a model, a network or what it is to compute")
        if self.quotes and not self.sets:
            # The same machine, wherever it is rented.
            fields["sets"] = tuple((quote.gpu_id, quote.count) for quote in self.quotes)
            self.gpus = (min(quote.count for quote in self.quotes), max(quote.count for quote in self.quotes))
        # Of other makers' cards no training was measured; what they read from memory says how they answer.
        answers = fields.get("unproven") or self.mode == "infer" or self.said(r"\b(?:fp[48]|int[48])\b")
        answers = answers or fields.get("asks") == "largest"
        named, self.mode = ("llama-3.1-8b", "infer") if answers else ("resnet50", "train")
        self.notes.append(f"no work was named: taken as {USUAL.taken[self.mode]}")
        if not answers:
            fields["title"] = f"no work named (by {named})"
        if "budget_usd" in fields and fields.get("acquire") == "own":
            fields.setdefault("goal", "speed")
        if fields.get("goal") == "price" and not self.have:
            # A question about prices: of cards alone, whatever is known of their speeds.
            fields |= {"acquire": fields.get("acquire", "own"), "unproven": True}
            self.assumed["host_usd"] = 0.0
            self.notes[-1] = f"no work was named: by price; speeds are those of {USUAL.taken[self.mode]}"
        return named

    def _name(self, of: Callable[[str], bool] = bool) -> str | None:
        """The first model or network, of one kind, whose name stands there; of a data set only where nothing
        else does."""
        left, names = self.left(), needs.names()
        # With its version, else without one that is not known.
        for size, version in ((3, "b?"), (2, "b?"), (3, "b"), (2, "b"), (1, "b")):
            words = list(re.finditer(rf"[a-z][\w.+-]*|\d+(?:\.\d+|x\d+)?{version}\b", left))
            for at in range(len(words) - size + 1):
                start, end = words[at].start(), words[at + size - 1].end()
                parts = [word[0] for word in words[at : at + size]]
                # "qwen3 8b 2507" has the month of its release behind it; another number is a limit.
                if re.fullmatch(r"\d{4,}", parts[-1]) and not re.fullmatch(r"2\d(0[1-9]|1[012])", parts[-1]):
                    continue
                name = "-".join(parts).rstrip(".")
                spelt = (name, name.replace("-", ""), " ".join(parts), name.removesuffix("s"))
                known = next((each for each in spelt if each in names), None)
                if known is None and (size > 1 or not name.isalpha()) and name not in RULES["sizes"]:
                    together = "-".join(("".join(parts[:2]), *parts[2:]))  # qwen 2.5 32b
                    known = next((each for each in (name, together) if is_model(each, None)), None)
                data = known and re.fullmatch(units.DATASET_NAMES, known) and self._named_apart(start, end)
                if known and of(known) and not data:
                    self.mark(start, end)
                    return known
        return None

    def _named_apart(self, start: int, end: int) -> bool:
        """Whether a network is named beside what stands there."""
        text = self.plain[:start] + " " + self.plain[end:]
        like = (row["words"] for row in catalog.rows(DATA / "stand_ins.csv"))
        names = (rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in registry.names())
        return any(re.search(each, text) for each in (*names, *like))

    def _open_instead(self) -> str | None:
        """An open model, where one is wanted that is like one whose weights nobody has. Raises InputError
        where just that one is wanted."""
        name, like = P.closed, P.like
        if self.bill and (found := self.take(rf"\b(?:{name})\b")):
            self.notes.append(f"{found[0]} is compared with {P.open}, an open model")
            return str(P.open)
        if wanted := self.take(rf"(?:{like}) (?:the |an? )?({name})\b|\b({name})[ -](?:{like})\b"):
            said, instead = wanted[1] or wanted[2], P.open
            self.notes.append(f"the weights of {said} are closed: {instead}, an open model, is taken instead")
            return str(instead)
        if closed := self.take(rf"\b(?:{name})\b"):
            raise InputError(
                f"{closed[0]} cannot be run on GPUs of one's own: its maker does not publish the weights",
                hint=f"an open model instead, such as {P.open}",
            )
        return None

    def _stand_in(self) -> str | None:
        """What stands in for work that no workload is. Raises InputError where nothing here is like it."""
        for row in catalog.rows(DATA / "stand_ins.csv"):
            found, words = list[str](), rf"(?<![\w-])(?:{row['words']})"
            # "Video generation", of which the mode took a word already.
            while one := self.take(words, again=not found):
                found.append(one[0])
            if not found:
                continue
            said, usual = ", ".join(found), row["usual"] if self.mode is None else "train"
            self.mode = "infer" if "infer" in (usual, self.mode) else "train"
            named = row[self.mode]
            self.fields["title"] = f"{row['what']} (by {named})"
            self.fields |= {"least_gb": float(row[f"gb_{self.mode}"]), "passes": float(row["runs"])}
            # Whether its items are those of the work, or how many of them an hour of audio is.
            heard = self.mode == "infer" and any(each.kind == "audio" for each in self.found)
            counted = row["counted"] == "yes" or bool(heard and row["counted"])
            if heard and counted:
                hour = float(row["counted"])
                self.found = tuple(
                    replace(e, number=e.number * e.tokens / 3600 * hour, kind="token", tokens=1, role="out")
                    if e.kind == "audio" else e for e in self.found
                )  # fmt: skip
                hours = sum(each.number for each in self.found if each.kind == "token") / hour
                self.notes.append(
                    f"{round(hours, 1):,g} h of audio count as {hour / 1e6:g} M tokens of {named} an hour, "
                    "within a factor of two: an A100 takes 98 s for 150 min (insanely-fast-whisper, large v3)"
                )
            self.notes.append(
                needs.stands_in(said, row, named)
                + f", so GPUs compare by it{needs.UNCOUNTED}" * (not counted)
                + f"; it takes {self.fields['least_gb']:g} GB of memory or more"
                * (self.fields["least_gb"] > 0)
            )
            if counted:
                return named
            if "deadline_s" in self.fields:
                hint = "leave the deadline out"
                raise InputError(f"how long {said} takes is not known, only how GPUs compare", hint=hint)
            if counted_in := [each.words for each in self.found if each.words]:
                self.ignore(*counted_in)
                self.notes.append(f"what {' and '.join(counted_in)} cost is not known")
                self._rent_once()
            self.ignore(f"{self.pixels} pixels" if self.pixels else "")
            self.stands_in = True  # Nor are epochs of another network's data set
            return named
        for row in catalog.rows(DATA / "no_stand_ins.csv"):
            if one := self.take(row["words"]):
                problem = f"{one[0]} ({row['what']}): no workload here is like it, so its speed is not known"
                hint = "ask by memory and price: 'cheapest new card with 24 GB'"
                raise InputError(f"{problem}: {row['because']}", hint=hint)
        return None

    def _of_size(self) -> str | None:
        """The model that a size or a family is taken as. Raises InputError for a size that none has."""
        known = {name.split("-")[0] for name in llms.names()}
        words = (w for word in self.unread() for w in (word, word.rstrip("0123456789.")))
        said = family = next((word for word in words if word in known), "")
        of_it = [name for name in llms.names() if family and name.startswith(family)]
        if family and (version := self.said(rf"\b{family} ?(\d[\d.]*)(?![\w.])")):
            self.mark(*version.span())
            of_version = re.compile(rf"{family}-?{re.escape(version[1])}(?![\d])")
            of_it = list(filter(of_version.match, of_it)) or of_it
        model = next((n for n in of_it if n.endswith(("-8b", "-7b"))), of_it[0] if of_it else "")
        if alone := self.take(P.model_size, again=False):
            said, sized = alone[0], re.compile(rf"(?<![\d.]){re.escape(alone[0])}\b")
            model = next(filter(sized.search, of_it), "") or RULES["sizes"].get(said, "")
            size = float(alone[1]) * {"m": 1e6, "b": 1e9}[alone[2]]
            near = min(llms.names(), key=lambda n: abs(llms.find(n).parameters - size))
            model = model or next(filter(sized.search, llms.names()), near)
            if model == near and abs(llms.find(near).parameters - size) > USUAL.rounded * size:
                raise InputError(f"no model of {said} is known here", hint=f"the nearest: {near}")
        if not model:
            return None
        self.take(rf"\b{family}" + (r"[\d.]*" if alone else r"\b") if of_it else "(?!)")
        self.take(P.llms, again=False)
        self.notes.append(f"{said} is taken as {model}")
        return model

    def _use(self, *, again: bool = False) -> str | None:
        """What a size, a family or a use is taken as; `again` also of words that were read before."""
        if model := self._of_size():
            return model
        for pattern, name in RULES["uses"]:
            if found := self.take(pattern, again=again):
                self.open_model = is_model(name, None) and "small" not in found[0]
                self.notes += [f"{found[0]} is taken as {name}"] if name not in presets() else []
                return str(name)
        return None

    def _settle_work(self, named: str) -> None:
        """What the amounts say together of the work that was named."""
        data = self.said(rf"\b(?:{units.DATASET_NAMES})\b")
        epochs = next((each for each in self.found if each.kind == "epoch"), None)
        counted = [each for each in self.found if each.kind not in ("epoch", "step")]
        timed = data and ("deadline_s" in self.fields or (not self.found and self.take(P.how_long)))
        if self.stands_in or self.mixed or not (self.found or timed or self.once):
            return
        if others := [each for each in counted if each.kind in ("other", "audio")]:
            self.ignore(others[0].words)
            return
        served = is_model(named, self.mode)
        need = needs.need_for(named, mode=self.mode)
        if not (self.found or data):
            item = item_of(need).partition("-")[0]
            self.work = Work(USUAL.examples.get(item, 1e6), None, item)
            self.notes.append(f"no amount was named: {self.work.items / 1e6:g} million {item}s as an example")
            return
        usual = next((n for pattern, n in RULES["answers"] if self.said(pattern)), USUAL.answer)
        if not counted and not any(each.kind == "step" for each in self.found):
            whole = units.parse_work(data[0] if data else "ImageNet")
            if not data and epochs and ALIASES.get(named, named) not in USUAL.image_networks:
                raise InputError(f"{epochs.words} of what?", hint="say of how many items, or of ImageNet")
            number = epochs.number if epochs else USUAL.epochs
            if not (data and epochs):
                self.notes.append(f"{number:g} epochs of {data[0] if data else 'ImageNet'}")
            self.work = whole._replace(items=whole.items * number)
            return
        if self.pixels and self.pixels not in _about(need):
            self.ignore(f"{self.pixels} pixels", *(each.words for each in counted))
            self.notes.append(f"images of {self.pixels} pixels take another time, so no total is given")
            self._rent_once()
            return
        found = amounts.amount(
            self.found, item=item_of(need).partition("-")[0],
            learns=need.mode == "train" or self.mode in ("lora", "qlora", "finetune"),
            people=self.fields.get("users", self.people), batch=self.fields.get("batch"),
            length=needs.tokens_of(_about(need)) or self.fields.get("context", 0), usual=usual,
        )  # fmt: skip
        self.work, self.notes = found.work, [*self.notes, *found.notes]
        read = counted and counted[0].role == "in" and need.workloads[0][0] not in _DRAWN
        again = (self.work.period_s if self.work and read else None) or 0.0
        night = any(each.period == "night" for each in counted)
        learns = need.mode == "train" or self.said(P.batch)
        if night or again >= amounts.seconds("week") or (self.work and self.work.period_s and learns):
            self.fields["batched"] = True
            self.notes.append("a batch: rented only for the hours that it takes")
        if served and need.mode == "infer" and self.work:
            self.fields.pop("users", None)  # They share it: how many they are is in the amount
            self.fields |= {"reads": found.reads}
            if found.context and found.context <= USUAL.longest:  # Longer ones are read in pieces
                self.fields.setdefault("context", found.context)
        if self.work is None:
            self.ignore(*(each.words for each in counted))  # How long one is was not said
            self.notes.append("the cost of all of it is not known: how much that is was not said")
            self._rent_once()

    def _rent_once(self) -> None:
        """Of work that is done once nobody knows whether a machine pays whose hours are not known."""
        if not any(each.period for each in self.found):
            self.fields.setdefault("acquire", "rent")

    def _read_precision(self, named: str) -> str | None:
        bits = self.take(P.bits) or self.take(P.bits_in_words)
        if bits and named in DIFFUSION and not re.fullmatch(r"(?:bf|fp)16|fp32|tf32", bits[0]):
            self.notes.append(f"{bits[0]}: weights count in 8 bits, products in 16")
            bits = None
        if not bits:
            return None
        infers = self.mode in ("infer", None) and is_model(named, self.mode)
        formats = RULES["formats"].get(next(filter(None, bits.groups()), ""), {})
        return str(formats.get("infer" if infers else "", formats.get("", bits[0])))

    def _settle_budget(self, named: str) -> None:
        """Refuses a second piece of work, and says whether a budget is of a card alone."""
        fields = self.fields
        self.take(rf"\b(?:{units.DATASET_NAMES})\b", again=False)
        # "ComfyUI and Ollama": of two uses, too, unless the second is what every question is about.
        notes, open_model = list(self.notes), self.open_model
        more = self._name() or ((self.by_use or re.search(r"\b\d+b\b", self.left())) and self._use()) or named
        self.notes, self.open_model = notes, open_model
        usual = {"resnet50", "mobile", "llama-3.1-8b" if self.by_use and is_model(named, None) else ""}
        another = more not in usual and ALIASES.get(more, more) != ALIASES.get(named, named)
        network = not is_model(named, None) and self.mode in (None, "infer")
        if another and fields.get("asks") == "able":
            fields["also"] = (more,)
        elif network and not another and (llm := self.take(P.llms, again=False)):
            fields["also"] = (RULES["sizes"]["3b" if "small" in llm[0] else "8b"],)
        elif another:
            hint = f"ask for each, or for both by shares of the time: '{named} 70 %, {more} 30 %'"
            raise InputError(f"two pieces of work are named: {named} and {more}", hint=hint)
        owns = self.small or fields.get("acquire") == "own"
        if "budget_usd" not in fields or "host_usd" in self.assumed or not owns:
            return
        whole = self.said(P.with_machine)
        computers = all(catalog.get(gpu).text("form") in needs.COMPUTERS for gpu in self.named_gpus)
        few = self.gpus is None or self.gpus[1] <= needs.MOST_THERE
        card = few and (self.sets or self.traits or self.said(r"\b(?:gpus?|cards?)\b"))
        # What buys no machine is meant for the card.
        little = fields["budget_usd"] < 1.2 * least_host_usd() and not fields.get("budget_per_hour")
        if not (whole or (self.named_gpus and computers)) and (card or little):
            self.assumed["host_usd"] = 0.0
            rent = "to rent, or " if self.small else ""
            self.notes.append(f"the budget is {rent}for the card, in a machine that is there")

    def _read_no_more(self, named: str, precision: str | None) -> None:
        """Says each number that a rule read and that is in no unit in the need: it is a factor of the amount
        of work, or not taken into account."""
        parts = (self.fields, self.assumed, self.work, self.gpus, self.mixed, self.notes)
        stated = repr((parts, named, ALIASES.get(named), precision))
        there = re.findall(r"\d+(?:\.\d+)?(?:e[+-]\d+)?", re.sub(r"(?<=\d),(?=\d{3})", "", stated))
        values = {f"{float(number):.4g}" for number in there}
        counted = [(span, each.words) for each in self.found if self.work for span in each.spans[:1]]
        counted += [((start, end), "") for *_, start, end in self.places]
        for word in re.finditer(P.any_number, self.plain):
            number = float(re.sub(P.thousands, "", word[1]).replace(",", "."))
            factors = (unit * rate for unit in USUAL.units for rate in (1.0, *self.rates.values()))
            if number != 1 and not any(f"{number * factor:.4g}" in values for factor in factors):
                of = (words for (start, end), words in counted if start <= word.start() < end)
                if (words := next(of, None)) is None:
                    self.ignore(word[0])
                elif words:
                    self.notes.append(f"{words.strip()}, in the amount")

    def _whole(self, named: str, precision: str | None) -> Asked:
        if self.laptop and self.mode in ("infer", None) and named == "resnet50" and self.notes:
            named, self.notes = "mobile", [note for note in self.notes if "resnet50" not in note]
        if named in presets():
            self.mode = None
        if is_model(named, self.mode) and self.mode in (None, "infer") and not self.found:
            fields = self.fields
            if self.members > 1 and fields.keys() & {"users", "concurrent"} == {"users"}:
                fields["concurrent"] = self._at_once(fields.pop("users"))
            computers = [catalog.get(gpu).text("form") in needs.COMPUTERS for gpu in self.named_gpus]
            one = (computers and all(computers)) or fields.get("asks") in ("able", "memory", "speed")
            if not (self.rents or "users" in fields) and (one or self.said(P.how_fast)):
                fields.setdefault("concurrent", 1)  # Of one reader, unless more are named
            once = "budget_usd" in fields and not fields.keys() & {"budget_per_hour", "budget_per_month"}
            if self.open_model and once and fields.get("acquire") == "own":
                fields["larger"] = tuple(RULES["larger"])
        only = self.fields.get("only", ())
        double = "fp64" in (precision, presets()[named].precision if named in presets() else "")
        if double and len(only) > FEW:
            # All of a kind, not for their own sake: of these, what was made for it.
            self.fields["only"] = tuple(filter(made_for_fp64, only)) or only
        if self.mode == "full" and not is_model(named, self.mode):
            self.mode = "train"
        if self.mode in ("lora", "qlora") and not (is_model(named, self.mode) or named in DIFFUSION):
            self.ignore(f"{self.mode}, which is of language models and of images that are made")
        numbers = self.every(P.number_alone)
        self.ignore(*(each.rstrip(" ,.") for each in numbers if not re.fullmatch(r"(?:19|20)\d\d", each)))
        if unread := "|".join(map(re.escape, self.unread())):
            self.ignore(*re.findall(rf"{P.demand}\b(?:{unread})(?: (?:{unread}))*", self.left()))
        self._read_no_more(named, precision)
        return Asked(
            workload=self.mixed or named, mode=self.mode, work=self.work, gpus=self.gpus,
            fields=self.fields, assumed=self.assumed, precision=precision, notes=tuple(self.notes),
            form="laptop" if self.laptop else self.form,
        )  # fmt: skip


def _about(need: Need) -> str:
    """What is said of a need's only workload, with its pixels or tokens."""
    title = "" if need.task else registry.get(need.workloads[0][0]).spec.title
    return " ".join(need.notes) if need.title else title


@cache
def _sellers() -> str:
    """Names of providers, the longest first, but for words that questions use for something else."""
    names = sorted({*prices.renting(), *needs.PROVIDERS}.difference(amounts.COMMON))
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True)))


def _of_laptop(gpu: str) -> str:
    """A card's variant in laptops, where there is one."""
    own = (spec.id for spec in catalog.all_gpus() if spec.id == f"{gpu}-laptop")
    return gpu if needs.has_form(catalog.get(gpu), "laptop") else next(own, gpu)


def _span_seconds(span: re.Match[str]) -> float:
    return units.parse_seconds(f"{NUMBERS.get(span[1], span[1])} {span[2].replace('hrs', 'h')}")


def _number(word: str) -> int:
    return NUMBERS.get(word) or max(1, int(word) if word.isdigit() else 1)


def _amount(text: str) -> float:
    try:
        return units.read_number(text.rstrip(".,"))
    except ValueError as error:
        raise InputError(str(error), hint="write it without a comma or dot for thousands") from error
