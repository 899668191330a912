"""The public face: complete, sorted, and each name where it says."""

from __future__ import annotations

import importlib.metadata

import pytest

import gpuwise


def test_all_is_sorted_and_every_name_loads() -> None:
    assert gpuwise.__all__ == sorted(gpuwise.__all__)
    named = (name for names in gpuwise._MODULES.values() for name in names)
    assert set(gpuwise.__all__) == {name.rpartition(" as ")[2] for name in named}
    assert all(getattr(gpuwise, name) is not None for name in gpuwise.__all__)
    assert all(name in (gpuwise.__doc__ or "") for name in gpuwise.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = gpuwise.nonsense


def test_the_version_is_that_of_the_package() -> None:
    assert gpuwise.__version__ == importlib.metadata.version("gpuwise")
