"""All sections of a report in their order, with the data they were made from."""

from __future__ import annotations

from gpuwise import store
from gpuwise.show.page import Page, References
from gpuwise.show.results import counted
from gpuwise.show.sections.against import against
from gpuwise.show.sections.closing import cautions, reproduce
from gpuwise.show.sections.energy import energy
from gpuwise.show.sections.kernels import kernels
from gpuwise.show.sections.limits import limits
from gpuwise.show.sections.machine import machine
from gpuwise.show.sections.material import Material
from gpuwise.show.sections.scaling import scaling
from gpuwise.show.sections.speedups import speedups
from gpuwise.show.sections.summary import summary
from gpuwise.show.sections.throughput import throughput
from gpuwise.show.sections.timeline import timeline


def report(material: Material) -> Page:
    """The report of one or more results; sections that have nothing to say are left out."""
    cited = References()
    sections = (
        machine(material),
        throughput(material),
        speedups(material),
        scaling(material, cited),
        energy(material, cited),
        timeline(material),
        limits(material),
        kernels(material),
        against(material, cited),
        cautions(material),
        reproduce(material),
    )
    return Page(
        title=f"{' and '.join(material.devices)}: measured for deep learning",
        subtitle=_subtitle(material),
        summary=summary(material),
        sections=tuple(section for section in sections if section.says_something),
        sources=cited.sources,
        made_on=material.today.isoformat(),
        data=tuple(store.compact(result) for result in material.results),
    )


def _subtitle(material: Material) -> str:
    versions = {version for r in material.results for version in r.environment.software}
    sessions = counted(len(material.results), "session")
    named = f"{sessions}, {material.results[0].id}" if len(material.results) == 1 else sessions
    return " · ".join((*sorted(versions), named))
