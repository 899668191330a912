"""Read what a label and its value claim: "FP16 (dense / sparse)" and "312 / 624 TFLOPS"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, reduce
from math import inf

from gpuwise.checks import network_in
from gpuwise.facts import catalog
from gpuwise.judge.audit.words import (
    ABILITIES,
    CHIP,
    CUES,
    FIELDS,
    LEAD,
    NAMES,
    UNITS,
    Token,
    chip_of,
    scan,
    unit_of,
)
from gpuwise.model.judgement import Number

# A number whose point may separate thousands: "1.792", but not "0.305".
POINTED = r"[1-9]\d{0,2}\.\d{3}"
# How far rounding may lead from two: the L40S is published with 362.05 and 733.
TWICE = 0.03
# Fields of several GPUs that texts add up.
SUMMED = frozenset({"memory_bytes", "memory_bytes_per_s", "cuda_cores", "tensor_cores"})
# GPUs of a machine of which a table may state the sum.
IN_SUM = 16
# Fields of the rates of a format.
FORMATS = tuple(field for field in FIELDS if field[:5] == "peak:" and field[5:])
# The field of a value without words.
OF_UNIT = {"w": "power_w", "bytes": "memory_bytes", "bytes/s": "memory_bytes_per_s"}
# The field of a label, or of a cell, by a unit that no other field has.
BY_UNIT = {"item/s": "throughput", "usd": "price", "m2": "die_area_m2", "nm": "process_nm",
           "pixel/s": "pixels_per_s", "texel/s": "texels_per_s"}  # fmt: skip
# Fields that count things.
WHOLE = frozenset({"cuda_cores", "stream_processors", "tensor_cores", "rt_cores", "sm_count", "rops", "tmus"})
# Characters between a value and the word that says what it counts: "568 fourth-generation Tensor Cores".
NEAR = 40
# Letters of a cell, those of Chinese counted thrice, from which on it is a remark.
REMARK = 30
_SUMMED = re.compile(r"^[+\u00b1\u2212] ?\d|=|\d[ \w]{0,8}[\u00d7*] ?\d|\d \+ ?\d|^\d+ \(\d+\)")
# Below "PCIe" its generation goes without the name: "4.0 x16", "Gen 4".
_PCIE = re.compile(
    r"\W*pci[ -]?e(?:xpress)?[ .]*(?:gen(?:eration)?|version|interface|bus)?\W*", re.IGNORECASE
)
# A process by its maker's name for it: "4N", "N5", "8LPP".
_NODE = re.compile(r"N\d{1,2}[A-Z]?|\d{1,2}(?:N[A-Z]?|LP[A-Z]|FF\w{0,2})")
_GENERATION = re.compile(r"(?:gen(?:eration)?[ .-]?)?[1-6](?:\.0)?(?: ?x\d{1,2})?", re.IGNORECASE)
# "48 GB GDDR6, ECC", "16 GB HBM2 (no ECC)"
_PARTS, _ECC = re.compile(r"[,;/+()]"), re.compile(r"(?:with |(no |without ))?ECC", re.IGNORECASE)
# Below "Tensor core generation".
_NTH = re.compile(r"(?:gen(?:eration)?[ .]?)?([1-6])(?:st|nd|rd|th)?(?: gen(?:eration)?\.?)?", re.IGNORECASE)
# What parts the labels, and the values, of several fields in one cell: a slash, but none of "GB/s".
_SLASH = re.compile(r"\s?/(?!s(?:ec)?\b)\s?")
# Bytes above which nothing is a cache.
LARGEST_CACHE = 2**30
# Bytes a second of PCIe 5.0 x16, both ways.
FASTEST_SLOT = 128e9
# Labels under which names and values of a field may stand, besides its own: "80 GB HBM2e, 2 TB/s, 5120-bit".
_UNDER = {
    "memory_bytes": ("memory_type", "memory_bus_bits"),
    "memory_bytes_per_s": ("memory_bytes", "memory_type", "memory_bus_bits"),
    "memory_transfers_per_s": ("memory_bytes", "memory_type", "memory_bus_bits"),
    # A bus of so many bits is the memory's, whatever its word means elsewhere.
    "memory_bus_bits": ("memory_bytes", "memory_type", "memory_bytes_per_s", "pcie_generation"),
    "process_nm": ("architecture", "chip"),
    "memory_type": ("memory_bytes", "memory_bus_bits", "memory_bytes_per_s"),
    "architecture": ("chip",),
    "chip": ("architecture",),
    "pcie_generation": ("link_bytes_per_s", "slots", "memory_bus_bits"),
    "compute_capability": ("architecture", "chip", "sm_count"),
    "tensor_core_generation": ("tensor_cores",),
    "rt_core_generation": ("rt_cores",),
}

# How many times a GPU's own figure is that of several of it, the one that its owner set, its whole die's.
SEVERAL, LIMITED, ENTIRE = (1.85, inf), (0.0, 1.0), (1.0, 2.0)
# How near a rate that a footnote covers or not is to one that its GPU has, dense, sparse or of another kind.
STARRED = (0.8, 1.25)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One field's value or values as read, not yet tied to a GPU."""

    field: str
    values: tuple[Number | str, ...]
    token: Token
    sparse: bool | None = None
    vector: bool = False
    either: bool = False
    """Whether it may be something else: a rate that a footnote covers or not, a sum."""
    times: tuple[float, float] | None = None
    """So many times the GPU's own figure its label lets it be, at least and at most: a total of several, what
    an owner limits, what a whole die has."""
    total: bool = False
    """Whether its label says that it is the memory of all GPUs, not that of the machine around them."""


