"""`gpuwise push`, `token` and `team`: the results that a team keeps in a database."""

from __future__ import annotations

import base64
import getpass
import json
import platform
import re
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

import click

from gpuwise import store
from gpuwise.cli import print as printer
from gpuwise.cli.options import json_option, options, output_options
from gpuwise.errors import GateFailed, GpuwiseError, InputError, MachineError
from gpuwise.model.units import parse_list
from gpuwise.store import signing

if TYPE_CHECKING:
    from gpuwise.web.team import Role, Team

# Of a push, which waits for its turn.
PATIENCE_S = 60
NEEDS_TOKEN = "export GPUWISE_TOKEN=..., of gpuwise token add"


class _Speed(TypedDict):
    label: str
    device: str
    ratio: float | None
    verdict: str | None
    change: str


class _Answer(TypedDict):
    """What a server says of a result that it keeps, of which this needs no more."""

    id: str
    new: bool
    problem: str
    speeds: list[_Speed]
    slower: list[str]
    alerts: list[str]


def database_of(url: str | None, *, webhook: bool = False) -> Team:
    """The database of a team: of the address that was given, else a file among the own results."""
    missing = [name for name in ("sqlalchemy", "alembic") if find_spec(name) is None]
    if missing:
        raise MachineError(f"a team's results need {missing[0]}", hint='pip install "gpuwise[server]"')
    from gpuwise.web.team import Team

    if not url:
        store.home().mkdir(parents=True, exist_ok=True)
    return Team(url or f"sqlite:///{store.home() / 'team.db'}", webhook=webhook)


def _operator() -> str:
    """The account that runs the command, for the audit log."""
    try:
        return f"{getpass.getuser()} (shell)"
    except (KeyError, OSError):  # a user without a name
        return "(shell)"


@click.group("token")
def token() -> None:
    """Tokens of `gpuwise serve --db`: read opens every page, push may also send results, admin may also make
    tokens and see the log.

    \b
      gpuwise token add ann --role push --key ~/.ssh/id_ed25519.pub
      gpuwise token list
      gpuwise token revoke ann
    """


@token.command("add")
@click.argument("name")
@options("token-add database")
def add(name: str, role: str, key: Path | None, database: str | None) -> None:
    """Print a new token for NAME; it is kept nowhere, so it cannot be shown again."""
    public = store.read(key, largest=signing.LONGEST).decode("utf-8", "replace") if key is not None else ""
    team = database_of(database)
    printer.out(team.add_user(name, cast("Role", role), public_key=public, by=_operator()))
    where = team.engine.url.render_as_string(hide_password=True)
    printer.talk(f"{name} has the role {role} in {where}; it is used as: export GPUWISE_TOKEN=...")


@token.command("list")
@options("database")
@output_options
def listed(database: str | None, to: printer.Output) -> None:
    """List who has a token, with its role and day."""
    from gpuwise.show.table import Table

    rows = [
        {"name": user.name, "role": user.role, "since": user.made_at, "ssh key": user.public_key}
        for user in database_of(database).users()
    ]
    to.table(Table.of(rows, notes=() if rows else ("no token yet",)), lambda: rows)


@token.command("revoke")
@click.argument("name")
@options("database")
def revoke(name: str, database: str | None) -> None:
    """Take the token of NAME back. A running server hears of it within seconds."""
    database_of(database).revoke(name, by=_operator())
    printer.talk(f"the token of {name} opens nothing any more")


@click.group("team")
def team() -> None:
    """Back up, restore and export the database of `gpuwise serve --db`, read its log; sign results with an
    ssh key, and see whose key signed one.

    \b
      gpuwise team backup lab.backup
      gpuwise team restore lab.backup --db postgresql://user:password@host/new
      gpuwise team export lab-parquet
      gpuwise team sign result.json --key ~/.ssh/id_ed25519
    """


@team.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@options("database")
def backup(file: Path, database: str | None) -> None:
    """Copy the whole database, as it is now, into the new FILE; the server may run on."""
    from gpuwise.web import exchange

    opened = database_of(database)
    kept = exchange.backup(opened, file)
    opened.note(_operator(), "backup", f"{kept} results to {file.name}")
    printer.talk(f"{kept} results in {file}")


@team.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@options("database")
def restore(file: Path, database: str | None) -> None:
    """Fill an empty database, of SQLite or PostgreSQL, from FILE of `gpuwise team backup`."""
    from gpuwise.web import exchange

    opened = database_of(database)
    kept = exchange.restore(file, opened)
    opened.note(_operator(), "restore", f"{kept} results from {file.name}")
    printer.talk(f"{kept} results restored")


@team.command("export")
@click.argument("folder", type=click.Path(path_type=Path))
@options("database")
def export(folder: Path, database: str | None) -> None:
    """Write everything but tokens as Parquet files into the new FOLDER, one for each table."""
    from gpuwise.web import exchange

    opened = database_of(database)
    names = exchange.parquet(opened, folder)
    opened.note(_operator(), "export", folder.name)
    printer.out("\n".join(str(folder / name) for name in names))


@team.command("log")
@options("database")
@output_options
def log(database: str | None, to: printer.Output) -> None:
    """List who did what, the newest first: pushes, tags, tokens, backups."""
    from gpuwise.show.table import Table

    rows = [{key: row[key] for key in ("at", "who", "what", "detail")} for row in database_of(database).log()]
    to.table(Table.of(rows), lambda: rows)


