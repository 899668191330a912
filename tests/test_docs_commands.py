"""Every command of the pages runs, or its page says why not and its options are parsed.

A block of `sh` is run in the order of its page, in a folder of its own, where `gpuwise bench` is small and on
the CPU. A comment before the block changes that: `<!-- not run: why -->` leaves options to be parsed alone,
`<!-- exit 3: why -->` expects that exit code.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from gpuwise import store
from gpuwise.cli.main import gpuwise, run
from gpuwise.cli.print import ENDING
from gpuwise.web import server, site
from gpuwise.workloads import registry

from .pretended import Pretended

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"(?:^<!-- (not run|exit \d): ([^>]+) -->\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
COMMAND = '#!/bin/sh\nexec {python} -m gpuwise "$@"\n'
JUDGES = ("gpuwise accept", "gpuwise audit")
"""Their work is done as well when they end with 1: something failed, or was found."""


@dataclass(frozen=True, slots=True)
class Block:
    """Code between fences, with what the comment before it says."""

    rule: str
    why: str
    language: str
    text: str


def blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [Block(*found) for found in BLOCK.findall(text)]


def pages_with(language: str) -> list[str]:
    return [page for page in PAGES if any(block.language == language for block in blocks(page))]


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """The environment of a reader without a GPU."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "gpuwise"
    command.write_text(COMMAND.format(python=shlex.quote(sys.executable)))
    command.chmod(0o755)
    (tmp_path / "work").mkdir()
    for name in ("examples", "results"):
        (tmp_path / "work" / name).symlink_to(ROOT / name)
    return {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GPUWISE_HOME": str(tmp_path / "home"),
        "CUDA_VISIBLE_DEVICES": "",
    }


def called(words: list[str], folder: Path, env: dict[str, str]) -> tuple[int, str]:
    """(exit code, what was written) of `gpuwise` in this process: a second less than one of its own."""
    words = [str(each) for word in words for each in (sorted(folder.glob(word)) if "*" in word else [word])]
    if words[0] == "bench":
        words = small(words)
    said, handlers = io.StringIO(), {sign: signal.getsignal(sign) for sign in ENDING}
    code: object = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
        patch.chdir(folder)
        patch.setattr(registry, "_FOREIGN", {})  # files of another page have the same names
        for name in ("GPUWISE_HOME", "CUDA_VISIBLE_DEVICES"):
            patch.setenv(name, env[name])
        if "--static" in words:  # tests/web/test_export.py writes pages of each kind
            patch.setattr(site, "ADDRESSES", site.ADDRESSES[:1])
        elif words[0] == "serve":  # tests/web/conftest.py starts one, asks it and ends it by Ctrl-C
            patch.setattr(server, "warm", lambda facts: None)
            patch.setattr(server.uvicorn.Server, "run", lambda self, sockets: None)
            words += ["--port", "0"]
        if "--framework" in words:  # tests/cli/test_frameworks.py measures toys in each
            patch.setattr("gpuwise.measure.session.Child", Pretended)
        try:
            run(words)
        except SystemExit as leave:
            code = leave.code or 0
        finally:
            for sign, handler in handlers.items():
                signal.signal(sign, handler)
    return int(str(code)), said.getvalue()


def small(words: list[str]) -> list[str]:
    """A measurement of the same options, as small as it can be."""
    given = {word.split("=")[0] for word in words}
    workload = any(word.startswith(("resnet50", "bert-large")) or ".py" in word for word in words)
    return [
        *words, *(() if workload else ("--workload", "resnet50")),
        *(() if "--mode" in given else ("--mode", "infer")),
        *(("--gpus", "1,2") if "--gpus" in given else ()),
        *(("--precision", "fp32") if "--precision" in given else ()),
        *(("--batch", "8") if "--batch" in given else ()),
        "--toy", "--device", "cpu", "--quick", "--time", "0.3s",
    ]  # fmt: skip