@dataclass(frozen=True, slots=True)
class Label:
    """What a header or row label says: its fields in order, and the unit of bare numbers."""

    text: str
    fields: tuple[str, ...]
    """"" is a label that looks like a field of a GPU and is not."""
    unit: tuple[str, float] | None
    """(dimension, factor) of the unit that the label names."""
    sparse: bool | None
    both: bool
    """Whether it announces dense and sparse rates together."""
    hourly: bool
    vector: bool
    ability: str | None
    """What its cells answer with yes or no."""
    drawn: bool = False
    """Of a power: whether it may be what was drawn, since its table states what was measured."""

    @property
    def first(self) -> str | None:
        """The field that it names first."""
        return self.fields[0] if self.fields else None


# Formats whose peak rates the catalog does not hold.
_UNJUDGED = re.compile(r"\b(?:u?int[14]|binary)\b", re.IGNORECASE)
# Words behind a format that are about it; the next rate is of it: "990 TFLOPS (FP8 introduced, 1979 TFLOPS)".
_ABOUT_FORMAT = re.compile(
    r"\W{0,3}(?:introduced|added|debuts|debuted|supported|unsupported|dropped|removed)\W{0,4}", re.IGNORECASE
)
# The field of a label that is one of these words alone; beside other words they mean nothing.
_ALONE: Mapping[str, str] = NAMES["alone"]
_UNIT_WORDS = [(name, re.compile(rf"(?:^|[\s(\[/_])(?:{unit})(?=$|[\s)\],/_*;:])", re.IGNORECASE), factor)
               for name, unit, factor in UNITS if name not in ("count", "other", "%")]  # fmt: skip


@cache
def _named_chips() -> tuple[str, ...]:
    """The chips of the catalog that are called by words: "Tahiti", "Vega 10"."""
    return tuple(sorted({chip for spec in catalog.all_gpus() if (chip := spec.text("chip"))}))


