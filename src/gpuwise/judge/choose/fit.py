"""Which candidates keep every limit of a need, why a GPU has no option, and which limit to relax.

Each limit knows, for every candidate, the value at which that candidate would keep it. The limit to relax is
one that alone bars some candidate; its new value is the least that lets one through. Where no single one
does, the candidate that breaks the fewest says what all of them would have to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import reduce
from math import ceil, floor, inf
from typing import Any, Literal, NamedTuple

import numpy as np

from gpuwise.errors import GpuwiseError, InputError, NoDataError
from gpuwise.facts import catalog, prices
from gpuwise.judge.choose import speeds as known_speeds
from gpuwise.judge.choose.candidates import (
    PAID,
    STATED,
    Array,
    Candidates,
    Mask,
    Row,
    candidates,
    few_of,
    hosts_of,
    hours_a_month,
    is_spread,
    lost_share,
    names_of,
    usable,
)
from gpuwise.judge.choose.need import (
    COMPUTERS,
    MOST_THERE,
    MOST_TOGETHER,
    USUAL,
    Preset,
    has_form,
    item_of,
    need_for,
    presets,
)
from gpuwise.judge.choose.speeds import OLDEST, STAND_IN, Forecast
from gpuwise.model.gpu import MODULES, GpuSpec, Offer
from gpuwise.model.judgement import Need, Recommendation
from gpuwise.model.precision import Precision
from gpuwise.model.result import Basis, Interval, Issue, Record, Result, grouped
from gpuwise.model.units import gibibytes, seconds, significant, usd
from gpuwise.predictor.card import UNMEASURED, is_linked, is_staged
from gpuwise.predictor.forecast import FITS
from gpuwise.workloads import registry

# Numbers on products are rounded.
HALF_GB = 0.5
# Least share of n times one GPU that n GPUs must reach: below it, half of them do nothing.
WORTH = 0.5
# Share of the time that a service may be busy: requests come in waves, and beyond it they queue.
BUSIEST = 0.8
# CUDA 13.0 (release notes of 2025-08) has no compiler and libraries for Maxwell, Pascal and Volta.
UNSUPPORTED = "CUDA 13 no longer supports its architecture: only frameworks built for CUDA 12 run on it"
UNPROVEN = "little but its data sheet speaks for such work: within an order of magnitude, which ranks nothing"
# Least speed, in that of what is there, of a card that somebody would call an upgrade.
UPGRADE = 1.3
# What somebody who replaces a card gets at the least, where nothing within the limits is an upgrade.
SLIGHTLY = 1.05
# Share of its memory that work may take for a card with less of it than what is there to be an upgrade.
ROOMY = 0.75
NO_FASTER, LESS_MEMORY = "not enough faster than what you have", "less memory than what you have"
# FLOP/s in FP64 below which a GPU does no more than a server's processor: 64 cores with two units of eight at
# 2 GHz have 4 TFLOP/s, half of which such code reaches.
LEAST_FP64 = 2e12
NO_PRICE = "no-price"  # The code of a refusal for want of a price alone
NO_FP64 = "computes FP64 no faster than a server's processor"
# Cards on risers in an open frame are offered to at most this many people: a home.
A_FEW = 4
OPEN_FRAME = "needs more slots than a board has: cards on risers in an open frame are not a server"
# Most slots of one card in a server.
SERVER_SLOTS = 2
FANLESS = "made for a server's fans"
# A model is not shared out over smaller cards without a link of their own, unless they are named.
LEAST_SHARD_GB = 12
SPREAD = "no machine of so many is offered to rent, and several share no link to split a model over"
SHARDED = f"cards of less than {LEAST_SHARD_GB} GB without a link are too small to share a model"
# Periods that people have words for, in seconds.
PERIODS = {3600.0: "hour", 86400.0: "day", 604800.0: "week", 2629800.0: "month", 31557600.0: "year"}
# Long spans as people say them, the longest first.
LONG = (("d", 86400.0), ("h", 3600.0))
# Bytes of a weight that learns: itself and its gradient in 16 bits, a copy and two moments in 32.
FULL_BYTES = 16.0
# Years that a search for older prices goes back, one step after the other.
AGES = (1, 2, 3, 5)
# Times a budget beyond which another one is no advice.
FAR = 5.0
# Kinds of purchases as people say them.
SOLD = {"new": "new", "used": "used", "street": "used or new", "launch": "at launch"}
# GPUs of which each is said, with its reason.
SAID = 4
# A supply for cards and the rest of their machine under load, above both: cards draw more than their board
# power for milliseconds. Makers ask for 550 W with a card of 145 W, 750 W with 350 W, 1000 W with 575 W.
SUPPLY, HOST_PEAK_W = 1.15, 250.0
# Of a desktop without its card, under load: what then is left of its supply is less than makers advise.
LEAST_HOST_W = 200.0
SUPPLIES_W = (450, 550, 650, 750, 850, 1000, 1200, 1600, 2000)
# Least share of its board power that a card is limited to: makers' tools end at a third of it or at 70 %.
LEAST_POWER = 0.6
# Work that takes longer than five years is not done by what is bought or rented today.
LONGEST_S = 5 * 31557600.0
# Of a good power supply under load.
SUPPLY_EFFICIENCY = 0.9
# More heat than this takes fans that people hear across a desk.
QUIET_W = 300.0
QUIET = f"quiet: fans of its own and at most {QUIET_W:g} W of heat"
LOUD = "too loud beside a desk"


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit and what each candidate would need of it."""

    code: str  # Short and stable, the field of a need that sets it; empty where none does
    ok: Mask
    needed: Array  # The value at which a candidate keeps it; NaN where not known or no value would do
    upper: bool  # Whether a larger value is the looser one
    reason: Callable[[int], str]  # Of the rejection of the candidate in a place
    relaxed: Callable[[float], Relaxed]


Relaxed = tuple[str, Mapping[str, Any]]
"""A value as a person types it, and the fields of a need that it sets."""


class Way(NamedTuple):
    """A limit with the value at which some GPUs would keep it."""

    limit: str  # Its code; empty where no limit of the need would help, and `value` says what would
    value: str
    gpus: str
    changes: Mapping[str, Any]  # Fields of the need with that value


