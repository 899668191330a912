"""README and docs: outputs and figures are those of the raw files; test_docs_commands.py runs commands."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

import gpuwise
from gpuwise import workloads
from gpuwise.cli.main import VERBS
from gpuwise.model.precision import Precision
from gpuwise.show.results import line

from .examples import FROM_REST
from .test_docs_commands import called

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def said(command: str, home: Path) -> str:
    """What a `gpuwise ...` command line says in the repository's root; it ends well."""
    first, *words = shlex.split(command)
    assert first == "gpuwise"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")  # as wide as a file
        code, text = called(words, ROOT, {"GPUWISE_HOME": str(home), "CUDA_VISIBLE_DEVICES": ""})
    assert code == 0, text
    return text


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_acceptance_guide_s_figures_are_those_of_the_raw_files() -> None:
    page = (ROOT / "docs" / "accept.md").read_text(encoding="utf-8")
    found: dict[str, list[float]] = {"matmul bf16": [], "copy": []}
    for path in (ROOT / "results" / "h200").glob("*.json"):
        for m in gpuwise.load(path).measurements:
            counts = m.config.gpus == 1 and not m.started_at.startswith(FROM_REST)
            limit = "copy" if m.config.workload == "copy" else f"{m.config.workload} {m.config.precision}"
            if counts and m.throughput and limit in found:
                found[limit].append(m.throughput.value)
    low, high = min(found["matmul bf16"]) / 1e12, max(found["matmul bf16"]) / 1e12
    assert f"{low:.0f} to {high:.0f} TFLOP/s in bf16" in page
    assert max(found["copy"]) / min(found["copy"]) < 1.02


def test_the_first_output_is_that_of_the_raw_file() -> None:
    result = gpuwise.load(ROOT / "results" / "h200" / "quick.json")
    made = [line(m) for m in result.measurements]
    (shown,) = (text for text in blocks("text") if text.startswith("matmul"))
    assert all(any(full.startswith(each) for full in made) for each in shown.splitlines())


