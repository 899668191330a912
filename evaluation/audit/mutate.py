"""Put one error at a time into texts, and count which of them `gpuwise audit` accuses.

    python -m evaluation.audit.mutate TEXTS... [--seed 1] [--each 2] [-v]

TEXTS are files or folders with articles about GPUs. Every figure that agrees with the catalog is changed in
its place in ways in which people err, and the whole text is audited again. The table has a row for each
field, and one for each way: how many errors were put in, how many of them were accused, and what else became
of the others. `-v` prints each error that was not accused. A text may state that figure of the GPU elsewhere,
too: those errors are internal contradictions.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpuwise.judge.audit import agree, document, evidence, files_of, read, speeds
from gpuwise.judge.audit.judge import judge
from gpuwise.judge.audit.words import ABILITIES, COUNTS
from gpuwise.model.judgement import Claim, Finding, Number

COLUMNS = ("accused", "differs", "cannot tell", "agrees", "unread")
OUTCOMES: dict[str, str] = {"contradicts": "accused"}
# An error is none where some variant of the name has the figure, or one that is so near.
NEAR = 0.06
FACTORS = {"x1.1": 1.1, "x1.25": 1.25, "x2": 2.0, "/2": 0.5}
# Fields of which nobody takes a tenth more for the value.
WHOLE = {"memory_bytes", "memory_bus_bits", "process_nm", "pcie_generation", "compute_capability", "slots",
         "tensor_core_generation", "rt_core_generation"}  # fmt: skip
Judged = Sequence[tuple[Claim, Finding]]
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:[.,]\d+)?")


@dataclass(frozen=True, slots=True)
class Error:
    """One figure of a text, and the wrong one in its place."""

    way: str
    stated: str  # What stood there
    written: str  # What stands there now


def audited(text: str, name: str) -> list[tuple[Claim, Finding]]:
    """The claims of a text about what GPUs have, each with its finding."""
    found = [
        c for c in document.claims(read.blocks_of(text, name))
        if isinstance(c, Claim) and c.field not in (speeds.RENT, speeds.FIELD, speeds.FITS) and not c.than
    ]  # fmt: skip
    return list(zip(found, judge(found), strict=True))


def errors_of(claim: Claim, chance: random.Random) -> Iterator[Error]:
    """The errors that people make in the place of a right value."""
    stated, first = claim.stated, claim.values[0]
    # What is a part of the name makes another GPU of it.
    if len(claim.values) != 1 or re.search(r"\d\s?[\sx]\s?\d", stated) or stated in claim.gpu:
        return
    near = {o for i in claim.gpu_ids for o in agree.next_to(i)}
    kin = {o for i in claim.gpu_ids for o in agree.family(i)}
    for way, others in (("variant", kin), ("next product", near)):
        values = sorted({k.value for o in others for k in evidence.of(o, claim.field)[:1]}, key=str)
        if values and claim.field not in ABILITIES:
            value = chance.choice(values)
            if isinstance(first, str) and claim.field != "launch":
                yield Error(way, stated, re.sub(r" \(.*", "", str(value)))
            elif isinstance(first, Number) and isinstance(value, float) and first.value:
                yield Error(way, stated, scaled(stated, value / first.value))
    if claim.field == "launch" and (year := re.search(r"20[012]\d", stated)):
        for by in (-3, 3):
            yield Error("year", stated, stated.replace(year[0], str(int(year[0]) + by)))
    if isinstance(first, Number):
        for way, factor in FACTORS.items():
            whole = first.value * factor / 2**30 >= 1 and first.value * factor % 2**30 == 0
            if claim.field not in WHOLE or (factor in (2, 0.5) and claim.field == "memory_bytes" and whole):
                yield Error(way, stated, scaled(stated, factor))
        if claim.field not in WHOLE:
            yield Error("digits", stated, swapped(stated, chance))
        if "B/s" in stated:
            yield Error("bits", stated, stated.replace("B/s", "b/s"))


def plain(number: str) -> str:
    """A printed number as Python reads it; a comma before three digits parts thousands."""
    return re.sub(r",(?=\d{3}(?!\d))", "", number).replace(",", ".")


def scaled(stated: str, factor: float) -> str:
    """The text of a value with its first number multiplied, printed with as many decimals and commas."""
    number = _NUMBER.search(stated)
    if number is None:
        return stated
    decimals = len(plain(number[0]).partition(".")[2])
    value = float(plain(number[0])) * factor
    # Half of an odd whole number has a decimal of its own.
    digits = max(decimals, 1) if value < 10 and value % 1 and not decimals else decimals
    made = f"{value:,.{digits}f}" if "," in number[0] else f"{value:.{digits}f}"
    return stated[: number.start()] + made + stated[number.end() :]


def swapped(stated: str, chance: random.Random) -> str:
    """The text of a value with two digits of its first number in each other's place."""
    number = _NUMBER.search(stated)
    pairs = [(n, stated[n : n + 2]) for n in range(*number.span())] if number else []
    places = [n for n, two in pairs if two.isdigit() and two[0] != two[-1] and (two[-1] != "0" or n)]
    if not places:
        return stated
    at = chance.choice(places)
    return stated[:at] + stated[at + 1] + stated[at] + stated[at + 2 :]


