"""`gpuwise bench --endpoint`: options of a running server, progress and table."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from gpuwise.cli import print as printer
from gpuwise.errors import INTERRUPTED, InputError, RunError
from gpuwise.model import units

# Beside `--endpoint`, which says that a server is measured.
OWN = (
    "model", "prompt", "answer", "dataset", "concurrency", "rate", "slo", "seed", "timeout_text", "key_env",
    "follow_redirects",
)  # fmt: skip
# Options of `bench` that mean the same for a server.
ALSO = ("endpoint", "time_s", "precisions", "output", "as_json", "quiet")


def endpoint_options(function: Callable[..., None]) -> Callable[..., None]:
    """Those of a running server."""
    for option in reversed((
        click.option("--endpoint", metavar="URL", help="Measure a running server of this address, "
                     "OpenAI-compatible: vLLM, SGLang, llama.cpp, Ollama, ..."),
        click.option("--model", metavar="NAME", help="Of the server. [default: the one that it lists]"),
        click.option("--prompt", default="1024", metavar="TOKENS", show_default=True,
                     help="Of a server's prompts: 1024; 512..2048, each as likely; 1024~300, normal."),
        click.option("--answer", default="256", metavar="TOKENS", show_default=True,
                     help="Of its answers, likewise."),
        click.option("--dataset", type=click.Path(path_type=Path), metavar="FILE.jsonl",
                     help="Requests instead of --prompt: a line each with prompt, or prompt_tokens, and "
                     "answer_tokens."),
        click.option("--concurrency", metavar="LIST", help="Requests at once, e.g. 1,4,16,64."),
        click.option("--rate", metavar="LIST", help="Requests a second at random times, e.g. 2,4,8."),
        click.option("--slo", metavar="LIMITS", help="Of goodput: 'TTFT<=500ms,TPOT<=50ms'."),
        click.option("--seed", type=int, default=0, show_default=True, help="Of prompts, lengths and times."),
        click.option("--timeout", "timeout_text", default="120s", show_default=True,
                     help="Longest wait for one answer of a server."),
        click.option("--key-env", metavar="NAME", help="Environment variable that holds the server's key."),
        click.option("--follow-redirects", is_flag=True, help="Also to another host, without the key."),
    )):  # fmt: skip
        function = option(function)
    return function


def refuse_without_endpoint(context: click.Context) -> None:
    """Raise InputError for an option of a server where none is named."""
    for name in OWN:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            flag = next(p.opts[0] for p in context.command.params if p.name == name)
            raise InputError(f"{flag} is for a running server", hint="add --endpoint URL")


def measure(context: click.Context, options: Mapping[str, Any], command: str) -> None:
    """Measure the server of the options. Raises InputError for options that mean nothing for one."""
    from gpuwise.jobs.serving import EndpointRequest, Update, measure_endpoint
    from gpuwise.show import serving as show

    for parameter in context.command.params:
        name = str(parameter.name)
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in (*OWN, *ALSO):
            flag = parameter.opts[0] if isinstance(parameter, click.Option) else "WORKLOAD"
            raise InputError(f"{flag} means nothing for a server", hint=f"leave out {flag}")
    output, quiet = options["output"], options["quiet"] or options["as_json"]
    if output is not None:
        printer.check_output(output, (*printer.SUFFIXES, *printer.DRAWINGS))
    concurrency = tuple(units.parse_count(word, "a number of requests")
                        for word in units.parse_list(options["concurrency"] or ""))  # fmt: skip
    rates = tuple(units.parse_positive(word, "a rate") for word in units.parse_list(options["rate"] or ""))
    precisions = options["precisions"] or ()
    if len(precisions) > 1:
        raise InputError("a server computes in one precision", hint="name the one it was started with")
    request = EndpointRequest(
        url=options["endpoint"], model=options["model"] or "", prompt=options["prompt"],
        answer=options["answer"], requests=options["dataset"],
        concurrency=concurrency or (() if rates else (1, 4, 16)), rate=rates,
        slo=tuple(map(units.parse_latency, units.parse_list(options["slo"] or ""))),
        time_s=options["time_s"] or 30.0, timeout_s=units.parse_seconds(options["timeout_text"]),
        seed=options["seed"], precision=precisions[0] if precisions else None,
        key_variable=options["key_env"] or "", follow_redirects=options["follow_redirects"], output=output,
        command=command,
    )  # fmt: skip

    def listen(update: Update | None) -> None:
        with printer.lenient():
            if update is None:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                printer.status("")
                printer.talk("interrupted: the levels that had ended are kept")
            elif isinstance(update, tuple) and not quiet:
                printer.status(f"{update[0].offered}: {update[1]}")
            elif not isinstance(update, tuple) and not quiet:
                printer.status("")
                cells = {name: cell for name, cell in show.row(update).items() if cell}
                printer.out("  ".join(f"{name} {cells[name]}" if name != "load" else f"{cells[name]:<14}"
                                      for name in show.BRIEF if name in cells))  # fmt: skip

    answer = measure_endpoint(request, listen)
    done = answer.found
    if done.kept is not None:
        printer.talk(f"kept in {done.kept}; see it again with: gpuwise show {done.kept}")
    if options["as_json"] or (done.kept is None and done.result.measurements):
        printer.out(printer.json_text(answer.to_data()))
    else:
        printer.table(answer.table)
        for line in show.curve(done.result):
            printer.out(line)
    if output is not None and output.suffix in printer.DRAWINGS:
        printer.draw(answer.to_chart(), output)
    elif output is not None and output.suffix != ".json":
        printer.write(output, answer.table, answer.to_data)
    if done.trouble is not None:
        raise done.trouble
    if not done.complete:
        sys.exit(INTERRUPTED)
    if done.failed:
        failed = ", ".join(m.config.load.offered for m in done.failed if m.config.load)
        raise RunError(
            f"{len(done.failed)} of {len(done.result.measurements)} levels had no answer: {failed}: "
            f"{done.failed[0].error}", hint="a lower load, or a longer --timeout",
        )  # fmt: skip
