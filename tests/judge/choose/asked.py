"""What the questions of evaluation/ are read as, whole and with words left out."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

from gpuwise.errors import GpuwiseError
from gpuwise.judge.choose.need import FIELDS, need_of, settled
from gpuwise.model.judgement import Need

DAY = date(2026, 11, 26)
RATES = {"USD": 1.0, "EUR": 1.1}
FOLDER = Path(__file__).parents[3] / "evaluation"
FLAGS = {f"--{one.name}" for one in FIELDS if one.flag}
NAMES = {one.name: one.many for one in FIELDS}
# Of each question every such word is left out once, from another place on in each.
EVERY = 5


def questions() -> Iterator[tuple[str, dict[str, Any]]]:
    """Words and options of each question."""
    asks = [
        wanted["ask"]
        for path in sorted(FOLDER.glob("questions*.toml"))
        for wanted in tomllib.loads(path.read_text(encoding="utf-8")).values()
    ]
    for ask in dict.fromkeys(asks):
        words: list[str] = []
        given: dict[str, Any] = {}
        parts = shlex.split(ask)
        while parts:
            part = parts.pop(0)
            name = part.removeprefix("--")
            if part in ("--own", "--rent"):
                given["acquire"] = name
            elif part in FLAGS:
                given[name] = "yes"
            elif part.startswith("--"):
                value = parts.pop(0) if parts and not parts[0].startswith("--") else ""
                if NAMES.get(name):
                    given.setdefault(name, []).append(value)
                elif name in NAMES:
                    given[name] = value
            else:
                words.append(part)
        yield " ".join(words), given


def without_words() -> Iterator[tuple[str, dict[str, Any]]]:
    for number, (text, given) in enumerate(questions()):
        words = text.split()
        for at in range(number % EVERY, len(words), EVERY) if len(words) > 1 else ():
            yield " ".join(words[:at] + words[at + 1 :]), given


def rows(
    asked: Iterator[tuple[str, dict[str, Any]]],
    stated: Callable[[Need], str],
    refusal: Callable[[GpuwiseError], str],
) -> Iterator[str]:
    """The need of each question, as `stated` writes it."""
    for text, given in asked:
        options = " ".join(f"{name}={value}" for name, value in given.items())
        try:
            need, _ = need_of(text or None, given, RATES, today=DAY)
            answer = stated(settled(need))
        except GpuwiseError as error:
            answer = refusal(error)
        yield f"{text} | {options} | {answer}"
