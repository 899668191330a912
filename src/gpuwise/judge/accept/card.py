"""One card and what is said of it, and which of its speeds may be compared with which.

Equal questions only: workload, mode, precision, compilation, recipe, batch asked, version. Stock and tuned
are one recipe here: each card runs the best that is known for it. The speed is the measured one, but for
limits of arithmetic, which are taken from their fastest window:

    speed = max over windows of (items a step x steps / time)        limits counted in FLOP
    speed = median of the windows                                    everything else

Large GPUs reach their power limit in a matrix product and lower the clock within a tenth of a second. How
many windows come before that depends on temperature and on what ran before, so medians of good cards differ
by up to a tenth where their fastest windows differ by some 3 % (H200s, `data/reach.csv`). What a card
sustains under its power limit is judged by training and inference.

`data/reach.csv` holds what GPUs of the catalog are known to reach, each figure with its source. Where
gpuwise measured, a row has the lowest and the highest of its sessions. A card below the lowest by more than
the margin is refused, and none is refused for as little as the sessions differ: 1 - lowest / highest. Where
others measured, with their own program and the best of many shapes of matrix, a slower card is only named.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from gpuwise import store
from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.measure.telemetry.sensor import DeviceInfo, Wear
from gpuwise.model.precision import Precision
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Interval, Issue, Link, Measurement, Result, Window, usable

# Key of the question, batch asked for, version of the workload.
Key = tuple[str, int | None, int]
Outcome = Literal["pass", "FAIL", "not judged"]


def question(m: Measurement) -> Key:
    """The key that must be equal for two speeds to be compared."""
    return m.config.key("batch", "kernels"), m.config.batch, m.workload_version


def named(key: Key) -> str:
    """In a reason: `copy-l2 fp32 8`, `resnet50 train bf16, batch 64`, `all-reduce fp32 over 8 GPUs`."""
    text, batch, _ = key
    # A file of one's own keeps its name, without the digest of its text.
    words = re.sub(r"(\.py:[^:]+):[0-9a-f]+(?=:)", r"\1", text.replace(":stock", ""))
    words = re.sub(r"(?<!\.py):", " ", words).replace(" limit", "").replace(" eager", "")
    words = re.sub(r" x(\d+) weak", r" over \1 GPUs", re.sub(r" (\d+)nodes", r" of \1 hosts", words))
    if batch and " over " in words and ":limit" in text:
        return f"{words}, {batch} MiB"
    return f"{words}{' ' if ':limit' in text else ', batch '}{batch}" if batch else words


def speeds(result: Result) -> dict[Key, Interval]:
    """Every complete speed of a result."""
    speeds = {question(m): speed_of(m) for m in result.measurements if m.status == "ok"}
    return {key: speed for key, speed in speeds.items() if speed is not None and speed.value > 0}


def speed_of(m: Measurement) -> Interval | None:
    """The speed by which a card is judged, items per second."""
    best = fastest(m)
    return Interval.stated(_rate(m, best[0]), "fastest window") if best else m.throughput


def fastest(m: Measurement) -> tuple[Window, ...]:
    """The one window that judges a limit of arithmetic; none of other measurements."""
    if m.config.mode != "limit" or m.item != "FLOP" or not m.windows or not m.items_per_step:
        return ()
    return (max(m.windows, key=lambda window: _rate(m, window)),)


def _rate(m: Measurement, window: Window) -> float:
    return (m.items_per_step or 0.0) * len(window.step_s) / sum(window.step_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedCard:
    """One GPU (or the processor) with what was measured on it."""

    __test__ = False  # pytest collects classes by this name

    name: str  # `GPU 0`, or the file of its result
    result: Result
    info: DeviceInfo | None = None  # What the driver reported; None where only the result file is known
    before: Wear = Wear()  # noqa: RUF009  frozen, so one for all is safe
    after: Wear = Wear()  # noqa: RUF009
    """Faults counted before and after the measurements."""
    refusal: str = ""  # Who held it, so that it could not be measured; empty where it was

    @property
    def on_gpu(self) -> bool:
        """False for a processor, which has neither links nor other processes to judge."""
        return self.info is not None or any(m.config.device == "cuda" for m in self.result.measurements)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A card with every issue that was found; an invalid one fails it."""

    card: TestedCard
    issues: tuple[Issue, ...] = ()
    compared: int = 0  # Speeds that were compared with a reference or with other cards
    least: Mapping[Key, float] = field(default_factory=dict)  # What is still accepted, items/s

    @property
    def passed(self) -> bool:
        """Nothing that fails was found."""
        return usable(self.issues)

    @property
    def outcome(self) -> Outcome:
        """A card whose speeds were compared with nothing may be half as fast as it should be."""
        if not self.passed:
            return "FAIL"
        return "pass" if self.compared else "not judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """The verdict on the cards of one host."""

    cards: tuple[Judged, ...]
    host: tuple[Issue, ...] = ()  # Issues that no single card can be blamed for
    margin: float
    links: tuple[Link, ...] = ()  # Between the cards, by their place among them
    fabric: Mapping[str, int] = field(default_factory=dict)  # Errors of InfiniBand ports during the test
    common: tuple[TestedCard, ...] = ()  # What all cards did together; the host's memory and disk
    references: tuple[str, ...] = ()  # Names of what the cards were compared with, beside each other

    @property
    def passed(self) -> bool:
        """Nothing that fails was found on any card or on the host."""
        return all(card.passed for card in self.cards) and usable(self.host)

    @property
    def outcome(self) -> Outcome:
        """That of the host: not judged where any card is."""
        return together(self.passed, (card.outcome for card in self.cards))


def together(passed: bool, outcomes: Iterable[Outcome]) -> Outcome:
    """One outcome of several."""
    if not passed:
        return "FAIL"
    return "not judged" if "not judged" in outcomes else "pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Speeds that a card should reach."""

    name: str
    result: Result
    same_code: bool = True
    """False: measured with another program, so that a slower card is worth a word, not a refusal."""


