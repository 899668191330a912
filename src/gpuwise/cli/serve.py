"""`gpuwise serve`: the explorer, in a browser or as files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from gpuwise.cli import print as printer
from gpuwise.cli.options import json_option, options
from gpuwise.cli.team import database_of
from gpuwise.errors import InputError, MachineError
from gpuwise.measure.telemetry import is_loopback

# Of hexadecimal digits: 64 bits, which nobody guesses over a network.
SHORTEST_TOKEN = 16


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[RESULT]...")
@options("serve")
@json_option
def command(
    files: tuple[Path, ...],
    host: str,
    port: int,
    public: bool,
    token: str | None,
    folder: Path | None,
    database: str | None,
    webhook: str | None,
    as_json: bool,
) -> None:
    """Explore GPUs, compare, predict, choose, audit and look at results in a browser. RESULTs are shown
    beside those that are kept.

    Listens on this machine alone; Ctrl-C ends it. Uploads are read in memory, shown and forgotten. With --db
    results that are pushed are kept, and every page asks for a token (`gpuwise token`).

    \b
      gpuwise serve
      gpuwise serve --db --port 9000
      gpuwise serve results/h200/resnet50-tuned.json --port 9000
      gpuwise serve --static site
    """
    _check(files, host, public, token, database)
    team = None
    if webhook and database is None:
        raise InputError("--webhook needs --db: only a team's results raise alerts", hint="--db")
    if database is not None:
        if token or folder:
            raise InputError("--db has tokens of its own and no static pages", hint="gpuwise token add NAME")
        if webhook:
            from gpuwise.web.send import check_address

            check_address(webhook)
        team = database_of(database, webhook=bool(webhook))
        if not team.users():
            token = team.add_user("owner", "admin")
            printer.talk(f"the first token, which is shown once: {token}")
    if folder is None:
        from gpuwise.web.server import run

        def ready(address: str) -> None:
            if as_json:
                printer.out(printer.json_text({"address": address}))
            else:
                printer.talk(f"gpuwise explorer: {address}\nCtrl-C ends it")

        # An empty variable is not a token.
        run(files, host, port, token or None, public=public, ready=ready, team=team, webhook=webhook or "")
        return
    from gpuwise.jobs.facts import Facts
    from gpuwise.web.site import export

    written = list[str]()
    for name in export(Facts(files), folder):
        if not written:  # the folder will do
            printer.talk(f"writing pages to {folder}, which takes some 20 s")
        written.append(name)
        printer.status(f"{len(written)} files, {name}")
    printer.status("")
    pages = sum(name.endswith(".html") for name in written)
    if as_json:
        printer.out(printer.json_text({"folder": str(folder), "files": written}))
    else:
        printer.out(f"{pages} pages in {len(written)} files: {folder / 'index.html'}")


def _check(files: tuple[Path, ...], host: str, public: bool, token: str | None, database: str | None) -> None:
    """Raise before anything is opened: for what is missing, and for an address that is not for all."""
    # Before a port is opened; the extra holds all three.
    missing = [name for name in ("starlette", "uvicorn", "python_multipart") if find_spec(name) is None]
    if missing:
        raise MachineError(f"the explorer needs {', '.join(missing)}", hint='pip install "gpuwise[web]"')
    for path in files:
        if not path.is_file():
            raise InputError(f"{path} is not a file", hint="give result files, or none")
    if not is_loopback(host) and not (public and (token or database is not None)):
        problem = f"{host} can be reached from other machines: that needs --public and --token"
        hint = f"gpuwise serve --host {host} --public --token $(openssl rand -hex 16)"
        raise InputError(problem, hint=hint)
    if public and is_loopback(host):
        raise InputError(f"--public changes nothing: {host} is this machine alone", hint="--host 0.0.0.0")
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise InputError(f"a token has at least {SHORTEST_TOKEN} characters", hint="openssl rand -hex 16")
