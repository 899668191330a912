"""Cards in files: the bundle to send to a vendor, and cards read from bundles, results and folders of them.

A bundle is a zip with the results, what the driver reported, and the verdict:

    verdict.md, verdict.json     what was found, for people and for programs
    health.json                  each GPU as its driver reports it, faults before and after, doctor's checks
    results/gpu-0.json           every raw step time, readable by `gpuwise show`

Host name, user name and home folder are taken out of every text that may hold one; serial numbers and
unique ids are left out unless they are asked for, because the vendor needs them for the RMA.
"""

from __future__ import annotations

import getpass
import io
import json
import re
import socket
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from gpuwise import store
from gpuwise.errors import InputError, NoDataError
from gpuwise.judge.accept.card import TestedCard, fastest
from gpuwise.measure.telemetry.health import Check
from gpuwise.measure.telemetry.sensor import DeviceInfo, Wear
from gpuwise.model.result import Link, Measurement, Result

HEALTH = "health.json"
# The date of every member: the same content is the same file.
BEGAN = (1980, 1, 1, 0, 0, 0)
SECRETS = ("serial", "uuid")
# Bytes that the members of one bundle may have together. Sixteen cards have some 30 MB; a few MB of zip can
# hold gigabytes of zeros.
MOST = 200_000_000
# The host of files of which none is known.
LOOSE = ""


def pack(
    cards: Sequence[TestedCard], checks: Sequence[Check], page: str, verdict: Any, *, serials: bool = False,
    links: Sequence[Link] = (), fabric: Mapping[str, int] | None = None, common: Sequence[TestedCard] = (),
) -> bytes:  # fmt: skip
    """The bundle's bytes; `page` is the verdict as Markdown, `verdict` as plain data."""
    files = {"verdict.md": private(page), "verdict.json": _json(verdict)}
    entries, results = [], {}
    for card in (*cards, *common):
        member = f"results/{card.name.lower().replace(' ', '-')}.json"
        device = asdict(card.info) if card.info else None
        if device is not None and not serials:
            device = {name: value for name, value in device.items() if name not in SECRETS}
        wear = {"before": asdict(card.before), "after": asdict(card.after)}
        entries.append(
            {"name": card.name, "result": member, "refusal": card.refusal, "device": device, **wear}
        )
        results[member] = store.encode(_private(card.result, serials)).decode()
    health = {
        "gpus": entries[: len(cards)],
        "common": entries[len(cards) :],
        "links": [asdict(link) for link in links],
        "fabric": dict(fabric or {}),
    }
    files[HEALTH] = _json({**health, "checks": [asdict(check) for check in checks]})
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (files | results).items():
            info = zipfile.ZipInfo(name, BEGAN)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, text)
    return out.getvalue()


class _Entry(msgspec.Struct):
    """One card in `health.json`; keys that this gpuwise does not know are ignored."""

    name: str
    result: str
    refusal: str
    device: DeviceInfo | None
    before: Wear
    after: Wear


class _Health(msgspec.Struct):
    gpus: list[_Entry]
    common: list[_Entry] = []
    links: tuple[Link, ...] = ()
    fabric: dict[str, int] = {}


def unpack(path: Path) -> Host:
    """The host of a bundle. Raises InputError for another file, and for more than `MOST` bytes in it."""
    room = MOST

    def member(archive: zipfile.ZipFile, name: str) -> bytes:
        nonlocal room
        with archive.open(name) as file:
            # What a header says of the size may be wrong: count what comes out.
            data = file.read(room + 1)
        room -= len(data)
        if room < 0:
            raise InputError(f"{path} holds more than {MOST / 1e6:.0f} MB", hint="give its result files")
        return data

    try:
        with zipfile.ZipFile(path) as archive:
            health = msgspec.json.decode(member(archive, HEALTH), type=_Health)

            def card(e: _Entry) -> TestedCard:
                result = store.decode(member(archive, e.result), f"{e.result} in {path.name}")
                card = TestedCard(name=e.name, result=result, info=e.device, refusal=e.refusal)
                return replace(card, before=e.before, after=e.after)

            tested, common = (tuple(map(card, entries)) for entries in (health.gpus, health.common))
            return Host(name=path.stem, cards=tested, links=health.links, fabric=health.fabric, common=common)
    except (
        OSError, EOFError, zipfile.BadZipFile, zlib.error, KeyError, ValueError, RuntimeError,
        NotImplementedError, msgspec.MsgspecError,
    ) as error:  # fmt: skip
        problem = f"{path} is not a bundle of gpuwise: {error}"
        raise InputError(problem, hint="an acceptance test writes one", code="bundle") from error


def _private(result: Result, serials: bool) -> Result:
    """The result without names in the texts that a program or driver may have put there; without `serials`
    also without the digest of the unique id."""
    measurements = tuple(
        replace(
            m,
            error=private(m.error) if m.error else None,
            cautions=tuple(replace(issue, detail=private(issue.detail)) for issue in m.cautions),
        )
        for m in result.measurements
    )
    environment = result.environment
    variables = tuple((name, private(value)) for name, value in environment.variables)
    return replace(
        result,
        command=private(result.command),
        resumed=tuple(
            replace(each, command=private(each.command), card=each.card if serials else None)
            for each in result.resumed
        ),
        environment=replace(environment, variables=variables, card=environment.card if serials else None),
        measurements=measurements,
    )


