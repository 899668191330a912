"""Tables of codes and numbers that the code gave when somebody last read them.

    python -m tests.pinned          # writes them anew; read the difference by eye before it is committed

A module `test_pinned.py` has `tables()`, the rows of each by name; they stand in `pinned/` beside it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

Tables = Mapping[str, Callable[[], Sequence[str]]]
ROOT = Path(__file__).parent


def texts_of(path: Path) -> Iterator[str]:
    """Every text in a test, but those that say what it is about."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    about = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for each in ast.walk(tree):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in about:
            yield each.value


def pinned(module: str, name: str) -> list[str]:
    return (Path(module).parent / "pinned" / f"{name}.txt").read_text("utf-8").splitlines()


if __name__ == "__main__":
    for module in sorted(ROOT.rglob("test_pinned.py")):
        found: Tables = import_module(
            ".".join(module.relative_to(ROOT.parent).with_suffix("").parts)
        ).tables()
        for old in (module.parent / "pinned").glob("*.txt"):
            old.unlink()
        for name, rows in found.items():
            (module.parent / "pinned" / f"{name}.txt").write_text("\n".join(rows()) + "\n", encoding="utf-8")
