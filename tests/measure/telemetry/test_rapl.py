"""RAPL counters in a folder as the kernel lays it out."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuwise.measure import telemetry


def zone(root: Path, name: str, energy: int, most: int = 1_000_000) -> Path:
    folder = root / name
    folder.mkdir()
    (folder / "energy_uj").write_text(f"{energy}\n")
    (folder / "max_energy_range_uj").write_text(f"{most}\n")
    return folder


def test_packages_add_up_and_their_parts_do_not_count(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", 2_000_000)
    zone(tmp_path, "intel-rapl:1", 3_000_000)
    zone(tmp_path, "intel-rapl:0:0", 500_000)
    found = telemetry.host_sensor(tmp_path)
    assert found is not None
    assert found.sample().energy_j == pytest.approx(5.0)
    later = found.sample()
    assert (later.energy_j, later.power_w) == (pytest.approx(5.0), pytest.approx(0.0))
    assert found.processes() == ()
    assert found.info().name


def test_the_counter_may_wrap(tmp_path: Path) -> None:
    folder = zone(tmp_path, "intel-rapl:0", 900_000)
    found = telemetry.host_sensor(tmp_path)
    assert found is not None
    before = found.sample().energy_j
    (folder / "energy_uj").write_text("100000")
    after = found.sample().energy_j
    assert before is not None
    assert after is not None
    assert after - before == pytest.approx(0.2)


def test_a_counter_that_vanishes_saves_no_energy(tmp_path: Path) -> None:
    folder = zone(tmp_path, "intel-rapl:0", 900_000)
    found = telemetry.host_sensor(tmp_path)
    assert found is not None
    (folder / "energy_uj").unlink()
    with pytest.raises(OSError, match="intel-rapl:0 can no longer be read"):
        found.sample()


def test_nothing_readable_is_no_sensor(tmp_path: Path) -> None:
    assert telemetry.host_sensor(tmp_path) is None
    (zone(tmp_path, "intel-rapl:0", 1) / "energy_uj").write_text("secret")
    assert telemetry.host_sensor(tmp_path) is None
