"""Score the audit on texts that are written here: own sentences and layouts, known figures, planted errors.

    python -m evaluation.audit.generate [--half first|second] [--seed N] [-n TEXTS] [-v] [--templates FILE]

The templates are parted into two halves: rules are tuned on the first; the second is looked at once, so that
its score says what texts of unseen shapes get. Every figure is right but for the planted errors, of which
each text has some; sentences without claims stand between.
"""

from __future__ import annotations

import argparse
import html
import json
import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpuwise.facts import catalog
from gpuwise.judge import audit
from gpuwise.judge.audit import evidence

OUR_TEMPLATES = Path(__file__).with_name("templates.toml")
TEMPLATES = tomllib.loads(OUR_TEMPLATES.read_text(encoding="utf-8"))
# The share of claims that are made wrong.
WRONG = 0.1
FIELDS = {
    "memory": "memory_bytes", "bandwidth": "memory_bytes_per_s", "power": "power_w", "cores": "cuda_cores",
    "tensor": "tensor_cores", "fp16": "peak:fp16", "fp32": "peak:fp32", "type": "memory_type",
    "bus": "memory_bus_bits", "architecture": "architecture", "cc": "compute_capability", "year": "launch",
    "msrp": "launch_price_usd", "l2": "l2_bytes", "transistors": "transistors", "process": "process_nm",
    "pcie": "pcie_generation", "boost": "boost_hz", "sm": "sm_count",
}  # fmt: skip
# Of one product with one value, as people write them.
NAMES = {
    "rtx-4090": ["RTX 4090", "GeForce RTX 4090"], "rtx-3090": ["RTX 3090", "GeForce RTX 3090"],
    "rtx-5090": ["RTX 5090", "NVIDIA GeForce RTX 5090"], "rtx-4080": ["RTX 4080"], "rtx-3080": ["RTX 3080"],
    "rtx-4070": ["RTX 4070"], "rtx-3060": ["RTX 3060 12GB"], "l4": ["L4", "NVIDIA L4"],
    "t4": ["T4", "Tesla T4"],
    "l40s": ["L40S", "NVIDIA L40S"], "a10": ["A10", "NVIDIA A10"], "a30": ["A30", "NVIDIA A30"],
    "a40": ["A40", "NVIDIA A40"], "rtx-a6000": ["RTX A6000", "A6000"], "rtx-a5000": ["RTX A5000"],
    "rtx-a4000": ["RTX A4000"], "rtx-6000-ada": ["RTX 6000 Ada", "RTX 6000 Ada Generation"],
    "h200-sxm": ["H200 SXM", "NVIDIA H200 SXM"], "h100-sxm": ["H100 SXM", "H100 SXM5"],
    "h100-pcie": ["H100 PCIe"], "a100-sxm4-80gb": ["A100 SXM4 80GB", "A100 80GB SXM"],
    "a100-pcie-40gb": ["A100 PCIe 40GB"], "rtx-2080-ti": ["RTX 2080 Ti"], "rtx-4060-ti": ["RTX 4060 Ti 8GB"],
    "rtx-5080": ["RTX 5080"], "titan-rtx": ["Titan RTX"], "rtx-3070": ["RTX 3070"],
    "gtx-1080-ti": ["GTX 1080 Ti"],
}  # fmt: skip


@dataclass(slots=True)
class Claim:
    """One figure of a text; `stated` stands on `line`."""

    gpu_id: str
    field: str
    stated: str
    wrong: bool
    line: int = 0
    shape: str = ""