@lru_cache(maxsize=4096)
def label_of(text: str) -> Label:
    """The label's meaning."""
    tokens = scan(text)
    fields = [t.field for t in tokens if t.kind == "field"]
    units = [(m.start(), len(m[0]), name, f) for name, unit, f in _UNIT_WORDS for m in unit.finditer(text)]
    # The last unit that it names, "memory bandwidth gbps"; of those that begin there the longest.
    unit = max(units, key=lambda one: one[:2])[2:] if units else None
    # "FP16 TFLOPS": the format says more than the unit; "FP16 Tensor Performance" too.
    if any(f.startswith("peak:") and f not in ("peak:", "peak:tensor") for f in fields):
        fields = [f for f in fields if f not in ("peak:", "peak:tensor", "tensor_cores", "power_w")]
    if "peak:fp64" in fields and WHOLE & {*fields}:
        # "Double precision CUDA cores" are other ones.
        fields = [""]
    if unit is not None and unit[0] == "op/s":
        # "INT4 Tensor Core (TOPS)" is a rate of a format that is not judged, no count.
        fields = [f for f in fields if f not in ("tensor_cores", "cuda_cores")]
        # "Arithmetic bandwidth (TFLOP/s)" is none of the memory's.
        fields = ["peak:"] if fields == ["memory_bytes_per_s"] else fields
    if {*fields} == {"peak:"} and _UNJUDGED.search(text):
        fields = [""]
    measured = unit is not None and unit[0] in {FIELDS[f].dimension for f in fields}
    if measured or re.search(r"[_ ][MG]i?B$", text, re.IGNORECASE):
        # "cache_tensor_cuda_mib" and "Shaders boost clock (MHz)" count no cores.
        fields = [f for f in fields if f not in WHOLE]
    if unit is not None and unit[0] in ("bytes/s", "bits/s") and "memory_bytes" in fields:
        # What is counted in GB/s is a rate: "Memory (GB/s)", "Mem. Bandbreite".
        rate = [f for f in fields if FIELDS[f].dimension == "bytes/s"] or ["memory_bytes_per_s"]
        rated = {start for start, _, name, _ in units if name in ("bytes/s", "bits/s")}
        sized = any(name == "bytes" and start not in rated for start, _, name, _ in units)
        fields = fields if sized else [f for f in fields if f != "memory_bytes"] + rate
    if "throughput" in fields:
        # "Llama 8B FP16 tok/s, batch 1" is a speed; "FP16 throughput (TFLOPS)" is a peak.
        speed = unit is None or unit[0] == "item/s"
        rates = [f for f in fields if f != "throughput"]
        # "FP16 throughput" over a cell of "71 TFLOPS": the unit of the value decides.
        fields = ["throughput", *(f for f in rates if f[:5] == "peak:")] if speed else rates
    if unit is not None and fields in ([], ["chip"]):
        # "Q4 t/s", "On-demand $/GPU-hr", "Die, mm2"
        fields = [BY_UNIT[unit[0]]] if unit[0] in BY_UNIT else fields
    gpus = (t.text for t in tokens if t.kind == "gpu")
    # "RTX 4090 cores"
    alone = reduce(lambda rest, gpu: rest.replace(gpu, ""), gpus, text).strip(" \t:*_-()").lower()
    fields = next((of.split() for words, of in _ALONE.items() if re.fullmatch(words, alone)), fields)
    # The row of a network states its throughput: "ResNet-50 FP16".
    if all(f.startswith("peak:") for f in fields) and unit is None and network_in(text):
        fields = ["throughput"]
    other = CUES["whole_machine"].search(text) or CUES["in_use_power"].search(text)
    other_memory = "memory_bytes" in fields and CUES["no_vram"].search(text)
    # Of caches texts give that of each multiprocessor.
    ratio = "l1_bytes" not in fields and CUES["ratio"].search(text)
    if ratio or CUES["of_its_parts"].search(text) or other_memory or ("power_w" in fields and other):
        fields = [""]
    marks = {t.field for t in tokens if t.field in ("sparse", "dense")}
    return Label(
        text=text,
        fields=tuple(dict.fromkeys(fields)),
        unit=unit,
        sparse=marks == {"sparse"} if len(marks) == 1 else None,
        both=len(marks) == 2,
        hourly=CUES["hourly"].search(text) is not None,
        vector=CUES["vector"].search(text) is not None,
        ability=ability_of(CUES["plain_ability"].sub("", text)),
    )


def ability_of(text: str) -> str | None:
    """The ability that a few words name: "FP8", "NVLink", "MIG"; None for anything else."""
    plain = text.strip(" -:*()")
    return next((f for f, name in ABILITIES.items() if re.fullmatch(name, plain, re.IGNORECASE)), None)


