"""`gpuwise predict`: speed, memory, power and fit on GPUs that need not be here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import click

from gpuwise import store
from gpuwise.cli import print as printer
from gpuwise.cli.recipe import RecipeChoice
from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.model import units
from gpuwise.model.precision import Precision
from gpuwise.model.recipe import Recipe
from gpuwise.model.record import Record
from gpuwise.model.result import Result
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Mode, WorkloadSpec
from gpuwise.show import predictions as report
from gpuwise.workloads import registry

_PREFERRED: tuple[Precision, ...] = (Precision.BF16, Precision.FP16, Precision.TF32, Precision.FP32)


@click.command("predict", short_help="Speed, memory and watts on GPUs that are not here.")
@click.argument("workload")
@click.option("--gpu", "gpus", default="all", show_default=True, metavar="GPU,...",
              help="Names or filters of gpuwise gpus: rtx-4090,h100-sxm, 24GB.., ada; all.")  # fmt: skip
@click.option("--mode", type=click.Choice(["train", "infer"]), help="[default: train where there is one]")
@click.option("--precision", help="fp32, tf32, fp16, bf16. [default: bf16 where the workload has it]")
@click.option("--batch", default="auto", show_default=True,
              help="Items a step on each GPU; auto: the best that fits.")  # fmt: skip
@click.option("--compile", "compiled", type=click.Choice(["on", "off"]), default="on", show_default=True)
@click.option("--recipe", type=RecipeChoice(), default="stock", show_default=True,
              help="script: the benchmark article's public script. stock: torch's own kernels; tuned is "
              "predicted as stock.")  # fmt: skip
@click.option("--gpus", "count", type=click.IntRange(1), default=1, show_default=True,
              help="GPUs of one machine that work together.")  # fmt: skip
@click.option("--prompt", type=click.IntRange(1), default=1024, show_default=True,
              help="Tokens of a prompt, of a served model.")  # fmt: skip
@click.option("--answer", type=click.IntRange(1), default=1024, show_default=True,
              help="Tokens of an answer, of a served model.")  # fmt: skip
@click.option(
    "--calibrate", metavar="FILE|last", help="A result of one of these GPUs: its steps sharpen the rest."
)
@click.option(
    "--from", "source", metavar="FILE|last", help="A result of another GPU with this cell: go from there."
)
@click.option("--sort", type=click.Choice(report.SORTS), default="speed", show_default=True)
@printer.output_option
@printer.json_option
def command(
    workload: str, gpus: str, sort: str, output: Path | None, as_json: bool, **options: Any
) -> None:  # fmt: skip
    """Predict WORKLOAD on GPUs that need not be here: throughput with an 80 % interval, memory and whether
    it fits, watts, what bounds it, and what the prediction rests on.

    WORKLOAD is a name of `gpuwise workloads`, a file (./my_model.py), timm:NAME, torchvision:NAME or
    hf:CONFIG; or served:NAME, a language model behind an engine. Built-in workloads need neither a GPU nor
    torch; others are traced without data.

    \b
      gpuwise predict resnet50 --gpu rtx-4090,h100-sxm
      gpuwise predict bert-large --gpu 24GB.. --sort efficiency
      gpuwise predict llm-8b-decode --mode infer --gpu all --batch 16
      gpuwise predict served:llama-3.1-70b --gpu h100-sxm --gpus 4
    """
    printer.check_output(output)
    predict = _served if workload.startswith("served:") else _traced
    found = predict(workload, _ids(gpus), **options)
    ordered = report.ordered(found, sort)
    printer.deliver(report.table(ordered), lambda: report.document(ordered), as_json=as_json, output=output)
    if all(prediction.refusal for prediction in found):
        several = f"none of {len(found)} GPUs can be predicted: " if len(found) > 1 else ""
        other = "--gpu all" if options["batch"] == "auto" else f"--gpu {gpus} --batch auto"
        if precision := _runs_in(found):
            other = f"--gpu {gpus} --precision {precision}"
        raise NoDataError(several + found[0].refusal, hint=f"gpuwise predict {workload} {other}")


def _traced(
    workload: str, gpus: tuple[str, ...], *, mode: Mode | None, precision: str | None, batch: str,
    compiled: str, recipe: Recipe, count: int, calibrate: str | None, source: str | None, **_: int,
) -> tuple[Record, ...]:  # fmt: skip
    """A workload's step."""
    from gpuwise.predict.forecast import forecast  # numpy: only when this verb runs

    spec = _spec(workload)
    config = RunConfig(
        workload=spec.id, content=registry.get(workload).content, mode=mode or spec.modes[0],
        precision=_precision(precision, spec), compile=compiled == "on" and spec.compiles, recipe=recipe,
    )  # fmt: skip
    return forecast(
        config, gpus, count=count, batch=_batch(batch), calibration=_result(calibrate),
        source=_result(source),
    )  # fmt: skip


