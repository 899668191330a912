"""Changed files through every verb that reads one, in search of inputs that the program does not survive.

    python tools/fuzz.py --seconds 120          # of processor time, as continuous integration does
    python tools/fuzz.py --count 20000 --seed 7 # some twenty minutes on one core
    python tools/fuzz.py --large                # files of 1 MB, each kind through each of its verbs
    python tools/fuzz.py --large --kinds prices,notebook

Good files (results, of an endpoint too, a report, prices, articles, a notebook, published logs, measured
times, requests, a language model's config.json and GGUF header) are changed at random: bytes, lines, cells,
JSON values; so are words of the command line, forms as browsers send them and addresses of pages. Each goes
through one verb, or to a team's server, in the process of a worker. What must hold of every call: an exit
code of 0 to 5, of the server an answer below 500, less than LONGEST_S of processor time (more for some), less
than MOST_BYTES more memory, and no control character in what is printed. Each broken rule is printed with its
call, and its file is kept. Exit code 1 where there was one.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import multiprocessing
import os
import queue
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from starlette.testclient import TestClient

ROOT = Path(__file__).parents[1]
LONGEST_S = 2.0
# An audit looks at every figure, and its longest honest article takes some seconds.
LONGEST_AUDIT_S = 10.0
LARGE = 1_000_000
MOST_BYTES = 500 * 2**20
# After so much wall time a worker is ended: it hangs, also where others have the processors.
HANGS_S = 300.0
# Until each verb has loaded what it needs, on a machine that has other work.
STARTS_S = 600.0
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
PRICES = (
    "gpu,amount,kind,count,seen_on,provider,currency\nRTX 4090,0.40,on-demand,1,2026-11-01,c,USD\n"
    "H100 SXM5 80GB,2.10,spot,8,2026-11-10,cloud,USD\nRTX 3090,700,used,1,2026-11-02,shop,EUR\n"
)
AIME = (
    "OS: Linux, 6.8.0\nDevice-name: box\n2 GPU(s) used for benchmark:\n0: NVIDIA A100-SXM4-80GB\n"
    "1: NVIDIA A100-SXM4-80GB\nAvailable GPUs on device: 2\nCuda-version: 12.1\nPytorch-version: 2.1.0\n"
    "CPU: AMD EPYC\nUsed model: resnet50\nBatch size: 64\nPrecision: fp16\nMean images/sec: 1200.5\n"
)
MODEL = {
    "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 256,
    "max_position_embeddings": 4096,
}  # fmt: skip
HEADER = {
    "embedding_length": 64, "block_count": 2, "attention.head_count": 4, "feed_forward_length": 128,
    "vocab_size": 256,
}  # fmt: skip
NOTEBOOK = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
    {"cell_type": "markdown", "metadata": {}, "source": ["# RTX 4090\n", "It has 24 GB and 450 W.\n"]},
    {"cell_type": "code", "metadata": {}, "source": ["1"], "outputs": [
        {"output_type": "display_data", "data": {"text/html": "<table><tr><td>RTX 4090<td>24 GB</table>"}},
    ]},
]}  # fmt: skip
REQUESTS = '{"prompt_tokens": 512, "answer_tokens": 128}\n{"prompt": "which card?"}\n'
QUESTIONS = (
    "how much do 16 H100 cost for 2 weeks",
    "3 students each fine-tune a 7B with LoRA 10 hours a week, buy or rent?",
    "llama 70b in 4 bits for 20 users at 15 tokens/s each, 24/7, under $5000",
    "cheapest card with 24 GB, new",
    "2 million images a day with resnet50, 40 % whisper",
    "rtx 4090 or 2x 3090 at $700 each for sdxl, 0.30 EUR/kWh",
)
ADDRESSES = (
    "/predict/resnet50?gpu=l4&gpu=rtx-4090&precision=bf16&mode=train&batch=64&sort=power",
    "/choose?ask=how much do 16 H100 cost for 2 weeks&acquire=rent", "/choose/vision-cnn?host=1000&per=day",
    "/fit?model=llama-3.1-8b&weights=int4&batch=4&context=8192&cache=fp8&gpus=2", "/compare/l4,h100-sxm",
    "/gpus?q=rtx 40&memory=24&sort=memory", "/prices/h100-sxm.csv", "/results/resnet50?gpu=h200-sxm",
    "/?class=server&by=rent&memory=24", "/team/lab?tag=a", "/scaling/bert-large.json",
)  # fmt: skip
ODD = (b"0", b"0.0", b"-1", b"1.2.3", b"1,2,3", b"9" * 25, b"1e309", b"0.0001", b"1..2", b"zero", b"half")
TIMES = "m,n,k,h100_sxm\n4096,4096,4096,0.21\n8192,8192,8192,1.6\n"
# Values that programs trip over.
HOSTILE: tuple[Any, ...] = (
    None, True, 0, -1, -5.5, 1e308, -1e308, 1e15, 5e-324, 2**63, 10**400, "", "x" * 5000, "\x1b[31mred\x07",
    "\ud800", "=cmd|'/c calc'!A0", "../../../x", "<script>", [], {}, [[]], "nan", "NaN", "2026-13-45",
)  # fmt: skip
TOKENS = (
    b"\x00", b"\x1b]0;x\x07", b"\xff\xfe", b"\r", b"\x85", b"NaN", b"-Infinity", b"1e999", b'"', b"{",
    b"[" * 3000,
    b"|" * 400, b"<!--" * 200, b'<script type="application/vnd.gpuwise+json">', b",,,,",
    b"99999999999999999999",
    "\u202e\u2028".encode(), b"RTX 4090 Ti Super Laptop ", b" GB/s ", b"$0/h", b"\n\n\n", b"- " * 500,
)  # fmt: skip


def calls(folder: Path) -> dict[str, tuple[list[str], list[list[str]]]]:
    """Seed files by kind, and the verbs that read one; `FILE` is the changed file, alone in `FOLDER`,
    `WORD` what stands in it, `GOOD` a sound result."""
    h200 = ROOT / "results" / "h200"
    good = folder / "good.json"
    shutil.copy(h200 / "repeat-1.json", good)
    text = {"prices.csv": PRICES, "aime.log": AIME, "config.json": json.dumps(MODEL),
            "notes.ipynb": json.dumps(NOTEBOOK), "asked.jsonl": REQUESTS, "times.csv": TIMES}  # fmt: skip
    words = ("served:llama-3.1-8b", "2x h100-sxm,24GB..", "TTFT<=500ms,TPOT<=50ms", "1,4,16", "8k", "100ms")
    text |= {f"{number}.word": word for number, word in enumerate(words)}
    text |= {f"{number}.asked": asked for number, asked in enumerate(QUESTIONS)}
    text |= {f"{number}.address": address for number, address in enumerate(ADDRESSES)}
    for name, content in text.items():
        (folder / name).write_text(content)
    quiet(["report", str(good), "-o", str(folder / "report.html")])
    quiet(["choose", "resnet50", "--gpu", "rtx-4090,l4", "-o", str(folder / "choice.json")])
    quiet(["results", "resnet50", "-o", str(folder / "results.csv")])
    (folder / "model.gguf").write_bytes(gguf())
    (folder / "times.csv.gz").write_bytes(gzip.compress(TIMES.encode()))
    endpoint(folder / "endpoint.json")
    article = (ROOT / "examples" / "article.md").read_bytes()
    fields = {"project": b"lab", "tags": b"a b", "name": b"ann", "role": b"push", "do": b"add"}
    fields["result"] = json.loads(good.read_bytes())["id"].encode()
    (folder / "result.form").write_bytes(form(good.read_bytes(), **fields))
    (folder / "article.form").write_bytes(form(article, text=article))
    results = [
        str(good),
        str(folder / "endpoint.json"),
        *(str(h200 / name) for name in ("repeat-2.json", "resnet50-tuned.json")),
    ]
    return {
        "result": ([each for each in results if Path(each).exists()], [
            ["show", "FILE"], ["show", "FILE", "--full", "--chart"], ["show", "FILE", "--json"],
            ["compare", "GOOD", "FILE"], ["compare", "FILE", "GOOD", "--json"], ["report", "FILE"],
            ["report", "FILE", "-o", "OUT.html"], ["audit", "FILE"], ["accept", "FILE"],
            ["accept", "FOLDER"], ["audit", "FOLDER"], ["report", "FOLDER"],
            ["merge", "FILE", "GOOD"],
            ["results", "resnet50", "--file", "FILE"], ["show", "FILE", "-o", "OUT.csv"],
            ["predict", "resnet50", "--gpu", "h200-sxm", "--calibrate", "FILE"],
            ["choose", "resnet50", "--gpu", "h200-sxm,l4", "--measured", "FILE"],
            ["team", "verify", "--signers", "FILE", "GOOD"], ["POST", "/push?project=lab&tag=a", "FILE"],
            ["POST", "/upload", "FILE"], ["POST", "/upload.csv", "FILE"],
        ]),
        "report": ([str(folder / "report.html")], [
            ["show", "FILE"], ["audit", "FILE"], ["report", "FILE"], ["POST", "/upload", "FILE"],
        ]),
        "choice": ([str(folder / "choice.json")], [["choose", "FILE"]]),
        "prices": ([str(folder / "prices.csv")], [
            ["prices", "rtx-4090", "--prices", "FILE"], ["prices", "--prices", "FILE", "--json"],
            ["choose", "resnet50", "--gpu", "rtx-4090,l4", "--prices", "FILE"],
        ]),
        "notebook": ([str(folder / "notes.ipynb")], [["audit", "FILE"], ["audit", "--all", "FILE"]]),
        "requests": ([str(folder / "asked.jsonl")], [
            ["bench", "--endpoint", "http://127.0.0.1:1", "--concurrency", "1", "--dataset", "FILE"],
        ]),
        "scores": ([str(folder / "times.csv"), str(folder / "times.csv.gz")], [
            ["validate", "--set", "gemm", "--data", "FILE"], ["validate", "--set", "timm", "--data", "FILE"],
        ]),
        "article": ([str(ROOT / "examples" / "article.md"), str(ROOT / "README.md")], [
            ["audit", "FILE"], ["audit", "--all", "FILE"], ["audit", "FILE", "--json"],
            ["POST", "/audit", "FILE"], ["POST", "/audit.json", "FILE"],
        ]),
        "log": ([str(folder / "aime.log"), str(folder / "results.csv")], [
            ["results", "--import", "FILE"], ["results", "--import", "FILE", "--json"], ["audit", "FILE"],
        ]),
        "model": ([str(folder / "config.json"), str(folder / "model.gguf")], [
            ["fit", "FILE", "--gpu", "rtx-4090,h100-sxm"], ["fit", "FILE", "--for", "qlora", "--json"],
            ["predict", "served:hf:FILE", "--gpu", "h100-sxm"], ["choose", "served:hf:FILE"],
        ]),
        "words": ([str(folder / f"{number}.word") for number in range(len(words))], [
            ["fit", "WORD", "--gpu", "l4"], ["fit", "llama-3.1-8b", "--gpu", "WORD"],
            ["fit", "llama-3.1-8b", "--gpu", "l4", "--context", "WORD"], ["predict", "WORD", "--gpu", "l4"],
            ["predict", "resnet50", "--gpu", "WORD"], ["watch", "--every", "WORD"], ["gpus", "WORD"],
            ["choose", "WORD"], ["compare", "WORD", "l4"],
            ["bench", "--endpoint", "http://127.0.0.1:1/WORD"],
            ["bench", "--endpoint", "http://127.0.0.1:1", "--slo", "WORD"],
        ]),
        "questions": ([str(folder / f"{number}.asked") for number in range(len(QUESTIONS))], [
            ["choose", "WORD"],
        ]),
        "forms": ([str(folder / f"{name}.form") for name in ("result", "article")], [
            ["POST", path, "FILE"]
            for path in ("/upload", "/upload.json", "/audit", "/audit.csv", "/team", "/team/lab", "/members")
        ]),
        "addresses": ([str(folder / f"{number}.address") for number in range(len(ADDRESSES))], [
            ["GET", "WORD"],
        ]),
    }  # fmt: skip


def gguf() -> bytes:
    """The header of a small language model's GGUF file."""

    def text(word: str) -> bytes:
        return struct.pack("<Q", len(word)) + word.encode()

    pairs = b"".join(text(f"llama.{key}") + struct.pack("<II", 4, value) for key, value in HEADER.items())
    named = text("general.architecture") + struct.pack("<I", 8) + text("llama")
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(HEADER) + 1) + named + pairs