def lines(block: str) -> list[str]:
    """Commands of a block, continued lines joined."""
    whole = block.replace("\\\n", " ").splitlines()
    return [line for line in whole if line.strip() and not line.startswith("#")]


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("sh"))
def test_the_commands_of_a_page_work_in_their_order(page: str, shell: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "work"
    for block in blocks(page):
        if block.language == "python" and (name := re.match(r'"""(\w+\.py):', block.text)):
            (folder / name[1]).write_text(block.text)
        elif block.language in ("sh", "python") and block.rule != "not run":
            python = f"python -c {shlex.quote(block.text)}"
            for command in [python] if block.language == "python" else lines(block.text):
                plain = command.startswith("gpuwise ") and not re.search(r"[|><;&$`]", command)
                if plain:
                    code, said = called(shlex.split(command, comments=True)[1:], folder, shell)
                else:
                    assert not re.search(r"gpuwise bench\b", command), "it would not be small"
                    done = subprocess.run(
                        ["bash", "-c", command], cwd=folder, env=shell, capture_output=True, text=True
                    )
                    code, said = done.returncode, done.stdout + done.stderr
                fine = {int(block.rule.removeprefix("exit ") or 0)}
                fine |= {1} if command.startswith(JUDGES) and not block.rule else set()
                assert code in fine, f"{command}\n{said}"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_its_commands_where_they_are_run(page: str) -> None:
    for block in blocks(page):
        if block.language not in ("sh", "console"):
            assert not re.search(r"(?m)^(\$|gpuwise|pip|python) ", block.text), block.text
        if block.language == "sh" and block.rule != "not run":
            assert {line.split()[0] for line in lines(block.text)} <= {"gpuwise"}, "say why it is not run"


def parsed(command: click.Command, words: list[str], parent: click.Context | None = None) -> None:
    """Raises click.UsageError for an unknown option or a bad choice; runs nothing."""
    with command.make_context(command.name, list(words), parent=parent) as context:
        if isinstance(command, click.Group):
            _, verb, rest = command.resolve_command(context, [*context._protected_args, *context.args])
            assert verb is not None
            parsed(verb, rest, context)
        elif context.params.get("bench"):
            parsed(gpuwise, ["bench", *context.params["bench"]])


def of_gpuwise(line: str) -> list[list[str]]:
    """Words of each `gpuwise ...` in a line of shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="&|;")
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    for word in lexer:
        if word.strip("&|;"):
            commands[-1].append(word)
        else:
            commands.append([])
    return [words for verb, *words in filter(None, commands) if verb == "gpuwise"]


@pytest.mark.parametrize("page", PAGES)
def test_what_is_not_run_has_good_options(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        if block.language == "sh" and block.rule == "not run":
            assert len(block.why.split()) >= 2, "a reason"
            for line in lines(block.text):
                for words in of_gpuwise(line):
                    for name in (word for word in words if re.fullmatch(r"[\w-]+\.(json|txt)", word)):
                        Path(name).touch()
                    parsed(gpuwise, words)


def benches(page: str) -> list[list[str]]:
    """Words of what a page would measure, on one machine, in the blocks that are not run."""
    left = [line for block in blocks(page) if block.rule == "not run" for line in lines(block.text)]
    words = [words for line in left for words in of_gpuwise(line)]
    elsewhere = {"--rdzv", "--endpoint", "--engine"}
    return [each for each in words if each[0] == "bench" and not elsewhere & set(each)]


@pytest.mark.parametrize("page", [page for page in PAGES if benches(page)])
def test_what_takes_long_is_run_without_its_measurements(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("gpuwise.measure.session.Child", Pretended)
    for words in benches(page):
        with suppress(SystemExit):
            run([*words, "--toy", "--device", "cpu", "-o", "made.json"])
        assert {m.status for m in store.load(Path("made.json")).measurements} == {"ok"}
        Path("made.json").unlink()


@pytest.mark.parametrize("page", PAGES)
def test_every_extra_that_a_page_installs_exists(page: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = re.findall(r"pip install [^`\n]*\[([\w,]+)\]", (ROOT / page).read_text(encoding="utf-8"))
    assert {name for each in named for name in each.split(",")} <= extras.keys()


@pytest.mark.parametrize("page", PAGES)
def test_commands_within_sentences_have_good_options(page: str) -> None:
    prose = BLOCK.sub("", (ROOT / page).read_text(encoding="utf-8"))
    for command in re.findall(r"`(gpuwise [^`]+)`", prose):
        words = shlex.split(command)[1:]
        if re.search(r"[\[\]|<>]|\.\.\.(?=\s|$)|\b(?:VERB|N)\b", command):
            continue  # the form of a command, not one
        # A sentence may name a verb, or an option, without what belongs to it.
        with suppress(click.MissingParameter, click.exceptions.Exit):
            try:
                parsed(gpuwise, words)
            except click.BadOptionUsage:
                assert words[-1].startswith("-"), command


def test_a_bad_option_is_found() -> None:
    for words in (["bench", "--precison", "fp16"], ["launch", "slurm", "--", "--gpux", "2"], ["benhc"]):
        with pytest.raises(click.UsageError):
            parsed(gpuwise, words)
    assert of_gpuwise('pip install -e ".[x]" && gpuwise bench --quick  # a | b') == [["bench", "--quick"]]
