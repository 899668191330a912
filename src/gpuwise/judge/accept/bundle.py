"""One file to send to a vendor: a zip with the results, what the driver told, and the verdict.

    verdict.md, verdict.json     what was found, for people and for programs
    health.json                  each GPU as its driver tells, its faults before and after, doctor's checks
    results/gpu-0.json           every raw step time, readable by `gpuwise show`

Host name, user name and home folder are taken out of every text that may hold one; serial numbers and
unique ids are left out unless they are asked for, for a vendor needs them to find a card in his books.
"""

from __future__ import annotations

import getpass
import io
import json
import re
import socket
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.judge.accept.card import Card
from gpuwise.measure.telemetry import Check, DeviceInfo, Wear
from gpuwise.model.issue import Issue
from gpuwise.model.result import Result

HEALTH = "health.json"
RESULTS = "results/"
BEGAN = (1980, 1, 1, 0, 0, 0)
"""The date of every member: the same content is the same file."""
SECRETS = ("serial", "uuid")


def pack(
    cards: Sequence[Card], checks: Sequence[Check], page: str, verdict: Any, *, serials: bool = False
) -> bytes:
    """The bundle's bytes; `page` is the verdict as Markdown, `verdict` as plain data."""
    files = {"verdict.md": private(page), "verdict.json": _json(verdict)}
    files[HEALTH] = _json(health(cards, checks, serials=serials))
    for card in cards:
        files[_member(card)] = store.encode(_private(card.result, serials)).decode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            member = zipfile.ZipInfo(name, BEGAN)
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, text)
    return out.getvalue()


def unpack(path: Path) -> tuple[Card, ...]:
    """The cards of a bundle. Raises InputError for what is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            told = json.loads(archive.read(HEALTH))["gpus"]
            return tuple(_card(entry, archive.read(entry["result"]), path.name) for entry in told)
    except (OSError, zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} is no bundle of gpuwise: {error}", hint="gpuwise accept -o bundle.zip writes one"
        ) from error


def health(cards: Sequence[Card], checks: Sequence[Check], *, serials: bool) -> dict[str, Any]:
    """What the driver told of each card, and what doctor found."""
    return {
        "gpus": [_entry(card, serials) for card in cards],
        "checks": [asdict(check) for check in checks],
    }


def _member(card: Card) -> str:
    return f"{RESULTS}{card.name.lower().replace(' ', '-')}.json"


def _entry(card: Card, serials: bool) -> dict[str, Any]:
    told = asdict(card.info) if card.info else None
    if told is not None and not serials:
        told = {name: value for name, value in told.items() if name not in SECRETS}
    wear = {"before": asdict(card.before), "after": asdict(card.after)}
    return {"name": card.name, "result": _member(card), "refusal": card.refusal, "device": told, **wear}


def _card(entry: Mapping[str, Any], data: bytes, origin: str) -> Card:
    device = entry["device"]
    return Card(
        name=entry["name"],
        result=store.decode(data, f"{entry['result']} in {origin}"),
        info=_made(DeviceInfo, device) if device else None,
        before=_made(Wear, entry["before"]),
        after=_made(Wear, entry["after"]),
        refusal=entry["refusal"],
    )


def _made(kind: Any, told: Mapping[str, Any]) -> Any:
    """An instance from the fields that this gpuwise knows."""
    known = {field.name for field in fields(kind)}
    return kind(**{name: value for name, value in told.items() if name in known})


def _private(result: Result, serials: bool) -> Result:
    """The result without names in the texts that a program or driver may have put there; without `serials`
    also without the digest of the unique id."""
    measurements = tuple(
        replace(
            m,
            error=private(m.error) if m.error else None,
            cautions=tuple(_mended(caution) for caution in m.cautions),
        )
        for m in result.measurements
    )
    found = result.environment
    variables = tuple((name, private(value)) for name, value in found.variables)
    return replace(
        result,
        command=private(result.command),
        resumed=tuple(replace(each, command=private(each.command)) for each in result.resumed),
        environment=replace(found, variables=variables, card=found.card if serials else None),
        measurements=measurements,
    )


def _mended(caution: Issue) -> Issue:
    return replace(caution, detail=private(caution.detail))


def private(text: str) -> str:
    """`text` without home folders, and without the names of this host and user."""
    text = re.sub(r"/(?:home|Users)/[^/\s\"']+|/root\b", "~", text.replace(str(Path.home()), "~"))
    for name, stand_in in ((socket.gethostname(), "<host>"), (_user(), "<user>")):
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


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return ""
