"""A search for the fastest recipe as a table: every setting, its speed, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gpuwise.model.result import Trial, Tuned, Tuning
from gpuwise.model.run import RunConfig
from gpuwise.model.units import percent
from gpuwise.show.results import counted, speed
from gpuwise.show.table import Table

COLUMNS = ("batch", "switches", "speed", "against the first", "outcome")


def line(trial: Trial, number: int) -> str:
    """One setting in one line, as it ends."""
    speed = _speed(trial) or "-"
    setting = f"batch {trial.setting.batch:<6} {trial.setting.switches!s:<40}"
    return f"{number:>3}  {setting} {speed:<26} {outcome(trial)}"


def outcome(trial: Trial) -> str:
    """`fastest so far`, `no faster`, or why it does not count."""
    if trial.refusal is not None:
        return trial.refusal
    return "fastest so far" if trial.adopted else "no faster"


def trials(config: RunConfig, tuning: Tuning) -> Table:
    """Every setting in the order it was tried, and the gain below."""
    first = next((t.speed for t in tuning.trials if t.speed is not None), None)
    rows = tuple(
        (
            str(t.setting.batch),
            str(t.setting.switches),
            _speed(t),
            percent(t.speed.value / first.value) if t.speed and first else "",
            outcome(t),
        )
        for t in tuning.trials
    )
    return Table(
        title=f"{config.workload} {config.mode} {config.precision}: {len(rows)} settings",
        columns=COLUMNS,
        rows=rows,
        numeric=frozenset({"batch", "speed", "against the first"}),
        notes=notes(tuning),
    )


def notes(tuning: Tuning) -> tuple[str, ...]:
    """The best recipe, its gain, and what was not tried."""
    left = f"{counted(tuning.left, 'setting')} not tried: the time was up; --time gives it more"
    return (found(tuning), *((left,) if tuning.left else ()))


def found(tuning: Tuning) -> str:
    """The best recipe and its gain, or why there is none."""
    if tuning.tuned is not None:
        return verdict(tuning.tuned)
    best = next((trial.setting for trial in reversed(tuning.trials) if trial.adopted), None)
    if best is None:
        return "no setting ran to its end"
    if not tuning.compared:
        return "no recipe is kept: there was time for the default only"
    return (
        f"fastest so far: batch {best.batch}, {best.switches}; no recipe is kept, for default and best were "
        "not measured again at the end"
    )


def verdict(tuned: Tuned) -> str:
    """`best: batch 512, layout=channels-first: 1.08 (1.07 to 1.09) times the default recipe`."""
    gain = tuned.gain
    setting = f"best: batch {tuned.batch}, {tuned.switches}"
    return f"{setting}: {gain.value:.3f} ({gain.low:.3f} to {gain.high:.3f}) times the default recipe"


def used(config: RunConfig, known: Sequence[Tuned]) -> str:
    """What a measurement takes over from recipes that were found before."""
    first, last = known[0], known[-1]
    what = f"{config.workload} {config.mode} {config.precision}"
    several = f" x{config.gpus}" if config.gpus > 1 else ""
    batch = f"batch {config.batch}, " if config.batch else ""
    line = f"{what}{several} as tuned for {first.device}, torch {first.torch}: {batch}{config.switches}"
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


def _speed(trial: Trial) -> str:
    found = trial.measurement.throughput
    return "" if found is None else speed(found, trial.measurement.item)