def limits(need: Need, them: Candidates, speeds: Sequence[Record]) -> tuple[Limit, ...]:
    """Every limit that the need sets, and those that hold always: memory, evidence, worthwhile scaling."""
    rows = _Rows(need, them)
    found = [_fits(them), *_card(need, them, rows.specs)]
    if not need.sets:  # A number that was asked for, or is there, is compared however well it scales
        scales = _scales(them, rows.specs, speeds)
        found.append(replace(scales, ok=scales.ok | rows.have))
    found += [*rows.evidence(), *rows.made_for(), *rows.housing(), *rows.sharing()]
    if rows.have.any():
        # Nobody replaces a card by one that does no more, if it does the work at all.
        found += rows.better(kept(found, len(them)))
    return (*found, *rows.machine(), *_time(need, them), *_money(need, them))


class _Rows:
    """The candidates of a need, with the cards of each."""

    def __init__(self, need: Need, them: Candidates) -> None:
        self.need, self.them = need, them
        self.specs = {row.gpu: catalog.get(row.gpu) for row in them.rows}
        self.have = self.every(lambda row, spec: row.way == "have")
        self.named = bool(need.only or need.sets)
        self.board_w = self.number("power_w") * them.count
        if need.capped:
            most = cap_w(need)
            self.board_w = np.where(
                self.board_w <= most / LEAST_POWER, np.minimum(self.board_w, most), self.board_w
            )

    def every(self, holds: Callable[[Row, GpuSpec], object]) -> Mask:
        return np.array([bool(holds(row, self.specs[row.gpu])) for row in self.them.rows], dtype=bool)

    def number(self, field: str) -> Array:
        return _numbers(self.them, self.specs, field)

    def limit(self, code: str, ok: Mask, why: str, relaxed: Relaxed, needed: Array | None = None) -> Limit:
        """One that no value of a candidate comes nearer to."""
        nearest = np.zeros(len(self.them)) if needed is None else needed
        return Limit(code, ok, nearest, True, lambda p: why, lambda v: relaxed)

    def evidence(self) -> Iterator[Limit]:
        """Of what nothing was measured, or what software no longer supports."""
        need, them, have = self.need, self.them, self.have
        if need.unproven:
            return
        # On kernels without a prediction every card rests on its sheet: none is known worse than others.
        anyway = ("ok", {"unproven": True})
        # A vendor of whose cards nothing was measured is not ranked beside one of whose cards something was.
        shown = {
            self.specs[row.gpu].vendor for row in them.rows if row.speed.basis in ("measured", "published")
        }
        # What is there or was named is an option however little is known of how fast it is: that is said.
        names = few_of(need)
        asked = have | self.every(lambda row, spec: row.gpu in names)
        known = self.every(lambda row, spec: not row.speed.is_rough)
        if need.mode == "compute" and shown:
            known &= self.every(lambda row, spec: spec.vendor in shown)
        yield self.limit("unproven", asked | known, UNPROVEN, anyway)
        # Kernels compiled once run on; frameworks are built anew, and no longer for these.
        new = self.every(lambda row, spec: float(spec.text("compute_capability") or OLDEST) >= OLDEST)
        # A GPU without support is bought only where used cards are asked for.
        meant = ~them.own | ("used" in need.sold)
        yield self.limit("unproven", asked | new | (meant & (need.mode == "compute")), UNSUPPORTED, anyway)

    def made_for(self) -> Iterator[Limit]:
        """Of FP64 work: a card with few FP64 units is no faster than the host's CPU."""
        if self.need.precision == Precision.FP64 and not (self.named or self.have.all()):
            made = self.every(lambda row, spec: made_for_fp64(row.gpu))
            limit = self.limit("fp64", self.have | made, NO_FP64, ("a GPU made for it", {}))
            yield replace(limit, reason=lambda p: slow_in_fp64(self.them.rows[p].gpu))

    def fans(self) -> Mask:
        """What blows its own air, where that matters: at home, in a quiet room, in a machine there."""
        passive = self.need.assumptions.host_usd == 0 or self.need.quiet or self.need.at_home
        return self.every(lambda row, spec: spec.text("segment") != "server") if passive else self.have

    def housing(self) -> Iterator[Limit]:
        """What can be put into a machine that is there, or into one for a few people."""
        need, them, have = self.need, self.them, self.have
        there = need.assumptions.host_usd == 0
        if (there or need.at_home) and need.precision != Precision.FP64 and not (need.fans or self.named):
            yield self.limit("", ~them.own | have | self.fans(), FANLESS, ("a server to put it in", {}))
        if there and need.form is None and not self.named:
            card = self.every(lambda row, spec: spec.text("form") not in COMPUTERS)
            why = "a computer, no card for one that is there"
            yield self.limit("", ~them.own | have | card, why, ("a computer", {}))
        if not self.named:
            hosts = np.array([name for name, *_ in hosts_of(need, them.rows)], dtype=str)
            wide = (self.number("slots") > SERVER_SLOTS) & (hosts == "server")
            wide |= (hosts == "open frame") & (max(need.concurrent, need.also_users) > A_FEW)
            yield self.limit("", ~them.own | have | ~wide, OPEN_FRAME, ("fewer, larger GPUs", {}))

    def sharing(self) -> Iterator[Limit]:
        """Over what a language model is split: in a machine, over cards that hold more than a sliver."""
        if not self.need.task:
            return
        if not self.named:
            # Each card holds its own context, work space and copies beside its part of the weights.
            small = self.number("memory_bytes") / 2**30 < LEAST_SHARD_GB - HALF_GB
            joined = self.every(
                lambda row, spec: is_linked(spec, row.count) and spec.number("link_bytes_per_s")
            )
            ok = self.have | (self.them.count == 1) | joined | ~small
            yield self.limit("", ok, SHARDED, ("fewer, larger GPUs", {}))
        whole = self.every(lambda row, spec: not is_spread(row))
        yield self.limit("", whole, SPREAD, ("a machine that holds them", {}))

    def better(self, able: Mask) -> Iterator[Limit]:
        """What does more than is there, among what is `able` to do the work."""
        need, them, have = self.need, self.them, self.have
        best = float(them.speed[able & have].max(initial=0.0))
        least = best * (need.faster or (UPGRADE if need.upgrade else 1.0))
        # What somebody thinks of getting is compared all the same.
        thought_of = self.every(lambda row, spec: not need.upgrade and (row.gpu, row.count) in need.sets)
        rented = (them.outlay <= 0) & (not need.upgrade)  # Of what takes its place more is asked
        ok = have & (not need.upgrade) | ~have & (rented | (them.speed > least) | thought_of)
        yield Limit("", ok, them.speed, False, lambda p: NO_FASTER, lambda v: ("a faster GPU", {}))
        if (need.upgrade or need.task) and not self.named:
            # Only a language model is shared out over cards, over more than are there of no smaller ones.
            single, added = self.number("memory_bytes"), them.count > len(need.have)
            size = single * (them.count if need.task else 1.0)
            # An upgrade may have less memory than what is there if the named work does not fill it.
            taken = [
                max(need.least_gb * 1e9, m.value if (m := row.speed.memory_bytes) else 0.0)
                for row in them.rows
            ]
            roomy = (np.array(taken) <= ROOMY * single) & bool(min(taken)) & (not need.by_default)
            ok = (size >= float(size[have].max())) | (not need.upgrade) | roomy
            ok &= ~added | (single >= float(single[have].min())) | (not need.task)
            yield self.limit("", (them.outlay <= 0) | ok, LESS_MEMORY, ("a GPU with as much memory", {}))

    def machine(self) -> Iterator[Limit]:
        """Watts, slots and noise of one's own machine; a rented one has what it needs."""
        need, them = self.need, self.them
        host_w = np.array([watts for _, _, watts in hosts_of(need, them.rows)], dtype=float)
        people = need.users if need.one_machine else 1
        slots, board_w = self.number("slots") * them.count * people, self.board_w * people
        for code, field, used, unit in (
            ("power", "power_w", board_w, "W"), ("slots", "slots", slots, ""),
            ("outlet", "outlet_w", (board_w + host_w * people) / SUPPLY_EFFICIENCY, "W"),
        ):  # fmt: skip
            if (most := getattr(need, field)) is not None:
                # What is there runs on the supply that is there.
                fed = self.have & (code == "power") & (need.supply_w is not None)
                owned, say = np.where(them.own & ~fed, used, 0.0), f"{{:.0f}}{unit or ' slots'}".format

                def more(value: float, field: str = field, unit: str = unit) -> Relaxed:
                    return f"{ceil(value)}{unit}", {field: float(ceil(value))}

                yield _bound(code, owned, most, say, f"takes {{}}, {say(most)} are allowed", more)
        if need.quiet:
            fans = self.fans()
            ok, needed = ~them.own | (fans & (self.board_w <= QUIET_W)), np.where(fans, self.board_w, np.inf)
            quiet = self.limit("quiet", ok, LOUD, ("any", {"quiet": False}), needed)
            heat = f"{{:.0f}} W of heat, more than {QUIET_W:g}".format
            yield replace(quiet, reason=lambda p: f"{LOUD}: {heat(self.board_w[p]) if fans[p] else FANLESS}")


