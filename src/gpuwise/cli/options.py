"""The options of every verb, from `options.csv`: what each is called, takes and does.

A row holds for the verbs that it names, with the name of its value (else that of the option), its kind,
default, placeholder, environment variable and help. A kind is `flag`, `int 1..20`, `path`, `on|off`, or what
a text is parsed as by `model.units` (`seconds`, `counts a context`); `*` may be repeated, `!` is required.
What only code knows stands in braces: lists in a help text, and kinds.
"""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial, reduce, wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from gpuwise.cli.print import DRAWINGS, SUFFIXES, Output, check_output
from gpuwise.errors import InputError
from gpuwise.model import units

Decorator = Callable[..., Any]
Devices = tuple[str | None, tuple[int, ...]]
"""A kind of device, None where only indices name it, and the indices of its GPUs, as nvidia-smi counts."""
option = partial(click.option, show_default=True)
"""An option whose help says its default."""


def parsed(parse: Callable[[str], Any]) -> Decorator:
    """A callback of click that parses the text of an option, where it has one."""
    return lambda context, option, text: None if text is None else parse(text)


_PATH = click.Path(path_type=Path)
# Kinds whose name says all, as click's arguments.
KINDS: dict[str, dict[str, Any]] = {
    "": {},
    "path": {"type": _PATH},
    "folder": {"type": click.Path(file_okay=False, path_type=Path)},
    "switch": {"type": click.Choice(["on", "off"]), "callback": parsed(lambda word: word == "on")},
    "lower": {"callback": parsed(str.casefold)},
    "words": {"callback": parsed(lambda text: units.parse_list(text.casefold()))},
}


