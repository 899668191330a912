"""Start an engine on a language model's shape with random weights, and end it with all that it started.

An engine reads a folder: the shape's `config.json` and a tokenizer of as many words as it has rows, so that
each token is one word of text. vLLM and SGLang fill the weights by themselves; for transformers they are
drawn and written once; llama.cpp runs a GGUF file, which the user gives.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import aiohttp

from gpuwise.errors import InputError, MachineError
from gpuwise.facts import llms
from gpuwise.measure import endpoint
from gpuwise.measure.process import end
from gpuwise.model.precision import Precision
from gpuwise.model.units import visible

Engine = Literal["vllm", "sglang", "llama.cpp", "transformers"]
ENGINES: tuple[Engine, ...] = ("vllm", "sglang", "llama.cpp", "transformers")
FACTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
COMMANDS: Mapping[Engine, str] = FACTS["programs"]
# A large model compiles and fills its weights for minutes.
START_S, END_S = 1800.0, 15.0
# Of an engine's last words, in an error.
LAST_LINES = 5
ARCHITECTURES: Mapping[str, str] = FACTS["architectures"]
# Run by the engine's own Python: weights as its library draws them, on a GPU where they fit, else in minutes.
# What the library's extra of its server asks for is looked for before, by the library's own list.
_DRAW = """
import re, sys
from importlib.metadata import PackageNotFoundError, requires, version

def installed(name):
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False

asked = [line for line in requires("transformers") or () if re.search(r"extra *== *(.)serving\\1", line)]
lacks = [name for name in (re.match(r"[-\\w.]+", line)[0] for line in asked) if not installed(name)]
if lacks:
    sys.exit("lacks: " + ", ".join(sorted(lacks)))
import torch, transformers
config = transformers.AutoConfig.from_pretrained(sys.argv[1])

def drawn(device):
    with torch.device(device):
        return transformers.AutoModelForCausalLM.from_config(config, dtype=getattr(torch, sys.argv[2]))

try:
    model = drawn("cuda" if torch.cuda.is_available() else "cpu")
except torch.OutOfMemoryError:
    model = drawn("cpu")
model.generation_config.eos_token_id = None
model.save_pretrained(sys.argv[1])
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One start of an engine."""

    engine: Engine
    model: str  # A name of `facts.llms`, a config.json or a GGUF file
    precision: Precision = Precision.BF16
    context: int = 8192  # Tokens of a prompt with its answer, at most
    concurrency: int = 64  # Requests at once, at most
    gpus: int = 1  # That split every layer
    start_s: float = START_S


@contextmanager
def started(launch: Launch) -> Iterator[tuple[str, str]]:
    """The address of the engine, which answers, and the name under which it serves the model. Ended on the
    way out, by whatever way.

    Raises MachineError where the engine is not installed, ends by itself or does not answer in time,
    InputError for a model or format that it cannot run.
    """
    # Also beside this Python, whose environment may be used without being activated.
    places = os.pathsep.join((os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)))
    program = shutil.which(COMMANDS[launch.engine], path=places)
    if program is None and not (launch.engine == "sglang" and find_spec("sglang")):
        problem = f"{launch.engine} is not installed: the program {COMMANDS[launch.engine]} was not found"
        hint = f"{FACTS['installed'][launch.engine]}, or give --endpoint URL of a running one"
        raise MachineError(problem, hint=hint)
    with tempfile.TemporaryDirectory(prefix="gpuwise-") as folder, socket.socket() as held:
        place = Path(folder)
        source = _prepared(launch, place, program or sys.executable)
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        held.close()
        log = place / "engine.log"
        with log.open("wb") as words:
            process = subprocess.Popen(
                command(launch, program or sys.executable, source, port), stdout=words, stderr=words,
                stdin=subprocess.DEVNULL, start_new_session=True, cwd=folder,
                # Nothing is fetched: whatever is needed is in the folder.
                env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": folder},
            )  # fmt: skip
        try:
            url = f"http://127.0.0.1:{port}"
            endpoint.run(_answers(url, process, launch, log))
            yield url, source if launch.engine == "transformers" else launch.model
        finally:
            # Engines have workers, which hold the GPUs' memory.
            end(process, END_S)
            process.wait()


def command(launch: Launch, program: str, source: str, port: int) -> list[str]:
    """The command line of the engine on a folder or file, listening on this machine alone."""
    known = {
        **asdict(launch), "program": program, "python": _python(program), "source": source,
        "port": port, "dtype": _dtype(launch), "cache": launch.context * launch.concurrency,
    }  # fmt: skip
    words = [word.format(**known) for word in FACTS["commands"][launch.engine].split()]
    # Random weights would be of no other kind in 8 bits: the engine narrows them as it loads.
    words += ["--quantization", "fp8"] * (launch.precision == Precision.FP8 and launch.engine != "llama.cpp")
    # On a CPU the paged cache takes a minute to be made and gains nothing.
    paged = any(Path(device).exists() for device in ("/dev/nvidia0", "/dev/kfd"))
    return [*words, *["--continuous-batching"] * (paged and launch.engine == "transformers")]


def _dtype(launch: Launch) -> str:
    """As frameworks call the 16 or 32 bits in which weights are loaded; narrower ones come from bf16."""
    return {Precision.FP32: "float32", Precision.FP16: "float16"}.get(launch.precision, "bfloat16")


def _prepared(launch: Launch, place: Path, program: str) -> str:
    """The path that the engine reads: a folder with shape and tokenizer, or the user's GGUF file."""
    gguf = launch.model.removeprefix("hf:").endswith(".gguf")
    if gguf != (launch.engine == "llama.cpp"):
        which = (
            "is given a shape, not a file" if gguf else "runs GGUF files and cannot fill weights by itself"
        )
        raise InputError(f"{launch.engine} {which}", hint="--engine llama.cpp with served:./model.gguf")
    if gguf:
        return str(Path(launch.model.removeprefix("hf:")).resolve())
    kinds: tuple[Precision, ...] = (Precision.BF16, Precision.FP16, Precision.FP32)
    kinds += (Precision.FP8,) if launch.engine in ("vllm", "sglang") else ()
    if launch.precision not in kinds:
        hint = f"choose from {', '.join(kinds)}, or start it by hand and give --endpoint URL"
        raise InputError(f"{launch.engine} is not started here on weights in {launch.precision}", hint=hint)
    write_folder(launch.model, place)
    if launch.engine == "transformers":
        python = _python(program)
        draw = [python, "-c", _DRAW, str(place), _dtype(launch)]
        drawn = subprocess.run(draw, capture_output=True, text=True, check=False)
        if drawn.returncode and drawn.stderr.startswith("lacks: "):
            missing = drawn.stderr.removeprefix("lacks: ").strip()
            problem = f"transformers is installed without what its server needs: {missing}"
            raise MachineError(problem, hint=f"{python} -m {FACTS['installed']['transformers']}")
        if drawn.returncode:
            raise MachineError(f"transformers cannot build {launch.model}: {_last(drawn.stderr)}")
    return str(place)