@dataclass(slots=True)
class Writer:
    """One text in the making."""

    random: random.Random
    style: int
    claims: list[Claim] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    said: dict[tuple[str, str], tuple[float | str, bool]] = field(default_factory=dict)

    def value(self, gpu_id: str, name: str, *, unit: bool = True) -> str | None:
        """The figure of a field as this text prints it, sometimes wrong; None where it is not known."""
        field_ = FIELDS[name]
        if (gpu_id, name) in self.said:
            # A text says the same of one thing wherever it says it.
            value, wrong = self.said[gpu_id, name]
            stated = self.printed(name, value, unit)
            self.claims.append(Claim(gpu_id, field_, stated, wrong))
            return f"\x01{len(self.claims) - 1}\x02{stated}"
        known = [e for e in evidence.of(gpu_id, field_) if e.form in ("value", "dense")]
        if not known or (known[0].witnesses < 2 and field_ != "launch"):
            return None
        right = known[0].value
        wrong = self.random.random() < WRONG
        changed = self.changed(gpu_id, field_, right) if wrong else None
        wrong, value = changed is not None, right if changed is None else changed
        self.said[gpu_id, name] = value, wrong
        stated = self.printed(name, value, unit)
        self.claims.append(Claim(gpu_id, field_, stated, wrong))
        # A mark that tells the line afterwards.
        return f"\x01{len(self.claims) - 1}\x02{stated}"

    def changed(self, gpu_id: str, field_: str, right: float | str) -> float | str | None:
        """A wrong value: another GPU's, or half as much again; None where none is far enough."""
        others = [o for o in self.random.sample(sorted(NAMES), 6) if o in IDS]
        values = [e.value for o in others for e in evidence.of(o, field_)[:1]]
        if isinstance(right, str):
            apart = [v for v in values if isinstance(v, str) and v[:4].lower() != right[:4].lower()]
            if field_ == "launch":
                apart = [v for v in apart if abs(int(v[:4]) - int(right[:4])) > 1]
            return self.random.choice(apart) if apart else None
        numbers = [float(v) for v in values if isinstance(v, float) and right and not 0.8 < v / right < 1.25]
        all_known = {e.value for e in evidence.of(gpu_id, field_)}
        factor = self.random.choice((1.5, 0.75, 2.0))
        made = right * factor if field_ not in ("compute_capability", "pcie_generation") else None
        options = [v for v in numbers if v not in all_known] + ([made] if made else [])
        chosen = self.random.choice(options) if options else None
        if chosen is None or any(
            isinstance(v, float) and v and abs(chosen / v - 1) < 0.12 for v in all_known
        ):
            return None
        return chosen

    def printed(self, name: str, value: float | str, unit: bool) -> str:
        if isinstance(value, str):
            return value[:4] if name == "year" else value.split(" (")[0]
        gap = " " if self.style % 2 else ""
        comma = "," if self.style % 3 else ""

        def whole(number: float) -> str:
            return f"{number:{comma}.0f}"

        match name:
            case "memory":
                return f"{value / 2**30:.0f}" + (f"{gap}GB" if unit else "")
            case "bandwidth":
                if value >= 1e12 and self.style % 4 == 1 and unit:
                    return f"{value / 1e12:.3g}{gap}TB/s"
                return whole(value / 1e9) + (f"{gap}GB/s" if unit else "")
            case "power":
                return whole(value) + (f"{gap}W" if unit else "")
            case "fp16" | "fp32":
                return f"{value / 1e12:.4g}" + (f"{gap}TFLOPS" if unit else "")
            case "bus":
                return f"{value:.0f}" + ("-bit" if unit else "")
            case "l2":
                return f"{value / 2**20:.4g}{gap}MB"
            case "transistors":
                return f"{value / 1e9:.1f} billion"
            case "process":
                return f"{value:.0f}{gap}nm"
            case "pcie":
                return f"PCIe {value:.0f}.0"
            case "msrp":
                return f"${value:,.0f}"
            case "boost":
                return whole(value / 1e6) + " MHz"
            case "cc":
                return f"{value:.1f}"
            case _:
                return whole(value)

    def fill(self, template: str, gpus: Sequence[str], names: dict[str, str]) -> str | None:
        """A template with its GPUs and figures; None where a figure is not known."""
        before = len(self.claims)
        words = dict(zip("ab", gpus, strict=False))
        out = []
        for part in re.split(r"(\{[ab](?:\.\w+)?\})", template):
            match = re.fullmatch(r"\{([ab])(?:\.(\w+))?\}", part)
            if match is None:
                out.append(part)
            elif match[2] is None:
                out.append(names[words[match[1]]])
            else:
                value = self.value(words[match[1]], match[2])
                if value is None:
                    del self.claims[before:]
                    return None
                out.append(value)
        for claim in self.claims[before:]:
            claim.shape = template
        return "".join(out)

    def text(self) -> str:
        """The text, with each claim's line known."""
        done = []
        for number, line in enumerate("\n".join(self.lines).split("\n"), 1):
            for mark in re.findall(r"\x01(\d+)\x02", line):
                self.claims[int(mark)].line = number
            done.append(re.sub(r"\x01\d+\x02", "", line))
        return "\n".join(done)