def readings(label: Label, cell: str, *, marks: tuple[str, ...] | None = ()) -> Iterator[Reading]:
    """Everything that a cell under this label claims.

    `marks`: those of footnotes on rates with sparsity; None where one may be about all rates.
    """
    answer = (CUES["yes"].match(cell), CUES["no"].match(cell)) if label.ability else (None, None)
    whole = Token(kind="name", start=0, end=len(cell), text=cell)
    if label.ability is not None and any(answer):
        said = "yes" if answer[0] else "no"
        # "Yes (emulated)" says nothing of the hardware, nor does what does not apply: a bridge may be sold.
        doubt = CUES["in_software"].search(cell) if said == "yes" else re.fullmatch(r"(?i)n/?a", cell.strip())
        yield Reading(field=label.ability, values=(said,), token=whole, either=doubt is not None)
    parted = [_SLASH.split(text) for text in (label.text, cell)] if "/" in label.text and "/" in cell else []
    if (
        parted
        and len(parted[0]) == len(parted[1])
        and len({label_of(p).fields for p in parted[0]} - {()}) > 1
    ):
        # "Shaders / TMUs / ROPs" above "5120 / 320 / 128"; "TF32 (FP32) / FP16" is of the one or the other.
        mixed = {"peak:tf32", "peak:fp32"} <= set(label.fields) or CUES["measured_rate"].search(label.text)
        for title, text in zip(*parted, strict=True):
            for reading in readings(label_of(title), text.strip(), marks=marks):
                yield replace(reading, either=True) if mixed else reading
        return
    if len(pairs := [*CUES["key_value"].finditer(cell)]) > 1:
        # "CUDA_CORES:5120, CLOCK_RATE:877": each value has its own key.
        for pair in pairs:
            yield from readings(label_of(pair["key"].replace("_", " ")), pair["value"], marks=marks)
        return
    if label.first == "":
        return
    if not label.text and any(t.field == "memory_type" for t in scan(cell)):
        # Without a label a size beside its type is the memory's.
        label = label_of("memory")
    stated = cell.strip("\"', ")
    named = label.first == "pcie_generation" and re.match("gen", stated, re.IGNORECASE)
    if _GENERATION.match(stated) if named else _PCIE.fullmatch(label.text) and _GENERATION.fullmatch(stated):
        # Below "PCIe host I/O" also "Gen5 128 GB/s".
        cell = f"PCIe {stated}"
    if label.first == "process_nm" and _NODE.fullmatch(stated):
        cell = f"TSMC {stated}"
    if label.first == "chip" or label.text.lower() == "gpu":
        # "GV100" is also a product, and "Hawaii" a chip only below this label; a chip known by a word may
        # have a code name besides, so it accuses nobody.
        coded = next((name for name in _named_chips() if name.lower() == stated.lower()), None)
        if chip := CHIP.fullmatch(cell):
            yield Reading(field="chip", values=(chip_of(chip[0]),), token=whole)
        elif coded:
            yield Reading(field="chip", values=(coded,), token=whole, either=True)
        if chip or coded:
            return
    for part in _PARTS.split(stated) if str(label.first)[:6] == "memory" else ():
        if with_ecc := _ECC.fullmatch(part.strip()):
            said = "no" if with_ecc[1] else "yes"
            yield Reading(field="ecc", values=(said,), token=replace(whole, text=part.strip()))
    if str(label.first).endswith("core_generation") and (nth := _NTH.fullmatch(stated)):
        cell = nth[1]
    # "16 896" is one number with a space for thousands.
    cell = cell.replace(" ", "") if re.fullmatch(r"\d{1,3}(?: \d{3})+", cell.strip()) else cell
    tokens = scan(cell)
    # "192 GB x 72 = 13.8 TB" is a sum over several, and "+8 GB" what one has more than another.
    summed = _SUMMED.search(cell) is not None
    measured = str(label.first)[:5] == "peak:" and CUES["measured_rate"].search(label.text) is not None
    open_ = summed or measured or any(CUES[cue].search(cell) for cue in ("guessed", "set_up"))
    # A remark below a label that is of no field, "Notes", may speak of other cards, or of a miner's.
    letters = sum(1 + 2 * (letter > "\u3040") for letter in cell if letter.isalpha())
    open_ |= label.first is None and label.text != "" and letters > REMARK
    last: Reading | None = None
    # Beside HBM or GDDR, plain DDR is the memory of a CPU, and so is the size before it.
    types = [t for t in tokens if t.field == "memory_type" and t.kind == "name"]
    plain = {t.start for t in types if "DDR" in t.name and t.name[0] != "G"}
    # So is what has its grade: "64 GB DDR5-5600".
    foreign = plain if len(types) > 1 or CUES["graded"].search(cell) else set()
    for place, token in enumerate(tokens):
        if foreign & {token.start, tokens[place + 1].start if place + 1 < len(tokens) else -1}:
            continue
        if token.kind == "name" and token.field not in ("sparse", "dense", "none"):
            # Names belong under their label: HBM3 under "Memory", Hopper under "Architecture".
            # "4th Gen Tensor Cores" says itself what it is.
            whole_name = token.field.endswith("core_generation") and "ores" in cell[token.end :]
            # So does a cell that is only a known name, under an unknown label: "Lineage | Ampere". A date
            # there may be of anything.
            alone = label.first is None and label.text and token.text == stated and token.field != "launch"
            if alone or (
                label.first and (whole_name or label.first in (token.field, *_UNDER.get(token.field, ())))
            ):
                yield Reading(
                    field=token.field, values=token.numbers or (token.name,), token=token,
                    either=bool(open_ or alone),
                )  # fmt: skip
        elif token.kind == "value":
            for reading in _of_value(label, cell, tokens, place, marks):
                if last is not None and reading.sparse is None and reading.field == last.field:
                    one, two = last.values[0], reading.values[0]
                    if _is_times(1, one, two) and cell[: token.start].endswith("("):
                        # "3,350 GB/s (3.35 TB/s)" says it twice.
                        continue
                    # A second rate that is twice the first is the sparse one, said or not.
                    if reading.field.startswith("peak:") and _is_times(2, one, two):
                        reading = replace(reading, sparse=True)
                last = reading
                # Of "> 2.5 TB/s" only the least is said.
                least = open_ or CUES["at_least"].search(cell, 0, token.start)
                # Below "CUDA" stands the capability of the GPU or the version of the library.
                version = len(label.fields) > 1 and reading.field == "compute_capability"
                # A unit alone does not say whose it is: "Compared with | 628 mm2".
                unsaid = label.first is None and label.text != "" and reading.field in BY_UNIT.values()
                version |= unsaid and reading.field != "throughput"
                yield replace(reading, either=True) if least or version else reading


