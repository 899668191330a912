"""Checks of physics and logic that every number must pass, measured or published.

Physics: no speed above the hardware's arithmetic. needed = items per second and GPU * operations per item,
compared with the dense peak of the claimed precision. A figure called fp32 that only TF32 can reach was
TF32: cuDNN allows it by default. Decoding reads the weights in every step, so its tokens are compared with
bandwidth.

Logic: measured figures scatter, communication costs something, a lighter network is faster. Rows of one table
that break this were computed, not measured, or are in the wrong line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING

from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.model.gpu import GpuSpec, Source
from gpuwise.model.question import Environment
from gpuwise.model.result import Issue, Measurement, Record, grouped, record_of
from gpuwise.model.units import percent, seconds, si, significant

if TYPE_CHECKING:
    from gpuwise.stats.scaling import Point

MEASURE_BOTH = "measure both again, cool and alone, in one session"


def judge(rows: Sequence[Record]) -> tuple[tuple[Issue, ...], ...]:
    """The cautions of each row, in the order of `rows`; rows of one source are judged together."""
    physics = ((index, issue) for index, row in enumerate(rows) for issue in _row_faults(row))
    issues = grouped(chain(physics, _logic(rows)))
    return tuple(tuple(dict.fromkeys(issues.get(index, ()))) for index in range(len(rows)))


def judge_measured(measurements: Sequence[Measurement], environment: Environment) -> tuple[Measurement, ...]:
    """The measurements of one session, each with the cautions it earns beside the others."""
    # Whole speeds of networks of known cost at their full size, on one GPU: what a published row would be.
    rows = {
        place: _row(m, environment)
        for place, m in enumerate(measurements)
        if m.status == "ok"
        and m.throughput is not None
        and m.config.gpus == 1
        and m.config.size == "full"
        and find_network(m.config.workload) is not None
    }
    issues: dict[int, list[Issue]] = {place: [] for place in range(len(measurements))}
    for place, row in rows.items():
        # A measurement's own count of operations was judged when it ran (`mfu`); the network's stands in.
        if measurements[place].mfu is None:
            issues[place].extend(_row_faults(row))
    places = list(rows)
    for index, caution in _logic(list(rows.values())):
        # gpuwise knows that its own rows are neither exchanged nor invented.
        issues[places[index]].append(replace(caution, fix=MEASURE_BOTH))
    points: list[Point] = []
    if any(m.config.gpus > 1 for m in measurements):
        from gpuwise.stats.scaling import series  # nothing for one GPU

        points = [point for each in series(measurements) for point in each.points]
    for point in points:
        # More than perfect, and by more than equal runs differ.
        if point.factor.low > 1 and point.factor.value > OVER:
            faster = f"{significant(point.speedup)} times as fast as one ({percent(point.factor.value)})"
            fix = "INVALID: measure one GPU again, cool and alone, in the same session"
            issue = Issue.warning("scaling", f"{point.gpus} GPUs are {faster}", fix)
            issues[measurements.index(point.measurement)].append(issue)
    return tuple(
        # A session is judged again after each measurement: a caution is given once.
        replace(m, cautions=tuple(dict.fromkeys((*m.cautions, *issues[place]))))
        for place, m in enumerate(measurements)
    )


def judge_foreign(measurements: Sequence[Measurement], environment: Environment) -> tuple[Measurement, ...]:
    """The same for a file that comes from elsewhere: nothing is believed that can be computed anew.

    So its steps are compared with its own clock, its operations with the data sheet, whatever share of a
    peak it states, and several GPUs against one are invalid where they are more than perfect.
    """
    try:
        spec = catalog.get(environment.gpu_id) if environment.gpu_id else None
    except InputError:
        spec = None
    checked = []
    for m in measurements:
        if m.status == "ok" and m.throughput is not None:
            peak = spec.peak(m.config.precision) if spec is not None else None
            flop_per_s = (m.flop_per_item or 0.0) * m.throughput.value / m.config.gpus
            m = replace(m, mfu=flop_per_s / peak.flop_per_s if peak and flop_per_s else None)
            issues = [*clock_faults(m), *peak_faults(m, spec), *_row_faults(_row(m, environment))]
            m = replace(m, cautions=tuple(dict.fromkeys((*m.cautions, *issues))))
        checked.append(m)

    def stricter(issue: Issue) -> Issue:
        return replace(issue, severity="invalid") if issue.code == "scaling" else issue

    found = judge_measured(checked, environment)
    return tuple(replace(m, cautions=tuple(map(stricter, m.cautions))) for m in found)


def _row(m: Measurement, environment: Environment) -> Record:
    """The measurement as a row of a table of its own; recipes are compared each with itself."""
    recipe = m.config.base_recipe
    source = Source(id=f"measured-{recipe}", title="measured here", kind="measured", read_on="")
    return record_of(m, environment, session=recipe, source=source)


# Scaling above this share of perfect is beyond the noise of two measurements.
OVER = 1.02
# Relative difference within which a figure is a whole multiple of another: four digits are printed.
EXACT = 2e-4
# A network with this many times fewer operations is faster, whatever its layers, or at least no slower by
# more than the margin: one H200 trains Inception v3, eager in fp16, 0.5 % slower than ResNet-152, which needs
# 2.0 times the operations in fewer and larger kernels (results/h200/suite-tf-cnn.json); other software and
# input pipelines part them by more, while exchanged rows of such networks differ by half.
LIGHTER, MARGIN = 2.0, 0.25
# Images per step from which a GPU computes rather than launches kernels.
BUSY = 32
# Figures with fewer digits repeat by chance.
DIGITS = 4
FIXES = {
    "scaling": "check how the source counts samples and which batch one GPU had",
    "linear": "trust the figure of one GPU at most; expect 90 to 97 % scaling",
    "halves": "take one of the two as assumed, not measured",
    "repeated": "at most one of these rows was measured",
    "order": "check whether rows are exchanged or figures invented",
}

Indexed = Sequence[tuple[int, Record]]
MAX_GROUP = 50
"""Rows of one network on one number of GPUs: more are not a table of speeds, and their pairs take minutes."""

NAMED = 20
"""Counts or networks that a sentence names."""

Found = Iterator[tuple[int, str, str]]
"""(index of a row, code, detail)"""


def _logic(rows: Sequence[Record]) -> Iterator[tuple[int, Issue]]:
    """(index, caution) for each row that cannot have been measured as stated."""

    def series(row: Record) -> Hashable:
        # All but the count and the speed.
        versions = row.stated.versions if row.stated else ""
        return row.session, row.gpu, row.item, row.question.key("gpus"), row.precision, versions, row.date

    def table(row: Record) -> tuple[Hashable, ...]:
        return row.source.id if row.source else "", row.gpu, row.question.mode

    numbered = list(enumerate(rows))
    faults: list[tuple[int, str, str]] = []
    for same in _groups(numbered, series):
        faults += _scaling(same)
    for same in _groups(numbered, lambda r: (*table(r), r.gpus, r.item)):
        faults += _repeated(same)
        for alike in _groups(same, lambda r: (r.precision, r.question.compile, r.batch)):
            faults += _order(alike)
    for same in _groups(numbered, lambda r: (*table(r), r.question.workload, r.question.compile)):
        faults += _halves(same)
    for index, code, detail in faults:
        yield index, Issue.warning(code, detail, FIXES[code])


def _groups(rows: Indexed, key: Callable[[Record], Hashable]) -> Iterator[Indexed]:
    groups = grouped((key(row), (index, row)) for index, row in rows)
    yield from (group for group in groups.values() if len(group) > 1)


def _scaling(series: Indexed) -> Found:
    """Several GPUs against one: not more than perfect, and not perfect to the last digit."""
    single = [row.value for _, row in series if row.gpus == 1]
    if len(single) != 1:
        return
    shares = [(i, row.gpus, row.value / (row.gpus * single[0])) for i, row in series if row.gpus > 1]
    exact = [(index, count) for index, count, share in shares if abs(share - 1) < EXACT]
    for index, count, share in shares:
        if share > OVER:
            speedup = f"{significant(count * share)} times as fast as one ({percent(share)})"
            yield index, "scaling", f"INVALID: {count} GPUs are {speedup}"
    if len(exact) > 1:
        counts = ", ".join(str(count) for _, count in exact[:NAMED])
        for index, _ in exact:
            detail = f"exactly {counts} times one GPU, to the last digit: computed, not measured"
            yield index, "linear", f"SUSPECT: {detail}"


def _halves(rows: Indexed) -> Found:
    """One precision exactly twice another, at more than one count: the factor was assumed."""
    by_count = grouped((row.gpus, (row.value, index, row.precision)) for index, row in rows)
    twice: dict[tuple[str, str], list[int]] = defaultdict(list)
    for group in (group for group in by_count.values() if len(group) <= MAX_GROUP):
        for slow, fast in map(sorted, combinations(group, 2)):
            if slow[2] != fast[2] and abs(fast[0] / slow[0] / 2 - 1) < EXACT:
                twice[slow[2], fast[2]] += (slow[1], fast[1])
    for (slow_name, fast_name), indices in twice.items():
        if len(indices) > 2:
            counts = f"{len(indices) // 2} GPU counts"
            for index in indices:
                yield index, "halves", f"SUSPECT: {slow_name} is exactly half of {fast_name} at {counts}"


def _repeated(rows: Indexed) -> Found:
    """One figure for two different networks."""
    for value, same in grouped((row.value, (index, row)) for index, row in rows).items():
        # Zeros at the beginning and at the end are not significant.
        digits = len(f"{value:.10g}".replace(".", "").strip("0"))
        if digits >= DIGITS and len({row.question.workload for _, row in same}) > 1:
            names = sorted({f"{row.question.workload} {row.precision}" for _, row in same})
            detail = f"SUSPECT: {value:,.10g} is the figure of {' and of '.join(names[:NAMED])}"
            for index, _ in same:
                yield index, "repeated", detail


def _order(rows: Indexed) -> Found:
    """A network slower than one that needs twice the operations."""
    speeds = [
        (index, row, network)
        for index, row in rows
        if (network := find_network(row.question.workload)) and network.family and (row.batch or BUSY) >= BUSY
    ]
    # The fastest row of each network decides; there are few networks, and there may be many rows.
    fastest: dict[str, tuple[int, Record, Network]] = {}
    for one in speeds:
        if one[1].value > fastest.get(one[2].id, one)[1].value or one[2].id not in fastest:
            fastest[one[2].id] = one
    ranked = sorted(fastest.values(), key=lambda one: one[0])
    for index, row, network in speeds:
        slower = [
            (other, heavier.forward_flop / network.forward_flop)
            for _, other, heavier in ranked
            if heavier.family == network.family
            and heavier.forward_flop >= LIGHTER * network.forward_flop
            and row.value < other.value * (1 - MARGIN)
        ]
        if slower:
            other, times = max(slower, key=lambda pair: pair[0].value)
            what = f"{other.question.workload} ({other.value:,.10g}), which needs {times:.1f} times the"
            yield index, "order", f"SUSPECT: slower than {what} operations"


# Share of a dense peak that no whole network reaches: the best matrix products alone come to 0.8 to 0.9 of it
# on most GPUs.
IMPLAUSIBLE = 0.85


def _row_faults(row: Record) -> Iterator[Issue]:
    """Issues of one published throughput against its GPU's peaks, and of decoding against its memory."""
    yield from _decoding(row)
    network = find_network(row.question.workload)
    if network is None or network.item != row.item:
        return
    try:
        spec = catalog.get(row.gpu_id)
    except InputError:
        # Published rows may be of GPUs outside the catalog.
        return
    # A format that is not in our table may still have a peak.
    precision = row.question.precision or (row.stated.precision if row.stated else "")
    needed = row.value / row.gpus * network.flop(row.question.mode)
    # Winograd's convolutions may save some of the operations in fp32.
    if precision == "fp32":
        needed *= network.least
    name, peak = _ceiling(spec, precision)
    share = needed / peak if peak else 0.0
    above = _above(spec)
    if share <= IMPLAUSIBLE * above / ABOVE:
        return
    tf32 = spec.peak("tf32")
    if precision == "fp32" and tf32 is not None and needed <= tf32.flop_per_s:
        detail = f"{percent(share, 0)} of the fp32 peak ({si(peak, 'FLOP/s')}): it ran as tf32"
        fix = "compare it with tf32, not with fp32"
        yield Issue.warning("precision", detail, fix)
        return
    of_peak = f"{percent(share, 0)} of the dense {name} peak"
    word = "INVALID" if share > above else "SUSPECT"
    fix = "check the precision, the batch and the count of GPUs of the source"
    yield Issue.invalid("above-peak", f"{word}: needs {si(needed, 'FLOP/s')} per GPU, {of_peak}", fix)


