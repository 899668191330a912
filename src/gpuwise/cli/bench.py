"""`gpuwise bench`: parse the options, run the session, print each measurement as it is final."""

from __future__ import annotations

import os
import secrets
import shlex
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import click

from gpuwise import catalog, store, telemetry, units
from gpuwise.bench.device import check_host, check_idle, choose
from gpuwise.bench.keep import Keeper
from gpuwise.bench.plan import Request, check_precisions, configs, lacking
from gpuwise.bench.session import Progress, Session, new_session
from gpuwise.cli import print as printer
from gpuwise.errors import INTERRUPTED, InputError, RunError
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.result import Measurement, Result
from gpuwise.model.run import PROTOCOLS, RECIPES, Device, Protocol, Recipe, RunConfig
from gpuwise.model.workload import MODES, PRECISIONS, Mode, Precision
from gpuwise.report import results as report

QUICK_S = {"cuda": 4.0, "cpu": 8.0}
"""Time budget of each measurement of a quick run."""

REFERENCE = "resnet50,bert-large"


def _choices(text: str, allowed: tuple[str, ...], what: str) -> tuple[str, ...]:
    chosen = units.parse_list(text)
    for value in chosen:
        if value not in allowed:
            raise InputError(f"unknown {what} {value!r}", hint=f"choose from {','.join(allowed)}")
    if not chosen:
        raise InputError(f"no {what} given", hint=f"choose from {','.join(allowed)}")
    return chosen


def _batch(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) == 0:
        raise InputError(
            f"a batch is a positive number or auto, not {text!r}", hint="gpuwise bench --batch auto"
        )
    return int(text)


