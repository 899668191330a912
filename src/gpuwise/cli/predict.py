"""GPUs that need not be here: `gpuwise predict`, `fit`, `calibrate`, and `validate`, which scores them."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

import gpuwise
from gpuwise import store
from gpuwise.cli import print as printer
from gpuwise.cli.options import again, drawn_output, options, output_options, typed
from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog, llms
from gpuwise.jobs.predicting import COUNTS, SERVED, FitRequest, PredictRequest, predict, runs_in
from gpuwise.jobs.predicting import fit as fit_model
from gpuwise.model import units
from gpuwise.model.question import parse
from gpuwise.predictor.card import MOST, UNMEASURED
from gpuwise.show import predictions as report
from gpuwise.show.table import Answer, Table

T = TypeVar("T")

# Rows of a terminal where no GPU was named.
MOST_ROWS = 15


@click.command()
@click.argument("workload")
@options("predict", sort=report.SORTS, switches=lambda context, option, words: parse(words))
@output_options
def command(workload: str, gpus: tuple[str, ...], to: printer.Output, **options: Any) -> None:
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
    if workload.startswith("served:") and (options["calibration"] or options["source"]):
        raise InputError("served models take no result", hint="leave out --calibrate and --from")
    for name in ("calibration", "source"):
        options[name] = options[name] and store.load(store.find(options[name]))
    names, ids = _named(",".join(gpus), options["counts"])
    request = PredictRequest(workload=workload, gpus=ids, **options)
    answer = predict(request)
    able = [record for record in answer.value if not record.refusal]
    asked = "--gpu" in typed(click.get_current_context())
    if to.file is None and len(able) > MOST_ROWS and not (asked and _are_listed(names)):
        every = "-o FILE" if asked else "--gpu all"
        answer = _first_of(answer, report.table(able[:MOST_ROWS]), len(able), every)
    to.answer(answer, fit=True)
    # The one that is most likely to help: a precision that the GPU has, a smaller batch, another GPU.
    if answer.exit_status:
        records = answer.value
        several = f"none of {len(records)} GPUs can be predicted: " if len(records) > 1 else ""
        other = ("--gpu", "all") if options["batch"] == (None,) else ("--batch", "auto")
        if precision := runs_in(records[0]):
            other = ("--precision", str(precision))
        elif min(record.gpus for record in records) > MOST:  # more than a machine holds
            other = ("--gpus", str(MOST))
        if records[0].question.workload.startswith(SERVED) and names != "all":
            bare = replace(request, gpus=_named(names, (1,))[1])
            more = (n for n in COUNTS[1:] if n > max(record.gpus for record in records))
            enough = next((n for n in more if not predict(replace(bare, counts=(n,))).exit_status), 0)
            if not enough:  # other formats, engines and numbers of cards
                name = workload.removeprefix(SERVED)
                number = records[0].gpus
                together = ["--gpus", str(number)] * (number > 1)
                hint = shlex.join(["gpuwise", "fit", name, "--gpu", names, *together])
                raise NoDataError(several + records[0].refusal, hint=hint)
            other = ("--gpus", str(enough))
        hint = again(other)
        if len(records) == 1 and UNMEASURED in records[0].refusal:  # no batch or precision helps
            hint = f"what is stated of it: gpuwise show {records[0].gpu_id}"
        raise NoDataError(several + records[0].refusal, hint=hint)


def _are_listed(names: str) -> bool:
    """Whether each GPU was asked for, and none by a filter that many meet."""
    return names == "all" or names.count(",") >= MOST_ROWS


def _first_of(answer: Answer[T], table: Table, number: int, every: str) -> Answer[T]:
    """The answer with a table of its first rows; files and JSON hold all of them."""
    left = f"the first {MOST_ROWS} of {number} GPUs; all of them: {every}"
    return replace(answer, to_table=lambda: replace(table, notes=(left, *table.notes)))


def _named(text: str, asked: tuple[int, ...]) -> tuple[str, tuple[str, ...]]:
    """What GPUs are called without the number beside them (`2x3090`, `H100:8`); and the ids of all that names
    and filters mean, `all` for the catalog, with that number.

    Raises InputError with the nearest names where one means nothing, and where two numbers are given.
    """
    if (count := max(asked)) > units.MOST_GPUS:
        named = f", or --gpu {count} for the GPU of that name" * catalog.is_name(str(count))
        hint = f"a number from 1 to {units.MOST_GPUS}{named}"
        raise InputError(f"{count} GPUs are more than a cluster is counted to have", hint=hint)
    words = [catalog.counted(word) for word in units.parse_list(text)]
    if not words:
        raise InputError("no GPU given", hint="--gpu all")
    if words == [("all", 0)]:
        return text, tuple(spec.id for spec in catalog.all_gpus())
    ids: dict[str, None] = {}
    for word, number in words:
        if number and asked not in ((1,), (number,)):
            hint = "leave out --gpus, or the number before the name"
            raise InputError(f"{number} x {word} is another number of GPUs than --gpus", hint=hint)
        # A name means its usual variant, and a note on standard error names the others.
        specs = (() if catalog.is_name(word) else catalog.select(word)) or (printer.gpu(word),)
        ids |= dict.fromkeys(f"{spec.id}:{number}" if number else spec.id for spec in specs)
    return ",".join(dict.fromkeys(name for name, _ in words)), tuple(ids)


@click.command()
@click.argument("model")
@options("fit")
@drawn_output
def fit(model: str, to: printer.Output, **options: Any) -> None:
    """Does MODEL fit, and how fast: memory by part, tokens a second with an 80 % interval, the time to the
    first token, over formats, contexts and batches.

    MODEL is a name (llama-3.1-8b, qwen3-30b-a3b, gpt-oss-20b), hf:./config.json of any other, or a GGUF file.

    \b
      gpuwise fit llama-3.1-70b --gpu rtx-4090,h100-sxm
      gpuwise fit llama-3.1-8b --for qlora,lora --gpu 24GB --context 2k
      gpuwise fit gpt-oss-20b --weights mxfp4 --gpu rtx-5090 --context 8k,32k --batch 1,16
      gpuwise fit qwen3-235b-a22b --weights fp8 --gpu h200-sxm --gpus 4
    """
    names, gpus = _named(",".join(options["gpus"]), options["counts"]) if options["gpus"] else ("", ())
    given = {name: value for name, value in options.items() if value is not None}
    if size := options["memory"]:
        given["memory"] = size[0]
    given["every"] |= to.file is not None
    try:
        answer = fit_model(FitRequest(model=model, **{**given, "gpus": gpus}))
    except InputError:
        from gpuwise.judge.choose.need import is_work
        from gpuwise.workloads import registry

        if not is_work(model) or llms.known(model) or llms.note(model):
            raise
        name = model.casefold()
        limit = name in registry.names() and registry.get(name).spec.is_limit
        verb = "bench" if limit else "predict"  # a limit of the hardware is measured
        hint = shlex.join(["gpuwise", verb, model, *(["--gpu", names] if names and not limit else [])])
        raise InputError(f"{model} is not a language model", hint=hint) from None
    number = len({row.gpu_id for row in answer.value})
    if to.file is None and number > MOST_ROWS and not _are_listed(names):
        able = sorted(answer.value, key=lambda row: -(row.tokens_per_s.value if row.tokens_per_s else 0.0))
        first = [*dict.fromkeys(row.gpu_id for row in able)][:MOST_ROWS]
        some = [row for row in answer.value if row.gpu_id in first]
        table = report.fit_table(some, model, every=bool(given["every"] or given.get("weights")))
        answer = _first_of(answer, table, number, "-o FILE")
    to.answer(answer, fit=True)
    if answer.exit_status:
        smaller = [("--weights", "q4_k_m")]
        if options["tasks"] != ("infer",):
            smaller = [("--for", "qlora"), ("--weights", "nf4"), ("--context", "1k")]
        more = min((row.enough for row in answer.value if row.enough), default=None)
        counts = sorted({row.plan.gpus for row in answer.value})
        count = f"{' or '.join(map(str, counts))} GPUs" if counts != [1] else "one GPU"
        one = [("--gpu", names)] * bool(gpus)
        hint = again(*one, ("--gpus", str(more))) if more else again(*smaller, *one, ("--gpus", "8"))
        raise NoDataError(f"nothing of this fits on {count}", hint=hint)


@click.command()
@options("calibrate")
@output_options
def calibrate(to: printer.Output, **options: Any) -> None:
    """Measure convolutions, products, norms, copies, reductions, lookups, recurrent layers and optimisers on
    this machine's GPU for two to three minutes. Predictions of that GPU use them from then on, of
    networks that nobody measured too.
    """
    from gpuwise.jobs import calibrating

    request = calibrating.CalibrateRequest(**options, keep=options["device"] == "cuda")
    to.answer(calibrating.calibrate(request))


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def validate(arguments: tuple[str, ...]) -> None:
    """Score predictions on a file of public measurements, each GPU left out of the fit.

    Takes the arguments of `python -m evaluation.predict` (--set, --data, --holdout, --owned, --transfer,
    --json) and runs that from a checkout of the repository, which holds the scored sets; the wheel does not.
    """
    # The wheel has no scored sets: what runs is the folder beside `src`.
    root = Path(gpuwise.__file__).parents[2]
    if not (root / "evaluation" / "predict" / "__main__.py").is_file():
        problem = "scores need the folder `evaluation` of the repository, which the package does not contain"
        raise NoDataError(problem, hint="clone the repository, then: python -m evaluation.predict --help")
    sys.path.insert(0, str(root))  # the folder is not a part of what is installed
    scorer = import_module("evaluation.predict.__main__").command
    assert isinstance(scorer, click.Command)
    scorer.main(list(arguments), prog_name="gpuwise validate", standalone_mode=False)
