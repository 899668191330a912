"""`gpuwise merge`: the files of the machines of one session become one."""

from __future__ import annotations

from pathlib import Path

import click

from gpuwise import store
from gpuwise.cli import print as printer
from gpuwise.measure.merge import merged
from gpuwise.show import results as report
from gpuwise.show.scaling import scaling


@click.command("merge", short_help="One result of the files of several machines.")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE...",
)
@printer.output_option
@printer.json_option
def command(files: tuple[Path, ...], output: Path | None, as_json: bool) -> None:
    """Merge the result FILEs that the machines of one `gpuwise bench --nodes N` wrote.

    The first machine's file is kept; the others add the watts, clocks and heat of their GPUs.
    """
    result = merged([store.load(file) for file in files])
    content = report.measurements(result)
    if output is not None and output.suffix == ".json":
        store.save(result, output)
        printer.talk(f"written to {output}")
        return
    printer.deliver(content, lambda: store.encode(result), as_json=as_json, output=output)
    scaled = scaling(result)
    if scaled is not None and output is None and not as_json:
        printer.table(scaled)
