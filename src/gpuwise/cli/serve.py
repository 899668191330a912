"""`gpuwise serve`: the explorer, in a browser or as files; `push` and `token`: the results of a team."""

from __future__ import annotations

import ipaddress
import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from gpuwise import store
from gpuwise.cli import options as shared
from gpuwise.cli import print as printer
from gpuwise.errors import GateFailed, GpuwiseError, InputError, MachineError

if TYPE_CHECKING:
    from gpuwise.web.team import Role, Team

# Of hexadecimal digits: 64 bits, which nobody guesses over a network.
SHORTEST_TOKEN = 16


@click.command("serve", short_help="Everything as pages: in the browser, or as files.")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[RESULT]...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 takes a free one."
)
@click.option("--public", is_flag=True, help="Allow an address that other machines reach; needs --token.")
@click.option("--token", envvar="GPUWISE_TOKEN", metavar="TEXT",
              help="What a browser must know; also $GPUWISE_TOKEN. At least 16 characters.")  # fmt: skip
@click.option("--static", "folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Write the pages into the new folder DIR and end.")  # fmt: skip
@click.option("--db", "database", envvar="GPUWISE_DB", is_flag=False, flag_value="", metavar="[URL]",
              help="Keep what a team pushes; also $GPUWISE_DB. sqlite:///FILE or postgresql+psycopg://... "
              "[default: a file of SQLite among your results]")  # fmt: skip
@shared.json_option
def command(
    files: tuple[Path, ...], host: str, port: int, public: bool, token: str | None, folder: Path | None,
    database: str | None, as_json: bool,
) -> None:  # fmt: skip
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
    if database is not None:
        if token or folder:
            raise InputError("--db has tokens of its own and no static pages", hint="gpuwise token add NAME")
        team = _team(database)
        if not team.users():
            token = team.add_user("owner", "push")
            printer.talk(f"the first token, which is shown once: {token}")
    if folder is None:
        from gpuwise.web.server import run

        def ready(address: str) -> None:
            if as_json:
                printer.out(printer.json_text({"address": address}))
            else:
                printer.talk(f"gpuwise explorer: {address}\nCtrl-C ends it")

        # An empty variable is no token.
        run(files, host, port, token or None, public=public, ready=ready, team=team)
        return
    from gpuwise.jobs.facts import Facts
    from gpuwise.web.site import export

    written = []
    for name in export(Facts(files), folder):
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
        raise InputError(
            f"{host} can be reached from other machines: that needs --public and --token",
            hint=f"gpuwise serve --host {host} --public --token $(openssl rand -hex 16)",
        )
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise InputError(f"a token has at least {SHORTEST_TOKEN} characters", hint="openssl rand -hex 16")


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone; a name other than localhost is not known to."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _team(url: str | None) -> Team:
    """The database of a team: of the address that was given, else a file among the own results."""
    if find_spec("sqlalchemy") is None:
        raise MachineError("a team's results need SQLAlchemy", hint='pip install "gpuwise[server]"')
    from gpuwise.web.team import Team

    if not url:
        store.home().mkdir(parents=True, exist_ok=True)
    return Team(url or f"sqlite:///{store.home() / 'team.db'}")


database_option = click.option("--db", "database", envvar="GPUWISE_DB", metavar="URL",
                               help="As of gpuwise serve; also $GPUWISE_DB.")  # fmt: skip


@click.group("token", short_help="Who may read and push a team's results.")
def token() -> None:
    """Tokens of `gpuwise serve --db`: read opens every page, push may also send results.

    \b
      gpuwise token add ann --role push
      gpuwise token list
      gpuwise token revoke ann
    """


@token.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(["read", "push"]), default="read", show_default=True)
@database_option
def add(name: str, role: str, database: str | None) -> None:
    """Print a new token for NAME; it is kept nowhere, so it cannot be shown again."""
    printer.out(_team(database).add_user(name, cast("Role", role)))