IDS = [gpu_id for gpu_id in NAMES if gpu_id in {spec.id for spec in catalog.all_gpus()}]


def half(items: Sequence[Any], which: str) -> list[Any]:
    """Half of the templates, drawn at random once and for all."""
    order = sorted(range(len(items)), key=lambda n: random.Random(f"{n}:{items[n]}").random())
    middle = (len(order) + 1) // 2
    chosen = order[:middle] if which == "first" else order[middle:] if which == "second" else order
    return [items[n] for n in sorted(chosen)]


def written(seed: int, which: str) -> tuple[str, str, list[Claim]]:
    """(text, name, claims) of one text."""
    rng = random.Random(seed)
    writer = Writer(rng, rng.randrange(12))
    gpus = rng.sample(IDS, rng.randint(2, 4))
    names = {gpu_id: rng.choice(NAMES[gpu_id]) for gpu_id in gpus}
    shape = rng.choice(("prose", "prose", "lists", "lines", "table", "table"))
    kinds: dict[str, Callable[[], str]] = {
        "prose": lambda: prose(writer, gpus, names, which),
        "lists": lambda: lists(writer, gpus, names, which),
        "lines": lambda: lines(writer, gpus, names, which),
        "table": lambda: table(writer, gpus, names, which),
    }
    suffix = kinds[shape]()
    return writer.text(), f"text{suffix}", writer.claims


def prose(writer: Writer, gpus: Sequence[str], names: dict[str, str], which: str) -> str:
    rng = writer.random
    templates, noise = half(TEMPLATES["prose"], which), half(TEMPLATES["noise"], which)
    for _ in range(rng.randint(2, 4)):
        sentences = []
        pair = rng.sample(list(gpus), 2)
        for _ in range(rng.randint(2, 4)):
            template = str(rng.choice(noise if rng.random() < 0.25 else templates))
            sentences.append(writer.fill(template, pair, names) or "")
            if rng.random() < 0.5:
                pair = rng.sample(list(gpus), 2)
        writer.lines += [" ".join(s for s in sentences if s), ""]
    return ".md"


def fields(writer: Writer, count: int) -> list[str]:
    return writer.random.sample([f for f in TEMPLATES["labels"] if f in FIELDS], count)


def label(writer: Writer, name: str, which: str) -> str:
    return str(writer.random.choice(half(TEMPLATES["labels"][name], which) or TEMPLATES["labels"][name]))


def lists(writer: Writer, gpus: Sequence[str], names: dict[str, str], which: str) -> str:
    """A heading for each GPU, and below it a list of labels and values."""
    rng = writer.random
    heading, item = (
        str(rng.choice(half(TEMPLATES["headings"], which))),
        str(rng.choice(half(TEMPLATES["items"], which))),
    )
    noise = half(TEMPLATES["noise"], which)
    for gpu_id in gpus:
        writer.lines += [heading.replace("{a}", names[gpu_id]), ""]
        if rng.random() < 0.3:
            sentence = writer.fill(str(rng.choice(noise)), [gpu_id, gpu_id], names)
            writer.lines += [sentence or "", ""]
        for name in fields(writer, rng.randint(4, 8)):
            named, before = label(writer, name, which), len(writer.claims)
            value = writer.value(gpu_id, name, unit="(GB)" not in named)
            if value is not None:
                writer.claims[before].shape = f"{heading} / {item} / {named}"
                writer.lines.append(item.replace("{l}", named).replace("{v}", value))
        writer.lines.append("")
    return ".txt"


