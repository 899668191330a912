"""`gpuwise bench served:NAME --engine ...`: what is started, measured, and ended whatever happens."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.facts import llms
from gpuwise.measure.endpoint.engines import Launch, command, write_folder
from gpuwise.model.precision import Precision

Call = Callable[..., tuple[int, str, str]]
QUICK = ("--prompt", "32", "--answer", "8", "--concurrency", "1,2", "--time", "500ms")
SERVER = Path(__file__).parent.parent / "fake_server.py"
TINY = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 512,
    "tie_word_embeddings": True, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5,
}  # fmt: skip
SERVES = f"""
port = sys.argv[sys.argv.index("--port") + 1]
name = sys.argv[sys.argv.index("--served-model-name") + 1]
sys.argv = ["fake", "--port", port, "--token", "0.002", "--model", name]
runpy.run_path({str(SERVER)!r}, run_name="__main__")
"""


@pytest.fixture
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A program called vllm that runs some Python; the file of its process number."""

    def make(body: str) -> Path:
        folder, noted = tmp_path / "bin", tmp_path / "pid"
        folder.mkdir()
        program = folder / "vllm"
        note = f"import os, sys, runpy\nopen({str(noted)!r}, 'w').write(str(os.getpid()))\n"
        program.write_text(f"#!{sys.executable}\n{note}{textwrap.dedent(body)}")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return noted

    return make


def test_an_engine_is_started_measured_and_ended(gpuwise: Call, pretended: Callable[[str], Path]) -> None:
    noted = pretended(SERVES)
    code, _, err = gpuwise("bench", "served:meta-llama/Llama-3.2-1B-Instruct", "--engine", "vllm", *QUICK)
    assert code == 0, err
    (kept,) = store.saved()
    result = store.load(kept)
    assert result.environment.server == "vllm"
    assert [m.config.workload for m in result.measurements] == ["served:llama-3.2-1b"] * 2
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text()), 0)


def test_an_engine_that_ends_says_its_last_words(gpuwise: Call, pretended: Callable[[str], Path]) -> None:
    pretended("print('no such format', file=sys.stderr)\nsys.exit(7)\n")
    code, out, err = gpuwise("bench", "served:llama-3.2-1b", "--engine", "vllm", *QUICK)
    assert (code, out) == (3, "")
    assert "ended with 7" in err
    assert "no such format" in err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("served:llama-3.2-1b", "--engine", "sglang"), 3),
        (("served:llama-3.2-1b", "--engine", "llama.cpp"), 3),
        (("served:llama-3.2-1b",), 2),
        (("served:llama-3.2-1b", "served:llama-3.1-8b", "--engine", "vllm"), 2),
        (("resnet50", "--engine", "vllm"), 2),
        (("served:llama-3.2-1b", "--engine", "vllm", "--endpoint", "localhost:1"), 2),
        (("served:llama-3.2-1b", "--engine", "vllm", "--method", "lora"), 2),
        (("served:lama-3.2-1b", "--engine", "vllm"), 2),
    ],
)
def test_what_cannot_be_started(
    gpuwise: Call, words: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, path: None)
    found, out, err = gpuwise("bench", *words)
    assert (found, out, "Traceback" in err) == (code, "", False)


