"""Every regular expression of the product takes linear time on text that is made to slow it down.

They are found by themselves: each literal first argument of a function of `re` in src, each compiled pattern
that a module holds, and what every other call builds while texts are read that make it do so. Texts repeat
what the expression itself repeats, so that it backtracks from every place where it may.
"""

from __future__ import annotations

import ast
import importlib
import math
import re
import sys
import time
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]

import pytest

import gpuwise
from gpuwise.checks import network_in
from gpuwise.facts import prices
from gpuwise.facts.published import formats
from gpuwise.jobs.auditing import AuditRequest, audit
from gpuwise.judge.accept import bundle
from gpuwise.model.units import read_money

SOURCE = Path(gpuwise.__file__).parent
ROOT = Path(__file__).parents[1]
TEXT = """# RTX 4090 and two A100

The RTX 4090 has 24 GB[1] and came in October 2022 and the L40S in August 2023. FP8 is not supported, on the
A100.
The A100 has 40/80 GB, 40 or 80 GB, from 40 to 80 GB, 40-80 GB.
Two RTX 4090 draw 900 W; FP8 is what the H100 supports, and the A100 lacks it. [1] with sparsity

| | RTX 4090 | H100 SXM |
| --- | --- | --- |
| FP8 | 1,321 TFLOPS (sparse) | 3,958 (1,979 dense) |
| Launch | October 2022 | March 2022 |
| Supports | FP8 | NVLink, MIG |

* with sparsity

Specification RTX 4090 H100 SXM
Memory 24 GB 80 GB

RTX 4090 vs H100 SXM

Memory24 GB80 GB
24 GBMemory80 GB
Recheneinheiten1638416896
Recheneinheiten 16384 16896
Architecture Ada Lovelace Hopper
"""
LENGTHS = (300, 2000, 10_000)
# A linear one needs less than a millisecond, a quadratic one some hundred.
MOST_S = 0.05
# Of so little for five times less even a cubic one stays below that at the longest, which then is not tried.
LITTLE_S = MOST_S / 5**3
ANCHORED = {"match", "fullmatch"}
FUNCTIONS = {"search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}
# What they read is short or was cut before: (file, how the pattern begins).
BOUNDED = (
    # What somebody typed into a shell or a field of at most 200 characters.
    ("cli/", ""),
    ("judge/choose/", ""),
    ("stats/comparison.py", r"\s*(?:(slower|faster)"),
    ("model/units.py", r"\s*([0-9]*\.?[0-9]+)"),
    # A name of at most LONGEST_NAME characters, and an amount of LONGEST_MONEY without double spaces.
    ("facts/catalog/load.py", r"(\d+)[\s_-]*gi?b"),
    ("model/units.py", r"(?P<before>us"),
    # Linear, but it tries a thousand words at each place: an article of digits is timed below.
    ("judge/audit/words.py", r"(?:(?<![A-Za-z0-9.,])"),
)


def patterns() -> Iterator[tuple[str, str, int, bool]]:
    """(file, pattern, flags, searched) of each literal pattern, and of each that a module holds.

    One that is only ever matched from the start of a text is not searched.
    """
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    # Only what reads texts by patterns is parsed.
    used = (".search(", ".match(", ".fullmatch(", ".sub(", ".finditer(", "import re\n")
    texts = {path: text for path, text in texts.items() if any(use in text for use in used)}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    nodes = [(path, node) for path, tree in trees.items() for node in ast.walk(tree)]
    # `_NAME.fullmatch(...)`: how a compiled pattern is used, in its own module or else in any.
    uses: dict[tuple[Path | None, str], set[str]] = {}
    for path, node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=method):
                for where in (path, None):
                    uses.setdefault((where, owner), set()).add(method)
            case ast.Attribute(value=ast.Subscript(slice=ast.Constant(value=str() as key)), attr=method):
                uses.setdefault((None, key), set()).add(method)  # CUES["denied"].match
    for path, node in nodes:
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=function),
                args=[ast.Constant(value=str() as text), *_],
            ) if function in FUNCTIONS:
                yield str(path.relative_to(SOURCE)), text, flags_of(node), function not in ANCHORED
    for path in trees:
        name = str(path.relative_to(SOURCE))
        module = f"gpuwise.{name.removesuffix('.py').replace('/', '.').removesuffix('.__init__')}"
        if any(part in module for part in (".kernels", ".frameworks", "__main__", ".__init__")):
            continue
        # Importing all 200 modules takes half a minute; a pattern is held by the module that compiles it.
        if "re.compile(" not in texts[path]:
            continue
        found: list[tuple[str, object]] = list(vars(importlib.import_module(module)).items())
        for variable, value in found:
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                used = uses.get((path, variable), uses.get((None, variable), set())) & FUNCTIONS
                searched = not used or not used <= ANCHORED
                yield name, value.pattern, value.flags & ~int(re.UNICODE), searched
            elif isinstance(value, Mapping):
                found += [(str(key), inner) for key, inner in value.items()]
            elif isinstance(value, tuple | list):
                found += [(variable, inner) for inner in value]


