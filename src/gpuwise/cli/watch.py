"""The GPUs of this machine while anything runs on them: `gpuwise watch`."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click

from gpuwise.cli import print as printer
from gpuwise.cli.options import DeviceChoice, Devices, options, output_options
from gpuwise.errors import InputError, MachineError
from gpuwise.measure import telemetry
from gpuwise.measure.telemetry.sensor import DeviceInfo, Process, Sample
from gpuwise.model.units import Amount, celsius, gibibytes, parse_seconds, percent, watts
from gpuwise.show.table import Table, picked

# A sensor answers in some milliseconds, and the power of recent cards is the mean of a second.
LEAST_S = 0.1


@click.command()
@options("watch", device=DeviceChoice(several=True))
@output_options
def command(device: Devices | None, every: str, length: float | None, to: printer.Output) -> None:
    """Show what each GPU does, whatever program runs on it: watts and their limit, clocks, temperature,
    memory, and what holds its clock down, with the share of looks at which it did.

    With --json or -o one look, or with --for what was seen at its end.
    """
    pause, rest = parse_seconds(every), length
    if pause < LEAST_S:
        raise InputError(f"--every {every} is shorter than {LEAST_S} s", hint="--every 500ms")
    every_one = telemetry.sensors()
    try:
        sensors, infos = list(every_one), [sensor.info() for sensor in every_one]
        wanted = here = {info.index for info in infos}
        if not here:
            raise MachineError("no GPU answers on this machine", hint="see why", code="doctor")
        if device is not None:
            wanted = set(device[1])
            if unknown := sorted(wanted - here):
                indices = ",".join(map(str, sorted(here)))
                raise InputError(f"there is no GPU {unknown[0]} here", hint=f"--device {indices}")
        sensors = [sensor for sensor, info in zip(sensors, infos, strict=True) if info.index in wanted]
        infos = [info for info in infos if info.index in wanted]
        held: list[Counter[str]] = [Counter() for _ in sensors]
        looks, began, drawn = 0, time.monotonic(), 0
        while True:
            seen = [(sensor.sample(), sensor.processes()) for sensor in sensors]
            looks += 1
            for counts, (sample, _) in zip(held, seen, strict=True):
                counts.update(sample.throttle)
            last = [(*one, counts, looks) for one, counts in zip(seen, held, strict=True)]
            rows = [look(info, *one) for info, one in zip(infos, last, strict=True)]
            table = Table.of(rows, every=True)  # a column stays where it is from look to look
            ended = rest is not None and time.monotonic() - began + pause > rest
            if to.on_screen:
                # Over the last one on a terminal, below it elsewhere.
                if drawn:
                    print(f"\x1b[{drawn}F\x1b[J", end="")
                lines = printer.table(replace(table, title=time.strftime("%H:%M:%S")), fold=False)
                drawn = lines if sys.stdout.isatty() else 0
            if ended or (rest is None and not to.on_screen):
                break
            time.sleep(pause)
    finally:
        for sensor in every_one:
            sensor.close()
    if not to.on_screen:
        to.table(table, lambda: [document(info, *one) for info, one in zip(infos, last, strict=True)])


def look(
    info: DeviceInfo, now: Sample, running: Sequence[Process], held: Counter[str], looks: int
) -> dict[str, str]:
    """One GPU at one moment, as a row; limits stand beside what they limit."""

    def of(value: float | None, most: float | None) -> str:
        return f" ({percent(value / most, 0)})" if value is not None and most else ""

    def megahertz(hertz: float) -> Amount:
        return Amount(f"{hertz / 1e6:,.0f} MHz", hertz, "Hz")

    def shown(value: float | None, most: float | None, form: Callable[[float], Amount]) -> str:
        return form(value).shown(f"{form(value)}{of(value, most)}") if value is not None else ""

    reasons = [f"{reason} {percent(count / looks, 0)}" for reason, count in held.most_common()]
    return {
        "GPU": f"{info.index} {info.name}",
        "busy": percent(now.utilisation, 0) if now.utilisation is not None else "",
        "power of limit": shown(now.power_w, info.power_limit_w, watts),
        "clock of highest": shown(now.sm_clock_hz, info.sm_clock_max_hz, megahertz),
        "heat": celsius(now.temperature_c),
        "memory used": shown(now.memory_used_bytes, info.memory_bytes, gibibytes),
        "held down by, share of looks": ", ".join(reasons) or "nothing",
        "processes": str(len(running)),
    }


def document(
    info: DeviceInfo, now: Sample, running: Sequence[Process], held: Counter[str], looks: int
) -> dict[str, Any]:
    return {
        **picked(info, "index name power_limit_w sm_clock_max_hz memory_bytes"),
        **picked(now, "utilisation power_w sm_clock_hz memory_clock_hz temperature_c memory_used_bytes"),
        "throttle": list(now.throttle),
        "throttle_shares": {reason: count / looks for reason, count in held.items()},
        "looks": looks,
        "processes": [{"pid": one.pid, "memory_bytes": one.memory_bytes} for one in running],
    }