@token.command("list")
@database_option
@shared.output_options
def listed(database: str | None, output: Path | None, as_json: bool) -> None:
    """List who has a token, with its role and day."""
    from gpuwise.show.table import Table

    rows = [{"name": user.name, "role": user.role, "since": user.made_at} for user in _team(database).users()]
    table = Table.of(rows, notes=() if rows else ("nobody has a token",))
    printer.deliver(table, lambda: rows, as_json=as_json, output=output)


@token.command("revoke")
@click.argument("name")
@database_option
def revoke(name: str, database: str | None) -> None:
    """Take the token of NAME back. A running server hears of it within seconds."""
    _team(database).revoke(name)
    printer.talk(f"the token of {name} opens nothing any more")


@click.command("push", short_help="Send results to a team's server.")
@click.argument("what", nargs=-1, metavar="[RESULT]...")
@click.option("--to", "address", required=True, envvar="GPUWISE_SERVER", metavar="URL",
              help="Of gpuwise serve --db; also $GPUWISE_SERVER.")  # fmt: skip
@click.option("--project", default="default", show_default=True, metavar="NAME", help="Where they belong.")
@click.option("--token", envvar="GPUWISE_TOKEN", metavar="TEXT", help="Also $GPUWISE_TOKEN, which no other "
              "user of this machine sees.")  # fmt: skip
@shared.json_option
def push(what: tuple[str, ...], address: str, project: str, token: str | None, as_json: bool) -> None:
    """Push RESULTs (by default the last): files, `last`, ids, or reports. Pushed twice they are kept once.

    Each speed is compared with the last one of the same question on the same kind of GPU in the project.
    Exits with 1 where one became slower, or where a result contradicts itself and is kept apart.
    """
    from gpuwise.show.table import Table

    if not token:
        raise InputError("a push needs a token", hint="export GPUWISE_TOKEN=..., of gpuwise token add")
    answers = [
        _send(address, project, token, store.compact(result))
        for name in what or ("last",)
        for result in store.load_all(store.find(name))
    ]
    rows = [
        {"result": answer["id"], "question": speed["label"], "device": speed["device"],
         "ratio": f"{speed['ratio']:.3f}" if speed["ratio"] else "", "verdict": speed["verdict"] or "first"}
        for answer in answers for speed in answer["speeds"]
    ]  # fmt: skip
    apart = [f"{answer['id']} is kept apart: {answer['problem']}" for answer in answers if answer["problem"]]
    old = [f"{answer['id']} was there already" for answer in answers if not answer["new"]]
    table = Table.of(rows, notes=(*apart, *old), numeric=frozenset({"ratio"}))
    printer.deliver(table, lambda: answers, as_json=as_json, output=None)
    slower = [label for answer in answers for label in answer["slower"]]
    if slower or apart:
        said = [f"slower than before: {', '.join(slower)}"] if slower else []
        raise GateFailed("; ".join([*said, *([f"{len(apart)} kept apart"] if apart else [])]))


def _send(address: str, project: str, token: str, data: bytes) -> dict[str, Any]:
    """The server's answer to one result. Raises the error that it names."""
    from urllib.error import HTTPError, URLError
    from urllib.parse import quote, urlsplit
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Stay(HTTPRedirectHandler):
        """Nowhere else: the token is for this server."""

        def redirect_request(self, *_: Any) -> None:
            return None

    if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname:
        raise InputError(f"{address!r} is not an address of a server", hint="--to http://lab:8080")
    request = Request(
        f"{address.partition('?')[0].rstrip('/')}/push?project={quote(project)}", data=data, method="POST",
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )  # fmt: skip
    try:
        with build_opener(Stay).open(request, timeout=60) as answer:
            found: dict[str, Any] = json.loads(answer.read())
            return found
    except HTTPError as error:
        said = error.read(10_000).decode("utf-8", "replace").strip()
        try:
            problem = json.loads(said)
            said, hint = problem["error"], problem["hint"] or None
        except (ValueError, KeyError, TypeError):
            hint = None
        kind: type[GpuwiseError] = MachineError if error.code >= 500 else InputError
        raise kind(f"the server refuses ({error.code}): {said}", hint=hint) from error
    except (URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise MachineError(
            f"{address} does not answer: {reason}", hint="see that gpuwise serve runs"
        ) from error
