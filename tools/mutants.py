"""Random small faults in the code that judges numbers, and how many of them the tests notice.

    python tools/mutants.py                          # 100 mutants of stats, checks, judge and store
    python tools/mutants.py --count 30 --seed 7 --under stats,store
    python tools/mutants.py --under stats --list     # what would be changed, without a run

A mutant changes one place of one file: a comparison by one (`<` to `<=`), an operator to its opposite, a
number to its double (0 to 1), `and` to `or`, a truth to its contrary; words for people and arguments of
decorators are left alone. It is killed where the tests of its package fail, or do not end in time (of the
processor: others may have it too). The tests
are those of the mirrored folder, tests/stats for src/gpuwise/stats, the file of the same name first, because
it most often decides; then what other folders have under its name, as tests/cli/test_audit.py. A copy of the
tree is changed, never the tree itself. Mutants that change nothing a test could see survive too, so 100 % is
out of reach.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

SOURCE = Path("src/gpuwise")
PACKAGES = ("stats", "checks", "judge", "store")
OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or,
    ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip
LONGEST_S = 120
# Of the clock, for tests that wait for what never comes.
LONGEST_WAIT_S = 900
PYTEST = ("-x", "-q", "-n0", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
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
    "scipy.stats",
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One place of one file with something else in it."""

    path: Path
    line: int
    old: str
    new: str
    text: str
    """The whole file, changed."""


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
    node = list(ast.walk(tree))[number]
    old = ast.unparse(node)
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
    return Mutant(path, getattr(node, "lineno", 0), old, ast.unparse(node), ast.unparse(tree))


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


def killed(mutant: Mutant, copy: Path) -> bool:
    """Whether the tests notice."""
    target = copy / mutant.path
    sound = target.read_text()
    target.write_text(mutant.text)
    try:
        process = os.fork()
        if not process:
            _tested(mutant, copy)
        until, status = time.monotonic() + LONGEST_WAIT_S, None
        while status is None:
            done, ended = os.waitpid(process, os.WNOHANG)
            if done:
                status = ended
            elif time.monotonic() > until:
                os.killpg(process, signal.SIGKILL)
                until = float("inf")
            time.sleep(0.1)
        return status != 0
    finally:
        target.write_text(sound)


def _tested(mutant: Mutant, copy: Path) -> NoReturn:
    """The exit status of its tests, as that of this process, which is a fork."""
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (LONGEST_S, LONGEST_S))
        quiet = os.open(os.devnull, os.O_RDWR)
        for each in range(3):
            os.dup2(quiet, each)
        os.chdir(copy)
        sys.path[:0] = [str(copy / "src"), str(copy)]
        os.environ["PYTHONPATH"] = str(copy / "src")
        os._exit(int(importlib.import_module("pytest").main([*PYTEST, *tests_of(mutant.path)])))
    finally:  # whatever happened, the rest of this script is the other process's
        os._exit(1)


def main() -> None:
    """Print each survivor, and the score."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--under", default=",".join(PACKAGES), help="packages, or folders in them")
    options.add_argument("--list", action="store_true", help="only print what would be changed")
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
        survived = 0
        for number, mutant in enumerate(mutants, start=1):
            if not killed(mutant, copy):
                survived += 1
                print(f"survives: {mutant.path}:{mutant.line}: {mutant.old}  ->  {mutant.new}", flush=True)
            print(f"{number - survived} of {number} killed", file=sys.stderr, flush=True)
    print(f"{len(mutants) - survived} of {len(mutants)} killed, of {len(every)} places; seed {given.seed}")


if __name__ == "__main__":
    main()