def _decoding(row: Record) -> Iterator[Issue]:
    """Every step of decoding reads the weights that its batch touches, once on all GPUs together."""
    question = row.question
    name, _, phase = question.workload.rpartition("-")
    if phase != "decode" or row.item != "token" or question.batch is None or question.precision is None:
        return
    from gpuwise.facts import llms

    try:
        model = llms.find(name)
    except InputError:
        return
    try:
        stated = [catalog.get(row.gpu_id)]
    except InputError:
        # A name that several variants share is held to the fastest of them.
        stated = [catalog.get(each) for mention in catalog.mentions(row.gpu) for each in mention.gpu_ids]
    limits = [spec.memory_bytes_per_s for spec in stated if spec.memory_bytes_per_s]
    if not limits:
        return
    # The batch is that of one GPU, the speed that of all.
    batch = question.batch * row.gpus
    share = model.read(batch) / model.parameters
    needed = row.value / batch * llms.weight_bytes(model, question.precision) * share / row.gpus
    if needed > ABOVE * max(limits):
        has = f"its memory has {si(max(limits), 'B/s')}"
        fix = "check the format of the weights, the batch and whether tokens of the prompt were counted"
        detail = f"INVALID: needs {si(needed, 'B/s')} of weights per GPU, {has}"
        yield Issue.invalid("above-peak", detail, fix)


