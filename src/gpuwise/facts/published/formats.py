r"""The shapes of other people's result files: how each is recognised, and how its figures are read.

timm, CSV, a line a model. Device, precision, layout and versions stand in the name of the file,
`benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv`, with `-dynamo` for a compiled run.

    model,train_samples_per_sec,train_step_time,train_batch_size,train_img_size,param_count
    resnet50,1210.5,423.0,512,224,25.56

Lambda (lambdal/deeplearning-benchmark), CSV, a line a machine. The precision stands in the name of the file;
"fp32" ran with TF32 on GPUs that have it. The same repository keeps batch sizes in the same form (`-bs-`).

    ,ssd,bert_large_squad,resnet50
    2xA100_PCIe_v2,600.0,210.0,2400.0

SuperBench, JSON lines, a line a node; both ways of naming a metric; `:3` behind one is the rank of an
independent copy. It casts the whole model for float16, its float32 is TF32 unless --force_fp32, and it
reports one process: a figure without ranks is the speed of one GPU, also where several trained together.

    {"node": "n1", "resnet_models/pytorch-resnet50/throughput_train_float16": 1830.2, ...}

milabench, JSON. With n > 1 it ran n independent copies, one a GPU, and `perf` is the mean of one; the file
does not name the GPU. The precision stands in the benchmark's name, or nowhere.

    {"resnet50": {"n": 1, "train_rate": {"mean": 212.2, ...}, "per_gpu": {"0": {"mean": 212.2}}}, ...}

MLPerf Training, logs: `:::MLLOG {json}` lines, other output between them. The best evidence first: the median
of the `throughput` that the run itself tracked; samples / (run_stop - run_start), evaluation included; else
1 / (run_stop - run_start), item "run". A run that was aborted gives the first only. MLCommons verifies none.

AIME (aime-team/pytorch-benchmarks), logs: the setting of a run, then its steps. Without the final mean, the
mean of the steps after its ten warm-up steps counts. Its "fp32" is IEEE arithmetic for BERT in eager mode
only: `--compile` sets TF32, and cuDNN's convolutions use it anyway.

    2 GPU(s) used for benchmark:
    0: NVIDIA A100 80GB PCIe
    Model: resnet50
    Epoch [1 / 1], Step [20 / 60], Loss: 7.01,  Images per second: 2450.1
    Total mean images per second in training: 2447

Articles, Markdown: a row a network and precision, a column for each number of GPUs; an empty network repeats
the one above. GPU, batch sizes and date come from the text around it.

    | Neural Network | Precision | 1 GPU | 2 GPUs | 4 GPUs |
    | --- | --- | --- | --- | --- |
    | ResNet50 | FP16 | 812.5 | 1601 | 3150 |

NVIDIA's Deep Learning Examples, READMEs: a column with "throughput" in its name is a speed, unless it is a
speedup or a scaling. GPU, system and purpose stand in the headings above, the container in the text above.

    ##### Training performance: NVIDIA DGX A100 (8x A100 80GB)
    | **GPUs** | **Throughput - TF32** | **Throughput - mixed precision** | ... speedup ... |
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from statistics import fmean, median
from typing import Any, NamedTuple

from gpuwise.errors import InputError
from gpuwise.facts.published import names
from gpuwise.facts.published.names import WORDS, number, whole
from gpuwise.model.gpu import Source
from gpuwise.model.question import Mode
from gpuwise.model.result import Issue, grouped

Skipped = tuple[int, Issue]
"""(line, why) of a line that gave no figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The origin of a file, besides its text."""

    name: str  # File name without its folders; some formats say half of it there
    source: Source
    gpu: str = ""  # Where the user says it and the file does not
    n_gpus: int | None = None  # Likewise


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure as read: numbers still as the file wrote them."""

    line: int
    throughput: object
    workload: str
    mode: Mode = "train"
    item: str = "image"
    stated: str = ""  # The precision as the publisher calls it
    gpu: str = ""
    gpu_id: str | None = None
    n_gpus: object = None
    batch_per_gpu: object = None
    precision: str | None = None  # As it ran; None derives it from `stated` and the GPU
    compiled: bool | None = None
    framework: str = ""
    versions: str = ""
    date: str = ""
    note: str = ""


