"""Who signed a file: only whom ssh-keygen names, without a doubt, among the keys that are known."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gpuwise.errors import InputError
from gpuwise.store import signing

needs_openssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")


@needs_openssh
def test_a_signature_is_that_of_its_key_and_of_its_bytes(tmp_path: Path) -> None:
    keys = {}
    for name in ("ada", "grace"):
        new = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)]
        subprocess.run(new, check=True, stdin=subprocess.DEVNULL)
        keys[name] = signing.public_key((tmp_path / f"{name}.pub").read_text())
    signature = signing.sign(b"a result", tmp_path / "grace")
    assert signing.signer(b"a result", signature, keys) == "grace"
    with pytest.raises(InputError, match="not of this file"):
        signing.signer(b"another result", signature, keys)
    with pytest.raises(InputError, match="nobody here"):
        signing.signer(b"a result", signature, {"ada": keys["ada"]})


@pytest.mark.parametrize(
    ("found", "verified", "signs"),
    [
        ((0, b"ada\n"), 0, True),
        ((1, b"ada\n"), 0, False),  # a name beside a failure is none
        ((0, b"eve\n"), 0, False),  # nobody of the known ones
        ((0, b""), 0, False),
        ((0, b"ada\n"), 1, False),
    ],
)
def test_every_doubt_of_ssh_keygen_is_a_refusal(
    found: tuple[int, bytes], verified: int, signs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"find-principals": found, "verify": (verified, b"")}

    def asked(what: str, *words: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess([what], *answers[what], stderr=b"")

    monkeypatch.setattr(signing, "_ssh_keygen", asked)
    if signs:
        assert signing.signer(b"", "", {"ada": "key"}) == "ada"
    else:
        with pytest.raises(InputError):
            signing.signer(b"", "", {"ada": "key"})


def test_a_signature_of_any_length_is_not_read() -> None:
    with pytest.raises(InputError, match="longer than any"):
        signing.signer(b"", "x" * (signing.LONGEST + 1), {})
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE"
    comment = signing.LONGEST - len(key) - 1
    assert signing.public_key(f"{key} {'x' * comment}") == key
    with pytest.raises(InputError, match="not the line"):
        signing.public_key(f"{key} {'x' * (comment + 1)}")