@cache
def rows(name: str) -> list[dict[str, str]]:
    """The rows of a table beside this file."""
    with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def synonyms(option: str, words: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Words that people try for an option -> the option and what its value becomes: `requests={}_requests` is
    an amount of them, `train=lora` a flag that is a value here. Empty where the value stays."""
    found = (word.partition("=") for word in words)
    return {word: (option, value.replace("_", " ")) for word, _, value in found}


def options(verbs: str, **given: Any) -> Decorator:
    """All options of these verbs as one decorator, in the order of the file. `given` has what stands in
    braces: a list for a help text, and for a kind its choices, its type or its callback."""
    lists = {name: value if isinstance(value, str) else ", ".join(value) for name, value in given.items()
             if name.isupper()}  # fmt: skip
    each: list[Decorator] = []
    table = rows("options.csv")
    for row in [row for verb in verbs.split() for row in table if verb in row["verbs"].split()]:
        words = [word for word in row["kind"].split() if word not in ("*", "!", "hidden")]
        kind, more = (*words, "", "")[0], " ".join(words[1:])
        made: dict[str, Any] = {
            "help": row["help"].format(**lists), "metavar": row["like"] or None, "envvar": row["env"] or None,
            "multiple": "*" in row["kind"], "required": "!" in row["kind"], "hidden": "hidden" in row["kind"],
        }  # fmt: skip
        if row["default"]:
            made["default"] = (row["default"],) if made["multiple"] else row["default"]
        if kind == "flag":
            # `none` distinguishes a flag that was not given from one that is off.
            made |= {"flag_value": more} if more not in ("", "none") else {"is_flag": True}
            made |= {"default": None} if more == "none" else {}
        elif kind == "optional":  # it may stand without its value
            made |= {"is_flag": False, "flag_value": more}
        elif kind in ("int", "float"):
            number, within = (int, click.IntRange) if kind == "int" else (float, click.FloatRange)
            ends: list[Any] = [number(end) if end else None for end in more.split("..")]
            made["type"] = within(*ends) if more else number
        elif "|" in kind:
            made["type"] = click.Choice(kind.split("|"), case_sensitive=False)
        elif kind.startswith("{"):
            values: Any = given[kind[1:-1]]
            if isinstance(values, click.ParamType):
                made["type"] = values
            elif callable(values):
                made["callback"] = values
            else:
                made["type"] = click.Choice([*map(str, values)], case_sensitive=False)
        elif kind in KINDS:
            made |= KINDS[kind]
        else:
            parse = getattr(units, f"parse_{kind}")
            made["callback"] = parsed(partial(parse, what=more) if more else parse)
        each.append(option(*row["option"].split(), *([row["name"]] if row["name"] else []), **made))
    return together(*each)


def together(*each: Decorator) -> Decorator:
    """Several options as one decorator; the help lists them in this order."""
    return lambda function: reduce(lambda command, one: one(command), reversed(each), function)


def typed(context: click.Context) -> dict[str, str]:
    """Option -> the name of its value, of those that stand on the command line."""
    return {
        p.opts[0]: str(p.name)
        for p in context.command.params
        if isinstance(p, click.Option)
        and context.get_parameter_source(str(p.name)) is ParameterSource.COMMANDLINE
    }


def again(*changed: tuple[str, str]) -> str:
    """The command line as it was typed, with these options and values in place of its own."""
    given: tuple[str, ...] = click.get_current_context().obj  # what `main.run` was called with
    words, names = ["gpuwise", *given], [name for name, _ in changed]
    for i in reversed(range(len(words))):
        if words[i] in names or words[i].startswith(tuple(f"{name}=" for name in names)):
            del words[i : i + 1 + (words[i] in names)]
    return shlex.join([*words, *(word for pair in changed for word in pair)])


json_option = option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")


def output(
    help: str = "Write to FILE; the suffix picks the format: .json, .csv, .parquet or .md.",
    suffixes: Sequence[str] = SUFFIXES,
) -> Decorator:
    """`-o FILE`, whose suffix is checked before anything is computed, and `--json`, as one argument `to`."""

    def check(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
        check_output(path, suffixes)
        return path

    def bound(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, output: Path | None, as_json: bool, **given: Any) -> Any:
            return function(*args, to=Output(output, as_json), **given)

        return call

    file = option(
        "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), callback=check, help=help
    )
    return together(file, json_option, bound)


output_options = output()
drawn_output = output(
    "Write to FILE; the suffix picks the format: .json, .csv, .parquet, .md, or the chart as .svg, .png.",
    (*SUFFIXES, *DRAWINGS),
)


class DeviceChoice(click.ParamType["Devices"]):
    """Devices of this machine: `cpu`, `cuda`, `1`, `cuda:1`, or `several` of one kind, `0,2`, `0-7`."""

    name = "device"

    def __init__(self, kinds: Sequence[str] = (), *, several: bool = False) -> None:
        self.kinds, self.several = kinds, several

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Devices:
        """Raises InputError."""
        kind, _, numbers = value.partition(":") if value[:1].isalpha() else ("", "", value)
        kind, indices = kind.casefold(), list[str]()
        for word in units.parse_list(numbers):
            ends = re.fullmatch(r"(\d{1,3})-(\d{1,3})", word)
            found = range(int(ends[1]), int(ends[2]) + 1) if ends else ()
            indices += [str(i) for i in found] or [word]
        known = kind in self.kinds or (not kind and indices)
        if not known or not all(word.isdecimal() for word in indices):
            indexed = f"GPU indices as nvidia-smi counts, like {'0,2 or 0-3' if self.several else 0}"
            named = ", ".join((*self.kinds, indexed))
            hint = f"choose from {named}; a GPU that is not here: gpuwise predict --gpu NAME"
            raise InputError(f"{value[:40]!r} is not one of the devices to choose from here", hint=hint)
        if len(indices) > 1 and not self.several:
            raise InputError("one GPU is named by its index", hint="--gpus 2 measures on two")

        return kind or None, tuple(dict.fromkeys(map(int, indices)))


def one_device(devices: Devices | None) -> tuple[Any, int | None]:
    """The kind and the index of a device that is one; None where it was not given."""
    kind, indices = devices or (None, ())
    return kind, next(iter(indices), None)
