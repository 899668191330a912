"""A question in plain words as a need: `serve a 70B for 50 users`, `two 3090s or one 4090 for llama-3.1-70b`.

Nothing is guessed silently: what was assumed is said with the answer, and so are words and numbers that no
rule read, with the "no" or "must" before them. A rule is a pattern and what it sets: those of words alone
stand in `data/words.toml`, those with numbers in `_Reader`; `rules` tries what has a word in the text. What
it reads of GPUs stands in `asked_cards`, of the work in `asked_work`; here are the order of all rules and the
limits: money, time, people, own machines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from typing import Any

from gpuwise.errors import InputError
from gpuwise.facts import catalog, prices
from gpuwise.judge.choose import amounts, rules
from gpuwise.judge.choose import need as needs
from gpuwise.judge.choose.asked_work import FP64, LIKE_FP64, Worked
from gpuwise.judge.choose.candidates import FEW, least_host_usd
from gpuwise.judge.choose.fit import A_FEW, fed_w, left_w, made_for_fp64
from gpuwise.judge.choose.need import ALIASES, DIFFUSION, USUAL, Purpose, is_model, presets
from gpuwise.judge.choose.rules import RULES, P, compiled, finditer, fullmatch, match, search, sub
from gpuwise.judge.choose.wording import amount_of, number_of, sellers, span_seconds
from gpuwise.model import units
from gpuwise.model.gpu import MODULES
from gpuwise.model.judgement import Assumptions, Need
from gpuwise.model.units import Latency, Work
from gpuwise.workloads import registry

_ASSUMED = frozenset(each.name for each in fields(Assumptions))
WEEK = "hours_per_week"  # The field of a week's use
NO_RENT = "Nothing to rent in "
NO_AMOUNT = "{} is not known: no amount of work was read (tokens, images, epochs)."
AS_DEADLINE = "is taken as the deadline"
WITHIN_NIGHT = "the work of a night is done within 12 hours"


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
    currency: str = ""  # Of its sums, where it is not the dollar: its code
    notes: tuple[str, ...] = ()  # What was assumed, and what was not read
    soon: str = ""  # A deadline only where an amount of work is stated: "in a weekend"


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
    fields["passes"] = need.passes * fields.get("passes", 1.0)
    unread = asked.soon or any(re.search(r"\d", word) for word in fields.get("ignored", ()))
    if need.items is None and unread and (late := fields.pop("deadline_s", None)):
        said = asked.soon or f"within {units.seconds(late)}"
        late = NO_AMOUNT.format(f"Whether it is done in time ({said})")
        fields["corrected"] = (*fields.get("corrected", ()), late)
        asked = replace(asked, notes=tuple(n for n in asked.notes if not n.endswith(AS_DEADLINE)))
    if need.task != "infer":
        fields.pop("concurrent", None)
    if stated["gpus"] != asked.gpus and len({count for _, count in fields.get("sets", ())}) == 1:
        # The number was said apart from the names.
        fields["sets"] = tuple((gpu, stated["gpus"][1]) for gpu, _ in fields["sets"])
    if stated["gpus"] is None:  # A machine that holds so many
        least, most = (1, needs.most_at_home(need)) if fields.get("at_home") else need.gpus
        fields["gpus"] = (least, max(most, len(fields.get("have", ()))))
    assumptions = replace(need.assumptions, **asked.assumed)
    return replace(need, **fields, assumptions=assumptions, notes=(*need.notes, *asked.notes))


class _Reader(Worked):
    """Reads a text from the most particular rule to the most general one."""

    def asked(self) -> Asked:
        """Reads it all, the most particular rules first, and takes what nothing reads as a limit for one."""
        while other := self.take(P.other_hardware, again=False):
            self.correct(f"Of {other[0].strip()} nothing is known here, so it has no place.")
        while later := self.blank(P.unreleased):
            self.notes += [f"{later[0].strip()}: not known here"] * bool(search(r"\d|next|rubin", later[0]))
            self.correct("What GPUs will come, how fast they are and what any will cost then, is not known.")
        self._read_peak()
        self._read_first()
        self._read_cards()
        if self.have and self.blank(P.no_money):
            self.fields |= {"budget_usd": 0.0, "acquire": "own"}
            self.of_mine = True  # Nothing else is to be had
        self._read_quotes()
        self._read_bill()
        self._read_amounts()
        if self.have and (times := self.take(P.faster)):
            said = sub(r"x$| times", "", times[1])
            self.fields["faster"] = rules.NUMBERS.get(said) or float(USUAL.times.get(said, said))
            self.fields["upgrade"], self.usual["goal"] = True, "price"
        for pattern, problem, hint, goal in RULES["refused"]:
            found = self.take(pattern, again=False)
            if found and goal and len(self.sets) + bool(self.have) > (goal == "speed"):
                self.usual |= {"goal": goal} if goal == "speed" else {}  # Which of them is faster
                self.ignore("" if goal == "speed" else found[0])
            elif found and goal == "the others" and self.said(r"\b(?:gpus?|(?:pc|desktop|workstation)s?)\b"):
                self.ignore(found[0])
            elif found:
                raise InputError(f"'{found[0]}': {problem}", hint=hint)
        self._read_machines()
        for words, values in RULES["sets"]:
            if found := self.take(words, again=False):
                self.soon = found[0] if "deadline_s" in values else self.soon
                self.every(words)
                for name, value in values.items():
                    (self.assumed if name in _ASSUMED else self.usual).setdefault(name, value)
        self._read_use()
        self._read_denials()
        self._read_kinds_of_gpu()
        self._read_limits()
        self._read_deadline()
        self._read_money()
        if self.per_person:
            self.fields["concurrent"] = self._at_once(self.fields.pop("users", 1))
        self._read_number_of_gpus()
        self._settle_gpus()
        named = self._read_work()
        self._read_other_work(named)
        named = self._settle_pixels(named)
        self._settle_work(named)
        precision = self._read_precision(named)
        if "title" not in self.fields:
            self._read_beside()
        self._settle_budget()
        return self._whole(named, precision)

    def _read_first(self) -> None:
        """What holds words that mean something else elsewhere: hours of GPUs, and what a GPU may have."""
        for start, end in [paid.span("paid") for paid in finditer(P.was_paid, self.plain)]:
            self.mark(start, end)
            self.notes.append(f"{self.plain[start:end].strip()}: paid in the past, so no limit")
            self.plain = self.plain[:start] + " " * (end - start) + self.plain[end:]
        for day in (rf"(?:{units.DAYS})(?!\w)", r"(?:year|month|quarter|week)\b", P.span):
            until = rf"\b{P.until} {day}{P.hour}(?=[^.;?]{{0,60}}?{P.gone})"
            if spent := self.blank(rf"{P.spend_by}{day}|{until}"):
                # A day by which the money is spent is no deadline of the work.
                of_money = ", for the money" if self.take(P.gone) else ""
                self.ignore(spent[0].strip() + of_money)
        while self.blank(P.external):
            self.external = True
            self.assumed["host_usd"] = 0.0
            self.usual.setdefault("acquire", "own")
            self.correct(
                "A card outside the computer: what its box costs, and what the cable to it takes of its "
                "speed, is not known here and not counted."
            )
        self._read_energy_price()
        people = self.said(P.how_many_people) and self._of_llm() and not self.said(P.machines_of_each)
        if people and (each := self.blank(P.size_of_each)):
            self.fields["context"] = 1024 * int(each[1] or each[2])
            self.notes.append(f"{each[0].strip()} is read as the context")
        for words in (P.no_card, P.not_of_work, P.by_rail, P.laptop_aside):
            self.blank(words)
        self.gpu_hours = self.blank(P.gpu_hours)
        if self.gpu_hours and not self.gpu_hours[2]:
            together = self.blank(P.parallel)
            number = number_of(together[1]) if together else 1
            self.gpus_at_once = number
            self.fields |= {"hire_h": amount_of(self.gpu_hours[1]) / number, "acquire": "rent"}
            hours = f"{self.gpu_hours[0].strip()} on {number} GPUs: {self.fields['hire_h']:,.4g} h"
            self.notes += [hours] * (number > 1)
        self.ignore(states[0] if (states := self.blank(P.short_states)) else "")
        if again := self.blank(P.spans_again):
            self._read_spans(again)
        if (idle := self.blank(P.idle_hours)) and 0 < int(idle["hours"]) < 24:
            self.assumed["hours_per_week"] = 7.0 * (24 - int(idle["hours"]))
            self.notes.append(f"{idle[0].strip()}: used in the rest; what it draws idle is not counted")
        if some := self.blank(P.evenings):
            self.assumed["hours_per_week"] = USUAL.evening_h * number_of(some[1])
            self.notes.append(f"{some[0].strip()}: {USUAL.evening_h:g} hours each")
        some = self.said(P.some_at_once)  # "100 people, maybe 15 people at the same time"
        if some and (not some[2] or search(P.how_many_people, self.plain[: some.start()])):
            self.at_once = number_of(some[1])
            self.blank(P.some_at_once)
        if now := self.blank(P.speed_now):
            self.notes.append(f"{now[0].strip()}: as it is now")
        for name, (words, _) in RULES["features"].items():
            if self.blank(rf"{P.is_needed}(?:{words})(?: {P.needed})?|\b(?:{words}) {P.needed}"):
                self.fields["feature"] = name
                self.take(r"\bpcie\b" if name == "nvlink" else "(?!)")  # Which is what there is without it

    def _read_energy_price(self) -> None:
        """What a kWh costs; the sum is gone for every other rule, a question about electricity is not."""
        for found in finditer(P.energy_price, self.plain):
            usd = self._usd(found["sum"] or found["alone"], hourly=True)
            if found["per"] or found["each"] or usd < USUAL.dearest_kwh:
                self.assumed["electricity_usd_per_kwh"] = usd
                self.mark(*found.span())
                bill = match(r"\W*(?:bill|consum)", found["said"] or "")
                start, end = found.span("sum" if bill else "said" if found["sum"] else "alone")
                self.plain = self.plain[:start] + " " * (end - start) + self.plain[end:]
                return

    def _read_spans(self, said: re.Match[str]) -> None:
        """Hours a week of what is used for a while, again and again."""
        number, unit, times, period = said.groups()[:4] if said[1] else (said[7], said[8], said[5], said[6])
        often = USUAL.few.get(times) or number_of(times.removesuffix(" times"))
        hours = number_of(number) * amounts.seconds(unit) / 3600 * often
        week = hours * amounts.seconds("week") / amounts.seconds(period)
        self.assumed["hours_per_week"] = min(168.0, round(week, 2))
        self.notes.append(f"{said[0].strip()}: {hours:,.0f} hours a {period}")

    def _read_use(self) -> None:
        """What the use of one's own machine costs, for how long it is used, and what is left of it then."""
        if later := self.blank(P.resale):
            self.fields["asks"] = "resale"
            if years := next(filter(None, later.groups()), None):
                self.assumed["years"] = float(number_of(years))
        if any(each.period == "night" for each in self.found):
            self.assumed["utilisation"] = USUAL.night
            self.notes.append(WITHIN_NIGHT)
        if day := self.take(P.day_hours):
            start, end = (
                int(day[at] or usual) + int(day[f"{at}_min"] or 0) / 60
                for at, usual in (("start", 9), ("end", 5))
            )
            half = 24 if max(start, end) > 12 else 12  # Past noon, or midnight
            hours = end - start if end > start else (end - start) % half or half
            night = any(each.period == "night" for each in self.found)
            days = 7 if night or search(r"\b(?:each|every|per) |daily", day[0]) else 5
            self.assumed["hours_per_week"] = hours * days
            self.notes.append(f"{day[0].strip()}: {hours:g} hours on {days} days")
        if self.times_a_week and not any(each.period for each in self.found):
            if "hours_per_week" not in self.assumed and self._learns():  # As long as the work takes
                self.notes.append("how long it takes each time is not stated: hours of use are the usual")
            elif "hours_per_week" not in self.assumed:
                self.assumed["hours_per_week"] = min(168.0, self.times_a_week)
                self.notes.append("an hour is assumed for each time")
        # Years of a reservation are not those of what is owned.
        kept = [each for each in finditer(P.kept, self.plain) if not self._is_past(each.start())]
        if not self.said(r"reserv|commit") and kept:
            years = kept[0]
            self.mark(*years.span())
            months = years[2] or years[3]
            self.assumed["years"] = int(months) / 12 if months else float(number_of(years[1]))

    def _is_past(self, at: int) -> bool:
        """Whether the part of the text around a place speaks of the past."""
        return search(P.past, self.plain[self._clause(at)]) is not None

    def _read_denials(self) -> None:
        """What is not to be: ways of getting GPUs, and providers."""
        self.denied = {name: self.deny(words) for name, words in (*RULES["denied"].items(), *RULES["kinds"])}
        self.fields |= {kind: False for kind in ("community", "spot") if self.denied[kind]}
        while nation := self.blank(P.not_of_country):
            self.ignore(nation[0].strip())
        if self.blank(P.neoclouds):
            self.fields["avoid"] = tuple(USUAL.hyperscalers)
            self.notes.append(f"none of {', '.join(USUAL.hyperscalers)}")
        seller = rf"(?:{sellers()}|{P.common})\b"
        while denied := self.blank(rf"{P.denial}{seller}(?:(?:,? (?:or|and|nor|not)|,|/) ?{seller})*"):
            names = [each[0] for each in finditer(seller, denied[0])]
            self.fields["avoid"] = (
                *self.fields.get("avoid", ()),
                *(needs.PROVIDERS.get(n, n) for n in names),
            )

    def _read_limits(self) -> None:
        """What the words say of memory, kinds of rent, places, delays, people and one's own machine."""
        fields, take = self.fields, self.take
        self.every(P.shown)
        self.ignore(*self.every(P.beside))
        # "A100 80 GB" is a name, read with the GPUs: its size is no limit.
        if size := self.first(P.total_memory, again=False):
            fields["total_gb"] = float(size)
        elif size := self.first(P.least_memory, again=False):
            together = self.said(P.split_over)
            fields |= {"total_gb": float(size)} if together else {"memory_gb": (float(size), None)}
        elif either := take(P.either_memory):
            sizes = sorted(float(size) for size in either.groups())
            fields["memory_gb"] = (sizes[0], sizes[1])
        elif size := self.first(P.exact_memory if self.places else P.any_memory, again=False):
            fields["memory_gb"] = (float(size), float(size))
            # "on a 16 GB card" is one card, unless another number of them is said.
            self.single |= bool(self.said(rf"\b(?:on|an?|is|in|into|one|single|with) {size} ?gi?b"))
        self._read_rent()
        least, most = fields.get("memory_gb", (None, None))
        cards = self.single or self.sets or self.have or self.said(r"\b(?:gpu|card)s?\b")
        if least and least == most and fields.get("acquire") == "rent" and not cards:
            # That of several GPUs, where no card is spoken of
            fields["total_gb"] = fields.pop("memory_gb")[0]
        self._read_question()
        seen = set[str]()
        for name, pattern, factors in RULES["numbers"]:
            if name not in seen and (found := take(pattern)):
                seen.add(name)
                value = rules.NUMBERS.get(found[1]) or amount_of(sub(P.thousands, "", found[1]))
                value *= factors.get(found[2], 1)
                if name == WEEK and value > 168:  # More than a week has: not hours of use
                    self.ignore(found[0])
                    continue
                if found[2].isdigit():  # "4 h a day on 5 days a week"
                    self.notes.append(found[0].strip())
                whole = int(value) if value == int(value) else value
                store = self.assumed if name in _ASSUMED else fields
                store[name] = whole  # Also a share of "24/7", and hours of "in the evenings"
        if "egress_gb" in fields:
            self.every(r"\begress\b")
        if late := take(rf"\b(ttft|first token)\D{{0,20}}?({P.decimal}) ?(ms|s)\w*\b"):
            first_s, speed = units.parse_seconds(late[2] + late[3]), fields.get("latency")
            fields["latency"] = Latency("TTFT", first_s)
            if next_s := take(rf"\btpot\D{{0,20}}?({P.decimal}) ?(ms|s)\b"):
                fields["latency"] = Latency("TPOT", units.parse_seconds(next_s[1] + next_s[2]), first_s)
            elif each := take(P.token_time, again=False):
                fields["latency"] = Latency("TPOT", float(each[1]) / 1e3, first_s)
            elif speed is not None:
                fields["latency"] = speed._replace(first_s=first_s)
        elif late := take(P.token_time):
            seconds, first = float(late[1]) / 1e3, False
            if not take(r"\btpot\b") and "token" not in late[0]:
                self.late = late[0].strip()
                first = seconds > USUAL.slowest_token_s  # Nobody waits so long for each
                which, other = ("the first", "TPOT") if first else ("each", "TTFT")
                self.notes.append(
                    f"{self.late} is of {which} token; '{other}<={late[1]}ms' would be the other"
                )
            fields["latency"] = Latency("TTFT" if first else "TPOT", seconds)
        elif late := take(P.answer_time):
            self.late = late[0].strip()
            of = next((e for e in self.found if e.role == "out" and e.kind in ("token", "part")), None)
            written = of.number * of.tokens if of else USUAL.answer
            fields["latency"] = Latency("TPOT", float(late[1]) / written)
            self.notes.append(f"an answer of {written:,.0f} tokens within {late[1]} s, without its prompt")
        if people := self._people() or take(P.team):
            self._read_people(people, number_of(people[1]))
            if take(P.each_own) or fields["users"] == 1:
                fields["concurrent"] = 1
        elif self.at_once > 1:
            self.fields["users"], self.callers = self.at_once, True
        self._read_own_machine()

    def _people(self) -> re.Match[str] | None:
        """Where it says how many people there are: before "at once", else for the first time."""
        found = list(finditer(P.how_many_people, self._left))
        found = [each for each in found if number_of(each[1]) > 1] or found  # "For a client: 40 employees"
        some = compiled(P.at_once)
        behind = (e for e in found if some.search(e[0]) or some.match(self.plain, e.end() + 1))
        one = next(behind, found[0] if found else None)
        if one is not None:
            self.mark(*one.span())
            more = [each for each in found if each is not one and number_of(each[1]) > number_of(one[1])]
            if more and one is not found[0]:  # Of all of whom these are some
                self.mark(*more[0].span())
                self.notes.append(f"of {more[0][0]} {one[0]} at once")
        return one

    def _read_people(self, said: re.Match[str], users: int) -> None:
        """How many there are, whether all of them at once, and how many come again in which period."""
        if part := self.take(P.part_of_them):
            share = float(part[1] or part[2]) / 100
            self.notes.append(f"{part[0].strip()} are {share:.2g} of {users:,}")
            users = max(1, round(users * share))
        if self.at_once > 1:
            self.notes.append(f"of {users:,} people {self.at_once} at once")
            users = self.at_once
        self.fields["users"], self.people_at = users, said.start()
        # Who ask, not who may, as all of "a firm, 25 people" may.
        of_all = search(rf"\b{P.organisation}(?: of|,| with)* $", self.plain[: said.start()])
        self.callers = search(P.callers, said[0]) is not None and not of_all
        if users > 1:
            self.usual.pop("concurrent", None)
        at_once = self.take(P.at_once) or (part and part[2])  # "5 % active"
        if not (self.at_once > 1 or at_once) and (users > USUAL.crowd or not self.callers):
            self.members = users
        elif self.copies > 1:
            self.fields["users"] = -(-users // self.copies)
            self.notes.append(f"{said[0].strip()}: {self.fields['users']} on each machine")
        again = match(rf"{P.period}(?P<period>{P.periods})", self.plain[said.end() :])
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
        if take(P.uninterrupted):
            if spot:
                self.correct(
                    "What is spot may be taken back at any moment, so none that must not stop is spot: "
                    "these are rented on demand."
                )
            self.notes.append("not to be interrupted, so no spot rent")
            fields["spot"] = False
        allowed = {kind: True for kind, words in RULES["kinds"] if take(rf"\b(?:{words})\b", again=False)}
        span = rf"\b({P.count})[ -](month|year)s?\b"
        if allowed.get("reserved") and (term := take(P.reserved + span) or take(span, again=False)):
            fields["most_commitment_h"] = units.parse_seconds(f"{number_of(term[1])}{term[2]}") / 3600
        # Words of everyday English are providers only behind "on" or "at", or beside another one.
        beside = rf"\b({P.common})(?=(?:,|,? (?:or|vs\.?|versus|and)|/) ?(?:{sellers()}|{P.common})\b)"
        seller, providers = rf"({sellers()})\b|\b(?:{P.before_seller}) ({P.common})\b|{beside}", list[str]()
        near = rf"(?:,|\b(?:or|vs|versus|and)\b|/) ?({P.common})\b"
        for pattern in (rf"\b(?:(?:on|at|from|via|by) )?(?:{seller})(?: only)?", near):
            while (providers or pattern != near) and (name := self.first(pattern, again=False)):
                providers.append(needs.PROVIDERS.get(name, name))
        providers += USUAL.hyperscalers if take(P.hyperscalers) else []
        if providers and (self.bill or take(P.some_other_seller)):  # A current provider is not a limit
            self.notes.append(f"{', '.join(dict.fromkeys(providers))} beside all others")
            providers = []
        fields |= allowed | ({"providers": tuple(dict.fromkeys(providers))} if providers else {})
        fields |= {"spot": True} if spot and fields.get("spot") is None else {}
        # "A firm in Germany, data stays in the EU": the last is the demand.
        if places := [
            (at.start(), area) for area, words, _ in prices.areas() if (at := take(words, again=False))
        ]:
            area = max(places)[1]
            if self.said(P.either_place):  # Each but what another of them holds
                named = [at for _, at in sorted(places)]
                area = " or ".join(at for at in named if not {*named} & {*prices.around(at)})
            fields["region"] = self._with_offers(area)
        return bool((spot and fields["spot"]) or allowed or providers)

    def _with_offers(self, place: str) -> str:
        """The place, or where nothing to rent is known in it the next larger area that has something."""
        offers = [offer for offer in prices.shipped() if offer.per_hour]
        if any(prices.is_in(offer, place) for offer in offers):
            return place
        other = next(at for at in prices.around(place) if not at or any(prices.is_in(o, at) for o in offers))
        self.correct(f"{NO_RENT}{place} is known here: rents are of {other or 'any region'}.")
        return other

    def _read_rent(self) -> None:
        """Whether to rent or to own, where that is said, and for how long."""
        fields, take, denied = self.fields, self.take, self.denied
        only_rent, only_own = take(P.only_rent), take(P.only_own) or fields.get("asks") == "resale"
        if (only_rent and only_own) or (denied["rent"] and denied["buy"]):
            raise InputError("only to rent and only to buy at once", hint="leave one of them out")
        used, offered = take(RULES["denied"]["used"]), self._read_offers()
        # Who names a provider rents of it: "secure cloud, not the community", "data stay in Brazil, so AWS".
        no_cloud = (bool(take(P.offline)) or denied["rent"]) and "providers" not in fields
        seller, other = rf"\b(?:{sellers()})\b", r"\b(?:or|vs|versus|than)"
        gets = rf"{P.to_own}|get\w* (?:an? |my )?(?:used|new|own)"
        against = rf"{other} (?:on |at |from )?{seller}|{seller}(?: [^\s.;?]+){{0,6}}? {other} (?:{gets})"
        than = self.said(rf"{P.owning}|\bused\b") and take(against)
        either = self.said(P.rent_or_not) or than
        if self.bill and not self.said(P.owning):
            either = None  # "Keep the API, or rent our own"
        if self.said(RULES["asks"]["energy"]) and not self.said(r"\brent\w*|\bcloud\b"):
            either = None  # "Would newer cards pay for themselves" in electricity
        if either:  # What stands between the two words may be the work
            self.every(P.words_of_either)
        rents: Any = (
            only_rent or offered or take(P.renting, again=False) or take(P.hosted) or either or self.hired
        )
        rents = None if only_own and not either else rents
        owns: Any = only_own or used or take(P.owning) or self.said(P.new_only)
        owns = owns or (not rents and self.said(P.card_under))
        owns = owns or (None if self.said(P.replaceable) else take(P.replacing))
        if "electricity_usd_per_kwh" in self.assumed and not (rents or self.said(RULES["asks"]["energy"])):
            owns = True  # Who rents pays no electricity
        # What no shop sells singly is rented, unless somebody says that it is to be bought.
        modules = [catalog.get(gpu).text("form") in MODULES for gpu, _ in self.sets]
        if modules and all(modules) and not (used or self.said(P.owning)):
            rents = rents or owns or [*self.have] or self.said(r"\bcheap\w*")
            owns = None
        once = take(P.once)
        again = any(each.period for each in self.found)  # "Once a week, and what does one run cost"
        self.once = once is not None and not (owns or self.have or denied["rent"] or either or again)
        if self.once:
            rents = once
            self.notes.append("done once, so rented: for a single run nothing pays that is bought")
        named = self.sets or self.traits or "memory_gb" in fields or self.said(P.number_of_gpus)
        there = self.have or self.usual.get("acquire") == "own"
        if named and not (rents or owns or there or self.done()) and (hire := self.said(P.hire)):
            rents = None if hire[2].startswith("y") else hire  # GPUs for a week are rented
        if no_cloud or rents or owns or self.have or denied["buy"]:
            fields["acquire"] = "rent" if (rents or denied["buy"]) and not no_cloud else "own"
            if rents and not no_cloud and (self.have or either or take(P.to_own)):
                asked = bool(either or self.said(P.to_own)) and "bill" not in fields
                fields |= {"acquire": "both", "either": asked}
        if fields.get("acquire") == "rent" and isinstance(rents, re.Match) and "provider" in rents[0]:
            self.notes.append("to rent, as a provider is asked for: --own ranks what is bought")
        self.rents, self.owns = bool(rents), bool(owns)
        spans = finditer(P.hire, self.plain)  # Hours that were read are those of use
        spans = (each for each in spans if each[2][0] != "h" or self._left[slice(*each.span(1))].strip())
        if rents and not (self.done() or "hire_h" in fields) and (hire := next(spans, None)):
            self.mark(*hire.span())
            fields["hire_h"] = span_seconds(hire) / 3600
            self.every(re.escape(hire[0]))  # Said of each of two
            if len(self.places) > 1:  # Each for its own time: one of these is counted
                self.ignore(*self.every(P.hire))
            self.hired_for = hire[0].strip()
        elif rents and self.sets and not (self.done() or search(P.money, self._left)) and take(P.monthly):
            fields["hire_h"] = 730.5
        self._read_condition(bool(used))

    def _read_condition(self, used: bool) -> None:
        """Whether what is bought is used or new, and quiet. Raises InputError for both at once."""
        fields, new, denied = self.fields, self.every(P.new_only), self.denied["used"]
        # "Burned by a used 3090 before, so nothing used": what is ruled out is not asked for.
        used &= not denied
        if used and new and not self.said(P.either_condition):
            raise InputError("used and new at once", hint="leave one of them out")
        # "A used 3090 or a new 5070"
        kinds = {bool(search(P.used, self.plain[max(0, s - 9) : end])) for *_, s, end in self.places}
        both = used and bool((self.sets and self.said(r"\bnew\b")) or self.said(P.either_condition))
        both |= used and len(kinds) > 1 and len(self.sets) > 1
        if (used or new or denied) and not both:
            fields["sold"] = needs.ANY_USED if used else ("new",)
        self.notes += ["with a warranty: new ones"] if any("warranty" in words for words in new) else []
        self.notes += ["a price that says 'used or new' is of both kinds of offers together"] if both else []
        if self.denied["loud"]:
            fields |= {"quiet": True, "acquire": fields.get("acquire", "own")}

    def _read_question(self) -> None:
        """What is wanted most, and what is asked of a GPU or of the work."""
        fields, take = self.fields, self.take
        self.thrifty = bool(take(P.cheaply))
        if fields.get("either"):
            if self.have and self.said(RULES["asks"]["able"]):
                fields["asks"] = "able"  # Of what is there, before what else could
            for asked in RULES["asks"].values():
                take(asked)  # "Is it worth buying, or is renting enough": the verdict says it
            return
        if take(P.least_watts):
            fields["goal"] = "power"
        elif take(P.efficient):
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
        if fields.get("asks") in ("speed", "resale"):
            return
        if able and "memory_gb" in fields and not self.have and self.said(P.size_enough):
            self.sets = ()  # "Is 24 GB enough, or do I need an A100": asks about the size
        able &= "memory_gb" in fields
        several = len({*self.sets, *((gpu, 1) for gpu in self.have)}) > 1
        if several and (self.of_mine or self.said(P.which_faster)) and fields.get("goal") != "energy":
            fields |= {"asks": "faster", "goal": "speed"}
            return
        number = self.said(r"\bhow (?:long|much|many)\b")  # Asked of a number, not whether
        if "able" in asks and len(self.sets) > 1 and not (self.have or self.quotes or number):
            fields["asks"] = "able"  # "Is A enough, or should I take B": of the first
        if asks[:1] == ["largest"] and (self.sets or self.have or "memory_gb" in fields):
            fields |= {"asks": "largest", "keep": bool(self.have), "unproven": bool(self.sets)}
            return
        alone &= bool(asks) and (asks[0] in ("energy", "speed", "at once") or not number)
        bill = asks[:1] == ["energy"] and bool(self.sets)  # Of each that is named
        if asks and (asks[0] == "memory" or able or alone or bill):
            fields["asks"] = asks[0]
        elif asks[:1] == ["at once"] and (unanswered := self.said(RULES["asks"]["at once"])):
            self.ignore(unanswered[0])
        if fields.get("asks") == "memory":
            fields.setdefault("goal", "price")  # The least that has it

    def _read_own_machine(self) -> None:
        """Slots, plugs, supplies and watts of a machine that one has."""
        fields, take = self.fields, self.take
        if fuse := take(P.fuse):
            # By the codes of most countries.
            self.notes.append(f"{fuse[0].strip()}: four fifths of it for what runs for hours")
            home = "120" if self.said(P.america) else ""
            home = "230" if self.currency in RULES["usual"]["volts_230"] else home
            watts_said = search(r"\d ?k?w(?:atts?)?\b", self._left)
            home = home or ("" if watts_said else USUAL.fuse_volts.get(fuse[2], ""))
            stated = fuse[1] or fuse[3]
            if volts := stated or home:
                self.notes += [] if stated else [f"at {volts} V, as is usual there"]
                fields["outlet_w"] = 0.8 * float(fuse[2]) * float(volts)
            elif not watts_said:
                raise InputError(f"how many watts has a {fuse[0]}?", hint="say its volts: '15 A at 120 V'")

        def watts_of(said: re.Match[str]) -> float:
            return amount_of(said[1]) * (1000 if said[2] else 1)

        limits = list(finditer(P.watts, self.plain))
        server = search(P.in_server, self.text.casefold())  # Whose parts are not read: "Dell R730 with"
        for watts in limits:
            # What a card may draw limits cards; what a supply or an outlet gives, the whole machine.
            self.mark(*watts.span())
            before, after = self.plain[: watts.start()], self.plain[watts.end() :]
            near = re.split(r"[.,;?] ", before[-40:])[-1]
            near += re.split(r"[.,;?] ", watts[0] + after[:40])[0]
            whole = search(rf"\b(?:{P.whole_machine})s?\b", near)
            of_each = match(P.each_card_behind, after) or search(P.each_card_before, before)
            each = of_each is not None or watts[0].endswith("each")
            of_one = self.several > 1 and match(P.machine_behind, after)  # "Two 1200 W servers"
            if (of_cards := match(P.of_cards, after)) and "rack" not in near:
                whole = None
            value = watts_of(watts) * (USUAL.power_factor if "va" in watts[0] else 1)
            wall = self.said(r"outlet|socket|circuit|breaker|wall")
            limit = "outlet_w" if whole and not each else "power_w"
            there = of_one or ("host_usd" in self.assumed and whole and not wall)
            supplied = search("psu|suppl(?:y|ies)", near if limits[1:] else self.plain)
            # What stands at the number itself goes before a supply elsewhere.
            close = (
                watts[0] if search("psu|suppl(?:y|ies)", watts[0]) else f"{before[-11:]}{watts[0]}{after[:9]}"
            )
            at_wall = search(r"outlet|socket|circuit|breaker|wall", close)
            box = search(rf"\b{P.supplied}$", watts[0])
            if ((supplied and not of_cards) or there or box) and not (at_wall or of_each):
                limit, supply = "power_w", value
                fed = max(float(USUAL.slot_w), fed_w(supply))
                value = left_w(supply)
                fields.setdefault("supply_w", supply)
                self.assumed.setdefault("host_usd", 0.0)  # The machine that it feeds is there
                more = f"; cards of up to {value:g} W count as limited to that"
                peaks = "of cards with their short peaks"
                self.notes.append(f"a supply of {supply:g} W feeds {fed:.0f} W {peaks}{more}")
                served = server or self.said(P.in_server) or fields.get("users", 1) > A_FEW
                served = served or (box and not box[0].endswith(("box", "case", "build")))
                if not (self.sets or served) and supply <= USUAL.most_at_home_w:
                    fields.setdefault("at_home", True)  # A PC, whose fans cool no server's card
            # "10 kW in the rack" of forty people, each with a machine, is for all of these.
            apart = search(r"\brack|\broom\b", near) and not self._of_llm()
            share = 1 if of_one else self.several * (fields.get("users", 1) if apart else 1)
            self.notes += [f"{watts[0].strip()} are for {share} machines"] if share > 1 else []
            value /= share
            fields[limit] = min(value, fields.get(limit, value))
            self.watts_each = value if each else self.watts_each
            self.every(rf"\b(?:{P.whole_machine})\w*\b")
        if pins := take(P.pins):  # What they bring beside the slot
            fields.setdefault("power_w", USUAL.slot_w + number_of(pins[1] or "1") * USUAL.pin_w[pins[2]])
            self.notes.append(f"{fields['power_w']:g} W by a slot and {pins[0].strip()}")
        if wide := take(P.wide_slots):
            fields["slots"] = (1.0 if wide["one"] else 2.0) * number_of(wide[1])
        fields["fans"] = bool(take(P.in_server) or server)
        if {"slots", "outlet_w", "power_w"} & fields.keys():
            fields.setdefault("acquire", "own")

    def _read_deadline(self) -> None:
        """When the work is to be done, or for how long something is rented."""
        self.ignore(*self.every(P.bare_rate))  # Of what is not said, so neither money nor a deadline
        fields, take, often = self.fields, self.take, any(each.period for each in self.found)
        # "64 H100 for 3 weeks"
        needed = self.rents or often or (max(dict(self.sets).values(), default=0) > needs.MOST_THERE)
        if now := take(rf"\bit(?:.s| is) (?:now |already )?((?:{units.DAYS})(?!\w)){P.hour}"):
            self.today = units.parse_day(now[1], self.today)  # As who asks says
        last = take(rf"\b{P.until} ((?:{units.DAYS})(?!\w)){P.hour}")
        if last and "weekend" in self.soon:
            self.notes.append(f"{last[0].strip()}: the end of the weekend")
        elif last:
            day = units.parse_day(last[1], self.today)
            # As who asks counts it; "answers within 5 minutes" counts no days.
            hours = compiled(rf"{P.as_counted}(?!\d+ ?min){P.span}").match(self.plain, last.end())
            self.mark(*hours.span() if hours else (0, 0))
            fields["deadline_s"] = span_seconds(hours) if hours else (day - self.today).days * amounts.DAY_S
            self.notes.append(f"{last[0].strip()} is {day}, {(day - self.today).days} days from now")
        elif span := take(rf"\b{P.before} {P.span}") or take(
            rf"(?<![$€£\w] )(?<!euros )(?<!dollars )\b{P.span},? {P.after}\b"  # "400 dollars a month max"
        ):
            fields["deadline_s"] = span_seconds(span)
        elif (
            "hire_h" not in fields
            and self.done()
            and (span := take(rf"{'' if needed else '(?<!for )'}{P.no_rate}{P.span}", again=False))
            and not (span[2].startswith("y") or self._is_past(span.start()))
        ):
            if often:  # The GPU is needed for that long, again and again: it is rented
                fields |= {"acquire": fields.get("acquire", "rent"), "hire_h": span_seconds(span) / 3600}
            else:
                fields["deadline_s"] = span_seconds(span)
                self.notes.append(f"{span[0].strip()} {AS_DEADLINE}")
        self.fields = fields = self.usual | fields
        if self.gpu_hours and "hire_h" in fields and (late := fields.pop("deadline_s", None)):
            self.notes.append(f"{self.gpu_hours[0].strip()} in {units.seconds(late)}")
        if "deadline_s" in fields:
            self.every(r"\bdeadlines?\b")
        hires = self.rents or self.said(r"\bfor (?:an?|the|one) (?:\S+ )?(?:weekend|night)\b")
        known = self.done() or self.said(rf"\b(?:{units.DATASET_NAMES})\b")
        if "deadline_s" in fields and hires and not (known or search(P.money, self._left)):
            # Who says no amount rents for so long.
            fields |= {"hire_h": fields.pop("deadline_s") / 3600, "acquire": fields.get("acquire", "rent")}

    def _read_money(self) -> None:
        """The sum that is to be spent, where there is one."""
        fields, take = self.fields, self.take
        credits = rf"(?:(?:of|in|worth|cloud|free|gpu|{sellers()}|{P.common}) )*credits\b"
        machine = self.said(rf"\b(?:{P.machine}|{P.laptop})\b")
        money = self._sum() or take(rf"\b({P.amount}\s?k?) {credits}")  # "40k google cloud credits"
        if money is None:
            self._read_context()
            bare = (*RULES["bare_sums"], *(RULES["bare_sums_of_machines"] if machine else ()))
            money = next(filter(None, (take(words, again=False) for words in bare)), None)
        if money is None:
            if self.every(P.fastest) and not self.done():
                fields.setdefault("goal", "speed")
            return
        self.mark(*money.span())
        code = sub(r"[^a-z]", "", sub(r"\d\s?k\b", "", money[0])).upper()
        codes = {*prices.rates(), *map(str.upper, RULES["unrated"])}
        if code in codes.difference(self.rates):
            self.correct(
                f"{money[0].strip().upper()}: no rate of {code} is known here, so no price is checked "
                f"against it: '--rate {code}=...' gives it in dollars."
            )
            fields["acquire"] = fields.get("acquire", "own")
            fields.setdefault("goal", "price")
        else:
            self._read_budget(money)

    def _read_budget(self, money: re.Match[str]) -> None:
        """What a sum is for: all, a person, a machine, or a time, over which it is a price of an hour."""
        fields, take = self.fields, self.take
        each = match(P.each_person, self.plain[money.end() :]) if fields.get("users", 1) > 1 else None
        text = (money[1] if money.re.groups else money[0]).strip()
        if fullmatch(r"0\d*", text):
            raise InputError(f"a budget of {text}", hint=needs.IN_SHELLS)
        if fullmatch(rf"{P.amount}\s?k?", text):
            read = f"{text} {self.currency}" if self.currency else f"${text}"
            self.notes.append(f"{money[0].strip()} is read as {read}")
        # What follows the amount says what it is for.
        after = self.plain[money.end() : money.end() + 14]
        per = match(rf"{P.period}(?:gpu )?(month|h|year)", after) or take(r"()\bhourly\b")
        budget = self._usd(text, hourly=per is not None and per[1] in ("", "h"))
        if per and "gpu" in per[0] and (count := max((number for _, number in self.sets), default=1)) > 1:
            self.notes.append(f"{text} an hour for each of {count} GPUs")
            budget *= count
        if each is not None:
            self.mark(money.start(), money.end() + each.end())
            self.notes.append(f"{text}{each[0]} are {units.usd(budget * fields['users'])} in all")
            budget *= fields["users"]
        if self.several > 1 and not self.have:
            budget /= self.several
            self.notes.append(f"{text} for {self.several} machines: {units.usd(budget)} for each")
        fields["budget_usd"] = budget
        sole = self.rents and not (self.owns or self.have or self.done() or fields.get("either"))
        whole = not per and sole  # Of all that time
        hired_h = fields.get("hire_h", 0.0) if whole or (per and per[1] == "month") else 0.0
        hired_h = min(hired_h, 730.5) if per else hired_h
        hired_h *= self.assumed.get("hours_per_week", 168.0) / 168  # Of the hours that are used
        own = self.owns or self.have or fields.get("acquire") == "own"
        if not per and "deadline_s" in fields and not (own or self.done()):
            hired_h = fields.setdefault("hire_h", fields.pop("deadline_s") / 3600)
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
            if per[1] in ("", "h") and self.every(P.fastest):
                fields.setdefault("goal", "speed")
        elif self.done() and self.every(P.fastest) and not (self.owns or self.have):
            fields.setdefault("goal", "speed")
        elif not self.rents and not (self.done() and not (self.owns or self.have)):
            gpus = self.owns or self.have or self.sets or self.traits or self.said(rf"\b(?:{P.machine})\b")
            self.small = budget < USUAL.small_sum and not (gpus or self.denied["rent"])
            fields["acquire"] = "both" if self.small else "own"
            most = take(rf"\bbest\b(?! value)|{P.fastest}")
            least = self.thrifty or self.small or fields.get("users", 1) > 1 or "latency" in fields
            if not self.done() and (most or not least):
                fields.setdefault("goal", "speed")  # The most that the money buys

    def _sum(self) -> re.Match[str] | None:
        """The first sum that no rule has read and that may be a budget; smaller ones, the prices of other
        things, are marked as not taken into account."""
        sums = list(finditer(P.money, self._left))
        for each in sums:
            hourly = bool(match(rf"{P.period}|\s*hourly", self.plain[each.end() :]))
            stated = hourly or search(P.budget, self.plain[: each.start()])
            try:
                usd = self._usd(each[0].strip(), hourly=hourly)
            except InputError:  # Of no rate that is known
                return each
            if stated or usd >= USUAL.least_purchase:
                return each
            paid = self.plain[: each.start()].endswith(" at ") and self.said(P.paying)
            if paid or len(sums) > 1 or not (self.rents or self.done()):
                self.mark(*each.span())
                self.ignore(each[0].strip())
        return next(finditer(P.money, self._left), None)

    def _read_context(self) -> None:
        """Reads thousands that are a usual context length of a language model as its context, where the text
        does not speak of money."""
        if self.said(P.of_money) or not self._of_llm():
            return
        for size in self.every(rf"(?<![\w-])(?:4|8|16|32|64|128|256)\s?k\b{P.sum_alone}"):
            if "context" in self.fields:
                self.ignore(size)
            self.fields.setdefault("context", 1024 * int(sub(r"\D", "", size)))
            self.notes.append(f"{size} is read as the context")

    def _at_once(self, people: int) -> int:
        """How many of so many people are answered at one moment."""
        if self.members < 2:
            return -(-people // self.copies)
        some = max(2, -(-min(people, USUAL.crowd) * (1.0 if self.callers else USUAL.at_once) // 1))
        some += USUAL.at_once_of_crowd * max(0, people - USUAL.crowd) // 1
        if some < people:
            how = "('at once' behind a number states it)"
            self.notes.append(f"of {people:,} people {some:.0f} at once {how}")
        return int(-(-some // self.copies))

    def _settle_budget(self) -> None:
        """Says whether a budget is of a card alone."""
        fields = self.fields
        owns = self.small or fields.get("acquire") == "own"
        if "budget_usd" not in fields or "host_usd" in self.assumed or not owns:
            return
        cards = self.said(P.for_cards)
        whole = self.said(P.with_machine) and not (cards or self.said(P.for_card))
        computers = all(catalog.get(gpu).text("form") in needs.COMPUTERS for gpu in self.named_gpus)
        few = self.gpus is None or self.gpus[1] <= needs.MOST_THERE
        # "Which GPUs should the lab buy" for so much speaks of machines
        word = r"\b(?:gpus?|cards?)\b" if fields["budget_usd"] < USUAL.supported_sum else r"\b(?:gpu|card)\b"
        card = few and (self.sets or self.traits or self.said(word))
        # What buys no machine is meant for the card.
        little = fields["budget_usd"] < 1.2 * least_host_usd() and not fields.get("budget_per_hour")
        if not (whole or (self.named_gpus and computers)) and (card or cards or little):
            self.assumed["host_usd"] = 0.0
            rent = "to rent, or " if self.small else ""
            self.notes.append(f"the budget is {rent}for the card, in a machine that is there")

    def _read_no_more(self, named: str, precision: str | None) -> None:
        """Says each number that a rule read and that is in no unit in the need: it is a factor of the amount
        of work, or not taken into account."""
        parts = (self.fields, self.assumed, self.work, self.gpus, self.mixed, self.notes, self.pixels)
        stated = repr((parts, named, ALIASES.get(named), precision))
        there = re.findall(r"\d+(?:\.\d+)?(?:e[+-]\d+)?", sub(r"(?<=\d),(?=\d{3})", "", stated))
        values = {f"{float(number):.4g}" for number in there}
        counted = [(span, each.words) for each in self.found if self.work for span in each.spans[:1]]
        counted += [((start, end), "") for *_, start, end in self.places]
        for word in finditer(P.any_number, self.plain):
            number = float(sub(P.thousands, "", word[1]).replace(",", "."))
            factors = (unit * rate for unit in USUAL.units for rate in (1.0, *self.rates.values()))
            year = fullmatch(P.year, word[0]) is not None
            if number != 1 and not year and not any(f"{number * factor:.4g}" in values for factor in factors):
                of = (words for (start, end), words in counted if start <= word.start() < end)
                if (words := next(of, None)) is None:
                    self.ignore(word[0])
                elif words:
                    self.notes.append(f"{words.strip()}, in the amount")

    def _whole(self, named: str, precision: str | None) -> Asked:
        reads = rf"stencils?|{P.bandwidth_bound}"
        kernels = (("fft", r"\bffts?\b"), ("cholesky", P.dense), ("stencil", reads))
        several = [kernel for kernel, words in kernels if self.said(words)]
        alone = several == ["stencil"] or (several == ["cholesky"] and not self.said(P.reads_much))
        if (len(several) > 1 and named in (FP64, *several)) or (alone and named == FP64):
            # Which reads much and computes little, or is products of matrices
            taken = list[str]()
            for _, words in kernels:
                taken += [found[0], *self.every(words)] if (found := self.take(words)) else []
            self.notes = [each for each in self.notes if LIKE_FP64 not in each]
            of_time = ", as much time each" * (len(several) > 1)
            self.notes.append(f"{', '.join(taken)} is taken as {' and '.join(several)}{of_time}")
            precision = precision or "fp64"
            named, self.mixed = several[0], tuple((each, 1.0) for each in several[1:] and several)
            self.mode = None  # Nothing learns in them
        seen = self.said(r"\bvision\b|\bcnns?\b|\bimagenet\b")
        if self.laptop and self.mode in ("infer", None) and named == "resnet50" and self.notes and not seen:
            named, self.notes = "mobile", [note for note in self.notes if "resnet50" not in note]
        if named in presets():
            self.mode = None
        if self.fields.get("acquire") == "own":  # Where nothing is to rent does not matter then
            said = self.fields.get("corrected", ())
            self.fields["corrected"] = tuple(each for each in said if not each.startswith(NO_RENT))
        if is_model(named, self.mode) and self.mode in (None, "infer") and not self.found:
            fields = self.fields
            if self.members > 1 and fields.keys() & {"users", "concurrent"} == {"users"}:
                fields["concurrent"] = self._at_once(fields.pop("users"))
            computers = [catalog.get(gpu).text("form") in needs.COMPUTERS for gpu in self.named_gpus]
            one = any(computers) or fields.get("asks") in ("able", "memory", "speed")
            one |= bool(self.said(P.how_fast) or self.said(RULES["asks"]["able"]))
            if not (self.rents or "users" in fields) and one and fields.get("asks") != "at once":
                fields.setdefault("concurrent", 1)  # Of one reader, unless more are named
            once = "budget_usd" in fields and not fields.keys() & {"budget_per_hour", "budget_per_month"}
            most = "budget_usd" in fields and self.said(RULES["asks"]["largest"])
            most = most or self.said(P.big_models)
            if self.open_model and (most or (once and fields.get("acquire") == "own")):
                fields["larger"] = tuple(RULES["larger"])
        only = self.fields.get("only", ())
        double = (precision or (presets()[named].precision if named in presets() else "")) == "fp64"
        if double and len(only) > FEW:
            # All of a kind, not for their own sake: of these, what was made for it.
            self.fields["only"] = tuple(filter(made_for_fp64, only)) or only
        limited = self.fields.keys() & {"budget_usd", "deadline_s"}
        if limited and not (self.named_gpus or self.have or "asks" in self.fields):
            for part in compiled(P.clause_ends).split(self.plain):  # "Is that possible for under 10k"
                whether = match(
                    rf" *(?:{P.asks_whether}|(?:enough|possible|doable|feasible|realistic)$)", part
                )
                if whether and search(RULES["asks"]["able"], part):
                    self.fields["asks"] = "able"
        hours = self.fields.keys() & {"hire_h", "deadline_s"} or "hours_per_week" in self.assumed
        if not (self.work or hours or self.soon) and self.said(P.how_long_it_takes):
            self.correct(NO_AMOUNT.format("How long it takes"))
        answers = is_model(named, self.mode) or ("decode" in named and "title" not in self.fields)
        if self.late and "latency" in self.fields and not answers:
            late = self.fields.pop("latency")
            self.notes = [n for n in self.notes if self.late not in n and not n.startswith("an answer of")]
            if "m" in self.late and self.mode == "infer" and named in registry.names():
                self.fields["latency"] = late._replace(kind="step")  # Of a batch
            else:
                self.ignore(self.late)  # Only of what answers token by token is the time of an answer known
        if (again := self.work and self.work.period_s) and (late := self.fields.pop("deadline_s", None)):
            self.assumed["utilisation"] = min(1.0, late / again)
            self.notes.append(f"each time within {units.seconds(late)}")
        if self.mode == "full" and not is_model(named, self.mode):
            self.mode = "train"
        if self.mode in ("lora", "qlora") and not (is_model(named, self.mode) or named in DIFFUSION):
            self.ignore(f"{self.mode}: all weights are counted, which takes more memory and time")
        for pattern in (P.other_use, P.learnt) if is_model(named, self.mode) else (P.other_use,):
            other = self.said(pattern)
            self.ignore(other[0] if other else "")
        for pattern, what in RULES["unanswered"]:
            asked = self.said(pattern)
            if (
                asked
                and self._left[slice(*asked.span(1))] == asked[1]
                and (what or asked[1] in self.unread())
            ):
                self.correct(f"Not answered here: {what or asked[0]}.")
                self.mark(*asked.span(1))
        numbers = self.every(P.number_alone)
        numbers = [each.rstrip(" ,.") for each in numbers]  # One of a thing needs no word
        bare = r"1(?: (?:machine|server|computer|workstation|card|gpu|pc))?"
        bare += rf"|{P.year}|{self.fields.get('users', 1)}"
        self.ignore(*(each for each in numbers if not fullmatch(bare, each)))
        if unread := "|".join(map(re.escape, self.unread())):
            words = compiled(rf"{P.demand}\b(?:{unread})(?:(?<!\.) (?:{unread}))*")
            self.ignore(*words.findall(self._left))
        self._read_no_more(named, precision)
        # A MacBook is carried about, too, and its chip is no card.
        whole = any(catalog.get(gpu).text("form") == "soc" for gpu in self.named_gpus)
        return Asked(
            workload=self.mixed or named, mode=self.mode, work=self.work, gpus=self.gpus,
            fields=self.fields, assumed=self.assumed, precision=precision, notes=tuple(self.notes),
            form=("mobile" if whole else "laptop") if self.laptop else self.form, soon=self.soon,
            currency=self.currency,
        )  # fmt: skip
