"""Random small faults in the code that judges numbers, and how many of them the tests notice.

    python tools/mutants.py                          # 100 mutants of stats, checks, judge and store
    python tools/mutants.py --count 30 --seed 7 --under stats,store
    python tools/mutants.py --under stats --list     # what would be changed, without a run
    python tools/mutants.py --quick                  # no tests but those that run what is changed

A mutant changes one place of one file: a comparison by one (`<` to `<=`), an operator to its opposite, a
number to its double (0 to 1), `and` to `or`, a truth to its contrary; words for people and arguments of
decorators are left alone. It is killed where a test fails, does so again, and passes without the fault right
after, so that neither chance nor a load counts; or where the tests do not end in time (of the processor:
others may have it too).

The tests are those of the mirrored folder, tests/stats for src/gpuwise/stats, what other folders have under
its name, as tests/cli/test_audit.py, and with --quick no others than those of them that ran the statement and
the pinned tables.
One run without a fault records which test runs what will be changed: those that do come first, the
quickest before the others, and tests that fail without a fault are left out. A copy of the tree is changed,
never the tree itself. Mutants that change nothing a test could see survive too, so 100 % is out of reach.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import itertools
import os
import pickle
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Literal, cast

SOURCE = Path("src/gpuwise")
PACKAGES = ("stats", "checks", "judge", "store")
OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or,
    ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip
LONGEST_S = 300
# Tables of all that a package says run all of it.
PINNED = "/test_pinned.py::"
# Of the clock, for tests that wait for what never comes.
LONGEST_WAIT_S = 900
PYTEST = ("-q", "-n0", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
COUNTED = itertools.count()
# What tests import of others, loaded once: each mutant is tried in a fork.
SAME = (
    "pytest",
    "hypothesis",
    "numpy",
    "lxml.etree",
    "markdown_it",
    "msgspec",
    "click",
    "jinja2",
    "rich.console",
    "scipy.stats",
)


Ran = dict[str, tuple[float, set[tuple[str, int]]]]
"""Tests: their seconds, and the lines that they run, as (file, number)."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One place of one file with something else in it."""

    path: Path
    line: int
    old: str
    new: str
    text: str
    """The whole file, changed."""
    lines: range
    """Of the statement around it."""


def places(path: Path) -> Iterator[tuple[int, int]]:
    """(number of a node in the order of `ast.walk`, which of its operators) of everything that can change."""
    tree = ast.parse(path.read_text())
    quiet = {
        id(inner)
        for node in ast.walk(tree)
        # Types are for the checker, `__all__` and texts for readers; `slots=True` changes no answer.
        for part in (
            getattr(node, "annotation", None),
            getattr(node, "returns", None),
            *getattr(node, "decorator_list", ()),
            node if isinstance(node, ast.JoinedStr) else None,
        )
        if part is not None
        for inner in ast.walk(part)
    }
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in quiet:
            continue
        match node:
            case ast.Compare():
                yield from ((number, at) for at, op in enumerate(node.ops) if type(op) in OPPOSITES)
            case ast.BoolOp() | ast.BinOp() if type(node.op) in OPPOSITES:
                # A union of types is no arithmetic, and neither are two texts.
                if not any(isinstance(each, ast.JoinedStr) for each in ast.walk(node)):
                    yield number, 0
            case ast.UnaryOp(op=ast.Not()):
                yield number, 0
            case ast.Constant(value=bool() | int() | float()):
                yield number, 0


def mutated(path: Path, number: int, at: int) -> Mutant:
    """The file with that place changed, written anew from its tree."""
    tree = ast.parse(path.read_text())
    node = next(itertools.islice(ast.walk(tree), number, None))
    old, lines = ast.unparse(node), statement(tree, node)
    match node:
        case ast.Compare():
            node.ops[at] = OPPOSITES[type(node.ops[at])]()  # type: ignore[call-overload]
        case ast.BoolOp() | ast.BinOp():
            node.op = OPPOSITES[type(node.op)]()  # type: ignore[assignment]
        case ast.UnaryOp():
            node.op, node.operand = ast.Not(), ast.UnaryOp(op=ast.Not(), operand=node.operand)
        case ast.Constant(value=bool() as truth):
            node.value = not truth
        case ast.Constant(value=int() | float() as value):
            node.value = 2 * value or type(value)(1)
    ast.fix_missing_locations(tree)
    return Mutant(path, getattr(node, "lineno", 0), old, ast.unparse(node), ast.unparse(tree), lines)


