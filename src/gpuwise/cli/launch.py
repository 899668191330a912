"""`gpuwise launch`: one `gpuwise bench` on many machines, through Slurm or Kubernetes; `gpuwise merge`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from gpuwise import store, workloads
from gpuwise.cli import bench
from gpuwise.cli import print as printer
from gpuwise.cli.options import json_option, options, output_options
from gpuwise.errors import INTERRUPTED, InputError
from gpuwise.measure import cluster
from gpuwise.measure.cluster import ClusterJob, arguments_of, check, merged
from gpuwise.measure.request import check_counts
from gpuwise.model.question import parse
from gpuwise.show import results as show
from gpuwise.show.scaling import scaling

_bench = click.argument("bench", nargs=-1, type=click.UNPROCESSED, metavar="-- BENCH_ARGUMENTS...")


@click.group("launch")
def command() -> None:
    """Run `gpuwise bench` on many machines at once.

    \b
      gpuwise launch slurm --nodes 2 --gpus-per-node 8 -- resnet50 --mode train
      gpuwise launch kubernetes --nodes 2 --image IMAGE --claim CLAIM -- bert-large > job.json
    """


@command.command("slurm", short_help="Write a batch script and submit it.")
@_bench
@options("launch slurm")
@json_option
def slurm(sbatch: tuple[str, ...], dry_run: bool, wait: bool, as_json: bool, **options: Any) -> None:
    """Submit `gpuwise bench BENCH_ARGUMENTS` to Slurm; results are merged into one file in --folder."""
    job = _job(options)
    if wait and dry_run:
        raise InputError("--dry-run submits nothing to wait for", hint="leave one of them out")
    text = cluster.script(job, sbatch)
    if dry_run:
        printer.out(printer.json_text({"script": text, "answer": None}) if as_json else text.rstrip("\n"))
        return
    number, process = cluster.submit(text, wait=wait)
    if not wait:
        with process:  # closes its pipes
            answer = f"Submitted batch job {number}"  # as sbatch says it
        printer.out(printer.json_text({"script": text, "answer": answer}) if as_json else answer)
        return
    log = f"{job.folder}/{job.name}-{number}.log"
    printer.talk(f"job {number} is submitted; its log: {log}")
    try:
        with process:  # closes its pipes
            code = process.wait()
    except KeyboardInterrupt:
        printer.talk(f"job {number} goes on without you; scancel {number} ends it")
        sys.exit(INTERRUPTED)
    file = Path(cluster.results(job, number))
    files = [str(file)] if file.exists() else []
    if as_json:
        printer.out(printer.json_text({"job": number, "script": text, "code": code, "results": files}))
    elif files:
        printer.out(f"results are in {file}; see them with: gpuwise show {file}")
    if code:
        printer.talk(f"job {number} ended with exit code {code}; its log: {log}")
    sys.exit(code)


@command.command("kubernetes", short_help="Print the manifest of a Job.")
@_bench
@options("launch kubernetes")
def kubernetes(image: str, claim: str | None, push: str | None, **options: Any) -> None:
    """Print the manifest that runs `gpuwise bench BENCH_ARGUMENTS`: pipe it to kubectl apply -f -."""
    printer.out(cluster.manifest(_job(options), image=image, claim=claim, push=push))


def _job(options: dict[str, Any]) -> ClusterJob:
    """The job of the options. Raises InputError, and click's errors for what `gpuwise bench` would refuse
    at once: better here than when the job's turn comes."""
    time = cluster.clock(options.pop("time"))
    job = ClusterJob(arguments=arguments_of(options.pop("bench")), time=time, **options)
    check(job)
    # Parsed and not run: a typo is an error now, not when the job's turn has come.
    words = shlex.split(job.command(host="host", rank="0", output="result.json"))
    context = bench.command.make_context("gpuwise bench", words[2:])
    if bench.of_server(context):
        return job
    if switches := context.params["switch"]:
        parse(switches)
    for request in bench.asked(context.params):
        # Files and libraries are where the job runs.
        here = [name for name in request.workloads if ":" not in name and not name.endswith(".py")]
        for name in here:
            workloads.find(name)
        if len(here) == len(request.workloads) and context.params["suite"] is None:
            try:
                check_counts(request)
            except InputError as error:
                raise InputError(str(error), hint="--gpus-per-node 1") from error
    return job


@click.command()
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@output_options
def merge(files: tuple[Path, ...], to: printer.Output) -> None:
    """Merge the result FILEs that the machines of one `gpuwise bench --nodes N` wrote.

    The first machine's file is kept; the others add the watts, clocks and heat of their GPUs.
    """
    result = merged([store.load(file) for file in files])
    to.table(show.measurements(result), lambda: store.encode(result))
    if to.on_screen and (scaled := scaling(result)) is not None:
        printer.table(scaled)
