"""A GPU as the time model sees it: peaks, bandwidth, L2, units, clock, power limit. Facts, never a guess.

Facts come from the catalog. `data/cards.csv` holds the few that it lacks, each with its source, and a
few cards of public measurements that it does not hold; `data/names.csv` says what a spelling means
that several variants share. A card without a peak or bandwidth is refused.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType

from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.model.gpu import MODULES, GpuSpec

DATA = Path(__file__).with_name("data")
FORMATS = ("fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8")
_FAMILIES = {
    "Blackwell (data center)": "Blackwell", "Blackwell Ultra": "Blackwell",
    "Blackwell (RTX)": "Blackwell RTX", "Ada Lovelace": "Ada",
}  # fmt: skip
# Families that the model was compared with; of others (RDNA, Arc, Apple) the data sheet promises what no
# kernel library was seen to reach.
_MEASURED = frozenset(
    {
        *("Pascal", "Volta", "Turing", "Ampere GA100", "Ampere GA10x", "Ada", "Hopper", "Blackwell"),
        *("Blackwell RTX", "CDNA", "CDNA 2", "CDNA 3", "CDNA 4", "Gaudi 2", "Gaudi 3"),
    }
)
# Clock over the stated boost. GeForce cards boost beyond it, by what heat and voltage allow: the largest
# products of 20 desktop cards reach 1.02 to 1.16 of the stated peak (public tables of matmul rates, 2025). Of
# laptops the maker sets power and clock, and sheets state the lowest: 17 reach 0.93 to 2.06 of that peak,
# most within a factor `_LAPTOP`.
_BOOST, _BOOST_LAPTOP, _LAPTOP = 1.08, 1.35, 1.4
# Of the stated bandwidth of GDDR with error correction, which it carries in line. It is on by default in
# servers and on workstations of Blackwell, whose server edition states 1,597 GB/s for the same 1,792. Copies
# of an A10 and an L4 reach 0.78 of theirs, of nine GeForce cards 0.88. Turing's share was set on a T4.
_ECC = 0.9
_CORRECTED = frozenset({("server", "Ampere GA10x"), ("server", "Ada"), ("workstation", "Blackwell RTX")})
# Compute capability that vLLM asks for, and the architectures of AMD that it runs on (its documentation of
# 0.14, read 2026-12-01). llama.cpp runs on more, but has no backend for Gaudi (its README, read then).
VLLM = 7.0
_VLLM_AMD = frozenset({"CDNA 2", "CDNA 3", "CDNA 4", "CDNA 5", "RDNA 3", "RDNA 3.5", "RDNA 4"})
_ENGINES = {"Hopper": "wgmma", "Blackwell": "tcgen05"}
_COUNT = re.compile(r"\b\d{1,2}\s?x\s?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One device in SI units. `peaks` are dense, with an fp32 accumulator."""

    id: str
    vendor: str
    family: str  # Cards that share kernels: `Hopper`, `Ada`, `Ampere GA100`
    peaks: Mapping[str, float]
    bytes_per_s: float
    l2_bytes: float
    memory_bytes: float
    units: int  # Streaming multiprocessors or compute units
    clock_hz: float
    power_w: float
    process_nm: float
    on_lanes: frozenset[str] = frozenset()  # 16-bit formats that its vector lanes compute, for want of others
    laptop: bool = False
    dies: int = 1  # That software sees as so many GPUs, though the card is one here
    stacked: bool  # Whether memory is HBM, which moves a byte for less than half of GDDR's energy

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def engine(self) -> str:
        """How the matrix units are fed, which decides the libraries' kernels.

        Volta to Ada and Blackwell RTX multiply from registers (`mma`), Hopper from shared memory in groups
        of warps (`wgmma`), Blackwell of the data centre from there into a memory for sums (`tcgen05`; PTX
        ISA, sections of these names).
        """
        if self.vendor != "NVIDIA":
            return self.vendor
        return _ENGINES.get(self.family, "mma")

    def peak(self, dtype: str) -> float:
        """Dense FLOP/s in `dtype`. Raises NoDataError where the card has no such unit."""
        found = self.peaks.get(dtype)
        if found is None:
            known = ", ".join(self.peaks)
            raise NoDataError(f"{self.id} has no stated {dtype} rate", hint=f"stated: {known}")
        return found

    def each_clock(self, dtype: str) -> float:
        """Operations of a multiprocessor each clock. Raises NoDataError as `peak` does."""
        return self.peak(dtype) / self.units / self.clock_hz

    def unproven(self, dtype: str) -> float:
        """What widens an interval, in log space: the clock of a laptop, and a format that vector lanes
        compute, in which no step was measured: libraries may be no faster than in fp32, or by their promise.
        """
        lanes = math.log(self.peak(dtype) / self.peak("fp32")) / 2 if dtype in self.on_lanes else 0.0
        return lanes + (math.log(_LAPTOP) if self.laptop else 0.0)