# The references for a card, by its result.
Lookup = Callable[[Result], tuple[Reference, ...]]


DATA = Path(__file__).with_name("data")


def known(gpu_id: str | None) -> tuple[Reference, ...]:
    """The known speeds of a GPU, one reference for each source; empty where there are none."""
    return _reach()[0].get(gpu_id or "", ())


def allowed(gpu_id: str | None, key: Key, margin: float) -> float:
    """How much slower a card may be: the margin, or more where good cards of its kind differ by more."""
    return max(margin, _reach()[1].get((gpu_id or "", key), 0.0))


@cache
def _reach() -> tuple[Mapping[str, tuple[Reference, ...]], Mapping[tuple[str, Key], float]]:
    """References by GPU; and by GPU and question, the share by which sessions on good cards differ."""
    sources = catalog.read_sources(DATA / "sources.csv")
    rows: dict[tuple[str, str], list[Measurement]] = defaultdict(list)
    differ = {}
    for row in catalog.rows(DATA / "reach.csv"):
        value = float(row["per_s"])
        stated = Measurement(
            config=RunConfig(workload=row["workload"], mode="limit", precision=Precision(row["precision"])),
            workload_version=int(row["version"]),
            status="ok",
            item=row["item"],
            started_at="",
            throughput=Interval.stated(value),
        )
        rows[row["gpu_id"], row["source"]].append(stated)
        if row["most"]:
            differ[row["gpu_id"], question(stated)] = 1 - value / float(row["most"])
    references: dict[str, tuple[Reference, ...]] = defaultdict(tuple)
    for (gpu_id, source_id), measurements in rows.items():
        source, name = sources[source_id], catalog.get(gpu_id).name
        result = Result(
            id=f"reach-{gpu_id}",
            origin="published",
            created_at=source.read_on,
            command="",
            environment=Environment(device=name, gpu_id=gpu_id),
            measurements=tuple(measurements),
            source=source.title,
        )
        title = f"the known reach of {name} ({source.title})"
        references[gpu_id] += (Reference(name=title, result=result, same_code=source.kind == "measured"),)
    return references, differ


def lookup(against: str | None) -> Lookup:
    """How to find a card's references; nothing given means what its kind is known to reach.

    Raises InputError for what is neither result nor GPU, NoDataError for a GPU of which no reach is known.
    """
    if against is None:
        return lambda result: known(result.environment.gpu_id)
    if against == "last":
        kept = store.saved()

        def last(result: Result) -> tuple[Reference, ...]:
            """The newest of the kept results that has a speed of the same card in common."""
            for path, earlier in _newest_first(kept):
                same = _same_card(earlier.environment, result.environment)
                if same and earlier.id != result.id and speeds(earlier).keys() & speeds(result).keys():
                    return (Reference(name=path.name, result=earlier),)
            return ()

        return last
    try:
        path = store.find(against)
    except NoDataError:
        spec = catalog.find(against)
        if not (chosen := known(spec.id)):
            problem = f"nothing is known of what {spec.name} reaches"
            hint = "compare with a result of a card that is known to be good"
            raise NoDataError(problem, hint=hint, code="against") from None
        return lambda result: chosen
    if path.suffix == ".zip":
        problem = f"{path.name} is a bundle of all cards of a host, and one result is a reference"
        hint = "take one result out of it, such as results/gpu-0.json, and compare with that"
        raise InputError(problem, hint=hint)
    file = Reference(name=path.name, result=store.load(path))
    if not speeds(file.result):
        raise InputError(f"{path.name} holds no speed to compare with", hint="see what it holds")
    return lambda result: (file,)


def check_last(card: Environment) -> None:
    """Raise NoDataError where no result of this very card is kept."""
    if not any(_same_card(kept.environment, card) for _, kept in _newest_first(store.saved())):
        problem = f"no result of this {card.device} is kept, and another card's would say nothing of it"
        hint = "compare with a file, or with what is known: that keeps a result for next time"
        raise NoDataError(problem, hint=hint, code="against")


def kept_of(card: Environment, command: str) -> tuple[Path, Result] | None:
    """The newest kept result of this very card that the command wrote."""
    every = _newest_first(store.saved())
    mine = ((p, r) for p, r in every if r.command == command and _same_card(r.environment, card))
    return next(mine, None)


def _newest_first(kept: tuple[Path, ...]) -> Iterator[tuple[Path, Result]]:
    """The kept results that can be read: a damaged one must not stand between a card and its last."""
    for path in reversed(kept):
        with suppress(InputError):
            yield path, store.load(path)


def _same_card(a: Environment, b: Environment) -> bool:
    """By model and digest of the unique id; by the model alone where a device has no such id."""
    return (a.device, a.device_memory_bytes, a.card) == (b.device, b.device_memory_bytes, b.card)
