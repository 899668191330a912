"""`gpuwise calibrate`: time the operators of every kernel class on this machine's GPU."""

from __future__ import annotations

from pathlib import Path

import click

from gpuwise.cli import options as shared
from gpuwise.cli import print as printer
from gpuwise.jobs.calibrating import USUAL_S, CalibrateRequest, calibrate


@click.command("calibrate", short_help="Time operators here, so that predictions of this GPU rest on them.")
@click.option("--gpu", metavar="NAME", help="The GPU's name, where the driver's is not enough.")
@click.option("--time", "time_s", type=click.FloatRange(1.0), default=USUAL_S, show_default=True,
              help="Seconds; cases that do not fit are left out.")  # fmt: skip
@click.option("--device", type=click.Choice(["cuda", "cpu"]), default="cuda", show_default=True,
              help="cpu: a rehearsal; its factors are not kept.")  # fmt: skip
@click.option("--only", multiple=True, metavar="CLASS", help="Cases whose name begins so: pointwise, dense.")
@shared.output_option
@shared.json_option
def command(
    gpu: str | None, time_s: float, device: str, only: tuple[str, ...], output: Path | None, as_json: bool
) -> None:
    """Measure convolutions, products, norms, copies, reductions, lookups, recurrent layers and optimisers on
    this machine's GPU for two to three minutes. Predictions of that GPU rest on them from then on, of
    networks that nobody measured too.
    """
    printer.check_output(output)
    request = CalibrateRequest(gpu=gpu, time_s=time_s, device=device, only=only, keep=device == "cuda")
    answer = calibrate(request)
    printer.deliver(answer.table, answer.to_data, as_json=as_json, output=output)
