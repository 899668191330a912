"""Throughput that a text or a result file states, against physics and logic; rents against dated offers.

What a figure counts (images, sequences, tokens), of which network, in which precision and on how many GPUs
is read from the words around it. A name with several variants is judged by the fastest of them, and what a
text leaves open is read as the case in which most is possible: inference, and the lowest precision. Of a
result everything that is computed from the raw step times is computed again. A price per hour is stale when
it lies wholly outside what such GPUs cost now: below the cheapest tenth or above the most expensive tenth of
the offers, of the named providers where enough of theirs are known.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from math import inf

from gpuwise import checks
from gpuwise.facts import catalog, prices
from gpuwise.facts.published import record
from gpuwise.judge.audit.agree import ROUNDED, family, numbers_of
from gpuwise.judge.audit.cells import POINTED, in_thousands
from gpuwise.judge.audit.evidence import alike
from gpuwise.judge.audit.read import Block, Table
from gpuwise.judge.audit.support import GRID
from gpuwise.judge.audit.words import COUNTED, CUES, NAMES, scan, speaks_of_tokens, unit_of
from gpuwise.model.gpu import Offer, Source
from gpuwise.model.judgement import NOT_IN_CATALOG, Claim, Finding, Kind, Number, Verdict
from gpuwise.model.result import Issue, Measurement, Record, Result
from gpuwise.model.units import percent, si, significant
from gpuwise.stats.interval import value_of

FIELD, RENT, FITS = "throughput", "rent per hour", "fits in memory"
KINDS: dict[str, Kind] = {
    "above-peak": "physics", "precision": "wrong precision", "scaling": "scaling over 100 %",
    "linear": "exactly linear", "halves": "exact halves", "repeated": "repeated value",
    "order": "order against FLOPs",
}  # fmt: skip
SOURCE = "physics and logic checks"
# Tokens of a sequence: of the networks that name no length, and where a text does not say: the least that
# is usual.
LONG, SHORT = 384, 128
# Relative difference between a stated throughput and that of its own step times: both come from the same
# numbers.
DIFFERENT = 0.01
# How far rounding of sizes and rates may carry a possible number of tokens a second: names round the
# parameters, and the embeddings, up to 7 % of them, are looked up and not read.
SPARE = 1.1
# The part of its weights' bytes that a file has at least: some are in fewer bits than its format says.
SAME_FORMAT = 0.6
OF_DESK = {"consumer", "workstation"}
# So many times the bound several requests together are faster, where a text does not say how many there are.
FEW_TIMES = 3.0
# The same where the text itself works a bound out, of a size that it rounds.
BOUND_SPARE = 1.4
# Bytes/s at which a desktop's processor reads what of a model its GPU has no room for; bytes of a weight in 4
# bits, the fewest that are usual where a text names none.
PROCESSOR, FOUR_BITS = 100e9, 0.5
# The same of the fastest server, which a text that speaks of offloading may have.
SERVER = 1.2e12
# How far names round a model's size; the part of a GPU's memory that its weights take beside a context.
ROUNDED_SIZE, FILLED = 1.1, 0.72
# Tables of serving often state the speed of a machine with so many GPUs under the name of one.
IN_MACHINE = 8
TENTH = 0.1
# Offers of providers that the text does not name, below which they say too little.
FEWEST = 3
# How far outside the known range a price must lie where the text gives one figure, not a range.
HALF, FAR = 2.0, 8.0
# Above so many times an hour's price it is a month's, which has 730 hours.
OF_A_MONTH = 300.0
# What lists hold where they have none.
NO_PRICE = frozenset({0.0, 999.0, 9999.0, 99999.0, 999999.0})
# The fields of the units that texts multiply by a count, and how far a rounded sum may be off.
FIELD_OF = {
    "bytes": "memory_bytes", "bytes/s": "memory_bytes_per_s", "w": "power_w", "op/s": "peak:", "usd": "price",
}  # fmt: skip
SUM_CLOSE, KEPT_CLOSE = 0.006, 0.02
# The hours of each time for which a text works out a price per hour.
HOURS_OF = {"hours": [1], "day": [24], "week": [168], "month": [672, 744], "year": [8736, 8784]}
# Characters around a price that may name its provider.
NEAR = 1000
# Figures that one finding lists.
LISTED = 12
# How near a file is to the size of its model's weights.
FILE = 0.3
# Larger ones are mixtures of experts, but for those that are known by name (Qwen3.5 122B reads 10 of 122 B).
LARGEST_DENSE = 80e9
_BYTES = [(re.compile(name, re.IGNORECASE), each) for name, each in NAMES["weights"].items()]
_POINTED = re.compile(POINTED)


def judge(claims: Sequence[Claim]) -> Iterator[Finding]:
    """One finding per fault and GPU, with all its lines; one for each figure without a fault."""
    stepped, named, claims = _of_batches(claims), "", list(claims)
    for n, own in enumerate(claim.context[0] if claim.context else "" for claim in claims):
        if CUES["parameters"].search(own):
            # What "same model" further on goes back to; how many requests ran each says for itself.
            named = CUES["one_request"].sub(" ", own)
        elif CUES["same_model"].search(own):
            claims[n] = replace(claims[n], context=(own, named, *claims[n].context[1:]))
    rows = [(c, None if c.block // GRID in stepped else _row(c)) for c in _with_points_for_thousands(claims)]
    known = [(claim, row) for claim, row in rows if row is not None]
    cautions = checks.judge([row for _, row in known])
    faults: dict[tuple[str, str], list[tuple[Claim, Issue]]] = defaultdict(list)
    for (claim, row), mine in zip(known, cautions, strict=True):
        for caution in mine:
            faults[caution.code, row.gpu].append((claim, caution))
        if not mine:
            # A precision that is not in our table, such as fp4, as the text writes it.
            precision = row.precision or (row.stated.precision if row.stated else "") or "?"
            speed = f"{row.question.workload} {precision} {row.value:,.10g} {row.item}s/s"
            yield _finding(claim, f"possible as {speed}: no check speaks against it")
    for claim, _ in (pair for pair in rows if pair[1] is None):
        yield (
            _of_tokens(claim)
            if claim.field == FITS or _counts_tokens(claim)
            else _finding(claim, "of no network that is known")
        )
    for (code, gpu), pairs in faults.items():
        stated = [claim.stated for claim, _ in pairs]
        more = f"; ... ({len(stated)} figures)" if len(stated) > LISTED else ""
        yield Finding(
            lines=tuple(sorted({claim.line for claim, _ in pairs})), gpu=gpu, field=FIELD,
            stated="; ".join(stated[:LISTED]) + more, verdict="contradicts",
            kind=KINDS.get(code, "caution"), source=SOURCE,
            explanation=pairs[0][1].detail.removeprefix("INVALID: ").removeprefix("SUSPECT: "),
        )  # fmt: skip


def _finding(claim: Claim, explanation: str, *, wrong: bool = False) -> Finding:
    return Finding(
        lines=(claim.line,), gpu=claim.gpu, field=claim.field, stated=claim.stated, source=SOURCE,
        verdict="contradicts" if wrong else "cannot tell", kind="physics" if wrong else None,
        explanation=explanation,
    )  # fmt: skip


def _with_points_for_thousands(claims: Sequence[Claim]) -> list[Claim]:
    """The claims; those of a table that prints 980 and 1.720 with the latter as 1720."""
    tables: dict[int, list[str]] = defaultdict(list)
    for claim in claims:
        tables[claim.block // GRID].append(claim.stated)
    parted = {
        table for table, texts in tables.items()
        if any(re.fullmatch(r"\d{1,3}", text) for text in texts)
        and all(_POINTED.fullmatch(text) for text in texts if "." in text)
    }  # fmt: skip
    return [
        replace(c, values=in_thousands(c.values)) if "." in c.stated and c.block // GRID in parted else c
        for c in claims
    ]


def _of_batches(claims: Sequence[Claim]) -> set[int]:
    """The tables of which nearly every figure is a multiple of eight: batch sizes, not speeds."""
    tables: dict[int, list[float]] = defaultdict(list)
    for claim in claims:
        tables[claim.block // GRID].extend(numbers_of(claim.values))
    many = {n: values for n, values in tables.items() if n and len(values) >= LISTED}
    return {n for n, values in many.items() if sum(v % 8 == 0 for v in values) > 0.9 * len(values)}


def _counts_tokens(claim: Claim) -> bool:
    """Whether the closest words that name an item name tokens, or those above a language model's requests."""
    near = (claim.stated, *claim.context[:1], *claim.context[-2:])
    above = claim.context[-1] if claim.context else ""
    return any(CUES["tokens"].search(text) for text in near) or speaks_of_tokens(above)


