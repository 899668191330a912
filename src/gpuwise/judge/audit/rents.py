"""Prices per hour that a text states, against the offers that were seen last.

A text's range is stale when it lies wholly outside what such GPUs cost now: below the cheapest tenth
or above the most expensive tenth of the offers, of the named providers where enough of theirs are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date

from gpuwise.facts import prices
from gpuwise.judge.audit.words import CUES
from gpuwise.model.claim import Claim, Finding, Number, Verdict
from gpuwise.model.offer import Offer

FIELD = "rent per hour"
TENTH = 0.1
# Offers of providers that the text does not name, below which they say too little.
FEWEST = 3
# How far outside the known range a price must lie where the text gives one figure, not a range.
HALF = 2.0
# Characters around a price that may name its provider.
NEAR = 1000


def judge(claims: Sequence[Claim], today: date) -> Iterator[Finding]:
    """One finding per hourly price; the words around it name the provider and the kind of offer."""
    if not claims:
        return
    quotes = (
        o for o in prices.offers(today=today) if o.per_hour and o.currency == "USD" and prices.is_quote(o)
    )
    offers = [o for o in prices.newest(list(quotes)) if not prices.is_stale(o, today)]
    known = {ids: [o for o in offers if set(ids) & set(o.gpu_ids)] for ids in {c.gpu_ids for c in claims}}
    for claim in claims:
        text = " | ".join(claim.context)[:NEAR]
        mine = known[claim.gpu_ids]
        words = set(re.findall(r"[a-z0-9]+", text.casefold()))
        named = [o for o in mine if o.provider.casefold().split(".")[0].split()[0] in words]
        used = named or (mine if len(mine) >= FEWEST else [])
        verdict, best, explanation = _verdict(claim, text, used)
        newest = max((offer.seen_on for offer in used), default="")
        yield Finding(
            lines=(claim.line,), gpu=claim.gpu, field=FIELD, stated=claim.stated, verdict=verdict,
            kind="stale price" if verdict == "contradicts" else None, best=best, explanation=explanation,
            source=f"{len(used)} offers, newest of {newest}" if used else "",
        )  # fmt: skip


def _verdict(claim: Claim, text: str, offers: Sequence[Offer]) -> tuple[Verdict, str, str]:
    """(verdict, range of the offers, why) of one price."""
    if not offers:
        return "cannot tell", "", "too few offers known of the last half year"
    amounts = sorted(offer.per_gpu for offer in offers)
    low, high = amounts[int(TENTH * len(amounts))], amounts[-1 - int(TENTH * len(amounts))]
    best = f"{low:.2f} to {high:.2f} USD"
    stated = [v.value / claim.count for v in claim.values if isinstance(v, Number)]
    slack = 1.0 if len(stated) > 1 else HALF
    # Prices for spare capacity, and those that a text dates itself, are not those of offers on demand.
    sure = claim.sure and not claim.several and claim.count == 1 and not CUES["not_on_demand"].search(text)
    if low / slack <= max(stated) and min(stated) <= high * slack:
        return "agrees", best, ""
    side = "less" if min(stated) > high * slack else "more"
    return ("contradicts" if sure else "cannot tell"), best, f"GPUs of this kind cost {side} now"
