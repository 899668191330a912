"""Score `gpuwise audit` on articles whose errors were marked by hand (gold.csv).

    python -m evaluation.audit.score FOLDER [-v] [-o results/audit/five-articles.json]

FOLDER holds the five articles; their names begin with 000 to 004. The articles are not ours to ship,
the marks are: file, line, GPU, field, value, right or wrong, kind of error.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from gpuwise.judge.audit import document, read, speeds
from gpuwise.judge.audit.judge import judge
from gpuwise.model.judgement import Claim, Finding

GOLD = Path(__file__).with_name("gold.csv")
Judged = list[tuple[Claim, Finding]]


def main(folder: Path, verbose: bool, output: Path | None) -> None:
    judged = {path.name[:3]: list(audited(path)) for path in sorted(folder.glob("00*"))}
    with GOLD.open(encoding="utf-8") as file:
        gold = list(csv.DictReader(file))
    wrong = [row for row in gold if row["verdict"] == "wrong"]
    right = [row for row in gold if row["verdict"] == "right"]
    hits = [row for row in wrong if (found := flagged(row, judged)) is not None]
    kinds = [row for row in hits if (found := flagged(row, judged)) is not None and found.kind == row["kind"]]
    false = [row for row in right if flagged(row, judged) is not None]
    seen = [row for row in gold if of(row, judged)]
    marked = {(row["file"], row["line"], row["field"]) for row in wrong}
    extra = [
        (name, f)
        for name, pairs in judged.items()
        for c, f in pairs
        if f.verdict == "contradicts" and (name, str(c.line), c.field) not in marked
    ]
    print(f"claims read          {len(seen)}/{len(gold)}")
    print(f"errors found         {len(hits)}/{len(wrong)}  recall {len(hits) / len(wrong):.3f}")
    print(f"with the right kind  {len(kinds)}/{len(wrong)}  {len(kinds) / len(wrong):.3f}")
    print(f"right claims flagged {len(false)}/{len(right)}  {len(false) / len(right):.3f}")
    print(f"flagged, not marked as wrong: {len(extra)}")
    if output is not None:
        score = {
            "command": "python -m evaluation.audit.score FOLDER",
            "claims": len(gold),
            "read": len(seen),
            "errors": len(wrong),
            "found": len(hits),
            "right_kind": len(kinds),
            "right_claims": len(right),
            "right_claims_flagged": len(false),
            "flagged_unmarked": len(extra),
            "findings": {
                name: [asdict(f) for _, f in pairs if f.verdict == "contradicts"]
                for name, pairs in judged.items()
            },
        }
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(score, indent=1) + "\n", encoding="utf-8")
    if verbose:
        for row in gold:
            if row not in seen:
                print("not read  ", *row.values())
        for row in wrong:
            found = flagged(row, judged)
            if found is None or found.kind != row["kind"]:
                print("missed    ", *row.values(), "->", found and found.kind)
        for name, f in extra:
            print("extra     ", name, f.lines, f.gpu, f.field, f.stated, "->", f.kind, f.best)


def audited(path: Path) -> Iterator[tuple[Claim, Finding]]:
    blocks = read.blocks_of(path.read_text(encoding="utf-8"), path.name)
    found = [
        c
        for c in document.claims(blocks)
        if isinstance(c, Claim) and c.field not in (speeds.RENT, speeds.FIELD, speeds.FITS)
    ]
    # Findings of comparisons come last.
    return zip(sorted(found, key=lambda claim: bool(claim.than)), judge(found), strict=True)


def of(row: dict[str, str], judged: dict[str, Judged]) -> list[Finding]:
    """The findings on one marked claim: same line, same field, and the GPU among those meant."""
    return [
        finding
        for claim, finding in judged.get(row["file"], [])
        if str(claim.line) == row["line"]
        and claim.field == row["field"]
        and any(gpu_id.startswith(row["gpu"]) for gpu_id in claim.gpu_ids)
    ]


def flagged(row: dict[str, str], judged: dict[str, Judged]) -> Finding | None:
    return next((f for f in of(row, judged) if f.verdict == "contradicts"), None)


if __name__ == "__main__":
    asked = Path(sys.argv[sys.argv.index("-o") + 1]) if "-o" in sys.argv else None
    main(Path(sys.argv[1]), "-v" in sys.argv, asked)
