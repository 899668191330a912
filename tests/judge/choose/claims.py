"""The statements of an answer, each recomputed from its own document and from the prices that are known.

`python -m tests.judge.choose.claims FILE ...` asks the questions of files (`.toml` with `ask`, `.json` with
`question`, or one a line) and prints the faults.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from math import inf
from pathlib import Path
from typing import Any
from unittest.mock import patch

from gpuwise.cli import print as printer
from gpuwise.cli.main import run
from gpuwise.facts import catalog, prices
from gpuwise.jobs import choosing
from gpuwise.judge.choose.answer import BEHIND
from gpuwise.judge.choose.candidates import PAID, STATED
from gpuwise.model.gpu import RENTS

Found = dict[str, Any]
# Figures of sentences are rounded to three digits, dollars below one to two.
ROUNDED = 0.012
WEEKS = 365.25 / 7
NUMBER = r"([\d,]*\.?\d+)"


def faults(found: Found, text: str) -> Iterator[str]:
    """What an answer says that its own rows, its need or the known prices contradict."""
    said = " ".join((found["answer"], *found["reasons"], found["runner_up"], *found["changes"]))
    for check in (
        _electricity,
        _served,
        _ratios,
        _cheapest,
        _meeting,
        _paid,
        _memory,
        _limits,
        _known,
        _asked,
    ):
        yield from check(found, said, text)


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _is(one: float, other: float, within: float = ROUNDED) -> bool:
    return abs(one - other) <= within * max(abs(one), abs(other)) + 0.006


def _name(gpu: str) -> str:
    return catalog.get(gpu).name.removeprefix("NVIDIA ").removeprefix("GeForce ")


def _counted(option: Found) -> str:
    return f"one {_name(option['gpu_id'])}" if option["count"] == 1 else (
        f"{option['count']} x {_name(option['gpu_id'])}"
    )  # fmt: skip


def _cost(found: Found, option: Found) -> float | None:
    """Of an hour where what is paid is that of hours, else of an item."""
    need = found["need"]
    hired = need.get("hire_h") and need.get("acquire") == "rent" and not need.get("budget_usd")
    if not need.get("items") and (need.get("concurrent") or hired):
        return option["per_hour_usd"]
    return option["cost_per_item_usd"] and option["cost_per_item_usd"]["value"]


def _month_h(found: Found) -> float:
    need = found["need"]
    return 730.5 if need.get("period_s") else need["assumptions"].get("hours_per_week", 40.0) * WEEKS / 12


def _electricity(found: Found, said: str, text: str) -> Iterator[str]:
    """Watts of cards and host, times cooling, hours and the price of a kWh."""
    a, need = found["need"]["assumptions"], found["need"]
    kwh, cooling = a.get("electricity_usd_per_kwh", 0.2), a.get("cooling", 1.3)
    of = (
        rf"\${NUMBER} of electricity a month \(\${NUMBER} a year\).*?of about {NUMBER} W for GPUs, {NUMBER} W"
    )
    for month, year, cards, host in re.findall(of, said):
        paid = (_value(cards) + _value(host)) / 1000 * cooling * _month_h(found) * kwh
        if not need.get("period_s") and not _is(_value(month), paid * (need.get("users") or 1), 0.03):
            yield f"electricity: ${month} a month, and by its watts ${paid:.2f}"
        if not _is(12 * _value(month), _value(year), 0.02):
            yield f"electricity: ${month} a month and ${year} a year"
    if "the price of electricity" in need.get("ignored", ()) and re.search(
        rf"\${NUMBER}[^;,.]* of electricity", text
    ):
        yield "electricity: its price is said to be left out, and counts"


def _served(found: Found, said: str, text: str) -> Iterator[str]:
    """People at once times the time of a token is the rate, and each waits no longer than is allowed."""
    need = found["need"]
    people, most = need.get("concurrent") or 0, need.get("latency_s")
    if not (people and need.get("task") == "infer" and need.get("latency_kind", "TPOT") == "TPOT"):
        return
    for option in found["options"]:
        each = people / option["throughput"]["value"]
        if most and option["way"] != "have" and each > most * 1.02:
            yield f"served: {_counted(option)} takes {each * 1e3:.1f} ms a token for each of {people}"
        if option["latency_s"] and option["latency_s"] < each * 0.95:
            yield f"served: {_counted(option)} each token after {option['latency_s']}, by its rate {each}"
    if most and any(o["latency_s"] and o["latency_s"] > most * 1.001 for o in found["options"][:1]):
        yield "served: the first is slower than allowed"


def _ratios(found: Found, said: str, text: str) -> Iterator[str]:
    """The runner-up's ratios are those of its row; what ties is neither dearer nor cheaper."""
    first, runner = found["options"][0], found["runner_up"]
    named = [o for o in found["options"][1:] if runner.startswith(_counted(o)[:1].lower() + _counted(o)[1:])]
    for words, value in (
        ("times as fast", lambda o: o["throughput"]["value"] / first["throughput"]["value"]),
        ("times the cost", lambda o: (_cost(found, o) or inf) / (_cost(found, first) or inf)),
    ):
        ratio = re.search(rf"{NUMBER} {words}", runner)
        if ratio and named and not any(_is(_value(ratio[1]), value(o), 0.02) for o in named):
            yield f"ratio: the runner-up's {ratio[0]} is of no row"
    sure = re.search(r"Renting costs (?:more|less)|nothing .* for less", said)
    if sure and "a tie" in runner and runner.split(",")[0].lower() in said[sure.start() :].lower():
        yield f"tie: {sure[0]}, and the runner-up ties"