def lines(writer: Writer, gpus: Sequence[str], names: dict[str, str], which: str) -> str:
    """One GPU a line, with values that mostly say by their unit what they are."""
    rng = writer.random
    head, between = rng.choice(half(TEMPLATES["lines"], which))
    plain = {"cores": "{} CUDA cores", "tensor": "{} tensor cores", "fp16": "{} FP16 dense",
             "fp32": "{} FP32", "boost": "{} boost", "l2": "{} L2", "bus": "{} bus"}  # fmt: skip
    chosen = rng.sample(
        ["memory", "bandwidth", "power", "cores", "tensor", "fp16", "fp32", "bus", "type"], rng.randint(3, 5)
    )
    for gpu_id in gpus:
        values = []
        for name in chosen:
            before = len(writer.claims)
            if (value := writer.value(gpu_id, name)) is not None:
                writer.claims[before].shape = f"{head} / {between}"
                values.append(plain.get(name, "{}").format(value))
        close = ")" if head.endswith("(") else ""
        writer.lines.append(head.replace("{g}", names[gpu_id]) + between.join(values) + close)
    return ".md"


def table(writer: Writer, gpus: Sequence[str], names: dict[str, str], which: str) -> str:
    rng = writer.random
    kind = str(rng.choice(half(TEMPLATES["tables"], which)))
    between = kind in ("lines between", "markdown side")
    gpus = gpus[:2] if between else gpus[:1] if kind == "json" else gpus
    rows, labels = [], []
    for name in fields(writer, rng.randint(4, 8)):
        named = label(writer, name, which)
        before = len(writer.claims)
        cells = [writer.value(gpu_id, name, unit="(GB)" not in named) for gpu_id in gpus]
        if all(cell is None for cell in cells) or (None in cells and not kind.startswith("markdown")):
            # Later marks stay as they are: what is not printed has no line.
            for claim in writer.claims[before:]:
                claim.line = -1
            continue
        for claim in writer.claims[before:]:
            claim.shape = f"{kind} / {named}"
        labels.append(named)
        rows.append([cell or "\u2014" for cell in cells])
    title = " vs ".join(names[g] for g in gpus)
    called = [names[g] for g in gpus]
    writer.lines += list(laid_out(kind, title, called, labels, rows))
    return ".csv" if kind.startswith("csv") else ".html" if kind.startswith("html") else ".md"