def _python(program: str) -> str:
    """The Python that runs a program: by its first line, or the one beside it, where a shell starts it."""
    first = b""
    with suppress(OSError), Path(program).open("rb") as script:
        first = script.readline(4096)
    word = Path(first.removeprefix(b"#!").decode(errors="replace").strip())
    if first.startswith(b"#!") and word.name.startswith("python") and word.is_file():
        return str(word)
    # Of a link from another folder, as pipx makes them, the program's own folder.
    folders = dict.fromkeys((Path(program).parent, Path(program).resolve().parent))
    beside = (folder / name for folder in folders for name in ("python", "python3"))
    return next((str(each) for each in beside if each.is_file()), sys.executable)


def write_folder(model: str, place: Path) -> None:
    """`config.json` and a tokenizer whose every number is a word. Raises InputError for unknown models."""
    shape = llms.find(model)
    if llms.is_file(model):
        config = json.loads(Path(model.removeprefix("hf:")).read_text(encoding="utf-8"))
    else:
        config = dict(llms.published()[shape.name]["config"])
        kind = config["model_type"]
        if kind not in ARCHITECTURES:
            raise InputError(f"no engine builds {shape.name} from its shape alone", hint="serve it by hand")
        config["architectures"] = [ARCHITECTURES[kind]]
    # No token ends an answer: all are as long as asked.
    config |= {"eos_token_id": None, "bos_token_id": None, "pad_token_id": None}
    (place / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tokenizer: dict[str, Any] = json.loads(FACTS["tokenizer"]["json"])
    tokenizer["model"]["vocab"] = {f"w{i}": i for i in range(shape.vocabulary)}
    (place / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": template}
    (place / "tokenizer_config.json").write_text(json.dumps(about), encoding="utf-8")


async def _answers(url: str, process: subprocess.Popen[bytes], launch: Launch, log: Path) -> None:
    """Wait until the engine lists its models."""
    until_s = time.monotonic() + launch.start_s
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        while True:
            if process.poll() is not None:
                said = _last(log.read_text(encoding="utf-8", errors="replace"))
                raise MachineError(f"{launch.engine} ended with {process.returncode} as it started: {said}")
            try:
                async with session.get(f"{url}/health") as response:
                    if response.status == 200:
                        return
            except (aiohttp.ClientError, TimeoutError, OSError):
                pass
            if time.monotonic() > until_s:
                raise MachineError(f"{launch.engine} did not answer within {launch.start_s:g} s")
            await asyncio.sleep(0.2)


def _last(text: str) -> str:
    lines: Sequence[str] = [line.strip() for line in text.splitlines() if line.strip()]
    return visible(" / ".join(lines[-LAST_LINES:])[-500:])
