"""What to doubt, and how to make the figures again."""

from __future__ import annotations

from gpuwise.show.page import Section
from gpuwise.show.results import cell_name, counted, some
from gpuwise.show.sections.material import Material
from gpuwise.show.table import Table


def cautions(material: Material) -> Section:
    """A row for each kind of caution with what to do about it; behind them every one with its measurement."""
    found = [(caution, row.measurement) for row in material.every for caution in row.measurement.cautions]
    if not found:
        none = f"None: no measurement of {counted(len(material.every), 'measurement')} has one."
        return Section(id="cautions", title="Cautions", text=(none,))
    kinds: dict[tuple[str, str], list[str]] = {}
    each: dict[tuple[str, str], list[str]] = {}
    for caution, m in found:
        name = cell_name(m.config)
        kinds.setdefault((caution.code, caution.fix), []).append(name)
        each.setdefault((caution.code, caution.detail), []).append(name)
    rows = tuple((code, str(len(of)), some(of), step) for (code, step), of in sorted(kinds.items()))
    full = tuple((code, ", ".join(dict.fromkeys(of)), detail) for (code, detail), of in sorted(each.items()))
    return Section(
        id="cautions",
        title="Cautions",
        tables=(
            Table(columns=("caution", "times", "of", "next step"), rows=rows, numeric=frozenset({"times"})),
        ),
        folded=(Table(columns=("caution", "of", "what"), rows=full),),
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