def endpoint(file: Path) -> None:
    """The result of a server that only pretends."""
    port = str(random.SystemRandom().randrange(20_000, 30_000))
    server = subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "fake_server.py"), "--port", port, "--token", "0.001"]
    )
    ask = ["bench", "--endpoint", f"http://localhost:{port}", "--concurrency", "1,2", "--time", "300ms"]
    while server.poll() is None and not file.exists():
        quiet([*ask, "--answer", "16", "-o", str(file)])
    server.kill()


def form(data: bytes, **fields: bytes) -> bytes:
    """A form with a file, as a browser sends it."""
    parts = [f'name="{name}"\r\n\r\n'.encode() + value for name, value in fields.items()]
    parts.append(b'name="file"; filename="r.json"\r\n\r\n' + data)
    beginning = b"--x\r\nContent-Disposition: form-data; "
    return b"".join(beginning + part + b"\r\n" for part in parts) + b"--x--\r\n"


@cache
def site() -> TestClient:
    """A team's server, asked in this process by one who may all."""
    from starlette.testclient import TestClient

    from gpuwise.jobs.facts import Facts
    from gpuwise.web import guard, server
    from gpuwise.web.team import Team

    class Here:
        """Reads files in this process, where their time and memory are seen."""

        def __init__(self, work: guard.Work) -> None:
            self.work = work

        async def __call__(self, question: dict[str, str], data: bytes, receive: object) -> guard.Answer:
            return self.work(question, data)

    guard.Reader = Here  # type: ignore[misc,assignment]
    team = Team("sqlite:///team.db")
    token = {"Authorization": f"Bearer {team.add_user('fuzzer', 'admin')}"}
    app = server.create(Facts(()), team=team)
    return TestClient(app, "http://127.0.0.1", headers=token, follow_redirects=False)