def _of_value(
    label: Label, cell: str, tokens: Sequence[Token], place: int, marks: tuple[str, ...] | None
) -> Iterator[Reading]:
    token = tokens[place]
    slot = place and tokens[place - 1].field == "pcie_generation" and (
        re.fullmatch(r"[\s:,;(=@]{0,3}", cell[tokens[place - 1].end : token.start])
    )  # fmt: skip
    if CUES["of_a_part"].match(cell, token.end) or (slot and token.measures == "bytes/s"):
        # "PCIe Gen4 64 GB/s" is the slot's.
        return
    own = own_field(cell, tokens, place)
    # "FP16 | 312 TFLOPS peak": the words beside the value name no format, the label does.
    unnamed = own == "peak:" and any(f.startswith("peak:") for f in label.fields)
    # "NVLink | 900 GB/s bidirectional bandwidth".
    unnamed |= own == "memory_bytes_per_s" and "link_bytes_per_s" in label.fields
    field = own if own and not unnamed else _of_label(label, cell, token)
    if field in (None, "none") or (field == "launch" and label.first != "launch"):
        return
    if field == "launch" and re.search(r"[A-Za-z]{3}", cell[: token.start]):
        # "ResNet-50 (2015)": of what else the cell names.
        return
    if field == "process_nm" and token.dimension == "bare" and CUES["machine_node"].search(label.text):
        # "GPUs per node", "Node": machines, where no nanometres stand beside them.
        return
    numbers = scaled(token, field, label)
    if not numbers or (field == "l2_bytes" and numbers[0].value > LARGEST_CACHE):
        # What stands below "L2 cache" in gigabytes is the next line of a page.
        return
    if field == "launch":
        yield Reading(field=field, values=(f"{numbers[0].value:.0f}",), token=token)
        return
    times = None
    # "65,536 total" below a rig of four
    said = f"{label.text.replace('memory.total', '')} {cell[token.end : token.end + NEAR]}"
    if field in (*SUMMED, "power_w") and CUES["total"].search(said):
        times = SEVERAL
    elif field == "power_w" and (label.drawn or re.search(r"(?i)limit|\bcap\b|policy|target", label.text)):
        times = LIMITED
    elif field in (*WHOLE, "l2_bytes") and CUES["whole_die"].search(label.text):
        times = ENTIRE
    # "3,352 AI TOPS" may count any format.
    direction = field == "peak:tensor" and "fl" not in token.text.lower() and token.dimension != "bare"
    direction |= CUES["direction"].match(cell, token.end) is not None
    # "Effective bandwidth": that of a cache.
    direction |= field == "memory_bytes_per_s" and CUES["with_cache"].search(label.text) is not None
    total = times == SEVERAL and field == "memory_bytes" and CUES["gpu_memory"].search(label.text) is not None
    reading = Reading(field=field, values=numbers, token=token, either=direction, times=times, total=total)
    if not field.startswith("peak:"):
        yield reading
        return
    sparse = mark_near(cell, tokens, place)
    if sparse is None:
        marked = (
            cell[token.end :].lstrip().startswith(marks) or any(mark in label.text for mark in marks)
            if marks
            else False
        )
        sparse = True if marked else label.sparse
    low, high = min(numbers, key=lambda n: n.value), max(numbers, key=lambda n: n.value)
    # "312 / 600*": the mark is that of the second one.
    starred = len(numbers) == 2 and re.match(r"\s?[*\u2217\u2020]", cell[token.end :]) is not None
    low, high = numbers if starred else (low, high)
    if len(numbers) == 2 and (starred or label.both or _is_times(2, low, high)):
        written = [*re.finditer(r"\d[\d.,]*", token.text)]
        unit = token.text[written[-1].end() :]
        for number, sparse in ((low, False), (high, True)):
            # Each by itself: "312 TFLOPS" of "312 / 624 TFLOPS".
            part = written[numbers.index(number)] if len(written) == len(numbers) else None
            text = f"{part[0]}{unit}" if part else token.text
            yield replace(reading, values=(number,), sparse=sparse, token=replace(token, text=text))
    else:
        either = sparse is None and (marks is None or label.both or "spars" in cell.lower())
        yield replace(reading, sparse=sparse, vector=label.vector, times=STARRED if either else None)


