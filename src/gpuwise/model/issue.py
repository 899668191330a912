"""One type for everything that is said beside a number: cautions, reasons, rejections, failed checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["info", "warning", "invalid"]
"""info: normal, worth knowing (a card at its own power limit). warning: read the number with care.
invalid: the number is wrong or means something else; it stays out of rankings and headlines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """A reason to read a number with care, or why there is none, and what to do about it."""

    code: str  # Short and stable, such as `noisy`; programs and tests read it
    severity: Severity
    detail: str  # One sentence with the figures that it rests on
    fix: str = ""  # The next step in words; commands are added by the command line

    @classmethod
    def info(cls, code: str, detail: str, fix: str = "") -> Issue:
        return cls(code=code, severity="info", detail=detail, fix=fix)

    @classmethod
    def warning(cls, code: str, detail: str, fix: str = "") -> Issue:
        return cls(code=code, severity="warning", detail=detail, fix=fix)

    @classmethod
    def invalid(cls, code: str, detail: str, fix: str = "") -> Issue:
        return cls(code=code, severity="invalid", detail=detail, fix=fix)


def usable(issues: tuple[Issue, ...]) -> bool:
    """True where none of the issues makes the number invalid."""
    return all(issue.severity != "invalid" for issue in issues)
