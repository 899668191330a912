"""`gpuwise accept`: pass or fail for every GPU of a host or a fleet; `gpuwise doctor`: is the host fit?"""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from gpuwise import store
from gpuwise.cli import print as printer
from gpuwise.cli.bench import Screen
from gpuwise.cli.options import DeviceChoice, options, output, output_options, typed
from gpuwise.errors import (
    INTERRUPTED,
    GateFailed,
    GpuwiseError,
    InputError,
    MachineError,
    NoDataError,
    RunError,
)
from gpuwise.facts import catalog
from gpuwise.jobs.accepting import AcceptRequest, accept, health
from gpuwise.jobs.measuring import Bench
from gpuwise.measure import cluster
from gpuwise.measure.request import suite_names
from gpuwise.model import units
from gpuwise.model.result import grouped
from gpuwise.show import acceptance as show
from gpuwise.show.table import markdown

BUNDLE, CERTIFICATES = ".zip", (".html", ".pdf")
# Longest wait for the verdict of one host of a rack, beside its soak; and for what all do together.
HOST_S, TOGETHER_S = 3600.0, 900.0
GUIDE = "gpuwise accept RESULT|FOLDER... takes --against FILE|GPU, --margin, -o and --json"
# Options that mean nothing where files are judged.
MEASURING = (
    "suites", "device", "input", "time_s", "with_serials", "hosts", "over", "soak_s", "resume",
)  # fmt: skip


@click.command()
@click.argument("results", nargs=-1, metavar="[RESULT|FOLDER]...", type=click.Path())
@options(
    "accept",
    SUITES=suite_names(),
    over=tuple(cluster.REACH),
    device=DeviceChoice(("cpu", "cuda"), several=True),
)
@output(
    "Write to FILE: a bundle for the vendor (.zip), a certificate (.html, .pdf), or the verdict "
    "(.json, .csv, .md).",
    (*printer.SUFFIXES, BUNDLE, *CERTIFICATES),
)
def command(results: tuple[str, ...], **options: Any) -> None:
    """Measure every GPU of this host and judge it: speed, heat, clocks, PCIe, power, ECC, MIG, other
    processes.

    With RESULT files, bundles or FOLDERs nothing is measured: they are judged as a fleet, and outliers
    are named. Exits with 1 where a card or host fails.
    """
    to: printer.Output = options["to"]
    output, quiet = to.file, options["quiet"]
    request = _request(results, options)
    if results or options["hosts"] is not None:
        printer.check_output(output, (*printer.SUFFIXES, *CERTIFICATES))
    if output is not None:
        store.check_writable(output)
        if output.suffix == ".pdf":
            from gpuwise.show.html import browser

            browser()  # before hours of measuring
    if options["hosts"] is not None:
        missing = _measured_rack(options)
        results = (str(options["folder"]),)
        request = replace(request, files=(options["folder"],), missing=missing)
    answer = accept(request, _Cards(quiet=quiet or to.as_json).listen)
    if answer.exit_status == INTERRUPTED:  # a verdict on half of the cards would be read as one on all
        sys.exit(INTERRUPTED)
    verdict = answer.value
    if output is not None and output.suffix == BUNDLE:
        from gpuwise.judge.accept import bundle

        cards, table = [judged.card for judged in verdict.cards], markdown(answer.table)
        made = bundle.pack(
            cards, health(), table, answer.document, serials=options["with_serials"], links=verdict.links,
            fabric=verdict.fabric, common=verdict.common,
        )  # fmt: skip
        store.write(made, output)
        printer.talk(f"bundle written to {output}")
        to = replace(to, file=None)  # the verdict goes to the screen beside it
    if output is not None and output.suffix in CERTIFICATES:
        from gpuwise.show.html import html, pdf

        page = show.certificate(verdict)
        printer.save(output, pdf(page) if output.suffix == ".pdf" else html(page), "certificate written to")
        to = replace(to, file=None)
    to.answer(answer)
    if results and to.on_screen and not quiet:
        for beside in (show.models(verdict), show.hosts(verdict)):
            if beside.rows:
                printer.table(beside)
    if answer.exit_status == NoDataError.exit_code:
        if request.missing:
            why, hint = f"no answer of {', '.join(request.missing)}", "the same command again"
            if absent := [host for host, why in request.missing.items() if "not found" in why]:
                hint = f"say in {options['hosts']} what runs gpuwise there: {absent[0]} /path/to/gpuwise"
        else:
            why = "nothing is known of what such a card reaches"
            hint = "gpuwise accept --against FILE, a result of a card that is known to be good"
        raise NoDataError(f"not judged: {why}", hint=hint)
    if answer.exit_status and results:
        refused = sum(not each.passed for _, acceptance in verdict.hosts for each in acceptance.cards)
        failed = [name or "loose files" for name, acceptance in verdict.hosts if not acceptance.passed]
        cards = sum(row.cards for row in verdict.host_rows)
        raise GateFailed(f"not accepted: {units.some(failed)} ({refused} of {cards} cards)")
    if answer.exit_status:
        raise GateFailed(f"not accepted: {show.blame(verdict)}")


