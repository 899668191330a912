"""The hello screen on every kind of machine."""

from __future__ import annotations

import itertools

import pytest

from gpuwise.facts import catalog
from gpuwise.measure.telemetry import Machine, TorchBuild
from gpuwise.measure.telemetry.sensor import DeviceInfo
from gpuwise.model.gpu import GpuSpec
from gpuwise.show import hello

A5000 = DeviceInfo(index=0, name="NVIDIA RTX A5000", memory_bytes=24 * 2**30, driver="570.1")
NEW = DeviceInfo(index=1, name="NVIDIA Next")
CUDA = TorchBuild(version="2.11.0+cu130", cuda="13.0")


def screen(
    *devices: DeviceInfo,
    known: tuple[GpuSpec | None, ...] = (),
    torch: TorchBuild | None = CUDA,
    saved: int = 0,
) -> str:
    machine = Machine(devices=devices, torch=torch, cpu="EPYC", cpu_count=16)
    return hello.screen("1.2.3", machine, known, 24, saved)


def commands(text: str) -> list[str]:
    """The commands at the foot of the screen, without what they are for."""
    foot = text.split("\n\n")[-1].splitlines()
    assert all(line.startswith("  ") and "   " in line[2:] for line in foot)
    return [line[2:].split("   ")[0] for line in foot]


GPUS = [
    (),
    ((A5000, catalog.get("rtx-a5000")),),
    ((NEW, None),),
    ((A5000, catalog.get("rtx-a5000")), (NEW, None)),
]


@pytest.mark.parametrize(
    ("gpus", "torch", "saved"),
    list(itertools.product(GPUS, (CUDA, TorchBuild(version="2.13.0+cpu"), None), (0, 3))),
)
def test_there_are_always_exactly_three_next_commands(
    gpus: tuple[tuple[DeviceInfo, GpuSpec | None], ...], torch: TorchBuild | None, saved: int
) -> None:
    text = screen(*(g for g, _ in gpus), known=tuple(s for _, s in gpus), torch=torch, saved=saved)
    assert len(commands(text)) == 3
    assert len(set(commands(text))) == 3
    assert text.startswith("gpuwise 1.2.3\n")
    assert f"known  24 GPUs in the catalog, {saved} results kept here" in text
    assert "CPU    EPYC, 16 usable cores" in text
    assert ("no GPU found" in text) is not bool(gpus)
    assert ("pip install" in commands(text)[0]) is (torch is None)
    assert ("gpuwise show last" in commands(text)) is (saved > 0)


def test_with_a_known_gpu() -> None:
    text = screen(A5000, known=(catalog.get("rtx-a5000"),))
    assert "GPU 0  NVIDIA RTX A5000, 24.0 GiB, driver 570.1, catalog entry rtx-a5000" in text
    assert "torch  2.11.0+cu130, CUDA 13.0" in text
    assert commands(text) == [
        "gpuwise bench --quick",
        "gpuwise show rtx-a5000",
        "gpuwise compare rtx-a5000 h200-sxm",
    ]


def test_an_unknown_gpu_is_unknown_and_the_first_known_one_is_the_example() -> None:
    text = screen(NEW, A5000, known=(None, catalog.get("h200-sxm")))
    assert "GPU 1  NVIDIA Next, not in the catalog" in text
    assert commands(text)[1:] == ["gpuwise show h200-sxm", "gpuwise compare h200-sxm h100-nvl-94gb"]


def test_without_a_gpu() -> None:
    text = screen(torch=TorchBuild(version="2.13.0+cpu"))
    assert "no GPU found on this machine" in text
    assert "torch  2.13.0+cpu\n" in text
    assert commands(text)[0] == "gpuwise bench --quick"


def test_without_torch_it_comes_first() -> None:
    text = screen(torch=None)
    assert "torch  not installed; measuring needs it" in text
    assert commands(text)[0] == 'pip install "gpuwise[torch]"'


def test_with_saved_results_the_last_is_offered() -> None:
    assert commands(screen(saved=1))[1] == "gpuwise show last"


def test_the_gpus_in_the_commands_are_in_the_catalog() -> None:
    for known in ((), (catalog.get("h200-sxm"),)):
        for gpu in commands(screen(*([A5000] * len(known)), known=known))[2].split()[2:]:
            assert catalog.get(gpu).id == gpu