def _spec(workload: str) -> WorkloadSpec:
    """A workload's specification. Raises InputError with the served model of that name where there is one."""
    try:
        return registry.get(workload).spec
    except InputError as error:
        from gpuwise.predict.serve import models  # numpy: only when this verb runs

        if workload.casefold() not in models():
            raise
        hint = f"as an engine serves it: gpuwise predict served:{workload.casefold()}"
        raise InputError(str(error), hint=hint) from None


def _served(
    workload: str, gpus: tuple[str, ...], *, precision: str | None, batch: str, count: int, prompt: int,
    answer: int, calibrate: str | None, source: str | None, **_: str | None,
) -> tuple[Record, ...]:  # fmt: skip
    """A language model behind an engine."""
    from gpuwise.predict.serve import Lengths, forecast_served  # numpy: only when this verb runs

    if calibrate or source:
        raise InputError("served models take no result", hint="leave out --calibrate and --from")
    config = RunConfig(
        workload=workload, mode="infer", precision=cast(Precision, precision or "bf16"), batch=_batch(batch)
    )
    return forecast_served(config, gpus, lengths=Lengths(prompt=prompt, answer=answer), count=count)


def _runs_in(found: Sequence[Record]) -> Precision | None:
    """The precision in which the first GPU could run, where it lacks the one asked for."""
    asked, gpu = found[0].question, catalog.get(found[0].gpu_id)
    if asked.workload.startswith("served:") or gpu.peak(asked.precision or "") is not None:
        return None
    own = registry.get(asked.workload).spec.precisions
    return next((p for p in _PREFERRED if p in own and gpu.peak(p) is not None), None)


def _precision(asked: str | None, spec: WorkloadSpec) -> Precision:
    if asked is not None:
        return cast(Precision, asked)  # `forecast` knows which a workload has
    return next((p for p in _PREFERRED if p in spec.precisions), spec.precisions[0])


def _batch(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) == 0:
        raise InputError(f"a batch is a positive number or auto, not {text!r}", hint="--batch auto")
    return int(text)


def _result(reference: str | None) -> Result | None:
    return None if reference is None else store.load(store.find(reference))


def _ids(text: str) -> tuple[str, ...]:
    """Ids of the GPUs that names and filters mean; `all` for the catalog.

    Raises InputError with the nearest names where one means nothing.
    """
    words = units.parse_list(text)
    if not words:
        raise InputError("no GPU given", hint="--gpu all")
    if words == ("all",):
        return tuple(spec.id for spec in catalog.all_gpus())
    return tuple(dict.fromkeys(gpu_id for word in words for gpu_id in _meant(word)))


def _meant(word: str) -> tuple[str, ...]:
    """One GPU by its name, or those that a filter finds."""
    try:
        return (catalog.find(word).id,)
    except InputError:
        found = catalog.select(word)
        if not found:
            raise
        return tuple(spec.id for spec in found)
