"""Adapters against libraries that stand for timm, torchvision and transformers."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest
import torch

from gpuwise import workloads
from gpuwise.errors import InputError, MachineError
from gpuwise.measure import child
from gpuwise.measure.frameworks.torch import TorchAdapter
from gpuwise.model.question import Mode, RunConfig
from gpuwise.workloads import foreign, registry
from gpuwise.workloads.job import Job

TIMM = """\
from torch import nn
def list_models(): return ["tiny", "small"]
def create_model(name, pretrained):
    assert name == "tiny" and not pretrained
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5))
    model.num_classes, model.pretrained_cfg = 5, {"input_size": (3, 12, 12)}
    return model
"""
MODELS = """\
from functools import partial
from types import SimpleNamespace
import torch
from torch import nn
class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3 * 8 * 8, 4)
    def forward(self, x):
        out = self.body(x.flatten(1))
        return (out, None, out) if self.training else out
def list_models(): return ["heads", "detector"]
def get_model(name, weights): return TwoHeads()
def get_model_weights(name):
    how = partial(print, crop_size=8) if name == "heads" else print
    return SimpleNamespace(DEFAULT=SimpleNamespace(transforms=how, meta={"categories": list("abcd")}))
"""
TRANSFORMERS = """\
import json
from types import SimpleNamespace
import torch
from torch import nn
class TinyConfig:
    model_type, vocab_size, max_position_embeddings, width = "tiny", 11, 6, 8
class ViewConfig:
    model_type, image_size, num_channels = "view", 8, 3
class OddConfig:
    model_type = "odd"
class Words(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.use_cache is False
        self.table = nn.Embedding(config.vocab_size, config.width)
        self.head = nn.Linear(config.width, config.vocab_size)
    def forward(self, input_ids): return SimpleNamespace(logits=self.head(self.table(input_ids)))
class View(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.head = nn.Linear(3 * 8 * 8, 4)
    def forward(self, pixel_values): return SimpleNamespace(logits=self.head(pixel_values.flatten(1)))
def auto(mapping):
    return SimpleNamespace(_model_mapping=mapping, from_config=lambda c: mapping[type(c)](c))
AutoModelForMaskedLM, AutoModelForSeq2SeqLM = auto({}), auto({})
AutoModelForCausalLM, AutoModelForImageClassification = auto({TinyConfig: Words}), auto({ViewConfig: View})
class AutoConfig:
    @staticmethod
    def from_pretrained(path, local_files_only):
        assert local_files_only
        config = TinyConfig()
        config.__dict__.update(json.loads(__import__("pathlib").Path(path).read_text()))
        return config
"""


@pytest.fixture(autouse=True)
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "timm.py").write_text(TIMM)
    (tmp_path / "torchvision").mkdir()
    (tmp_path / "torchvision" / "__init__.py").write_text("")
    (tmp_path / "torchvision" / "models.py").write_text(MODELS)
    (tmp_path / "transformers.py").write_text(TRANSFORMERS)
    for name in ("timm", "torchvision", "torchvision.models", "transformers"):
        # Set first: what was not there before is taken out again after the test.
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]
        del sys.modules[name]
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(registry, "_FOREIGN", {})
    importlib.invalidate_caches()


def built(name: str, mode: Mode, batch: int = 2) -> Job:
    config = RunConfig(workload=name, mode=mode, precision="fp32", device="cpu")
    return foreign.load(name)[0].build(config, batch)


@pytest.mark.parametrize(
    ("name", "parameters", "item"),
    [
        ("timm:tiny", 3 * 4 * 9 + 4 + 25, "image"),
        ("torchvision:heads", 193 * 4, "image"),
        ("hf:TinyConfig", 11 * 8 + 9 * 11, "sequence"),
        ("hf:ViewConfig", 193 * 4, "image"),
    ],
)
def test_a_network_is_described_and_takes_steps(name: str, parameters: int, item: str) -> None:
    spec = foreign.load(name)[0].spec
    assert (spec.id, spec.parameters, spec.item, spec.cost) == (name, parameters, item, None)
    train = built(name, "train")
    first = float(train.step())
    assert [float(train.step()) for _ in range(5)][-1] < first
    answer = built(name, "infer").step()
    assert answer.shape[0] == 2
    assert torch.isfinite(answer).all()


def test_operations_are_counted_forward_and_backward() -> None:
    def counted(mode: Mode) -> float:
        config = RunConfig(workload="hf:TinyConfig", mode=mode, precision="fp32", device="cpu")
        found = child.cost_of(TorchAdapter("hf:TinyConfig"), config, 64)
        assert found is not None
        assert found.bytes_per_item is None
        return found.flop_per_item

    assert counted("infer") == 2 * 8 * 11 * 6
    assert counted("train") == 3 * counted("infer")


def test_side_heads_add_to_the_loss() -> None:
    from gpuwise.workloads.libraries import AUXILIARY, loss_of

    logits, labels = torch.randn(3, 4), torch.tensor([0, 1, 2])
    both = loss_of((logits, None, logits), labels)
    assert float(both) == pytest.approx((1 + AUXILIARY) * float(loss_of(logits, labels)))


def test_a_configuration_file_without_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "wide.json"
    path.write_text(json.dumps({"width": 16}))
    found = foreign.load(f"hf:{path}")[0]
    assert (found.spec.id, found.spec.parameters) == ("hf:wide.json", 11 * 16 + 17 * 11)
    assert found.reference == f"hf:{path}"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("timm:tyny", "timm has no model 'tyny'; did you mean tiny"),
        ("torchvision:zzz", "torchvision has no model 'zzz'$"),
        ("torchvision:detector", "torchvision:detector does not classify images"),
        ("hf:NoConfig", "transformers has no configuration class 'NoConfig'"),
        ("hf:none.json", "there is no file none.json"),
        ("hf:OddConfig", "no head is known for OddConfig"),
    ],
)
def test_what_the_library_lacks(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        foreign.load(name)[0]
    assert caught.value.hint


def test_a_library_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MachineError, match="timm is not installed, and timm:tiny needs it") as caught:
        workloads.find("timm:tiny")
    assert caught.value.hint == "pip install timm"
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("name", ["timm:", "jax:net", "timm", ":x"])
def test_other_prefixes_are_no_adapter(name: str) -> None:
    assert foreign.library(name) is None


def test_the_registry_asks_another_process() -> None:
    found = workloads.get("timm:tiny")
    assert found.spec.parameters == 3 * 4 * 9 + 4 + 25
    assert found.reference == "timm:tiny"


def test_a_configuration_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "torn.json").write_text("{")
    with pytest.raises(InputError, match="cannot read") as caught:
        foreign.load(f"hf:{tmp_path}/torn.json")
    assert "config.json" in (caught.value.hint or "")
