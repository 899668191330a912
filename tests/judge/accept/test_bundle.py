"""The file for the vendor: what is in it, what is not, and that it comes back."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise.errors import InputError
from gpuwise.judge.accept import bundle
from gpuwise.judge.accept.card import TestedCard
from gpuwise.measure.telemetry.health import Check
from gpuwise.model.result import Issue

from ...stopwatch import at_most
from .conftest import speed

Make = Callable[..., TestedCard]
CHECKS = (Check(name="driver", status="ok", detail="580"),)


def text(data: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return "\n".join(archive.read(name).decode() for name in archive.namelist())


def test_what_is_in_it(card: Make) -> None:
    data = bundle.pack([card(0), card(1)], CHECKS, "**pass**", {"passed": True})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = ["verdict.md", "verdict.json", "health.json", "results/gpu-0.json", "results/gpu-1.json"]
        assert archive.namelist() == names
        # The first day that a zip can state: the same content is the same file.
        assert {each.date_time for each in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        health = json.loads(archive.read("health.json"))
        assert json.loads(archive.read("verdict.json")) == {"passed": True}
    assert health["checks"][0]["name"] == "driver"
    assert health["gpus"][1]["device"]["name"] == "NVIDIA H200"
    assert health["gpus"][1]["after"]["ecc_uncorrected"] == 0


def test_serial_numbers_only_where_they_are_asked_for(card: Make) -> None:
    assert "1653" not in text(bundle.pack([card(3)], CHECKS, "", {}))
    assert "GPU-3" not in text(bundle.pack([card(3)], CHECKS, "", {}))
    told = text(bundle.pack([card(3)], CHECKS, "", {}, serials=True))
    assert '"serial": "1653"' in told
    assert '"uuid": "GPU-3"' in told


def test_the_digest_of_the_unique_id_goes_with_the_serial_number(card: Make) -> None:
    one = card(environment={"card": "0123456789ab"})
    assert "0123456789ab" not in text(bundle.pack([one], CHECKS, "", {}))
    assert "0123456789ab" in text(bundle.pack([one], CHECKS, "", {}, serials=True))


def test_no_host_user_or_home_folder(card: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "rack7-node12")
    monkeypatch.setattr("getpass.getuser", lambda: "annalena")
    said = "FileNotFoundError on rack7-node12: /home/annalena/secret/x.py, job of annalena"
    caution = Issue(code="noisy", severity="warning", detail=said, fix="again")
    one = card(measurements=(replace(speed("copy", 4e12), error=said, cautions=(caution,)),))
    one = replace(one, result=replace(one.result, command=f"gpuwise accept --against {said}"), refusal=said)
    found = text(bundle.pack([one], CHECKS, said, {"reasons": [said]}))
    assert "rack7" not in found
    assert "annalena" not in found
    assert found.count("<host>") == 6
    assert "~/secret/x.py" in found


def test_it_comes_back_and_is_the_same_file_each_time(card: Make, tmp_path: Path) -> None:
    one = replace(card(2, after={"ecc_corrected": 4}), refusal="")
    data = bundle.pack([one], CHECKS, "", {})
    assert data == bundle.pack([one], CHECKS, "", {})
    path = tmp_path / "b.zip"
    path.write_bytes(data)
    (back,) = bundle.unpack(path).cards
    assert (back.name, back.result, back.before, back.after) == (one.name, one.result, one.before, one.after)
    assert back.info is not None
    assert (back.info.index, back.info.uuid) == (2, None)


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_bundle(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not a bundle"):
        bundle.unpack(path)


def test_a_bundle_of_a_newer_gpuwise_is_read(card: Make, tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    data = bundle.pack([card()], CHECKS, "", {})
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).decode().replace('"remap_failed"', '"yet_unknown"'))
    (back,) = bundle.unpack(path).cards
    assert back.after.remap_failed is None


def test_a_bomb_ends_before_it_fills_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(bundle.HEALTH, b" " * 30_000_000)
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(bundle, "MOST", 1_000_000)
    with at_most(10_000_000), pytest.raises(InputError, match="holds more than 1 MB"):
        bundle.unpack(path)


def test_members_together_are_bounded(card: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "b.zip"
    path.write_bytes(bundle.pack([card(i) for i in range(4)], CHECKS, "", {}))
    with zipfile.ZipFile(path) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
    read = sum(size for name, size in sizes.items() if not name.startswith("verdict"))
    monkeypatch.setattr(bundle, "MOST", read)
    assert len(bundle.unpack(path).cards) == 4
    monkeypatch.setattr(bundle, "MOST", read - 1)
    with pytest.raises(InputError, match="holds more than"):
        bundle.unpack(path)


@pytest.mark.parametrize(
    "health",
    [
        "[]",
        "{}",
        '{"gpus": [3]}',
        '{"gpus": [{"name": "a", "result": "x", "refusal": "", "device": 3, "before": {}, "after": {}}]}',
        '{"gpus": [{"name": "a", "result": "x", "refusal": "", "device": null, "before": 1, "after": {}}]}',
        '{"gpus": [{"name": "a", "result": "x", "refusal": "", "device": null, "before": {}, "after": {}}]}',
        '{"gpus": ' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
)
def test_a_damaged_account_of_the_cards_is_refused(health: str, tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(bundle.HEALTH, health)
    with pytest.raises(InputError, match="is not a bundle"):
        bundle.unpack(path)


def test_a_bundle_whose_bytes_are_damaged_is_refused(card: Make, tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    data = bytearray(bundle.pack([card()], CHECKS, "", {}))
    data[data.index(b"health.json") + 30] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(InputError, match="is not a bundle"):
        bundle.unpack(path)
