"""What each layer of the audit makes of spelled inputs, before anything is judged: typed words, labels, cells
under labels, names, lines, blocks, and what the catalog says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from itertools import groupby, product

from gpuwise.judge.audit import cells, document, english, evidence, grid, layout, read, words
from gpuwise.judge.audit.comparisons import TIMES
from gpuwise.model.judgement import Number

VALUES = """\
24 GB|24GB|24 GiB|24,576 MB|24.5 Go|0.5 TB|1,792 GB/s|1.792 GB/s|3.35 TB/s|900GB/s|400 Gb/s|21 Gbps
64 Gbit/s
65 Gb/s|450 W|0.45 kW|75-450 W|450 watts|2.52 GHz|2,520 MHz|1'024 MHz|384-bit|5120 bit|4 nm|76.3 billion
80 Mrd
72 MB|96 KB|312 TFLOPS|0.3 PFLOPS|312 teraflops|1,979 / 3,958 TFLOPS|660 TOPS
9,000 dense and up to 18,000 sparse TFLOPS
18,000 sparse FP4 TFLOPS|1,321 AI TOPS|16 896|16,896|16.384|27,8|16384 CUDA cores|1 920 cuda|128 SMs|4th
2024-25|17:04
$1,599|US$ 2.50/h|$0.45 per hour|2.50 USD per GPU-hour|$1.50-$3.00|$2-3k|EUR 300|1.5k W|40/80 GB
40 or 80 GB|6 and 12 GB
600-900 W|from 40 to 80 GB|2x8000|2x186 GB|4 x 24 GB|about 24 GB|up to 700 W|~300 GB/s|nearly 2 TB/s
24 GB+|3 W/TFLOPS
128 t/s|54 tokens/s|980 images/s|1.2 it/s|90 img/sec|50 %|1.5x|12-pin|2.5 slots|dual-slot|3-slot
PCIe 5.0 x16|PCIe Gen4
Gen4 x16|HBM3|HBM2e|GDDR6X|LPDDR5x|DDR5|AD102|GA100-883|TU104|Navi 31|Ada Lovelace|Hopper|RDNA 3|CDNA2
Grace Hopper
March 2023|Mar. 14, 2023|2023-03-21|2023/3|Q3 2022|Q1-2024|mars 2023|Oktober 2022|de mayo 2020|2020|sm_89
8.9|N/A|TBD
without sparsity|with sparsity|dense|sparse|624 TFLOPS*|VRAM80 GB|HBM380GB|FP16312 TFLOPS|TDP300 W|0
00 GB|1e5 W|-5 W"""
SENTENCES = """\
8x H100 SXM|eight H100|a pair of T4|dual RTX 3090|16 x A100 80GB|8 x 80 GB H100|with 4 L40S|2 T4|quad A40
12 B200
H100 SXM5 80GB|A100 (A100-SXM4-80GB)|A100 vs H100|RTX 4090 and RTX 3090|DGX H100|HGX B200|GB200 NVL72
H100 NVL 94 GB
RTX PRO 6000 Server Edition|RTX 4090 (24 GB)|24 GB RTX 4090|L4 x8|L4 * 4|4 GPUs: L4|RTX 4090 Laptop
MI300X|A100 1g.10gb
T600|half an H100|GTX 999 Ti|Radeon RX 7900 XTX|NVIDIA GeForce RTX 4070 Ti SUPER|Tesla V100-SXM2-32GB
GH200|Apple M4 Max"""
LABELS = """\
VRAM (GB)|Memory|Memory Bandwidth|Memory bandwidth (TB/s)|memory bandwidth gbps|TDP|TDP (W)|Max power
Board power limit
CUDA Cores|Stream processors|Tensor Cores|RT cores|SMs|Boost Clock (MHz)|Base clock|L2 cache (MB)
Bus width|Memory bus
FP16|FP16 Tensor Core|FP16 (dense / sparse)|FP16 TFLOPS*|BF16 with sparsity|INT8 TOPS
INT4 Tensor Core (TOPS)|FP32|FP64 vector
Tensor performance|FP8 | AI TOPS|NVLink|NVLink (GB/s)|NVLink support|MIG|ECC|Architecture|GPU chip
Process|Transistors
PCIe|Interface|Launch|Release date|MSRP|Price|Price per hour|$/h|Slots|Compute capability|Type
ResNet-50 FP16|Llama 8B FP16 tok/s
Throughput|Score|GPU|GPUs|System RAM|Total GPU memory|memory.total|Speedup vs T4|Memory clock||Card"""
CELLS = """\
24 GB|24|80 GB HBM3|80 GB HBM2e, 2 TB/s, 5120-bit|40/80 GB|312 TFLOPS|312 / 624 TFLOPS
312 TFLOPS, 624 TFLOPS|1,979*|989
16,896|16 896|528 (4th gen)|450 W|Up to 700 W|1,008 GB/s|1.008|NVLink: 600 GB/s, PCIe Gen4: 64 GB/s
400 Gb/s|900 GB/s bidirectional
Yes|No|Yes (600 GB/s)|\u2713|N/A|Hopper|AD102|HBM3|PCIe 4.0 x16|2022|October 2022|$1,599|2.50|$2.50/h
2-slot|8.9|4 nm|76.3 billion
192 GB x 72 = 13.8 TB|approx. 300|480 GB LPDDR5X + 96 GB HBM3|16.9k|128 t/s|54|2 slots 450|72 (fanless)
3,352 AI TOPS|330 dense, 660 sparse|16 GB GDDR6, 64 GB DDR5|32 GB DDR4 and 12 GB GDDR6X"""
LINES = """\
L4|RTX 4090|VRAM|Memory Bandwidth|24 GB|Model|L4 vs T4|L4, T4 and A30|L4 vs T4 in 2024: 24 GB
GPU VRAM Bandwidth TDP
FP16/BF16 (TFLOPS) Memory (GB) TDP (W)|GPU Cores|VRAM: 24 GB|The L4 and the T4|H100 SXM H100 PCIe
CUDA cores (total)|Cores and memory"""
FOREIGN = """\
Die L4 hat 24 GB Speicher und eine Bandbreite von 300 GB/s.|La L4 tiene 24 GB de memoria y consume 72 W.
La carte L4 dispose de 24 Go de m\u00e9moire, et consomme 72 W.|A L4 tem 24 GB de mem\u00f3ria.
La L4 ha 24 GB di memoria.
The L4 has 24 GB.|Speicher|Bandbreite: 300 GB/s|L4 24 GB
Jeweils 24 GB f\u00fcr die L4 und die A30, doppelt so viel wie P4."""
GPUS = (
    "l4", "t4",
    "a100-sxm4-80gb", "h100-sxm5-80gb", "h100-nvl-94gb", "rtx-4090", "rtx-4080-laptop", "b200-sxm",
    "gh200-96gb", "mi300x", "rx-7900-xtx", "a16", "k80", "v100-pcie-16gb", "gaudi3", "gtx-1660-ti", "titan-v",
    "l40s", "rtx-5090", "apple-m4-max", "p100-pcie-16gb", "mi250x", "gb10", "quadro-rtx-6000",
)  # fmt: skip


def parts(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from line.split("|")


def brief(value: object) -> str:
    """A value without what is usual, in one line."""
    if isinstance(value, Number):
        return f"{value.value:.6g}~{value.digits}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return f"({' '.join(map(brief, value))})"
    return str(value)


def told(one: object, *without: str) -> str:
    """The fields of an object that are not empty."""
    pairs = ((f.name, getattr(one, f.name)) for f in fields(one) if f.name not in without)  # type: ignore[arg-type]
    return " ".join(f"{name}={brief(value)}" for name, value in pairs if value not in ("", (), None, False))


def rows(texts: Iterable[str], of: Callable[[str], Iterable[object]], *without: str) -> Iterator[str]:
    for text in texts:
        yield f"{text} | {'; '.join(told(one, *without) for one in of(text))}"


def tokens() -> Iterator[str]:
    """Values alone and in a sentence, counted GPUs, and numbers in words."""
    every = [*parts(VALUES), *parts(SENTENCES), *(f"It has {one} now." for one in parts(VALUES))]
    yield from rows(every, words.scan, "text")
    counted = [f"{number} T4 here" for number in words.COUNTED]
    yield from rows(counted, words.scan, "text", "gpu_ids")
    yield from (f"{word} {value:.6g}" for word, value in TIMES.items())


def names() -> Iterator[str]:
    for text in (*parts(SENTENCES), *parts(LINES)):
        pair = layout.side_by_side(text)
        found = [told(one) if one else "-" for one in (grid.subject_of(text), grid.name_of(text), *pair)]
        yield f"{text} | {' | '.join(found)}"
        yield f"{layout.kind(text)} {layout._columns(text)} {cells.ability_of(text)}"


def readings() -> Iterator[str]:
    """Cells under labels: of each label those that say something."""
    for text in parts(LABELS):
        label = cells.label_of(text)
        found = ((cell, [*cells.readings(label, cell, marks=("*",))]) for cell in parts(CELLS))
        yield f"## {told(label)}"
        yield from (
            f"{cell} | {'; '.join(told(one, 'token') for one in each)}" for cell, each in found if each
        )


def blocks(texts: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, text in texts:
        yield f"## {' '.join(text.split())[:60]}"
        for block in read.blocks_of(text, name):
            if isinstance(block, read.Table):
                yield from table_rows(block.rows)
            else:
                yield told(block)


def table_rows(rows: Iterable[tuple[read.Cell, ...]]) -> Iterator[str]:
    yield from (f"{row[0].line if row else 0} {' | '.join(cell.text for cell in row)}" for row in rows)


def arranged(texts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Tables that plain lines make, and lines that are labels with their values."""
    for name, text in texts:
        yield f"## {' '.join(text.split())[:60]}"
        for plain, run in groupby(read.blocks_of(text, name), key=lambda block: isinstance(block, read.Line)):
            lines = [block for block in run if isinstance(block, read.Line)] if plain else []
            for part in layout.parts(lines, grid.Scope()):
                if isinstance(part, tuple):
                    yield f"{part[0].trusted} {part[0].worth():g}"
                    yield from table_rows(part[0].rows)
                elif pairs := [*document._pairs(part.text)]:
                    yield f"{part.line} {pairs}"


