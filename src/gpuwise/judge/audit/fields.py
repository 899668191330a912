"""What documents state about GPUs: the words for each field, its dimension and what can be meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the catalog. `low` and `high` bound a plausible value, in the catalog's unit."""

    name: str
    words: str
    """Alternatives of a regular expression, without their boundaries."""
    dimension: str
    """Of `UNITS`; "count" for bare numbers, "text", "date"."""
    low: float = 0
    high: float = 1e30
    scales: tuple[float, ...] = (1,)
    """What a number without a unit may be counted in, the most likely first."""


FORMATS = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4")

# In this order: of two fields whose words begin at one place the first one is meant.
_FIELDS = (
    # Rows and columns that look like fields of a GPU and are not: recognised so that they take no value.
    Field(
        "",
        r"(?:rt|tensor|nvlink|encoder|decoder|matrix)[ -]?(?:cores? )?gen(?:eration)?s?|generation of [a-z ]+"
        r"|(?:mem(?:ory)?|vram|effective)[ -](?:clock|speed|frequency|data rate)(?: speed| rate)?|data rate"
        r"|texture (?:fill[ -]?)?rate|pixel (?:fill[ -]?)?rate|fill rate|texture units|tmus?|rops?"
        r"|(?:system|host|cpu|total system|server|main|unified system) (?:memory|ram|power)|vcpus?|cpu cores?"
        r"|(?:nvme|local|disk) storage|storage|disk|ssd|(?:memory|energy|power) efficiency"
        r"|(?:tokens?|perf(?:ormance)?|(?:t?fl)?ops|bandwidth|price|cost|vram|gb|\$)\s?(?:/|per)\s?"
        r"(?:watt|w|\$|dollar|t?flops?|gb|hour(?= of))"
        r"|power (?:connectors?|supply|cost)|psu|l1[ /]?(?:data |instruction )?cache|l1"
        r"|register file|shared memory"
        r"|min(?:imum)? (?:vram|memory)|(?:vram|memory) (?:needed|required|usage|used|footprint"
        r"|requirements?)"
        r"|model size|batch(?: size)?|context(?: length)?|die size|network(?: bandwidth)?|scores?",
        "none",
    ),
    Field("compute_capability", r"(?:cuda )?compute (?:capability|cap)|cuda capability"
                                r"|sm version", "count", 1, 15),
    Field(
        "link_bytes_per_s",
        r"nv-?link(?: \d(?:\.\d)?(?![\d,]))?(?: interconnect)?(?: bandwidth| bw| speed)?"
        r"|(?:gpu[ -])?inter-?connect(?:s|ion)?"
        r"(?: bandwidth| bw| speed)?|infinity fabric(?: links?)?(?: bandwidth)?"
        r"|gpu[ -](?:to[ -])?gpu (?:link|bandwidth)"
        r"|xgmi|nvswitch|(?:gpu )?link (?:bandwidth|speed)|bidirectional bandwidth",
        "bytes/s", 10e9, 5e12, (1e9, 1e12),
    ),
    Field(
        "memory_bytes_per_s",
        r"(?:(?:gpu|peak|max\.?|theoretical|total) ){0,2}(?:(?:hbm|vram|memory|mem\.?) )?"
        r"(?:band-?width"
        r"|b/?w(?![a-z/]))"
        r"|(?:speicher)?bandbreite|bande passante(?: m[\u00e9e]moire)?|ancho de banda(?: de (?:la )?memoria)?"
        r"|larghezza di banda|\u663e\u5b58\u5e26\u5bbd|\u5185\u5b58\u5e26\u5bbd|\u5e26\u5bbd"
        r"|\u30e1\u30e2\u30ea\u5e2f\u57df\u5e45|\u5e2f\u57df\u5e45",
        "bytes/s", 25e9, 80e12, (1e9, 1e12),
    ),
    Field(
        "memory_bus_bits",
        r"(?:memory |mem |vram |gpu memory )?(?:interface|bus)(?: width| size)|(?:memory"
        r"|mem) (?:interface|bus)"
        r"|speicherinterface|speicheranbindung|\u4f4d\u5bbd",
        "bit", 64, 16384,
    ),
    Field("memory_type", r"(?:memory|vram|mem|ram) (?:type|technology|standard)|speichertyp", "text"),
    Field("l2_bytes", r"l2(?:[ -]cache)?(?: size)?", "bytes", 2**18, 2**30, (2**20,)),
    Field(
        "memory_bytes",
        r"(?:gpu |video |graphics |on-?board |max(?:imum)? |standard |total |local )?"
        r"(?:memory|vram|v-ram|mem\.?(?![a-z])|ram)(?: memory)?(?: size| capacity| amount"
        r"| config(?:uration)?)?"
        r"|frame ?buffer(?: size)?|hbm(?![\dx])(?: memory| capacity| size)?"
        r"|(?:grafik|video)?speicher(?:gr\u00f6\u00dfe)?|m[\u00e9e]moire(?: vid[\u00e9e]o)?"
        r"|memoria(?: gr\u00e1fica)?"
        r"|\u663e\u5b58(?:\u5bb9\u91cf)?|\u30e1\u30e2\u30ea(?:\u5bb9\u91cf)?"
        r"|\u043f\u0430\u043c\u044f\u0442\u044c",
        "bytes", 2**30, 2**40, (2**30, 2**20),
    ),
    Field(
        "tensor_cores",
        r"tensor[ -]?(?:cores?|kerne|units)(?: count)?(?! (?:perf|tflops|flops|tops|peak|compute"
        r"|throughput|speed))"
        r"|matrix cores?(?: count)?|tensorkerne",
        "count", 8, 5000,
    ),
    Field("rt_flop_per_s", r"(?:rt|ray[ -]tracing)(?: cores?)? (?:performance|tflops"
                           r"|flops)", "op/s", 1e12, 1e15, (1e12,)),
    Field("rt_cores", r"(?:rt|ray[ -]?tracing|raytracing)[ -]?(?:cores?|kerne|accelerators"
                      r"|units)(?: count)?", "count", 0, 1000),
    Field(
        "cuda_cores",
        r"cuda[ -]?(?:cores?|kerne)(?: count)?|c(?:\u0153|oe)urs cuda|n\u00facleos cuda"
        r"|cuda\u6838\u5fc3|cudas?(?= ?:)"
        r"|shading units|shaders?(?: (?:units|count|cores))?|fp32 (?:cuda )?cores|unified shaders"
        r"|(?:gpu|pipelines) ?/ ?cuda cores|cuda",
        "count", 128, 100_000,
    ),
    Field("stream_processors", r"stream(?:ing)? processors?|shader processors", "count", 128, 100_000),
    Field(
        "sm_count",
        r"stream(?:ing)? multi-?processors?(?: \(sms?\))?|sms?(?: count)?|compute units?|cus"
        r"|sm count|xe[- ]cores?",
        "count", 4, 1000,
    ),
    Field(
        "power_w",
        r"(?:(?:max(?:imum)?|total|typical|graphics|board|card|gpu|rated|peak|nominal|thermal"
        r"|tdp) ){0,4}(?:power|leistung)"
        r"(?: consumption| draw| limit| rating| usage| envelope| budget)?(?: \(?tdp\)?)?|tdp|tgp"
        r"|tbp|thermal design(?: power)?"
        r"|watts?|wattage|leistungsaufnahme|consommation|consumo|\u529f\u8017|\u6d88\u8cbb\u96fb\u529b",
        "w", 10, 3000,
    ),
    Field("boost_hz", r"(?:gpu |max(?:imum)? )?boost(?:[ -]?(?:clock|takt))?(?: speed| frequency"
                      r"| rate)?", "hz", 5e8, 4e9, (1e6, 1e9)),
    Field("base_hz", r"(?:gpu )?base[ -]?(?:clock|takt)?(?: speed| frequency| rate)"
                     r"|base[ -](?:clock|takt)|core clock speed", "hz", 2e8, 4e9, (1e6, 1e9)),
    Field(
        "process_nm",
        r"(?:manufacturing |fabrication |semiconductor )?(?:process|fertigung)(?: (?:node|size"
        r"|technology|tech))*"
        r"|fabrication|lithography|node size|technology node|nanometer",
        "nm", 2, 90,
    ),
    Field("transistors", r"(?:number of )?transistors?(?: count)?"
                         r"|transistoren", "count", 1e9, 1e12, (1e9, 1e6)),
    Field(
        "pcie_generation",
        r"(?:system |bus |host |pcie )interface|interface|pci[ -]?e(?:xpress)?(?: (?:generation"
        r"|version|gen))?(?! ?\d)",
        "text",
    ),
    Field("slots", r"slots?(?: width)?|slot width|form[ -]factor|dimensions|width", "text"),
    Field("launch_price_usd", r"(?:launch |list |original )?msrp|launch price|price at launch"
                              r"|uvp", "usd", 50, 200_000),
    Field(
        "launch",
        r"(?:launch|release|announcement|introduction)(?:ed|d)?(?: date| year)?|announced"
        r"|introduced|available since|year",
        "date",
        2005,
        2035,
    ),
    Field("price", r"(?:street |purchase |retail |unit |buy |avg\.? |average |current )?(?:price"
                   r"|cost)s?|preis|prix|pricing", "usd", 0.01, 1e6),
    Field("architecture", r"(?:gpu |micro)?-?architectures?"
                          r"|(?<![\w-] )(?<!-)generation(?-i:(?=[A-Z:]|$))|architektur", "text"),
    Field("chip", r"(?:gpu )?chip|gpu code ?name|code ?name|graphics processor|gpu die|die(?! size)", "text"),
)  # fmt: skip