Read = Iterator[Figure | Skipped]


def skipped(line: int, reason: str) -> Skipped:
    """A line that gives no figure."""
    return line, Issue.invalid("skipped", reason)


def uneven(line: int, cells: Sequence[str], columns: Sequence[str]) -> Skipped:
    """A row that has not as many cells as the header."""
    return skipped(line, f"has {len(cells)} cells, the header {len(columns)}")


# --- timm ---

_TIMM_HEADER = re.compile(r"\ufeff?model,(?:[^\n]*,)?(?:infer_|train_)?samples_per_sec\b")
_TIMM_NAME = re.compile(
    r"benchmark-(?:infer|train)-(?P<stated>[a-z0-9_]+)-(?P<layout>nchw|nhwc)-pt(?P<torch>\d+)-(?P<cuda>cu\d+)"
    r"-(?P<gpu>[a-z0-9_]+?)(?P<dynamo>-dynamo)?\.csv",
    re.IGNORECASE,
)
_SIZE = 224


def timm(text: str, origin: Origin) -> Read:
    stated = gpu = versions = ""
    compiled = None
    if (said := _TIMM_NAME.search(origin.name)) is not None:
        label = re.sub(r"(?<=[a-z])(?=\d)|(?<=\d)(?=maxq)", " ", said["gpu"].casefold())
        candidates = (label, f"rtx {label}", f"rtx {label} blackwell max q")
        gpu = next((candidate for candidate in candidates if names.gpu_id_of(candidate)), label)
        # pt112 is 1.12, pt240 is 2.4.0: version 1 had no patch number in these names.
        digits = said["torch"]
        torch = f"1.{digits[1:]}" if digits[0] == "1" else ".".join(digits)
        versions = f"torch {torch} {said['cuda']} {said['layout'].lower()}"
        stated, compiled = said["stated"].lower(), said["dynamo"] is not None
    lines = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    columns = lines.fieldnames or []
    modes = [prefix for prefix in ("train_", "infer_", "") if f"{prefix}samples_per_sec" in columns]
    if "model" not in columns or not modes:
        problem = f"{origin.name} lacks the columns model and samples_per_sec"
        raise InputError(problem, hint="import timm's benchmark-*.csv")
    for row in lines:
        if None in row or None in row.values():
            yield skipped(lines.line_num, "has not as many cells as the header")
            continue
        network = row["model"].split(".")[0]
        usual = WORDS["sizes"].get(names.workload_id(network), _SIZE)
        for prefix in modes:
            size = whole(row.get(f"{prefix}img_size"))
            yield Figure(
                line=lines.line_num,
                throughput=row[f"{prefix}samples_per_sec"],
                # Another image size is other work: it must not stand in one table with the usual one.
                workload=network if size in (None, usual) else f"{network} {size} px",
                mode="train" if prefix == "train_" else "infer",
                stated=stated,
                gpu=gpu,
                n_gpus=1,
                batch_per_gpu=row.get(f"{prefix}batch_size"),
                compiled=compiled,
                versions=versions,
                note=f"{size} px" if size is not None else "",
            )


# --- Lambda ---

_COUNTED_WRONG = "from 8 fast GPUs on, the script counted more BERT samples than it processed"


def _is_lambda(text: str) -> bool:
    """True if the header has an empty first cell and at least two of Lambda's networks."""
    head = text[:4096].splitlines()
    cells = head[0].strip().split(",") if head else []
    return len(cells) > 2 and not cells[0].strip() and len(WORDS["lambda"].keys() & set(cells)) >= 2


