"""What is asked of a framework before anything runs, and how its process is started."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

import pytest

from gpuwise.errors import InputError, MachineError
from gpuwise.measure import frameworks as support
from gpuwise.measure.frameworks.networks import NETWORKS
from gpuwise.model.question import RunConfig

JAX = RunConfig(workload="resnet50", mode="train", precision="bf16", framework="jax")


def installed(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    def version(package: str) -> str:
        if package not in versions:
            raise PackageNotFoundError(package)
        return versions[package]

    monkeypatch.setattr(support, "version", version)


def test_the_names_are_those_of_the_networks() -> None:
    assert set(support.WORKLOADS) == set(NETWORKS)


def test_a_missing_or_old_framework_is_refused_with_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, jax="0.4.30")
    with pytest.raises(MachineError, match=r"jax 0\.4\.30 is too old, it must be 0\.7") as old:
        support.check_installed("jax")
    assert old.value.hint == 'install the extra "gpuwise[jax]"'
    with pytest.raises(MachineError, match="tensorflow is not installed"):
        support.check_installed("tensorflow")
    installed(monkeypatch, **{"tensorflow-cpu": "2.21.0", "jax": "0.11.0"})
    for framework in ("torch", "tensorflow", "jax"):
        support.check_installed(framework)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"workloads": ["vit-b16"]}, "vit-b16"),
        ({"precisions": ["bf16", "fp8"]}, "jax: fp8"),
        ({"recipe": "script"}, "recipe script"),
        ({"host_input": True}, "--with-input"),
        ({"gpus": 2}, "several GPUs"),
        ({"nodes": 2}, "several machines"),
    ],
)
def test_what_a_framework_does_not_have_is_named(asked: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        support.check_asked("jax", **asked)  # type: ignore[arg-type]
    assert "jax measures resnet50" in (error.value.hint or "")
    support.check_asked("torch", **asked)  # type: ignore[arg-type]


def test_who_has_several_gpus() -> None:
    assert support.several("torch")
    assert support.several("tensorflow")
    assert not support.several("jax")
    support.check_asked("tensorflow", gpus=8)


def test_no_process_allocates_all_memory_beforehand() -> None:
    assert support.variables(JAX)["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert "CUDA_VISIBLE_DEVICES" not in support.variables(JAX)
    on_cpu = RunConfig(
        workload="resnet50", mode="train", precision="fp32", framework="tensorflow", device="cpu"
    )
    assert support.variables(on_cpu)["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"
    assert support.variables(on_cpu)["CUDA_VISIBLE_DEVICES"] == "-1"
    assert support.variables(RunConfig(workload="resnet50", mode="train", precision="bf16")) == {}
