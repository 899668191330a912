"""Results as records, and how a signature is limited; thresholds from both sides."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise.errors import InputError, MachineError
from gpuwise.model.result import Issue, Result, records_of
from gpuwise.store import signing


def test_a_record_says_what_its_measurement_does(example: Result) -> None:
    m = example.measurements[0]
    assert m.throughput is not None
    assert m.items_per_step is not None
    (row, *_) = records_of((example,))
    assert row.seconds == pytest.approx(m.items_per_step / m.throughput.value)
    assert (row.session, row.date, row.item) == (example.id, example.created_at[:10], m.item)
    assert row.memory_bytes is not None
    assert row.memory_bytes.value == m.memory_peak_bytes
    assert row.watts is not None
    assert row.watts.value == 612.5
    assert [issue.code for issue in row.issues] == ["throttled"]


def test_watts_of_sensors_that_contradict_each_other_are_none(example: Result) -> None:
    m = example.measurements[0]
    for changed in (
        replace(m, telemetry=None),
        replace(m, cautions=(Issue(code="energy-mismatch", severity="warning", detail="", fix=""),)),
    ):
        (row, *_) = records_of((replace(example, measurements=(changed,)),))
        assert row.watts is None


def test_what_did_not_end_says_so_before_its_cautions(example: Result) -> None:
    failed = replace(example.measurements[0], status="failed", throughput=None, error="no room\nTraceback")
    (row,) = records_of((replace(example, measurements=(failed,)),))
    assert [(issue.code, issue.severity) for issue in row.issues] == [
        ("failed", "invalid"),
        ("throttled", "warning"),
    ]
    assert row.issues[0].detail == "no room"
    assert row.seconds is None
    assert not row.usable


def test_figures_of_others_are_cited_as_theirs(example: Result) -> None:
    for origin, source, kind, title in (
        ("published", "a paper", "third-party", "a paper"), ("measured", None, "measured", "gpuwise result"),
    ):  # fmt: skip
        (row, *_) = records_of((replace(example, origin=origin, source=source),))
        assert row.source is not None
        assert row.source.kind == kind
        assert row.source.title.startswith(title)


def test_texts_longer_than_any_key_or_signature_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert signing.LONGEST == 8192
    seen = []
    monkeypatch.setattr(signing, "_ssh_keygen", lambda *words, **_: seen.append(words) or _refused())
    for length, looked in ((signing.LONGEST, 1), (signing.LONGEST + 1, 0)):
        seen.clear()
        with pytest.raises(InputError):
            signing.signer(b"", "x" * length, {"ann": "ssh-ed25519 AAAA"})
        assert len(seen) == looked
    for length in (signing.LONGEST, signing.LONGEST + 1):
        text = "ssh-ed25519 " + "A" * (length - len("ssh-ed25519 "))
        if length == signing.LONGEST:
            assert signing.public_key(text) == text
        else:
            with pytest.raises(InputError):
                signing.public_key(text)


@pytest.mark.parametrize(("does", "error"), [("exit 1", InputError), ("exec sleep 60", MachineError)])
def test_an_ssh_keygen_that_refuses_or_does_not_end_is_told(
    does: str, error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "ssh-keygen"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(signing, "SIGNS_S", 0.5 if error is MachineError else 60)
    with pytest.raises(error):
        signing.sign(b"", tmp_path / "key")


def _refused() -> subprocess.CompletedProcess[bytes]:
    return subprocess.CompletedProcess([], 1, b"", b"")
