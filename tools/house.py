"""How the code is built, in one table: at the start of the refactoring, now, and as asked.

    python tools/house.py               # everything: some seconds of runs
    python tools/house.py --static      # without runs
    python tools/house.py --by-package  # lines, files, helpers and comments of each package
    python tools/house.py --files       # also the files whose code three commands run

Run it in the root of the tree: `src/gpuwise`, `README.md` and `docs` of the working directory are used.

What is counted:

- lines: every line of every *.py under src/gpuwise; data files are not code.
- single-use helpers: functions at module level whose name begins with `_` and that their module names
  exactly once beside the `def`.
- comments: lines with a comment that tells a reader something; `noqa`, `type: ignore`, `pragma` and
  `fmt` are counted apart.
- files run: distinct files of which the parent process of a command ran more than the module's body, so
  functions or the body of a class; processes that it starts are not followed. --files tells both apart.
- start: whole process, median of seven.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import tokenize
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

PRAGMA = re.compile(r"#\s*(noqa|type:\s*ignore|pragma|fmt:|ruff:|mypy:|isort:|!|-\*-)")
BASELINE = {
    "lines": 49_937, "files": 424, "helpers": 19.6, "comments": 0.71, "pragmas": 247,
    "bench": 71, "predict": 73, "choose": 82, "names": 10, "help": 64, "import": 21, "bare": 10,
    "readme": 2_253, "docs": 36_683,
}  # fmt: skip
"""Commit e6130d9, by this tool; times on the machine it was written on."""
MODEL = Path(__file__).with_name("my_model.py").read_text(encoding="utf-8")
FOLLOWED = """
import importlib, json, os, sys, threading, tomllib
root, found, words = sys.argv[1], sys.argv[2], sys.argv[3:]
package, me, codes = os.path.join(root, "src", "gpuwise") + os.sep, os.getpid(), set()

def profile(frame, event, argument):
    if event == "call":
        codes.add(frame.f_code)

with open(os.path.join(root, "pyproject.toml"), "rb") as file:
    module, name = tomllib.load(file)["project"]["scripts"]["gpuwise"].split(":")
sys.argv = ["gpuwise", *words]
threading.setprofile(profile)
sys.setprofile(profile)
code = 0
try:
    getattr(importlib.import_module(module), name)()
except SystemExit as leave:
    code = leave.code or 0
finally:
    sys.setprofile(None)
    if os.getpid() == me:
        files = {}
        for c in list(codes):
            if c.co_filename.startswith(package) and c.co_name != "<module>":
                files.setdefault(c.co_filename[len(package):], []).append([c.co_name, bool(c.co_flags & 1)])
        with open(found, "w") as file:
            json.dump(files, file)
sys.exit(code)
"""
SMALL = "--toy --device cpu --quick --time 0.3s --mode infer --precision fp32 --batch 8"
COMMANDS = {
    "bench": f"bench resnet50 {SMALL}".split(),
    "predict": ["predict", "./my_model.py", "--gpu", "rtx-4090,h100-sxm"],
    "choose": ["choose", "resnet50", "--top", "3"],
}


@dataclass
class Count:
    """What is counted of some files."""

    lines: int = 0
    files: int = 0
    helpers: int = 0
    comments: int = 0
    pragmas: int = 0
    pinned: int = 0  # Of these, statements that the formatter leaves as they are
    names: list[str] = field(default_factory=list)

    def add(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        own = single_use(text)
        comments, pragmas = comment_lines(text)
        self.lines += len(text.splitlines())
        self.files += 1
        self.helpers += len(own)
        self.comments += comments
        self.pragmas += pragmas
        self.pinned += text.count("# fmt: skip")
        self.names += [f"{path}:{name}" for name in own]

    @property
    def helpers_per_1000(self) -> float:
        return 1000 * self.helpers / max(1, self.lines)

    @property
    def comments_per_100(self) -> float:
        return 100 * self.comments / max(1, self.lines)


def single_use(text: str) -> list[str]:
    """Private functions of a module that it names once."""
    tree = ast.parse(text)
    private = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("_")
        and not node.name.startswith("__")
    ]
    used = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    used.update(node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return [name for name in private if used[name] == 1]


def comment_lines(text: str) -> tuple[int, int]:
    """Lines with a comment for readers, and with a pragma alone."""
    comments = pragmas = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if PRAGMA.match(token.string):
                pragmas += 1
            else:
                comments += 1
    return comments, pragmas


def packages(source: Path) -> dict[str, Count]:
    """Each package of the first level; `.` are the modules beside them."""
    found: dict[str, Count] = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).parts
        found.setdefault(parts[0] if len(parts) > 1 else ".", Count()).add(path)
    return found


def whole(found: dict[str, Count]) -> Count:
    total = Count()
    for count in found.values():
        total.lines += count.lines
        total.files += count.files
        total.helpers += count.helpers
        total.comments += count.comments
        total.pragmas += count.pragmas
        total.pinned += count.pinned
    return total


def public_names(source: Path) -> int:
    """Entries of `gpuwise.__all__`, read and not run."""
    for node in ast.walk(ast.parse((source / "__init__.py").read_text(encoding="utf-8"))):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            value = node.value  # type: ignore[attr-defined]
            if isinstance(value, ast.List | ast.Tuple):
                return len(value.elts)
    return 0


def words(paths: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").split()) for path in paths if path.is_file())


def environment(root: Path, home: str) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(root / "src"),
        "GPUWISE_HOME": str(Path(home) / "store"),
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        "TRITON_INTERPRET": "1",
    }


def files_run(root: Path, command: str) -> dict[str, list[tuple[str, bool]]]:
    """Files of which the parent process of `command` runs code: names, and whether it is a function."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "my_model.py").write_text(MODEL)
        found = Path(folder) / "found.json"
        line = [sys.executable, "-c", FOLLOWED, str(root), str(found), *COMMANDS[command]]
        ran = subprocess.run(
            line, cwd=folder, env=environment(root, folder), capture_output=True, text=True, timeout=300
        )
        if ran.returncode or not found.is_file():
            print(f"{command}: exit code {ran.returncode}: {ran.stderr[-500:]}", file=sys.stderr)
        return json.loads(found.read_text()) if found.is_file() else {}