def _ceiling(spec: GpuSpec, precision: str) -> tuple[str, float]:
    """(name, FLOP/s) of the peak that bounds this precision, 0 where none is known to; of an unknown one the
    highest dense peak of 16 bits or more, as nothing faster trains these networks."""
    if precision not in ("fp32", "fp64") and spec.hides_peak:
        return precision, 0.0
    if precision == "int8":
        rates = [peak.flop_per_s for peak in spec.peaks if peak.format == "int8" and not peak.sparse]
        return precision, max(rates, default=0.0)
    candidates = (precision,) if spec.peak(precision) is not None else ("bf16", "fp16", "tf32", "fp32")
    if precision in ("fp32", "fp64", "tf32") and spec.peak(precision) is None:
        candidates = ("fp32",)
    stated = [(name, peak.flop_per_s) for name in candidates if (peak := spec.peak(name)) is not None]
    # Without matrix units, vector lanes may do more in 16 bits than in 32.
    lanes = (peak for peak in spec.peaks if peak.unit == "vector" and not peak.sparse)
    stated += [(peak.format, peak.flop_per_s) for peak in lanes if peak.format in candidates]
    return max(stated, key=lambda pair: pair[1], default=(precision, 0.0))


# Share of a peak above which a number is wrong, not lucky. GeForce cards boost beyond the clock of the sheet,
# and that of a laptop is the lowest that its maker may set: the largest products of 20 desktop cards and of
# 17 laptops reach up to so much of the stated peak (public tables of matmul rates, 2025).
ABOVE, ABOVE_GEFORCE, ABOVE_LAPTOP = 1.02, 1.16, 2.06
# A window shorter than this spends a part of it on the synchronisation at its end; a longer one whose steps
# add up to something else than the host's clock says was not timed right.
LONG_S, DISAGREE = 0.2, 0.05
# Of a window's time on the host for each of its steps, to read how long it took.
READING_S = 1e-6