def supply_w(cards_w: float) -> int | None:
    """The least supply on sale for cards of so many watts and their machine; None where one is not enough."""
    return next((w for w in SUPPLIES_W if w >= SUPPLY * (cards_w + HOST_PEAK_W)), None)


def cap_w(need: Need) -> float:
    """Watts that all cards of one's own machine may draw: their limit, or what the supply that is there feeds
    without tripping."""
    stated = need.power_w or inf if need.capped else inf
    return min(stated, fed_w(need.supply_w or inf))


def fed_w(supply: float) -> float:
    """Watts of cards that a supply feeds beside the rest of their machine, with their short peaks."""
    return supply / SUPPLY - HOST_PEAK_W


def left_w(supply: float) -> float:
    """Watts that a supply leaves for cards, which are limited to it where their peaks take more; what a slot
    gives, at least."""
    return float(max(USUAL.slot_w, supply - LEAST_HOST_W))


def limited(need: Need, speed: Record) -> Record:
    """The speed of cards that may draw less than their board power. The power of a chip goes with the cube of
    its clock, so speed with the cube root of its watts; what waits for memory loses less."""
    watts, cap = (catalog.get(speed.gpu_id).power_w or 0.0) * speed.gpus, cap_w(need)
    if need.acquire != "own" or speed.throughput is None or not cap < watts <= cap / LEAST_POWER:
        return speed
    share = cap / watts
    seconds = speed.seconds / share ** (1 / 3) if speed.seconds else None
    return replace(
        speed, throughput=speed.throughput.times(share ** (1 / 3)), seconds=seconds,
        watts=speed.watts and speed.watts.times(share),
    )  # fmt: skip


def made_for_fp64(gpu: str) -> bool:
    """Whether a GPU computes FP64 faster than the processor beside it."""
    peak = catalog.get(gpu).peak("fp64")
    return peak is not None and peak.flop_per_s >= LEAST_FP64


def slow_in_fp64(gpu: str) -> str:
    """How fast a GPU computes in FP64 that was not made for it, beside its rate in FP32."""
    from gpuwise.judge.choose.phrases import short_name  # which speaks of limits

    spec = catalog.get(gpu)
    double, single = spec.peak("fp64"), spec.peak("fp32")
    if double is None:
        return f"no rate of {short_name(gpu)} in FP64 is known"
    rate = f"{significant(double.flop_per_s / 1e12)} TFLOP/s"
    share = f", 1/{single.flop_per_s / double.flop_per_s:.0f} of its rate in FP32" if single else ""
    return f"{short_name(gpu)} computes FP64 at {rate}{share}, no faster than a server's processor"


def kept(found: Sequence[Limit], size: int) -> Mask:
    """Candidates that keep all limits."""
    return reduce(np.logical_and, (limit.ok for limit in found), np.ones(size, dtype=bool))


def holds(need: Need, speed: Record) -> bool:
    """Whether the memory of a GPU holds the work, of which a workload that stands in may know less."""
    size = (catalog.get(speed.gpu_id).memory_bytes or inf) / 1e9
    return size >= need.least_gb - HALF_GB and (speed.fits_probability or 1.0) >= FITS


def _fits(them: Candidates) -> Limit:
    chance = [row.speed.fits_probability for row in them.rows]
    ok = np.array([found is None or found >= FITS for found in chance], dtype=bool)
    sizes = (row.speed.memory_bytes for row in them.rows)
    wanted = np.array([size.value if size else np.nan for size in sizes], dtype=float)

    def reason(place: int) -> str:
        needed = float(wanted[place])
        return "does not fit" + (f": the work needs {gibibytes(needed)}" if needed == needed else "")

    return Limit("", ok, wanted, True, reason, lambda v: ("a smaller batch or a shorter precision", {}))


