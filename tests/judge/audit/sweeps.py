"""Tables of how the audit changes its mind as one thing grows: a figure, a comparison, how many are wrong,
how far words stand apart. A row names what stays, then each answer with the first place where it is given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from itertools import groupby, pairwise, product
from typing import Any
from zlib import crc32

from gpuwise.judge import audit
from gpuwise.judge.audit import cells, document, evidence, grid, prose
from gpuwise.judge.audit.grid import GRID
from gpuwise.judge.audit.judge import judge
from gpuwise.model.judgement import Claim, Finding, Number, Relation

TODAY = date(2026, 11, 23)
# Relative differences around every threshold, and factors by which figures are mistaken.
NEAR = (
    0, 0.0015, 0.003, 0.0055, 0.0065, 0.0095, 0.0105, 0.0115, 0.0145, 0.0155, 0.0195, 0.0205, 0.024, 0.026,
    0.029, 0.031, 0.039, 0.041, 0.044, 0.046, 0.049, 0.051, 0.069, 0.071, 0.079, 0.089, 0.091, 0.12, 0.149,
    0.151, 0.169, 0.171, 0.199, 0.201, 0.24, 0.26, 0.35, 0.45,
)  # fmt: skip
FAR = (
    1.58,
    1.8,
    1.9,
    1.96,
    2.0,
    2.04,
    2.1,
    2.39,
    2.41,
    2.5,
    3.0,
    4.0,
    6.0,
    7.9,
    8.0,
    8.1,
    9.0,
    16.0,
    1000.0,
    1024.0,
)
FACTORS = sorted({*(1 + d for d in NEAR), *(1 - d for d in NEAR[::3]), *FAR, *(1 / f for f in FAR[::4])})
# Label, how a value is written, what one of its unit is.
FIELDS: tuple[tuple[str, str, float], ...] = (
    ("VRAM", "{:.4g} GB", 2**30),
    ("VRAM", "{:.4f} GB", 2**30),
    ("Memory bandwidth", "{:.5g} GB/s", 1e9),
    ("Memory bandwidth", "{:.2g} TB/s", 1e12),
    ("NVLink", "{:.4g} GB/s", 1e9),
    ("TDP", "{:.4g} W", 1.0),
    ("CUDA cores", "{:.0f}", 1.0),
    ("Memory bus", "{:.0f}-bit", 1.0),
    ("Boost clock", "{:.0f} MHz", 1e6),
    ("L2 cache", "{:.4g} MB", 2**20),
    ("FP16 Tensor", "{:.4g} TFLOPS", 1e12),
    ("FP8", "{:.4g} TFLOPS", 1e12),
    ("FP32", "{:.3g} TFLOPS", 1e12),
    ("Transistors", "{:.4g} billion", 1e9),
    ("Process", "{:.0f} nm", 1.0),
)  # fmt: skip
NAMES = ("L4", "A100", "RTX 4090", "B200", "RTX 4080 Laptop", "H100 NVL", "A16")
CIRCUMSTANCES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("", {}),
    ("VRAM bandwidth TDP", {"approximate": True}),
    ("VRAM bandwidth", {"at_most": True}),
    ("VRAM TDP cores", {"count": 8}),
    ("VRAM TDP cores", {"count": 8, "total": True}),
    ("VRAM NVLink bandwidth FP32", {"block": 3 * GRID + 1}),
    ("FP16 FP32", {"vector": True}),
    ("FP16 FP8", {"sparse": True}),
)
"""Words of labels of which a circumstance is of interest, and it."""


def turns(answers: Iterable[tuple[object, str]]) -> str:
    """Each answer with the first place where it is given."""
    found = []
    for answer, run in groupby(answers, key=lambda one: one[1]):
        first = next(run)[0]
        found.append(f"{first:.4g} {answer}" if isinstance(first, float) else f"{first} {answer}")
    return ", ".join(found)


def code(found: Finding) -> str:
    return f"{found.verdict.split(' ')[0]}{f' ({found.kind})' if found.kind else ''}"


def figures() -> Iterator[str]:
    """A figure that is so many times the known one."""
    for (label, written, unit), name in product(FIELDS, NAMES):
        owner, field = grid.subject_of(name), cells.label_of(label).fields[0]
        assert owner is not None
        known = next((k.value for i in owner.gpu_ids for k in evidence.of(i, field)), None)
        if not isinstance(known, float):
            continue
        # All factors and circumstances of the first two GPUs, of the others the usual one at every third.
        factors = FACTORS if name in NAMES[:2] else FACTORS[::3]
        texts = [written.format(factor * known / unit) for factor in factors]
        for labels, circumstance in CIRCUMSTANCES:
            if labels and not (name in NAMES[:2] and set(labels.split()) & set(label.split())):
                continue
            codes = [_of_cell(owner, label, text, circumstance) for text in texts]
            answers = turns(zip(factors, codes, strict=True))
            yield f"{name} | {label} {written} | {_said(circumstance)} | {answers}"


def _of_cell(owner: grid.Subject, label: str, text: str, circumstance: dict[str, Any]) -> str:
    reading = next(cells.readings(cells.label_of(label), text), None)
    if reading is None:
        return "-"
    claim = replace(grid.claim_of(reading, owner, 1, 1, True), **circumstance)
    return code(judge([claim])[0])


def _said(circumstance: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in circumstance.items())


PAIRS = (("h100-sxm5-80gb", "a100-sxm4-80gb"), ("rtx-4090", "rtx-3090"), ("l4", "t4"), ("b200-sxm", "l40s"))
TWO: dict[str, Any] = {"digits": 2}
RELATIONS: tuple[tuple[Relation, tuple[dict[str, Any], ...]], ...] = (
    ("times", ({"digits": 1}, TWO, {"digits": 3})),
    ("times", (TWO | {"approximate": True}, TWO | {"more": True}, TWO | {"at_most": True})),
    ("over", (TWO,)),
    ("under", (TWO,)),
    ("plus", (TWO, TWO | {"approximate": True})),
    ("same", ({"digits": 1}, {"digits": 1, "approximate": True})),
)  # fmt: skip


def comparisons() -> Iterator[str]:
    """What one GPU has beside another, as so many times what is right."""
    fields = ("memory_bytes_per_s", "power_w", "memory_bytes")
    for (one, other), field, (relation, ways) in product(PAIRS, fields, RELATIONS):
        a, b = (float(evidence.of(gpu, field)[0].value) for gpu in (one, other))
        right = {"plus": a - b, "same": 1.0}.get(relation, a / b)
        claim = Claim(
            line=1, gpu=one, gpu_ids=(one,), field=field, values=(), stated="", than=(other,),
            relation=relation,
        )  # fmt: skip
        for way in ways:
            codes = [code(judge([_compared(claim, right * factor, **way)])[0]) for factor in FACTORS]
            answers = turns(zip(FACTORS, codes, strict=True))
            yield f"{one} {other} | {field} | {relation} {_said(way)} | {answers}"


def _compared(claim: Claim, value: float, *, digits: int, **more: Any) -> Claim:
    return replace(claim, values=(Number(value=value, digits=digits),), **more)


# Right and wrong figures of one GPU, as (field, right, wrong).
L4 = (
    ("memory_bytes", 24 * 2**30, 20 * 2**30), ("memory_bytes_per_s", 300e9, 410e9), ("power_w", 72.0, 90.0),
    ("cuda_cores", 7424.0, 7000.0), ("memory_bus_bits", 192.0, 160.0), ("l2_bytes", 48 * 2**20, 33 * 2**20),
    ("boost_hz", 2040e6, 2500e6), ("process_nm", 5.0, 9.0),
)  # fmt: skip
PLACES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("a section", {"block": 1}),
    ("rows of a table", {"block": 2 * GRID}),
    ("below an unsure heading", {"block": 1, "group": "l4"}),
    ("a table below one", {"block": 2 * GRID, "group": "l4"}),
)


def crowds() -> Iterator[str]:
    """How many wrong figures are called so beside as many right ones."""
    for (about, place), united, right in product(PLACES, (True, False), range(7)):
        found = [judge([*_crowd(place, right, wrong, united=united)]) for wrong in range(1, 11)]
        told = [str(sum(one.verdict == "contradicts" for one in each)) for each in found]
        unit = "with units" if united else "bare"
        yield f"{about} | {unit} | {right} right | {turns(enumerate(told, 1))}"


def _crowd(place: dict[str, Any], right: int, wrong: int, *, united: bool) -> Iterator[Claim]:
    for number in range(right + wrong):
        field, good, bad = L4[number % len(L4)]
        value = good if number < right else bad
        block = place["block"] + (number if place["block"] >= GRID else 0)
        yield Claim(
            line=number, gpu="L4", gpu_ids=("l4",), field=field, values=(Number(value=value, digits=4),),
            stated=f"{value:.4g} W{number}" if united else f"{value:.4g}{number}",
            **{**place, "block": block},
        )  # fmt: skip


# Sentences, lists and tables into which words are put; figures in them are wrong, or another GPU's.
APART = (
    "The L4 has 20 GB of memory.",
    "The L4 draws 90 W.",
    "The L4's 410 GB/s of bandwidth is low.",
    "With 20 GB of memory, the L4 is small.",
    "At 90 W, the L4 needs no cable.",
    "20 GB of VRAM on the L4.",
    "Bandwidth: 410 GB/s for the L4.",
    "The T4 has 16 GB of GDDR6 and the L4 has 20 GB.",
    "The L4 with 24 GB, compared with the T4 with 20 GB, draws 90 W.",
    "The T4 draws 70 W, while the L4 draws 90 W and has 20 GB.",
    "The L4 is new. It has 20 GB and a 160-bit bus.",
    "The L4 offers 410 GB/s vs 320 GB/s on the T4.",
    "The L4 reaches 150 TFLOPS of FP16 with its tensor cores.",
    "The L4 has 7,000 CUDA cores and 200 tensor cores.",
    "L4: 20 GB, 410 GB/s, 90 W",
    "The L4 (20 GB, 90 W) follows the T4 (16 GB, 70 W).",
    "The L4 has twice the memory of the T4.",
    "The L4 draws 20 W more than the T4.",
    "The L4 supports FP8, the T4 does not.",
    "Unlike the T4, the L4 lacks FP8.",
    "Two L4 have 40 GB in total and draw 90 W each.",
    "A server with 8 L4 GPUs has 200 GB of GPU memory.",
    "The L4 costs $9 per hour.",
    "The L4 was launched in 2019.",
    "The T4 and the L4 have 16 and 20 GB respectively.",
    "The NVLink bandwidth of the A100 is 500 GB/s, its memory has 2,500 GB/s.",
    "## L4\n\n- Memory: 20 GB\n- TDP: 90 W",
    "## L4\n\nMemory\n\n20 GB\n\nTDP\n\n90 W",
    "| GPU | Memory | TDP |\n|---|---|---|\n| L4 | 20 GB | 90 W |\n| T4 | 16 GB | 70 W |",
    "|  | L4 | T4 |\n|---|---|---|\n| Memory | 20 GB | 16 GB |\n| TDP | 90 W | 70 W |",
    "GPU VRAM TDP\nL4 20 GB 90 W\nT4 16 GB 70 W",
)
WORDS = (0, 1, 3, 8, 20)


def said(text: str) -> str:
    """GPU, field and verdict of each finding, in few letters."""
    found = audit.audit_text(text, "a.md", today=TODAY)
    return " ".join(f"{one.gpu[-2:]}.{one.field[:8]}.{one.verdict[:2]}" for one in found.findings) or "-"


def apart() -> Iterator[str]:
    """More and more words at one place of a text."""
    for text in APART:
        # Every other word.
        places = [at for at, character in enumerate(text) if character == " " and text[at - 1] not in "#-|"][
            ::2
        ]
        yield f"## {' '.join(text.split())}"
        for at in places:
            answers = ((n, said(text[:at] + " plainly" * n + text[at:])) for n in WORDS)
            yield f"{' '.join(text[max(0, at - 12) : at].split())} | {turns(answers)}"


# How far words are put apart, in characters, and how often what stands in braces stands there.
WIDTHS = (0, 4, 12, 20, 32, 44, 56, 72, 88, 120, 160)
TIMES = (0, 1, 2, 3, 5, 8, 12, 20)
BRACES = re.compile(r"\{(.*?)\}", re.DOTALL)


def gaps(texts: Iterable[str]) -> Iterator[str]:
    """More and more characters where a text has its mark, or more of what it has in braces; between two whose
    answers differ the edge is looked for."""
    for text in texts:
        whole = text.replace("~", "\n\n").replace("^", "\n")
        widths = TIMES if "{" in text else WIDTHS
        known = {width: _apart(whole, width) for width in widths}
        for low, high in pairwise(widths):
            while known[low] != known[high] and high - low > 1:
                middle = (low + high) // 2
                known[middle] = _apart(whole, middle)
                low, high = (middle, high) if known[middle] == known[low] else (low, middle)
        yield f"{text} | {turns(sorted(known.items()))}"


# Sentences with an amount, and what is right or possible in its place.
AMOUNTS = (
    ("An H100 SXM at $2.50 per hour costs ${} per week.", 420),
    ("An H100 SXM at $2.50 per hour costs ${} per month.", 1750),
    ("An H100 SXM at $2.50 per hour costs ${} per year.", 21900),
    ("An H100 SXM at $2.50 per hour costs ${} for 100 hours.", 250),
    ("An H100 SXM costs ${} per hour.", 2.5),
    ("8 x 80 GB = {} GB of H100 memory.", 640),
    ("Four L4 with 24 GB each have {} GB in total.", 96),
    ("The L4 runs Llama 3 8B in FP16 at {} tokens per second for one user.", 18),
    ("The L4 runs Llama 3 8B in 4 bits at {} tokens per second for one user.", 70),
    ("The L4 trains ResNet-50 in FP16 at {} images per second.", 800),
    ("The A100 80GB trains BERT in BF16 at {} sequences per second.", 500),
    ("The H100 SXM has {} times the memory bandwidth of the A100 80GB.", 1.64),
    ("The L4 draws {} W more than the T4.", 2),
    ("The L4 has {} GB/s of bandwidth.", 300),
    ("The A100's NVLink moves {} GB/s.", 600),
    ("The L4 does {} TFLOPS of FP16 with its tensor cores.", 121),
    ("The L4 does {} TFLOPS of FP32.", 30.3),
    ("The L4 has a boost clock of {} MHz.", 2040),
    ("The RTX 4090 had an MSRP of ${}.", 1599),
    ("The L4 has {} GB of memory.", 24),
    ("The L4 draws about {} W.", 72),
    ("The RTX 4080 Laptop GPU draws {} W.", 150),
    ("The GB10 has {} GB of memory.", 128),
    ("The L4 has {} billion transistors.", 35.8),
    ("| GPU | Memory |\n|---|---|\n| L4 | {} MiB |\n| T4 | 15360 MiB |", 23034),
    ("The L4 has {} MB of memory.", 24576),
    ("Rates per GPU-hour:\n\n- L4: ${}\n- T4: $0.40", 0.8),
    ("| GPU | Memory | TDP |\n|---|---|---|\n| 8x L4 | {} GB | 576 W |", 192),
    ("| GPU | CUDA cores | Launch | Bandwidth |\n|---|---|---|---|\n| L4 | {} | 2023 | 300 GB/s |", 7424),
)
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9, 0.96, 1.0, 1.04, 1.1, 1.3, 1.7, 2.0, 3.0, 5.0, 8.0, 20.0, 300.0, 1000.0)


def amounts() -> Iterator[str]:
    """An amount as so many times what is right; each edge to a hundredth."""
    for text, right in AMOUNTS:
        known = {share: said(text.format(f"{share * right:.6g}")) for share in SHARES}
        for low, high in pairwise(SHARES):
            while known[low] != known[high] and high > 1.01 * low:
                middle = (low + high) / 2
                known[middle] = said(text.format(f"{middle * right:.6g}"))
                low, high = (middle, high) if known[middle] == known[low] else (low, middle)
        yield f"{' '.join(text.split())} | {turns(sorted(known.items()))}"


def _apart(text: str, width: int) -> str:
    """GPU, field and verdict of each finding, and which claims are sure, with so many characters at marks;
    with so many of what braces hold, each finding once."""
    filler = ("plainly so " * 20)[:width].strip()
    whole = BRACES.sub(lambda it: it[1] * width, text)
    whole = whole.replace("\u00a7 ", f"{filler} " if filler else "").replace(" \u00a7", f" {filler}")
    with watched() as (claims, _):
        answer = said(whole)
    if "{" in text:
        return " ".join(dict.fromkeys(answer.split()))
    return f"{answer} {''.join('01'[claim.sure] for claim in claims)}"


@contextmanager
def watched() -> Iterator[tuple[list[Claim], list[tuple[int, str]]]]:
    """Claims, and what each pair of an owner and a field costs with the place of its value, as they come."""
    claims, costs = list[Claim](), list[tuple[int, str]]()
    option, read_claims = prose._Choice.option, document.claims

    def priced(self: Any, owner: Any, reading: Any, owned: float, field: float) -> Any:
        one = option(self, owner, reading, owned, field)
        ids = owner.gpu_ids[0] if owner.gpu_ids else owner.text
        costs.append((reading.token.start, f"{ids}.{reading.field[:9]} {owned:.3f}+{one.said:.3f}"))
        return one

    def kept(blocks: Any) -> Iterator[Any]:
        for one in read_claims(blocks):
            claims.extend([one] if isinstance(one, Claim) else ())
            yield one

    prose._Choice.option = priced  # type: ignore[method-assign]
    document.claims = kept  # type: ignore[assignment]
    try:
        yield claims, costs
    finally:
        prose._Choice.option = option  # type: ignore[method-assign]
        document.claims = read_claims


def mixed(texts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """What the audit says of each text, and a sum of what led to it."""
    with watched() as (claims, costs):
        for _, text in texts:
            answer, inside = said(text), crc32(repr((claims, costs)).encode())
            yield f"{' '.join(text.split())[:60]} | {answer} | {len(claims)} {inside:08x}"
            claims.clear()
            costs.clear()


def tables() -> dict[str, Callable[[], list[str]]]:
    return {
        "figures": lambda: [*figures()],
        "comparisons": lambda: [*comparisons()],
        "crowds": lambda: [*crowds()],
        "apart": lambda: [*apart()],
        "amounts": lambda: [*amounts()],
    }
