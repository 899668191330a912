"""What the words around a figure make of it: a product's figure, another thing's, or one left open.

A requirement, a difference, a measured value, a slice of a GPU and the sum over several GPUs are no
figures of a product. Where a sentence tells of a change ("from 80 GB to 141 GB") or names several GPUs
at once, the figure may belong to any of them, and disagreement proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpuwise.facts.catalog import Mention
from gpuwise.judge.audit import subject
from gpuwise.judge.audit.subject import Subject

_AFTER = re.compile(
    r"^\s*\)?\s*(?:(?:of )?(?:additional|more|less|lower|higher|faster|slower|extra|headroom|saved"
    r"|increase|decrease|reduction|above|below|gain|uplift|drop|difference|advantage|jump|gap|savings?)\b"
    r"|power suppl|psu\b|charger|12V|\d+-pin|(?:[\w-]+ )?(?:connector|cable|adapter)s?\b"
    r"|(?:(?:of|to|from|in) )?(?:the )?(?:system|host|main|cpu|server|pc|laptop)\b|V?BIOS\b"
    r"|(?:of )?(?:LP)?DDR\d|(?:of )?RAM\b"
    r"|(?:of )?(?:disk|ssd|nvme|storage|swap|weights|data|parameters|text|images|files)\b"
    r"|(?:in )?(?:each|one|a single) direction|per direction|unidirectional|one[- ]way"
    r"|per (?:pin|second|stack|layer|token|user|instance|slice|link|lane|port|month|year)"
    r"|(?:\w+ ){0,4}(?:in total|combined|altogether|pooled|across|per (?:node|server|system|rack|box))"
    r"|(?:\w+ ){0,3}(?:models?|checkpoints?|datasets?)\b|(?:peak |transient )?spikes?\b|at idle|when idle)",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\b(?:if|needs?|needed|requir\w+|at least|minimum(?: of)?|fits?|models? (?:of|with)|dataset"
    r"|recommend\w*|suggest\w*)\b[^.;,]{0,25}$"
    # Measured, set by hand, or what a job takes.
    r"|\b(?:measur\w+|benchmarked|drew|peak(?:s|ed|ing) at|spik\w+|limit(?:ed|ing)?(?: \w+){0,4} to"
    r"|cap(?:ped|ping)?(?: \w+){0,4} (?:to|at)|(?<!a )used|uses|using|takes?|took|consum(?:ed|ing)|observed"
    r"|occup\w+|idl(?:es?|ing)|averag\w+|undervolt\w*|dropp?(?:ed|s)?|in practice|real[- ]world"
    r"|leav(?:es|ing)|free|only got|reached|under (?:full )?load|we (?:got|see|saw|reach\w*))\b[^.;]{0,40}$"
    # What a GPU does not have.
    r"|(?:\b(?:not|never|neither|nor|cannot|myth|no)|n['\u2019]t)\b(?! (?:only|just|less|fewer|more|doubt)\b)"
    r"(?:(?!\bbut\b)[^.;,]){0,50}$"
    r"|\b(?:save[sd]?|difference of|additional|extra|another|plus|up|down|increase[sd]? by|reduce[sd]? by) $"
    r"|\b(?:connector|cable|adapter|plug)s?\b[^.;]{0,20}$"
    r"|\b(?:full|whole|complete|entire)\s+(?:\w+\s+){0,2}?(?:die|chip|[AGT][A-Z]\d{3})\b[^.;]{0,60}$"
    r"|\bpairs? (?:with|of|that|have|has|offers?)\b[^.;,]{0,20}$"
    r"|\b(?:(?:peak|used|allocated) memory|memory (?:use|usage|footprint|consumption))\b[^.;]{0,30}$"
    r"|\b(?:weights?|activations?|parameters|kv[- ]cache|batch(?: size)?|optimi[sz]er)\b[^.;]{0,40}$"
    r"|(?:\bx|\u00d7|\d ?\*)\s*$",
    re.IGNORECASE,
)
_PART = re.compile(
    r"\bMIG\b|\bmulti-instance|\binstances?\b|\bslices?\b|\bpartition|\bpower suppl|\bPSU\b"
    r"|\bper (?:SM|core|die|chiplet|module|stack|node|rack|server|system)\b|\b(?:combined|pooled|in total)\b"
    r"|\b(?:each|every|one|per|a single) (?:compute |GPU |accelerator |memory )?"
    r"(?:die|SM|CU|core|module|stack|chiplet|XCD|tile|streaming multiprocessor|unit|node|rack|link|lane)\b",
    re.IGNORECASE,
)
_MEASURED_IN = re.compile(
    r"\bin (?:our|my|the|a) (?:\w+ ){0,3}(?:tests?|benchmarks?|measurements?|runs?|setup)\b"
    r"|\b(?:my|our) (?:card|sample|GPU|unit)\b|overclock|undervolt|\bV?BIOS\b"
    r"|\bwe (?:measured|tested|ran|limited)\b|\bduring (?:training|inference|the)\b"
    r"|\b(?:images?|imgs?|sequences?|seqs?|samples?|tokens?|tok|frames?|it)(?:/s| per second)",
    re.IGNORECASE,
)
_AT = re.compile(r"(?:^|[,;]\s*)(?:\w+ )?at\s+$", re.IGNORECASE)
"""Where a power is a setting: "At 280 W it loses 6 %"."""
_CHANGE = re.compile(
    r"\bfrom\s+(?:\w+\s+){0,3}$|\bfrom\b[^.;]{0,60}\bto\s+(?:\w+\s+){0,2}$"
    r"|\b(?:replac|upgrad|swap|increas|doubl|rais|grow|grew|jump|expand|boost|push|bump)\w*\b[^.;]{0,80}"
    r"\b(?:to|with|by|from|for|at)\s+(?:\w+\s+){0,3}$"
    r"|\b(?:doubl|tripl|quadrupl|halv)\w*\b[^.;]{0,40}$",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"\b(?:than|versus|vs|compared (?:to|with)|unlike|instead of|as opposed to|in contrast to|whereas)\b"
    r"|\bwhile\b"
    r"|\b(?:the|its|their|an?)\s+(?:\w+\s+)?(?:\d+\s?GB|new(?:er)?|old(?:er)?|previous|prior|original|other|former"
    r"|latter|predecessor|successor|small(?:er)?|larg(?:er)?|next|last)\b"
    r"|\b(?:AMD|NVIDIA|Intel)['\u2019]s\b"
    r"|\b(?:CPU|host|system)(?:['\u2019]s)? (?:memory|RAM)\b"
    r"|\b(?:SXM\d?|PCIe|OAM|NVL)(?:[- ]\w+)? (?:cards?|modules?|versions?|variants?|boards?|models?|parts?)\b"
    r"|\b(?:predecessors?|successors?|previous[- ]generation|last[- ]gen\w*|siblings?|rivals?)\b",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"(?:\b(?!1\b)\d{1,4}\s*(?:x|\u00d7|X|\*)?"
    r"|\b(?:two|three|four|eight|sixteen|dual|pair of|multiple|several|many))"
    r"[\s-]*(?:NVIDIA|AMD|GPUs?:?|\()?\s*$|\b(?:DGX|HGX|node|cluster|server|pod)s?(?: with| of)?[\s-]*$",
    re.IGNORECASE,
)
_SYSTEM = re.compile(
    r"^[\s-]*(?:\w+\s)?(?:servers?|nodes?|clusters?|systems?|pods?|racks?|boxe?s?|pairs?)\b", re.IGNORECASE
)
_FALSE = re.compile(
    r"\b(?:is|are|was|were)(?:n['\u2019]t| not) (?:\w+ )?true\b"
    r"|\b(?:is|are|was|were) (?:\w+ )?(?:false|wrong|incorrect|untrue)\b"
    r"|\b(?:falsely|wrongly|mistakenly|incorrectly|erroneously|contrary to)\b"
    r"|\b(?:is|are|was) an? (?:myth|mistake|error|typo|misprint)\b|\bshould (?:read|have (?:been|read))\b"
    r"|\b(?:we|I) (?:\w+ )?(?:wrote|said|stated|claimed|gave|listed)\b"
    r"|\b(?:first|earlier|previous|older) (?:version|draft) of this\b",
    re.IGNORECASE,
)
_RETORT = re.compile(
    r"^\W*(?:(?:that|this|it)(?: is|['\u2019]s| was) (?:an? )?)?(?:\w+ )?"
    r"(?:false|wrong|incorrect|untrue|not true|nonsense|myth|mistake|typo|misprint)\b",
    re.IGNORECASE,
)
_EACH = re.compile(r"^\W*(?:of \w+ |\w+ )?(?:each|apiece|per (?:GPU|card))\b", re.IGNORECASE)
_AND = re.compile(r"\s*(?:,|/|&|,?\s*and|,?\s*or)\s*(?:the\s+)?(?:NVIDIA\s+)?", re.IGNORECASE)


def is_figure(sentence: str, start: int, end: int) -> bool:
    """Whether `sentence[start:end]` may be a product's figure, going by the words around it."""
    before = re.split(r"[;:]\s", sentence[:start])[-1]
    return (
        _AFTER.match(sentence, end) is None
        and _AFTER.match(sentence[end:]) is None
        and _BEFORE.search(before) is None
        and _PART.search(sentence) is None
        and _MEASURED_IN.search(sentence) is None
        and not (_AT.search(before) and re.search(r"W(?:atts?)?$", sentence[start:end], re.IGNORECASE))
    )