def _row(claim: Claim) -> Record | None:
    """A figure as a published result; None for tokens and for a network that we do not know."""
    network = next((n for text in claim.context if (n := checks.network_in(text))), None)
    value = claim.values[0]
    if network is None or _counts_tokens(claim) or not isinstance(value, Number) or not claim.sure:
        return None
    if any(CUES["other_item"].search(text) for text in (claim.stated, claim.context[0])):
        return None
    said = next((m[1].lower() for text in claim.context if (m := CUES["precision"].search(text))), "")
    training = any(CUES["trains"].search(text) for text in claim.context)
    infers = any(CUES["infers"].search(text) for text in claim.context)
    # Inference runs in INT8 too where a text does not say.
    unstated = "?" if training and not infers else "int8"
    workload = network.id
    if network.item == "sequence" and not network.id.rpartition("-s")[2].isdecimal():
        named = next(
            (int(m[1]) for text in claim.context if (m := CUES["sequence_length"].search(text))), SHORT
        )
        workload = network.id if named == LONG else f"{network.id}-s{named}"
    batch = next((int(m[1]) for text in claim.context if (m := CUES["batch"].search(text))), None)
    # The variant with the highest 16-bit peak: what it cannot do none of them can.
    fastest = max(claim.gpu_ids, key=lambda i: _peak(i, ("fp16", "bf16"), sparse=True), default=None)
    return record(
        gpu=claim.gpu, gpu_id=None if claim.several else fastest, workload=workload,
        mode="train" if training and not infers else "infer", batch=batch, item=network.item,
        precision={"amp": "fp16", "mixed": "fp16", "": unstated}.get(said, said), stated=said,
        speed=value.value, gpus=claim.count,
        compiled=True if any(CUES["compiled"].search(text) for text in claim.context) else None,
        # Only rows of one table are held beside each other: others may come from other machines and scripts.
        source=Source(id=f"{claim.block // GRID}", title="text", kind="article", read_on=""),
    )  # fmt: skip