def own_field(cell: str, tokens: Sequence[Token], place: int) -> str | None:
    """The field that the words beside a value name: "16,896 CUDA cores", "NVLink 600 GB/s", "4,500 (FP8)"."""
    token = tokens[place]
    dimension = token.measures
    slot = dimension == "bytes/s" and max(n.value for n in token.numbers) <= FASTEST_SLOT
    host = dimension == "bytes" and CUES["host_before"].search(cell, 0, token.start)
    if host or CUES["of_another"].match(cell, token.end) or (slot and CUES["in_slot"].match(cell, token.end)):
        # "24 GB VRAM + 128 GB system", "1,008 GB/s (VRAM), 50 GB/s (PCIe)"
        return "none"
    if dimension in ("count", "bytes") and len(token.numbers) == 1:
        word = tokens[place + 1].field if place + 1 < len(tokens) else ""
        sized = dimension == "bytes" and word != "l2_bytes"
        if not sized and any(_is_part(cell, part, token) for part in tokens[max(0, place - 3) : place]):
            # The whole die has so many.
            return "none"
        wholes = [
            n for n in range(place + 1, min(place + 4, len(tokens))) if _is_part(cell, token, tokens[n])
        ]
        if wholes:
            whole = tokens[wholes[0]]
            field = own_field(cell, [t for t in tokens if t is not token], wholes[0] - 1)
            # "16 of 144 SMs are switched off", "60 of the 80 GB are free".
            least = 0.5 * whole.numbers[0].value / (unit_of(whole) if token.dimension == "bare" else 1.0)
            return field if token.numbers[0].value > least and field != "memory_bytes" else "none"
    if dimension == "op/s" and (inside := next((f for f in FORMATS if f[5:] in token.text.lower()), None)):
        return inside
    # "5 PFLOPS of dense FP8 and 2.5 PFLOPS of dense BF16": the format behind a rate is its own.
    # "165 TFLOPS on the tensor cores (FP16)"; without the format of whichever they compute.
    on_cores = CUES["on_its_cores"].match(cell, token.end) if dimension == "op/s" else None
    aside = ("dense", "sparse", "tensor_cores")
    behind = next((t for t in tokens[place + 1 : place + 3] if t.field not in aside), None)
    if behind is not None and behind.field in FORMATS and (
        (on_cores and cell[on_cores.end() : behind.start] == " (")
        or re.fullmatch(r" (?:of|in|for) (?:(?:dense|sparse) )?", cell[token.end : behind.start])
    ):  # fmt: skip
        return behind.field
    # "91.6 TFLOPS in FP32 and 183 TFLOPS on the tensor cores": FP32 is of the value before it.
    said = place > 1 and tokens[place - 1].field in FORMATS and tokens[place - 2].kind == "value"
    if on_cores and said and re.search(r",|;|\band\b", cell[tokens[place - 1].end : token.start]):
        return "peak:tensor"
    # A format that the value touches is its own: "FP1665.1 TFLOPS peak".
    generations = ("tensor_core_generation", "rt_core_generation")
    # "Tensor cores (4th gen): 528".
    before = next((t for t in reversed(tokens[:place]) if t.field not in generations), None)
    touches = before is not None and before.end == token.start and before.field.startswith("peak:")
    if before is not None and before.field.startswith("peak:") and dimension == "op/s" and (
        touches or re.fullmatch(r"\s?[-\u2013\u2014:=]\s?", cell[before.end : token.start])
    ):  # fmt: skip
        # "INT8 779 TOPS, INT4 - 1557 TOPS": of a format that is not judged.
        return before.field if before.field != "peak:" else "none" if "4" in before.text else None
    if before is not None and before.kind == "field" and FIELDS[before.field].dimension == dimension and (
        re.fullmatch(r"[\uff1a:\u3040-\u548b\u548d-\u9fff]{1,8}", cell[before.end : token.start])
    ):  # fmt: skip
        # Without spaces: the label, a verb, the value. Only "and" parts two pairs.
        return before.field
    # "80 GB, 3.35 TB/s, NVLink 900 GB/s": the word belongs to the value behind it.
    following = tokens[place + 1 : place + 3]
    if [t.kind for t in following] == ["field", "value"] and following[1].measures == dimension and (
        not cell[following[0].end : following[1].start].strip(" :")
    ):  # fmt: skip
        if "," in cell[token.end : following[0].start]:
            return None
        if before is not None and before.kind == "field" and FIELDS[before.field].dimension == dimension and (
            not cell[before.end : token.start].strip(" :")
        ):  # fmt: skip
            # "Base Clock 1660 MHz Boost Clock 2970 MHz": a line of labels, each before its value.
            return before.field
    # "544 Turing Tensor Cores": the architecture in between says nothing of the field.
    after = next((t for t in tokens[place + 1 :] if t.field not in ("architecture", *generations)), None)
    if after is not None and after.field in FORMATS and _ABOUT_FORMAT.match(cell, after.end):
        after = None
    if dimension == "op/s":
        last = next((t for t in reversed(tokens[:place]) if t.field in FORMATS), None)
        if last is not None and _ABOUT_FORMAT.fullmatch(cell[last.end : token.start]):
            return last.field
    if after is not None and after.kind == "field" and FIELDS[after.field].dimension in (dimension, "none"):
        between = cell[token.end : after.start]
        near = len(between) <= NEAR and CUES["between_value_and_word"].fullmatch(between.lower())
        if near and between[:1] != ",":
            return after.field or "none"
    # "4,500 (FP8)" under a heading of another format.
    if after is not None and after.field.startswith("peak:") and dimension in ("count", "op/s"):
        # "128 FP32 lanes" counts units.
        alone = dimension == "op/s" or not re.match(r"\s?[a-z]|\s*[/-]", cell[after.end :], re.IGNORECASE)
        if cell[token.end : after.start].strip() in ("(", ""):
            # "4500 (FP4 9000)"
            value = re.match(r"[ :=~]{1,3}\d", cell[after.end :])
            return after.field if alone and not value else None
        # "TF32 (156 TFLOPS), INT8 (624 TOPS)"
        if before is None or not re.fullmatch(r"\s?[(:=]\s?", cell[before.end : token.start]):
            return None
    if before is not None and before.kind == "field" and before.field != "peak:":
        between = cell[before.end : token.start]
        if not before.field and re.fullmatch(r" ?(?:of|is|:|=)? ?(?:about |up to )?", between):
            # "a game clock of 2424 MHz and a boost clock"
            return "none"
        # A comma, a sum or a cell's border ends what a word says.
        if FIELDS[before.field].dimension == dimension and len(between) <= NEAR:
            return None if re.search(r"[,;.|]\s|[x\u00d7=]", between) else before.field
    return None