def clock_faults(m: Measurement) -> Iterator[Issue]:
    """Device and host must agree on how long a window took."""
    for window in m.windows:
        device_s, host_s = sum(window.step_s) * window.each, window.ended_s - window.started_s
        allowed_s = DISAGREE * host_s + READING_S * len(window.step_s) * window.each
        if host_s >= LONG_S and abs(device_s - host_s) > allowed_s:
            jumped = "a clock jumped, or work was left out of the timing"
            detail = f"steps of {seconds(device_s)} in a window of {seconds(host_s)}: {jumped}"
            fix = "do not use the number; run it again where nothing suspends the machine"
            yield Issue.invalid("clock", detail, fix)
            return


def _above(spec: GpuSpec | None) -> float:
    """Share of the stated peak above which a speed of this card is wrong."""
    if spec is not None and spec.text("form") == "laptop":
        return ABOVE_LAPTOP
    boosts = spec is not None and spec.vendor == "NVIDIA" and spec.text("segment") == "consumer"
    return ABOVE_GEFORCE if boosts else ABOVE


def peak_faults(m: Measurement, spec: GpuSpec | None) -> Iterator[Issue]:
    """No speed is above a peak of the data sheet or a measured limit."""
    doubt = "INVALID: recheck the precision, the batch and the clock; please report it with the result file"
    # A copy cannot move more than the memory does; what a cache holds is another limit (copy-l2).
    moves = m.config.mode == "limit" and m.item == "byte" and m.bytes_per_item
    if moves and m.throughput and spec is not None and spec.memory_bytes_per_s:
        share = m.throughput.value * moves / spec.memory_bytes_per_s
        if share > ABOVE:
            detail = f"INVALID: {percent(share)} of the memory bandwidth of the data sheet"
            yield Issue.invalid("above-peak", detail, "recheck the size of the copy and the clock")
    if m.mfu is not None and m.mfu > _above(spec):
        yield Issue.invalid("above-peak", f"{percent(m.mfu)} of the dense {m.config.precision} peak", doubt)
    if m.limit_share is not None and m.limit_share > ABOVE:
        detail = f"{percent(m.limit_share)} of the measured {m.limit} limit"
        if m.config.device == "cpu":
            detail += ", not an upper bound on a CPU: convolutions run in another library"
            doubt = "take the share as a comparison, not as a limit"
        yield Issue.invalid("above-peak", detail, doubt)