def tests_of(path: Path) -> list[str]:
    """The tests of a file: its own first, then the others of its folder, else those of the folder above."""
    folder = Path("tests") / path.relative_to(SOURCE).parent
    while not any(folder.glob("test_*.py")):
        folder = folder.parent
    own = folder / f"test_{path.stem}.py"
    others = sorted(str(each) for each in folder.rglob("test_*.py") if each != own)
    # `choos` is in test_choose and test_choosing.
    named = Path("tests").rglob(f"test_*{path.relative_to(SOURCE).parent.name[:5].rstrip('e')}*.py")
    elsewhere = sorted(str(each) for each in named if folder not in each.parents)
    return [*([str(own)] if own.exists() else []), *others, *elsewhere]


class Recorder:
    """Which files of the packages each test runs, by the first lines of functions, and which lines of
    functions that will be changed; its seconds. Without the tests that fail."""

    def __init__(self, copy: Path, mutants: list[Mutant]) -> None:
        self._seen: set[tuple[str, int]] = set()
        self._root, self._failed, self._seconds = f"{copy}/", False, 0.0
        self._under = tuple(str(copy / SOURCE / each) for each in PACKAGES)
        self._changed = {(str(copy / mutant.path), line) for mutant in mutants for line in mutant.lines}
        self._codes: dict[CodeType, Literal["elsewhere", "sound", "changed"]] = {}
        self.tests: Ran = {}

    def _kind(self, code: CodeType) -> Literal["elsewhere", "sound", "changed"]:
        if not code.co_filename.startswith(self._under):
            return "elsewhere"
        lines = {(code.co_filename, line) for *_, line in code.co_lines() if line}
        return "changed" if lines & self._changed else "sound"

    def pytest_runtest_protocol(self, item: Any) -> None:
        seen = self._seen = set()
        self._failed, self._seconds = False, 0.0

        def line(frame: FrameType, event: str, _: object) -> Any:
            seen.add((frame.f_code.co_filename, frame.f_lineno))
            return line

        def called(frame: FrameType, event: str, _: object) -> Any:
            code = frame.f_code
            kind = self._codes.get(code) or self._codes.setdefault(code, self._kind(code))
            if kind == "elsewhere":
                return None
            seen.add((code.co_filename, code.co_firstlineno))
            return line if kind == "changed" else None

        if PINNED not in item.nodeid:
            sys.settrace(called)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._seconds += report.duration
        self._failed |= not report.passed
        if report.when == "teardown":
            sys.settrace(None)
            if not self._failed:
                seen = {(name.removeprefix(self._root), line) for name, line in self._seen}
                self.tests[report.nodeid] = self._seconds, seen


class Picked:
    """Runs these tests, in this order; the name of one that fails goes to a file."""

    def __init__(self, tests: list[str], failed: Path) -> None:
        self.tests, self._failed = tests, failed

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self._failed.write_text(report.nodeid)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        by_name = {item.nodeid: item for item in items}
        items[:] = [by_name[test] for test in self.tests if test in by_name]


def recorded(copy: Path, mutants: list[Mutant]) -> Ran:
    """What each test of the changed files runs, the quickest first."""
    recorder, answer = Recorder(copy, mutants), copy / "map"
    files = sorted({file for mutant in mutants for file in tests_of(mutant.path)})
    save = lambda: answer.write_bytes(pickle.dumps(recorder.tests))  # noqa: E731
    _forked(copy, [*PYTEST, *files], recorder, 3600, save)
    return dict(sorted(cast(Ran, pickle.loads(answer.read_bytes())).items(), key=lambda one: one[1][0]))


def statement(tree: ast.AST, node: ast.AST) -> range:
    """The lines of the innermost statement around a node; of a compound one those of its head."""
    around = [s for s in ast.walk(tree) if isinstance(s, ast.stmt) and any(n is node for n in ast.walk(s))]
    inner = max(around, key=lambda s: (s.lineno, -(s.end_lineno or 0)))
    body = getattr(inner, "body", None)
    return range(inner.lineno, max(body[0].lineno, inner.lineno + 1) if body else (inner.end_lineno or 0) + 1)