def _scales(them: Candidates, specs: Mapping[str, GpuSpec], speeds: Sequence[Record]) -> Limit:
    one = {s.gpu_id: s.throughput.value for s in speeds if s.gpus == 1 and s.throughput is not None}
    single = np.array([one.get(row.gpu, np.nan) for row in them.rows], dtype=float)
    share = np.where(them.count > 1, them.speed / (them.count * single), 1.0)

    def reason(place: int) -> str:
        row = them.rows[place]
        link = link_of(specs[row.gpu], row.count)
        return f"more of them do not pay: {share[place]:.0%} of n times one ({link})"

    return Limit("", ~(share < WORTH), share, False, reason, lambda v: ("fewer GPUs", {}))


def link_of(spec: GpuSpec, count: int) -> str:
    """How `count` of these GPUs talk to each other, as sources state it."""
    rate, name = spec.number("link_bytes_per_s"), spec.text("link")
    if name and name != "none" and is_linked(spec, count):
        name = f"{name} by a bridge, if there is one" if spec.text("form") == "pcie" else name
        return f"{name}, {rate / 1e9:g} GB/s both ways" if rate else name
    generation = spec.number("pcie_generation")
    bus = f"PCIe {generation:g}" if generation else "PCIe"
    return f"{bus} through host memory" if is_staged(spec) else bus


def _card(need: Need, them: Candidates, specs: Mapping[str, GpuSpec]) -> Iterator[Limit]:
    """Memory and form of one GPU, wherever it stands."""
    # Memory as the product is sold: GiB, or decimal GB where that is its number.
    sold, stated = (_numbers(them, specs, field) for field in ("memory_sold_gb", "memory_bytes"))
    size, say = np.asarray(np.where(np.isnan(sold), stated / 2**30, sold)), "has {:g} GB of memory".format
    if need.least_gb:
        what = f"does not fit: the work needs {need.least_gb:.3g} GB, it {{}}"
        smaller: Relaxed = ("a smaller model", {})
        yield _bound("", size, need.least_gb - HALF_GB, say, what, lambda v: smaller, upper=False)
    # Whether one that is named is enough, "or should I look at 24 GB", is not asked of that memory.
    if need.memory_gb is not None and not (need.sets and need.asks == "able"):
        low, high = need.memory_gb

        def memory(least: float, most: float | None) -> Relaxed:
            ends = (f"{size:g}GB" if size else "" for size in (least, most))
            return ("..".join(ends), {"memory_gb": (least, most)})

        # Computers whose processor and GPU share their memory are sold with less of it, too. That size does
        # not limit a card that is named beside one.
        whole = np.array([specs[row.gpu].memory_varies for row in them.rows], dtype=bool)
        limited = np.where(whole.any() & ~whole, low, size) if need.named or need.sets else size
        yield _bound(
            "memory", limited, low - HALF_GB, say, "{}", lambda v: memory(floor(v), high), upper=False
        )
        if high is not None:
            sold_with = np.where(whole, np.minimum(size, high), limited)
            yield _bound("memory", sold_with, high + HALF_GB, say, "{}", lambda v: memory(low, ceil(v)))
    if need.total_gb:
        all_of_it, all_have = size * them.count, "have {:g} GB of memory in all".format
        yield _bound("memory of all", all_of_it, need.total_gb - HALF_GB, all_have, "{}",
                     lambda v: (f"{floor(v)}GB", {"total_gb": float(floor(v))}), upper=False)  # fmt: skip
    if need.form is not None:
        named = few_of(need)
        good = {gpu: has_form(spec, need.form) or gpu in named for gpu, spec in specs.items()}
        ok, unknown = np.array([good[row.gpu] for row in them.rows], dtype=bool), np.full(len(them), np.nan)
        reason = f"is not {need.form}"
        yield Limit("form", ok, unknown, True, lambda p: reason, lambda v: ("any", {"form": None}))


def _time(need: Need, them: Candidates) -> Iterator[Limit]:
    if need.items is not None:
        items, item, period = need.items, item_of(need), need.period_s
        busy = min(BUSIEST, need.assumptions.utilisation)
        busy = need.assumptions.utilisation if need.batched else busy  # What waits needs no spare time
        within, unit, what = LONGEST_S, "", "takes {}, longer than any GPU is kept"
        if period is not None:
            within, unit = period * busy, f"/{PERIODS.get(period, f'{period:g}s')}"
            what = f"takes {{}} for the work of {seconds(period)}"
            what += f", of which it may be busy {busy:.0%}" * (busy < 1)

        def less(value: float) -> Relaxed:
            amount = float(f"{0.95 * items * within / value:.2g}")
            return f"{amount:,.0f} {item}s{unit}", {"items": amount}

        spent = them.time if period is not None else them.time / need.assumptions.utilisation
        yield _bound("work", spent, within, seconds, what, less)
    if need.deadline_s is not None:
        paid = them.time / need.assumptions.utilisation

        def later(value: float) -> Relaxed:
            unit, size = next(((u, s) for u, s in LONG if value > 2 * s), ("min", 60.0))
            return f"{ceil(value / size)}{unit}", {"deadline_s": ceil(value / size) * size}

        limit = _bound("deadline", paid, need.deadline_s, seconds, "", later)
        yield replace(limit, reason=lambda place: _missed(need, them, place, float(paid[place])))
    if need.latency_s is not None:
        step = np.array([row.speed.seconds or np.nan for row in them.rows], dtype=float)
        what, of = "answers too late: {} a step", f"{need.latency_kind}<=".removeprefix("step<=")
        yield _bound(
            "latency", step, need.latency_s, seconds, what,
            lambda v: (f"{of}{ceil(v * 1e3)}ms", {"latency_s": ceil(v * 1e3) / 1e3}),
        )  # fmt: skip


def _missed(need: Need, them: Candidates, place: int, takes: float) -> str:
    """That a deadline is missed, and how many GPUs would keep it, were they as fast together as alone."""
    row = them.rows[place]
    enough = ceil(row.count * takes / (need.deadline_s or takes))
    missed = f"misses the deadline: takes {seconds(takes)}"
    if enough <= MOST_TOGETHER:
        return missed
    how = "or more, of whose network nothing is known here" if need.mode == "train" else "side by side"
    return f"{missed}; in time it takes {enough:,} GPUs {how}"


