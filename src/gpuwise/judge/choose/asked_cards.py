"""The GPUs of a question: which are compared, are there or are not to be, and the prices beside them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from math import inf
from typing import Any

from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.judge.choose import amounts
from gpuwise.judge.choose import need as needs
from gpuwise.judge.choose.candidates import FEW, LEAST_BOARD, is_sold_new, least_host_usd
from gpuwise.judge.choose.need import USUAL
from gpuwise.judge.choose.rules import RULES, P, compiled, finditer, fullmatch, match, search, sub
from gpuwise.judge.choose.wording import Words, amount_of, number_of, sellers
from gpuwise.model import units
from gpuwise.model.gpu import MODULES, GpuSpec, OfferKind
from gpuwise.model.judgement import Bill, Quote
from gpuwise.predictor.card import is_linked


class Cards(Words):
    """What a text says of GPUs and of what they cost."""

    def _read_machines(self) -> None:
        """Several machines: each works by itself, for somebody of its own where they are to be bought."""
        machines = rf"{P.machines}(?:{P.machines_of})?"
        several = self.said(machines)
        # "8 x H200 nodes": a number of GPUs is none of machines
        if several is None or any(start <= several.start() < end for *_, start, end in self.places):
            return
        self.take(machines)
        number = number_of(several[0].split()[0])
        for *_, start, end in self.places:  # "3 servers with 4 A100 each": of a machine, not of a person
            self.blank(rf"(?<={re.escape(self.plain[start:end])}) each\b")
        people = self.said(P.how_many_people)
        shared = people is not None and number_of(people[1]) != number  # By people, some on each machine
        if people and number_of(people[1]) > number:
            self.blank(r"(?<=gpus) each\b|(?<=cards) each\b")
        apart = several[0].endswith("each") or self.said(P.each_own) or self.said(P.of_buyers)
        if apart and not (shared or "nodes" in several[0]):
            self.fields |= {"users": number, "concurrent": 1, "acquire": "own"}
            if self.said(rf"{P.money}|\b\d+k\b"):
                self.usual["goal"] = "speed"
            self.single = search(r"\b(?:an?|one|1|single) (?:gpu|card)", several[0]) is not None
            self.notes.append(f"{number} machines, each by itself")
            return
        self.several = number
        one = self.said(P.watts)  # Of which one has its share, unless they are of each
        one = None if one and match(P.machine_behind, self.plain[one.end() :]) else one
        if not one and {count for _, count in self.sets} == {needs.MOST_TOGETHER}:
            self.sets = tuple((gpu, count * number) for gpu, count in self.sets)
            self.notes.append(several[0].strip())
            self.several = 1  # All of them count
        elif not one:
            self.fields["machines"] = number
            if self._of_llm() and not self._learns():
                self.copies = number
                self.notes.append(f"each of {number} machines holds the model, for its share of the people")
            else:
                self.notes.append(f"each row is one of {number} machines, of whose network nothing is known")

    def _say_unknown(self) -> None:
        """Cards of which the catalog knows nothing: they are gone for every other rule."""
        for other in catalog.mentions(self.plain, unknown=True, loose=True):
            words = re.escape(self.plain[other.start : other.end])
            if other.gpu_ids or not search(P.of_cards_name, other.text) or not self.blank(words + P.with_gb):
                continue
            try:
                catalog.resolve(other.text)
            except InputError as error:
                self.correct(f"{str(error)[:1].upper()}{str(error)[1:]} Nothing is said of it.")

    def _variant(self, ids: tuple[str, ...], text: str, before: str, after: str) -> str:
        """The one of several GPUs of a name that is meant there."""
        one = len(ids) == 1
        usual = ids[0] if one else catalog.resolve(text.removesuffix("s")).spec.id
        self.families |= {} if one else {usual: ids}
        if search(r"\b(?:my|our|these|those|the) $", before):  # "4x A100 40GB ... our A100"
            usual = next((gpu for gpu, *_ in self.places if gpu in ids), usual)
        if search(rf"(?:{P.used}) (?:\S+ )?$", before) and catalog.get(usual).text("form") in MODULES:
            usual = self._card_of(usual)  # Nobody sells a module singly
        if search(rf"\b(?:{P.laptop}) (?:with |has )?(?:an? )?$", before) or match(
            rf" (?:{P.laptop})\b", after
        ):
            usual = _of_laptop(usual)
        return usual

    def _read_cards(self) -> None:
        """GPUs to compare with how many of each, those that are there, and those that are not to be."""
        sets, have, barred = list[tuple[str, int]](), list[str](), set[str]()
        bare = set[str]()  # Named with no number
        added = list[tuple[str, int, int]]()  # "A second 3090": GPU, how many more, beside how many
        advised = list[tuple[str, int]]()  # By others
        self.families = dict[str, tuple[str, ...]]()  # A usual variant -> all that its name may mean
        owned = -1  # Where the last owned card ends
        self.of_mine = mine = bool(self.blank(P.of_mine))  # All of them are
        self.places = list[tuple[str, int, int, int]]()  # Of all of them: GPU, number, start and end
        self._say_unknown()
        mentions = catalog.mentions(self.plain, loose=True)
        for at, named in enumerate(mentions):
            text = self.plain[named.start : named.end].strip()
            # "4090", "p40", "t4" and "a2 16gb" are cards; "m4" in a sentence may be anything.
            before, after = self.plain[: named.start], self.plain[named.end :]
            card = named.exact or search(r"\d{4}|[a-z]\d\d|\b[tl]4s?\b|\d ?gb\b", text)
            if not named.gpu_ids or not (card or search(r"\bmac(?:book)?\b.{0,12}$", before)):
                continue
            # A number alone may be the RTX 8000, or an amount: "4000 reais", "under 8000 dollars".
            priced = search(rf"(?:[$€£]\s?|\b{P.at_most} )$", before) or match(P.other_unit, after)
            if text.isdigit() and (priced or text.endswith("000")) and not search(r"\d ?x $", before):
                continue
            number = search(P.count_before, before)
            self.hired |= bool(number and search(r"rented|leased|cloud", number[0]))
            behind = None if number else match(P.count_behind, after)
            said = number or behind
            count = number_of(next(filter(None, said.groups()))) if said else 1
            plural = not said and text.endswith("s") and not text.endswith("8060s")
            if said and (count > USUAL.most_gpus or fullmatch(r"\D*0+\D*", said[0])):
                raise InputError(f"{said[0].strip()} GPUs", hint=f"1 to {USUAL.most_gpus:,} of them")
            usual = self._variant(named.gpu_ids, text, before, after)
            owner = compiled(P.owner).search(before, max(self.places[-1][3], owned) if self.places else 0)
            also = owned >= 0 and fullmatch(rf" ?(?:and|plus|\+|&) (?:{P.count}\s*x? ?)?", before[owned:])
            hires = search(rf"\brent(?:ed|ing)? (?:{P.count} ?x? ?)?$", before)
            # "It gives me a T4, V100 or A100": one of them, which is a choice
            joins = [self.plain[a.end : b.start].strip() for a, b in pairwise(mentions[at:])]
            either = fullmatch(r",? ?or(?: an?)?|/", next((join for join in joins if join != ","), ""))
            sold = owner and search(rf"\bfrom (?:{sellers()}|{P.common})\b", owner[0])  # "1.99 from runpod"
            if owner and (either or (owner[2] and self.said(P.replaceable)) or hires or sold):
                owner = None  # Whether one is as good as the other, and what is hired
            at_seller = match(rf"{P.hired_behind}| (?:at|from|on|in|with) (?:{sellers()})\b", after)
            is_slow = at_seller and match(P.is_too_little, after[at_seller.end() :])
            if at_seller and (owner or is_slow):
                owner, self.hired = None, True
                if is_slow or self.said(P.not_these):  # Nor is who rents it out a limit
                    start, end = number.start() if number else named.start, named.end + at_seller.end()
                    self.notes.append(f"{self.plain[start:end].strip()}: rented now, so not compared")
                    self.mark(start, end)
                    blank = " " * (end - named.end)
                    self.plain = self.plain[: named.end] + blank + self.plain[end:]
                    continue
            behind_it = after[behind.end() if behind else 0 :]
            kept = None if hires else match(P.kept_behind, behind_it)
            in_it = said or search(P.in_machine, before)
            first_of_all = fullmatch(rf"(?:{P.count} ?x? ?)?", before)
            kept = kept or (match(P.in_my_pc, behind_it) if first_of_all else None)
            kept = kept or (in_it and match(r" (?:(?:is|are) )?available(?=$|[,.;])", behind_it))
            begins = None if either else search(P.begins_with_mine, before)
            kept_there = search(P.idle, before) or search(P.inside_mine, before) or begins
            # "Our T4 server (6x T4)", "replace the 3090", which is there, "keep our A100"
            again = bool((number and before[: number.start()].endswith("(")) or (owner and not said))
            again |= search(r"\b(?:the|both|these|those) $", before) is not None
            again &= usual in have
            thought_of = match(r"s?,? (?:\w+ )?in mind\b", behind_it)  # "I had a 3090 in mind"
            had = None if thought_of else search(P.gone_before, before)
            lost = match(P.gone_behind, behind_it)
            if had or lost:
                self.mark(had.start() if had else named.start, named.end + (lost.end() if lost else 0))
                self.notes.append(f"{text}: gone, so not counted")
                self.assumed |= {"host_usd": 0.0} if lost else {}  # Its machine is there
            elif owner or also or mine or kept or kept_there or again:
                have += [usual] * (count - bool(again))
            elif usual in have and number and search(r"\b(?:more|additional|extra)\b", number[0]):
                added.append((usual, count, 0))
            elif more := search(rf"\b{P.another} (?:(?:used|new) )?$", before):
                added.append((usual, count, 1 + ("third" in more[0])))
            elif denied := search(rf"{P.denial}(?:{P.count} ?x? ?)?$", before):
                barred |= set(named.gpu_ids)
                self.mark(*denied.span())
            elif search(P.hearsay, before):
                advised.append((usual, 0 if plural else count))
            else:
                sets.append((usual, 0 if plural else count))
                bare |= set() if said else {usual}
            start = number.start() if number else named.start
            end = named.end + (behind.end() if behind else 0)
            self.places.append((usual, count, start, end))
            if (size := match(P.other_size, after)) and not catalog.get(usual).memory_varies:
                held = {round((catalog.get(gpu).memory_bytes or 0) / 2**30) for gpu in named.gpu_ids}
                if not any(float(size[1]) in (each, each * count) for each in held):
                    end += size.end()
                    of = " or ".join(f"{each:g}" for each in sorted(held))
                    self.correct(f"{text} of {size[1]} GB is not known here: what follows is of {of} GB.")
            end += kept.end() if kept else 0
            owned = end if owner or also or kept else -1
            self.mark(start, end)
            if owner:  # What stands between may be the work: "my sdxl on a 3060"
                self.mark(*owner.span(owner.lastindex or 0))
        self.barred = frozenset(barred)
        self._settle_cards(sets, have, added, advised, bare)

    def _settle_cards(
        self, sets: list[tuple[str, int]], have: list[str], added: Sequence[tuple[str, int, int]],
        advised: Sequence[tuple[str, int]], bare: set[str],
    ) -> None:  # fmt: skip
        """What all of them say together: numbers apart from names, what others advise, what is added."""
        alone = len({gpu for gpu, *_ in self.places}) == 1
        for same in finditer(P.same_count, self.plain) if self.places else ():
            # "Is a third enough, or four? I have two"; "a P40 if I put three in, or two 3090"
            instead = search(r"\bif (?:i|we) $", self.plain[: same.start()])
            ahead = [each for each, *_, end in self.places if end <= same.start() or alone]
            if not ahead or not (alone or instead):
                continue
            count = number_of(same["count"])
            have += ahead[-1:] * count if same["have"] and not have else []
            if instead:
                sets = [(each, count if each == ahead[-1] else n) for each, n in sets]
            elif not same["have"] and (sets or added):
                sets.append((ahead[-1], count))
            self.mark(*same.span())
        kinds = {gpu for gpu, _ in sets}
        if len(kinds) > 1 and not have and self._of_llm() and self.take(P.in_one_machine):
            have, sets = [gpu for gpu, count in sets for _ in range(max(1, count))], []
            self.notes.append("the GPUs that are named are in one machine")
        if advised and not sets:  # Any other will do, too, and the answer compares them
            self.fields["named"] = tuple(dict.fromkeys(gpu for gpu, _ in advised))
            self.notes.append(f"{', '.join(self.fields['named'])}: advised by others, so compared with all")
        sets += advised if sets else []
        if self.take(P.or_others):
            self.notes += [f"{', '.join(dict.fromkeys(gpu for gpu, _ in sets))}: or others"] if sets else []
            sets = []
        mine = have and self.said(r"\b(?:i|we)(?:.ve)? (?:already )?(?:have|own|got)\b(?! to\b)")
        # "To have a 3090 at home, or to rent? I'd have to buy it"
        if have and not mine and self.take(P.to_buy):
            have, sets = [], [*Counter(have).items(), *sets]
        if len(sets) == 1 and not (have or added or self.barred) and self.take(P.is_mine):
            have, sets = [sets[0][0]] * max(1, sets[0][1]), []
        # "Rented H100s": as many as the work takes.
        self.some = len(sets) == 1 and not sets[0][1] and not (have or added)
        # "8 A100 or H200s": as many of the one as of the other.
        counts = {count for _, count in sets if count} if have == [] else {1}
        as_many = counts.pop() if len(counts) == 1 else 1
        sets = [(gpu, count or as_many) for gpu, count in sets]
        for gpu, count, beside in added:
            have += [] if gpu in have else [gpu] * beside
            sets.append((gpu, have.count(gpu) + count))
        # "A second card" is any that does it together with what is there; "a second one" is another of it.
        more = self.said(P.more_of_it) if have and not added else None
        if more and (sets or more[1] or not search(r"\b(?:card|gpu)$", more[0].strip())):
            self.mark(*more.span())
            # To what is there: each such card is one beside them.
            gpu, there = have[0], have.count(have[0])
            count = next((n for each, n in sets if each == gpu), number_of(more[1] or ""))
            sets = [(gpu, there + count), *(one for one in sets if one[0] != gpu)]
            self.notes += [f"{count} more, beside {there}"] if count > 1 else []
        if self.external:  # What is in the laptop is there
            theirs = [gpu for gpu, _ in sets if needs.has_form(catalog.get(gpu), "laptop")]
            have, sets = have + theirs, [one for one in sets if one[0] not in theirs]
            self.every(rf"\b(?:{P.laptop})\b")
        elif self.said(rf"\b(?:{P.laptop})\b") and not self.said(P.either_computer):
            # "My laptop 4060, would a 5090 do it": which may be a card.
            sets = sets if have else [(gpu, n) if n > 1 else (_of_laptop(gpu), 1) for gpu, n in sets]
            have = [_of_laptop(gpu) for gpu in have]
        if len(have) > 1:
            self.take(r"\b(?:the|these|both|of) (?:2|two|both)\b")
        self._read_sizes()
        self.quotes: tuple[Quote, ...] = ()
        self.sets, self.have = tuple(dict.fromkeys(sets)), tuple(have)
        if any(number == needs.MOST_TOGETHER for _, number in self.sets):
            # "A node of 8 A, or do we need B": as many of it
            bare = {gpu for gpu in bare if catalog.get(gpu).text("segment") == "server"}
            self.sets = tuple((gpu, needs.MOST_TOGETHER if gpu in bare else n) for gpu, n in self.sets)

    def _read_sizes(self) -> None:
        """Memory of computers that are sold with less of it, too, each with its own; of two sizes of one the
        work says which it takes."""
        sizes = dict[str, list[float]]()
        for at, (gpu, count, start, end) in enumerate(self.places):
            if not catalog.get(gpu).memory_varies:
                continue
            end += behind.end() if (behind := match(P.sizes_behind, self.plain[end:])) else 0
            self.places[at] = (gpu, count, start, end)
            self.mark(start, end)
            said = re.findall(r"(\d+) ?gb", self.plain[start:end])
            sizes.setdefault(gpu, []).extend(map(float, said))
        self.every(r"\(\d+gb\)")
        if len(self.places) == 1 and len(only := {*chain(*sizes.values())}) == 1:
            (size,) = only
            self.fields["memory_gb"] = (size, size)
            return
        if own := tuple((gpu, each[0]) for gpu, each in sizes.items() if len({*each}) == 1):
            self.fields["sizes"] = own
        for gpu, each in sizes.items():
            if len({*each}) > 1:
                of = " or ".join(f"{size:g}" for size in dict.fromkeys(each))
                self.notes.append(f"{of} GB of {gpu}: what the work takes says which")

    def _read_quotes(self) -> None:
        """Prices that stand beside cards: what is paid now, or what is asked for two of them, or for one of
        which that is the question. Others are budgets."""
        shop = rf"\b(?:{sellers()})\b|(?:(?<=\bon )|(?<=\bat )|(?<=from ))(?:{P.common})\b"
        sums, shops = (finditer(each, self.plain) for each in (P.price, shop))
        pieces: list[tuple[int, int, Any]] = [(start, end, (gpu, n)) for gpu, n, start, end in self.places]
        if len(alone := {gpu for gpu, *_ in self.places}) == 1:  # "Or buy one for $2400"
            same = finditer(P.same_card, self.plain)
            number = self.places[0][1] if len(self.places) == 1 else 1
            pieces += [
                (found.start(), found.end(), (*alone, 1 if found[0] == "one" else number)) for found in same
            ]
        pieces += [(each.start(), each.end(), each) for each in (*sums, *shops)]
        runs: list[list[tuple[int, int, Any]]] = []
        for piece in sorted(pieces, key=lambda piece: piece[:2]):
            between = self.plain[runs[-1][-1][1] : piece[0]] if runs else ""
            if runs and fullmatch(rf"{P.about_price}|{P.from_whom}", between):
                runs[-1].append(piece)
            else:
                runs.append([piece])
        paid, found = bool(self.said(P.paying)), list[tuple[Quote, int, int]]()
        sure = False  # That one of them is of a card, and no limit
        for run in runs:
            cards = [what for *_, what in run if isinstance(what, tuple)]
            matches = [what for *_, what in run if not isinstance(what, tuple)]
            money = [each for each in matches if "sum" in each.re.groupindex]
            if len(cards) != 1 or len(money) != 1:
                continue
            if not paid and search(P.budget, self.plain[: money[0].start()]):
                continue
            (gpu, count), (price,), start, end = cards[0], money, run[0][0], run[-1][1]
            if not paid and search(P.selling, self.plain[:start]):  # "Can sell the 4090 for 1700"
                self.mark(start, end)
                self.notes.append(f"{self.plain[start:end].strip()}, if sold: set it against the outlay")
                continue
            seller = next((each[0] for each in matches if each is not price), "")
            kept = search(rf"(?:(?:{P.used})|\bnew) (?:nvidia |geforce |rtx )*$", self.plain[:start])
            text = (kept[0] if kept else "") + self.plain[start : end + 5]
            usd = self._usd(price["sum"], hourly=price["per"] == "h")
            # "We pay 14 for this box; is that one at 24 worth it?": only the first is paid.
            mine = paid and not (found and search(P.other_one, self.plain[found[-1][2] : start]))
            hourly = bool(price["per"]) or usd < (USUAL.least_purchase if mine else USUAL.dearest_card_hour)
            if not hourly and count == 1 and catalog.get(gpu).text("form") in MODULES:
                gpu = self._card_of(gpu)  # Nobody sells a module singly
            usd /= {"m": 730.5, "y": 8766.0}.get((price["per"] or "")[:1], 1.0)
            if one := search(P.each_card, text):
                if one[0] == "each":  # Nobody has one of his own
                    self.blank(rf"(?<={re.escape(text[: one.start()])})each\b")
                # "8 H100 at $2 an hour" are $16; at $24, or so much a month, the whole machine.
                contract = (price["per"] or "h")[0] in "my" or usd > USUAL.dearest_card_hour
                whole = one[0] in ("at", "@") and ((hourly and contract) or usd > USUAL.dearest_card)
                whole |= match(P.in_all, self.plain[end:]) is not None
                if count > 1 and not whole:
                    self.notes.append(f"{count} x {gpu} at {units.usd(usd)} each")
                    sure |= usd >= USUAL.least_purchase
                    usd *= count
            if (machines := -(-count // needs.MOST_TOGETHER)) > 1 and count % machines == 0:
                self.notes.append(f"{count} x {gpu} at {units.usd(usd)} are {machines} machines like this")
                count, usd = count // machines, usd / machines
                self.sets = tuple((g, count if g == gpu else n) for g, n in self.sets)
            kinds: dict[OfferKind, bool] = {
                "on-demand": hourly, "used": bool(search(P.used, text)), "new": "new" in text,
            }  # fmt: skip
            kind: OfferKind = next((kind for kind, said in kinds.items() if said), "street")
            quote = Quote(
                gpu_id=gpu, count=count, kind=kind, usd=usd, provider=needs.PROVIDERS.get(seller, seller),
                paid=mine and hourly, whole=not hourly and bool(search(P.with_machine, text)),
            )  # fmt: skip
            sure |= kind in ("used", "new")
            found.append((quote, start, end))
        # "A K80 for $60 or a 3060": what more cards stand behind is the price of the first.
        of_one = any(start > found[0][2] for *_, start, _ in self.places) if found else False
        of_one |= any(search(P.priced, self.plain[start:end]) for _, start, end in found)
        if not (paid or sure or len(found) > 1 or of_one or self.said(P.fair) or self.said(P.rent_or_not)):
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

    def _card_of(self, gpu: str) -> str:
        """The variant of a named GPU that is a card, where there is one, which then is what was named."""
        cards = (each for each in self.families.get(gpu, ()) if catalog.get(each).text("form") not in MODULES)
        size = catalog.get(gpu).memory_bytes
        card = min(cards, key=lambda each: catalog.get(each).memory_bytes != size, default=gpu)
        self.families[card] = (card,)
        self.sets = tuple((card if each == gpu else each, count) for each, count in self.sets)
        return card

    def _read_bill(self) -> None:
        """What an API asks for the same work, or what is paid now for something else than these cards."""
        self.bill: Bill | None = None
        api = self.said(P.api) if self.said(P.api_compared) else None
        self.api = api is not None
        name = sub(r"\bapis?\b.*", "API", api[0]) if api and api[0] != "api" else "an API"
        if price := self.take(P.item_price):
            items = RULES["scales"].get(price[2], 1.0)
            self.bill = Bill(of=name, usd=self._usd(price[1], hourly=True), items=items)
        elif (paying := self.said(P.paying) and not self.quotes) or api:
            monthly = search(P.monthly_sum, self._left)
            if monthly and (paying or not search(P.budget, self.plain[: monthly.start()])):
                of = name if api else monthly[2] or "what you have"
                self.bill = Bill(of=of, usd=self._usd(monthly[1]))
                self.blank(re.escape(monthly[0]))
            elif api:
                self.bill = Bill(of=name)
        while self.bill and self.blank(P.api):  # No model to run
            pass
        if self.bill:
            self.fields["bill"] = self.bill

    def _read_kinds_of_gpu(self) -> None:
        """What only some GPUs are: (kind, field of the catalog, pattern of it, whether it must match)."""
        table = RULES["traits"]
        self.traits = [(kind, name, value, False) for kind, words, name, value in table if self.deny(words)]
        self.notes += [f"none where the {name} is {value.strip('^$')}" for _, name, value, _ in self.traits]
        if self.barred:
            self.notes.append(f"not {', '.join(sorted(self.barred)[:4])}")
            self.traits.append(("name", "id", f"^(?:{'|'.join(self.barred)})$", False))
        if length := self.take(P.length):
            most = float(length[1]) * {"m": 1e-3, "c": 1e-2, "i": 0.0254}[length[2][0]]
            if most > USUAL.longest_card_m:
                self.ignore(length[0].strip())
            else:
                self.notes.append(f"cards of {length[0].strip()}")
                self.usual.setdefault("acquire", "own")  # Into one's own case
                self._keep_only("length", lambda spec: (spec.number("length_m") or 1.0) <= most)
        if low := self.take(P.low_profile):
            self.notes.append(f"{low[0].strip()}: of the cards whose height a source states")
            self.usual.setdefault("acquire", "own")
            self._keep_only("height", lambda spec: (spec.number("height_m") or 1.0) <= USUAL.low_profile_m)
        if (width := self.take(P.bandwidth)) and (self.sets or self.have):
            self.ignore(width[0].strip())  # What is named has it or not
        elif width:
            least = float(width[1]) * {"t": 1e12, "g": 1e9}[width[2]]
            self.notes.append(f"memory of {width[1]} {width[2].upper()}B/s or more")
            self._keep_only("bandwidth", lambda spec: (spec.number("memory_bytes_per_s") or 0.0) >= least)
        if not (self.sets or self.have) and self.said(P.double) and (rate := self.take(P.fp64_rate)):
            flops = float(rate[1]) * 1e12
            self.notes.append(f"{rate[1]} TFLOP/s in FP64 or more")
            self._keep_only("rate", lambda s: bool((peak := s.peak("fp64")) and peak.flop_per_s >= flops))
        for kind, words, name, value in table:
            of_named = kind == "generation" and self.places
            if found := None if of_named else self.take(rf"\b(?:{words})\b", again=False):
                if any(0 <= start - found.end() <= 1 for *_, start, _ in self.places):
                    continue  # "Mac Studio M3 Ultra": of the name behind it
                if search(P.hearsay, self.plain[: found.start()]):
                    self.notes.append(f"{found[0]}: advised by others, so compared with all")
                    continue
                if kind == "link" and self.sets:
                    self._say_of_links()
                else:
                    self.traits.append((kind, name, value, True))
                    self.every(rf"\b(?:{words})\b")
                    self.notes += [] if kind in ("maker", "segment") else [f"only: {found[0].strip()}"]
        no_module = self.denied["nvlink"] or self.deny(P.module)
        self.form = "pcie" if no_module else self.first(P.board, again=False) or None
        of_card = self.said(rf"{P.money} (?:for|on) (?:the |an? )?(?:gpu|card)\b")
        if not (self.traits or self.sets or of_card or self.external) and self.take(P.computer):
            self.form = "mobile" if self.said(P.laptop) else "small"
            # Few of them were measured, and none has a price that is fresh.
            self.fields |= {"acquire": "own", "unproven": True, "thrifty": True}

    def _keep_only(self, kind: str, meant: Callable[[GpuSpec], bool]) -> None:
        """Of all GPUs those that are meant are a kind of which each must be."""
        those = (spec.id for spec in catalog.all_gpus() if meant(spec))
        self.traits.append((kind, "id", f"^(?:{'|'.join(those)})$", True))

    def _say_of_links(self) -> None:
        """Which of the GPUs that are named have NVLink."""
        for gpu in dict.fromkeys((*(gpu for gpu, _ in self.sets), *self.have)):
            spec = catalog.get(gpu)
            name = spec.name.removeprefix("NVIDIA ").removeprefix("GeForce ")
            if is_linked(spec, 2) and "NVLink" in (spec.text("link") or ""):
                self.notes.append(f"{name} has NVLink")
                continue
            memory = f"{(spec.memory_bytes or 0) / 2**30:.3g} GiB"
            self.correct(
                f"{name} has no NVLink: several of them talk over PCIe, and each keeps its own {memory}."
            )

    def _read_number_of_gpus(self) -> None:
        # "8 4090 cards": 4090 is a name here, not a count.
        named = [range(start, end) for *_, start, end in self.places]
        numbers = finditer(P.number_of_gpus, self.plain)
        apart = [n for n in numbers if not any(n.start(2) in each for each in named)]
        # "Around 4000 of them" are not GPUs.
        apart = [n for n in apart if "of the" not in n[0] or number_of(n[2]) <= needs.MOST_TOGETHER]
        of_one = compiled(rf"(?:{P.of_one_card})")
        apart = [n for n in apart if number_of(n[2]) > 1 or not of_one.search(self.plain[: n.start()])]
        # "Each job on one GPU, of four cards"
        number = next((n for n in apart if number_of(n[2]) > 1), apart[0] if apart else None)
        if number:
            self.mark(*number.span())
        number = number or self.take(r"()\b(\d{1,2}) ?x\b(?! ?\d)", again=False)
        if self.gpus_at_once > 1:
            self.sets = tuple((gpu, self.gpus_at_once) for gpu, _ in self.sets)
        self.number = number[0] if number else ""
        count = number_of(number[2]) if number else 0
        least = number and search(r"\b(?:at least|min(?:imum)?(?: of)?) $", self.plain[: number.start()])
        most = max(count, needs.MOST_TOGETHER) if least else count
        self.gpus = (1 if number[1] else count, most) if number else None
        alone = r"\b(?:one|1|single) (?:machine|box|server|node)\b(?! (?:per|each|for each)\b)"
        if self.fields.get("users", 1) == 1 and ((number and number[1]) or self.said(alone)):
            self.fields["one_machine"] = True
        alike = all(count < 2 for _, count in self.sets) and (len(self.sets) < 2 or not self.have)
        if alike and not number and self.take(P.how_many):
            only = tuple(gpu for gpu, _ in self.sets)
            self.fields |= {"asks": "number"} | ({"only": only} if only else {})
            self.sets, self.gpus = (), (1, needs.MOST_TOGETHER)
        elif self.some and not self.gpus and (self.done() or (self.people_at >= 0 and self._of_llm())):
            self.fields["only"] = self.families.get(self.sets[0][0], (self.sets[0][0],))
            self.sets, self.gpus = (), (1, needs.MOST_TOGETHER)
        if self.gpus and self.gpus[1] == self.fields.get("users") and not self.callers:
            self.gpus = (1, 1)  # "5 GPUs for 5 students"
        fields, one = self.fields, self.single or self.said(r"\bmy own (?:gpu|card)\b")
        much = fields.get("budget_usd", 0.0) >= USUAL.large_sum and "budget_per_hour" not in fields
        much &= fields.get("users", 1) == 1 and self.said(P.several_cards) is not None
        # Who pays so much an hour for speed takes as many as that pays for.
        hourly = (fields.get("budget_per_hour") or self.done()) and fields.get("goal") == "speed"
        if self.gpus is None and (fields.get("goal") == "energy" or (one and not self.sets)):
            self.gpus = (1, 1)
        elif self.gpus is None and not self.sets and (wide := self.said(P.wide_slots)):
            self.gpus = (1, number_of(wide[1]))
        elif self.gpus is None and ("total_gb" in fields or ((much or hourly) and not self.sets)):
            self.gpus = (1, needs.MOST_TOGETHER)
        several = "users" in fields and not self._of_llm()  # Each with a machine
        most = self.gpus[1] if self.gpus else max(dict(self.sets).values(), default=0)
        if self.watts_each and most:
            fields["power_w"] = self.watts_each * most
        if self.watts_each and not (self.sets or self.single or several):
            fields.pop("power_w" if not self.gpus else "", None)  # However many they are
            self.notes.append(f"cards of at most {self.watts_each:g} W")
            self._keep_only("watts", lambda spec: (spec.power_w or inf) <= self.watts_each)
        elif self.watts_each and most:
            self.every(P.capped)
            self.notes.append(f"{self.watts_each:g} W each")

    def _settle_gpus(self) -> None:
        """What the names, kinds and numbers of GPUs say together."""
        fields = self.fields
        if self.quotes:
            self._settle_quotes()
        self._settle_people()
        if self.gpu_hours and self.gpu_hours[2] and len(self.sets) < 2:
            week = amount_of(self.gpu_hours[1]) * amounts.seconds("week") / amounts.seconds(self.gpu_hours[2])
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
        limits = any(kind != "maker" or not wanted for kind, _, _, wanted in self.traits)
        if apart and limits and not self.said(r"\b(?:or|vs|versus|than)\b"):
            problem = f"the question names {apart}, and others that it is not one of"
            raise InputError(problem, hint="name each GPU")
        if apart and {count for _, count in self.sets} != {1}:
            self.sets, apart = (*self.sets, *((gpu, 1) for gpu in like)), None
        one = self.sets[0] if len(self.sets) == 1 else ("", 0)
        if apart or (self.traits and not self.sets):
            self._settle_kind(like)
        elif one[0] in self.families and (
            self.rents or fields.get("goal") == "price" or self._is_module(one)
        ):
            # "An A100" to rent is any variant of it; one that is not sold singly may be the card, too.
            fields["only"] = self.families[one[0]]
            self.gpus = self.gpus if self.gpus and one[1] == 1 else (one[1], one[1])
        elif self.sets:
            self._settle_sets()
        hired = self._hired() if fields.get("either") or fields.get("acquire") == "rent" else ()
        others = {catalog.get(gpu).text("segment") for gpu, _ in self.sets if gpu not in hired}
        # "2x 3090, would renting an H100 be cheaper": a card that people have at home is not to rent.
        if fields.get("either") or others == {"consumer"}:
            fields |= {"hired": hired, "acquire": "both"} if hired else {}
        self.named_gpus = {gpu for gpu, _ in self.sets} or {*fields.get("only", ())}
        if self.named_gpus and not any(catalog.get(gpu).vendor == "NVIDIA" for gpu in self.named_gpus):
            fields["unproven"] = True  # None of them was measured: the answer says so
        if "hire_h" in fields and "hours_per_week" in self.assumed:
            week, weeks = self.assumed["hours_per_week"], fields["hire_h"] / 168
            fields["hire_h"] = week * weeks
            of = f"{weeks:.3g} week{'s' * (weeks != 1)} of {week:.3g} h"
            self.notes.append(f"{self.hired_for}: {of}".removeprefix(": "))
        # One kind of computer is ranked at a time. What a laptop that is there may be replaced by is open.
        there = any(needs.has_form(catalog.get(gpu), "laptop") for gpu in self.have)
        either = self.said(P.either_computer)
        there |= self.external
        cloud = fields.get("either") and not (there or self.sets) and self.take(P.laptop)
        if cloud:  # "Laptop or cloud"
            fields |= {"acquire": "rent", "either": False}
            self.notes.append("of laptops no price is fresh, so none is set against rent: ask for one alone")
        self.laptop = bool(self.take(P.laptop)) and not (there or either or cloud)
        laptops = any(needs.has_form(catalog.get(gpu), "laptop") for gpu, _ in self.sets)
        if either and self.form != "mobile" and not laptops:
            self.notes.append("of laptops no price is fresh, so none has a place here: ask for one alone")

    def _is_module(self, one: tuple[str, int]) -> bool:
        """Whether what is to be bought is sold on a whole board in that variant alone."""
        gpu, count = one
        is_module = catalog.get(gpu).text("form") in MODULES and count < LEAST_BOARD
        asked = self.have or "asks" in self.fields
        return is_module and self.fields.get("acquire") == "own" and not asked

    def _hired(self) -> tuple[str, ...]:
        """Of several GPUs those that the last verb before them, or else the first behind, is to rent: "a 4090
        at home or renting an L4", "rent an H200 with buying an A6000"."""
        verbs = list(finditer(rf"(?P<rent>{P.renting})|{P.to_own}|at home", self.plain))
        rented = set[str]()
        for gpu, *_, start, _ in (place for place in self.places if place[0] not in self.have):
            before = [verb for verb in verbs if verb.end() <= start]
            behind = (verb for verb in verbs[:1] if all(other < verb.end() for *_, other, _ in self.places))
            nearest = before[-1:] or [*behind]
            rented |= {gpu for verb in nearest if verb["rent"]}
        if not rented or rented == {gpu for gpu, _ in self.sets}:
            return ()
        in_order = sorted(rented)
        return tuple(dict.fromkeys(each for gpu in in_order for each in (gpu, *self.families.get(gpu, ()))))

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
            if gpus[1] == 1:  # "Eight in one of them": of something else
                gpus = (min(counts), max(counts))
            elif set(counts) != {1}:
                raise InputError(f"{self.number}, or as many as stand beside the names?", hint="say one")
            if set(counts) == {1}:  # The number was said apart from the names.
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
        often = self.times_a_week if fields.get("users", 1) > 1 else 0.0
        hours, people = self.assumed.get("hours_per_week"), fields.get("users", 1)
        theirs = bool(people > 1 and hours and self.said(P.hours_each))  # "20 hours a week each"
        # Each has one; "together" is of the money
        apart = fields.get("concurrent") == 1 and not (often or theirs or self.said(P.one_for_all))
        shares = self.take(P.sharing) or theirs or often or 1 < self.several < people
        # "15 students, 4 cards": fewer than they are
        shares = shares or (self.gpus and 1 < self.gpus[1] < people and not self.said(P.each_own))
        of_each = {found[0] for found in finditer(P.for_each, self.plain)}
        if self._learns() and self.done():  # One training, on several
            of_each -= {"gpus", "cards"}
        self.shared = people > 1 and not apart and bool(shares or not of_each)
        if people > 1 and self._learns() and self.take(P.at_once):
            self.shared = False
            fields["one_machine"] = bool(self.said(P.one_machine))
            self.gpus = self.gpus or (1, 1)
            self.notes.append(f"{people} people at the same time, so each has a GPU of their own")
        elif often:
            self.assumed["hours_per_week"] = min(168.0, people * self.assumed.get("hours_per_week", often))
        elif self.shared and hours and (theirs or self.said(P.hours_of_each)):
            week = people * hours
            number = int(max(1, -(-week // 168)))
            there = f"; {len(self.have)} of your cards have {168 * len(self.have)}" * bool(self.have)
            each = f"{hours:g} h a week of each of {people} people"
            self.notes.append(f"{each}: {week:,.0f} h of one GPU{there}")
            self.assumed["hours_per_week"] = week / number
            if number > 1 and not self.have:
                self.gpus = self.gpus or (number, number)
            fields.pop("concurrent", None)

    def _settle_owned(self, sets: Sequence[tuple[str, int]]) -> None:
        """What is to become of the cards that are there, beside those that were named."""
        fields, have = self.fields, self.have
        fields["have"] = have
        if "slots" in fields and self.said(P.free_slots):  # Beside those that the cards take which are there
            fields["slots"] += sum(catalog.get(gpu).number("slots") or 0.0 for gpu in have)
        sizes = [round((catalog.get(gpu).memory_bytes or 0) / 2**30) for gpu in have]
        soc = any(catalog.get(gpu).text("form") == "soc" for gpu in have) and "budget_usd" not in fields
        forms = [catalog.get(gpu).text("form") for gpu in (*have, *(gpu for gpu, _ in sets))]
        closed = [form in needs.COMPUTERS for form in forms]
        if all(closed[: len(have)]) and not (all(closed) or self.external):  # A Mac or a laptop beside a card
            self.assumed.setdefault("host_usd", least_host_usd())
            self.correct(f"{have[0]} takes no such card: it needs a PC, which is counted.")
        theirs = fields.get("memory_gb", ("", ""))[1] in (*sizes, sum(sizes))
        theirs |= "budget_usd" in fields and "memory_gb" in fields and catalog.get(have[0]).memory_varies
        if theirs and not (sets or soc):
            # "My two of 8 GB, 16 together": no limit of others.
            self.notes.append(f"{fields.pop('memory_gb')[0]:g} GB are those that are there")
        if not sets and "memory_gb" not in fields and self.take(P.out_of_memory):
            fields["memory_gb"] = (max(sizes) + 1.0, None)
            self.notes.append(f"more than the {max(sizes)} GB that are there, as these run out")
        # Whether it is worth it is a question about what is there; what to buy instead is not.
        replaced = self.take(r"upgrad\w*|replac\w*") and not {gpu for gpu, _ in sets}.intersection(have)
        asked = replaced and (fields.get("asks") == "energy" or self.take(r"\bworth\b|\bshould (?:i|we)\b"))
        if replaced and fields.get("asks") == "too much":  # "Is it worth replacing" asks of nothing too large
            del fields["asks"]
        fields["upgrade"] = "faster" in fields or (bool(replaced) and not asked)
        fields["upgrade"] &= not self.said(r"\bkeep(?:ing)?\b")  # "Keep it, or replace it"
        # "QLoRA on my 3060", "can I run ... or rent": whether it can, before what else could.
        able, mine, other = map(self.said, (RULES["asks"]["able"], P.mine, P.other))
        keep = (
            (able or fields.get("asks") == "speed" or self.of_mine or (mine and not other))
            and not sets
            and not fields["upgrade"]
        )
        fields |= {
            "keep": bool(keep),
            "beside": bool(self.said(P.beside_it))
            if {gpu for gpu, _ in sets} <= {*have}
            else bool(self.said(P.joined_to)),
        }
        if {gpu for gpu, _ in sets} <= {*have} and len({*have}) == 1 and self.take(P.how_many_more):
            fields |= {"asks": "number", "beside": True}
        if keep and not (self.owns or fields.keys() & {"budget_usd", "at_home"}) and self._learns():
            fields["acquire"] = "both"  # Of a training that what is there does not hold the end is known
        if self.of_mine:
            fields["only"] = tuple(dict.fromkeys(have))
        if keep and (self.of_mine or not any(catalog.get(gpu).vendor == "NVIDIA" for gpu in have)):
            fields["unproven"] = True  # Whether it can is answered, however little is known of how fast

    def _learns(self) -> bool:
        """Whether what is asked first is that a model learns."""
        modes = (mode for words, mode in RULES["modes"] if self.said(words))
        return next(modes, "infer") != "infer"

    def _meant(self, spec: GpuSpec) -> bool:
        """Whether a GPU is of every kind that is wanted, and of none that is not."""
        found = dict[tuple[str, bool], bool]()
        for kind, name, value, wanted in self.traits:
            stated = spec.facts[name].value if name in spec.facts else getattr(spec, name, "")
            found[kind, wanted] = found.get((kind, wanted), False) | bool(search(value, str(stated)))
        return all(has == wanted for (_, wanted), has in found.items())


def _of_laptop(gpu: str) -> str:
    """A card's variant in laptops, where there is one."""
    names = (f"{gpu}-laptop", f"{sub(r'-[0-9]+gb$', '', gpu)}-laptop")  # "3050 4gb" of a laptop, too
    own = (spec.id for spec in catalog.all_gpus() if spec.id in names)
    return gpu if needs.has_form(catalog.get(gpu), "laptop") else next(own, gpu)