# Calls that build an expression for what somebody typed, a name or a place of at most some 100 characters.
TYPED = (
    "cli/",
    "judge/choose/",
    "facts/catalog/query.py",
    "facts/llms/",
    "model/units.py",
    "workloads/registry.py",
)


def builders() -> set[tuple[str, range]]:
    """(file, lines) of each call of `re` whose expression is no literal, and that reads foreign text."""
    return {
        (name, range(node.lineno, (node.end_lineno or node.lineno) + 1))
        for path in sorted(SOURCE.rglob("*.py"))
        if "import re\n" in (text := path.read_text(encoding="utf-8"))
        and not (name := str(path.relative_to(SOURCE))).startswith(TYPED)
        for node in inside_functions(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in {*FUNCTIONS, "compile"}
        and not isinstance(node.args[0], ast.Constant)
    }


def inside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    """What a module runs after its import; what it compiles then, it holds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from ast.walk(node)


def read_everything() -> None:
    """What makes each of `builders` build its expression."""
    # Those that another test had built would not be built again.
    for name, module in list(sys.modules.items()):
        for value in (
            vars(module).values() if name.startswith(("gpuwise.judge.audit", "gpuwise.checks")) else ()
        ):
            if hasattr(value, "cache_clear") and not isinstance(value, type):
                value.cache_clear()
    article = (ROOT / "examples" / "article.md").read_text(encoding="utf-8")
    audit(AuditRequest(text=article))
    audit(AuditRequest(text=TEXT))
    audit(AuditRequest(text="Die RTX 4090 hat 24 GB Speicher und eine Leistungsaufnahme von 450 W.\n"))
    network_in("a ResNet-50")
    bundle.private("x")
    prices.is_in(prices.shipped()[0], "Europe")
    prices.is_in(prices.shipped()[0], "us-east")
    prices.around("frankfurt")
    formats._gpu_of_headings(("A100 DGX 40GB",))


def flags_of(call: ast.Call) -> int:
    """Of the attributes of `re` among the arguments."""
    names = [part.attr for part in ast.walk(call) if isinstance(part, ast.Attribute)]
    return sum({int(re.RegexFlag[name]) for name in names if name in re.RegexFlag.__members__})


def samples(parsed: object, depth: int = 0) -> Iterator[str]:
    """Short texts that parts of an expression match, the bodies of its repetitions first."""
    for op, argument in parsed:  # type: ignore[attr-defined]
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            yield one(argument[2])
            yield from samples(argument[2], depth + 1)
        elif op is sre.SUBPATTERN:
            yield from samples(argument[3], depth + 1)
        elif op is sre.BRANCH:
            for branch in argument[1]:
                yield from samples(branch, depth + 1)
        elif op in (sre.ASSERT, sre.ASSERT_NOT):
            yield from samples(argument[1], depth + 1)


def one(parsed: object) -> str:
    """A text that an expression matches, more or less."""
    said = ""
    for op, argument in parsed:  # type: ignore[attr-defined]
        if op is sre.LITERAL:
            said += chr(argument)
        elif op is sre.NOT_LITERAL:
            said += "a" if argument != ord("a") else "b"
        elif op is sre.ANY:
            said += "a"
        elif op is sre.IN:
            said += member(argument)
        elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            said += one(argument[2]) * max(1, argument[0])
        elif op is sre.SUBPATTERN:
            said += one(argument[3])
        elif op is sre.BRANCH:
            said += one(argument[1][0])
    return said


def member(choices: list[tuple[object, object]]) -> str:
    """A character of a class."""
    classes = {
        sre.CATEGORY_DIGIT: "1", sre.CATEGORY_SPACE: " ", sre.CATEGORY_WORD: "a", sre.CATEGORY_NOT_DIGIT: "a",
        sre.CATEGORY_NOT_SPACE: "a", sre.CATEGORY_NOT_WORD: " ",
    }  # fmt: skip
    if choices[0][0] is sre.NEGATE:
        body = "".join(chr(c) for op, c in choices if op is sre.LITERAL and isinstance(c, int))
        return next(c for c in "a1 .\t<" if c not in body)
    op, argument = choices[0]
    if op is sre.LITERAL:
        return chr(argument)  # type: ignore[arg-type]
    if op is sre.RANGE:
        return chr(argument[0])  # type: ignore[index]
    return classes.get(argument, "a")


def attacks(pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """(beginning, what is repeated behind it)."""
    parsed = _parser.parse(pattern.pattern, pattern.flags)
    bodies = [*dict.fromkeys(body for body in samples(parsed) if body)][:6]
    whole = one(parsed)[:50]
    pairs = [first + second for first, second in product(bodies, repeat=2) if first != second][:3]
    starts = dict.fromkeys(("", whole[: len(whole) // 2]))
    yield from product(starts, [*bodies, *pairs, *([whole] if whole else [])])


def slow_on(pattern: re.Pattern[str], slowness: float, *, searched: bool) -> str | None:
    """The text on which a pattern takes too long; None where it is fast on all that are tried."""
    most_s = MOST_S * slowness
    for start, body in attacks(pattern):
        for length in LENGTHS:  # where the growth is cubic, the longest would take hours
            text = start + (body * length)[:length] + "\x00"
            took = timed(pattern, text, searched)
            if length == LENGTHS[1] and took < LITTLE_S * slowness:
                break
            if took > most_s and not is_linear(pattern, text, most_s, searched):
                return f"{took:.2f} s on {start!r} + {body!r}, {length} characters"
    return None


def is_linear(pattern: re.Pattern[str], text: str, most_s: float, searched: bool) -> bool:
    """Whether half of a text takes half of the time, as where there are many alternatives at each place."""
    took = half = math.inf
    for turn in range(5):  # again and in turn, since the machine has other work
        took = min(took, timed(pattern, text, searched))
        half = min(half, timed(pattern, text[: len(text) // 2], searched))
        if turn and (took <= most_s or (took <= 3 * half and took <= 4 * most_s)):
            return True
    return False


def timed(pattern: re.Pattern[str], text: str, searched: bool) -> float:
    began = time.thread_time()
    if searched:
        pattern.sub("", text)
    else:
        pattern.match(text)
        pattern.fullmatch(text)
    return time.thread_time() - began


def test_no_expression_that_is_built_takes_more_than_linear_time(
    monkeypatch: pytest.MonkeyPatch, slowness: float
) -> None:
    found: dict[tuple[str, int], dict[tuple[str, int], str]] = {}
    compiled = re._compile  # type: ignore[attr-defined]

    def watched(pattern: object, flags: int) -> object:
        frame = sys._getframe(1)
        asked, caller = frame.f_code.co_name, frame.f_back
        if isinstance(pattern, str) and caller and caller.f_code.co_filename.startswith(str(SOURCE)):
            name = str(Path(caller.f_code.co_filename).relative_to(SOURCE))
            found.setdefault((name, caller.f_lineno), {})[pattern, int(flags)] = asked
        return compiled(pattern, flags)

    monkeypatch.setattr(re, "_compile", watched)
    read_everything()
    monkeypatch.undo()
    missing, slow = [], []
    for name, lines in builders():
        built = {key: asked for line in lines for key, asked in found.get((name, line), {}).items()}
        missing += [f"{name}:{lines.start}"] * (not built)
        slow += [
            f"{name}:{lines.start}: {text}\n    {attack}"
            for (text, flags), asked in list(built.items())[:3]
            if (attack := slow_on(re.compile(text, flags), slowness, searched=asked not in ANCHORED))
        ]
    assert not slow, "\n".join(slow)
    # Whoever adds one adds what makes it build its expression.
    assert not missing


def test_no_expression_takes_more_than_linear_time(slowness: float) -> None:
    found = {(text, flags, searched): where for where, text, flags, searched in patterns()}
    slow = [
        f"{where}: {text}\n    {attack}"
        for (text, flags, searched), where in found.items()
        if not any(where.startswith(file) and text.startswith(start) for file, start in BOUNDED)
        and (attack := slow_on(re.compile(text, flags), slowness, searched=searched))
    ]
    assert len(found) > 200
    assert not slow, "\n".join(slow)


@pytest.mark.parametrize("part", [" ", "\xa0\t", " ,", "Aa", "1", "gpu, ", "('s", "<td>", "x 1 GB "])
def test_an_article_takes_linear_time(part: str, slowness: float) -> None:
    text = f"The RTX 4090{(part * 20_000)[:20_000]} has 24 GB\n"
    took_s = []
    for _ in range(2):  # the first loads facts
        began = time.thread_time()
        audit(AuditRequest(text=text))
        took_s.append(time.thread_time() - began)
    assert min(took_s) < 2.0 * slowness


def test_an_amount_of_spaces_is_no_amount(slowness: float) -> None:
    began = time.thread_time()
    with pytest.raises(ValueError, match="amount"):
        read_money(f"us$ 1 {' ' * 100_000}z")
    assert time.thread_time() - began < 0.5 * slowness