def too_late(speeds: Sequence[Record]) -> GpuwiseError:
    """The error where none of what holds a served model gives a first token in time; of the quickest."""
    quickest = min(speeds, key=lambda speed: speed.first_token_s.value if speed.first_token_s else inf)
    after = ceil((quickest.first_token_s.value if quickest.first_token_s else 0.0) * 1e3)
    name = f"{quickest.gpus} x {quickest.gpu_id}"
    way = Way("latency", f"TTFT<={after}ms", name, {"first_token_s": after / 1e3})
    return unmet("nothing meets all limits together", [(way,)], f"{name}: {quickest.refusal}")


def too_large(need: Need, refusal: str) -> GpuwiseError:
    """The error for work that fits on no machine, however large; `refusal` is of the largest."""
    if need.task != "full":
        hint = "more or larger GPUs, or a shorter format of weights"
        return NoDataError(refusal, hint=hint, code="too-large")
    from gpuwise.facts import llms

    model = llms.find(need.workloads[0][0])
    size = f"{model.parameters / 1e9:,.0f} G weights takes {FULL_BYTES * model.parameters / 1e12:.2g} TB"
    problem = (
        f"to train all {size} for weights, gradients and optimiser, more than {need.gpus[1]} such GPUs have "
        f"({refusal})"
    )
    hint = "adapters instead (--mode qlora), a smaller model, or a cluster of machines"
    return NoDataError(problem, hint=hint, code="too-large")


def _money(need: Need, them: Candidates) -> Iterator[Limit]:
    if need.budget_usd is None:
        return
    unit = "/h" if need.budget_per_hour else "/month" if need.budget_per_month else ""
    hours = hours_a_month(need) if need.budget_per_month else 1.0
    whole = np.where(them.own, them.outlay, them.per_item * (need.items or np.nan))
    # What a laptop was last sold at, though that is too old to rank by.
    old = (row.offer if row.way == "unpriced" and not row.stale else None for row in them.rows)
    last = np.array([offer.amount if offer else np.nan for offer in old])
    whole = np.where(np.isnan(whole), last * them.count + them.host, whole)
    spent = need.users * (them.per_hour * hours if unit else whole)
    if need.budget_per_month and need.items is not None and need.period_s is None:
        a = need.assumptions  # Of rent the work alone, of a card what it loses in a month
        lost = them.outlay * lost_share(a) / (12 * a.years)
        spent = need.users * np.where(them.own, lost, them.per_item * need.items)
    if not unit and need.items is None:
        spent = np.where(them.own, spent, 0.0)  # Rent of which the budget decides for how long

    def reason(place: int) -> str:
        host = float(them.host[place]) * need.users
        with_host = f", {usd(host)} of it for the host machine" if host and not unit else ""
        if spent[place] != spent[place]:
            return "no price is known"
        asked = f"over budget: {usd(float(spent[place]))}{unit}{with_host}"
        offer = them.rows[place].offer
        as_sold = f"{offer.instance}, " if offer and offer.whole and offer.instance else ""
        seen = f" ({as_sold}price of {offer.seen_on[:7]})" if offer and offer.seen_on else ""
        return f"{asked}{seen}; {usd(need.budget_usd or 0.0)}{unit} are allowed"

    def relaxed(value: float) -> Relaxed:
        if value != value:
            return "any", {"budget_usd": None}
        # A budget is a round number; what is sold by the hour takes cents.
        least = ceil(value * 100) / 100 if value < 100 else float(ceil(value))
        return f"${least:.2f}{unit}" if value < 100 else f"${least:.0f}{unit}", {"budget_usd": least}

    yield Limit("budget", spent <= need.budget_usd, spent, True, reason, relaxed)


def _bound(
    code: str, value: Array, limit: float, form: Callable[[float], str], what: str,
    relaxed: Callable[[float], Relaxed], *, upper: bool = True,
) -> Limit:  # fmt: skip
    """A limit on a number; what no source states does not keep it."""

    def reason(place: int) -> str:
        needed = float(value[place])
        return what.format(form(needed)) if needed == needed else f"no source states its {code}"

    def loose(value: float) -> Relaxed:
        # What no source states keeps no number, only no limit.
        return relaxed(value) if value == value else ("any", dict.fromkeys(relaxed(1.0)[1]))

    return Limit(code, value <= limit if upper else value >= limit, value, upper, reason, loose)


def _numbers(them: Candidates, specs: Mapping[str, GpuSpec], field: str) -> Array:
    values = {gpu: spec.number(field) for gpu, spec in specs.items()}
    return np.array([values[row.gpu] for row in them.rows], dtype=float)  # None becomes NaN


def rejected(
    need: Need, them: Candidates, found: Sequence[Limit], speeds: Sequence[Record],
    offers: Sequence[Offer] = (),
) -> dict[str, Issue]:  # fmt: skip
    """Every GPU without an option and why: the code of the limit that its nearest candidate breaks, or none
    where it has no speed or no price."""
    fine = {row.gpu for row, ok in zip(them.rows, kept(found, len(them)), strict=True) if ok}
    broken, places = _broken(them, found), grouped((row.gpu, place) for place, row in enumerate(them.rows))
    refusals: dict[str, dict[int, str]] = {}
    for speed in speeds:
        refusals.setdefault(speed.gpu_id, {})[speed.gpus] = speed.refusal
    left = dict[str, Issue]()
    for gpu, said in refusals.items():
        if gpu in fine:
            continue
        if gpu not in places:
            # As many as were asked for, and of what is there all of it.
            asked = dict(need.sets).get(gpu, need.have.count(gpu) or max(said))
            refusal = said.get(asked, "") or (said[max(said)] if all(said.values()) else "")
            none = all(said.values()) or ((gpu in dict(need.sets) or gpu in need.have) and refusal)
            if gpu in need.have and refusal and (more := said.get(asked + 1)):
                refusal += f"; nor with one more: {more.removeprefix('does not fit: ')}"
            able = min((n for n, refused in said.items() if not refused), default=0)
            left[gpu] = Issue.info("", refusal) if none else no_price(need, gpu, offers, able)
            continue
        nearest = min(places[gpu], key=lambda p: (broken[p], them.ranked[p], them.outlay[p]))
        faults = [limit for limit in found if not limit.ok[nearest]]
        each = [limit.reason(nearest) for limit in faults]
        each = [one for one in each if one.startswith("does not fit")] or each  # Which says it all
        why = "; ".join(each)
        number, there = them.rows[nearest].count, need.have.count(gpu)
        if 0 < there < number:  # Of so many, beside those that are there
            fewer = next((f"; fewer: {said[n]}" for n in range(there, number) if said.get(n)), "")
            why = f"{number} of it: {why}{fewer}"
        left[gpu] = Issue.info(faults[0].code, why)
    return left