def _peak(gpu_id: str, formats: Sequence[str], *, sparse: bool) -> float:
    """The highest stated peak of these formats, or of any where none is named; 0 where there is none."""
    peaks = (
        p
        for p in catalog.get(gpu_id).peaks
        if (not formats or p.format in formats) and (sparse or not p.sparse)
    )
    return max((p.flop_per_s for p in peaks), default=0.0)


def _of_tokens(claim: Claim) -> Finding:
    """Tokens a second of a language model: one request alone reads every weight for each token, which the
    bandwidth bounds; of any number of requests each token multiplies every weight, which the peak bounds."""
    text = " | ".join(claim.context)
    first = next((sizes for piece in claim.context if (sizes := CUES["parameters"].findall(piece))), ())
    value = claim.values[0]
    if not claim.gpu_ids:
        return _finding(claim, NOT_IN_CATALOG)
    training = CUES["trains"].search(text) is not None and not CUES["infers"].search(text)
    together, parts = (CUES[cue].search(text) for cue in ("many_requests", "part_of_weights"))
    # "RTX 3090 / 3090 Ti": what the faster one cannot do neither can.
    several = claim.several and not {*claim.gpu_ids} <= {claim.gpu_ids[0], *family(claim.gpu_ids[0])}
    files = [float(m["a"] or m["b"] or m["c"] or m["d"]) * 1e9 for m in CUES["weights_file"].finditer(text)]
    # The closest words that name a format, such as those of the column.
    formats = [[each for pattern, each in _BYTES if pattern.search(piece)] for piece in claim.context]
    if claim.field == FITS and first and claim.sure and not (several or training or together):
        return _of_fit(claim, [float(size) * 1e9 for size in first], next(filter(None, formats), [0.0]))
    if not (first or files) or not isinstance(value, Number) or several or not claim.sure or parts:
        return _finding(claim, "nothing says which model, or how many requests run together")
    weights = min(map(float, first), default=0.0) * 1e9
    if weights > LARGEST_DENSE and not CUES["dense_model"].search(text):
        return _finding(claim, "a model of this size may be a mixture that reads few of its weights")
    # In training all tokens of a sequence share one read of the weights.
    single = CUES["one_request"].search(text) is not None
    # Who gives the size of the weights that a card for one's desk reads has one request in mind.
    desk = files and all(catalog.get(i).text("segment") in OF_DESK for i in claim.gpu_ids)
    alone = not (training or together) and (single or desk)
    stored = min(next(filter(None, formats), [FOUR_BITS]))
    # "Q4 is a file of 4.9 GB" says nothing of the column "F16".
    others = {each for piece in formats for each in piece} - {stored}
    files = [f for f in files if alike(f, weights * stored, FILE) or not any(
        alike(f, weights * each, FILE) for each in others)]  # fmt: skip
    rates, rooms = (
        [catalog.get(i).number(name) or 0.0 for i in claim.gpu_ids]
        for name in ("memory_bytes_per_s", "memory_bytes")
    )
    if alone and min(rates) and min(rooms):
        shared = claim.count == 1 and claim.context and CUES["shared"].search(claim.context[0])
        count = IN_MACHINE if shared else claim.count
        bandwidth, room = max(rates) * count, max(rooms) * count
        # A file that is far too small for the format of the column is another one's.
        files = [size for size in files if not formats[0] or size > SAME_FORMAT * weights * stored]
        size = min(files, default=weights * stored)
        rest = SERVER if CUES["offloads"].search(text) else PROCESSOR
        least = min(size, room) / bandwidth + max(0.0, size - room) / rest
        most = significant(1 / least, 3)
        why = f"reads {size / 1e9:.4g} GB of weights for each token: at most {most} a second"
        if size > room:
            why += f", of which {room / 1e9:.3g} GB fit"
        spare = BOUND_SPARE if CUES["at_most"].search(text) else SPARE
        limit = inf if single else FEW_TIMES
        return _finding(claim, why, wrong=spare < value.value * least < limit)
    if not weights:
        return _finding(claim, "nothing says which model, or how many requests run together")
    # "An H100 serves": one does.
    own = re.sub(r"\ban? ", "one ", claim.context[0])
    of_one = claim.count > 1 or CUES["one_gpu"].search(text) or CUES["one_gpu"].search(own)
    count = claim.count if of_one else IN_MACHINE
    # Two operations a weight forwards, and twice as many backwards; adapters spare half of the latter.
    needed = value.value * weights * ((4 if CUES["adapters"].search(text) else 6) if training else 2)
    hidden = any(catalog.get(i).hides_peak for i in claim.gpu_ids)
    # Training for which the text names 16-bit formats alone is bounded by their peak.
    said = {m[1].lower() for m in CUES["precision"].finditer(text)} if training else set()
    half = ("fp16", "bf16") if said and said <= {"fp16", "bf16", "amp", "mixed"} else ()
    best = 0.0 if hidden else count * max(_peak(i, half, sparse=not half) for i in claim.gpu_ids)
    named = "16 bits" if half else "any format"
    why = f"needs {si(needed, 'FLOP/s', 3)} of at most {si(best, 'FLOP/s', 3)} in {named}, on "
    why += f"{'' if of_one else 'up to '}{count} GPU{'s' * (count > 1)}"
    return _finding(claim, why, wrong=needed > SPARE * best > 0)


