"""Hold `gpuwise bench --endpoint` against guidellm on one server, and measure what the client itself costs.

    python benchmarks/against_guidellm.py --guidellm PATH_TO_ITS_PROGRAM -o results/endpoint/guidellm.json

The server is tests/fake_server.py: a fixed time to the first token and for each one after it. Both clients
get prompts and answers of the same lengths, one after the other. guidellm's inter-token latency is gpuwise's
TPOT.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from gpuwise.jobs.serving import EndpointRequest, measure_endpoint
from gpuwise.measure.endpoint.engines import write_folder
from gpuwise.model.result import Measurement

ROOT = Path(__file__).resolve().parent.parent
# Requests at once, prompt and answer in tokens; time to the first token and per token, in seconds.
SETTINGS = ((1, 64, 32, 0.3, 0.02), (8, 256, 64, 0.5, 0.025), (32, 128, 48, 1.0, 0.04))
# Streams and the server's pace for the client's own cost.
STREAMS = ((64, 0.02), (1000, 0.25))


@contextmanager
def server(first_s: float, token_s: float, port: int) -> Iterator[str]:
    """tests/fake_server.py in a process of its own."""
    words = ["--port", str(port), "--first", str(first_s), "--token", str(token_s)]
    process = subprocess.Popen([sys.executable, str(ROOT / "tests" / "fake_server.py"), *words])
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(f"{url}/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(10)


def ours(url: str, streams: int, prompt: int, answer: int, time_s: float) -> Measurement:
    """One level of gpuwise."""
    asked = EndpointRequest(
        url=url, prompt=str(prompt), answer=str(answer), concurrency=(streams,), time_s=time_s
    )
    (measured,) = measure_endpoint(asked).value.result.measurements
    return measured


def guidellm(program: str, url: str, streams: int, prompt: int, answer: int, requests: int) -> dict[str, Any]:
    """The same by guidellm: its report without the single requests. It ends with a number of requests: what
    is under way when a window closes would be missing from its throughput."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        shape = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
                 "intermediate_size": 128, "vocab_size": 512}  # fmt: skip
        (place / "shape.json").write_text(json.dumps(shape), encoding="utf-8")
        write_folder(f"hf:{place / 'shape.json'}", place)
        subprocess.run(
            [
                program, "run", "--backend", f"kind=openai_http,target={url},model=fake",
                "--profile", f"kind=concurrent,streams={streams}",
                "--constraint", f"kind=max_requests,count={requests}",
                "--data", f"kind=synthetic_text,prompt_tokens={prompt},output_tokens={answer}",
                "--tokenizer", f"kind=huggingface_auto,model={place}",
                "--output", f"kind=json,path={place / 'report.json'}", "--disable-console",
            ],
            check=True, capture_output=True, env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )  # fmt: skip
        report: dict[str, Any] = json.loads((place / "report.json").read_text(encoding="utf-8"))
    (benchmark,) = report["benchmarks"]
    metrics = {
        name: {key: value for key, value in found["successful"].items() if key != "pdf"}
        for name, found in benchmark["metrics"].items()
        if isinstance(found, dict) and isinstance(found.get("successful"), dict)
    }
    return {"duration_s": benchmark["duration"], "metrics": metrics}


def compared(mine: Measurement, theirs: dict[str, Any]) -> dict[str, list[float]]:
    """Ours, theirs and the ratio of the three that matter."""
    assert mine.serving is not None
    assert mine.serving.first_token_s is not None
    assert mine.serving.per_token_s is not None
    assert mine.throughput is not None
    metrics, first, per = theirs["metrics"], mine.serving.first_token_s, mine.serving.per_token_s
    pairs = {
        "TTFT p50, ms": (first.p50.value * 1e3, metrics["time_to_first_token_ms"]["median"]),
        "TPOT p50, ms": (per.p50.value * 1e3, metrics["inter_token_latency_ms"]["median"]),
        "output tokens/s": (mine.throughput.value, metrics["output_tokens_per_second"]["mean"]),
    }  # fmt: skip
    return {name: [one, two, one / two] for name, (one, two) in pairs.items()}


def cost(url: str, streams: int, token_s: float) -> dict[str, float]:
    """Seconds of processor that the client takes for a token, and what it says of a server of known pace."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    measured = ours(url, streams, 32, 64, 20.0)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert measured.serving is not None
    assert measured.serving.per_token_s is not None
    assert measured.serving.first_token_s is not None
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # Every answer from the first to the last counts, with warm-up.
    tokens = measured.serving.answer_tokens * measured.serving.requests_per_s.value * 20.0
    return {
        "streams": streams, "token_s": token_s, "requests": measured.serving.requests,
        "failures": sum(each.count for each in measured.serving.failures),
        "client_s": used, "tokens_in_the_window": tokens, "client_ms_per_token": used / tokens * 1e3,
        "TPOT_p50_ms": measured.serving.per_token_s.p50.value * 1e3,
        "TPOT_p99_ms": measured.serving.per_token_s.p99.value * 1e3,
        "TTFT_p99_ms": measured.serving.first_token_s.p99.value * 1e3,
    }  # fmt: skip


@click.command()
@click.option("--guidellm", "program", default="guidellm", help="Its program.")
@click.option("--time", "time_s", default=45.0, help="Seconds of each level and client.")
@click.option("-o", "output", type=click.Path(path_type=Path), required=True)
def command(program: str, time_s: float, output: Path) -> None:
    """Compare, measure the client's cost, and write everything."""
    found: dict[str, Any] = {"processor": platform.processor(), "cores": os.cpu_count(), "settings": []}
    for number, (streams, prompt, answer, first_s, token_s) in enumerate(SETTINGS):
        with server(first_s, token_s, 8310 + number) as url:
            rounds = max(4, int(time_s / (first_s + answer * token_s)))
            theirs = guidellm(program, url, streams, prompt, answer, streams * rounds)
            mine = ours(url, streams, prompt, answer, time_s)
        asked = {
            "streams": streams,
            "prompt": prompt,
            "answer": answer,
            "first_s": first_s,
            "token_s": token_s,
        }
        both = compared(mine, theirs)
        load = os.getloadavg()[0]
        found["settings"].append({"asked": asked, "compared": both, "load": load, "guidellm": theirs})
        click.echo(
            f"{asked}: { ({name: round(values[2], 4) for name, values in both.items()}) }, load {load:.1f}"
        )
    found["client"] = []
    for number, (streams, token_s) in enumerate(STREAMS):
        with server(0.05, token_s, 8320 + number) as url:
            found["client"].append({**cost(url, streams, token_s), "load": os.getloadavg()[0]})
        click.echo(str(found["client"][-1]))
    output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    command()
