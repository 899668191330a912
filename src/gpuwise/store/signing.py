"""Signatures of result files with ssh keys: who measured what, for anybody who knows the public key.

They are those of `ssh-keygen -Y sign` (namespace gpuwise) over the bytes of the file, so that no gpuwise is
needed to check one:

    ssh-keygen -Y verify -f allowed_signers -I ann -n gpuwise -s result.json.sig < result.json
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from gpuwise.errors import InputError, MachineError

NAMESPACE = "gpuwise"
# Beside the file that is signed.
SUFFIX = ".sig"
# Of ssh-keygen, which takes some milliseconds; to sign it may ask for a passphrase or a touch of a key.
VERIFIES_S, SIGNS_S = 10, 120
LONGEST = 8192
_KEY = re.compile(r"((?:sk-)?(?:ssh|ecdsa)-[A-Za-z0-9@.-]+) ([A-Za-z0-9+/]+={0,3})(?: .*)?", re.ASCII)


def sign(data: bytes, key: Path) -> str:
    """The armoured signature of these bytes by the ssh key in the file `key`, or by the agent that holds it
    where `key` is a .pub file. Raises InputError where ssh-keygen refuses the key."""
    said = _ssh_keygen("sign", "-n", NAMESPACE, "-f", str(key), data=data, within_s=SIGNS_S)
    if said.returncode:
        raise InputError(f"cannot sign with {key}: {_reason(said)}", hint="ssh-keygen -t ed25519 makes a key")
    return said.stdout.decode("ascii", "replace")


def signer(data: bytes, signature: str, keys: Mapping[str, str]) -> str:
    """The signer of these bytes among `keys` (name -> public key); names are plain, as those of users.

    Raises InputError for a signature of other bytes, of nobody in `keys`, or none at all.
    """
    if len(signature) > LONGEST:
        raise InputError("the signature is longer than any", hint="sign the file again")
    with tempfile.TemporaryDirectory(prefix="gpuwise-") as folder:
        signers, file = Path(folder) / "signers", Path(folder) / "signature"
        signers.write_text("".join(f"{name} {key}\n" for name, key in keys.items()))
        file.write_text(signature)
        place = ("-s", str(file), "-f", str(signers))
        principals = _ssh_keygen("find-principals", *place)
        name = principals.stdout.decode("utf-8", "replace").partition("\n")[0].strip()
        if principals.returncode or name not in keys:
            raise InputError("nobody here has the key of the signature", hint="register the public key")
        said = _ssh_keygen("verify", "-n", NAMESPACE, "-I", name, *place, data=data)
        if said.returncode:
            raise InputError(f"the signature is not of this file: {_reason(said)}", hint="sign it again")
    return name


def public_key(text: str) -> str:
    """The key in a line of a .pub file, without its comment. Raises InputError where it is none."""
    match = _KEY.fullmatch(text.strip())
    if match is None or len(text) > LONGEST:
        problem = "this is not the line of an ssh public key"
        raise InputError(problem, hint="give the file ~/.ssh/id_ed25519.pub")
    return f"{match[1]} {match[2]}"


def _ssh_keygen(
    what: str, *words: str, data: bytes = b"", within_s: float = VERIFIES_S
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["ssh-keygen", "-Y", what, *words], input=data, capture_output=True, timeout=within_s, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = f"signatures need ssh-keygen: {error}"
        raise MachineError(problem, hint="install OpenSSH 8.2 or newer") from error


def _reason(said: subprocess.CompletedProcess[bytes]) -> str:
    lines = said.stderr.decode("utf-8", "replace").strip().splitlines() or ["ssh-keygen refuses"]
    return lines[-1]
