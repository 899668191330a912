"""Questions from templates, and what every answer to any question must keep: one value for one thing, a place
or a reason for what was named, no cost better known than the speed that it rests on.

`python -m tests.judge.choose.consistent 400` asks as many and prints the faults.
"""

from __future__ import annotations

import io
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import date
from math import inf
from typing import Any
from unittest.mock import patch

import msgspec

from gpuwise.cli import print as printer
from gpuwise.cli.main import run
from gpuwise.facts import catalog, prices
from gpuwise.jobs import choosing
from gpuwise.judge.choose import candidates
from gpuwise.judge.choose import need as needs
from gpuwise.judge.choose.need import USUAL
from gpuwise.model.gpu import RENTS
from gpuwise.model.judgement import Need
from gpuwise.model.units import brief, usd
from gpuwise.predictor.fit import USABLE_SHARED

from . import claims

DAY = date(2026, 11, 23)  # Of the shipped prices
MOST_LINES = 30
LARGE = USUAL.hyperscalers  # Providers who name each machine
# Words of a GPU -> the ids of which one must have a place or a reason.
CARDS = {
    "RTX 3090": "rtx-3090", "RTX 4090": "rtx-4090", "RTX 5090": "rtx-5090", "RTX 3060 12GB": "rtx-3060-12gb",
    "RTX 4070 Ti Super": "rtx-4070-ti-super", "RTX 5070 Ti": "rtx-5070-ti", "GTX 1080 Ti": "gtx-1080-ti",
    "RTX 2080 Ti": "rtx-2080-ti", "Tesla P40": "p40", "RX 7900 XTX": "rx-7900-xtx", "Arc B580": "arc-b580",
    "RTX A6000": "rtx-a6000", "RTX 4060 Ti 16GB": "rtx-4060-ti-16gb", "V100 32GB": "v100*",
    "A100 80GB": "a100-*-80gb", "H100": "h100*", "L40S": "l40s", "L4": "l4", "T4": "t4", "A10G": "a10g",
    "Mac Studio M3 Ultra": "apple-m3-ultra", "Ryzen AI Max 395": "radeon-8060s", "MI300X": "mi300x",
}  # fmt: skip
RENTED = ("A100 80GB", "H100", "L40S", "L4", "T4", "A10G", "RTX A6000", "MI300X", "V100 32GB", "RTX 4090")
WORKS = (
    "llama 3.1 8b",
    "llama 3.1 70b",
    "qwen2.5 32b",
    "qlora of llama 3.1 8b",
    "lora fine-tuning of mistral 7b",
    "training resnet50",
    "training bert-large",
    "stable diffusion xl",
    "a flux lora",
    "running gemma 2 27b",
)
NETWORKS = ("resnet50", "bert-large", "unet-sd15", "vit-b16", "gpt2-small")
MODELS = ("llama-3.1-8b", "llama-3.1-70b", "qwen2.5-14b", "qwen2.5-32b", "mistral-7b")
MONEYS = ("600 dollars", "1500 EUR", "£900", "$3000", "12000 euros", "25000 CHF")
PLACES = ("", "", "", " in Germany", " in the US", " in France", " in Europe")
PROVIDERS = ("runpod", "lambda", "vast.ai", "aws", "coreweave", "hyperstack")
FORMATS = ("bf16", "fp8", "int4", "q4_k_m")
IDS = (
    "rtx-3090", "rtx-4090", "rtx-5090", "rtx-a6000", "l40s", "a100-pcie-80gb", "h100-sxm5-80gb", "t4", "l4",
    "v100-sxm2-32gb", "mi300x", "rx-7900-xtx", "gtx-1080-ti", "rtx-3060-12gb",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """A command line, and what it names."""

    arguments: tuple[str, ...]
    gpus: tuple[str, ...] = ()  # Each a pattern of ids
    others: tuple[str, ...] = ()  # Providers and formats, as the answer may write them
    currency: str = "USD"
    mine: str = ""  # The pattern of what is there


def questions(number: int, seed: int) -> Iterator[Asked]:
    draw = random.Random(seed)
    for _ in range(number):
        yield draw.choice((_compared, _owned, _rented, _bought, _served, _by_options))(draw)


def of_limits(number: int, seed: int) -> Iterator[Asked]:
    """Questions with limits of a machine, a rent or a work of which little is known."""
    draw = random.Random(seed)
    for _ in range(number):
        yield draw.choice(OF_LIMITS)(draw)


def _currency(money: str) -> str:
    codes = {"EUR": "EUR", "euro": "EUR", "€": "EUR", "£": "GBP", "GBP": "GBP", "CHF": "CHF"}
    return next((code for sign, code in codes.items() if sign in money), "USD")


def _compared(draw: random.Random) -> Asked:
    first, second = draw.sample(sorted(CARDS), 2)
    counts = [draw.choice(("", "", "2x ", "4x ")) for _ in range(2)]
    ask = f"{counts[0]}{first} or {counts[1]}{second} for {draw.choice(WORKS)}?"
    return Asked((ask,), (CARDS[first], CARDS[second]))


def _owned(draw: random.Random) -> Asked:
    mine, other = draw.sample(sorted(CARDS), 2)
    ask = f"I have a {mine}, {draw.choice(('can it do', 'is it enough for'))} {draw.choice(WORKS)}"
    if draw.random() < 0.5:
        return Asked((f"{ask}, or do I need a {other}?",), (CARDS[mine], CARDS[other]))
    return Asked((f"{ask}?",), (CARDS[mine],))


def _rented(draw: random.Random) -> Asked:
    card, provider, place = draw.choice(RENTED), draw.choice(PROVIDERS), draw.choice(PLACES)
    ask = f"rent a {card} at {provider}{place} for {draw.choice(WORKS)}"
    amount = draw.choice(("", ", 20M tokens", ", by friday"))
    return Asked(
        (ask + amount * ("lora" in ask or not amount.endswith("tokens")),), (CARDS[card],), (provider,)
    )


def _bought(draw: random.Random) -> Asked:
    money, place = draw.choice(MONEYS), draw.choice(PLACES)
    ask = f"which card to buy for {draw.choice(WORKS)}, at most {money}{place}"
    return Asked((ask,), currency=_currency(money))


def _served(draw: random.Random) -> Asked:
    card, other = draw.choice(RENTED), draw.choice(sorted(CARDS))
    form, people = draw.choice(FORMATS), draw.choice((1, 8, 40))
    ask = f"serve {draw.choice(WORKS[:3])} in {form} to {people} people"
    if draw.random() < 0.5:
        return Asked((f"{ask}, renting a {card} or buying a {other}?",), (CARDS[card], CARDS[other]), (form,))
    return Asked((ask,), (), (form,))


def _in_a_machine(draw: random.Random) -> Asked:
    supply = draw.choice((550, 750, 1000, 1600))
    of = draw.choice(("a {}W box", "a {} W PSU", "a server with a {} W supply", "my {}W rig"))
    slots = draw.choice(("", " with two double slots", " and one free slot", " and 3 slots"))
    people = draw.choice(("", " for 10 people"))
    ask = f"{of.format(supply)}{slots}: which cards to run {draw.choice(WORKS)}{people}"
    if draw.random() < 0.7:
        return Asked((ask,))
    money = draw.choice(MONEYS[:4])
    return Asked((f"{ask}, below {money}",), currency=_currency(money))


def _just_bought(draw: random.Random) -> Asked:
    mine, number = draw.choice(sorted(CARDS)), draw.choice((1, 2, 10))
    got = draw.choice(("I just bought", "we recently purchased", "I've picked up"))
    names = f"{number} {mine}" if number > 1 else f"a {mine}"
    ask = draw.choice(("how fast is it with", "can it do", "is it enough for"))
    return Asked((f"{got} {names}, {ask} {draw.choice(WORKS)}?",), (CARDS[mine],))


def _hired(draw: random.Random) -> Asked:
    card, hours = draw.choice(RENTED), draw.choice((20, 147, 400))
    of = draw.choice((f"{hours} hours of a single {card}", f"a {card} for {hours} hours"))
    out = draw.choice(("", ", and download 2 TB of results", " and 500 GB egress"))
    return Asked((f"we need {of} for {draw.choice(WORKS)}{out}, what will it cost to rent?",), (CARDS[card],))


def _as_instances(draw: random.Random) -> Asked:
    of = {"g5.12xlarge": "a10g", "p4d.24xlarge": "a100-sxm4-40gb", "g4dn.xlarge": "t4", "g6.4xlarge": "l4"}
    first, second = draw.sample(sorted(of), 2)
    return Asked((f"{first} or {second} for {draw.choice(WORKS[:7])}?",), (of[first], of[second]))


def _stood_in(draw: random.Random) -> Asked:
    first, second = draw.sample(sorted(CARDS), 2)
    work = draw.choice(
        ("AlphaFold", "training yolov8", "whisper transcription", "training a 3D U-Net", "ESMFold")
    )
    return Asked((f"{first} or {second} for {work}?",), (CARDS[first], CARDS[second]))


def _within_limits(draw: random.Random) -> Asked:
    """Several limits of one purchase or rent, as options."""
    served = draw.random() < 0.5
    words = [draw.choice(MODELS if served else (*NETWORKS, "whisper", "sdxl", "flux"))]
    own = draw.random() < 0.5
    words.append("--own" if own else "--rent")
    limits: dict[str, tuple[str, ...]] = {
        "gpus": ("1..2", "4"), "hours-per-week": ("6", "80"), "newer-than": ("60d", "200d"),
        "memory": ("24GB..",), "users": ("1", "12"),
    }  # fmt: skip
    limits |= (
        {"power": ("200W", "600W"), "slots": ("2", "4"), "outlet": ("1500W",), "budget": ("$900", "$4000"),
         "host": ("0", "$1200"), "condition": ("used", "new"), "electricity": ("$0.35",)}
        if own
        else {"region": ("eu", "us", "germany"), "provider": ("runpod", "gcp", "aws,lambda"),
              "spot": ("ok",), "budget": ("$2/h", "$500/month"), "community": ("ok",)}
    )  # fmt: skip
    for name in draw.sample(sorted(limits), draw.choice((1, 2, 3))):
        words += [f"--{name}", draw.choice(limits[name])]
    return Asked(tuple(words))


def _there(draw: random.Random) -> Asked:
    """What is there, as people say it."""
    mine, other = draw.sample(sorted(set(CARDS) - {"Mac Studio M3 Ultra", "Ryzen AI Max 395"}), 2)
    of = ("I've got a {}", "running a {} right now", "there is a server with a {} in our lab", "using a {}",
          "one gaming PC with a {}", "{} owner here", "we bought a workstation with a {} last year",
          "my rig has a {}", "currently on a {}")  # fmt: skip
    said = draw.choice(of).format(mine)
    ask = draw.choice(
        ("can it do {}?", "is it enough for {}?", f"is a {other} worth it for {{}}?", f"{other} for {{}}?")
    )
    asked = f"{said}, {ask.format(draw.choice(WORKS))}"
    gpus = (CARDS[mine], *((CARDS[other],) if other in ask else ()))
    return Asked((asked,), gpus, mine=CARDS[mine])


def _by_options(draw: random.Random) -> Asked:
    gpus, money = draw.sample(IDS, draw.choice((1, 2, 3))), draw.choice(("$2000", "€1500", "900 GBP"))
    served = draw.random() < 0.6
    words = [draw.choice(MODELS if served else NETWORKS), "--gpu", ",".join(gpus)]
    words.append(draw.choice(("--own", "--rent", "--both")))
    if served:
        words += draw.choice(([], ["--users", "20"], ["--mode", "qlora"], ["--precision", "int4"]))
    else:
        words += (
            draw.choice(([], ["--mode", "train", "--work", "1M images"])) if words[0] == "resnet50" else []
        )
    budget = draw.random() < 0.3 and "--rent" not in words
    words += (
        ["--budget", money]
        if budget
        else draw.choice(([], ["--egress", "300GB"] * ("--own" not in words), ["--quiet"]))
    )
    words += draw.choice(([], ["--have", "rtx-3090:2"], ["--electricity", "$0.4"]))
    return Asked(tuple(words), tuple(gpus), currency=_currency(money) if budget else "USD")


OF_LIMITS = (_in_a_machine, _just_bought, _hired, _as_instances, _stood_in, _within_limits, _there)


def _is(gpu: str, pattern: str) -> bool:
    return re.fullmatch(pattern.replace("*", ".*"), gpu) is not None


_RATE = re.compile(r"(\d[\d,.]*) (?:token|image|sequence|image-step|sample)s?(?:/s| an hour)")
_HOURLY = re.compile(r"(\$[\d,.]+)/h\b")


def faults(asked: Asked, code: int, text: str, talk: str, found: dict[str, Any] | None) -> Iterator[str]:
    """What is wrong with an answer by itself: its text, its document, or the error in its place."""
    if code or found is None:
        if code not in (2, 5):
            yield f"exit {code}: {talk[:200]}"
        for gpu in asked.gpus:
            if not any(_is(spec.id, gpu) and _shows(spec.id, talk) for spec in catalog.all_gpus()):
                yield f"named and not spoken of in the error: {gpu}"
        return
    lines = [line.strip() for line in text.splitlines()]
    if len(lines) > MOST_LINES:
        yield f"{len(lines)} lines"
    head = [at for at, line in enumerate(lines) if set(line) == {"─"}]
    said = [*lines[: head[0] - 1], *lines[head[0] + 1 :]] if head else lines
    prose = [line for line in said if not re.match(r"\d+\*? ", line)]
    pieces = (
        re.sub(r"^\w+: ", "", piece.strip(" -.")) for line in prose for piece in re.split(r"[.;] ", line)
    )
    for piece, times in Counter(piece for piece in pieces if len(piece.split()) > 5).items():
        if times > 1:
            yield f"said {times} times: {piece}"
    options, rejected = found["options"], {each["gpu_id"]: each["reason"] for each in found["rejected"]}
    for gpu in {option["gpu_id"] for option in options} & rejected.keys():
        yield f"ranked and refused: {gpu}: {rejected[gpu]}"
    yield from _numbers(asked, prose, found)
    yield from _intervals(found)
    yield from _sums(found, text)
    yield from _limits(found, text)
    yield from _laws(asked, found, text)
    yield from claims.faults(found, text)
    # What was taken, or would change the answer, is no answer about it.
    told = "\n".join(line for line in lines if not line.startswith(("Taken", "Would change it", "Old gen")))
    for gpu in asked.gpus:
        if not any(_is(spec.id, gpu) and _shows(spec.id, told) for spec in catalog.all_gpus()):
            yield f"named and not in the answer: {gpu}"
    yield from (
        f"named and not in the answer: {o}" for o in asked.others if o.split(".")[0] not in text.lower()
    )
    for other in {"EUR", "GBP", "CHF", "JPY", "INR"} - {asked.currency}:
        if re.search(rf"\b{other}\b", text):
            yield f"currency {other}"
    for option in options:
        name = re.escape(catalog.get(option["gpu_id"]).name.removeprefix("NVIDIA ").removeprefix("GeForce "))
        if option["price_usd"] and re.search(rf"{name}, price (?:un|not )known", " ".join(prose)):
            yield f"no price where one is shown: {option['gpu_id']}"
    for gpu, why in rejected.items():
        of = re.search(r"does not fit: ([\d.]+) GiB on each of (\d+)", why)
        usable = USABLE_SHARED if catalog.get(gpu).text("form") == "soc" else 0.85
        if of and float(of[1]) < (catalog.get(gpu).memory_bytes or 0.0) / 2**30 * usable:
            yield f"refused for memory that it has: {gpu}: {why}"


def _shows(gpu: str, text: str) -> bool:
    name = catalog.get(gpu).name.removeprefix("NVIDIA ").removeprefix("GeForce ")
    return re.search(rf"(?<![\w-]){re.escape(gpu)}(?![\w-])", text) is not None or name in text


def _numbers(asked: Asked, prose: list[str], found: dict[str, Any]) -> Iterator[str]:
    """Speeds and rents of sentences that are not those of an option."""
    people = max(1, found["need"].get("concurrent") or 1)
    rates, hourly = set[str](), set[str]()
    for option in found["options"]:
        for share in (1, people):
            speeds = [option["throughput"][end] / share for end in ("value", "low", "high")]
            rates |= {brief(speed) for speed in speeds} | {brief(speed * 3600) for speed in speeds}
        prices = [option["price_usd"] and option["price_usd"]["value"], option["per_hour_usd"]]
        hourly |= {str(usd(price)) for price in prices if price}
    for line in prose:
        about = line.startswith(("Taken", "Would change it", "Not known", "Refused"))
        if about or re.search(r" together |or (?:another GPU|\w+ rent) \(", line):
            continue
        yield from (
            f"a speed of no option: {rate} in {line[:90]}"
            for rate in _RATE.findall(line)
            if rate not in rates
        )
        of = (price for price in _HOURLY.findall(line) if price not in hourly)
        yield from (
            f"a rent of no option: {price} in {line[:90]}"
            for price in of
            if price not in " ".join(asked.arguments)
        )


def _intervals(found: dict[str, Any]) -> Iterator[str]:
    for option in found["options"]:
        speed = option["throughput"]
        for field in ("time_s", "cost_per_item_usd", "cost_usd"):
            if not (value := option[field]) or not value["value"]:
                continue
            low, high = value["value"] / value["low"], value["high"] / value["value"]
            slow, fast = (speed["value"] / speed["low"], speed["high"] / speed["value"])
            if field != "time_s" and option["way"] in RENTS and (time := option["time_s"]):
                # An hour is paid whole, whatever the speed within it is.
                least, usual, most = (max(3600.0, time[end]) for end in ("low", "value", "high"))
                slow, fast = (
                    (most / usual, usual / least) if not found["need"].get("period_s") else (slow, fast)
                )
            if low < 0.999 * fast or high < 0.999 * slow:
                yield f"{field} of {option['gpu_id']} is better known than its speed"


# Words of a question -> a limit as the answer names it.
_SAID = {
    "budget": r"at most|pays for", "power": r"W for GPUs", "slots": r"\d slots?", "outlet": "from the wall",
    "region": "rented in", "provider": "of ", "hours-per-week": "h of use a week", "memory": "GB or more",
    "newer-than": "prices of the last", "electricity": "a kWh", "condition": "(?:new|used) prices",
}  # fmt: skip
_HOME = re.compile(r"\bhome\b|\bW\b|\d ?W\b|\bpsu\b|host")


def _laws(asked: Asked, found: dict[str, Any], text: str) -> Iterator[str]:
    """One law for each kind of contradiction within an answer, and with what is known."""
    need, options, words = found["need"], found["options"], " ".join(asked.arguments)
    taken = next((line for line in text.split("\n  ") if line.strip().startswith("Taken: ")), "")
    first = options[0]
    for name, said in _SAID.items():
        if f"--{name}" in asked.arguments and not re.search(f"{said}|Not taken into account", text):
            yield f"a limit that is not named: {name}"
    refused = [gpu for each in found["refused"] for gpu in re.findall(r"^[^:]*(?=: )", each)[0].split(", ")]
    for gpu, times in Counter(refused).items():
        if times > 1:
            yield f"refused {times} times: {gpu}"
    if asked.mine and not any(_is(gpu, asked.mine) for gpu in need.get("have", ())):
        yield f"what is there is not read as such: {asked.mine}"
    if (need.get("have") or need.get("supply_w")) and len(options[0]["gpu_id"]) and first["host_usd"] > 0:
        there = {catalog.get(gpu).text("form") for gpu in need.get("have", ())}
        if first["count"] <= 2 and not there & {"laptop", "soc"} and not need.get("upgrade"):
            yield "a host to buy beside a machine that is there"
    stands_in = need.get("title") and not need.get("least_gb") and not need.get("task")
    if stands_in and (memory := re.search(r"[^.;]*(?:does not fit|\d GiB)[^.;]*", text)):
        yield f"the memory of a stand-in: {memory[0][:90]}"
    of = re.search(r"with weights in (\w+)", text)
    if of and "weights in" in taken and not any(said in taken for said in (of[1], "llama.cpp")):
        yield f"weights in {of[1]} against what was taken"
    if "168 h of use" in taken and "168" not in words and "24/7" not in words:
        yield "hours of use that nobody stated"
    if "at home" in taken and not _HOME.search(words):
        yield "a home that nobody stated"
    if (first["way"] == "unpriced") != ("costs today" in text):
        yield "what is not known of the price of the first"
    if (
        re.search(r"(?<!\w)(?:Keep|Yes)\b", text)
        and refused
        and first["way"] == "have"
        and any(_is(gpu, first["gpu_id"]) for gpu in refused if gpu.count(" ") == 0)
    ):
        yield "kept and refused"
    if re.search(r"\bor more than \d+ W\b| and \d+ other reasons", text):
        yield "a reason that may be another"
    if not first["frontier"] and "is first though" not in text and first["cost_per_item_usd"]:
        for other in options[1:]:
            each = other["cost_per_item_usd"]
            if (
                each and other["frontier"] and each["value"] <= first["cost_per_item_usd"]["value"]
                and other["throughput"]["value"] >= first["throughput"]["value"]
            ):  # fmt: skip
                yield f"first and beaten: by {other['count']} x {other['gpu_id']}"
    for said in re.findall(r"not known: [^;.]*", text.casefold()):
        if "together in one machine: each is judged" in said and "together hold it" in text:
            yield "together, and each by itself"
    yield from _offers(found)


def _offers(found: dict[str, Any]) -> Iterator[str]:
    """No price is said to be known only where nobody asks one, and none is of a part of a machine."""
    kept = needs.settled(msgspec.convert(found["need"], Need))
    offers = [o for o in prices.shipped() if o.seen_on]
    singles = prices.of_machines(offers, LARGE)
    allowed = candidates.usable(kept, prices.believable(offers, DAY), DAY)
    youngest = kept.assumptions.max_age_days or inf
    sold = {
        (gpu, count) for o in allowed for count, _ in candidates.machines(kept, o) for gpu in o.gpu_ids[:1]
        if len(o.gpu_ids) == 1 and o in singles and (prices.age_days(o, DAY) or 0) <= youngest
    }  # fmt: skip
    numbers = dict(kept.sets)
    for each in found["rejected"]:
        why, gpu = each["reason"], each["gpu_id"]
        if no := re.match(r"no price (?:to \w+ )*(?:of (\d+) together )?seen", why):
            least = int(no[1] or kept.gpus[0])
            if catalog.get(gpu).text("form") not in needs.COMPUTERS and any(
                g == gpu and least <= n <= max(least, numbers.get(gpu, kept.gpus[1])) for g, n in sold
            ):
                yield f"no price is said to be known of {gpu}: {why}"
    for option in found["options"]:
        same = [o for o in offers if o.per_hour and o.provider == option["provider"] and o.count == 1
                and option["gpu_id"] in o.gpu_ids and o.kind == option["way"]]  # fmt: skip
        if option["way"] in RENTS and option["count"] == 1 and same and not {*same} & {*singles}:
            yield f"one of a machine that holds more: {option['gpu_id']} at {option['provider']}"


def _differ(one: float, other: float) -> bool:
    return abs(one / other - 1) > 0.01 if other else one != 0.0


def _sums(found: dict[str, Any], text: str) -> Iterator[str]:
    """Hours times price is cost, time times speed is the amount, and a file says the same as the text."""
    need = found["need"]
    items, period = need.get("items"), need.get("period_s")
    for option in found["options"]:
        name, speed, hourly = option["gpu_id"], option["throughput"]["value"], option["per_hour_usd"]
        if items and option["time_s"] and _differ(option["time_s"]["value"] * speed, items):
            yield f"time of {name} is not its amount by its speed"
        cost, each = option["cost_usd"], option["cost_per_item_usd"]
        if items and cost and _differ(cost["value"], each["value"] * items * (need.get("users") or 1)):
            yield f"cost of {name} is not that of its items"
        once = items and not period and cost and option["way"] in ("on-demand", "spot", "community")
        if once and not need.get("egress_gb"):
            hours = option["time_s"]["value"] / 3600 / need["assumptions"].get("utilisation", 1.0)
            if _differ(
                cost["value"], option["price_usd"]["value"] * max(1.0, hours) * (need.get("users") or 1)
            ):
                yield f"cost of {name} is not its price by its hours"
        paid_all = period and hourly and not (need.get("batched") or option["way"] == "serverless")
        if paid_all and option["way"] in RENTS and _differ(cost["value"], hourly * period / 3600):
            yield f"cost of {name} is not its price for all hours"
        if need.get("concurrent") and not items and each and hourly:
            done = speed * 3600 * need["assumptions"].get("utilisation", 1.0)
            if _differ(each["value"] * done, hourly):
                yield f"cost of an item of {name} is not that of its hour"
    first = found["options"][0]
    hired = re.search(r"\$([\d,.]+) for ([\d,]+) h\b", text)
    if hired and need.get("hire_h") and first["per_hour_usd"]:
        paid = float(hired[1].replace(",", ""))
        if _differ(paid, first["per_hour_usd"] * need["hire_h"]):
            yield f"the sum of a rent is not its price by its hours: {hired[0]}"


def _limits(found: dict[str, Any], text: str) -> Iterator[str]:
    """What is bought or rented keeps the limits that were read, and nothing says otherwise."""
    need, bought = found["need"], ("new", "used", "street")
    for option in found["options"]:
        spec, count = catalog.get(option["gpu_id"]), option["count"]
        like = need.get("title") and not (need.get("least_gb") or need.get("task"))
        if like and option["memory_spare"] is not None:
            yield f"the memory of a stand-in: {option['gpu_id']}"
        there = [o for o in prices.shipped() if o.region == option["region"]]
        asked_in = option["way"] in RENTS and need.get("region")
        if asked_in and not any(prices.is_in(offer, need["region"]) for offer in there):
            yield f"another region: {option['gpu_id']} in {option['region']}"
        if option["way"] not in bought or need.get("acquire") == "rent":
            continue
        if need.get("slots") and (spec.number("slots") or 0.0) * count > need["slots"]:
            yield f"more slots than allowed: {count} x {spec.id}"
        watts = (spec.power_w or 0.0) * count
        if need.get("power_w") and watts > need["power_w"] and not need.get("capped"):
            yield f"more watts than allowed: {count} x {spec.id}"
        whole = not (need.get("budget_per_hour") or need.get("budget_per_month"))
        if need.get("budget_usd") and whole and option["outlay_usd"] > need["budget_usd"] * 1.001:
            yield f"over budget: {count} x {spec.id}"
    supply = need.get("supply_w")
    if supply and any(float(w) > supply for w in re.findall(r"W: a power supply of about (\d+) W", text)):
        yield "a larger supply than the one that is said to feed it"


def answered(asked: Asked) -> list[str]:
    """The faults of the answer that the command line gives."""
    answers, choose = list[Any](), choosing.choose

    def kept(*given: Any, **more: Any) -> Any:
        answers.append(choose(*given, **more))
        return answers[-1]

    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        redirect_stdout(out), redirect_stderr(err),
        patch.object(choosing, "choose", kept), patch.object(printer, "today", lambda: DAY),
    ):  # fmt: skip
        try:
            run(["choose", *asked.arguments])
        except SystemExit as leave:
            code = int(leave.code or 0)
    found = json.loads(printer.json_text(answers[-1].to_data())) if answers and not code else None
    return [*faults(asked, code, out.getvalue(), err.getvalue(), found)]


def main(number: int, seed: int) -> None:
    kinds = Counter[str]()
    for at, asked in enumerate((*questions(number, seed), *of_limits(number, seed))):
        for fault in answered(asked):
            kinds[fault.split(":")[0]] += 1
            print(f"{at} {' '.join(asked.arguments)}\n    {fault}")
    print(dict(kinds))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