def private(text: str) -> str:
    """`text` without home folders, and without the names of this host and user."""
    text = re.sub(r"/(?:home|Users)/[^/\s\"']+|/root\b", "~", text.replace(str(Path.home()), "~"))
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        user = ""
    for name, stand_in in ((socket.gethostname(), "<host>"), (user, "<user>")):
        if len(name) > 2:
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", stand_in, text)
    return text


def _json(document: Any) -> str:
    return json.dumps(_cleaned(document), indent=2, ensure_ascii=False) + "\n"


def _cleaned(value: Any) -> Any:
    """Plain data with every text made private; names of fields stay."""
    if isinstance(value, str):
        return private(value)
    if isinstance(value, dict):
        return {name: _cleaned(item) for name, item in value.items()}
    return [_cleaned(item) for item in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Cards that sit in one machine: a bundle, or a folder below the one that is named."""

    name: str
    cards: tuple[TestedCard, ...]
    links: tuple[Link, ...] = ()
    fabric: Mapping[str, int] = field(default_factory=dict)
    common: tuple[TestedCard, ...] = ()  # What no single card answers for: see `Acceptance`


def gather(paths: Sequence[Path]) -> tuple[tuple[Host, ...], tuple[tuple[str, str], ...]]:
    """(hosts, files that hold no result and why) of files, bundles and folders.

    Raises InputError for a path that is not there or a named file that cannot be read, NoDataError where
    nothing is found.
    """
    cards: dict[str, list[TestedCard]] = defaultdict(list)
    common: dict[str, list[TestedCard]] = defaultdict(list)
    places: dict[str, Host] = {}
    skipped = []
    for path, host, is_named in _files(paths):
        try:
            read = _read(path)
            cards[host] += read.cards
            common[host] += read.common
            places[host] = read
        except InputError as error:
            if is_named:
                raise
            skipped.append((str(path), str(error)))
    for name, of_host in cards.items():
        if any(card.on_gpu for card in of_host):  # then the processor's result is the host's
            common[name] += [card for card in of_host if not card.on_gpu]
            cards[name] = [card for card in of_host if card.on_gpu]
    hosts = tuple(
        replace(places[name], name=name, cards=_distinct(of_host), common=tuple(common[name]))
        for name, of_host in cards.items()
        if of_host or common[name]
    )
    if not hosts:
        problem = "no result was found"
        raise NoDataError(problem, hint="an acceptance test on each host makes them", code="bundle")
    return hosts, tuple(skipped)


def _files(paths: Sequence[Path]) -> Iterator[tuple[Path, str, bool]]:
    """(file, its host, True where it was named itself)."""
    for path in paths:
        try:
            exists = path.exists()
        except OSError:  # too long for a name
            exists = False
        if not exists:
            raise InputError(f"there is no {path}", hint="give result files, bundles or folders of them")
        every = [path]
        if path.is_dir():
            every = sorted(p for p in path.rglob("*") if p.suffix in (".json", ".zip") and p.is_file())
        for file in every:
            inside = file.parent.relative_to(path).as_posix() if path.is_dir() else "."
            folder = LOOSE if inside == "." else inside
            # A bundle is a host of its own, in whatever folder.
            name = f"{folder}/{file.stem}" if folder else file.stem
            yield file, name if file.suffix == ".zip" else folder, file is path


def _read(path: Path) -> Host:
    """The cards of a file, without raw step times, of which thousands of files would fill the memory, but for
    those that judge a card."""
    if path.suffix == ".zip":
        host = unpack(path)
    else:
        result = store.load(path)
        if result.origin != "measured":
            raise InputError(f"{path} holds published figures", hint="give a result that was measured")
        card = TestedCard(name=path.stem, result=result)
        # What several GPUs did together counts as none of them.
        together = bool(result.measurements) and all(m.config.gpus > 1 for m in result.measurements)
        host = Host(name="", cards=() if together else (card,), common=(card,) if together else ())

    def bare(m: Measurement) -> Measurement:
        return replace(m, windows=m.windows if m.config.protocol == "soak" else fastest(m), warmup_s=())

    def lean(card: TestedCard) -> TestedCard:
        measurements = tuple(map(bare, card.result.measurements))
        return replace(card, result=replace(card.result, measurements=measurements))

    return replace(host, cards=tuple(map(lean, host.cards)), common=tuple(map(lean, host.common)))


def _distinct(cards: Sequence[TestedCard]) -> tuple[TestedCard, ...]:
    """Each card once, by the digest of its unique id, with the measurements of all its files; where no digest
    is known a file is a card. Names are made distinct, because issues are listed by name."""
    files: dict[object, list[TestedCard]] = defaultdict(list)
    for place, card in enumerate(cards):
        environment = card.result.environment
        files[(environment.device, environment.card) if environment.card else place].append(card)
    seen: dict[str, int] = defaultdict(int)
    each = []
    for of_one in files.values():
        # The latest answer to a question counts: a card that was mended is judged as it is now.
        newest = sorted(of_one, key=lambda card: card.result.created_at)
        merged = replace(
            newest[-1].result, measurements=tuple(m for card in newest for m in card.result.measurements)
        )
        name = newest[-1].name
        seen[name] += 1
        each.append(
            replace(newest[-1], name=name if seen[name] == 1 else f"{name} ({seen[name]})", result=merged)
        )
    return tuple(each)