def _measured_rack(options: dict[str, Any]) -> dict[str, str]:
    """Measure every host of --hosts, and what all of them do together; those that did not answer, and why.
    Raises where none did."""
    soak_s = units.parse_seconds(options["soak_s"]) if options["soak_s"] else 0.0
    hosts = cluster.read_hosts(options["hosts"])
    words = [*_how_long(options), "--quiet"]
    kind, indices = options["device"] or ("", ())
    device = ":".join(filter(None, (kind, ",".join(map(str, indices)))))
    words += ["--device", device] if device else []
    words += ["--input", "host"] if options["input"] == "host" else []
    words += [f"--{name}" for name in ("toy", "resume") if options[name]]
    folder: Path = options["folder"]
    folder.mkdir(parents=True, exist_ok=True)
    # All of the folder is judged, so it holds the hosts of one list.
    if others := sorted({each.stem for each in folder.glob("*.zip")} - {host.name for host in hosts}):
        problem = (
            f"{folder} holds bundles of hosts that {options['hosts']} does not list: {', '.join(others)}"
        )
        raise InputError(problem, hint="--folder FOLDER, one for each list")
    say = printer.talk if not options["quiet"] else lambda text: None
    rack = cluster.Rack(hosts=hosts, folder=folder, over=options["over"], show=say)
    # The certificate names each card, and a card is counted by its own id.
    missing = rack.accept([*words, "--with-serials"], HOST_S + 2 * soak_s)
    options["with_serials"] = False  # the hosts put them into their bundles
    if len(missing) == len(hosts):
        name, why = next(iter(missing.items()))
        raise RunError(f"no host answered; {name}: {why}", hint=f"gpuwise doctor on {name}")
    answered = tuple(host for host in hosts if host.name not in missing)
    if "limits" not in options["suites"] or len(answered) < 2:
        return missing
    # What all GPUs of these hosts do together is measured again when a host has answered since.
    bundles = [folder / f"{host.name}.zip" for host in answered]
    common = folder / "all-hosts.json"
    if not common.exists() or common.stat().st_mtime < max(each.stat().st_mtime for each in bundles):
        from gpuwise.judge.accept import bundle

        words = ["--device", "cpu"] if kind == "cpu" else []
        words += ["--toy"] if options["toy"] else []
        words += ["--time", options["time_s"]] if options["time_s"] else []
        cards = min(len(bundle.unpack(each).cards) for each in bundles)
        silent = replace(rack, hosts=answered).exchange(cards, [*words, "--quiet"], TOGETHER_S)
        if silent:
            reasons = grouped((why, name) for name, why in silent.items())
            missing["all hosts"] = "; ".join(f"{units.some(names)}: {why}" for why, names in reasons.items())
    return missing


class _Cards(Screen):
    """One session after the other, each with the file that keeps it."""

    def end(self, done: Bench) -> None:
        if done.trouble is not None and not self.quiet:
            printer.talk(f"{done.trouble}; kept in {done.kept or 'memory alone'}")
        elif done.kept is not None and not self.quiet:
            printer.talk(f"kept in {done.kept}")


def _request(results: tuple[str, ...], options: dict[str, Any]) -> AcceptRequest:
    """The options as a request. Raises InputError for an option that would do nothing."""
    given = [flag for flag, name in typed(click.get_current_context()).items() if name in MEASURING]
    if results and given:
        raise InputError(f"files are judged, not measured: leave out {', '.join(given)}", hint=GUIDE)
    # The empty text is an unset shell variable, and as a path it would mean the current folder.
    if "" in results:
        raise InputError("an empty path names no file", hint="gpuwise accept FOLDER")
    for word in results:
        try:
            if Path(word).exists():
                continue
            spec = catalog.find(word)
        except (GpuwiseError, OSError):  # no GPU either, or too long for a path: reading it says so
            continue
        raise InputError(f"there is no file {word}", hint=f"gpuwise accept --against {spec.id}")
    output: Path | None = options["to"].file
    if options["with_serials"] and (output is None or output.suffix != BUNDLE):
        problem = "serial numbers go into a bundle"
        raise InputError(problem, hint="gpuwise accept --with-serials -o bundle.zip")
    kind, indices = options["device"] or (None, ())
    against = options["against"]
    if against and catalog.is_name(against) and not Path(against).exists():
        options["against"] = printer.gpu(against).id  # of several variants the usual one, with a note
    asked = _how_long(options)
    return AcceptRequest(
        files=tuple(map(Path, results)),
        suites=units.parse_list(options["suites"]),
        device=kind or "cuda",
        indices=indices,
        time_s=units.parse_seconds(options["time_s"]) if options["time_s"] is not None else None,
        soak_s=units.parse_seconds(options["soak_s"]) if options["soak_s"] else 0.0,
        # One for each card, since each has its own result.
        command=lambda cards: shlex.join(["gpuwise", "accept", *asked, "--device", cards or "cpu"]),
        **{name: options[name] for name in ("against", "margin", "input", "resume", "toy")},
    )


def _how_long(options: dict[str, Any]) -> list[str]:
    """What is measured, and for how long, as words of a command line."""
    flags = (("--suite", "suites"), ("--time", "time_s"), ("--soak", "soak_s"))
    return [word for flag, name in flags if options[name] for word in (flag, options[name])]


@click.command()
@output_options
def doctor(to: printer.Output) -> None:
    """Check driver, torch, ECC, MIG, power, clocks, heat, PCIe, other processes and disk.

    Exits with 3 when something makes measuring a GPU impossible, also where there is none. Reads only,
    changes nothing.
    """
    from gpuwise.show.hello import checks as table

    checks = health()
    to.table(table(checks), lambda: {"checks": [asdict(check) for check in checks]})
    if failed := [check for check in checks if check.status == "fail"]:
        # What needs no driver first: torch is a minute's work.
        raise MachineError(f"{len(failed)} of {len(checks)} checks failed", hint=failed[-1].fix)