def too_small(need: Need, speeds: Sequence[Record]) -> list[str]:
    """That the work does not fit in the memory, or the form, that was asked for, of the largest such GPU."""
    if need.memory_gb is None and need.form is None:
        return []
    low, high = need.memory_gb or (0.0, None)
    sizes = {speed.gpu_id: (catalog.get(speed.gpu_id).memory_bytes or 0.0) / 2**30 for speed in speeds}
    of_it = [s for s in speeds if low - HALF_GB <= sizes[s.gpu_id] <= (high or inf) + HALF_GB]
    of_it = [s for s in of_it if not need.form or has_form(catalog.get(s.gpu_id), need.form)]
    largest = max(of_it, key=lambda speed: speed.gpus * sizes[speed.gpu_id], default=None)
    fits = any(speed.throughput for speed in of_it)
    return [largest.refusal] if largest and "does not fit" in largest.refusal and not fits else []


def why_not(named: Sequence[str], left: Mapping[str, str]) -> list[str]:
    """Why GPUs that were asked for are left out, each of them, those with one reason together; of many
    reasons the last ones without what else is known."""
    said = [*grouped((left[gpu], gpu) for gpu in named if gpu in left).items()]
    short = grouped((why.partition(";")[0], gpu) for why, gpus in said[SAID:] for gpu in gpus)
    more = "; ".join(f"{', '.join(gpus)}: {why}" for why, gpus in short.items())
    return [*(f"{', '.join(gpus)}: {why}" for why, gpus in said[:SAID]), *([more] if more else [])]


def is_unknown(why: str) -> bool:
    """Whether a reason says only that something is not known, and so not that a GPU cannot do the work."""
    said = (UNMEASURED, STAND_IN, UNPROVEN, "no source states", "no speed", "not predicted")
    return any(each in why for each in said)


def no_price(need: Need, gpu: str, offers: Sequence[Offer] = (), together: int = 0) -> Issue:
    """Which price is missing of a GPU that fits the limits, in the number of GPUs that does the work."""
    return Issue.info(NO_PRICE, _no_price(need, gpu, offers, together))


def _no_price(need: Need, gpu: str, offers: Sequence[Offer], together: int) -> str:
    form = catalog.get(gpu).text("form")
    if need.acquire == "own" and form in MODULES:
        systems = [o for o in offers if o.gpu_ids == (gpu,) and not o.per_hour and o.count > 1]
        if last := max(systems, key=lambda o: o.seen_on, default=None):
            seen = f"{usd(last.amount)} in {last.seen_on[:7]}"
            return f"sold only in systems, and the last price of one, {seen} for {last.count:g}, is too old"
        return "sold only on boards of 4 or 8 in a server, and no price of such a system is known"
    if need.acquire == "own" and form in COMPUTERS:
        return "sold only inside a computer, and no fresh price of one is known"
    what = {"own": "to buy", "rent": "to rent", "both": ""}[need.acquire]
    what = " ".join((what, *(need.sold[:1] if need.acquire != "rent" else ()))).strip()
    age = need.assumptions.max_age_days
    together = max(together, dict(need.sets).get(gpu, need.gpus[0]))
    parts = (
        "no price", what, f"of {together} together" if together > 1 else "",
        f"of {', '.join(need.providers)}" if need.providers else "",
        f"in {need.region}" if need.region and need.acquire != "own" else "",
        f"seen within {age} days" if age is not None else "", "is known",
    )  # fmt: skip
    return " ".join(part for part in parts if part)


def last_price(need: Need, gpu: str, offers: Sequence[Offer]) -> str:
    """What was last asked for a card, however long ago; empty where nobody was, or rent is what counts."""
    asked = (o for o in offers if o.gpu_ids == (gpu,) and o.source.title not in (PAID, STATED))
    bought = [o for o in asked if not o.per_hour and o.count == 1 and o.seen_on]
    if need.acquire == "rent" or not bought:
        return ""
    last = max(bought, key=lambda offer: offer.seen_on)
    kind = SOLD.get(last.kind, last.kind)
    with_it = f" as a {last.instance}" * (last.whole and bool(last.instance))
    return f"; the last price of one was {usd(last.amount)}{with_it} ({kind}) in {last.seen_on[:7]}"


def contradiction(them: Candidates, found: Sequence[Limit], left: Sequence[str] = ()) -> GpuwiseError:
    """The error for limits that nothing meets: which one to relax, and by how much; NoDataError where what is
    asked for is not for sale here at all. `left` says of GPUs that were named why each is left out."""
    for limit in found:
        if limit.code and not limit.ok.any() and np.isnan(limit.needed).all():
            if left and limit.code != "budget":
                return NoDataError("; ".join(left), hint="a larger GPU, or a smaller model", code="too-large")
            return NoDataError(
                f"no GPU with a speed and a price here keeps the limit on {limit.code}",
                hint="add prices of your own; predictions give speeds without prices", code="no-price",
            )  # fmt: skip
    ways, why = list[Way](), ""

    def way(limit: Limit, place: int) -> Way:
        value, changes = limit.relaxed(float(limit.needed[place]))
        return Way(limit.code, value, f"{them.rows[place].count} x {them.rows[place].gpu}", changes)

    # What was asked for comes before what always holds; nobody asks for another kind first.
    last = {"": 1, "unproven": 1, "form": 2}
    for limit in sorted(found, key=lambda limit: last.get(limit.code, 0)):
        others = kept([other for other in found if other is not limit], len(them)) & ~limit.ok
        if others.any():
            values = np.where(others, limit.needed, np.nan)
            best = np.nanargmin if limit.upper else np.nanargmax
            nearest = int(np.argmax(others) if np.isnan(values).all() else best(values))
            ways.append(way(limit, nearest))
            why = why or f"{ways[0].gpus} {limit.reason(nearest)}"
    if ways:
        why = "; ".join(left) or why
        return unmet("nothing meets all limits together", [(each,) for each in ways], why)
    # The candidate that breaks the fewest limits, and those by the least, says what all would have to be.
    apart = np.zeros(len(them))
    for limit in found:
        with np.errstate(divide="ignore", invalid="ignore"):
            known = limit.needed[~np.isnan(limit.needed)]
            least = known.min(initial=np.inf) if limit.upper else known.max(initial=-np.inf)
            apart += np.where(limit.ok, 0.0, np.nan_to_num(np.abs(np.log(limit.needed / least)), posinf=0.0))
    place = int(np.lexsort((apart, _broken(them, found)))[0])
    all_of_them = tuple(way(limit, place) for limit in found if not limit.ok[place])
    row, faults = them.rows[place], (limit.reason(place) for limit in found if not limit.ok[place])
    why = "; ".join(left) or f"{row.count} x {row.gpu}: {'; '.join(faults)}"
    return unmet("nothing meets all limits together", [all_of_them], why)