def tests_for(mutant: Mutant, ran: Ran, *, quick: bool) -> list[str]:
    """Those that run the changed statement, the quickest first, then the others of its package."""
    name = str(mutant.path)
    changed = {(name, line) for line in mutant.lines}
    first = [test for test, (_, seen) in ran.items() if seen & changed]
    if not first:  # What runs at import runs once for all.
        first = [test for test, (_, seen) in ran.items() if any(file == name for file, _ in seen)]
    files = tests_of(mutant.path)
    others = [test for test in ran if test.split("::")[0] in files]
    pinned = [test for test in others if PINNED in test]
    return list(dict.fromkeys([*first, *pinned, *([] if quick else others)]))


def killed(mutant: Mutant, copy: Path, tests: list[str]) -> bool:
    """Whether the tests notice: the one that fails does so again, and not without the fault."""
    target, failed = copy / mutant.path, copy / "failed"
    failed.unlink(missing_ok=True)
    sound, seen = target.read_text(), target.stat()

    def status_of(tests: list[str]) -> int:
        words = [*PYTEST, "-x", *dict.fromkeys(test.split("::")[0] for test in tests)]
        return _forked(copy, words, Picked(tests, failed), LONGEST_S) if tests else 0

    target.write_text(mutant.text)
    # Bytecode that a process keeps goes by seconds: no two mutants have the same.
    os.utime(target, (0, 1e9 + next(COUNTED)))
    about = f"{mutant.path}:{mutant.line}: {mutant.old}  ->  {mutant.new}"
    try:
        status = status_of(tests)
        if status < 0:
            print(f"no end in time: {about}", flush=True)
        again = [failed.read_text()] if failed.exists() else []
        chance = bool(again) and not status_of(again)
    finally:
        target.write_text(sound)
        os.utime(target, (0, seen.st_mtime))
    if chance or status_of(again):
        print(f"fails by chance: {again[0]}: {about}", flush=True)
        return False
    # 5: none was run.
    return status not in (0, 5)


def _forked(
    copy: Path, words: list[str], plugin: object, longest_s: int, after: Callable[[], object] = bool
) -> int:
    """The exit status of pytest in a fork of this process, which has imported nothing of the copy."""
    process = os.fork()
    if not process:
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (longest_s, longest_s))
            quiet = os.open(os.devnull, os.O_RDWR)
            for each in range(3):
                os.dup2(quiet, each)
            os.chdir(copy)
            sys.path[:0] = [str(copy / "src"), str(copy)]
            os.environ["PYTHONPATH"] = str(copy / "src")
            status = int(importlib.import_module("pytest").main(words, plugins=[plugin]))
            after()
            os._exit(status)
        finally:  # whatever happened, the rest of this script is the other process's
            os._exit(1)
    until = time.monotonic() + LONGEST_WAIT_S * max(1, longest_s // LONGEST_S)
    while True:
        done, ended = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(ended)
        if time.monotonic() > until:
            os.killpg(process, signal.SIGKILL)
            until = float("inf")
        time.sleep(0.05)


def main() -> None:
    """Print each survivor, and the score."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--under", default=",".join(PACKAGES), help="packages, or folders in them")
    options.add_argument("--list", action="store_true", help="only print what would be changed")
    options.add_argument("--quick", action="store_true", help="only tests that run the changed statement")
    given = options.parse_args()
    files = [path for part in given.under.split(",") for path in sorted((SOURCE / part).rglob("*.py"))]
    every = [(path, *place) for path in files for place in places(path)]
    chosen = random.Random(given.seed).sample(every, min(given.count, len(every)))
    mutants = [mutated(*one) for one in chosen]
    if given.list:
        for mutant in mutants:
            print(f"{mutant.path}:{mutant.line}: {mutant.old}  ->  {mutant.new}")
        return
    for each in SAME:
        importlib.import_module(each)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        left_out = shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "results", "experiments")
        shutil.copytree(".", copy, ignore=left_out)
        ran = recorded(copy, mutants)
        if not ran:
            raise SystemExit("no test passes without a fault")
        print(f"{len(ran)} tests recorded", file=sys.stderr, flush=True)
        survived = 0
        for number, mutant in enumerate(mutants, start=1):
            tests = tests_for(mutant, ran, quick=given.quick)
            if not killed(mutant, copy, tests):
                survived += 1
                about = f"{mutant.path}:{mutant.line}: {mutant.old}  ->  {mutant.new}"
                print(f"survives {len(tests)} tests: {about}", flush=True)
            print(f"{number - survived} of {number} killed", file=sys.stderr, flush=True)
    print(f"{len(mutants) - survived} of {len(mutants)} killed, of {len(every)} places; seed {given.seed}")


if __name__ == "__main__":
    main()