@click.command("bench", short_help="Measure this machine.")
@click.option(
    "--workload", default=REFERENCE, show_default=True, help="What to measure; see gpuwise workloads."
)
@click.option("--mode", default="train,infer", show_default=True, help="train, infer.")
@click.option(
    "--precision",
    default=None,
    help="fp64, fp32, tf32, fp16, bf16, fp8, int8. [default: bf16, where missing fp16; fp32 on a CPU]",
)
@click.option("--compile", "compiled", default=None, help="off, on. [default: on; off for a CPU or --quick]")
@click.option(
    "--batch", default="auto", show_default=True, help="Items per step, or auto: search the fastest."
)
@click.option(
    "--recipe",
    default="tuned",
    show_default=True,
    type=click.Choice(RECIPES),
    help="tuned: the best known. parity: the benchmark article's public script.",
)
@click.option(
    "--protocol",
    default="adaptive",
    show_default=True,
    type=click.Choice(PROTOCOLS),
    help="adaptive: until the interval is narrow. aime: 50 steps, mean of three runs, start below 50 C.",
)
@click.option(
    "--time", "time_text", default=None, help="Longest timing of one measurement, e.g. 60s. [default: 60s]"
)
@click.option(
    "--target-ci", default="1%", show_default=True, help="Stop when the 95 % interval is within ± this."
)
@click.option("--quick", is_flag=True, help="A first picture: eager, default batch, a few seconds each.")
@click.option("--gpu", "index", type=int, default=None, help="GPU index, as nvidia-smi counts.")
@click.option(
    "--device", type=click.Choice(["cpu", "cuda"]), default=None, help="[default: cuda where there is a GPU]"
)
@click.option("--toy", is_flag=True, hidden=True, help="Shrunken models, to test gpuwise itself.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no lines: only the table.")
@printer.output_option
@printer.json_option
def command(
    workload: str,
    mode: str,
    precision: str | None,
    compiled: str | None,
    batch: str,
    recipe: Recipe,
    protocol: Protocol,
    time_text: str | None,
    target_ci: str,
    quick: bool,
    index: int | None,
    device: Device | None,
    toy: bool,
    quiet: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Measure this machine: limits first, then each workload, one line each as it is final.

    Every list takes commas. The result is kept after every measurement; Ctrl-C keeps what is done.
    """
    printer.check_output(output)
    asked = Request(
        workloads=units.parse_list(workload),
        modes=cast("tuple[Mode, ...]", _choices(mode, MODES, "mode")),
        precisions=cast(
            "tuple[Precision, ...]", _choices(precision, PRECISIONS, "precision") if precision else ()
        ),
        compile=tuple(c == "on" for c in _choices(compiled, ("off", "on"), "compile")) if compiled else (),
        recipe=recipe,
        device="cpu",
        protocol=protocol,
        batch=_batch(batch),
        time_s=units.parse_seconds(time_text) if time_text else 0.0,
        target_ci=units.parse_share(target_ci),
        quick=quick,
        size="toy" if toy else "full",
    )
    session, keeper, request = _prepare(asked, device, index, output)
    plan = configs(request)
    complete = _measure(session, plan, quiet=quiet or as_json)
    _finish(session.result, keeper, output, as_json=as_json)
    if not complete:
        sys.exit(INTERRUPTED)


def _prepare(
    asked: Request, device: Device | None, index: int | None, output: Path | None
) -> tuple[Session, Keeper, Request]:
    """Everything that can be refused is refused here, before anything is measured."""
    sensors = telemetry.sensors()
    chosen, sensor = choose(
        sensors, telemetry.torch_build(), device=device, index=index, variables=os.environ
    )
    info = sensor.info() if sensor else None
    spec = catalog.resolve_device(info.name, info.memory_bytes) if info else None
    name = info.name if info else telemetry.cpu_name() if chosen == "cpu" else "GPU"
    check_precisions(asked.precisions, spec, chosen, name)
    request = _with_defaults(asked, chosen, spec)
    configs(request)
    others, cautions = check_idle(sensor, [s.info() for s in sensors]) if sensor else (None, ())
    if chosen == "cpu":
        cautions = check_host(telemetry.load_share())
    identity = store.new_id(datetime.now(UTC), spec.id if spec else name, secrets.token_hex(2))
    path = (
        output
        if output is not None and output.suffix == ".json"
        else store.results_dir() / f"{identity}.json"
    )
    store.check_writable(path)
    keeper = Keeper(path)
    session = new_session(
        sensor=sensor,
        device_name=name,
        identity=identity,
        command=_repeatable(),
        keep=keeper,
        others=others,
    )
    session.cautions = cautions
    return session, keeper, request


def _repeatable() -> str:
    """The command line that makes this result again; where it was written does not matter."""
    given: tuple[str, ...] = click.get_current_context().obj
    words = [word for word in given if not word.startswith("--output=")]
    for option in ("-o", "--output"):
        if option in words:
            at = words.index(option)
            del words[at : at + 2]
    return shlex.join(["gpuwise", *words])


def _with_defaults(asked: Request, device: Device, spec: GpuSpec | None) -> Request:
    from dataclasses import replace

    missing = lacking(spec, device)
    half: Precision = "fp16" if "bf16" in missing else "bf16"
    return replace(
        asked,
        device=device,
        precisions=asked.precisions or (("fp32",) if device == "cpu" else (half,)),
        compile=asked.compile or (device == "cuda" and not asked.quick,),
        time_s=asked.time_s or (QUICK_S[device] if asked.quick else 60.0),
    )


def _measure(session: Session, plan: tuple[RunConfig, ...], *, quiet: bool) -> bool:
    """Print progress and each final line; whether all were measured.

    Ctrl-C and SIGTERM (a batch system's) end the session, not what it has measured.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not quiet:
        printer.talk(report.headline(session.result))
    try:
        for update in session.measure_all(plan):
            if quiet:
                continue
            if isinstance(update, Progress):
                printer.status(_progress(update))
            else:
                printer.status("")
                printer.out(report.line(update))
    except KeyboardInterrupt:
        printer.status("")
        printer.talk(f"interrupted after {len(session.result.measurements)} of {len(plan)} measurements")
        return False
    return True


def _progress(update: Progress) -> str:
    where = f"[{update.number}/{update.total}] {report.cell_name(update.config)}"
    return f"{where}: {update.doing} · about {units.seconds(update.eta_s)} left"


def _finish(result: Result, keeper: Keeper, output: Path | None, *, as_json: bool) -> None:
    """The table, where the file is, and an error where something failed."""
    if as_json or (keeper.kept is None and result.measurements):
        # Where no disk takes it, the terminal is the last place to keep it.
        printer.out(printer.json_text(store.encode(result)))
    else:
        printer.table(report.measurements(result))
    if output is not None and output.suffix != ".json":
        printer.write(output, report.measurements(result), lambda: store.encode(result))
    if keeper.kept is not None:
        printer.talk(f"kept in {keeper.kept}; see it again with: gpuwise show {keeper.kept}")
    if keeper.trouble is not None:
        raise keeper.trouble
    failed = [m for m in result.measurements if m.status in ("oom", "failed")]
    if failed:
        names = ", ".join(f"{report.cell_name(m.config)} ({m.status})" for m in failed)
        raise RunError(
            f"{len(failed)} of {len(result.measurements)} measurements failed: {names}", hint=_remedy(failed)
        )


def _remedy(failed: list[Measurement]) -> str:
    if any(m.status == "oom" for m in failed):
        return "gpuwise bench --batch auto finds a batch that fits"
    return "gpuwise doctor; the notes above say how each one ended"