def _cheapest(found: Found, said: str, text: str) -> Iterator[str]:
    """What is said to cost least, or no more, does by the rows."""
    first, options = found["options"][0], found["options"]
    mine, costs = _cost(found, first), [(o, _cost(found, o)) for o in options[1:]]
    if "nothing that keeps the limits does the work for less" in said and mine:
        yield from (f"cheapest: {_counted(o)} does it for less" for o, c in costs if c and c < mine * 0.98)
    if why := re.search(
        r"It is first though (.*?), .*? costs no more for the work: that (.*?)\.(?= |$)", said
    ):
        other = next((o for o, _ in costs if _counted(o) == why[1]), None)
        cost = other and _cost(found, other)
        if cost and mine and "within 5 %" in why[2] and not 0.94 <= cost / mine <= 1.06:
            yield f"first though: {why[1]} costs {cost / mine:.2f} times as much, not within 5 %"
        if other and (more := re.search(rf"takes \${NUMBER} more at once", why[2])):
            if not _is(_value(more[1]), other["outlay_usd"] - first["outlay_usd"]):
                yield f"first though: {why[0]}"
            fine = [
                o
                for o, c in costs
                if c
                and mine
                and c <= mine
                and o["outlay_usd"] <= first["outlay_usd"]
                and o["throughput"]["value"] >= first["throughput"]["value"]
                and o["way"] in ("used", "street", "new")
                and not any(each.startswith(BEHIND) for each in o["why"])
            ]
            if fine:
                yield f"first though: {_counted(fine[0])} takes less at once, too"
    told = re.search(rf"(?:is|are) faster: {NUMBER} times ", said)
    if told and _value(told[1]) < 1:
        yield f"faster: {told[0]}"


def _meeting(found: Found, said: str, text: str) -> Iterator[str]:
    """From how many hours a week on buying costs less than the rent of the same."""
    need, a = found["need"], found["need"]["assumptions"]
    years, lost = a.get("years", 3.0), 1 - (1 - a.get("depreciation", 0.3)) ** a.get("years", 3.0)
    for name, week, hours in re.findall(
        rf"[Bb]uying(?: ((?:one|\d+ x) [^$.;]*?))? costs less from {NUMBER} h a week on \({NUMBER} h", said
    ):
        if not _is(_value(week) * WEEKS * years, _value(hours), 0.02):
            yield f"meeting: {week} h a week are not {hours} h in {years} years"
        rents = [o for o in found["options"] if o["way"] in RENTS and o["per_hour_usd"]]
        owns = [o for o in found["options"] if o["outlay_usd"] and (not name or _counted(o) == name)]
        if not (rents and owns) or need.get("items"):
            continue
        rent, own = rents[0], owns[0]
        service = bool(need.get("concurrent"))
        same = 1.0 if service else own["throughput"]["value"] / rent["throughput"]["value"]
        watts = (own["energy_j_per_item"] or 0.0) * own["throughput"]["value"]
        energy = watts / 1000 * a.get("electricity_usd_per_kwh", 0.2)
        saved = rent["per_hour_usd"] / (need.get("users") or 1) * same - energy
        if saved > 0 and not _is(
            own["outlay_usd"] / (need.get("users") or 1) * lost / saved, _value(hours), 0.05
        ):
            yield f"meeting: {hours} h, and by the rows {own['outlay_usd'] * lost / saved:.0f} h"


