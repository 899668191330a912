"""Prices per hour that a text states, against the offers that were seen last.

A text's range is stale when it lies wholly outside what such GPUs cost now: below the cheapest tenth
or above the most expensive tenth of the offers, of the named providers where enough of theirs are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date

from gpuwise.facts import prices
from gpuwise.model.claim import Claim, Finding, Number, Verdict
from gpuwise.model.offer import Offer

FIELD = "rent per hour"
TENTH = 0.1
FEWEST = 3
"""Offers of providers that the text does not name, below which they say too little."""
HALF = 2.0
"""How far outside the known range a price must lie where the text gives one figure, not a range."""


def judge(claims: Sequence[Claim], today: date) -> Iterator[Finding]:
    """One finding per hourly price; the words around it name the provider and the kind of offer."""
    if not claims:
        return
    quotes = [
        o for o in prices.offers(today=today) if o.per_hour and o.currency == "USD" and prices.is_quote(o)
    ]
    offers = prices.newest(quotes)
    known: dict[tuple[str, ...], list[Offer]] = {}
    for claim in claims:
        if claim.gpu_ids not in known:
            ids = set(claim.gpu_ids)
            known[claim.gpu_ids] = [
                o for o in offers if ids & set(o.gpu_ids) and not prices.is_stale(o, today)
            ]
        yield _finding(claim, " | ".join(claim.context)[:1000], known[claim.gpu_ids])


def _finding(claim: Claim, text: str, mine: Sequence[Offer]) -> Finding:
    words = set(re.findall(r"[a-z0-9]+", text.casefold()))
    named = [o for o in mine if o.provider.casefold().split(".")[0].split()[0] in words]
    used = named or mine
    if len(used) < FEWEST and not named:
        used = []
    amounts = sorted(offer.per_gpu for offer in used)
    verdict, best, explanation = _verdict(claim, amounts, text)
    newest = max((offer.seen_on for offer in used), default="")
    return Finding(
        lines=(claim.line,),
        gpu=claim.gpu,
        field=FIELD,
        stated=claim.stated,
        verdict=verdict,
        kind="stale price" if verdict == "contradicts" else None,
        best=best,
        source=f"{len(used)} offers, newest of {newest}" if used else "",
        explanation=explanation,
    )


def _verdict(claim: Claim, amounts: Sequence[float], text: str) -> tuple[Verdict, str, str]:
    if not amounts:
        return "cannot tell", "", "too few offers known of the last half year"
    low, high = amounts[int(TENTH * len(amounts))], amounts[-1 - int(TENTH * len(amounts))]
    best = f"{low:.2f} to {high:.2f} USD"
    stated = [v.value / claim.count for v in claim.values if isinstance(v, Number)]
    slack = 1.0 if len(stated) > 1 else HALF
    # Prices for spare capacity, and those that a text dates itself, are not those of offers on demand.
    sure = (
        claim.sure
        and not claim.several
        and claim.count == 1
        and not re.search(r"spot|preempt|interrupt|reserved|20[12]\d", text, re.IGNORECASE)
    )
    if min(stated) > high * slack:
        return ("contradicts" if sure else "cannot tell"), best, "GPUs of this kind cost less now"
    if max(stated) < low / slack:
        return ("contradicts" if sure else "cannot tell"), best, "GPUs of this kind cost more now"
    return "agrees", best, ""
