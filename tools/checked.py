"""Write what the checks find in the curated speeds beside them: `python tools/checked.py`.

The rows are facts of the package and change with it alone, so that nothing need judge them at each start. Run
it after a change of `results.csv`, of the catalog or of the checks; a test says when it is due.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from gpuwise import checks
from gpuwise.facts import published


def document() -> dict[str, list[dict[str, str]]]:
    """Number of a row -> its issues; of a row without any, nothing."""
    found = enumerate(checks.judge(published.stated()))
    return {str(place): [asdict(issue) for issue in issues] for place, issues in found if issues}


if __name__ == "__main__":
    text = json.dumps(document(), indent=1, ensure_ascii=False) + "\n"
    (published.DATA / "issues.json").write_text(text, encoding="utf-8")
