"""For whom a GPU is: whether it does what each preset needs, by absolute need and not by its rank.

well suited   it does the work and has everything the preset asks for (`data/presets.toml`, `well`)
runs          it does the work, and what it lacks
no            it does not, and why
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from gpuwise.facts import catalog
from gpuwise.judge.choose import speeds
from gpuwise.judge.choose.candidates import candidates
from gpuwise.judge.choose.fit import has_form
from gpuwise.judge.choose.need import Preset, need_for, presets
from gpuwise.judge.choose.speeds import Forecast
from gpuwise.model.choice import Need
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.offer import Offer
from gpuwise.model.record import Basis, Record
from gpuwise.model.result import Interval, Result
from gpuwise.model.units import significant
from gpuwise.predict.forecast import FITS

Suitability = Literal["well suited", "runs", "no"]
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
        (own,) = speeds.gather(need, {gpu_id: (1,)}, forecast, results=results, published=published)
        found.append(use(name, need, own, offers, today))
    return tuple(found)


def use(name: str, need: Need, own: Record, offers: Sequence[Offer], today: date) -> Use:
    """One preset; `own` is the speed of the GPU in it."""
    preset, item, spec = presets()[name], speeds.item_of(need), catalog.get(own.gpu_id)
    if reason := _reason(need, own, spec):
        return Use(preset=name, title=preset.title, verdict="no", reason=reason, item=item)
    lacks = "; ".join(lacking(preset, spec))
    them = candidates(need, [own], offers, today=today)
    return Use(
        preset=name, title=preset.title, verdict="runs" if lacks else "well suited", reason=lacks, item=item,
        throughput=own.throughput, basis=own.basis,
        cost_per_item_usd=min((float(cost) for cost in them.per_item if cost > 0), default=None),
    )  # fmt: skip


def lacking(preset: Preset, spec: GpuSpec) -> list[str]:
    """What the preset asks for and the GPU has not, with both figures."""
    found = []
    for asked, least in preset.well.items():
        field, unit, words = _ASKED[asked]
        peak = spec.peak(field) if field in ("fp64", "bf16", "fp16") else None
        value = (peak.flop_per_s if peak else None) if "flops" in asked else spec.number(field)
        # A card is sold by the round number above what it leaves free.
        if value is None or round(value / unit, 1) < least:
            has = "no source states its " if value is None else f"{significant(value / unit)} of "
            found.append(f"{has}{words}" if value is None else f"{has}{least:g} {words}")
    return found


def _reason(need: Need, speed: Record, spec: GpuSpec) -> str:
    """Why the GPU does not do this, or nothing."""
    if need.form is not None and not has_form(spec, need.form):
        return "not a laptop or small computer" if need.form == "mobile" else f"not {need.form}"
    if speed.throughput is None:
        return speed.refusal
    if speed.fits_probability is not None and speed.fits_probability < FITS:
        return "does not fit its memory"
    if need.latency_s is not None and (speed.seconds is None or speed.seconds > need.latency_s):
        return "answers too late"
    return ""