def facts() -> Iterator[str]:
    """All evidence on some GPUs, which witnesses it has and what others say."""
    peaks = ("tensor", "fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8")
    plain = (name for name in words.FIELDS if name and name[:5] != "peak:")
    wanted = dict.fromkeys((*plain, *words.ABILITIES, *(f"peak:{name}" for name in peaks)))
    for gpu, field in product(GPUS, wanted):
        for one in evidence.of(gpu, field):
            others = " ".join(map(brief, one.alternatives))
            about = f"{one.text} | {one.form} {one.witnesses} {one.low} | {others}"
            yield f"{gpu} {field} | {brief(one.value)} | {about}"


def foreign() -> Iterator[str]:
    for text in parts(FOREIGN):
        of_german, of_english = (english.in_english(text, language) for language in ("de", "en"))
        yield f"{english.language_of([text])} {of_german} | {of_english}"


def tables(texts: Callable[[], Iterable[tuple[str, str]]]) -> dict[str, Callable[[], list[str]]]:
    return {
        "tokens": lambda: [*tokens()],
        "names": lambda: [*names()],
        "readings": lambda: [*readings()],
        "blocks": lambda: [*blocks(texts())],
        "facts": lambda: [*facts()],
        "foreign": lambda: [*foreign()],
        "arranged": lambda: [*arranged(texts())],
    }  # fmt: skip
