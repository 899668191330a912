"""Options and arguments that several verbs share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import click

from gpuwise.cli import print as printer
from gpuwise.facts import catalog
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.question import RECIPES, Recipe

device_option = click.option(
    "--device", type=click.Choice(["cpu", "cuda"]), help="[default: cuda where there is a GPU]"
)
index_option = click.option("--gpu", "index", type=int, help="GPU index, as nvidia-smi counts.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress, no lines: only the table.")
toy_option = click.option("--toy", is_flag=True, hidden=True, help="Shrunken models, to test gpuwise itself.")
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document and nothing else."
)


def output(
    help: str = "Write to FILE; the suffix picks the format: .json, .csv, .parquet or .md.",
    suffixes: Sequence[str] = printer.SUFFIXES,
) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """`-o FILE`, whose suffix is checked before anything is computed, and `--json`."""

    def check(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
        printer.check_output(path, suffixes)
        return path

    file = click.option(
        "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), callback=check, help=help
    )
    return lambda function: file(json_option(function))


output_options = output()
drawn_output = output(
    "Write to FILE; the suffix picks the format: .json, .csv, .parquet, .md, or the chart as .svg, .png.",
    (*printer.SUFFIXES, *printer.DRAWINGS),
)


def files(*names: str, help: str) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """An option of files that may be repeated."""
    path = click.Path(path_type=Path)
    return click.option(*names, multiple=True, metavar="FILE", type=path, help=f"{help} May be repeated.")


class RecipeChoice(click.Choice[Recipe]):
    """One of the recipes; a name of version 0.1 is answered with today's."""

    def __init__(self, recipes: Sequence[Recipe] = RECIPES) -> None:
        super().__init__(recipes)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Recipe:
        """Raises click.BadParameter."""
        if value == "parity":
            self.fail("the recipe parity is called script since version 0.2", param, ctx)
        return super().convert(value, param, ctx)


def today() -> date:
    """The day it is here; a function so that a test can set it."""
    return date.today()


def variants(name: str) -> tuple[str, ...]:
    """Ids of the GPUs that `name` may mean: every variant of `h100`.

    Raises InputError for an unknown name and for a whole product line ("rtx").
    """
    found = catalog.resolve(name)
    return (found.spec.id, *found.others)


def gpu(name: str) -> GpuSpec:
    """The GPU that `name` means; where it has several variants, standard error names them.

    Raises InputError for an unknown name and for a whole product line ("rtx").
    """
    found = catalog.resolve(name)
    if found.note:
        printer.talk(f"note: {found.note}")
    return found.spec