def lambda_(text: str, origin: Origin) -> Read:
    """Every cell that holds a speed; a zero means that the run failed."""
    if re.search(r"(^|[-_])bs([-_.]|$)", origin.name):
        problem = f"{origin.name} holds batch sizes, not speeds"
        raise InputError(problem, hint="import the train-throughput file")
    lines = csv.reader(io.StringIO(text))
    columns = [column.strip() for column in next(lines, [])]
    precision = re.search(r"(fp16|fp32|amp|bf16)", origin.name.casefold())
    for row in filter(any, lines):
        at = lines.line_num
        if len(row) != len(columns):
            yield uneven(at, row, columns)
            continue
        gpu, gpu_id, count = names.gpu_in(row[0])
        for column, cell in zip(columns[1:], row[1:], strict=True):
            if number(cell) == 0:
                yield skipped(at, f"{column}: no figure (0)")
                continue
            yield Figure(
                line=at,
                throughput=cell,
                workload=column,
                item=WORDS["lambda"].get(column, "item"),
                gpu=gpu,
                stated=precision[1] if precision else "",
                gpu_id=gpu_id,
                n_gpus=count or 1,
                compiled=False,
                note=_COUNTED_WRONG if column.startswith("bert") and (count or 1) >= 8 else "",
            )


# --- SuperBench ---

_METRIC = re.compile(
    r"(?:.*/)?(?:pytorch|tensorflow|onnxruntime|tensorrt)-(?P<model>[^/]{1,60})/"
    r"(?:throughput_(?P<mode>train|inference)_(?P<stated>[a-z0-9]+)"
    r"|(?P<stated2>[a-z0-9]+)_(?P<mode2>train|inference)_throughput)(?::(?P<rank>\d{1,4}))?"
)
_SUPERBENCH = re.compile(r"throughput_train_|_train_throughput")
# Networks that SuperBench takes from torchvision at 224 px; its BERT and GPT-2 are other work than ours
# (another head, another sequence length).
_TORCHVISION = re.compile(r"(resnet|vgg|densenet)\d+")


def _is_json(text: str) -> bool:
    return text.lstrip("\ufeff \r\n\t").startswith("{")


def superbench(text: str, origin: Origin) -> Read:
    for at, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        if not isinstance(node := _object(line), dict):
            yield skipped(at, "is not a JSON object")
            continue
        metrics = ((metric, value) for key, value in node.items() if (metric := _METRIC.fullmatch(key)))
        groups = grouped(
            ((m["model"], m["mode"] or m["mode2"], m["stated"] or m["stated2"]), value)
            for m, value in metrics
        )
        for (model, mode, stated), values in groups.items():
            speeds = [speed for value in values if (speed := number(value)) is not None]
            if len(speeds) < len(values):
                yield skipped(at, f"{model} {mode} {stated}: a rank without a number")
                continue
            ours, copies = _TORCHVISION.fullmatch(model) is not None, len(speeds)
            yield Figure(
                line=at,
                throughput=sum(speeds),
                workload=model if ours else f"superbench-{model}",
                mode="train" if mode == "train" else "infer",
                item="image" if ours else "sample",
                stated=stated,
                n_gpus=copies,
                compiled=False,
                note=f"{copies} independent copies, one a GPU" if copies > 1 else "one process",
            )