def laid_out(
    kind: str, title: str, gpus: Sequence[str], labels: Sequence[str], rows: Sequence[Sequence[str]]
) -> Iterator[str]:
    """A table in one of its dresses; `rows` has one row a label."""
    by_row = kind.endswith("rows")
    grid: list[Sequence[str]] = [
        ["GPU", *labels],
        *([g, *(row[n] for row in rows)] for n, g in enumerate(gpus)),
    ]
    if not by_row:
        grid = [["Specification", *gpus], *([name, *row] for name, row in zip(labels, rows, strict=True))]
    match kind.split()[0]:
        case "markdown" if kind == "markdown side":
            yield from (f"# {title}", "", "| Spec | First | Second |", "|---|---|---|")
            yield from ("| " + " | ".join(row) + " |" for row in grid[1:])
        case "markdown":
            yield "| " + " | ".join(grid[0]) + " |"
            yield "|" + "---|" * len(grid[0])
            yield from ("| " + " | ".join(row) + " |" for row in grid[1:])
        case "csv":
            yield from (",".join(f'"{cell}"' if "," in cell else cell for cell in row) for row in grid)
        case "tabs":
            yield from ("\t".join(row) for row in grid)
        case "pipes":
            yield from (" | ".join(row) for row in grid)
        case "spaces":
            yield from (" ".join(row) for row in grid)
        case "glued":
            yield from ("".join(row) for row in grid)
        case "html":
            yield "<table>"
            for row in grid:
                yield "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            yield "</table>"
        case "titled":
            yield from (f"{title}: which one to buy?", "", *(" | ".join(row) for row in grid[1:]))
        case "json":
            yield "{"
            yield f' "{gpus[0]}": {{'
            yield from (f'  "{name}": "{row[0]}",' for name, row in zip(labels, rows, strict=True))
            yield " }\n}"
        case "lines" if kind == "lines between":
            yield from (title, "")
            for name, row in zip(labels, rows, strict=True):
                yield from (row[0], name, row[1])
        case "lines" if kind == "lines repeated":
            yield from gpus
            for name, row in zip(labels, rows, strict=True):
                for cell in row:
                    yield from (name, cell)
        case _:
            yield from (
                (cell for row in grid for cell in row)
                if by_row
                else (*gpus, *(c for r in grid[1:] for c in r))
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", default="first", choices=("first", "second", "all"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-n", type=int, default=200)
    parser.add_argument("-v", action="store_true")
    parser.add_argument("--templates", type=Path, default=OUR_TEMPLATES)
    asked = parser.parse_args()
    TEMPLATES.update(tomllib.loads(asked.templates.read_text(encoding="utf-8")))
    tally: Counter[str] = Counter()
    shapes: dict[str, Counter[str]] = {}
    for seed in range(asked.seed, asked.seed + asked.n):
        text, name, claims = written(seed, asked.half)
        found = audit.audit_text(text, name).findings
        accused = {id(f) for f in found if f.verdict == "contradicts"}
        for claim in (c for c in claims if c.line > 0):
            ours = [
                f for f in found
                if claim.line in f.lines and f.field in alike(claim.field)
                and plain(claim.stated) in plain(f.stated)
            ]  # fmt: skip
            called = catalog.get(claim.gpu_id).name
            mine = [f for f in ours if same(f.gpu, called, NAMES[claim.gpu_id])] or ours
            hit = any(f.verdict == "contradicts" for f in mine)
            accused -= {id(f) for f in ours}
            counts = shapes.setdefault(claim.shape, Counter())
            for counter in (tally, counts):
                counter["claims"] += 1
                counter["read"] += bool(mine)
                counter["wrong"] += claim.wrong
                counter["found"] += claim.wrong and hit
                counter["false"] += not claim.wrong and hit
            if asked.v and (not mine or hit != claim.wrong):
                state = f"{mine[0].verdict} as {mine[0].gpu} {mine[0].field}" if mine else "unread"
                print(f"{seed}:{claim.line} {claim.gpu_id} {claim.field} {claim.stated!r}",
                      "WRONG" if claim.wrong else "right", "=>", state, "|", claim.shape)  # fmt: skip
        tally["stray"] += len(accused)
        if asked.v:
            for one in (f for f in found if id(f) in accused):
                print(f"{seed}:{one.lines} STRAY {one.gpu} {one.field} {one.stated} {one.kind}")
    if asked.v:
        for shape, counts in sorted(shapes.items(), key=lambda one: one[1]["read"] / one[1]["claims"])[:25]:
            print(json.dumps(counts), shape)
    accusations = tally["found"] + tally["false"] + tally["stray"]
    recall, precision = tally["found"] / tally["wrong"], tally["found"] / accusations
    print(f"{asked.n} texts, {tally['claims']} claims, {tally['wrong']} wrong; recall {recall:.0%}")
    print(f"precision {precision:.0%}: {tally['false']} right ones accused, {tally['stray']} of no claim")
    print(f"read {tally['read'] / tally['claims']:.0%}")


def plain(text: str) -> str:
    return re.sub(r"[,\s~]", "", text).lower()


def alike(field_: str) -> tuple[str, ...]:
    twins = {"peak:fp16": ("peak:fp16", "peak:bf16", "peak:tensor")}
    return twins.get(field_, (field_,))


def same(gpu: str, name: str, written_as: Sequence[str]) -> bool:
    return gpu == name or any(plain(gpu) in plain(w) or plain(w) in plain(gpu) for w in written_as)


if __name__ == "__main__":
    main()