def unmet(problem: str, ways: Sequence[tuple[Way, ...]], why: str = "") -> InputError:
    """The error for limits that nothing meets, and why; each of `ways` are limits to relax together."""
    words = (f"{' and '.join(f'{w.limit} {w.value}'.strip() for w in e)} ({e[0].gpus})" for e in ways)
    said, hint = ": ".join(filter(None, (problem, why))), f"relax {'; or '.join(words)}"
    return InputError(said, hint=hint, code="limits", ways=tuple(ways), problem=problem, why=why)


def loosened(
    error: GpuwiseError, need: Need, answer: Callable[[Need], Recommendation],
    offers: Sequence[Offer] = (), rounds: int = 4,
) -> GpuwiseError:  # fmt: skip
    """The error of limits that nothing meets, or of prices that nobody asks, with only those relaxations that
    lead to an answer; `offers` of any kind and age.

    A looser limit lets other batches, formats and prices in, which may break another one: what that asks for
    is added, a few times. What no limit sets ("a smaller batch") is advice and stays where nothing else does.
    """

    def answers(**changes: Any) -> Recommendation | None:
        with suppress(GpuwiseError):
            return answer(replace(need, **changes))
        return None

    from gpuwise.judge.choose.phrases import offered_as  # which speaks of limits

    named = names_of(need)
    code, data = getattr(error, "code", ""), getattr(error, "data", {})
    if code == "no-price":
        problem = str(error)
        if named:  # who names them wants to know why not
            each = {g: no_price(need, g, offers).detail + last_price(need, g, offers) for g in named}
            problem = "; ".join(why_not(named, each))
        kinds = {kind: getattr(need, kind) is not False for kind in ("spot", "community")}
        if need.acquire != "own" and answers(**kinds, reserved=True, serverless=True):
            return NoDataError(problem, hint="other kinds of rent are known", code="other-rent")
        if (elsewhere := _elsewhere(need, answers)) is not None:
            hint = f"{elsewhere.value} {elsewhere.limit} ({elsewhere.gpus})"
            return NoDataError(problem, hint=hint, code=code)
        # Prices that are too old may be all there are: how old says which answer could be had.
        least = need.assumptions.max_age_days or 0
        for age in (years * 365 for years in AGES if years * 365 > least):
            if answers(assumptions=replace(need.assumptions, max_age_days=age, aged_today=True)):
                return NoDataError(problem, hint="older prices are known", code="old-price", days=age)
        return NoDataError(problem, hint=getattr(error, "hint", ""), code=code)
    if code != "limits":
        return error
    good: list[tuple[Way, ...]] = []
    if (elsewhere := _elsewhere(need, answers)) is not None:
        data = {**data, "why": f"of {need.region} no offer is known that keeps the other limits"}
        good.append((elsewhere,))
    starts: list[tuple[Way, ...]] = list(data["ways"])
    budget = next((way for start in starts for way in start if way.limit == "budget"), None)
    if budget is not None and need.assumptions.host_usd is None and need.acquire == "own":
        there = replace(need.assumptions, host_usd=0.0)
        few = (need.gpus[0], max(need.gpus[0], min(need.gpus[1], MOST_THERE)))
        starts.append((Way("host", "0", "", {"assumptions": there, "gpus": few}),))
    if need.task == "infer" and need.gpus[1] < MOST_TOGETHER and not need.sets:
        all_of_it = (need.gpus[0], MOST_TOGETHER)
        starts.append((Way("gpus", f"{need.gpus[0]}..{MOST_TOGETHER}", "", {"gpus": all_of_it}),))
    weights = (Precision.BF16, Precision.FP8, Precision.INT4)
    if need.mode == "infer" and need.precision in weights and not need.formats:
        works = () if need.task else [registry.get(name).spec.precisions for name, _ in need.workloads]
        starts += [
            (Way("precision", each, "", {"precision": each, "fallback": None}),)
            for each in weights[weights.index(need.precision) + 1 :]
            if all(each in precisions for precisions in works)
        ]
    if budget is not None and need.acquire == "rent":
        open_to = [kind for kind in ("spot", "community") if getattr(need, kind) is None]
        open_to += ["reserved"] * (not need.reserved)
        starts += [(Way(kind, "ok", "", {kind: True}),) for kind in open_to]
    if "used" in need.sold:  # Of few cards is a price of used ones known
        starts.append((Way("condition", "any", "", {"sold": ()}),))
    if budget is not None and need.budget_usd and need.budget_per_month:
        hours = need.assumptions.hours_per_week * need.budget_usd / (budget.changes["budget_usd"] or inf)
        fewer = replace(need.assumptions, hours_per_week=float(floor(hours)))
        if hours >= 1:
            starts.append((Way("hours-per-week", f"{floor(hours)}", budget.gpus, {"assumptions": fewer}),))
    for start in starts:
        tried = {way.limit: way for way in start}
        for _ in range(rounds if "" not in tried else 0):
            wanted = replace(need, **{k: v for way in tried.values() for k, v in way.changes.items()})
            try:
                first = answer(wanted).options[0]
            except GpuwiseError as again:
                more: Sequence[tuple[Way, ...]] = getattr(again, "data", {}).get("ways", ())
                if not more:
                    break
                same = (each for each in more if len(each) == 1 and each[0].limit in tried)
                tried |= {way.limit: way for way in next(same, more[0])}
            else:
                found = f"{offered_as(first)}{' in a machine that is there' * ('host' in tried)}"
                good.append(tuple(way._replace(gpus=found) for way in tried.values()))
                break
    advice = [start for start in data["ways"] if "" in {way.limit for way in start}]
    most = FAR * (need.budget_usd or inf)  # A user who stated this budget does not have so much more
    near = [e for e in good if all((way.changes.get("budget_usd", 1.0) or inf) <= most for way in e)]
    good = near or good[:1]
    pairs = [{way[:2] for way in each} for each in good]
    good = [each for each, own in zip(good, pairs, strict=True) if not any(other < own for other in pairs)]
    good.sort(key=len)
    if good or advice:
        return unmet(data["problem"], good or advice, data["why"])
    return InputError(str(error), hint="relax several limits", code="unmet")