def _object(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# --- milabench ---

_SUFFIX = re.compile(r"(.{1,200}?)-((?:tf32-)?(?:fp16|bf16|fp32|tf32))")
# Same work as ours: torchvision's networks at 224 px. `-noio` trains on images that are in memory.
_IMAGES = frozenset({"resnet50", "resnet50-noio", "resnet152"})


def milabench(text: str, origin: Origin) -> Read:
    try:
        summary = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not a whole JSON document: {error}", hint="milabench summary FOLDER") from error
    # Lines where the quoted names stand first; looking each name up anew would take quadratic time.
    lines: dict[str, int] = {}
    for at, line in enumerate(text.splitlines(), start=1):
        for name in line.split('"')[1::2]:
            lines.setdefault(name, at)
    for name, bench in summary.items():
        rate = bench.get("train_rate") if isinstance(bench, dict) else None
        if not isinstance(rate, dict):
            yield skipped(lines.get(name, 1), f"{name[:40]}: no train_rate")
            continue
        per_gpu = bench.get("per_gpu")
        copies = per_gpu.values() if isinstance(per_gpu, dict) else ()
        means = [number(copy.get("mean")) for copy in copies if isinstance(copy, dict)]
        speeds = [mean for mean in means if mean is not None]
        speed, gpus = (sum(speeds), len(speeds)) if len(speeds) > 1 else (rate.get("mean"), 1)
        parts, ours = _SUFFIX.fullmatch(name), name in _IMAGES
        stated = parts[2] if parts else ""
        inputs = "images in memory" if name.endswith("-noio") else "with its input pipeline"
        yield Figure(
            line=lines.get(name, 1),
            throughput=speed,
            workload=name.removesuffix("-noio") if ours else f"milabench-{parts[1] if parts else name}",
            item="image" if ours else "item",
            stated=stated,
            n_gpus=gpus,
            # A name like bert-fp32 means IEEE arithmetic: milabench has a tf32 one beside it.
            precision=names.precision_of(stated) if parts else "?",
            note=f"{gpus} independent copies, one a GPU; {inputs}" if gpus > 1 else inputs,
        )


# --- MLPerf ---

MARK = ":::MLLOG"
_GPUS_OF_LOG = re.compile(r"\bn_gpu: (\d{1,4})\b|\bgpus (\d{1,4}) mparams|--nproc_per_node[= ](\d{1,4})\b")
_NODES = re.compile(r"\s*(\d{1,4})\s?x")
# More "epochs" than this are a count of samples: BERT's logs put it into epoch_num.
_EPOCHS = 1000
UNVERIFIED = "result not verified by MLCommons Association"


@dataclass(slots=True, kw_only=True)
class _MlperfRun:
    line: int = 1
    first: dict[str, Any] = field(default_factory=dict)  # First value of every key
    tracked: list[float] = field(default_factory=list)
    samples: float = 0.0
    epochs: float = 0.0
    started_ms: float | None = None
    stopped_ms: float | None = None
    status: str = ""
    gpus_per_node: int | None = None
    half: bool = False

    def note(self, event: dict[str, Any], at: int) -> None:
        key, value, more = event["key"], event.get("value"), event.get("metadata")
        time_ms, more = number(event.get("time_ms")), more if isinstance(more, dict) else {}
        self.first.setdefault(key, value)
        if key == "run_start" and self.started_ms is None:
            self.started_ms, self.line = time_ms, at
        elif key == "run_stop":
            self.stopped_ms, self.status = time_ms, str(more.get("status") or value or "")
        elif key == "tracked_stats" and isinstance(value, dict):
            self.tracked += [speed for speed in [number(value.get("throughput"))] if speed]
        if self.started_ms is not None and key != "run_start":
            self.samples = max(self.samples, number(more.get("samples_count")) or 0)
            self.epochs = max(self.epochs, number(more.get("epoch_num")) or 0)

    def speed(self) -> tuple[float, str] | None:
        """(items per second, how it was found)"""
        if self.tracked:
            return median(self.tracked), f"median of {len(self.tracked)} tracked speeds"
        if self.started_ms is None or self.stopped_ms is None or self.status not in ("success", ""):
            return None
        elapsed = (self.stopped_ms - self.started_ms) / 1e3
        if elapsed <= 0:
            return None
        # `train_samples` is the size of the data set, so it counts once an epoch.
        size = number(self.first.get("train_samples"))
        samples = self.samples or (self.epochs if self.epochs > _EPOCHS else 0.0)
        if not samples and size is not None and self.epochs >= 1:
            samples = size * self.epochs
        if samples > 0:
            return samples / elapsed, f"{samples:,.0f} samples in {elapsed / 60:.2f} min, evaluation included"
        return 1 / elapsed, f"time to train {elapsed / 60:.2f} min"

    def figure(self, origin: Origin) -> Figure | Skipped:
        """Its speed, or that it has none."""
        if (speed := self.speed()) is None:
            return skipped(self.line, "a run without a speed and without a successful end")
        said = {
            name: str(self.first.get(f"submission_{name}") or "") for name in ("benchmark", "platform", "org")
        }
        benchmark, nodes = said["benchmark"], _NODES.match(said["platform"])
        workload, item = WORDS["mlperf"].get(benchmark, (benchmark and f"mlperf-{benchmark}", "sample"))
        # All GPUs of the run: of one node, times the nodes; what the user says comes first.
        gpus = origin.n_gpus
        if gpus is None and self.gpus_per_node is not None:
            gpus = self.gpus_per_node * (int(nodes[1]) if nodes else 1)
        total = whole(self.first.get("global_batch_size"))
        try:
            began = datetime.fromtimestamp((self.started_ms or 0) / 1e3, UTC).date().isoformat()
        except (ValueError, OverflowError, OSError):
            began = ""
        return Figure(
            line=self.line,
            throughput=speed[0],
            workload=workload,
            stated="fp16" if self.half else "",
            item="run" if speed[1].startswith("time") else item,
            n_gpus=gpus,
            batch_per_gpu=total // gpus if total is not None and gpus and total % gpus == 0 else None,
            versions=said["platform"][:80],
            date=began if self.started_ms else "",
            note=f"{said['org'][:60]}; {speed[1]}; {UNVERIFIED}".lstrip("; "),
        )


def mlperf(text: str, origin: Origin) -> Read:
    """One figure a run; a new run begins where the log starts anew."""
    run = _MlperfRun()
    for at, line in enumerate(text.splitlines(), start=1):
        where = line.find(MARK)
        if where < 0:
            # Ordinary output may say how many GPUs a node uses, and the format.
            match = _GPUS_OF_LOG.search(line[:2000]) if run.gpus_per_node is None else None
            if match is not None:
                run.gpus_per_node = int(match[1] or match[2] or match[3])
            run.half = run.half or "16-bits training: True" in line
            continue
        event = _object(line[where + len(MARK) :])
        if not isinstance(event, dict) or not isinstance(event.get("key"), str):
            yield skipped(at, "is not a whole MLLOG event")
            continue
        if event["key"] == "run_start" and run.stopped_ms is not None:
            yield run.figure(origin)
            run = _MlperfRun(line=at, first=run.first, gpus_per_node=run.gpus_per_node, half=run.half)
        run.note(event, at)
    yield run.figure(origin)


# --- AIME ---

_START = re.compile(r"(\d{1,4}) GPU\(s\) used for benchmark:")
_FIELD = re.compile(r"([A-Za-z][\w -]{2,40}?)\s?: (.{0,200})")
_DEVICE = re.compile(r"\d{1,3}: (.{2,100})")
_STEP = re.compile(r"Epoch \[\d+ / \d+\], Step \[(\d+) / \d+\].*?(Images|Sequences) per second: ([\d.]+)")
_MEAN = re.compile(r"Total mean (images|sequences) per second in (training|evaluation): (\S+)")
WARM_UP_STEPS = 10


def aime(text: str, origin: Origin) -> Read:
    lines = list(enumerate(map(str.strip, text.splitlines()), start=1))
    starts = [(at, int(start[1])) for at, line in lines if (start := _START.match(line))]
    for (began, count), (end, _) in pairwise([*starts, (len(lines) + 1, 0)]):
        gpus: list[str] = []
        fields: dict[str, str] = {}
        steps: list[tuple[int, str, str]] = []  # (line, item, speed) after the warm-up
        means: list[tuple[int, str, Mode, str]] = []  # (line, item, mode, speed)
        for at, line in lines[began : end - 1]:
            if len(gpus) < count and (device := _DEVICE.match(line)):
                gpus.append(device[1])
            elif mean := _MEAN.search(line):
                # A mean of 0 is what the script prints for "not run".
                if number(mean[3]) != 0:
                    means.append((at, mean[1], "train" if mean[2] == "training" else "infer", mean[3]))
            elif step := _STEP.match(line):
                if (whole(step[1]) or 0) > WARM_UP_STEPS:
                    steps.append((at, step[2].casefold(), step[3]))
            elif said := _FIELD.fullmatch(line):
                fields.setdefault(said[1].strip(), said[2].strip())
        if len(set(gpus)) > 1:
            yield skipped(began, "different GPUs ran together: " + ", ".join(sorted(set(gpus))))
            continue
        speeds = [rate for _, _, rate_text in steps if (rate := number(rate_text)) is not None]
        if not means and speeds:
            means = [(steps[0][0], steps[0][1], "train", str(fmean(speeds)))]
        if not means:
            yield skipped(began, "the run has no speed after its warm-up")
        stated = fields.get("Precision", "")
        compiled = {"True": True, "False": False}.get(fields.get("Compile-Mode", ""))
        versions = (f"torch {fields.get('PyTorch-version', '')}", f"CUDA {fields.get('Cuda-version', '')}")
        for at, items, mode, speed in means:
            own_fp32 = items == "sequences" and names.precision_of(stated) == "fp32" and compiled is False
            yield Figure(
                line=at,
                throughput=speed,
                workload=fields.get("Model", ""),
                mode=mode,
                item=items.removesuffix("s"),
                stated=stated,
                precision="fp32" if own_fp32 else None,
                gpu=gpus[0] if gpus else "",
                n_gpus=count,
                compiled=compiled,
                batch_per_gpu=fields.get("Local train batch size") or fields.get("Local batch size"),
                versions=" ".join(part for part in versions if not part.endswith(" ")),
                date=fields.get("Benchmark start", "")[:10].replace("/", "-"),
            )


# --- Markdown ---

_RULE = re.compile(r"\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
_MARKS = re.compile(r"[*`]+|<[^>]{0,80}>")
_GPUS = re.compile(r"(\d{1,4})\s*x?\s*gpus?", re.IGNORECASE)
_PUBLISHED = re.compile(r"^datePublished:\s*\w{3} (\w{3} \d{1,2} \d{4})", re.MULTILINE)
_BATCH = re.compile(r"\b(FP16|FP32|TF32|BF16)\b[^.|\n]{0,80}?batch size of (\d{1,6})", re.IGNORECASE)


class PipeTable(NamedTuple):
    """One table: plain cells, rows as long as the file has them."""

    line: int  # Of the header, counted from 1
    headings: tuple[str, ...]  # Above it, the outermost first
    columns: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]  # (line, cells)


def pipe_tables(text: str) -> Iterator[PipeTable]:
    """Every pipe table of `text`, in its order. A Markdown library would cut rows with too many cells, which
    are reported here."""
    lines = text.splitlines()
    headings: dict[int, str] = {}
    at = 0
    while at < len(lines):
        level = len(lines[at]) - len(lines[at].lstrip("#"))
        below = lines[at + 1].strip() if at + 1 < len(lines) and "|" in lines[at] else ""
        if 1 <= level <= 6 and lines[at][level : level + 1].isspace():
            said = _plain(lines[at][level:].strip().rstrip("#"))
            headings = {k: v for k, v in headings.items() if k < level} | {level: said}
        # The length is bounded, so that no input is slow.
        elif "|" in below and len(below) < 2_000 and _RULE.fullmatch(below):
            columns, rows = _cells(lines[at]), []
            for index in range(at + 2, len(lines)):
                if "|" not in lines[index]:
                    break
                rows.append((index + 1, _cells(lines[index])))
            yield PipeTable(
                at + 1, tuple(headings[level] for level in sorted(headings)), columns, tuple(rows)
            )
            at += 1 + len(rows)
        at += 1


def _plain(text: str) -> str:
    """A cell or heading without bold, code and HTML marks."""
    return " ".join(_MARKS.sub("", text).replace("\\|", "|").split())


def _cells(line: str) -> tuple[str, ...]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return tuple(_plain(cell) for cell in re.split(r"(?<!\\)\|", inner))


def article(text: str, origin: Origin) -> Read:
    # The first title that names one GPU says whose figures these are.
    starts = ("title:", "# ")
    titles = (line.split(" ", 1)[-1].strip(' "') for line in text.splitlines() if line.startswith(starts))
    named = (names.gpu_in(re.split(r"[:?!]| - ", title[:200])[0])[:2] for title in titles)
    gpu, gpu_id = next((pair for pair in named if pair[1] is not None), ("", None))
    batches = {match[1].casefold(): match[2] for match in _BATCH.finditer(text)}
    script = "tf_cnn_benchmarks" if "tf_cnn_benchmarks" in text else ""
    published = _PUBLISHED.search(text)
    try:
        date = datetime.strptime(published[1], "%b %d %Y").date().isoformat() if published else ""
    except ValueError:
        date = ""
    for table in pipe_tables(text):
        counts, network = _gpu_columns(table), ""
        for line, cells in table.rows if counts else ():
            network = cells[0] or network
            if len(cells) != len(table.columns):
                yield uneven(line, cells, table.columns)
                continue
            for column, count in counts.items():
                yield Figure(
                    line=line,
                    throughput=cells[column],
                    workload=network,
                    stated=cells[1],
                    gpu=gpu,
                    gpu_id=gpu_id,
                    n_gpus=count,
                    batch_per_gpu=batches.get(cells[1].casefold()),
                    framework="TensorFlow" if script else "",
                    versions=script,
                    date=date,
                )


def _gpu_columns(table: PipeTable) -> dict[int, int]:
    """Column -> number of GPUs; empty where the table has another form."""
    head = [column.casefold() for column in table.columns[:2]]
    if len(head) < 2 or not re.search("network|model", head[0]) or "precision" not in head[1]:
        return {}
    counts = {i: _GPUS.fullmatch(column) for i, column in enumerate(table.columns)}
    return {i: int(count[1]) for i, count in counts.items() if count is not None}


_NO_SPEED = re.compile(r"speed-?\s?up|scaling|ratio|x factor", re.IGNORECASE)
_PRECISION = re.compile(r"tf32|fp32|fp16|bf16|int8|mixed precision|\bamp\b|\bmixed\b", re.IGNORECASE)
_CONTAINER = re.compile(r"(\d\d\.\d\d)(?:-[a-z0-9]{1,40})?-?(?:py3)?\s{1,9}NGC container", re.IGNORECASE)
_UNIT = re.compile(
    r"(im(?:a)?ge?s?|sequences?|sentences?|tokens?|samples?|items?|frames?)\s*/", re.IGNORECASE
)
_README_TITLE = re.compile(r"(.{1,200}?)\s{1,9}for\s{1,9}(\w[\w ]*)", re.IGNORECASE)


def nvidia(text: str, origin: Origin) -> Read:
    lines = text.splitlines()
    for table in pipe_tables(text):
        if not (columns := _speed_columns(table)):
            continue
        said = " / ".join(table.headings)
        title = _README_TITLE.match(table.headings[0])
        mode: Mode = "infer" if "inference" in said.casefold() else "train"
        workload = title[1] if title else table.headings[0]
        # BERT's README holds several tasks, distinguished by their headings.
        if workload.casefold().split()[:1] == ["bert"]:
            tuned = re.search("fine-?tuning|squad", said, re.IGNORECASE)
            workload = "bert-large" if tuned else "bert-large-pretrain"
        containers = list(_CONTAINER.finditer("\n".join(lines[max(0, table.line - 60) : table.line])))
        release = containers[-1][1] if containers else ""
        precision = _PRECISION.search(table.headings[-1])
        gpu, gpu_id, gpus = _gpu_of_headings(table.headings)
        for line, cells in table.rows:
            if len(cells) != len(table.columns):
                yield uneven(line, cells, table.columns)
                continue
            row = dict(zip(map(str.casefold, table.columns), cells, strict=True))
            batch = next((cell for column, cell in row.items() if "batch" in column), "")
            length = next((number(c) for column, c in row.items() if "sequence length" in column), None)
            # GPUs of one row: its own column, else one for inference, else what the heading says.
            own = next((c for col, c in row.items() if "gpus" in col.split() or col == "gpu"), None)
            count = number(own)
            # Another sequence length is other work; the checks know two of BERT's.
            another = length not in (None, 384) and workload.startswith("bert-large")
            for column in columns:
                cell = cells[column]
                if cell.strip().casefold() in ("", "-", "n/a", "na", "oom"):
                    yield skipped(line, f"no speed: {cell!r}")
                    continue
                unit = _UNIT.search(cell + "/") or _UNIT.search(table.columns[column])
                word = unit[1].casefold() if unit else "item"
                items = (i for start, i in WORDS["items"].items() if word.startswith(start))
                ran = _PRECISION.search(table.columns[column]) or precision
                yield Figure(
                    line=line,
                    throughput=cell,
                    mode=mode,
                    item=next(items, word.removesuffix("s")),
                    workload=f"bert-large-s{length:.0f}" if another else workload,
                    gpu=gpu,
                    gpu_id=gpu_id,
                    stated=ran[0].casefold() if ran else "",
                    n_gpus=count if count is not None else 1 if mode == "infer" else gpus,
                    batch_per_gpu=batch if re.fullmatch(r"\s*\d+\s*", batch) else None,
                    framework=title[2].strip() if title else "",
                    versions=f"NGC {release}" if release else "",
                    date=f"20{release.replace('.', '-')}" if release else "",
                )


def _speed_columns(table: PipeTable) -> list[int]:
    """Columns of speeds; none where no heading speaks of performance."""
    if not any(re.search("performance|throughput|latency", h, re.IGNORECASE) for h in table.headings):
        return []
    named = enumerate(table.columns)
    return [i for i, name in named if "throughput" in name.casefold() and not _NO_SPEED.search(name)]


def _gpu_of_headings(headings: tuple[str, ...]) -> tuple[str, str | None, int | None]:
    """(name, id, count) from the innermost heading that names a GPU or a system."""
    for heading in reversed(headings):
        name, known_id, count = names.gpu_in(heading)
        for gpu_id, (system, memory) in WORDS["systems"].items():
            if re.search(system, heading) and re.search(memory, heading):
                return name if len(name) < 40 else heading, gpu_id, count
        # A name that is all of the heading is none: the heading speaks of no GPU.
        if known_id is not None or name != heading.strip():
            return name, known_id, count
    return "", None, None


class Format(NamedTuple):
    """How one shape is recognised and read."""

    title: str
    recognises: Callable[[str], bool]
    read: Callable[[str, Origin], Read]
    framework: str = ""  # Where a figure does not say its own


FORMATS: Mapping[str, Format] = {
    "mlperf": Format("MLPerf Training log", lambda text: MARK in text, mlperf, "MLPerf Training"),
    "aime": Format("log of AIME's PyTorch benchmarks", lambda text: "GPU(s) used for benchmark:" in text,
                   aime, "PyTorch (AIME)"),
    "superbench": Format("SuperBench results-summary.jsonl",
                         lambda text: _is_json(text) and _SUPERBENCH.search(text) is not None,
                         superbench, "PyTorch (SuperBench)"),
    "milabench": Format("milabench summary", lambda text: _is_json(text) and '"train_rate"' in text,
                        milabench, "PyTorch (milabench)"),
    "timm": Format("timm benchmark CSV", lambda text: _TIMM_HEADER.match(text[:4096]) is not None,
                   timm, "PyTorch (timm)"),
    "lambda": Format("Lambda throughput CSV", _is_lambda, lambda_, "PyTorch"),
    "article": Format("article with a table of networks and GPU counts",
                      lambda text: any(_gpu_columns(table) for table in pipe_tables(text)), article),
    "nvidia": Format("README of NVIDIA's Deep Learning Examples",
                     lambda text: any(_speed_columns(table) for table in pipe_tables(text)), nvidia),
}  # fmt: skip
"""By name, the surest to recognise first."""