def _is_part(cell: str, part: Token, whole: Token) -> bool:
    """Whether two counts are of what a product uses and what its die has: "132 of the 144 SMs"."""
    if part.dimension not in ("bare", whole.dimension) or whole.dimension not in ("bare", "bytes"):
        return False
    if len(part.numbers) != 1 or len(whole.numbers) != 1:
        return False
    between = CUES["of_whole"].fullmatch(cell, part.end, whole.start)
    unit = unit_of(whole) if part.dimension == "bare" else 1.0
    return between is not None and part.numbers[0].value * unit < whole.numbers[0].value


def _of_label(label: Label, cell: str, token: Token) -> str | None:
    """The label's first field that takes such a value."""
    dimension, first = token.measures, label.first
    if dimension == "usd":
        prices = (f for f in label.fields if f in ("launch_price_usd", "price"))
        return "rent per hour" if label.hourly or token.hourly else next(prices, None)
    for field in label.fields:
        if FIELDS[field].dimension == dimension or (field == "launch" and dimension == "count"):
            if field != label.fields[-1] and not scaled(token, field, label):
                # Below "CUDA" 4864 is a count of cores.
                continue
            return field
    if first is None:
        return BY_UNIT.get(dimension)
    if token.dimension == "bare":
        # A number without a unit is the value only where the cell begins with it: not in "NVLink (2-way)".
        odd = re.search(r"[A-Za-z(]", cell[: token.start]) or re.match(
            r"\s[\s\\*\u00d7]{0,4}(?!HBM|G?DDR|dense|or|AMD|NVIDIA)[A-Za-z]", cell[token.end :]
        )
        if odd and FIELDS[first].dimension != "count":
            return None
        if first == "price" and label.hourly:
            return "rent per hour"
        if label.unit is not None:
            # "Mem. Bandbreite (GB/s)": the unit says which of the fields.
            measures = {"bits/s": "bytes/s"}.get(label.unit[0], label.unit[0])
            first = next((f for f in label.fields if FIELDS[f].dimension == measures), first)
        return first if FIELDS[first].dimension not in ("text", "none") and len(label.fields) < 3 else None
    under = (f for f, labels in _UNDER.items() if first in labels and FIELDS[f].dimension == dimension)
    return next(under, None)


