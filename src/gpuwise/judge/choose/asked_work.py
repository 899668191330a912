"""The work of a question: a model, a network or a use, how much of it there is, and in which format."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import inf, prod
from typing import Any

from gpuwise.errors import InputError
from gpuwise.facts import catalog, llms
from gpuwise.judge.choose import amounts
from gpuwise.judge.choose import need as needs
from gpuwise.judge.choose.asked_cards import Cards
from gpuwise.judge.choose.need import ALIASES, DATA, DIFFUSION, USUAL, Purpose, is_model, item_of, presets
from gpuwise.judge.choose.rules import RULES, P, compiled, finditer, fullmatch, match, search
from gpuwise.judge.choose.wording import number_of, vocabulary
from gpuwise.model import units
from gpuwise.model.judgement import Need
from gpuwise.model.precision import Precision
from gpuwise.model.units import Latency, Work
from gpuwise.workloads import registry

# What adapters take beside the weights, as a share of these.
ADAPTERS = 1.15
# Of what an hour of audio counts as, by one published time of one model.
WITHIN = 2.0
# The work that computes in double precision.
FP64, LIKE_FP64 = "scientific-fp64", "nothing here is just that, fft, cholesky and stencil stand in"
# Width of the networks that attend to all patches of an image, and pixels on a side of such a patch: with
# products of 24 n width^2 and attention of 4 n^2 width a layer, n patches take n (6 width + n).
WIDTHS, PATCH = {"vit-b16": 768, "dit-xl2": 1152, "dit-xl2-512": 1152}, 16
# Works beside the one that counts, of several people.
MOST_OTHERS = 3
# What makes images, where no model is named.
DRAWS = "stable-diffusion"
_DRAWN = frozenset(model.like for model in DIFFUSION.values())


def _largest_size(text: str) -> float:
    """Billions of weights of the largest model whose size stands in a text; 0 for none."""
    sizes = finditer(rf"\b(?:(\d{{1,2}})x)?({P.decimal})b\b", text)  # "8x7b", too
    return max((float(size[1] or 1) * float(size[2]) for size in sizes), default=0.0)


class Worked(Cards):
    """What a text says of the work."""

    def _read_peak(self) -> None:
        """Of two rates of one load the highest, which must be carried; the other one is said."""
        peak = self.said(P.peak)
        if peak is None:
            return
        plain = self.plain[: peak.start()] + " " + self.plain[peak.end() :]
        usual = search(P.average, plain)
        (number, of), (_, of_usual) = (
            [group or "" for group in found.groups() if group is not None] if found else ("", "")
            for found in (peak, usual)
        )
        if not search(rf"{P.period}|users", of or of_usual):
            return  # No rate: "at most 3 dollars an hour at peak times"
        if usual is not None:
            self.notes.append(f"{usual[0].strip()}: GPUs for the peak of {number} are counted, and paid for")
            plain = plain[: usual.start()] + " " + plain[usual.end() :]
        self.plain = self._left = " ".join(f"{plain}, {number}{of or of_usual}".split())

    def _read_amounts(self) -> None:
        """How much is to be done, once or again and again."""
        cards = {at for *_, start, end in self.places for at in range(start, end)}  # "4 A100s inference"
        self.found = tuple(e for e in amounts.quantities(self.plain) if e.spans[0][0] not in cards)
        people = self.said(P.how_many_people)  # Whose hours are what is paid
        if self.take(r"\bper mtok\b") and not (self.found or people):  # What a million takes, as a batch
            self.found = tuple(replace(each, spans=()) for each in amounts.quantities("1m tokens"))
        whole = next((each for each in self.found if each.kind == "token" and not each.role), None)
        if whole and (share := self.take(P.share_read)):
            part = float(share[1]) / 100 if share[2] else 1 - float(share[1]) / 100
            both = (replace(whole, number=whole.number * part, role="in"),
                    replace(whole, number=whole.number * (1 - part), role="out"))  # fmt: skip
            self.found = (*both, *(each for each in self.found if each is not whole))
            self.notes.append(share[0].strip())
        self.notes += [needs.IN_AND_OUT] * bool(whole and self.take(P.in_and_out))
        self.work: Work | None = None
        self.per_person = False
        found = self.take(P.resolution)
        self.pixels = tuple(int(side) for side in re.findall(r"\d{2,}", found[0])[:2]) if found else ()
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
        counts = any(each.kind in ("epoch", "image", "sequence", "token") for each in self.found)
        if (counts or self.said(rf"\b(?:{units.DATASET_NAMES})\b")) and (runs := self.take(P.several_runs)):
            times = (runs[1] or runs[2]).removesuffix(" times")
            number = USUAL.few.get(times) or number_of(times)
            run = amounts.Quantity(number, "epoch", 0.0, "", "", "", (runs.span(),), runs[0].strip())
            self.found = (*self.found, run)
        if self.bill and self.bill.usd and not (self.bill.items or any(e.period for e in self.found)):
            self.found = tuple(replace(e, period="month") if e.kind == "token" else e for e in self.found)
        self._read_streams()
        self._read_times()
        self._read_requests(bool(self.said(P.at_once) and self.said(P.how_many_people)))
        speeds = (each for each in self.found if each.kind == "token" and each.tokens == 1 and each.period)
        speed = next(speeds, None)
        # So many in a short time are a speed: of each answer, or as a service all day long.
        rate = speed.number / amounts.seconds(speed.period) if speed else 0.0
        able, named = self.said(RULES["asks"]["able"]), self.sets or self.have or self.said(P.at_least)
        meant = self.said(P.alone) or rate < USUAL.one_reader or (named and rate == USUAL.one_reader)
        meant = meant and not self.said(P.total_rate)
        if speed and meant and amounts.seconds(speed.period) < amounts.DAY_S:
            self.per_person = True
            if (self.sets or self.have) and able:
                self.fields |= {"asks": "speed", "rate": rate}  # Whether what is named is as fast
            else:
                self.fields["latency"] = Latency("TPOT", 1 / rate)
            self.notes.append(f"{speed.words} per {speed.period} is the speed of each answer")
            self.found = tuple(each for each in self.found if each is not speed)

    def _read_requests(self, people: bool) -> bool:
        """Whether the tokens that are stated are those of each request of people who ask at once, and no
        amount of work, as nothing says how many requests come."""
        sizes = [e for e in self.found if e.kind in ("token", "part") and e.role and not e.period]
        hour = amounts.seconds("hour")  # What comes in less is a speed
        speeds = [
            e for e in self.found if e.kind == "token" and e.period and amounts.seconds(e.period) <= hour
        ]
        short = all(e.number * e.tokens <= USUAL.longest_prompt for e in sizes)
        if not (people and sizes and short) or any(e not in (*sizes, *speeds) for e in self.found):
            return False
        prompt, answer = (sum(e.number * e.tokens for e in sizes if e.role == r) for r in ("in", "out"))
        answer = answer or USUAL.answer
        self.fields.setdefault("context", int(prompt + answer))
        self.fields |= {"reads": prompt / answer}
        said = ", ".join(e.words.strip() for e in sizes if e.tokens != 1)
        of = f"a prompt of {prompt:,.0f} tokens{f' ({said})' * bool(said)} and " * bool(prompt)
        self.notes.append(f"each request has {of}an answer of {answer:,.0f}{' tokens' * (not prompt)}")
        self.found = tuple(speeds)
        return True

    def _read_streams(self) -> None:
        """Frames of all cameras together, each of which is an image."""
        if (rate := self.said(P.frames)) is None:
            return
        streams = self.said(P.streams)
        number = float(rate[1]) * (number_of(streams[1]) if streams else 1)
        frames = amounts.Quantity(number, "image", 0.0, "in", "second", "", (rate.span(),), rate[0].strip())
        self.found = (*(e for e in self.found if e.kind not in ("other", "image")), frames)
        self.take(P.frames)
        self.take(P.streams)
        self.notes.append(f"{number:g} frames a second in all")

    def _read_times(self) -> None:
        """How often the work comes again in a day, week or month: its amount, or an hour of each person."""
        if self._aside() or (often := self.take(P.now_and_then, again=False)) is None:
            return
        words = (often[1] or "once").removesuffix(" times")
        times, period = USUAL.few.get(words) or number_of(words), often[2] or "week"
        counted = next((each for each in self.found if each.kind not in ("epoch", "step", "other")), None)
        self.times_a_week = 0 if counted else times * amounts.seconds("week") / amounts.seconds(period)
        if counted and not any(each.period for each in self.found):
            again = replace(counted, number=counted.number * times, period=period)
            self.found = tuple(again if each is counted else each for each in self.found)
            self.notes.append(f"{counted.words.strip()}, {times} times a {period}")

    def _aside(self) -> tuple[slice, Purpose] | None:
        """Where something is learnt now and then, or by a smaller model, beside what is run: that part of the
        text, and how."""
        for words, mode in RULES["modes"]:
            for learns in finditer(words, self.plain) if mode != "infer" else ():
                part = self._clause(learns.start())
                rest = self.plain[: part.start] + self.plain[part.stop :]
                smaller = 0 < _largest_size(self.plain[part]) < _largest_size(rest)
                now_and_then = smaller or search(P.aside, self.plain[part])
                usual = _modes(rest) or ["infer"] * bool(search(P.mostly, rest) or _largest_size(rest))
                if now_and_then and "infer" not in _modes(self.plain[part]) and usual == ["infer"]:
                    return part, mode
        return None

    def _read_work(self) -> str:
        """The model, network or use, or several with their shares of time. Raises InputError without any."""
        # Who fine-tunes by QLoRA says both, and means the first.
        modes: list[Purpose] = [mode for pattern, mode in RULES["modes"] if self.take(pattern)]
        self.mode = "infer" if self._aside() else modes[0] if modes else None
        self._read_shares()
        left = self._left
        named = self.mixed[0][0] if self.mixed else self._mostly() or self._name() or self._open_instead()
        sized = None if named else self._of_size()  # A model that has a size wins over what people are or do
        double = None if self.mixed or _item_of(named) == "FLOP" else self.said(P.double)
        part = self._clause(self.named_at) if named and self.named_at >= 0 and not self.mixed else slice(0)
        if named and search(P.aside, self.plain[part]) and self._without_own():
            aside, named = named, self._stand_in() or named
            self._beside(named, aside, part)  # "Detectors, and a bit of SD"
        apart = double if named or sized else None
        if apart and self._clause(apart.start()) != self._clause(self._read_since(left)):
            self._left, named = left, FP64  # The network is read again, as work beside it
            self.every(next(words for words, name in RULES["uses"] if name == FP64))
        elif not named:
            self.by_use = bool(named := sized) or not (named := self._stand_in())
        elif not self.mixed:
            self._read_others(named := self._largest(named))
        named = named or self._use(again=True) or ("mobile" if self.laptop else None)
        learns = self.mode not in (None, "infer") and not self.mixed
        near = self._clause(self._read_since(left)) if named and learns else slice(0)
        if named and is_model(named, None) and _modes(self.plain[near]) == ["infer"]:
            self.mode = "infer"  # "Training small networks and serving a 32B"
        elif named and learns and self.by_use and not sized and is_model(named, None):
            # "PyTorch training and small LLMs": what learns is the other one.
            other = self._within(0, near.start) or self._within(near.stop, len(self.plain))
            if other and not (is_model(other, None) or _modes(self.plain[near])):
                self.fields["also"], named, self.open_model = (named,), other, False
        elif named and learns and named != FP64 and self.mode not in _modes(self.plain[near]):
            # "SDXL, and training small CNNs": of a part that names its own work it is the mode of no other
            words = next(words for words, mode in RULES["modes"] if mode == self.mode)
            part = self._clause(found.start()) if (found := self.said(words)) else near
            if part != near and self._named_in(part) not in (None, named):
                self.mode = next(iter(_modes(self.plain[near])), None)
        if named is None and "budget_usd" in self.fields and self.take(RULES["asks"]["largest"]):
            named, self.mode, self.open_model = "llama-3.1-8b", "infer", True
        if named is None and self.bill and self.api:
            named = str(USUAL.open)
            self.notes.append(f"no model was named: {named}, an open one, is taken")
            self.fields["by_default"] = True
        if named is None:
            named = self._no_work()
        else:
            self._read_size_behind(named)
        if ALIASES.get(named, named) in USUAL.image_networks:
            self.every(P.convolutions)  # Which it is one of
        start = f"{ALIASES.get(named, named)}-pretrain"
        whole = [name for name in registry.names() if name.startswith(start)]
        if whole and self.said(r"pre-?train|from scratch"):
            named = min(whole)  # of the shortest sequences, on which nine steps of ten are made
            self.notes.append(f"pre-training is taken as {named}: {registry.get(named).spec.title}")
        if self.shared and not (is_model(named, self.mode) and self.mode in (None, "infer")):
            # One machine for all of them, and of what the money buys the most.
            people = self.people = self.fields.pop("users")
            most = (self.gpus or (1, needs.MOST_TOGETHER))[1] * self.several
            turns = ", so they take turns" * (most < people)
            machines = f"{self.several} machines" if self.several > 1 else "one machine"
            self.notes.append(f"{machines} that {people} people share{turns}")
            self.fields["sharing"] = people
            self.gpus = self.gpus or (1, needs.MOST_TOGETHER)
            if "budget_usd" in self.fields and not self.done():
                self.fields.setdefault("goal", "speed")
        drawn = named in _DRAWN | DIFFUSION.keys()
        if drawn and self.mode in (None, "infer") and any(count > 1 for _, count in self.sets):
            self.take(P.one_image)
            self.correct("Each image or clip is made on one GPU: two make two at once, neither sooner.")
        if self.mode in ("lora", "qlora") and (named == DRAWS or ALIASES.get(named, named) == "unet-sd15"):
            self.notes.append(f"adapters of {named} count as those of SDXL: version 1.5 takes less")
            named = "sdxl"
        images = named in DIFFUSION or "diffusion" in named or ALIASES.get(named) == "unet-sd15"
        if self.mode is None and (images or any(each.period for each in self.found)):
            # What comes again every day is answered, not learnt; people make images more often than models.
            self.mode = "infer"
        if images:
            self._read_steps(named)
        return named

    def _mostly(self) -> str | None:
        """What most of the work is, where that is said beside other work: "mostly CNNs, a few use a 13B"."""
        if not (most := self.said(P.mostly)):
            return None
        part = self._clause(most.start())
        named = self._within(part.start, part.stop)
        self.mode = next(iter(_modes(self.plain[part]) if named else ()), self.mode)
        return named

    def _largest(self, named: str) -> str:
        """Of several models of one kind the largest: what does it does the others, one at a time."""
        drawn = named in DIFFUSION
        if not (drawn or is_model(named, None)):
            return named
        kind = DIFFUSION.__contains__ if drawn else partial(is_model, mode=None)
        several = [named, *iter(lambda: self._name(kind), None)]
        if len(set(several)) > 1:
            self.notes.append(f"of {', '.join(dict.fromkeys(several))} the largest decides, one at a time")
        most = max(several, key=lambda name: DIFFUSION[name].gb if drawn else llms.find(name).parameters)
        if len({*several}) == 2 and not drawn and (aside := self._aside()):
            self.notes.pop()
            self._beside(most, next(name for name in several if name != most), *aside)
        return most

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

    def _read_other_work(self, named: str, *, more_of_it: bool = True) -> None:
        """What else is to be done with what counts: its memory must do, and its speed is said by itself."""
        fields, left, first = self.fields, self._left, self.named_at
        also = {each.rpartition(":")[2] for each in fields.get("also", ())}
        self._set_apart(named)
        self.take(rf"\b(?:{units.DATASET_NAMES})\b", again=False)
        # "ComfyUI and Ollama": of two uses, too, unless the second is what every question is about.
        notes, open_model = list(self.notes), self.open_model
        images = _DRAWN | DIFFUSION.keys()
        again = self.by_use or named in images or search(r"\b\d+b\b", self._left)
        # "Chat, and image generation on the same card": a language model makes none.
        drawn = {name: words for words, name in RULES["uses"] if name == DRAWS or name in DIFFUSION}
        draws = [(name, self.said(words)) for name, words in drawn.items() if is_model(named, None)]
        images_made = (each for each in draws if each[1] and not self.mixed and each[0] not in also)
        makes, made = next(images_made, (DRAWS, None))
        more = self._name() or (makes if made else again and self._use()) or named
        more = named if named in images and more in images else more  # "ComfyUI and Flux"
        self.notes, self.open_model = notes, open_model
        usual = {"resnet50", "mobile", "llama-3.1-8b" if self.by_use and is_model(named, None) else ""}
        usual |= set() if self.said(r"\b(?:bert|nlp)\b") else {"bert-large"}  # "Transformers of 1B"
        usual = set() if named == FP64 or self.said(P.convolutions) else usual
        another = more not in usual | also and ALIASES.get(more, more) != ALIASES.get(named, named)
        another &= not (named == FP64 and more in dict(presets()[FP64].workloads))
        network = not is_model(named, None) and self.mode in (None, "infer")
        learns = is_model(named, None) and self.mode not in (None, "infer") and not self.mixed
        # "Tune it every week, and serve it to 12 people": what is served is a part by itself.
        parts = (self._clause(each.start()) for each in finditer(P.served, self.plain))
        part = next((p for p in parts if more_of_it and {*_modes(self.plain[p])} <= {"infer"}), None)
        if another and fields.get("asks") == "able":
            fields["also"] = (more,)
        elif network and not another and (llm := self.take(P.llms, again=False)):
            fields["also"] = (llms.USUAL["3b" if "small" in llm[0] else "8b"],)
        elif is_model(named, None) and (is_model(more, None) or not another) and (aside := self._aside()):
            if "also" not in fields:
                self._beside(named, more, *aside)
        elif is_model(more, None) and learns and part and search(P.model_size, self.plain[part]):
            self._beside(named, more, part, "infer")
        elif another and is_model(more, None) and is_model(named, None):
            self.notes.append(f"of {named} and {more} the largest decides, one at a time")
        elif another:
            at = made.start() if made and more == makes else self._read_since(left)
            size, near = match(P.model_size, self.plain[at:]), self._clause(at)
            if (
                size
                and near.start <= first < near.stop
                and not (
                    search(P.joined, self.plain[:at])
                    or match(r" (?:models?|llms?|q?lora|fine-?tun\w*)\b", self.plain[at + size.end() :])
                )
            ):
                hint = "the size of the one that is meant"
                raise InputError(f"{named} of another size, as {more}?", hint=hint)
            self._beside(named, more, near)
        elif learns and part:
            self._beside(named, named, part, "infer")
        if another and len(also) < len(self.fields.get("also", ())) < MOST_OTHERS:
            self._read_other_work(named, more_of_it=False)

    def _set_apart(self, named: str) -> None:
        """Amounts that stand beside work of another kind are of that: "embed 3M pages, then a 14B for us"."""
        if self.named_at < 0 or not is_model(named, None):
            return
        for row in catalog.rows(DATA / "stand_ins.csv"):
            other = self.said(rf"(?<![\w-])(?:{row['words']})")
            part = self._clause(other.start()) if other else slice(0)
            if other is None or part.start <= self.named_at < part.stop:
                continue
            apart = [e for e in self.found if e.spans and part.start <= e.spans[0][0] < part.stop]
            if apart and len(apart) == len(self.found):
                self.found = ()
                counted = ", ".join(each.words.strip() for each in apart)
                self.notes.append(
                    f"{other[0]} ({counted}) is other work, not in these sums: ask for it apart"
                )

    def _read_since(self, left: str) -> int:
        """Where the first word stands that was read since so much was left."""
        return next((n for n, (a, b) in enumerate(zip(left, self._left, strict=True)) if a != b), 0)

    def _clause(self, at: int) -> slice:
        """The part of the text around a place, between commas, full stops and conjunctions."""
        ends = [(0, 0), *(end.span() for end in finditer(P.clause_ends, self.plain))]
        start = max(end for _, end in ends if end <= at)
        return slice(start, next((s for s, _ in ends if s > at), len(self.plain)))

    def _beside(self, named: str, more: str, part: slice, mode: Purpose | None = None) -> None:
        """Of a work that is not counted, by the part of the text that it stands in: its memory, and that what
        it says of amounts and people is of no other."""
        text, drawn = self.plain[part], more in DIFFUSION or ALIASES.get(more) == "unet-sd15"
        model = is_model(more, None)
        mode = mode or next(iter(_modes(text)), None) or ("infer" if drawn or model else "train")
        mode = "train" if not (model or drawn) and mode != "infer" else mode
        mode = "compute" if more == FP64 else mode
        also = self.fields.get("also", ())
        if named != more and not also:
            rest = self.plain[: part.start] + self.plain[part.stop :]
            usual = None if is_model(named, None) else self.mode or "train"
            self.mode = next(iter(_modes(rest)), usual)
        apart = [e for e in self.found if e.spans and part.start <= e.spans[0][0] < part.stop]
        self.found = tuple(each for each in self.found if each not in apart)
        counted = [each.words.strip() for each in apart]
        some = compiled(P.how_many_people).search(self.plain, part.start, part.stop)
        if some and model and mode == "infer":
            self.mark(*some.span())
            self.fields["also_users"] = number_of(some[1])
        if (users := self.fields.get("users")) and part.start <= self.people_at < part.stop:
            counted.append(f"for {users} people")
            self.fields = {n: v for n, v in self.fields.items() if n not in ("users", "concurrent")}
            self.members, self.shared = 1, False
        # Several GPUs share a language model that counts, so what it takes of one is not known here.
        own = not is_model(named, None)
        each = _held(more, mode), _held(named, self.mode or "infer")
        at_once = self.take(P.at_one_time) if self.members < 2 and named != more else None
        needed, when = (sum(each), "the same") if at_once else (max(each[0], each[1] * own), "another")
        if named != more:
            self.fields["least_gb"] = max(needed, self.fields.get("least_gb", 0.0))
        self.fields["also"] = tuple(dict.fromkeys((*also, more if mode == "infer" else f"{mode}:{more}")))
        ways: dict[str, str] = {"infer": "running", "train": "training"}
        ways |= {"lora": "lora of", "qlora": "qlora of", "compute": "computing"}
        first, other = (ways.get(each, "fine-tuning") for each in (self.mode or "infer", mode))
        first = "computing" if named == FP64 else first
        other += " it" if more == named else f" {more}"
        amount = f" ({', '.join(counted)})" * bool(counted)
        self.notes.append(
            f"{first} {named} is what counts; " * (not also) + f"{other}{amount} must fit, too, at {when} "
            "time, and what it costs by itself is not in it: ask for it apart"
        )

    def _read_size_behind(self, named: str) -> None:
        """The size of a model behind its name: "gpt-2 124M"."""
        if size := search(rf"{P.model_size}(?: param(?:eter)?s?)?", self._left):
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
            self.fields |= {"steps": int(steps.number)} if steps else {}
            if fast := self.take(P.few_steps):
                self.fields.setdefault("steps", USUAL.few_steps)
                self.notes.append(f"{fast[0]}: {self.fields['steps']} steps")
            return
        images = next((each for each in self.found if each.kind == "image"), None)
        if any(each.kind == "epoch" for each in self.found):
            return
        # What it learns from is seen again and again.
        learns = self.mode in ("lora", "qlora", "finetune")
        # Whether it can takes no amount, and hours that are stated are one.
        hours = "hire_h" in self.fields or "hours_per_week" in self.assumed
        if steps is None and learns and self.fields.get("asks") != "able" and not hours:
            words = f"{USUAL.steps:,} steps, as is usual" + (f" for {images.words}" if images else "")
            steps = amounts.Quantity(USUAL.steps, "step", 0.0, "", "", "", (), words)
        if steps is not None:
            self.found = (*(each for each in self.found if each not in (steps, images)), steps)
            self.fields.setdefault("batch", 1)

    def _read_shares(self) -> None:
        """Several works with their shares of the time, each before its share or behind it. Raises InputError
        for a share of nothing, and for works in different modes."""
        shares = list(finditer(rf"({P.decimal}) ?%", self.plain))
        if len(shares) < 2:
            shares = list(finditer(r"\bhalf()\b (?:of )?(?:the time|it)?", self.plain))
        if len(shares) < 2:
            return
        for share in shares:
            self.mark(*share.span())
        ends = [0, *(share.start() for share in shares), len(self.plain)]
        first = self._within(ends[0], ends[1])
        spans = [(ends[n], ends[n + 1]) for n in range(len(shares) + 1)][0 if first else 1 :][: len(shares)]
        names: list[str | None] = [first] if first else []
        for start, end in spans[len(names) :]:
            same = names and search(P.the_same, self.plain[start:end])
            names.append(names[-1] if same else self._within(start, end))
        if any(names) and not all(names) and (like := self._without_own()):
            self.ignore("shares of the time")  # What something stands in for counts, the other must fit
            for name, span in zip(names, spans, strict=True):
                if name:
                    self._beside(like[0], name, slice(*span))
            return
        if not all(names):
            raise InputError("shares of what?", hint="name each: 'llm-8b-decode 70 %, sd 30 %'")
        weights = [float(share[1] or 50) for share in shares]
        if not all(weights):
            raise InputError("a share of nothing", hint="leave out what takes no time")
        parts = [self.plain[start:end] for start, end in spans]
        said = [next(iter(_modes(part)), "") for part in parts]
        if len({*filter(None, said)}) > 1:
            # Only works of one mode have one speed.
            self._read_largest_share([*zip(weights, said, map(str, names), spans, strict=True)])
            return
        self.mode = self.mode or "infer"
        self.notes += [f"all of it is taken in mode {self.mode}"] if "" in said and any(said) else []
        self.mixed = tuple(zip(map(str, names), weights, strict=True))

    def _read_largest_share(self, parts: Sequence[tuple[float, Any, str, tuple[int, int]]]) -> None:
        """Of works in different modes the one that takes most of the time; the others are named."""
        share, mode, named, of_most = max(parts, key=lambda part: part[0])
        self.mode, self.mixed = mode or "infer", ((named, 1.0),)
        for other, way, name, span in (part for part in parts if part[3] != of_most):
            self.mark(*span)
            said = " ".join(filter(None, (way, name)))
            held = _held(name, way) if way in ("lora", "qlora") else 0.0
            fit = "; it must run, too" + f", in about {held:.0f} GB on one GPU" * bool(held)
            self.fields |= {"least_gb": held} if held else {}
            other_work = name if way in ("", "infer") else f"{way}:{name}"
            self.fields["also"] = (*self.fields.get("also", ()), other_work)
            self.notes.append(
                f"speeds and costs are of {named}, {share:g} % of the time; {said}, {other:g} %, is not in "
                f"them: ask for it apart{fit}"
            )

    def _within(self, start: int, end: int) -> str | None:
        """The work that is named there, as though all other words were read."""
        before = self._left
        self._left = f"{' ' * start}{before[start:end]}{' ' * (len(before) - end)}"
        found = self._name() or self._use()
        self._left = before[:start] + self._left[start:end] + before[end:]
        return found

    def _named_in(self, part: slice) -> str | None:
        """The work that is named in a part of the text, which no rule has read then."""
        before = self._left, list(self.notes), self.named_at, self.open_model
        self._left = self.plain
        found = self._within(part.start, part.stop)
        self._left, self.notes, self.named_at, self.open_model = before
        return found

    def _no_work(self) -> str:
        """What work is taken for in a question about GPUs alone. Raises InputError for others."""
        fields, limits = self.fields, {"memory_gb", "total_gb", "only"}
        gpus = any((self.have, self.sets, self.quotes, self.traits, self.gpu_hours, limits & fields.keys()))
        gpus = gpus or {"providers", "budget_usd"} <= fields.keys()  # "40k credits on gcp"
        # What so many hours cost, whatever they are for.
        priced = bool(self.sets or self.gpus) and "hire_h" in fields
        words = "|".join(re.escape(word) for word in self.unread() if not fullmatch(P.bits, word))
        # What is to be run, trained or worked with has a name that means nothing here.
        of_work = self.said(rf"\b(?:{P.of_work}) (?:(?:an?|the|my|our) )?(?:{words or '(?!)'})\b")
        sized = bool(fields.keys() & {"memory_gb", "total_gb"})
        sized &= self.rents or self.owns or bool(fields.keys() & {"sold", "budget_usd"})
        machine = self.said(rf"\b(?:{P.machine}|servers?)\b") if "budget_usd" in fields else None
        wanted = sized or self.gpu_hours or machine  # For whatever work
        gpus = gpus or machine is not None
        said = self.mode or self.sets or self.have or self.quotes or fields.get("asks") == "number"
        known = gpus and (said or wanted) and not of_work
        if (words and not (priced or known)) or not (gpus or self.take(P.machine)):
            raise needs.unknown(self.text)
        if other := self.said(P.other_work):
            problem = f"{other[0]}: no work of this tool, which knows training, inference and FP64 alone"
            raise InputError(problem, hint="name a model, a network or what it is to compute")
        one = {*self.have, *dict(self.sets)}
        if self.said(P.good_for) and len(one) == 1 and not fields.keys() & {"budget_usd", "goal"}:
            problem = (
                "this ranks GPUs for a work, and none is named: what one is good for is another question"
            )
            raise InputError(
                problem, hint="name a work, or see the verdicts by use", code="whom", name=min(one)
            )
        if self.quotes and not self.sets:
            # The same machine, wherever it is rented.
            fields["sets"] = tuple((quote.gpu_id, quote.count) for quote in self.quotes)
            self.gpus = (min(quote.count for quote in self.quotes), max(quote.count for quote in self.quotes))
        fields["by_default"] = True
        learns = self.mode in ("lora", "qlora", "finetune", "full")
        if learns and not any(each.kind == "image" for each in self.found):
            self.notes.append("no model was named: taken as llama-3.1-8b")
            return "llama-3.1-8b"
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
        left, names = self._left, needs.names()
        # With its version, else without one that is not known.
        for size, version in ((3, "b?"), (2, "b?"), (3, "b"), (2, "b"), (1, "b")):
            words = list(finditer(rf"[a-z][\w.+-]*|\d+(?:\.\d+|x\d+)?{version}\b", left))
            for at in range(len(words) - size + 1):
                start, end = words[at].start(), words[at + size - 1].end()
                parts = [word[0] for word in words[at : at + size]]
                if search(P.between_names, left[start:end]):
                    continue
                # "qwen3 8b 2507" has the month of its release behind it; another number is a limit.
                if size > 1 and llms.is_added(parts[0]):  # "Can it run qwen2.5 32b"
                    continue
                if fullmatch(r"\d{4,}", parts[-1]) and not fullmatch(r"2\d(0[1-9]|1[012])", parts[-1]):
                    continue
                name = "-".join(parts).rstrip(".")
                spelt = (name, name.replace("-", ""), " ".join(parts), name.removesuffix("s"))
                known = next((each for each in spelt if each in names), None)
                if known is None and (size > 1 or not name.isalpha()) and name not in llms.USUAL:
                    together = "-".join(("".join(parts[:2]), *parts[2:]))  # qwen 2.5 32b
                    known = next((each for each in (name, together) if is_model(each, None)), None)
                data = known and fullmatch(units.DATASET_NAMES, known) and self._named_apart(start, end)
                limit = known and _item_of(known) in ("byte", "launch")  # Or words: "copy room"
                if known and of(known) and not data and not limit:
                    self.mark(start, end)
                    self.named_at = start if self.named_at < 0 else self.named_at
                    return self._of_its_family(known)
        return None

    def _of_its_family(self, said: str) -> str:
        """The newest model of a family and size; says it where that is of another family ("llama 34b")."""
        if said in needs.names() or llms.is_file(said) or not is_model(said, None):
            return said
        name = llms.newest(said)
        full = llms.find(name).name
        if name != said or full.partition("-")[0].rstrip("0123456789.") not in said:
            self.notes.append(f"{said} is taken as {full}")
        return name

    def _named_apart(self, start: int, end: int) -> bool:
        """Whether a network is named beside what stands there."""
        text = self.plain[:start] + " " + self.plain[end:]
        like = (row["words"] for row in catalog.rows(DATA / "stand_ins.csv"))
        if search(P.other_network, text):
            return True
        known = {*registry.names(), *(n for n in ALIASES if not fullmatch(units.DATASET_NAMES, n))}
        names = (rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in known)
        return any(search(each, text) for each in (*names, *like))

    def _open_instead(self) -> str | None:
        """An open model in place of a closed one, whose weights are not published. Raises InputError
        where just that one is wanted."""
        name, like = P.closed, P.like
        if self.bill and (found := self.take(rf"\b(?:{name})\b")):
            named = search(rf"\b(?:{amounts.families()}|\d+b)\b", self.plain.replace(found[0], " "))
            other = "what is named" if named else f"{USUAL.open}, an open model"
            self.notes.append(f"{found[0]} is compared with {other}")
            return None if named else str(USUAL.open)
        if wanted := self.take(rf"(?:{like}) (?:the |an? )?({name})\b|\b({name})[ -](?:{like})\b"):
            said, instead = wanted[1] or wanted[2], USUAL.open
            self.notes.append(f"the weights of {said} are closed: {instead}, an open model, is taken instead")
            return str(instead)
        if closed := self.take(rf"\b(?:{name})\b"):
            raise InputError(
                f"{closed[0]} cannot be run on GPUs of one's own: its maker does not publish the weights",
                hint=f"an open model instead, such as {USUAL.open}",
            )
        return None

    def _without_own(self) -> re.Match[str] | None:
        """The first work that something stands in for, wherever it is said."""
        rows = catalog.rows(DATA / "stand_ins.csv")
        return next(filter(None, (self.said(rf"(?<![\w-])(?:{row['words']})") for row in rows)), None)

    def _stand_in(self) -> str | None:
        """What stands in for work that no workload is. Raises InputError where nothing here is like it."""
        rows = catalog.rows(DATA / "stand_ins.csv")
        patterns = [rf"(?<![\w-])(?:[23]-?d )?(?:{row['words']})" for row in rows]
        for row, words in zip(rows, patterns, strict=True):
            found = list[str]()
            # "Video generation", of which the mode took a word already.
            while one := self.take(words, again=not found):
                found.append(one[0])
            if not found:
                continue
            again = any(each.period for each in self.found)  # What comes every day is answered, not learnt
            usual = "infer" if again else row["usual"] if self.mode is None else "train"
            self.mode = "infer" if "infer" in (usual, self.mode) else "train"
            named = row[self.mode]
            if row["counted"] != "yes":  # Further words of the same work
                alike = zip(rows, patterns, strict=True)
                found += [w for other, of in alike if other[self.mode] == named for w in self.every(of)]
            said = ", ".join(found)
            self.fields["title"] = f"{row['what']} (by {named})"
            self.fields |= {"least_gb": float(row[f"gb_{self.mode}"]), "passes": float(row["runs"])}
            # Whether its items are those of the work, or how many of them an hour of audio is.
            heard = self.mode == "infer" and any(each.kind == "audio" for each in self.found)
            counted = row["counted"] == "yes" or bool(heard and row["counted"])
            if heard and row["counted"] not in ("", "yes"):
                hour = float(row["counted"])
                self.found = tuple(
                    replace(e, number=e.number * e.tokens / 3600 * hour, kind="token", tokens=1, role="out")
                    if e.kind == "audio" else e for e in self.found
                )  # fmt: skip
                self.fields["within"] = WITHIN
                hours = sum(each.number for each in self.found if each.kind == "token") / hour
                self.notes.append(
                    f"{round(hours, 1):,g} h of audio count as {hour / 1e6:g} M tokens of {named} an hour, "
                    f"within a factor of {WITHIN:g}: an A100 takes 98 s for 150 min (insanely-fast-whisper, "
                    "large v3)"
                )
            self.notes.append(
                needs.stands_in(said, row, named)
                + f", so GPUs compare by it, less surely{needs.UNCOUNTED}" * (not counted)
            )
            self.stands_in_counted = counted
            if counted:
                return named
            self._drop_deadline()
            if counted_in := [each.words for each in self.found if each.words]:
                self.ignore(*counted_in)
                self.notes.append(f"what {' and '.join(counted_in)} cost is not known")
                self._rent_once()
            self.stands_in = True  # Nor are epochs of another network's data set
            return named
        for row in catalog.rows(DATA / "no_stand_ins.csv"):
            if one := self.take(row["words"]):
                rest = self.plain[: one.start()] + self.plain[one.end() :]
                if any(search(words, rest) for words, _ in RULES["uses"]):
                    self.ignore(one[0])  # Beside a work that is known
                    continue
                problem = f"{one[0]} ({row['what']}): no workload here is like it, so its speed is not known"
                if self.fields.keys() & {"memory_gb", "total_gb"}:  # Which GPUs compare by
                    self.correct(f"{problem}: {row['because']}.")
                    continue
                hint = "ask by memory and price: 'cheapest new card with 24 GB'"
                raise InputError(f"{problem}: {row['because']}", hint=hint)
        return None

    def _read_beside(self) -> None:
        """Work beside the one that was named, which something stands in for: its memory counts."""
        for row in catalog.rows(DATA / "stand_ins.csv"):
            found = self.every(rf"(?<![\w-])(?:{row['words']})")
            if not found:
                continue
            size = float(row[f"gb_{'infer' if self.mode in (None, 'infer') else 'train'}"])
            at_once = self.take(P.at_one_time) if self.members < 2 else None
            self.ignore(f"memory of {found[0]} at the same time" if at_once else "")
            self.fields["least_gb"] = max(size, self.fields.get("least_gb", 0.0))
            like = row["infer" if self.mode in (None, "infer") else "train"]
            holds = f", but its memory, {size:g} GB or more" * (size > 0)
            self.notes.append(
                f"{', '.join(found)}: {row['what']}, {row['because']}: its speed is not counted{holds}; GPUs "
                f"compare on it as on {like}"
            )

    def _of_size(self) -> str | None:
        """The model that a size or a family is taken as. Raises InputError for a size that none has."""
        known = {name.split("-")[0] for name in llms.names()}
        words = (w for word in self.unread() for w in (word, word.rstrip("0123456789.")))
        said = family = next((word for word in words if word in known), "")
        of_it = [name for name in llms.names() if family and name.startswith(family)]
        if family and (version := self.said(rf"\b{family} ?(\d[\d.]*)(?![\w.])")):
            self.mark(*version.span())
            of_version = compiled(rf"{family}-?{re.escape(version[1])}(?![\d])")
            of_it = list(filter(of_version.match, of_it)) or of_it
        model = next((n for n in of_it if n.endswith(("-8b", "-7b"))), of_it[0] if of_it else "")
        sizes = [*finditer(rf"{P.model_size}(?:-a{P.decimal}b\b)?", self._left)]
        if alone := max(sizes, key=lambda size: float(size[1]) * {"m": 1e6, "b": 1e9}[size[2]], default=None):
            self._refuse_unknown(alone)
            listed = (each for each in finditer(P.size_list, self._left) if alone[0] in each[0])
            if self.fields.get("asks") != "able" and (several := next(listed, None)):
                self.mark(*several.span())
                self.notes.append(f"of {several[0]} the largest decides, one at a time")
            self.mark(*alone.span())
            self.named_at = alone.start()
            said, sized = alone[0], compiled(rf"(?<![\d.]){re.escape(alone[0])}\b")
            size = float(alone[1]) * {"m": 1e6, "b": 1e9}[alone[2]]
            about = [n for n in llms.names() if abs(llms.find(n).parameters - size) <= USUAL.rounded * size]
            # A size alone means a dense model; mixtures of experts are named as such.
            moe = self.take(r"\bmoe\b|\bmixture of experts\b|\d ?b active\b") or "-a" in said
            any_of = [n for n in llms.names() if moe or not llms.find(n).experts]
            near = min(any_of, key=lambda n: abs(llms.find(n).parameters - size))
            # Nobody means a first generation by a size that it nearly has.
            like = (n for n in of_it if n in about and not fullmatch(r"[a-z]+-\d+b", n))
            of_size = (*filter(sized.search, of_it), *like)
            model = next(iter(of_size), "") or ("" if moe else llms.USUAL.get(said, ""))
            model = model or next(filter(sized.search, any_of), near)
            if model == near and near not in about:
                named = (w for w in self.unread() if w not in vocabulary() and search(P.ends_as_model, w))
                problem = f"no model {next(named, '')} of {said} is known here".replace("  ", " ")
                hint = f"the nearest in size is {near}; any other by its configuration: hf:./config.json"
                raise InputError(problem, hint=hint, code="workload")
            said = f"{family} {said}" if of_it and model not in of_it else said
        if not model:
            return None
        self.take(rf"\b{family}" + (r"[\d.]*" if alone else r"\b") if of_it else "(?!)")
        self.take(P.llms, again=False)
        self.notes.append(f"{said} is taken as {model}")
        return model

    def _refuse_unknown(self, size: re.Match[str]) -> None:
        """Raises InputError for a size that is part of a name which no model here has: "helios 70b" and
        "nova-7b-v3", but not "a legal 8b"."""
        name = search(P.name_of_size, self.plain[: size.start()])
        if name is None or match(rf"(?:{amounts.families()})", name["word"]):
            return
        if name["word"] in vocabulary() and not name[0].endswith("-"):
            return
        version = match(r"(?:[- ](?:v\d[\d.]*|instruct|chat|base|it)(?![\w.]))*", self.plain[size.end() :])
        whole = f"{name[0]}{size[0]}{version[0] if version else ''}"
        number = float(size[1]) * {"m": 1e6, "b": 1e9}[size[2]]
        dense = (model for model in map(llms.find, llms.names()) if not model.experts)
        near = min(dense, key=lambda model: abs(model.parameters - number)).name
        problem = f"no model {whole} is known here; the nearest in size is {near}"
        hint = f"ask by its size ('a {size[0]} model') or by its configuration: hf:./config.json"
        raise InputError(problem, hint=hint, code="workload")

    def _use(self, *, again: bool = False) -> str | None:
        """What a size, a family or a use is taken as; `again` also of words that were read before."""
        if model := self._of_size():
            return model
        for pattern, name in RULES["uses"]:
            if found := self.take(pattern, again=again):
                self.every(pattern)
                self.open_model = is_model(name, None) and "small" not in found[0]
                self.notes += [f"{found[0]}: {LIKE_FP64}"] * (name == FP64)
                self.notes += [f"{found[0]} is taken as {name}"] if name not in presets() else []
                return str(name)
        return None

    def _settle_pixels(self, named: str) -> str:
        """The workload of images of the stated size; another size counts by its pixels, and where a network
        attends to all patches of an image also by their square."""
        own = ALIASES.get(named, named)
        model = DIFFUSION.get(named)
        title = model.words if model else registry.get(own).spec.title if own in registry.names() else ""
        of_like = search(r"at (\d+) pixels", " ".join(self.notes)) if self.stands_in_counted else None
        sides = of_like or search(r"\b(\d+) px", title)
        if not self.pixels:
            return named
        size = " x ".join(map(str, dict.fromkeys(self.pixels)))
        if sides is None or self.mixed or (self.stands_in and not self.stands_in_counted):
            self.ignore(f"{size} pixels")
            return named
        if (exact := f"{own}-{size}") in registry.names():
            return exact
        side = int(sides[1])
        patches, usual = (area / PATCH**2 for area in (self.pixels[0] * self.pixels[-1], side**2))
        times = patches / usual
        if width := WIDTHS.get(own):
            times *= (6 * width + patches) / (6 * width + usual)
        if times != 1:
            self.fields |= {"passes": self.fields.get("passes", 1.0) * times, "pixels": size}
            how = ("patches" if width else "pixels") + ", at best" * (times < 1)
            self.notes.append(f"an image of {size} px counts as {times:.3g} of {side} px, by its {how}")
        return named

    def _settle_work(self, named: str) -> None:
        """What the amounts say together of the work that was named."""
        data = self.said(rf"\b(?:{units.DATASET_NAMES})\b")
        epochs = next((each for each in self.found if each.kind == "epoch"), None)
        counted = [each for each in self.found if each.kind not in ("epoch", "step")]
        timed = data and (
            "deadline_s" in self.fields
            or self.said(P.whole_data_set)
            or ("budget_usd" in self.fields and self.said(RULES["asks"]["able"]))
            or (not self.found and self.take(P.how_long))
        )
        if self.stands_in or self.mixed or not (self.found or timed or self.once):
            return
        if others := [each for each in counted if each.kind in ("other", "audio")]:
            self.ignore(*(each.words for each in others))
            self.found = tuple(each for each in self.found if each not in others)
            counted = [each for each in counted if each not in others]
            if not counted:
                return
        served = is_model(named, self.mode)
        if served and self.mode in (None, "infer") and self._read_requests(True) and not self.found:
            return
        need = needs.need_for(named, mode=self.mode)
        if not (self.found or data):
            item = item_of(need).partition("-")[0]
            self.work = Work(USUAL.examples.get(item, 1e6), None, item)
            self.notes.append(f"no amount was named: {self.work.items / 1e6:g} million {item}s as an example")
            return
        usual = next((n for pattern, n in RULES["answers"] if self.take(pattern)), USUAL.answer)
        if not counted and not any(each.kind == "step" for each in self.found):
            whole = units.parse_work(data[0] if data else "ImageNet")
            if not data and epochs and ALIASES.get(named, named) not in USUAL.image_networks:
                raise InputError(f"{epochs.words} of what?", hint="say of how many items, or of ImageNet")
            number = prod(e.number for e in self.found if e.kind == "epoch") if epochs else USUAL.epochs
            if not (data and epochs):
                self.notes.append(f"{number:g} epochs of {data[0] if data else 'ImageNet'}")
            self.work = whole._replace(items=whole.items * number)
            return
        found = amounts.amount(
            self.found, item=item_of(need).partition("-")[0],
            learns=need.mode == "train" or self.mode in ("lora", "qlora", "finetune"),
            people=self.fields.get("users", self.people), batch=self.fields.get("batch"),
            length=needs.tokens_of(_about(need)) or self.fields.get("context", 0), usual=usual,
        )  # fmt: skip
        size = sum(each.number * each.tokens for each in self.found)
        parts = all(each.kind in ("token", "part") and not each.period for each in self.found)
        if parts and size <= USUAL.longest_prompt:  # No work, but the size of a part of it
            ahead = ((e, self.plain[: e.spans[0][0]]) for e in self.found)
            long = any(e.role or e.joined or search(P.of_context, before) for e, before in ahead)
            if served and need.mode == "infer" and long and size >= USUAL.least_prompt:
                self.fields.setdefault("context", int(size))
                self.notes.append(f"{counted[0].words.strip()} are read as the context")
            else:
                self.ignore(*(each.words for each in counted))
            return
        self.work, self.notes = found.work, [*self.notes, *found.notes]
        things = [e for e in counted if e.kind in ("text", "image", "sequence")] or counted
        read = things and things[0].role == "in" and need.workloads[0][0] not in _DRAWN
        again = (self.work.period_s if self.work and read else None) or 0.0
        night = any(each.period == "night" for each in counted)
        learns = self.take(P.batch) or need.mode == "train"
        # What pays for no GPU around the clock is meant for the hours that the work takes.
        month = self.fields.get("budget_usd", 0.0) if self.fields.get("budget_per_month") else inf
        little = month < USUAL.least_month and not self.fields.keys() & {"users", "latency"}
        little &= "hours_per_week" not in self.assumed and not self.said(P.always_there)
        again_s = self.work.period_s if self.work else None
        if night or again >= amounts.seconds("week") or (again_s and (learns or little)):
            self.fields["batched"] = True
            self.notes.append("a batch: rented only for the hours that it takes")
        if served and need.mode == "infer" and self.work:
            if people := self.fields.pop("users", None):
                self.notes.append(f"what {people} people ask is in the amount")
            self.fields |= {"reads": found.reads}
            if found.context and found.context <= USUAL.longest:  # Longer ones are read in pieces
                self.fields.setdefault("context", found.context)
        once = self.work and not (self.work.period_s or epochs or self.fields.get("batch"))
        if once and need.mode == "train" and counted and counted[0].kind in ("text", "image", "sequence"):
            self.notes.append(f"{counted[0].words.strip()} once: each further epoch takes as much again")
        if self.work is None:
            self.ignore(*(each.words for each in counted))  # How long one is was not said
            self.notes.append("the cost of all of it is not known: how much that is was not said")
            self._rent_once()

    def _drop_deadline(self) -> None:
        """Removes the deadline of work that is not counted, and says why."""
        if self.fields.pop("deadline_s", None):
            self.correct(
                "How long this takes is not known, only how GPUs compare: a run of one hour on one of them "
                "shows whether the deadline can be met."
            )

    def _rent_once(self) -> None:
        """Buying for work that is done once cannot be judged without hours of use."""
        if not any(each.period for each in self.found):
            self.fields.setdefault("acquire", "rent")

    def _read_precision(self, named: str) -> str | None:
        if named == FP64 and (mixed := self.take(P.single)):
            self.notes.append(f"{mixed[0].strip()}: counted in fp32")
            return "fp32"
        bits = self.take(P.bits) or self.take(P.bits_in_words)
        if bits and named in DIFFUSION and not fullmatch(r"(?:bf|fp)16|fp32|tf32", bits[0]):
            self.notes.append(f"{bits[0]}: weights count in 8 bits, products in 16")
            bits = None
        if not bits:
            return None
        infers = self.mode in ("infer", None) and is_model(named, self.mode)
        formats = RULES["formats"].get(next(filter(None, bits.groups()), ""), {})
        meant = str(formats.get("infer" if infers else "", formats.get("", bits[0])))
        own = ALIASES.get(named, named)
        if self._of_llm() and own in registry.names() and meant not in registry.get(own).spec.precisions:
            # Beside other work a language model is counted in 4 bits.
            if meant in ("int4", "nf4"):
                self.notes.append(f"{bits[0]}: of the language model beside it")
            else:
                self.ignore(bits[0])
            return None
        return meant


def _modes(text: str) -> list[Purpose]:
    """What a text says is done with a model."""
    return [mode for words, mode in RULES["modes"] if search(words, text)]


def _item_of(name: str | None) -> str:
    """The item that a workload counts; empty for any other name."""
    return registry.get(name).spec.item if name in registry.names() else ""


def _held(name: str, mode: Purpose) -> float:
    """GB of a GPU's memory that a model takes at least: those of its weights."""
    if name in DIFFUSION:
        return DIFFUSION[name].gb if mode == "infer" else DIFFUSION[name].gb_lora
    if ALIASES.get(name) == "unet-sd15":
        return float(USUAL.small_images_gb)
    formats: dict[str, Precision] = {"infer": Precision.INT4, "qlora": Precision.NF4}
    weights = formats.get(mode, Precision.BF16)
    beside = ADAPTERS if mode in ("lora", "qlora") else 1.0
    return beside * llms.weight_bytes(llms.find(name), weights) / 1e9 if is_model(name, None) else 0.0


def _about(need: Need) -> str:
    """What is said of a need's only workload, with its pixels or tokens."""
    title = "" if need.task else registry.get(need.workloads[0][0]).spec.title
    return " ".join(need.notes) if need.title else title