def is_wrong(claim: Claim, error: Error) -> bool:
    """Whether no variant that the text may mean has the written value, in whichever form."""
    before, after = _NUMBER.search(error.stated), _NUMBER.search(error.written)
    every = agree.evidence_of(claim, fitting=False)
    known = agree.numbers_of(v for k in every for v in (k.value, *k.alternatives))
    first = claim.values[0]
    if error.stated == error.written:
        return False
    if isinstance(first, str):
        years = re.search(r"20[012]\d", error.written) if claim.field == "launch" else None
        made: str = years[0] if years else error.written
        return not agree.agrees(replace(claim, values=(made,)))
    if before is None or after is None or error.way == "bits":
        return True
    old, new = float(plain(before[0])), float(plain(after[0]))
    if not old:
        return False
    value = first.value * new / old / claim.count
    near = 0.0 if claim.field in {*COUNTS, *WHOLE} else NEAR
    return not any(abs(value - k) <= near * k for k in known)


def placed(lines: Sequence[str], claim: Claim, turn: int, times: int, error: Error) -> str | None:
    """The text with the error in the place of the claim; None where the place is not plain to see: the value
    stands on its line as often as claims state it."""
    line = lines[claim.line - 1] if claim.line <= len(lines) else ""
    found = [*re.finditer(rf"(?<![\w.,]){re.escape(error.stated)}(?!\d|[.,]\d)", line)]
    if len(found) != times:
        return None
    start, end = found[turn].span()
    changed = line[:start] + error.written + line[end:]
    return "\n".join((*lines[: claim.line - 1], changed, *lines[claim.line :]))


def outcome(claim: Claim, error: Error, after: Judged, before: set[object]) -> Finding | None:
    """What is found of the changed value: of this GPU and field first; None where it is not read."""
    number = _NUMBER.search(error.written) if isinstance(claim.values[0], Number) else None
    said = number[0] if number else error.written
    here = [f for c, f in after if c.line == claim.line and said in f.stated and key(c) not in before]
    same = [f for f in here if f.field == claim.field] or here
    return next((f for f in same if f.verdict == "contradicts"), same[0] if same else None)


def key(claim: Claim) -> object:
    """What makes two claims of a text before and after a change one."""
    return claim.line, claim.gpu_ids, claim.field, claim.stated


def mutations(
    text: str, name: str, chance: random.Random, each: int
) -> Iterator[tuple[Claim, Error, Finding | None]]:
    """The errors put into one text, at most so many for a figure, and what is found of each."""
    lines, judged = text.split("\n"), audited(text, name)
    before, stated = {key(c) for c, _ in judged}, defaultdict[tuple[int, str], list[Claim]](list)
    for claim, _ in judged:
        stated[claim.line, claim.stated].append(claim)
    for claim, finding in judged:
        if finding.verdict != "agrees" or not claim.gpu_ids:
            continue
        errors = [e for e in errors_of(claim, chance) if is_wrong(claim, e)]
        chance.shuffle(errors)
        for error in errors[:each]:
            alike = stated[claim.line, claim.stated]
            changed = placed(lines, claim, alike.index(claim), len(alike), error)
            if changed is not None:
                yield claim, error, outcome(claim, error, audited(changed, name), before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=2, help="errors for each figure")
    parser.add_argument("-v", action="store_true")
    asked = parser.parse_args()
    tally: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for path in (path for given in asked.texts for path in files_of(given)):
        chance = random.Random(f"{asked.seed} {path.name}")
        for claim, error, found in mutations(read.text_of(path)[0], path.name, chance, asked.each):
            verdict = OUTCOMES.get(found.verdict, found.verdict) if found else "unread"
            for table, row in (("", "all"), ("field", claim.field), ("way", f"by {error.way}")):
                tally[table, row][verdict] += 1
            if asked.v and verdict != "accused":
                said = f"{found.gpu} {found.field}: {found.explanation}" if found else ""
                place = f"{path.name}:{claim.line} {claim.gpu} {claim.field}"
                print(place, f"{error.stated!r} -> {error.written!r} ({error.way}): {verdict} {said}")
    print(f"{'':24}{'errors':>8}", *(f"{column:>12}" for column in COLUMNS), sep="")
    for (_, row), counts in sorted(tally.items(), key=lambda one: (one[0][0], -one[1].total())):
        shares = "".join(f"{counts[column] / counts.total():12.0%}" for column in COLUMNS)
        print(f"{row:24}{counts.total():8}{shares}")


if __name__ == "__main__":
    main()