_FORMAT_WORDS = {
    "fp64": r"fp-?64|double[ -]precision|float64",
    "fp32": r"fp-?32|single[ -]precision|float32",
    "tf32": r"tf-?32|tensor ?float[ -]?32|tensorfloat",
    "fp16": r"fp-?16|half[ -]precision|float16",
    "bf16": r"bf-?16|bfloat-?16",
    "fp8": r"fp-?8",
    "int8": r"int-?8",
    "fp4": r"(?:nv|mx)?fp-?4",
    "tensor": r"(?:deep learning|ai|tensor|tensor cores?|matrix)(?: core)? (?:performance|compute"
    r"|peak|throughput|speed)"
    r"|(?:ai|tensor) (?=t?fl?ops)",
    # A rate without a number format: FLOPS alone; what an "AI TOPS" counts nobody says.
    "": r"(?:peak )?(?:ai )?(?:[pt]?flops|tops(?! out))(?![a-z/])|int-?4|compute performance",
}
FIELDS: Mapping[str, Field] = {
    field.name: field
    for field in (
        *_FIELDS,
        *(
            Field(f"peak:{name}", words, "op/s", 1e10, 1e17, (1e12, 1e15))
            for name, words in _FORMAT_WORDS.items()
        ),
    )
}
COUNTS = frozenset(
    {
        *("cuda_cores", "stream_processors", "tensor_cores", "rt_cores", "sm_count"),
        *("memory_bus_bits", "slots", "pcie_generation", "process_nm", "compute_capability"),
    }
)
"""Fields that are right or wrong to the last digit."""
_ORDER = [*(f"peak:{name}" for name in _FORMAT_WORDS if name), *(f.name for f in _FIELDS), "peak:"]
# "FP32 cores" are cores, "tensor performance" is a rate: cores first, then rates, then the rest.
_ORDER.sort(key=lambda name: name not in ("", "cuda_cores", "rt_flop_per_s"))
FIELD_GROUPS = {f"f{number}": name for number, name in enumerate(_ORDER)}
FIELD_PATTERN = "|".join(f"(?P<f{number}>{FIELDS[name].words})" for number, name in enumerate(_ORDER))