def _paid(found: Found, said: str, text: str) -> Iterator[str]:
    """Sums of hours and months are the price of an hour times these."""
    first, need = found["options"][0], found["need"]
    hourly = first["per_hour_usd"]
    if not hourly:
        return
    opening = found["answer"]
    for month in re.findall(
        rf"\${NUMBER} a month(?: \([^)]*\))? (?:around the clock|of [\d.,]+ h a week)", opening
    ):
        if (
            not need.get("period_s")
            and not _is(_value(month), hourly * _month_h(found))
            and "electricity" not in opening
        ):
            yield f"paid: ${month} a month, and by its hour ${hourly * _month_h(found):.2f}"
    for rate in re.findall(rf"\${NUMBER} for a million", opening):
        done = first["throughput"]["value"] * need["assumptions"].get("utilisation", 1.0)
        if need.get("concurrent") and not _is(_value(rate), hourly / done / 3600 * 1e6):
            yield f"paid: ${rate} for a million, and by its hour ${hourly / done / 3600 * 1e6:.2f}"


def _memory(found: Found, said: str, text: str) -> Iterator[str]:
    """What the work is said to take is no more than a row that holds it has."""
    need = found["need"]
    if not need.get("task"):
        return
    for each in re.findall(r"takes ((?:[\d.]+ GiB in \w+(?:, )?)+) with", text):
        sizes = {form: float(size) for size, form in re.findall(r"([\d.]+) GiB in (\w+)", each)}
        for option in found["options"]:
            takes = sizes.get(option["precision"] or need["precision"], 0.0)
            has = (catalog.get(option["gpu_id"]).memory_bytes or inf) / 2**30
            if option["count"] == 1 and takes > has:
                yield f"memory: it takes {takes} GiB, and {_counted(option)} of {has:.0f} GiB has a place"


def _limits(found: Found, said: str, text: str) -> Iterator[str]:
    """No more cards than were named or are there, and the sum of a rent within its budget."""
    need, first = found["need"], found["options"][0]
    for gpu, there in Counter(need.get("have", ())).items():
        most = max(
            (o["count"] for o in found["options"] if o["gpu_id"] == gpu and o["way"] == "have"), default=0
        )
        if most > there:
            yield f"limits: {most} x {gpu} of {there} that are there"
    low, high = need.get("gpus", (1, 1))
    for option in found["options"]:
        named = (option["gpu_id"], option["count"]) in {tuple(each) for each in need.get("sets", ())}
        if not named and option["way"] != "have" and not low <= option["count"] <= high:
            yield f"limits: {_counted(option)} of {low} to {high} GPUs"
    whole = need.get("budget_usd") and not (need.get("budget_per_hour") or need.get("budget_per_month"))
    paid = first["cost_usd"] and first["way"] in RENTS and need.get("acquire") != "own"
    if whole and paid and first["cost_usd"]["value"] > need["budget_usd"] * 1.001:
        yield "limits: the rent is over the budget"
    if need.get("deadline_s") and first["time_s"] and first["time_s"]["value"] > need["deadline_s"] * 1.001:
        yield "limits: the first is too late"


