"""A search for the fastest recipe as a table: every setting, its speed, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gpuwise.model.question import RunConfig
from gpuwise.model.result import Trial, Tuned, Tuning
from gpuwise.model.units import percent, whole
from gpuwise.show.results import counted
from gpuwise.show.table import Table, speed


def line(trial: Trial, number: int) -> str:
    """One setting in one line, as it ends."""
    setting = f"batch {trial.setting.batch:<6} {trial.setting.switches!s:<40}"
    return f"{number:>3}  {setting} {_speed(trial) or '-':<26} {_outcome(trial)}"


def _speed(trial: Trial) -> str:
    found = trial.measurement.throughput
    return "" if found is None else speed(found, trial.measurement.item)


def _outcome(trial: Trial) -> str:
    return trial.refusal or ("fastest so far" if trial.adopted else "no faster")


def trials(config: RunConfig, tuning: Tuning) -> Table:
    """Every setting in the order it was tried; below it the best recipe, its gain, and what was not tried."""
    first = next((t.speed for t in tuning.trials if t.speed is not None), None)
    left = f"{counted(tuning.left, 'setting')} not tried: the time was up; --time gives it more"
    rows = (
        {
            "batch": whole(t.setting.batch),
            "switches": str(t.setting.switches),
            "speed": _speed(t),
            "against the first": percent(t.speed.value / first.value) if t.speed and first else "",
            "outcome": _outcome(t),
        }
        for t in tuning.trials
    )
    return Table.of(
        rows,
        title=f"{config.workload} {config.mode} {config.precision}: {counted(len(tuning.trials), 'setting')}",
        notes=(found(tuning), *((left,) if tuning.left else ())),
    )


def found(tuning: Tuning) -> str:
    """`best: batch 512, layout=channels-first: 1.080 (1.070 to 1.090) times the default`, or why none."""
    if tuning.tuned is not None:
        gain = tuning.tuned.gain
        setting = f"best: batch {tuning.tuned.batch}, {tuning.tuned.switches}"
        return f"{setting}: {gain.value:.3f} ({gain.low:.3f} to {gain.high:.3f}) times the default recipe"
    best = next((trial.setting for trial in reversed(tuning.trials) if trial.adopted), None)
    if best is None:
        return "no setting ran to its end"
    if not tuning.compared:
        return "no recipe is kept: there was time for the default only"
    return (
        f"fastest so far: batch {best.batch}, {best.switches}; no recipe is kept, for default and best were "
        "not measured again at the end"
    )


def used(config: RunConfig, known: Sequence[Tuned]) -> str:
    """What a measurement takes over from recipes that were found before."""
    first, last = known[0], known[-1]
    what = f"{config.workload} {config.mode} {config.precision}"
    several = f" x{config.gpus}" if config.gpus > 1 else ""
    batch = f"batch {config.batch}, " if config.batch else ""
    line = f"{what}{several} as tuned for {first.device}, torch {first.torch}: {batch}{config.switches}"
    # How gradients are exchanged may come from another network that was tuned on as many GPUs.
    return line if last.of_work(config) else f"{line}; exchange as of {last.workload} {last.precision}"


def document(tuning: Tuning) -> dict[str, Any]:
    """The search as plain data, without raw step times."""
    return {
        "trials": [
            {
                "batch": t.setting.batch,
                "switches": dict(t.setting.switches.changed),
                "items_per_s": None if t.speed is None else asdict(t.speed),
                "refusal": t.refusal,
                "adopted": t.adopted,
            }
            for t in tuning.trials
        ],
        "not_tried": tuning.left,
        "tuned": None if tuning.tuned is None else asdict(tuning.tuned),
    }