def card(name: str, *, sheet: bool = False) -> Card:
    """The card that `name` names: a catalog id, a driver's name, or a spelling of the public data.

    Raises InputError where it is none or may be several, as the catalog does, and NoDataError for a GPU that
    cannot be predicted; with `sheet` only for one whose data sheet lacks a bandwidth.
    """
    found = _found(name)
    if isinstance(found, NoDataError) and sheet:
        return _sheet(name)
    if isinstance(found, NoDataError):
        raise NoDataError(str(found), hint=found.hint)
    return found


@lru_cache(maxsize=2**12)
def _found(name: str) -> Card | NoDataError:
    # Half of the catalog is refused, and a choice asks for all of it at each batch: refusals are kept too.
    try:
        return _named(name)
    except NoDataError as refused:
        return refused


def is_measured(name: str) -> bool:
    """Whether GPUs of its architecture were among those that the model was compared with."""
    return not isinstance(_found(name), NoDataError)


@lru_cache(maxsize=2**12)
def _sheet(name: str) -> Card:
    spec = catalog.find(name)
    bandwidth, (peaks, on_lanes) = spec.number("memory_bytes_per_s"), _peaks(spec, {})
    if not bandwidth or not peaks:
        problem = f"no source states its {'peak' if bandwidth else 'memory bandwidth'}"
        raise NoDataError(problem, hint="see what is stated", code="show-gpu", gpu=spec.id)
    # What is not stated (cores of an Apple chip) bounds nothing.
    return Card(
        id=spec.id, vendor=spec.vendor or "unknown", family=spec.architecture or "unknown", peaks=peaks,
        bytes_per_s=bandwidth, l2_bytes=spec.number("l2_bytes") or 6e6,
        memory_bytes=spec.number("memory_bytes") or 0.0, units=int(spec.number("sm_count") or 1000),
        clock_hz=spec.number("boost_hz") or 1.5e9, power_w=spec.number("power_w") or 0.0, process_nm=7.0,
        on_lanes=on_lanes, stacked=False, dies=dies(spec.id),
    )  # fmt: skip


def _named(name: str) -> Card:
    written = re.sub(r"[_\s]+", " ", name).strip()
    key = _COUNT.sub("", written.casefold()).strip()
    if key in _names():
        return _build(_names()[key])
    if key in _extra():
        return _build(key)
    try:
        return _build(catalog.find(written).id)
    except InputError:
        ids = _mentioned(written)
        if ids is None:
            raise
        return _build(ids)


def _mentioned(text: str) -> str | None:
    """The one card that a longer text names ("LambdaCloud 2xA10"), else None."""
    for spelling, meant in _names().items():
        if len(spelling) > 5 and spelling in text.casefold():
            return meant
    found = {ids for mention in catalog.mentions(text) for ids in (mention.gpu_ids,)}
    one = next(iter(found)) if len(found) == 1 else ()
    return one[0] if len(one) == 1 else None


@cache
def _names() -> Mapping[str, str]:
    return {row["name"]: row["card"] for row in catalog.rows(DATA / "names.csv")}


@cache
def _extra() -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in catalog.rows(DATA / "cards.csv"):
        found[row["card"]][row["field"]] = row["value"]
    return dict(found)


def dies(card_id: str) -> int:
    """How many GPUs software shows of one card of the catalog."""
    return int(_extra().get(card_id, {}).get("dies", 1))


def die(found: Card) -> Card:
    """What software shows as one GPU: of most cards all of it."""
    n = found.dies
    return replace(
        found, peaks={dtype: peak / n for dtype, peak in found.peaks.items()}, units=found.units // n,
        bytes_per_s=found.bytes_per_s / n, l2_bytes=found.l2_bytes / n, memory_bytes=found.memory_bytes / n,
        power_w=found.power_w / n, dies=1,
    )  # fmt: skip


def runs_vllm(spec: GpuSpec) -> bool:
    """Whether engines that serve many run on the GPU, as far as the documentation of one says."""
    if spec.vendor == "AMD":
        return spec.architecture in _VLLM_AMD
    return float(spec.text("compute_capability") or VLLM) >= VLLM


def runs_llama_cpp(spec: GpuSpec) -> bool:
    """Whether llama.cpp has a backend for the GPU."""
    return not (spec.architecture or "").startswith("Gaudi")