@pytest.mark.parametrize(
    "words", [("served:llama-3.2-1b", "--engine", "vllm"), ("--endpoint", "localhost:1")]
)
def test_the_library_of_the_client_is_missing(
    gpuwise: Call, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    code, out, err = gpuwise("bench", *words)
    assert (code, out, "gpuwise[endpoint]" in err) == (3, "", True)


@pytest.mark.parametrize("precision", ["int4", "int8"])
def test_formats_that_an_engine_does_not_make_of_random_weights(
    gpuwise: Call, pretended: Callable[[str], Path], precision: str
) -> None:
    noted = pretended(SERVES)
    assert gpuwise("bench", "served:llama-3.2-1b", "--engine", "vllm", "--precision", precision)[0] == 2
    assert not noted.exists()


def test_command_lines(tmp_path: Path) -> None:
    asked = Launch(engine="vllm", model="llama-3.1-8b", precision=Precision.FP8, context=2000, gpus=2)
    words = command(asked, "/bin/vllm", "/tmp/x", 8000)
    assert words[:3] == ["/bin/vllm", "serve", "/tmp/x"]
    options = {"--load-format": "dummy", "--quantization": "fp8", "--max-model-len": "2000",
               "--tensor-parallel-size": "2", "--served-model-name": "llama-3.1-8b"}  # fmt: skip
    for option, value in options.items():
        assert words[words.index(option) + 1] == value
    program = tmp_path / "sglang"
    for first in (f"#!{sys.executable}", "#!/bin/sh"):  # a script of Python's, or one that a shell starts
        program.write_text(first + "\n")
        words = command(Launch(engine="sglang", model="m"), str(program), "/tmp/x", 8000)
        assert words[:3] == [sys.executable, "-m", "sglang.launch_server"]
    (tmp_path / "python3").touch()
    linked = tmp_path / "elsewhere" / "sglang"  # as pipx installs programs
    linked.parent.mkdir()
    linked.symlink_to(program)
    words = command(Launch(engine="sglang", model="m"), str(linked), "/tmp/x", 8000)
    assert words[0] == str(tmp_path / "python3")
    words = command(Launch(engine="llama.cpp", model="./m.gguf", context=10, concurrency=4), "l", "/m", 1)
    assert words[words.index("--ctx-size") + 1] == "40"
    words = command(Launch(engine="llama.cpp", model="./m.gguf", precision=Precision.FP8), "l", "/m", 1)
    assert "--quantization" not in words  # a file has the format that it has


@pytest.mark.parametrize("name", ["llama-3.2-1b", "gpt-oss-20b", "deepseek-v3", "gemma-3-1b"])
def test_a_folder_holds_the_shape_and_a_word_for_each_token(name: str, tmp_path: Path) -> None:
    write_folder(name, tmp_path)
    assert llms.find(str(tmp_path / "config.json")).parameters == llms.find(name).parameters
    words = json.loads((tmp_path / "tokenizer.json").read_text())["model"]["vocab"]
    assert sorted(words.values()) == list(range(llms.find(name).vocabulary))


@pytest.mark.parametrize(
    ("extra", "lacks"), [("serving", "fastapi-none, uvicorn-none"), ("quality", ""), ("serving-more", "")]
)
def test_a_server_without_its_packages(
    gpuwise: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: str, lacks: str
) -> None:
    """transformers is installed and its extra is not: said before weights are drawn, with what to install."""
    site, bin_folder = tmp_path / "site", tmp_path / "bin"
    about = site / "transformers-5.0.dist-info" / "METADATA"
    about.parent.mkdir(parents=True)
    asks = (f'{name}; extra == "{extra}"' for name in ("uvicorn-none>=0.1", "fastapi-none", "click>=1"))
    asks = "".join(f"Requires-Dist: {line}\n" for line in asks)
    about.write_text(f"Metadata-Version: 2.1\nName: transformers\nVersion: 5.0\n{asks}")
    (site / "transformers.py").write_text("raise ImportError('drawn')")
    bin_folder.mkdir()
    (bin_folder / "transformers").write_text(f"#!{sys.executable}\n")
    (bin_folder / "transformers").chmod(0o755)
    monkeypatch.setenv("PATH", str(bin_folder), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    code, out, err = gpuwise("bench", f"served:hf:{tmp_path / 'config.json'}", "--engine", "transformers")
    assert (code, out) == (3, "")
    assert (lacks or "drawn") in err
    assert (f'{sys.executable} -m pip install "transformers[serving]"' in err) == bool(lacks)


@pytest.mark.skipif(find_spec("transformers") is None, reason="measured where transformers is installed")
def test_a_real_server(gpuwise: Call, tmp_path: Path) -> None:
    """transformers serve, with random weights, on the CPU."""
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    tiny = f"served:hf:{tmp_path / 'config.json'}"
    code, _, err = gpuwise("bench", tiny, "--engine", "transformers", "--precision", "fp32", *QUICK)
    assert code == 0, err
    (kept,) = store.saved()
    for m in store.load(kept).measurements:
        assert m.serving is not None
        assert (m.serving.failures, m.serving.short, m.serving.counted_by) == ((), 0, "server")
        assert m.serving.answer_tokens == 8
        assert m.serving.prompt_tokens == pytest.approx(32, abs=2)
        assert m.serving.first_token_s is not None
        assert 0 < m.serving.first_token_s.p50.value < 30
