"""How far one row of the zoos is from itself, measured again on another machine with the same kind of GPU.

    python -m evaluation.predict.repeats results

No prediction from a data sheet can be nearer in the mean than this, divided by the square root of two.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np


def pairs(results: Path) -> Iterator[tuple[str, float]]:
    """What was measured twice: device and way of running, and the ratio of the slower time to the faster one.

    A machine is a zoo's folder: its runs are of one session.
    """
    found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for path in sorted(results.glob("zoo*/*/zoo.jsonl.gz")):
        device = json.loads((path.parent / "environment.json").read_text(encoding="utf-8"))["device"]
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                if "error" not in row:
                    found[device, row["key"]].setdefault(path.parts[-3], row["step_s"])
    for (device, key), times in found.items():
        how = "compiled" if ":compiled:" in key else "eager"
        for one, other in combinations(times.values(), 2):
            yield f"{device} {how}", max(one, other) / min(one, other)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path)
    kinds = defaultdict[str, list[float]](list)
    for kind, ratio in pairs(parser.parse_args().results):
        kinds[kind].append(ratio - 1.0)
    for kind, apart in sorted(kinds.items()):
        mean, median = np.mean(apart), np.median(apart)
        print(f"{kind}: {len(apart)} pairs, {mean:.1%} apart in the mean, {median:.1%} in the median")


if __name__ == "__main__":
    main()
