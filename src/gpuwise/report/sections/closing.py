"""What to doubt, and how to make the figures again."""

from __future__ import annotations

from gpuwise.report.page import Section
from gpuwise.report.results import cell_name, counted
from gpuwise.report.sections.material import Material
from gpuwise.report.table import Table


def cautions(material: Material) -> Section:
    """Every distinct caution with what to do about it, and the measurements that have it."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in material.every:
        for caution in row.measurement.cautions:
            named = found.setdefault((caution.code, caution.detail, caution.next_step), [])
            named.append(cell_name(row.measurement.config))
    rows = tuple(
        (code, ", ".join(dict.fromkeys(names)), detail, step) for (code, detail, step), names in found.items()
    )
    table = Table(columns=("caution", "of", "what", "next step"), rows=tuple(sorted(rows)))
    return Section(
        id="cautions",
        title="Cautions",
        text=()
        if rows
        else (f"None: no measurement of {counted(len(material.every), 'measurement')} has one.",),
        tables=(table,) if rows else (),
    )


def reproduce(material: Material) -> Section:
    """The command of each session, and what checks whether it comes out again."""
    every = (words for r in material.results for words in (r.command, *(c.command for c in r.resumed)))
    commands = dict.fromkeys(words for words in every if words)
    return Section(
        id="reproduce",
        title="How to reproduce",
        text=(
            "Run the commands on the same device with the software of the table above; `gpuwise reproduce` "
            "measures a result again and says whether it came out again. The raw step times are in this "
            "file: `gpuwise show FILE.html` and `gpuwise compare FILE.html last` read them.",
        ),
        code="\n".join(commands),
    )