# Forward operations of networks, a multiply-add counted as two. Convolutional ones: the multiply-adds that
# torchvision's documentation states with its weights (there called GFLOPS), doubled. Transformers, over all
# layers: 2 S * 12 h^2 for the matrix products and 4 S^2 h for attention (S tokens, h hidden units).
_NETWORKS = Path(__file__).with_name("data") / "networks.csv"
# A detector or a segmenter is called after the network that is a part of it.
_DETECTOR = re.compile(
    r"\b(?:ssd|(?:mask|faster)[ -]?r-?cnn|retinanet|u-?net|deeplab|fpn|yolo)", re.IGNORECASE
)
WINOGRAD = 2.25
# Operations of the backward pass per operation of the forward pass: one product each for the gradient of the
# input and of the weights.
BACKWARD = 2.0


@dataclass(frozen=True, slots=True)
class Network:
    """One network at one input size."""

    id: str
    aliases: tuple[str, ...]  # Other names, as people write them
    item: str
    forward_flop: float  # Operations of one item's forward pass
    # convolution or transformer where its speed follows its operations; empty for networks of depthwise,
    # grouped or concatenating layers, which wait for memory instead.
    family: str
    # Share of the operations in 3x3 convolutions of stride 1 (1 where it was not counted): fp32 libraries do
    # these with Winograd's F(2x2, 3x3) in 1 / 2.25 of the multiplications (Lavin and Gray 2016), and so run
    # faster than their peak seems to allow.
    winograd: float

    @property
    def least(self) -> float:
        """Share of the operations that fp32 arithmetic cannot do without."""
        return 1 - self.winograd * (1 - 1 / WINOGRAD)

    def flop(self, mode: str) -> float:
        """Operations of one item: forward alone, or a training step without its optimiser."""
        return self.forward_flop * (1 + BACKWARD if mode == "train" else 1)


def find_network(name: str) -> Network | None:
    """The network that `name` means ("ResNet-50", "Inception v3"), or None."""
    return _networks().get(_key(name))


def network_in(text: str) -> Network | None:
    """The network that a text names among other words ("ResNet-50 v1.5, batch 256"), or None."""
    match = _in_text().search(text)
    return None if match is None or _DETECTOR.search(text) else find_network(match[0])


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", name.casefold())


@cache
def _networks() -> Mapping[str, Network]:
    """Every network by the key of each of its names."""
    networks = catalog.decoded(catalog.rows(_NETWORKS), Network)
    return {_key(name): network for network in networks for name in (network.id, *network.aliases)}


@cache
def _in_text() -> re.Pattern[str]:
    """Any of these names, the longest first, with or without a space between words and numbers."""
    names = dict.fromkeys(name for each in _networks().values() for name in (each.id, *each.aliases))
    parted = (
        r"[ _-]?".join(map(re.escape, re.findall(r"[a-z]+|\d+(?:\.\d+)?", name)))
        for name in sorted(names, key=len, reverse=True)
    )
    return re.compile(rf"(?<![a-z0-9])(?:{'|'.join(parted)})(?![a-z0-9])", re.IGNORECASE)
