"""Score predictions on public measurements, in the open: `python -m evaluation.predict --help`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast, get_args

import click

from evaluation.predict import protocols, report, scores
from gpuwise.cli import print as printer
from gpuwise.cli.options import output_options
from gpuwise.errors import GpuwiseError, InputError


@click.command("evaluation.predict", context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--set", "name", type=click.Choice(list(protocols.SETS)), required=True, help="What the file holds."
)
@click.option(
    "--data", "path", type=click.Path(path_type=Path, dir_okay=False), required=True,
    help="CSV file with the columns of the set, gzipped or not.",
)  # fmt: skip
@click.option(
    "--holdout", type=click.Choice(get_args(protocols.Holdout)), default="none", show_default=True,
    help="Refit without each GPU, family or model; none: shipped parameters.",
)  # fmt: skip
@click.option("--owned", is_flag=True, help="Correct each card by one factor from its other models.")
@click.option("--transfer", metavar="GPU", help="Predict from GPU's measurements of the same work.")
@output_options
def command(
    name: str, path: Path, holdout: str, owned: bool, transfer: str | None, to: printer.Output
) -> None:
    """Score predictions on a file of measurements, beside simple rules and the file's own predictions.

    Prints for each GPU and pooled: rows, refusals, error (MAPE, median, 90th percentile), bias, rank
    correlation, and coverage and width of the 80 % intervals.
    """
    if owned and transfer:
        raise InputError("--owned and --transfer exclude each other", hint="choose one")
    cases = protocols.load(path, name)
    chosen = cast(protocols.Holdout, holdout)
    found = scores.scores(protocols.predict_all(name, cases, holdout=chosen, owned=owned, transfer=transfer))
    module, protocol = protocols.SETS[name], _protocol(holdout, owned, transfer)
    to.table(
        report.table(found, name=name, protocol=protocol, quantity=module.quantity),
        lambda: report.document(
            found, name=name, protocol=protocol, quantity=module.quantity, unit=module.unit
        ),
    )


def _protocol(holdout: str, owned: bool, transfer: str | None) -> str:
    """`holdout gpu, owned`, as it was asked."""
    words = ["shipped parameters" if holdout == "none" else f"holdout {holdout}"]
    words += ["one factor a card from its other models"] if owned else []
    words += [f"transferred from {transfer}"] if transfer else []
    return ", ".join(words)


if __name__ == "__main__":
    try:
        command()
    except GpuwiseError as failure:
        printer.error(str(failure), failure.hint)
        sys.exit(failure.exit_code)