def test_the_h200_table_is_made_from_the_raw_files() -> None:
    spec = importlib.util.spec_from_file_location("h200_table", ROOT / "experiments" / "h200_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (ROOT / "docs" / "notes/h200.md").read_text(encoding="utf-8")
    assert module.table("stock") in README
    for made in (module.table("stock"), module.table("script"), module.found(), module.others()):
        assert made in page


def test_the_scores_of_prediction_are_those_of_the_raw_file() -> None:
    import json

    from evaluation.predict import score

    folder = ROOT / "results" / "predict"
    made = score.table(json.loads((folder / "scores.json").read_text(encoding="utf-8")))
    assert (folder / "scores.md").read_text(encoding="utf-8") == made
    assert made in (ROOT / "docs" / "how-it-predicts.md").read_text(encoding="utf-8")


def quickstart() -> list[str]:
    page = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
    return [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]


def test_the_commands_that_show_are_those_of_the_quickstart() -> None:
    (block,) = (text for text in blocks("sh") if "gpuwise report" in text)
    assert {line.split("#")[0].strip() for line in block.strip().splitlines()} <= set(quickstart())


def test_continuous_integration_runs_the_readme_s_test_command() -> None:
    command = next(block.strip() for block in blocks("sh") if "pytest" in block)
    assert command in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_is_in_the_changelog(verb: str, tmp_path: Path) -> None:
    assert f"gpuwise {verb}" in said(f"gpuwise {verb} --help", tmp_path)
    assert verb in (ROOT / "CHANGELOG.md").read_text()


def test_paths_of_the_repository_are_there() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        for path in re.findall(
            r"`((?:src/gpuwise|tests|tools|evaluation)/[\w/.-]*)`", page.read_text(encoding="utf-8")
        ):
            assert (ROOT / path).exists(), f"{page.name}: {path}"


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_scaling_table_is_that_of_the_raw_files(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "notes/many-gpus.md").read_text(encoding="utf-8")
    section = page.partition("## On H200s")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|") and "/s |" in line]
    assert len(rows) == 56
    raw = ROOT / "results" / "h200"
    suites = (
        "two",
        "four",
        "compiled-fp16",
        "compiled-fp32",
        "compiled-googlenet-fp16",
        "compiled-googlenet-fp32",
        "four-fp32",
        "four-googlenet-fp16",
    )
    files = [*raw.glob("scaling-*.json"), *(raw / f"suite-tf-cnn-{name}.json" for name in suites)]
    assert len(files) == 15
    shown = "".join(said(f"gpuwise show {file}", tmp_path) for file in files)
    for row in rows:
        for figure in re.findall(r"[\d.,]+ \w+/s|0\.\d+ \(.*?\)|[\d.]+ %", row):
            assert figure in shown
    for stated in ("394 GB/s", "289", "325 GB/s", "382 GB/s", "395 GB/s"):
        assert stated in section
        assert stated in shown


def test_the_side_by_side_table_is_that_of_the_raw_files() -> None:
    import json

    page = (ROOT / "docs" / "notes/many-gpus.md").read_text(encoding="utf-8")
    table = page.partition("## Against a plain loop")[2]
    rows = [line for line in table.splitlines() if re.match(r"\| (bert|resnet)", line)]
    files = sorted((ROOT / "results" / "experiments").glob("side-by-side-*.json"))
    assert len(files) == len(rows) == 9
    ratios = {}
    for file in files:
        found = json.loads(file.read_text())
        ratio, speeds = found["ratio"], found["items_per_s"]
        (against,) = speeds.keys() - {"gpuwise"}  # raw files of version 0.1 say parity
        speeds["script"] = speeds.get("parity")
        against = {"parity": "script"}.get(against, against)
        several = ", four GPUs" if found["gpus"] == 4 else ""
        what = f"{found['workload']} {found['precision']} b{found['batch']}{several}"
        (row,) = [row for row in rows if re.match(rf"\| {what}(, [`a].*)? \| {against} \|", row)]
        ratios[what, against] = f"{ratio['value']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f})"
        assert f"| {ratios[what, against]} |" in row
        stated = [float(word.replace(",", "")) for word in re.findall(r"\| ([\d.,]+)", row)[:2]]
        assert stated == pytest.approx([speeds[against]["value"], speeds["gpuwise"]["value"]], rel=2e-4)
    claimed = " ".join(README.split())
    for what, against in (
        ("bert-large bf16 b64", "script"),
        ("bert-large bf16 b64", "plain"),
        ("resnet50 fp16 b256", "script"),
        ("resnet50 fp16 b256", "plain"),
    ):
        assert ratios[what, against] in claimed


def test_the_floors_follow_from_the_costs_and_the_limits_of_the_raw_files() -> None:
    def limits(name: str) -> dict[str, float]:
        """Of products by precision, and of the copy."""
        found = gpuwise.load(ROOT / "results" / "h200" / f"{name}.json").measurements
        return {
            "copy" if m.config.workload == "copy" else m.config.precision: m.throughput.value
            for m in found
            if m.config.mode == "limit" and m.throughput
        }

    def number(text: str) -> float:
        return float(text.replace(",", ""))

    page = (ROOT / "docs" / "notes/performance.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (.*) (train|infer) (fp16|bf16|fp8) b(\d+) \| ([\d.]+) GFLOP \| ([\d.]+) ([MG])B "
        r"\| ([\d,]+) \w+/s \| ([\d,]+) \| ([\d,]+)(?: at b\d+)? \| (\d+) % \|$",
        page, re.MULTILINE,
    )  # fmt: skip
    assert len(rows) == 11
    usual, fp8 = limits("resnet50-tuned"), limits("bert-large-fp8")
    for name, mode, precision, batch, flop, size, prefix, floor, whole, measured, share in rows:
        spec = workloads.get(name.lower().replace(" ", "-").replace("resnet-", "resnet")).spec
        cost = spec.cost(mode, Precision(precision), int(batch))
        rate = fp8 if precision == "fp8" else usual
        products, traffic = cost.flop_per_item / rate[precision], cost.bytes_per_item / rate["copy"]
        assert float(flop) == pytest.approx(cost.flop_per_item / 1e9, rel=5e-3)
        assert float(size) == pytest.approx(cost.bytes_per_item / {"M": 1e6, "G": 1e9}[prefix], rel=5e-3)
        assert number(floor) == pytest.approx(1 / max(products, traffic), rel=1e-3)
        assert number(whole) == pytest.approx(1 / (products + traffic), rel=1e-3)
        assert float(share) == pytest.approx(100 * number(measured) / number(floor), abs=0.6)


def test_what_tune_wrote_is_in_the_notebook() -> None:
    import json

    page = (ROOT / "docs" / "notes/performance.md").read_text(encoding="utf-8")
    for name, gain in (
        ("bert-large", "{value:.3f} ({low:.3f} to {high:.3f})"),
        ("resnet50", "{value:.3f} times"),
    ):
        raw = ROOT / "results" / "experiments" / f"tune-{name}-bf16.json"
        assert gain.format(**json.loads(raw.read_text())["tuned"]["gain"]) in page


def test_the_table_of_jax_is_that_of_the_raw_file(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "notes" / "h200.md").read_text(encoding="utf-8")
    page = page.partition("\n## JAX\n")[2].partition("\n## ")[0]
    rows = re.findall(
        r"^\| (\S+) (train|infer) \| (\d+) \| ([\d.,]+ \w+/s) \| (\d+ W) \|$", page, re.MULTILINE
    )
    assert len(rows) == 10
    shown = [
        " ".join(line.split())
        for name in ("jax", "jax-2")
        for line in said(f"gpuwise show results/h200/{name}.json", tmp_path).splitlines()
    ]
    for workload, mode, *figures in rows:
        (line,) = [x for x in shown if x.startswith(f"{workload} {mode} bf16") and "/s ±" in x]
        assert all(f" {figure} " in line for figure in figures)
    wider = re.findall(r"^\| (\S+) \| (\d+) \| (.+?) \| (.+?) \| (.+?) \|$", page, re.MULTILINE)
    cells = [
        (workload, precision, cell)
        for workload, _, *found in wider
        for precision, cell in zip(("fp16", "tf32", "fp32"), found, strict=True)
        if "/s" in cell
    ]
    assert len(cells) == 5
    for workload, precision, cell in cells:
        assert any(x.startswith(f"{workload} train {precision}") and f" {cell} " in x for x in shown)