def _known(found: Found, said: str, text: str) -> Iterator[str]:
    """A price is called unknown only where nobody ever asked one."""
    need, today = found["need"], prices.day(found["made_on"])
    bought = [o for o in prices.shipped() if not o.per_hour and o.count == 1 and o.seen_on
              and len(o.gpu_ids) == 1 and prices.day(o.seen_on) <= today]  # fmt: skip
    ever = {
        o.gpu_ids[0] for o in bought if catalog.get(o.gpu_ids[0]).text("form") in ("pcie", "soc") or o.whole
    }
    ever -= {gpu for gpu, _ in need.get("sizes", ())}  # With another memory
    for option in found["options"]:
        if option["way"] == "unpriced" and option["last_usd"] is None and option["gpu_id"] in ever:
            yield f"known: a price of {option['gpu_id']} is known, of some day"
    unknown = re.findall(r"([^;.]*) price (?:un|not )known|fits ([^;]*), of which no price", text)
    for gpu in ever:
        if any(re.search(rf"(?<![\w-]){re.escape(_name(gpu))}(?! \w)", " ".join(each)) for each in unknown):
            yield f"known: a price of {gpu} is called unknown"
    if middle := re.search(
        rf"others ask \${NUMBER} to \${NUMBER}(?:/h)? since [\d-]+, the middle of (\d+) \${NUMBER}", said
    ):
        low, high, number, of = map(_value, middle.groups())
        if number == 2 and not _is(of, (low + high) / 2):
            yield f"known: the middle of {low:g} and {high:g} is called {of:g}"
    rejected = {each["gpu_id"]: each["reason"] for each in found["rejected"]}
    for option in found["options"]:
        if option["price_source"] in (PAID, STATED) or need.get("sets"):
            continue
        if "no price" in rejected.get(option["gpu_id"], ""):
            yield f"known: {option['gpu_id']} has a price and none"


def _asked(found: Found, said: str, text: str) -> Iterator[str]:
    """Who compares, or keeps, is answered of what was named, not of another GPU."""
    need, options = found["need"], found["options"]
    named = {gpu for gpu, _ in need.get("sets", ())}
    if rented := re.search(
        r"(?:^|\. )(?:Rent|Buy): .*? bought .*?, (one|\d+ x) (.*?) rented", found["answer"]
    ):
        others = {_name(gpu) for gpu in (*named, *need.get("have", ()))}
        if others and rented[2] not in others:
            anywhere = {gpu for o in prices.shipped() if o.per_hour and o.seen_on for gpu in o.gpu_ids}
            if any(_name(gpu) in others for gpu in anywhere):
                yield f"asked: the rent is of {rented[2]}, and of {', '.join(sorted(others))} one is known"
    if need.get("asks") in ("energy", "speed", "resale") and re.search(r"\. Rent (?:one|\d)", said):
        yield f"asked: a rent is advised to who asks for {need['asks']}"
    if (
        need.get("have")
        and need.get("asks") in ("able", "too much")
        and not re.search(
            r"\b(?:[Yy]es|[Nn]o|[Kk]eep|[Pp]erhaps|not known|[Rr]eplace|[Oo]verkill|worth|enough)\b",
            found["answer"],
        )
    ):
        yield "asked: neither yes nor no"
    if "NVLink" in " ".join(found["reasons"]):
        spec = catalog.get(options[0]["gpu_id"])
        if spec.text("form") == "pcie" and "bridge" not in text:
            yield f"asked: a link of {spec.id} that takes a bridge, which nobody said to be there"


def asked_of(path: Path) -> Iterator[list[str]]:
    """The command lines of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        yield from (shlex.split(each["ask"]) for each in tomllib.loads(text).values())
    elif path.suffix == ".json":
        rows = json.loads(text)
        rows = rows["open"] if isinstance(rows, dict) else rows
        yield from ([each if isinstance(each, str) else each["question"]] for each in rows)
    else:
        yield from ([line] for line in text.splitlines() if line)


def answered(arguments: list[str]) -> tuple[int, str, Found | None]:
    """Exit code, text and document of the answer to a command line."""
    answers, choose = list[Any](), choosing.choose

    def kept(*given: Any, **more: Any) -> Any:
        answers.append(choose(*given, **more))
        return answers[-1]

    out, code = io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(out), patch.object(choosing, "choose", kept):
        try:
            run(["choose", *arguments])
        except SystemExit as leave:
            code = int(leave.code or 0)
    found = json.loads(printer.json_text(answers[-1].to_data())) if answers and not code else None
    return code, out.getvalue(), found


def main(paths: list[str]) -> None:
    kinds, number = Counter[str](), 0
    for path in paths:
        for arguments in asked_of(Path(path)):
            number += 1
            _, text, found = answered(arguments)
            for fault in dict.fromkeys(faults(found, text)) if found else ():
                kinds[fault.split(":")[0]] += 1
                print(f"{' '.join(arguments)[:150]}\n    {fault}")
    print(number, dict(kinds))


if __name__ == "__main__":
    main(sys.argv[1:])
