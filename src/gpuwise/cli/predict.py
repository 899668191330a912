"""GPUs that need not be here: `gpuwise predict`, `fit`, `calibrate`, and `validate`, which scores them."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import click

import gpuwise
from gpuwise import store
from gpuwise.cli import print as printer
from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.jobs.predicting import FitRequest, PredictRequest, fit_model, predict, runs_in, sorted_by
from gpuwise.model import units
from gpuwise.model.result import Result
from gpuwise.show import predictions as report


@click.command("predict", short_help="Speed, memory and watts on GPUs that are not here.")
@click.argument("workload")
@click.option(
    "--gpu",
    "gpus",
    multiple=True,
    default=("all",),
    show_default=True,
    metavar="GPU,...",
    help="Names or filters of gpuwise gpus: rtx-4090,h100-sxm, 24GB.., ada; all.",
)
@click.option("--mode", type=click.Choice(["train", "infer"]), help="[default: train where there is one]")
@click.option("--precision", help="fp32, tf32, fp16, bf16. [default: bf16 where the workload has it]")
@click.option(
    "--batch", default="auto", show_default=True, help="Items a step on each GPU; auto: the best that fits."
)
@click.option("--compile", "compiled", type=click.Choice(["on", "off"]), default="on", show_default=True)
@click.option(
    "--recipe",
    type=printer.RecipeChoice(),
    default="stock",
    show_default=True,
    help="script: the benchmark article's public script. stock: torch's own kernels; tuned is "
    "predicted as stock.",
)
@click.option(
    "--gpus",
    "count",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="GPUs of one machine that work together.",
)
@click.option(
    "--prompt",
    default="1k",
    show_default=True,
    metavar="N",
    help="Tokens of a prompt, of a served model.",
)
@click.option(
    "--answer",
    default="1k",
    show_default=True,
    metavar="N",
    help="Tokens of an answer, of a served model.",
)
@click.option(
    "--calibrate", metavar="FILE|last", help="A result of one of these GPUs: its steps sharpen the rest."
)
@click.option(
    "--from", "source", metavar="FILE|last", help="A result of another GPU with this cell: go from there."
)
@click.option("--sort", type=click.Choice(report.SORTS), default="speed", show_default=True)
@printer.output_options
def command(
    workload: str, gpus: tuple[str, ...], sort: str, output: Path | None, as_json: bool, **options: Any
) -> None:
    """Predict WORKLOAD on GPUs that need not be here: throughput with an 80 % interval, memory and whether
    it fits, watts, what bounds it, and the basis of the prediction.

    WORKLOAD is a name of `gpuwise workloads`, a file (./my_model.py), timm:NAME, torchvision:NAME or
    hf:CONFIG; or served:NAME, a language model behind an engine. Built-in workloads need neither a GPU nor
    torch; others are traced without data.

    \b
      gpuwise predict resnet50 --gpu rtx-4090,h100-sxm
      gpuwise predict bert-large --gpu 24GB.. --sort efficiency
      gpuwise predict llm-8b-decode --mode infer --gpu all --batch 16
      gpuwise predict served:llama-3.1-70b --gpu h100-sxm --gpus 4
    """
    if workload.startswith("served:") and (options["calibrate"] or options["source"]):
        raise InputError("served models take no result", hint="leave out --calibrate and --from")
    names = ",".join(gpus)
    answer = sorted_by(
        predict(
            PredictRequest(
                workload=workload,
                gpus=_ids(names),
                batch=units.parse_batch(options["batch"]),
                mode=options["mode"],
                precision=options["precision"],
                compile=options["compiled"] == "on",
                recipe=options["recipe"],
                count=options["count"],
                prompt=units.parse_size(options["prompt"], "a prompt"),
                answer=units.parse_size(options["answer"], "an answer"),
                calibration=_result(options["calibrate"]),
                source=_result(options["source"]),
            )
        ),
        sort,
    )
    printer.deliver_answer(answer, as_json=as_json, output=output)
    # The one that is most likely to help: a precision that the GPU has, a smaller batch, another GPU.
    if answer.exit_status:
        found = answer.found
        several = f"none of {len(found)} GPUs can be predicted: " if len(found) > 1 else ""
        other = "--gpu all" if options["batch"] == "auto" else f"--gpu {names} --batch auto"
        if precision := runs_in(found[0]):
            other = f"--gpu {names} --precision {precision}"
        raise NoDataError(several + found[0].refusal, hint=f"gpuwise predict {workload} {other}")


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
    found: dict[str, None] = {}
    for word in words:
        try:
            found[catalog.find(word).id] = None
        except InputError:  # not the name of one: a filter
            several = catalog.select(word)
            if not several:
                raise
            found |= dict.fromkeys(spec.id for spec in several)
    return tuple(found)


@click.command("fit", short_help="Does a language model fit, and how fast?")
@click.argument("model")
@click.option(
    "--gpu",
    "gpus",
    multiple=True,
    metavar="GPU,...",
    help="Names or filters of gpuwise gpus; all. [default: those here, or usual ones]",
)
@click.option(
    "--for",
    "tasks",
    default="infer",
    show_default=True,
    metavar="TASK,...",
    help="infer; full, lora, qlora: training of all weights, of adapters, on 4 bits.",
)
@click.option(
    "--weights",
    default="",
    metavar="FORMAT,...",
    help="bf16, fp8, int8, int4, mxfp4, nvfp4, nf4, q8_0, q5_k_m, q4_k_m. [default: by task]",
)
@click.option("--cache", default="bf16", show_default=True, help="Keys and values: bf16, fp8, int8.")
@click.option(
    "--context", metavar="N,...", help="Tokens of a sequence. [default: 8k, that is 8,192; in training 2k]"
)
@click.option(
    "--batch", default="1", show_default=True, metavar="N,...", help="Sequences at a time on each GPU."
)
@click.option(
    "--gpus",
    "count",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="GPUs that share the work: tensor-parallel in inference, FSDP in training.",
)
@click.option(
    "--checkpoint",
    type=click.Choice(["on", "off"]),
    default="on",
    show_default=True,
    help="Training computes activations again instead of keeping them.",
)
@click.option(
    "--optimiser",
    type=click.Choice(["adamw", "adamw8bit", "paged"]),
    default="adamw",
    show_default=True,
    help="paged: 8-bit moments in the host's memory.",
)
@click.option("--rank", type=click.IntRange(1, 1024), default=16, show_default=True, help="Of adapters.")
@printer.drawn_output
def fit(model: str, output: Path | None, as_json: bool, **options: Any) -> None:
    """Does MODEL fit, and how fast: memory by part, tokens a second with an 80 % interval, the time to the
    first token, over formats, contexts and batches.

    MODEL is a name (llama-3.1-8b, qwen3-30b-a3b, gpt-oss-20b), hf:./config.json of any other, or a GGUF file.

    \b
      gpuwise fit llama-3.1-70b --gpu rtx-4090,h100-sxm
      gpuwise fit llama-3.1-8b --for qlora,lora --gpu 24GB --context 2k
      gpuwise fit gpt-oss-20b --weights mxfp4 --gpu rtx-5090 --context 8k,32k --batch 1,16
      gpuwise fit qwen3-235b-a22b --weights fp8 --gpu h200-sxm --gpus 4
    """
    answer = fit_model(
        FitRequest(
            model=model,
            gpus=_ids(",".join(options["gpus"])) if options["gpus"] else (),
            tasks=cast(Any, units.parse_list(options["tasks"].casefold())),
            weights=units.parse_list(options["weights"].casefold()),
            cache=options["cache"].casefold(),
            contexts=units.parse_counts(options["context"], "a context") if options["context"] else (),
            batches=units.parse_counts(options["batch"], "a batch"),
            count=options["count"],
            checkpoint=options["checkpoint"] == "on",
            optimiser=options["optimiser"],
            rank=options["rank"],
        )
    )
    printer.deliver_answer(answer, as_json=as_json, output=output)
    if answer.exit_status:
        gpus = f"--gpu {','.join(options['gpus'])} " if options["gpus"] else ""
        other = "--for qlora --context 1k" if options["tasks"] != "infer" else "--weights q4_k_m"
        more = min((row.enough for row in answer.found if row.enough), default=None)
        other = f"--gpus {more}" if more else f"{other} --gpus 8"
        count = f"{options['count']} GPUs" if options["count"] > 1 else "one GPU"
        raise NoDataError(f"nothing of this fits on {count}", hint=f"gpuwise fit {model} {gpus}{other}")


@click.command("calibrate", short_help="Time operators here, so that predictions of this GPU use them.")
@click.option("--gpu", metavar="NAME", help="The GPU's name, where the driver's is not enough.")
@click.option(
    "--time",
    "time_s",
    type=click.FloatRange(1.0),
    default=150.0,
    show_default=True,
    help="Seconds; cases that do not fit are left out.",
)
@click.option(
    "--device",
    type=click.Choice(["cuda", "cpu"]),
    default="cuda",
    show_default=True,
    help="cpu: a rehearsal; its factors are not kept.",
)
@click.option("--only", multiple=True, metavar="CLASS", help="Cases whose name begins so: pointwise, dense.")
@printer.output_options
def calibrate(
    gpu: str | None, time_s: float, device: str, only: tuple[str, ...], output: Path | None, as_json: bool
) -> None:
    """Measure convolutions, products, norms, copies, reductions, lookups, recurrent layers and optimisers on
    this machine's GPU for two to three minutes. Predictions of that GPU use them from then on, of
    networks that nobody measured too.
    """
    from gpuwise.jobs import calibrating

    request = calibrating.CalibrateRequest(
        gpu=gpu, time_s=time_s, device=device, only=only, keep=device == "cuda"
    )
    answer = calibrating.calibrate(request)
    printer.deliver_answer(answer, as_json=as_json, output=output)


@click.command(
    "validate",
    context_settings={"ignore_unknown_options": True},
    short_help="Score predictions on public measurements.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def validate(arguments: tuple[str, ...]) -> None:
    """Score predictions on a file of public measurements, each GPU left out of the fit.

    Takes the arguments of `python -m evaluation.predict` (--set, --data, --holdout, --owned, --transfer,
    --json) and runs that from a checkout of the repository, which holds the scored sets; the wheel does not.
    """
    # The wheel has no scored sets: what runs is the folder beside `src`.
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
