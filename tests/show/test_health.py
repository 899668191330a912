"""The signs of the doctor."""

from __future__ import annotations

from gpuwise.measure.telemetry.health import Check
from gpuwise.show import hello


def test_the_signs_of_the_doctor() -> None:
    found = [
        Check(name="GPU", status="ok", detail="one"),
        Check(name="load", status="warn", detail="busy", fix="wait"),
        Check(name="torch", status="fail", detail="none", fix="pip install torch"),
    ]
    table = hello.checks(found)
    assert table.columns == ("", "check", "found", "fix")
    assert table.rows == (
        ("✓", "GPU", "one", ""),
        ("!", "load", "busy", "wait"),
        ("✗", "torch", "none", "pip install torch"),
    )