def least_budget(error: GpuwiseError) -> float:
    """The budget that alone would lead to an answer; 0 where no budget would."""
    ways: Sequence[tuple[Way, ...]] = getattr(error, "data", {}).get("ways", ())
    return next(
        (w.changes["budget_usd"] or 0.0 for w, *more in ways if w.limit == "budget" and not more), 0.0
    )


def _elsewhere(need: Need, answers: Callable[..., Recommendation | None]) -> Way | None:
    """What keeps all other limits in a larger area than was asked for, or anywhere."""
    from gpuwise.judge.choose.phrases import offered_as

    for area in prices.around(need.region):
        if found := answers(region=area):
            first = found.options[0]
            where = f"{offered_as(first)} in {first.region or 'no stated place'}"
            return Way("region", area or "any", where, {"region": area})
    return None


def _broken(them: Candidates, found: Sequence[Limit]) -> Array:
    """How many limits each candidate breaks."""
    return np.asarray(sum(((~limit.ok).astype(float) for limit in found), np.zeros(len(them))))


Suitability = Literal["well suited", "runs", "no", "not known"]
# What a preset may ask for -> the field of the catalog, its unit, and how it is written.
_ASKED = {
    "memory_gb": ("memory_bytes", 2**30, "GB of memory"),
    "bandwidth_gbs": ("memory_bytes_per_s", 1e9, "GB/s"),
    "fp64_tflops": ("fp64", 1e12, "TFLOP/s in FP64"),
    "bf16_tflops": ("bf16", 1e12, "TFLOP/s in BF16"),
    "fp16_tflops": ("fp16", 1e12, "TFLOP/s in FP16"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One GPU in one preset."""

    preset: str
    title: str
    verdict: Suitability
    reason: str = ""  # Of a no, or what a GPU that runs it lacks
    no_speed: str = ""  # Why its speed is not known, of what it may do all the same
    example: str = ""  # The work that its speed is of: workload, mode and precision
    item: str
    throughput: Interval | None = None
    basis: Basis = "spec-only"
    cost_per_item_usd: float | None = None  # At its cheapest fresh price; None where none is known


def uses(
    gpu_id: str, forecast: Forecast, offers: Sequence[Offer], *, today: date,
    results: Sequence[Result] = (), published: Sequence[Record] = (),
) -> tuple[Use, ...]:  # fmt: skip
    """Every preset, for one of the GPU alone."""
    found = []
    for name in presets():
        need = need_for(name, gpus=(1, 1))
        (own,) = known_speeds.gather(need, {gpu_id: (1,)}, forecast, results=results, published=published)
        found.append(use(name, need, own, offers, today))
    return tuple(found)


def use(name: str, need: Need, own: Record, offers: Sequence[Offer], today: date) -> Use:
    """One preset; `own` is the speed of the GPU in it."""
    preset, item, spec = presets()[name], item_of(need), catalog.get(own.gpu_id)
    less = lacking(preset, spec)
    lacks = "; ".join(less.values())
    verdict: Suitability = "runs" if less else "well suited"
    if reason := _reason(need, own, spec):
        if not is_unknown(reason):
            verdict = "no"
        else:  # What it has is known, whatever its speed; not whether it runs with less memory
            unsure = any(asked == "memory_gb" or _has(spec, asked) is None for asked in less)
            verdict = "not known" if unsure else verdict
            return Use(
                preset=name, title=preset.title, verdict=verdict, reason=lacks, item=item, no_speed=reason
            )
        return Use(preset=name, title=preset.title, verdict=verdict, reason=reason, item=item)
    them = candidates(need, [own], usable(need, offers, today), today=today)
    works = ", ".join(part for part, _ in need.workloads)
    # What is bound by memory runs in any format of 16 bits; on Volta and older that is FP16.
    in_16 = "fp16" * (own.question.precision == Precision.BF16 and spec.supports("bf16") is False)
    return Use(
        preset=name, title=preset.title, verdict=verdict, reason=lacks, item=item,
        example=f"{works} {need.mode} {in_16 or own.question.precision or need.precision}"
        + f", batch {own.batch}" * bool(own.batch),
        throughput=own.throughput, basis=own.basis,
        cost_per_item_usd=min((float(cost) for cost in them.per_item if cost > 0), default=None),
    )  # fmt: skip


def lacking(preset: Preset, spec: GpuSpec) -> dict[str, str]:
    """What the preset asks for and the GPU has not, each with both figures."""
    found = {}
    for asked, least in preset.well.items():
        _, unit, words = _ASKED[asked]
        # A card is sold by the round number above what it leaves free.
        if (has := _has(spec, asked)) is None or round(has[0] / unit, 1) < least:
            stated = f"{significant(has[0] / unit)} of {least:g} {words}{has[1]}" if has else ""
            found[asked] = stated or f"no source states its {words}"
    return found


def _has(spec: GpuSpec, asked: str) -> tuple[float, str] | None:
    """What the GPU has of this, in SI units, and how it is meant where it is another rate; None where no
    source states it. Where no rate of 16 bits is stated they are multiplied as fast as 32."""
    field = _ASKED[asked][0]
    if "flops" not in asked:
        return None if (value := spec.number(field)) is None else (value, "")
    for other in (field, *(("fp16", "fp32") if field != "fp64" else ())):
        if peak := spec.peak(other):
            return peak.flop_per_s, "" if other == field else f", by its {other.upper()}"
    return None


def _reason(need: Need, speed: Record, spec: GpuSpec) -> str:
    """Why the GPU does not do this, or nothing."""
    if need.form is not None and not has_form(spec, need.form):
        return "not a laptop or small board" if need.form == "mobile" else f"not {need.form}"
    if speed.throughput is None:
        return speed.refusal
    if speed.fits_probability is not None and speed.fits_probability < FITS:
        return "does not fit its memory"
    if need.latency_s is not None and (speed.seconds is None or speed.seconds > need.latency_s):
        return "answers too late"
    return ""