def is_denied(sentence: str, following: str) -> bool:
    """Whether the text itself calls a sentence false, in it or right behind it."""
    return _FALSE.search(sentence) is not None or _RETORT.match(following) is not None


def is_change(before: str) -> bool:
    """Whether the words before a figure tell of one value that becomes another."""
    return _CHANGE.search(before) is not None


def is_other(between: str) -> bool:
    """Whether the words between a GPU and a figure lead away from that GPU."""
    return _OTHER.search(between) is not None


def counted(text: str, mention: Mention, rest: str = "") -> bool:
    """Whether several of these GPUs or a machine with them is meant ("8x H100", "DGX A100"), and no
    word behind the figure says "each"."""
    several = _COUNT.search(text[: mention.start]) or _SYSTEM.match(text[mention.end :])
    return several is not None and _EACH.match(rest) is None


def together(sentence: str, mention: Mention, found: Sequence[Mention]) -> list[Mention]:
    """The GPUs of the enumeration that ends with `mention`: "the A100 and the H100"."""
    group = [mention]
    for other in reversed([m for m in found if m.end <= mention.start]):
        if not _AND.fullmatch(sentence, other.end, group[0].start):
            break
        group.insert(0, other)
    return group


def any_of(found: Sequence[Mention], *more: Subject | None) -> Subject | None:
    """A subject that leaves open which of all these GPUs is meant."""
    ids = [gpu_id for m in found for gpu_id in m.gpu_ids]
    ids += [gpu_id for one in more if one is not None for gpu_id in one.gpu_ids]
    texts = [m.text for m in found if m.gpu_ids] + [one.text for one in more if one is not None]
    if not ids:
        return None
    return subject.Subject(
        text=" / ".join(dict.fromkeys(texts)), gpu_ids=tuple(dict.fromkeys(ids)), several=True
    )
