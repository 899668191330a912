"""One page of every address is shown to nobody before the first visitor comes.

That loads what all questions need: tables, templates, traces, the rates of each card. A question that nobody
asked before is then answered as fast as the limits ask for (tests/web/test_first_answers.py).
"""

from __future__ import annotations

import gc
from contextlib import suppress

from gpuwise.errors import GpuwiseError
from gpuwise.jobs.facts import Facts
from gpuwise.web.api import ADDRESSES, LIVE
from gpuwise.web.asked import Asked
from gpuwise.web.pages import Place, page


def rehearse(facts: Facts) -> None:
    """Show one page of every address."""
    for address in (*LIVE, *ADDRESSES):
        for name in address.prepared(facts)[:1]:
            path = address.path.replace("{name}", name)
            with suppress(GpuwiseError):  # nothing is known that the page would show
                page(address.view(facts, Asked(path=(name,) if name else ())), Place(path))
    # What is loaded now stays as long as the server: a collection that walks it again and again took a third
    # of a first answer's time.
    gc.collect()
    gc.freeze()