def milliseconds(root: Path, arguments: list[str]) -> float:
    """Median of seven processes, after one that fills the caches."""
    took = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(8):
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, *arguments],
                cwd=folder, env=environment(root, folder), check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            took.append(1000 * (time.perf_counter() - began))
    return statistics.median(took[1:])


@dataclass(frozen=True)
class Row:
    name: str
    key: str
    asked: str
    good: Callable[[float], bool]
    places: int = 0
    runs: bool = False


ROWS = (
    Row("lines of src/gpuwise, *.py", "lines", "<= 34,000", lambda v: v <= 34_000),
    Row("*.py files", "files", "<= 230", lambda v: v <= 230),
    Row("single-use helpers per 1,000 lines", "helpers", "<= 6", lambda v: v <= 6, 1),
    Row("comment lines per 100 lines", "comments", ">= 3", lambda v: v >= 3, 2),
    Row("pragma comments", "pragmas", "", lambda v: True),
    Row("  of that, fmt: skip", "pinned", "", lambda v: True),
    Row("files run by bench resnet50 --toy", "bench", "<= 30", lambda v: v <= 30, runs=True),
    Row("files run by predict ./my_model.py", "predict", "<= 35", lambda v: v <= 35, runs=True),
    Row("files run by choose resnet50 --top 3", "choose", "<= 35", lambda v: v <= 35, runs=True),
    Row("names in gpuwise.__all__", "names", "20 to 40", lambda v: 20 <= v <= 40),
    Row("gpuwise --help, ms", "help", "< 150", lambda v: v < 150, runs=True),
    Row("import gpuwise, ms", "import", "< 60", lambda v: v < 60, runs=True),
    Row("  of that, bare Python, ms", "bare", "", lambda v: True, runs=True),
    Row("words in README.md", "readme", "about 900", lambda v: 750 <= v <= 1050),
    Row("words in docs/*.md", "docs", "<= 20,000", lambda v: v <= 20_000),
)


def measured(root: Path, count: Count, *, static: bool, files: bool) -> dict[str, float]:
    source = root / "src" / "gpuwise"
    found: dict[str, float] = {
        "lines": count.lines,
        "files": count.files,
        "helpers": count.helpers_per_1000,
        "comments": count.comments_per_100,
        "pragmas": count.pragmas,
        "pinned": count.pinned,
        "names": public_names(source),
        "readme": words([root / "README.md"]),
        "docs": words(sorted((root / "docs").glob("*.md"))),
    }
    if static:
        return found
    for command in COMMANDS:
        ran = files_run(root, command)
        found[command] = len(ran)
        if files:
            called = sum(any(function for _, function in codes) for codes in ran.values())
            print(f"gpuwise {' '.join(COMMANDS[command])}: {len(ran)} files, {called} with a function called")
            for name, codes in sorted(ran.items()):
                some = ", ".join(sorted({code for code, _ in codes})[:4])
                print(f"  {name:40} {len(codes):3}  {some}")
    found["help"] = milliseconds(root, ["-m", "gpuwise", "--help"])
    found["import"] = milliseconds(root, ["-c", "import gpuwise"])
    found["bare"] = milliseconds(root, ["-c", "pass"])
    return found


def table(found: dict[str, float]) -> str:
    lines = [f"{'':38} {'before':>8} {'now':>8}  asked"]
    for row in ROWS:
        before, now = BASELINE.get(row.key), found.get(row.key)
        mark = "" if now is None or not row.asked else ("  ok" if row.good(now) else "  -")
        lines.append(f"{row.name:38} {_cell(before, row):>8} {_cell(now, row):>8}  {row.asked}{mark}")
    return "\n".join(lines)


def _cell(value: float | None, row: Row) -> str:
    return "" if value is None else f"{value:,.{row.places}f}"


def by_package(found: dict[str, Count]) -> str:
    lines = [f"{'package':14} {'lines':>7} {'files':>6} {'helpers/kLOC':>13} {'comments/100':>13}"]
    for name, count in sorted(found.items(), key=lambda item: -item[1].lines):
        lines.append(
            f"{name:14} {count.lines:7,} {count.files:6} {count.helpers_per_1000:13.1f} "
            f"{count.comments_per_100:13.2f}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--static", action="store_true", help="nothing is run")
    parser.add_argument("--by-package", action="store_true", help="a row for each package")
    parser.add_argument("--helpers", action="store_true", help="name the helpers that are used once")
    parser.add_argument("--files", action="store_true", help="name the files that the commands run")
    asked = parser.parse_args()
    root = Path.cwd()
    found = packages(root / "src" / "gpuwise")
    if asked.helpers:
        print("\n".join(name for count in found.values() for name in count.names))
    print(table(measured(root, whole(found), static=asked.static, files=asked.files)))
    if asked.by_package:
        print("\n" + by_package(found))


if __name__ == "__main__":
    main()