def asked(method: str, address: str, file: str = "") -> tuple[int, str]:
    """0 for an answer below 500, which may have any characters: a browser shows them."""
    data = Path(file).read_bytes() if file else b""
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    place = quote(address, "/?&=,", errors="surrogateescape")
    if not address.startswith("/push") and not file.endswith(".form"):
        data = form(data)
    try:
        status = site().request(method, place, content=data, headers=headers).status_code
    except Exception as error:  # noqa: BLE001 - what the server itself would only log
        return 70, f"{type(error).__name__}: {error}"
    return (0, "") if status < 500 else (status, "")


def quiet(words: list[str]) -> tuple[int, str]:
    """Exit code and everything that was printed."""
    from gpuwise.cli.main import run

    if words[0].isupper():
        return asked(*words)

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            run(words)
        except SystemExit as leave:
            return int(leave.code or 0), said.getvalue()
    return 0, said.getvalue()


def changed(data: bytes, suffix: str, other: bytes, chance: random.Random) -> bytes:
    """The file with one to four changes."""
    ways: list[Callable[[bytes, bytes, random.Random], bytes]] = [_bytes, _bytes, _token, _lines, _spliced]
    if suffix in (".json", ".ipynb"):
        ways += [_value] * 8
    if suffix in (".csv", ".md"):
        ways += [_cell] * 4
    if suffix in (".asked", ".address"):
        ways += [_number] * 8
    for _ in range(chance.randint(1, 4)):
        data = chance.choice(ways)(data, other, chance)
    return data