def _of_fit(claim: Claim, sizes: list[float], formats: list[float]) -> Finding:
    """Whether the weights of a model fit the memory of a GPU, as a text says."""
    text = " | ".join(claim.context)
    rooms = [claim.count * (catalog.get(i).number("memory_bytes") or 0.0) for i in claim.gpu_ids]
    # "Fits in 24 GB" may be said of other cards.
    named = f"{claim.context[0]} {claim.stated}"
    said = [2**30 * float(n) for n in re.findall(r"(?<!\d)(\d{1,4}) ?GB", named)]
    other = not all(any(alike(one, room, ROUNDED) for room in rooms) for one in said)
    known = formats != [0.0] and not (other or CUES["shared"].search(text))
    least, most = min(sizes) * min(formats), max(sizes) * max(formats)
    parts = CUES["part_of_weights"].search(text)
    small = known and not parts and most * ROUNDED_SIZE < FILLED * min(rooms)
    large = known and 0 < max(rooms) * ROUNDED_SIZE < least
    wrong, right = (large, small) if "yes" in claim.values else (small, large)
    why = f"its weights take {least / 1e9:.4g} GB of {max(rooms) / 1e9:.4g}"
    finding = _finding(claim, why, wrong=wrong)
    return replace(finding, verdict="agrees") if right else finding