_PER_SECOND = r"(?:/ ?s(?:ec(?:ond)?)?|ps| per second| per sec)"
UNITS: tuple[tuple[str, str, float], ...] = (
    *(
        ("bytes/s", rf"{p}i?b(?-i:(?<=B)|(?<=b)){_PER_SECOND}", f)
        for p, f in (("g", 1e9), ("t", 1e12), ("m", 1e6), ("giga", 1e9), ("tera", 1e12))
    ),
    *(("bytes/s", rf"{p}o/s", f) for p, f in (("g", 1e9), ("t", 1e12))),
    *(("bits/s", rf"{p}bits?{_PER_SECOND}", f) for p, f in (("g", 1e9), ("t", 1e12))),
    *(
        ("op/s", rf"{p}(?:fl)?(?:ops|op)(?:/s)?", f)
        for p, f in (("g", 1e9), ("t", 1e12), ("p", 1e15), ("giga", 1e9), ("tera", 1e12), ("peta", 1e15))
    ),
    *(("op/s", rf"(?-i:{p})", f) for p, f in (("TF", 1e12), ("PF", 1e15))),
    ("bytes", r"(?-i:GB|Gb|gb|GiB|Go|gigs?|gigabytes?|G(?![A-Za-z0-9]))", 2**30),
    ("bytes", r"(?-i:TB(?!D)|TiB|terabytes?)", 2**40),
    ("bytes", r"(?-i:MB|MiB|megabytes?)", 2**20),
    ("bytes", r"(?-i:KB|KiB|kB)", 2**10),
    ("w", r"watts?|w(?!x\b|s\b|h\b)", 1.0),
    ("w", r"kw|kilowatts?", 1e3),
    ("hz", r"mhz", 1e6),
    ("hz", r"ghz", 1e9),
    ("bit", r"bits?", 1),
    ("usd", r"(?:us )?(?:usd|dollars?)", 1),
    ("nm", r"nm|nanometers?", 1),
    ("count", r"(?-i:B(?![a-z])|bn)|billion", 1e9),
    ("count", r"million", 1e6),
    ("%", r"%|percent", 1),
    ("other", r"(?-i:[xX\u00d7](?![A-Za-z])|mm\u00b2?|cm|inch(?:es)?|ms|[\u00b5u]s|\u00b0C|fps|kg"
              r"|days?|years?|hours?|min(?:utes)?)"
     r"|(?:tok(?:en)?s?|t|im(?:a)?ge?s?|samples?|seq(?:uence)?s?|steps?|iterations?"
     r"|it)(?:/s(?:ec)?|ps| per sec(?:ond)?)"
     r"|(?:kh|mh|gh)(?:/s)|(?-i:mhz/s)|(?:tokens?|images?|params?|parameters?|times|fold|layers|epochs)", 1),
)  # fmt: skip
"""(dimension, regular expression, factor to the catalog's unit). Memory sizes are counted in GiB."""