def _bytes(data: bytes, other: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    match chance.randrange(3):
        case 0:
            return data[:place]
        case 1:
            return data[:place] + chance.randbytes(chance.randint(1, 8)) + data[place + 1 :]
        case _:
            return data[:place] + data[place + chance.randint(1, 200) :]


def _token(data: bytes, other: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    return data[:place] + chance.choice(TOKENS) * chance.choice((1, 1, 1, 50)) + data[place:]


def _lines(data: bytes, other: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    place = chance.randrange(len(lines))
    return b"\n".join([*lines[:place], *[lines[place]] * chance.choice((0, 2, 2, 300)), *lines[place + 1 :]])


def _spliced(data: bytes, other: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :]


def _cell(data: bytes, other: bytes, chance: random.Random) -> bytes:
    parts = re.split(rb"([,|\n])", data)
    parts[chance.randrange(len(parts))] = str(chance.choice(HOSTILE)).encode("utf-8", "surrogatepass")
    return b"".join(parts)


def _number(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """A number that nobody asks with, in the place of one."""
    number = chance.choice(list(re.finditer(rb"\d[\d.,]*|$", data)))
    return data[: number.start()] + chance.choice(ODD) + data[number.end() :]


def _value(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """JSON with another value somewhere, or without a key."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return _bytes(data, other, chance)
    at = document
    while isinstance(at, dict | list) and at:
        key: Any = chance.choice(list(at)) if isinstance(at, dict) else chance.randrange(len(at))
        inner = at[key]
        if not isinstance(inner, dict | list) or not inner or chance.random() < 0.15:
            if chance.random() < 0.2:
                del at[key]
            elif isinstance(inner, float | int) and abs(inner) < 1e300 and chance.random() < 0.5:
                at[key] = inner * chance.choice((0, -1, 1.5, 1e6, 1e-6, 1e300))
            else:
                at[key] = chance.choice(HOSTILE)
            break
        at = inner
    return json.dumps(document).encode("utf-8", "surrogatepass")


def longest_of(verb: list[str]) -> float:
    """Seconds that a verb may take."""
    return LONGEST_AUDIT_S if "audit" in verb[0] + verb[1] else LONGEST_S


def filled(verb: list[str], file: Path, folder: Path) -> list[str]:
    """The call of a verb for that file."""
    # What a shell can pass: no end of a text in C, and no more than fits a line.
    word = file.read_bytes()[:2000].replace(b"\0", b"").decode("utf-8", "surrogateescape")
    values = {"FILE": str(file), "FOLDER": str(file.parent), "GOOD": str(folder / "good.json"), "WORD": word}
    return [
        values.get(part, part.replace("hf:FILE", f"hf:{file}").replace("/WORD", f"/{word}")) for part in verb
    ]


def enlarged(data: bytes, suffix: str) -> dict[str, bytes]:
    """The file at 1 MB, by what is repeated in it."""
    if suffix == ".gz":
        return {name: gzip.compress(large) for name, large in enlarged(gzip.decompress(data), "").items()}
    lines, middle = data.split(b"\n"), len(data) // 2
    repeated = {
        "all of it": data,
        "its last line": (lines[-2:-1] or lines)[0] + b"\n",
        "a word": b" ".join(data.split()[:1]) + b" ",
        "its opening": data[:20],
        "table": b"<table><tr><td>",
        "open": b"<div>",
        "column": b"1,",
        "quote": b'",',
        "script": b"<script type=application/json id=",
        "comment": b"<!-- ",
        "bracket": b"[",
        "digit": b"1",
        "cell": b"| RTX 4090 ",
        "figure": b"The H100 has 80 GB and 700 W. ",
        "names": b"RTX 4090, ",
        "blank": b" ",
    }
    found = {
        name: data[:middle] + part * (LARGE // max(1, len(part))) + data[middle:]
        for name, part in repeated.items()
    }
    found["all, after itself"] = data * (LARGE // len(data))
    if suffix in (".json", ".ipynb") and isinstance(document := json.loads(data), dict):
        for key, value in document.items():
            if isinstance(value, list) and value:
                many = value * max(1, LARGE // len(json.dumps(value)))
                found[f"each of {key}"] = json.dumps({**document, key: many}).encode()
        for measured in document.get("measurements", [])[:1]:
            windows = measured.get("windows") or []
            steps = [{**each, "step_s": each["step_s"] * (LARGE // 20 // len(each["step_s"]))}
                     for each in windows[:1]]  # fmt: skip
            for name, many in (
                ("windows", windows * (LARGE // max(1, len(json.dumps(windows))))), ("steps", steps),
            ):  # fmt: skip
                found[name] = json.dumps(
                    {**document, "measurements": [{**measured, "windows": many}]}
                ).encode()
    return found


def large(wanted: list[str]) -> int:
    """Each kind of file, or those wanted, at 1 MB through each verb that reads it; whether one took too long
    or ended badly."""
    folder, bad, tried = Path(tempfile.mkdtemp(prefix="gpuwise-fuzz-")), 0, 0
    (folder / "input").mkdir()
    os.environ.update(GPUWISE_HOME=str(folder / "home"), CUDA_VISIBLE_DEVICES="", NO_COLOR="1")
    os.chdir(folder)
    for kind, (files, verbs) in calls(folder).items():
        seeds = {Path(name).suffix: Path(name) for name in files}
        for verb in [] if kind == "words" or kind not in (wanted or kind) else verbs:
            quiet(filled(verb, Path(files[0]), folder))
            for suffix, seed_file in seeds.items():
                file = folder / "input" / f"input{suffix}"
                for name, data in enlarged(seed_file.read_bytes(), suffix).items():
                    file.write_bytes(data)
                    began = time.process_time()
                    code, _ = quiet(filled(verb, file, folder))
                    took, tried = time.process_time() - began, tried + 1
                    if took > longest_of(verb) or not 0 <= code <= 5:
                        bad += 1
                        print(f"{' '.join(verb)}: {name} in {suffix}: {took:.1f} s, exit {code}", flush=True)
                file.unlink()
    print(f"{tried} files of 1 MB: {bad} broke a rule")
    return min(bad, 1)


def worker(seed: int, longest_s: float, count: int, wanted: list[str], found: Any) -> None:
    """Try inputs one after the other; (what, call, broken rule) and a sign of life for each go to `found`."""
    chance = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="gpuwise-fuzz-"))
    (folder / "input").mkdir()
    os.environ.update(GPUWISE_HOME=str(folder / "home"), CUDA_VISIBLE_DEVICES="", NO_COLOR="1")
    os.chdir(folder)
    kinds = calls(folder)
    every = [data for files, _ in kinds.values() for data in (Path(name).read_bytes() for name in files)]
    kinds = {kind: both for kind, both in kinds.items() if kind in (wanted or kind)}
    for files, verbs in kinds.values():
        for verb in verbs:  # what a verb loads is no part of the file's time
            quiet(filled(verb, Path(files[0]), folder))
    for number in range(count):
        if time.process_time() > longest_s:
            break
        kind = chance.choice(list(kinds))
        files, verbs = kinds[kind]
        seed_file = Path(chance.choice(files))
        file = folder / "input" / f"input{seed_file.suffix}"
        data = changed(seed_file.read_bytes(), seed_file.suffix, chance.choice(every), chance)
        file.write_bytes(data)
        verb = chance.choice(verbs)
        words = filled(verb, file, folder)
        found.put(("begins", " ".join(verb), str(file)))
        began, held = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        code, said = quiet(words)
        file.unlink()
        took, now = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        broken = []
        if not 0 <= code <= 5:
            broken.append(f"exit {code}: {said.strip()[-300:]}")
        if took > longest_of(verb):
            broken.append(f"{took:.1f} s")
        if (now - held) * 1024 > MOST_BYTES:
            broken.append(f"{(now - held) // 1024} MiB more")
        if control := CONTROL.search(said):
            broken.append(
                f"prints {control[0]!r}: {said[max(0, control.start() - 60) : control.start() + 20]!r}"
            )
        kept = ""
        if broken:
            kept = str(folder / f"kept-{seed}-{number}{seed_file.suffix}")
            Path(kept).write_bytes(data)
        found.put(("ends", " ".join(verb), "; ".join(broken), kept, code))
    found.put(("done",))


def main() -> int:
    """Start one worker after the other until all inputs are tried; a worker that hangs is a finding."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1e9, help="of processor time")
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--large", action="store_true", help="files of 1 MB")
    parser.add_argument("--kinds", default="", help="of files, by comma; all without")
    given = parser.parse_args()
    wanted = [kind for kind in given.kinds.split(",") if kind]
    if given.large:
        return large(wanted)
    spent_s, tried, broken, seed = 0.0, 0, 0, given.seed
    codes: Counter[int] = Counter()
    context = multiprocessing.get_context("spawn")
    while tried < given.count and spent_s < given.seconds:
        found = context.Queue()
        process = context.Process(
            target=worker,
            args=(seed, given.seconds - spent_s, given.count - tried, wanted, found),
            daemon=True,
        )
        process.start()
        call, done = "", False
        while not done:
            try:
                message = found.get(timeout=HANGS_S if call else STARTS_S)
            except queue.Empty:
                print(f"hangs or died: {call or 'the start'}", flush=True)
                broken += 1
                process.kill()
                break
            if message[0] == "begins":
                call = " ".join(message[1:])
            elif message[0] == "ends":
                tried += 1
                codes[message[4]] += 1
                if message[2]:
                    broken += 1
                    print(f"{message[1]}: {message[2]}\n  {message[3]}", flush=True)
            done = message[0] == "done"
        process.join()
        spent = os.times()
        spent_s, seed = spent.children_user + spent.children_system, seed + 1
    print(
        f"{tried} inputs, seed {given.seed}: {broken} broke a rule; exit codes {dict(sorted(codes.items()))}"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