def judge_products(blocks: Sequence[Block], found: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings, with those of products that a text works out, "8 x 192 GB = 1,536 GB", "at $2 an hour
    $1,440 a month": arithmetic, also where no GPU is named."""
    others, wrong = list(found), []
    for block in blocks:
        cells = [cell for row in block.rows for cell in row] if isinstance(block, Table) else [block]
        for line, text in ((cell.line, cell.text) for cell in cells):
            for each, product, right, why in _products(text):
                mine = [f for f in others if line in f.lines and f.stated == product]
                beside = [f for f in others if line in f.lines and f.stated == each]
                gpu, field = next(((f.gpu, f.field) for f in (*mine, *beside)), ("", ""))
                if right is False and not any(f.verdict == "contradicts" for f in (*mine, *beside)):
                    others = [f for f in others if f not in mine]
                    wrong.append(Finding(
                        lines=(line,), gpu=gpu, field=field or FIELD_OF[scan(each)[0].dimension],
                        stated=product, verdict="contradicts", kind="wrong sum", source=SOURCE,
                        explanation=why,
                    ))  # fmt: skip
                elif right and beside and all(f.verdict == "agrees" for f in beside):
                    others = [
                        replace(f, verdict="agrees", explanation="")
                        if f in mine and f.verdict == "cannot tell" else f for f in others
                    ]  # fmt: skip
    return (*others, *wrong)


def _products(text: str) -> Iterator[tuple[str, str, bool | None, str]]:
    """(each, product, whether it is right, what it is) of the products that a line works out."""
    for match in CUES["product"].finditer(text) if "=" in text else ():
        why = f"{match['count']} times {match['each']} is another sum"
        yield match["each"], match["product"], _is_product(match), why
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", text) if "$" in text else ():
        rents, times = list(CUES["price_an_hour"].finditer(sentence)), list(CUES["time"].finditer(sentence))
        sums = [p for p in CUES["paid"].finditer(sentence) if p.end() not in {r.end() for r in rents}]
        if len(rents) != 1 or len(sums) != 1 or not times or CUES["not_all_hours"].search(sentence):
            continue
        # "720 hours" and "30-day" say more than "a month"; the number of GPUs may stand anywhere.
        time = min(times, key=lambda t: not (t["count"] and t["unit"].lower() in ("hours", "day")))
        rent = float((rents[0]["a"] or rents[0]["b"]).rstrip(".,"))
        hours = [float((time["count"] or "1").replace(",", "")) * h for h in HOURS_OF[time["unit"].lower()]]
        gpus = {1, *COUNTED.values(), *map(int, re.findall(r"(?<![\d.,$])\d{1,3}(?![\d.,%])", sentence))}
        paid = float(sums[0]["sum"].replace(",", ""))
        low, high = hours[0] * (1 - KEPT_CLOSE), hours[-1] * (1 + KEPT_CLOSE)
        right = any(low * n <= paid / rent <= high * n for n in gpus)
        yield rents[0][0], f"${sums[0]['sum']}", right, f"${rent:g} for {time[0]} is ${rent * hours[0]:,.0f}"


def _is_product(match: re.Match[str]) -> bool | None:
    """True if the product is right to the digits printed; None if the two amounts have different units."""
    each, product = scan(match["each"]), scan(match["product"])
    if len(each) != 1 or len(product) != 1 or each[0].dimension not in FIELD_OF or (
        each[0].dimension != product[0].dimension
    ):  # fmt: skip
        return None
    count, unit = int(match["count"]), unit_of(product[0])
    written = re.sub(r"[^\d.,]", "", match["product"]).rstrip(".,")
    decimals = re.search(r"[.,](\d{1,2})$", written)
    step = unit * 10.0 ** -(len(decimals[1]) if decimals else 0)
    # A point may part thousands; of a thousand GB some make a TB, some of 1,024; rates may count both ways.
    factors = (1, 1.024, *((2,) if each[0].dimension in ("bytes/s", "op/s") else ()))
    values = [t.numbers[0].value * k for t in each for k in (1, 1000 if "." in t.text else 1)]
    sums = [product[0].numbers[0].value * k for k in (1, 1000 if "." in written else 1)]
    return any(
        abs(count * v * k - s) <= max(step, SUM_CLOSE * s) for v in values for s in sums for k in factors
    )


def judge_rents(claims: Sequence[Claim], today: date) -> Iterator[Finding]:
    """One finding per hourly price; the words around it name the provider and the kind of offer."""
    if not claims:
        return
    quotes = (
        o for o in prices.offers(today=today) if o.per_hour and o.currency == "USD" and prices.is_quote(o)
    )
    every = list(quotes)
    offers = [o for o in prices.newest(every) if not prices.is_stale(o, today)]
    called = {o.provider: o.provider.casefold().split(".")[0].split()[0] for o in every}
    read = [(claim, " | ".join(claim.context)[:NEAR]) for claim in claims]
    said = [{*re.findall(r"[a-z0-9]+", text.casefold())}.intersection(called.values()) for _, text in read]
    # What GPUs cost by this text in the same row, and at the providers that it names.
    ones: dict[object, set[float]] = defaultdict(set)
    for claim, providers in zip(claims, said, strict=True):
        for place in (claim.line, *(providers if claim.count == 1 else ())):
            for known in (ones[i, place] for i in claim.gpu_ids):
                known.update(numbers_of(claim.values))
    for (claim, text), providers in zip(read, said, strict=True):
        mine, ever = ([o for o in of if {*claim.gpu_ids} & {*o.gpu_ids}] for of in (offers, every))
        named = [o for o in mine if called[o.provider] in providers]
        used = named or (mine if len(mine) >= FEWEST else [])
        # Spot prices, and prices that the text dates itself, may differ from offers on demand.
        past = {*re.findall(r"\b20[12]\d\b", text)} - {str(today.year)}
        other = bool(past or CUES["not_on_demand"].search(text))
        verdict, best, explanation = _rent(claim, text, used, other)
        amount = max(numbers_of(claim.values))
        in_row = {one for i in claim.gpu_ids for one in ones[i, claim.line]}
        there = {one for i in claim.gpu_ids for provider in providers for one in ones[i, provider]}
        summed = any(alike(amount, n * one, SUM_CLOSE) for one in in_row for n in (2, 4, 8, 16))
        # "Eight H200 of Nebius are $43.20 an hour", beside "Nebius | H200 | 5.40"; "$2.30 | $18.40".
        wrong = claim.count > 1 and claim.sure and there and not (summed or other) and not any(
            alike(amount, n * one, KEPT_CLOSE) for one in there for n in (1, claim.count)
        )  # fmt: skip
        if summed or wrong:
            verdict, explanation = "contradicts" if wrong else "agrees", "of several GPUs together"
            best = " or ".join(f"${claim.count * one:,.2f}" for one in sorted(there)) if wrong else best
        newest = max((offer.seen_on for offer in used), default="")
        # A rent that no provider ever asked is a wrong value, not an old price.
        once = [o.per_gpu for o in ever] or [0.0]
        asked = [amount / claim.count for amount in numbers_of(claim.values)]
        stale = min(once) / HALF <= max(asked) and min(asked) <= HALF * max(once)
        kind: Kind = "wrong sum" if wrong else "stale price" if stale else "wrong value"
        yield Finding(
            lines=(claim.line,), gpu=claim.gpu, field=RENT, stated=claim.stated, verdict=verdict,
            kind=kind if verdict == "contradicts" else None, best=best, explanation=explanation,
            source=f"{len(used)} offers, newest of {newest}" if used else "",
        )  # fmt: skip


def _rent(claim: Claim, text: str, offers: Sequence[Offer], other: bool) -> tuple[Verdict, str, str]:
    """(verdict, range of the offers, why) of one price; `other`: not of today, or not on demand."""
    if not offers:
        return "cannot tell", "", "too few offers known of the last half year"
    amounts = sorted(offer.per_gpu for offer in offers)
    low, high = amounts[int(TENTH * len(amounts))], amounts[-1 - int(TENTH * len(amounts))]
    best = f"{low:.2f} to {high:.2f} USD"
    stated = [amount / claim.count for amount in numbers_of(claim.values)]
    slack = 1.0 if len(stated) > 1 else HALF
    if low / slack <= max(stated) and min(stated) <= high * slack:
        return "agrees", best, ""
    dear = min(stated) > high * slack
    if min(stated) > OF_A_MONTH * high:
        return "cannot tell", best, "of a month"
    if all(v in NO_PRICE for v in stated):
        return "cannot tell", best, "a placeholder where no price is known"
    # None is FAR above all of them. The most that somebody would pay is a limit, not a price.
    other = other or CUES["instance"].search(text) is not None
    excused = (other and min(stated) < FAR * high) or (dear and claim.at_most)
    sure = claim.sure and not claim.several and claim.count == 1 and not excused
    why = f"GPUs of this kind cost {'less' if dear else 'more'} now"
    return ("contradicts" if sure else "cannot tell"), best, why


def judge_result(result: Result) -> tuple[Finding, ...]:
    """Findings of one result: one per fault, and one per measurement without any."""
    measured = checks.judge_measured(result.measurements, result.environment)
    return tuple(f for number, m in enumerate(measured, 1) for f in _of(m, number, result.environment.device))


def _of(m: Measurement, number: int, device: str) -> Iterator[Finding]:
    if m.throughput is None:
        return
    # Other cautions make a number doubtful, not wrong; a CPU's limits are no ceilings.
    ceilings = m.config.device != "cpu"
    noted = [(KINDS.get(c.code), c.detail) for c in m.cautions if ceilings or c.code != "above-peak"]
    faults = [*_recounted(m), *noted]
    stated = f"{significant(m.throughput.value, 4)} {m.item}s/s"
    serious = [fault for fault in faults if fault[0] is not None]
    mild = [why for kind, why in faults if kind is None]
    for kind, why in serious or [(None, "; ".join(mild))]:
        yield Finding(
            lines=(number,), gpu=device, field=m.config.key("batch"), stated=stated, kind=kind,
            explanation=why, verdict="contradicts" if serious else "cannot tell" if mild else "agrees",
        )  # fmt: skip


def _recounted(m: Measurement) -> Iterator[tuple[Kind | None, str]]:
    """Items that were counted against items that the steps processed; energy against power."""
    steps = [window.step_s for window in m.windows if window.step_s]
    assert m.throughput is not None
    if steps and m.items_per_step and min(map(min, steps)) > 0:
        again = value_of(steps, m.items_per_step, m.throughput.method)
        difference = m.throughput.value / again - 1
        if abs(difference) > DIFFERENT:
            yield "counted samples", f"its step times give {significant(again, 4)}: {percent(difference)} off"
    took = sum(window.ended_s - window.started_s for window in m.windows)
    inside = sum(sum(window.step_s) * window.each for window in m.windows)
    if took > 0 and inside > took * (1 + DIFFERENT):
        yield "counted samples", f"steps of {inside:.1f} s in windows of {took:.1f} s"
