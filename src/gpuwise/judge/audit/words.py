"""The words by which a sentence tells a field: units, nouns, number formats, and what joins two figures."""

from __future__ import annotations

import re

from gpuwise.judge.audit.quantity import NUMBER

UNITS = (
    r"[GT]B/s(?:ec)?|[GT]o/s|[GT]Bps|[GTP]FLOPS|[GTP]FLOP/s|[TP]OPS|[TP]FLOPs|[TP]F|(?:[Tt]era|[Pp]eta)(?:FLOP|flop)[Ss]"
    r"|Gi?B|Ti?B|Go|MHz|GHz|[Ww]atts?|W|nm"
    r"|-?bit(?![\w-])"
)
QUANTITY = re.compile(
    rf"(?<![\w.,-])(?P<n>(?:{NUMBER})(?:\s*(?:/|\u2013)\s*(?:{NUMBER}))*)\s*-?(?P<u>{UNITS})(?![\w/])"
)
NOUNS = (
    ("cuda_cores", r"CUDA[ -](?:cores?|Kerne)"),
    ("tensor_cores", r"tensor[ -]cores?"),
    ("rt_cores", r"(?:RT|ray[ -]tracing)[ -]cores?"),
    ("stream_processors", r"stream processors?"),
    ("sm_count", r"streaming multiprocessors?|SMs?\b|compute units?"),
)
COUNT = re.compile(
    rf"(?<![\w.,-])(?P<n>{NUMBER})\+?\s+"
    r"(?:(?:first|second|third|fourth|fifth|\d\w\w)[ -]gen(?:eration)?\s+)?"
    r"(?:" + "|".join(f"(?P<{name}>{noun})" for name, noun in NOUNS) + r")(?!\w)",
    re.IGNORECASE,
)
LATE = re.compile(
    r"(?:\(|\bcount of |\bvs\.? |\bversus |['\u2019]s |\btotal of |\bhas |\boffers )"
    r"(?P<n>\d{1,2}[.,]\d{3}|\d{4,5})"
    r"(?=\)|,|\.|;|$|\s+(?:vs|versus|compared|in the|cores))",
    re.IGNORECASE,
)
ELIDED = re.compile(r"\s+(?P<n>\d{1,2}[.,]\d{3})(?=,\s|\.\s|;|\.?$|\s+and\b)")
BESIDE = re.compile(r"[\s|/(*,]*")
"""Between a dense peak and the sparse one right behind it: "312 TFLOPS | 624 TFLOPS*"."""
VERSUS = re.compile(r"^\W*(?:vs\.?|versus|against|gegen|compared (?:to|with)|over|and)\W*$", re.IGNORECASE)
EACH = re.compile(r"\beach(?: \w+){0,2} (?:with|has|have|having|containing|of)\s*$", re.IGNORECASE)
PER_UNIT = re.compile(
    r"^\s*(?:\w+ )?(?:per|in each|in every) (?:SM|streaming|multi|CU|compute)", re.IGNORECASE
)
MEMORY = re.compile(r"memory|speicher|m[\u00e9e]moire|vram|G?DDR\d|HBM|frame ?buffer", re.IGNORECASE)
BUILT_ON = re.compile(
    r"(?:built|based) on (?:the )?(?:(?:NVIDIA|AMD)(?:['\u2019]s)? )?"
    r"(?P<a>[\w ]{4,14}?) (?:GPU )?architecture",
    re.IGNORECASE,
)
KEYWORDS: dict[str, tuple[tuple[str, str], ...]] = {
    "bytes/s": (
        ("link_bytes_per_s", r"nvlink|nvswitch|interconnect|infinity fabric"),
        ("", r"pcie|pci express|network|storage|disk|ethernet"),
        ("memory_bytes_per_s", r"bandwidth|bandbreite|bande passante|memory|vram|G?DDR\d|HBM"),
    ),
    "op/s": (
        ("rt_flop_per_s", r"(?:RT|ray[ -]tracing) core|ray[ -]tracing"),
        ("peak:tf32", r"TF32"),
        ("peak:fp64", r"FP64|double[ -]precision"),
        ("peak:fp32", r"FP32|single[ -]precision"),
        ("peak:bf16", r"BF16|bfloat16"),
        ("peak:fp16", r"FP16|half[ -]precision"),
        ("peak:fp8", r"FP8"),
        ("peak:fp4", r"FP4"),
        ("peak:int8", r"INT8"),
        ("peak:tensor", r"tensor|AI performance"),
    ),
    "hz": (("boost_hz", r"boost"), ("base_hz", r"base clock")),
}
FORMAT = re.compile(
    r"\s*\(?(?:of |in |at |for )?"
    r"((?:dense |sparse |peak )?(?:[TB]?F(?:P|32|16)|bfloat|INT|single|double|half)[\w -]{0,12})",
    re.IGNORECASE,
)
"""The number format right behind a peak: "3,958 TFLOPS FP8"."""
LINK = re.compile(
    r"\s*\(?(?:(?:of|over|via|bidirectional|total|aggregate)\s){0,2}"
    r"((?:NVLink|NVSwitch|interconnect|Infinity Fabric|PCIe|PCI Express|network|ethernet)\b)",
    re.IGNORECASE,
)
"""What carries a rate, right behind it: "900 GB/s NVLink"."""
SIZE = re.compile(r"\d\s?Gi?B\b(?!/s)")
CARRIES = re.compile(
    r"nvlink|nvswitch|infinity fabric|pci|network|ethernet|storage|disk|ssd|nvme|interconnect|cache|\bL2\b"
    r"|sram|between|each other|c2c|chip-to-chip|link|load|read|writ|copy|copied|transfer|host|cpu",
    re.IGNORECASE,
)
"""What else than memory may carry a rate."""
NONE = re.compile(r"(?!)")
LONGEST = 1000
"""Characters; what is longer is a list or a log, no sentence."""
SENTENCE = re.compile(r"(?<=[.!?])(?<!vs\.)(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z\"'*(])")
