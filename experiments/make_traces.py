"""Make the traces that gpuwise ships: `python experiments/make_traces.py [WORKLOAD ...]`.

Each built-in model, mode, precision and way to run (eager, compiled) is recorded at three batches: sizes
are taken from the first and last, and the middle one must agree. A step whose structure changes with the
batch is kept at some batches only. bf16 serves fp16 inference, fp32 serves tf32, except where a
recipe has a layout, which in IEEE fp32 is another one.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

from gpuwise.errors import InputError
from gpuwise.model.question import RunConfig
from gpuwise.predictor.graph import Tape
from gpuwise.predictor.kernels import Trace
from gpuwise.predictor.trace import about, record_workload, trace_of
from gpuwise.predictor.trace_store import dumps, encode, variant
from gpuwise.workloads import get, names

MORE = (
    "llm-8b-qlora", "llm-8b-qlora-checkpointed", "llm-1b-lora-checkpointed", "llm-8b-lora-checkpointed",
    "llm-8b-full-checkpointed",
)  # fmt: skip
"""What people fine-tune beside the built-in models, and how it fits smaller cards: without these `choose`
would need torch, and half a minute."""
FOLDER = Path(__file__).parent.parent / "src" / "gpuwise" / "predictor" / "data" / "traces"


def batches(default: int) -> list[tuple[int, int, int]]:
    """A quarter of the default, itself, twice it; at least 1, 2 and 4. A batch of one may be multiplied by
    other operators than all others: then without it."""
    return [(default // 4, default, 2 * default)] if default >= 4 else [(1, 2, 4), (2, 4, 8)]


def apart(default: int) -> list[int]:
    """The batches of a step whose structure changes with the batch."""
    return sorted({1, max(1, default // 2), default, 2 * default})


def configurations(name: str) -> list[RunConfig]:
    """What is recorded of a workload: not what another file serves."""
    spec = get(name).spec
    modes = [mode for mode in spec.modes if mode in ("train", "infer")]
    return [
        RunConfig(workload=name, mode=mode, precision=precision)
        for mode, precision in product(modes, spec.precisions)
        if (precision != "tf32" or "layout" in spec.switches)
        and not (precision == "fp16" and mode == "infer")
    ]


def variants(config: RunConfig) -> dict[str, list[Trace]]:
    """Variant -> its traces at several batches, eager and compiled."""
    spec = get(config.workload).spec
    tapes: dict[int, Tape] = {}

    def traced(batch: int, *, compiled: bool) -> Trace:
        if batch not in tapes:
            tapes[batch] = record_workload(config, batch)
        return trace_of(tapes[batch], about(config), batch=batch, compiled=compiled, group=False)

    made = {}
    for compiled in (False, True):
        how = replace(config, compile=compiled)
        for tried in batches(spec.default_batch):
            together = [traced(batch, compiled=compiled) for batch in tried]
            try:
                encode({"": together})
            except InputError as error:
                print(f"{config.key('batch')}, batches {tried}: {error}", file=sys.stderr)
            else:
                made[variant(how)] = together
                break
        else:
            for batch in apart(spec.default_batch):
                made[variant(how, batch)] = [traced(batch, compiled=compiled)]
    return made


def document(name: str) -> str:
    """The file of one workload."""
    made: dict[str, list[Trace]] = {}
    for config in configurations(name):
        made |= variants(config)
    return dumps(encode(made))


def main(wanted: list[str]) -> None:
    """Write the files of the workloads named, of all and of MORE where none is."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in wanted or (*names(), *MORE):
        if not configurations(name):
            continue
        began = time.monotonic()
        (FOLDER / f"{name}.json").write_text(document(name), encoding="utf-8")
        print(f"{name} {time.monotonic() - began:.1f} s", file=sys.stderr)
    print(sum(path.stat().st_size for path in FOLDER.glob("*.json")))


if __name__ == "__main__":
    main(sys.argv[1:])
