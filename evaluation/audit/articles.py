"""Audit articles that gpuwise itself writes about GPUs drawn at random: nothing in them may be wrong.

    python -m evaluation.audit.articles [--seed N] [-n ARTICLES] [-o results/show/articles.txt]

Each of two to six GPUs is drawn from a class that is drawn first, so that rare kinds come as often as the
many desktop cards. Each article is audited as Markdown and as HTML; claims that are called wrong are printed.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from pathlib import Path

from gpuwise.facts import catalog
from gpuwise.jobs import reporting
from gpuwise.jobs.facts import Facts
from gpuwise.judge import audit
from gpuwise.model.gpu import GpuSpec
from gpuwise.show.article import MOST, article
from gpuwise.show.html import html
from gpuwise.show.page import markdown_page

OLD = 2018
CLASSES: dict[str, Callable[[GpuSpec], bool]] = {
    "laptop": lambda spec: spec.text("form") == "laptop",
    "AMD": lambda spec: spec.vendor == "AMD",
    "Intel": lambda spec: spec.vendor == "Intel",
    "Apple": lambda spec: spec.vendor == "Apple",
    "old": lambda spec: int((spec.text("launch") or "9999")[:4]) < OLD,
    "server": lambda spec: spec.text("segment") == "server",
    "desktop": lambda spec: spec.text("segment") != "server" and spec.text("form") == "pcie",
}


def drawn(draw: random.Random) -> tuple[GpuSpec, ...]:
    """Two to six different GPUs."""
    found: dict[str, GpuSpec] = {}
    many = draw.randint(2, MOST)
    while len(found) < many:
        of_class = CLASSES[draw.choice(list(CLASSES))]
        spec = draw.choice([one for one in catalog.all_gpus() if of_class(one)])
        found[spec.id] = spec
    return tuple(found.values())


def main(seed: int, count: int, output: Path | None) -> None:
    draw, facts = random.Random(seed), Facts()
    lines, wrong, agreed = [], 0, 0
    for _ in range(count):
        specs = drawn(draw)
        page = article(reporting.contest(facts, specs))
        for text, name in ((markdown_page(page), "article.md"), (html(page), "article.html")):
            found = audit.audit_text(text, name, today=facts.today)
            accused = [one for one in found.findings if one.verdict == "contradicts"]
            wrong, agreed = wrong + len(accused), agreed + found.count("agrees")
            ids = " ".join(spec.id for spec in specs)
            lines.append(f"{len(accused)} {found.count('agrees'):4} {name[8:]:4} {ids}")
            lines += [f"    {one}" for one in accused]
            print(*lines[-1 - len(accused) :], sep="\n", flush=True)
    lines.append(f"seed {seed}: {count} articles, {agreed} claims agree, {wrong} are called wrong")
    print(lines[-1])
    if output is not None:
        output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-n", type=int, default=40, dest="count")
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    main(asked.seed, asked.count, asked.output)