def in_thousands(values: Iterable[Number | str]) -> tuple[Number, ...]:
    """The numbers among the values, with their point read as a separator of thousands."""
    return tuple(replace(v, value=1000 * v.value) for v in values if isinstance(v, Number))


def scaled(token: Token, field: str, label: Label | None) -> tuple[Number, ...]:
    """A value's numbers in the field's unit; none where no reading of them is plausible."""
    known = FIELDS.get(field)
    if known is None:
        return token.numbers
    counted = token.dimension in ("bare", "count")
    scales: tuple[float, ...] = (1.0,)
    if token.dimension == "bare":
        scales = known.scales
        # The label's unit holds for all its numbers.
        if label is not None and label.unit is not None:
            measures = {"bits/s": "bytes/s"}.get(label.unit[0], label.unit[0])
            scales = (label.unit[1],) if measures == known.dimension else scales
        counted_in = [
            f for name, unit, f in UNITS if name == "count" and label and re.search(unit, label.text, re.I)
        ]
        if field == "transistors" and counted_in:
            # "Transistors (million)", in whatever language.
            scales = (counted_in[0],)
        if field == "memory_bytes" and all(n.value and n.value % 1e9 == 0 for n in token.numbers):
            # A program's 24e9 is 24 GB, as products are named.
            scales = (2**30 / 1e9,)
    if re.search(rf"(?<![\d.,]){POINTED}(?!\d)", token.text):
        scales = (*scales, *(1000 * scale for scale in scales))
    # What a label counts in GB or kW may be the sum of a machine.
    most = known.high * (IN_SUM if label and label.unit and field in (*SUMMED, "power_w") else 1)
    for scale in scales:
        numbers = tuple(Number(value=n.value * scale, digits=n.digits) for n in token.numbers)
        whole = field not in WHOLE or all(n.value.is_integer() for n in numbers)
        if whole and all(known.low <= n.value <= most for n in numbers):
            return numbers
    # With its unit it is what is printed, however odd; a bare number may be anything.
    odd = not counted and known.dimension != "count"
    return token.numbers if odd or (field == "launch" and 2005 <= token.numbers[0].value <= 2035) else ()


def mark_near(cell: str, tokens: Sequence[Token], place: int) -> bool | None:
    """Whether words up to the next values say that a rate is with or without sparsity."""
    token = tokens[place]
    # "18,000 sparse FP4 TFLOPS" has the mark between its number and its unit.
    if inside := re.findall(r"sparse|dense", token.text.lower()):
        return bool(inside[-1] == "sparse")
    for step in (1, -1):
        at = place + step
        marks: list[str] = []
        while 0 <= at < len(tokens) and tokens[at].kind != "value":
            mark = tokens[at]
            gap = cell[token.end : mark.start] if step > 0 else cell[mark.end : token.start]
            near = mark.field in ("sparse", "dense") and len(gap) < LEAD
            # "756 TFLOPS, with sparsity twice that", "double it for sparsity": a rate not written out.
            near &= step < 0 or not (CUES["doubled"].match(cell, mark.end) or CUES["doubled"].search(gap))
            # What stands in the parentheses of another value belongs to that one.
            if near and not re.search(r"[;|.]\s|\), " if step > 0 else r"[;|.]\s|[()]", gap):
                marks.append(mark.field)
            at += step
        if marks:
            # "312 TFLOPS dense: sparse as dense" says nothing clear.
            return marks[0] == "sparse" if len(set(marks)) == 1 else None
    return None


def _is_times(times: int, one: Number | str, two: Number | str) -> bool:
    if isinstance(one, str) or isinstance(two, str):
        return False
    return one.value > 0 and abs(two.value / one.value - times) < TWICE
