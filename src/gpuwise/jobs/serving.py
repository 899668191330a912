"""Measure a running server by its OpenAI-compatible API."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gpuwise import store
from gpuwise.errors import INTERRUPTED, InputError, RunError, optional
from gpuwise.jobs.measuring import Bench
from gpuwise.measure import telemetry
from gpuwise.measure.prepare import ResultWriter, visible
from gpuwise.measure.telemetry.sensor import Sampler, combined, summarise
from gpuwise.model.precision import Precision
from gpuwise.model.question import Load, RunConfig
from gpuwise.model.result import UNSURE, Issue, Measurement, Serving, Window, records_of
from gpuwise.model.units import Latency
from gpuwise.show.table import Answer

if TYPE_CHECKING:
    from gpuwise.measure.endpoint import Client
    from gpuwise.measure.endpoint.load import Observed

# From so few requests on a quantile of 99 % is one of them.
ENOUGH = 100
# Share of the offered rate that a server must answer: less, and its queue grows as long as it is asked.
KEEPS_UP = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRequest:
    """A server, what it is asked for, and how long."""

    url: str  # Of an OpenAI-compatible API, with or without `/v1`
    model: str = ""  # Empty = the one that the server lists
    shape: str = ""  # Name of the model in results, where the server calls it otherwise
    engine: str = ""  # What the server is, where it was started here
    prompt: str = "1024"  # Tokens of a prompt: `1024`, `512..2048` (each as likely), `1024~300` (normal)
    answer: str = "256"
    requests: Path | None = None  # A JSONL file instead: `prompt` or `prompt_tokens`, and `answer_tokens`
    concurrency: tuple[int, ...] = ()  # Requests at once, one level after the other
    rate: tuple[float, ...] = ()  # Requests a second at random times, one level after the other
    slo: tuple[Latency, ...] = ()
    time_s: float = 30.0  # Window of each level
    timeout_s: float = 120.0  # Of one request
    seed: int = 0
    precision: Precision | None = None  # In which the server computes; None = not known
    key_variable: str = ""  # Environment variable that holds the key
    follow_redirects: bool = False  # Also to another host; the key is not sent there
    output: Path | None = None
    command: str = "gpuwise.measure_endpoint"


Update = tuple[Load, str] | Measurement
"""What is going on at a level, or a level that is final."""


def _needs_client() -> None:
    optional("aiohttp", "a server is measured with aiohttp", "endpoint")


def measure_endpoint(
    request: EndpointRequest, listen: Callable[[Update | None], None] = lambda update: None
) -> Answer[Bench]:
    """Latencies, tokens and requests a second of a server at each level of load; kept as every result.

    Ctrl-C keeps the levels that are done: exit status 130. It is 4 where a level had no answer at all. Raises
    MachineError where no server answers, InputError where it speaks another protocol.
    """
    _needs_client()
    from gpuwise.measure import endpoint
    from gpuwise.measure.endpoint import load
    from gpuwise.show import serving as show

    if request.key_variable and not os.environ.get(request.key_variable):
        problem = f"the variable {request.key_variable} is empty, where the key of the server should be"
        raise InputError(problem, hint=f"export {request.key_variable}=...")
    if not (request.concurrency or request.rate):
        raise InputError("no load is given", hint="so many requests at once, or a second", code="load")
    if request.output is not None:
        store.check_writable(request.output)
    answer = load.lengths(request.answer)
    asks = load.read_asks(request.requests, answer, request.seed) if request.requests else ()
    server = endpoint.Client(
        url=endpoint.address(request.url),
        model=request.model,
        timeout_s=request.timeout_s,
        follow_redirects=request.follow_redirects,
        key=os.environ.get(request.key_variable, ""),
    )
    traffic = load.Traffic(load.lengths(request.prompt), answer, request.seed, asks)
    # A file is named by what it holds: files of one name differ.
    named = sha256(store.read(request.requests)).hexdigest()[:12] if request.requests else request.prompt
    levels = [Load(prompt=named, answer=request.answer, concurrency=n) for n in request.concurrency]
    levels += [Load(prompt=named, answer=request.answer, rate=rate) for rate in request.rate]
    # The GPUs that can be watched are those of a server on this machine.
    local = telemetry.is_loopback(urlsplit(server.url).hostname or "")
    sensors = visible(telemetry.sensors(), os.environ) if local else ()
    # Of a server elsewhere the hardware is not known.
    info, elsewhere = sensors[0].info() if sensors else None, "" if local else "server elsewhere"
    begun = store.begun(request.command, telemetry.environment(info, device=elsewhere))
    result, kept = begun, store.results_dir() / f"{begun.id}.json"
    own = request.output if request.output and request.output.suffix == ".json" else None
    writer = ResultWriter(own or kept)

    async def run() -> None:
        nonlocal result
        async with server:
            await server.connect()
            overhead = await load.calibrated(server, traffic)
            place = replace(begun.environment, server=request.engine or server.engine or "of unknown kind")
            result = replace(begun, environment=place)
            for part, level in enumerate(levels):

                def tell(doing: str, level: Load = level) -> None:
                    listen((level, doing))

                started_at = datetime.now(UTC).isoformat(timespec="seconds")
                with ExitStack() as stack:
                    samplers = [stack.enter_context(Sampler(sensor)) for sensor in sensors]
                    if level.rate is not None:
                        seen = await load.at_rate(server, overhead, level.rate, request.time_s, tell, part)
                    else:
                        count = level.concurrency or 1
                        seen = await load.at_once(server, overhead, count, request.time_s, tell, part)
                began_s, ended_s = seen.began_s, seen.ended_s
                window = (Window(step_s=(ended_s - began_s,), started_s=began_s, ended_s=ended_s),)
                watched = [summarise(sampler.samples, window) for sampler in samplers]
                measured = _measurement(request, server, level, seen, started_at)
                measured = replace(measured, telemetry=combined(watched))
                result = replace(result, measurements=(*result.measurements, measured))
                writer(result)
                listen(measured)

    complete = True
    try:
        endpoint.run(run())
    except KeyboardInterrupt:
        listen(None)
        complete = False
    done = Bench(result=result, kept=writer.kept, trouble=writer.trouble, complete=complete)
    status = INTERRUPTED if not complete else RunError.exit_code if done.failed or done.trouble else 0
    return Answer(
        value=done,
        exit_status=status,
        records=records_of([result]),
        issues=tuple(issue for m in result.measurements for issue in m.cautions),
        to_table=lambda: show.table(result),
        to_data=lambda: store.encode(result),
        to_chart=lambda: show.chart(result),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeRequest:
    """An engine to be started on a model's shape, and how it is then measured."""

    engine: str  # vllm, sglang, llama.cpp or transformers
    model: str  # A name, hf:./config.json, or for llama.cpp a GGUF file
    load: EndpointRequest  # Its `url` and `model` are those of the engine
    gpus: int = 1


