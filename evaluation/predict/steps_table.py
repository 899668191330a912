"""The table of docs/how-it-predicts.md that results/predict/steps.json holds.

python -m evaluation.predict.steps_table results/predict/steps.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from math import exp
from pathlib import Path
from typing import Any

HEAD = (
    "| what, left out | rows | cards | MAPE | median | p90 | bias | 80 % interval | covers | goal |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
)
_LEVELS = {
    "spec-only": "items/s of a traced step, spec-only",
    "calibrated": "the same, calibrated by other networks of the card",
    "transferred": "the same, transferred from another card",
}


def main() -> None:
    """Print the table."""
    print(table(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))


def table(document: Mapping[str, Any]) -> str:
    """The Markdown of all rows."""
    return "\n".join((*HEAD, *_lines(document)))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    for level, name in _LEVELS.items():
        yield _line(name, document["levels"][level])
    scaling, memory, watts = (document[name] for name in ("scaling", "memory", "watts"))
    yield _line("efficiency of several GPUs", scaling)
    yield _row("the same without question answering", scaling["n_without_squad"], "",
               percent(scaling["without_squad"]))  # fmt: skip
    yield _row("the same, our H200 (two to four GPUs)", scaling["n_ours"], 1, percent(scaling["ours"]))
    yield _row(
        "the same, of an article that the gates doubt", scaling["n_article"], 1, percent(scaling["article"])
    )
    yield _row(
        "peak memory, our H200",
        memory["n"],
        1,
        percent(memory["mape"]),
        percent(memory["median"]),
        goal="5 %",
    )
    yield _row('false "fits", our H200 at every memory size', memory["verdicts"], 1,
               percent(memory["false_fits"]), goal="2 %")  # fmt: skip
    yield _row("watts, our H200 (one share set on it)", watts["n"], 1, percent(watts["mape"]),
               percent(watts["median"]), bias=times(watts["bias"]),
               interval=f"x or / {exp(watts['half_width']):.2f}")  # fmt: skip


def _line(name: str, found: Mapping[str, Any]) -> str:
    return _row(
        name, found["n"], found["cards"], percent(found["mape"]), percent(found["median"]),
        p90=percent(found["p90"]), bias=times(found["bias"]),
        interval=f"x or / {exp(found.get('half_used', found['half_width'])):.2f}",
        covers=percent(found["coverage"], 0), goal="75 to 87 %",
    )  # fmt: skip


def _row(
    name: str, n: int, cards: object, mape: str, median: str = "", *, p90: str = "", bias: str = "",
    interval: str = "", covers: str = "", goal: str = "",
) -> str:  # fmt: skip
    cells = (name, f"{n:,}", str(cards), mape, median, p90, bias, interval, covers, goal)
    return f"| {' | '.join(cells)} |"


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def times(ratio: float) -> str:
    return f"x{ratio:.2f}"


if __name__ == "__main__":
    main()