@team.command("sign")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RESULT...")
@options("team-sign")
def sign(files: tuple[Path, ...], key: Path) -> None:
    """Sign RESULTs with an ssh key: RESULT.sig beside each, which `gpuwise push` then sends along."""
    for file in files:
        data = store.read(file)
        store.decode(data, str(file))
        made = store.write(signing.sign(data, key).encode(), file.with_name(file.name + signing.SUFFIX))
        printer.talk(f"signed: {made}")


@team.command("verify")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RESULT...")
@options("team-verify")
def verify(files: tuple[Path, ...], signers: Path) -> None:
    """Print whose key signed RESULTs, by RESULT.sig beside each. Exits with 1 where one is not signed so."""
    keys = {}
    for line in store.read(signers, largest=2**20).decode("utf-8", "replace").splitlines():
        name, _, key = line.strip().partition(" ")
        if re.fullmatch(r"[\w.@-]+", name, re.ASCII):
            keys[name] = signing.public_key(key)
    failed = []
    for file in files:
        signature = store.read(file.with_name(file.name + signing.SUFFIX), largest=signing.LONGEST)
        try:
            signer = signing.signer(store.read(file), signature.decode("ascii", "replace"), keys)
            printer.out(f"{file}: {signer}")
        except InputError as error:
            failed.append(f"{file}: {error}")
    if failed:
        raise GateFailed("; ".join(failed))


@click.command()
@click.argument("what", nargs=-1, metavar="[RESULT]...")
@options("push")
@json_option
def push(
    what: tuple[str, ...],
    address: str | None,
    project: str,
    tags: tuple[str, ...],
    host: str | None,
    token: str | None,
    as_json: bool,
) -> None:
    """Push RESULTs (by default the last): files, `last`, ids, or reports. Pushed twice they are kept once; a
    signature beside one (`gpuwise team sign`) is sent along.

    Each speed is compared with the last one of the same question on the same card, or kind of GPU, in the
    project. Exits with 1 where one became slower, or where a result contradicts itself and is kept apart.
    """
    from gpuwise.show.table import Table

    if not address:
        raise InputError("a push needs a server", hint="--to http://lab:8080, or export GPUWISE_SERVER=...")
    if not token:
        raise InputError("a push needs a token", hint=NEEDS_TOKEN)
    tags = parse_list(",".join(tags))
    answers = []
    for name in what or ("last",):
        path = store.find(name)
        # What this machine measured goes under its name.
        here = path.parent == store.results_dir()
        usual = re.sub(r"[^A-Za-z0-9._-]+", "-", platform.node()).strip("._-")[:63] if here else ""
        query = {"project": project, "tag": tags, "host": usual if host is None else host}
        beside = path.with_name(path.name + signing.SUFFIX)
        if beside.is_file():
            signature = base64.b64encode(store.read(beside, largest=signing.LONGEST)).decode()
            answers.append(_send(address, query, token, store.read(path), signature))
        else:
            answers += [_send(address, query, token, store.compact(one)) for one in store.load_all(path)]
    rows = [
        {
            "result": answer["id"],
            "question": speed["label"],
            "device": speed["device"],
            "ratio": f"{speed['ratio']:.3f}" if speed["ratio"] else "",
            "verdict": speed["verdict"] or "first",
            "change": speed["change"],
        }
        for answer in answers
        for speed in answer["speeds"]
    ]
    apart = [f"{answer['id']} is kept apart: {answer['problem']}" for answer in answers if answer["problem"]]
    # A result is in one project: the first that it was pushed to.
    old = [f"{a['id']} was there already, in the project {a['project']}" for a in answers if not a["new"]]
    alerts = [f"alert: {text}" for answer in answers for text in answer["alerts"]]
    table = Table.of(rows, notes=(*apart, *old, *alerts), numeric=frozenset({"ratio"}))
    printer.Output(None, as_json).table(table, lambda: answers)
    slower = [label for answer in answers for label in answer["slower"]]
    said = [f"slower than before: {', '.join(slower)}"] if slower else []
    if said := [*said, *[f"{len(apart)} kept apart"] * bool(apart)]:
        raise GateFailed("; ".join(said))


def _send(
    address: str, query: dict[str, Any], token: str, data: bytes, signature: str = ""
) -> dict[str, Any]:
    """The server's answer to one result. Raises the error that it names."""
    from urllib.parse import urlencode, urlsplit

    import msgspec

    from gpuwise.web.send import post_patiently

    signed = {"X-Gpuwise-Signature": signature} if signature else {}
    place = address.partition("?")[0].rstrip("/")
    place = f"{place if '://' in place else f'http://{place}'}/push?{urlencode(query, doseq=True)}"
    sent = post_patiently(place, data, {"Authorization": f"Bearer {token}", **signed}, within_s=PATIENCE_S)
    said, hint = sent.body[:10_000].decode("utf-8", "replace").strip(), None
    # Whatever answers there may be no gpuwise.
    with suppress(ValueError, RecursionError, AttributeError, msgspec.ValidationError):
        answer: dict[str, Any] = json.loads(sent.body)
        said, hint = str(answer.get("error", said)), str(answer.get("hint") or "") or None
        if sent.status in (200, 201):
            msgspec.convert(answer, _Answer)
            return answer
    if said.startswith("<"):  # a page is read in a browser
        said, hint = "that address answers with a page", f"--to http://{urlsplit(place).netloc}"
    if sent.status == 401:
        hint = NEEDS_TOKEN  # What the server says is of its pages
    kind: type[GpuwiseError] = MachineError if sent.status >= 500 or sent.status < 400 else InputError
    raise kind(f"the server refuses ({sent.status}): {said}", hint=hint)
