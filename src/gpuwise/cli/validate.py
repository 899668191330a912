"""`gpuwise validate`: score predictions on public measurements, from a checkout of the repository.

The wheel has no scored sets: what runs is `python -m evaluation.predict` of the folder beside `src`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import click

import gpuwise
from gpuwise.errors import NoDataError


@click.command(
    "validate",
    context_settings={"ignore_unknown_options": True},
    short_help="Score predictions on public measurements.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Score predictions on a file of public measurements, each GPU left out of the fit.

    Takes the arguments of `python -m evaluation.predict` (--set, --data, --holdout, --owned, --transfer,
    --json) and runs that from a checkout of the repository, which holds the scored sets; the wheel does not.
    """
    root = Path(gpuwise.__file__).parents[2]
    if not (root / "evaluation" / "predict" / "__main__.py").is_file():
        raise NoDataError(
            "scores need the folder `evaluation` of the repository, which the package does not contain",
            hint="clone the repository, then: python -m evaluation.predict --help",
        )
    sys.path.insert(0, str(root))  # the folder is not a part of what is installed
    scorer = import_module("evaluation.predict.__main__").command
    assert isinstance(scorer, click.Command)
    scorer.main(list(arguments), prog_name="gpuwise validate", standalone_mode=False)