@cache
def _build(card_id: str) -> Card:
    extra = _extra().get(card_id, {})
    spec = None if "architecture" in extra else catalog.get(card_id)

    def number(field: str, otherwise: float | None = None) -> float:
        stated = spec.number(field) if spec is not None else None
        value = stated if stated is not None else extra.get(field, otherwise)
        if value is None:
            label = catalog.fields()[field].label
            raise NoDataError(
                f"no source states its {label}", hint="see what is stated", code="show-gpu", gpu=card_id
            )
        return float(value)

    architecture = extra.get("architecture") or (spec.architecture if spec else None) or "unknown"
    family = _FAMILIES.get(architecture, architecture)
    if architecture == "Ampere":
        # GA100 has the L2, the tensor cores and the memory of a data-centre part; GA10x has not.
        family = "Ampere GA100" if spec and spec.text("chip") == "GA100" else "Ampere GA10x"
    # Mining cards have units switched off that their sheets still count.
    odd = spec is not None and spec.text("segment") in ("mining", "embedded")
    if spec is not None and (odd or family not in _MEASURED):
        raise NoDataError(UNMEASURED, hint=f"it is {architecture}")
    peaks, on_lanes = _peaks(spec, extra)
    laptop = spec is not None and spec.text("form") == "laptop"
    boost = _BOOST_LAPTOP if laptop else 1.0
    if spec is not None and spec.vendor == "NVIDIA" and spec.text("segment") == "consumer" and not laptop:
        boost = _BOOST
    stacked = ((spec and spec.text("memory_type")) or extra.get("memory_type", "")).startswith("HBM")
    corrected = spec is not None and not stacked and (spec.text("segment"), family) in _CORRECTED
    return Card(
        id=card_id, vendor=extra.get("vendor") or (spec.vendor if spec else None) or "unknown", family=family,
        peaks={dtype: boost * peak for dtype, peak in peaks.items()}, on_lanes=on_lanes, laptop=laptop,
        bytes_per_s=(_ECC if corrected else 1.0) * number("memory_bytes_per_s"),
        l2_bytes=number("l2_bytes", 6e6), memory_bytes=number("memory_bytes"), units=int(number("sm_count")),
        clock_hz=boost * number("boost_hz"), power_w=number("power_w"), process_nm=number("process_nm", 7.0),
        dies=dies(card_id), stacked=stacked,
    )  # fmt: skip


def _peaks(spec: GpuSpec | None, extra: Mapping[str, str]) -> tuple[Mapping[str, float], frozenset[str]]:
    """Peaks by format, and the formats among them that vector lanes compute: 16 bits without matrix units,
    where the lanes do more in them than in fp32 (twice on a P100; 1/64 on a P40: left out). Those of Turing
    are too: products took 5 to 9 times as long as in fp32 on a GTX 1650 and 1660 Ti (public tables, 2025)."""
    found = {name.removeprefix("peak:"): float(v) for name, v in extra.items() if name.startswith("peak:")}
    if spec is None:
        return found, frozenset()
    found |= {dtype: peak.flop_per_s for dtype in FORMATS if (peak := spec.peak(dtype)) is not None}
    lanes = {
        peak.format: peak.flop_per_s
        for peak in spec.peaks
        if peak.format in ("fp16", "bf16") and peak.unit == "vector" and not peak.sparse
        and not any(other.unit == "matrix" for other in spec.peaks) and spec.architecture != "Turing"
        and peak.flop_per_s > found.get("fp32", math.inf)
    }  # fmt: skip
    return lanes | found, frozenset(lanes.keys() - found.keys())


# GPUs of one machine; what lies between machines is not a property of the card.
MOST = 8
# Of the stated bandwidth each way: 234.9 of 300 GB/s among eight A100 in nccl-tests.
LINK_SHARE = 0.78
# Bytes/s each way of a lane by generation, after its coding (PCI-SIG).
PCIE_LANE: Mapping[int, float] = MappingProxyType(
    {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.969e9, 5: 3.938e9, 6: 7.56e9}
)
# Of PCIe's bandwidth that a ring reaches with and without peer-to-peer (physical priors, not fitted).
PCIE_SHARE, STAGED_SHARE = 0.5, 0.25
UNMEASURED = "not predicted: the predictor was fitted to no GPU of its kind"


def is_linked(spec: GpuSpec, count: int) -> bool:
    """Whether the card's own link joins so many; a bridge joins two unless a source says more."""
    bridge = spec.text("form") == "pcie"
    return count <= (spec.number("link_gpus") or (2 if bridge else MOST))


def is_staged(spec: GpuSpec) -> bool:
    """Whether PCIe carries exchanges through host memory: of consumer cards unless a source states
    peer-to-peer access, which most of their drivers disable."""
    stated = spec.text("pcie_peer_to_peer")
    return stated == "no" or (stated != "yes" and spec.text("segment") == "consumer")


def bus(gpu: str, count: int) -> tuple[float, str]:
    """Bytes/s each way that a ring of `count` GPUs reaches, and over what.

    Raises NoDataError for a module with a link of its own that no source states.
    """
    spec = catalog.get(gpu)
    stated = spec.number("link_bytes_per_s")
    if stated and is_linked(spec, count):
        return LINK_SHARE * stated / 2, spec.text("link") or "link"
    generation = spec.number("pcie_generation")
    if spec.text("form") in (*MODULES, "soc") or generation is None:
        raise NoDataError(
            f"no source states how several {gpu} are joined", hint="predict one GPU", code="one-gpu"
        )
    lanes = spec.number("pcie_lanes") or 16.0
    staged = is_staged(spec)
    share = STAGED_SHARE if staged else PCIE_SHARE
    how = f"PCIe {generation:.0f}.0{' through host memory' if staged else ''}"
    return share * PCIE_LANE[int(generation)] * lanes, how