def measure_served(
    request: ServeRequest, listen: Callable[[Update | None], None] = lambda update: None
) -> Answer[Bench]:
    """Start the engine, measure it as `measure_endpoint` does, end it. Raises MachineError where it is not
    installed or does not start, InputError for a model or format that it does not run."""
    _needs_client()
    from gpuwise.facts import llms
    from gpuwise.measure.endpoint import engines, load

    if request.engine not in engines.ENGINES:
        hint = f"choose from {', '.join(engines.ENGINES)}"
        raise InputError(f"unknown engine {request.engine!r}", hint=hint)
    shape, level = llms.find(request.model), request.load
    ends = [load.lengths(text) for text in (level.prompt, level.answer)]
    # Of a normal length, six deviations; and a little for what a template adds.
    longest = sum(e.high if e.kind == ".." else e.low + 6 * e.high for e in ends) + 64
    precision = level.precision or llms.named_format(request.model) or Precision.BF16
    launch = engines.Launch(
        engine=request.engine,
        model=request.model,
        precision=precision,
        gpus=request.gpus,
        context=min(longest, shape.context or longest),
        concurrency=max((*level.concurrency, 64)),
    )
    with engines.started(launch) as (url, served):
        named = replace(
            level, url=url, model=served, shape=shape.name, engine=request.engine, precision=precision
        )
        return measure_endpoint(named, listen)


def _measurement(
    request: EndpointRequest, server: Client, level: Load, seen: Observed, started_at: str
) -> Measurement:
    """One level as a measurement: its throughput is that of output tokens."""
    from gpuwise.facts import llms
    from gpuwise.measure.endpoint import load

    serving = load.serving(seen, float(load.lengths(request.prompt).low), request.slo)
    tokens = load.tokens_per_s(seen)
    config = RunConfig(
        workload=f"served:{request.shape or server.model}",
        mode="infer",
        precision=request.precision or llms.named_format(server.model) or Precision.BF16,
        framework="server",
        load=level,
        time_s=request.time_s,
    )
    issues = tuple(_issues(request, config, serving))
    answered = serving.requests > 0 and tokens.value > 0
    error = None if answered else "; ".join(f"{f.count} x {f.kind}: {f.example}" for f in serving.failures)
    return Measurement(
        config=config,
        workload_version=1,
        status="ok" if answered else "failed",
        item="token",
        started_at=started_at,
        throughput=tokens if answered else None,
        serving=serving,
        cautions=issues,
        error=error if error is None else error or "no request ended within the window",
    )


def _issues(request: EndpointRequest, config: RunConfig, serving: Serving) -> list[Issue]:
    """Cautions about the numbers of one level."""
    issues = []
    if request.precision is None:
        detail = f"the server does not say in which precision it computes; {config.precision} is assumed"
        issues.append(Issue.info(UNSURE.code, detail, "state the precision"))
    failed = sum(each.count for each in serving.failures)
    if failed:
        kinds = ", ".join(f"{each.count} {each.kind}" for each in serving.failures)
        detail = f"{failed} of {failed + serving.requests} requests failed: {kinds}"
        issues.append(Issue.warning("failed-requests", detail, "lower the load"))
    if serving.short:
        detail = f"{serving.short} of {serving.requests} answers had fewer tokens than were asked for"
        issues.append(Issue.warning("short-answers", detail, "let the server ignore the end of an answer"))
    if 0 < serving.requests < ENOUGH:
        detail = f"{serving.requests} requests: the quantile of 99 % is one of the slowest of them"
        issues.append(Issue.info("few-requests", detail, "measure longer"))
    if serving.counted_by == "pieces" and serving.requests:
        detail = "the server does not count tokens; each piece of text in its stream is taken as one"
        issues.append(Issue.warning("tokens-uncounted", detail))
    rate = config.load.rate if config.load else None
    if rate is not None and serving.requests_per_s.high < KEEPS_UP * rate:
        detail = f"{serving.requests_per_s.value:.3g} of {rate:g} requests a second were answered"
        issues.append(Issue.warning("overloaded", f"{detail}: its queue grows", "lower the rate"))
    return issues
