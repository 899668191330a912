"""Networks of model libraries as workloads: `timm:NAME`, `torchvision:NAME`, `hf:CONFIG` (transformers).

Random weights, no download; the hub is never asked. Versions of such a library change a network under the
same name, so compare what was measured with one version of it. Operations are counted by torch in the child.

Image classifiers train as `convnet` does, on random images of the size that the network was made for. `hf:`
takes a local `config.json` or a class with its defaults (`hf:./llama-1b.json`, `hf:BertConfig`); the head is
the one that the configuration names (`architectures`), else masked, causal or encoder-decoder language
modelling or image classification, on random tokens (at most 512 a sequence) with AdamW. Importing this
module imports torch.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from gpuwise.errors import InputError, guess
from gpuwise.model.question import RunConfig, WorkloadSpec
from gpuwise.workloads.job import Job, inference_job, set_precision, training_job
from gpuwise.workloads.models.convnet import weighted_loss
from gpuwise.workloads.registry import Workload

# Elements of a tensor that is filled where only the form of a network is asked.
MOST_DRAWN = 4096
# Weight of the losses of side heads (GoogLeNet, Inception), as their papers train them.
AUXILIARY = 0.3


class WithoutDraws(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Leaves large tensors as they are where random numbers would be drawn for them, so that no memory is
    filled where only the form of a network is asked."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        in_place = func._schema.name.endswith("_") and isinstance(args[0], Tensor)
        if in_place and args[0].numel() > MOST_DRAWN:
            return args[0]
        return func(*args, **(kwargs or {}))


def from_timm(name: str) -> Workload:
    """`timm.create_model(name)` without weights."""
    timm = import_module("timm")
    if name not in timm.list_models():
        raise _unknown("timm", name, timm.list_models())

    def make() -> nn.Module:
        return timm.create_model(name, pretrained=False)

    with WithoutDraws():  # type: ignore[no-untyped-call]
        model: Any = make()
    stated = getattr(model, "pretrained_cfg", None) or getattr(model, "default_cfg", None) or {}
    image = tuple(stated.get("input_size", (3, 224, 224)))
    return _classifier(f"timm:{name}", make, model, image, int(model.num_classes))


def from_torchvision(name: str) -> Workload:
    """`torchvision.models.get_model(name)` without weights; classifiers of single images only."""
    models = import_module("torchvision.models")
    names = models.list_models()
    if name not in names:
        raise _unknown("torchvision", name, names)
    best = models.get_model_weights(name).DEFAULT
    side = getattr(best.transforms, "keywords", {}).get("crop_size")
    if not isinstance(side, int) or "categories" not in best.meta:
        raise InputError(f"torchvision:{name} does not classify images", hint="torchvision:resnet50")

    def make() -> nn.Module:
        return models.get_model(name, weights=None)

    return _classifier(f"torchvision:{name}", make, make(), (3, side, side), len(best.meta["categories"]))


def _unknown(library: str, name: str, names: Sequence[str]) -> InputError:
    near = difflib.get_close_matches(name, names, n=2, cutoff=0.5)
    problem = f"{library} has no model {name!r}{guess(near)}"
    return InputError(problem, hint=f"such as {library}:{(*near, 'NAME')[0]}")


def _classifier(
    name: str, make: Callable[[], nn.Module], model: nn.Module, image: tuple[int, int, int], classes: int
) -> Workload:
    """`model` is a first one that `make` made; images are (channels, height, width)."""

    def build(config: RunConfig, batch: int) -> Job:
        set_precision(config)
        network = make().to(config.device)
        images = torch.randn(batch, *image, device=config.device)
        # A network without classes has no labels, see `loss_of`.
        labels = torch.randint(max(1, classes), (batch if classes else 0,), device=config.device)
        if config.recipe != "script":
            network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            images = images.to(memory_format=torch.channels_last)
        if config.mode == "infer":
            return inference_job(network, (images,), config, batch)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.001, momentum=0.9, weight_decay=1e-4)
        loss = partial(loss_of, labels=labels)
        return training_job(network, (images,), loss, optimizer, config, batch)

    library, _, title = name.partition(":")
    spec = WorkloadSpec(
        id=name,
        title=f"{title} of {library}, {image[-1]} px, random weights",
        task="image classification",
        item="image",
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        default_batch=64,
        cpu_batch=2,
    )
    return Workload(spec=spec, build=build)


def loss_of(output: Tensor | tuple[Tensor | None, ...], labels: Tensor) -> Tensor:
    """Cross entropy; of a network with side heads, theirs are added with weight AUXILIARY. One without
    classes has the mean of its features for a loss."""
    if isinstance(output, Tensor):
        if not labels.numel():
            return output.float().mean()
        return functional.cross_entropy(output, labels)
    return weighted_loss([each for each in output if each is not None], labels, AUXILIARY)


TOKENS = 512
HEADS = (
    "AutoModelForMaskedLM", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM",
    "AutoModelForImageClassification",
    "AutoModelForSpeechSeq2Seq", "AutoModelForCTC", "AutoModelForAudioClassification",
)  # fmt: skip
# Samples of one second of speech.
WAVEFORM = 16_000
EXAMPLE = "hf:BertConfig, or hf:./config.json"


class Logits(nn.Module):
    """A network that takes tensors in the order of `inputs` and returns its logits alone."""

    def __init__(self, network: nn.Module, inputs: tuple[str, ...]) -> None:
        super().__init__()
        self.network = network
        self.inputs = inputs

    def forward(self, *values: Tensor) -> Tensor:
        return self.network(**dict(zip(self.inputs, values, strict=True))).logits


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A configuration and the class that makes its network."""

    config: Any
    make: Callable[[Any], Any]
    kind: Literal["image", "audio", "text"]  # What the network reads

    @classmethod
    def of(cls, transformers: Any, config: Any) -> Source:
        """With the head that the configuration names, else the first that fits it."""
        # A cache of keys and values is of no use to one pass over whole sequences.
        config.use_cache = False
        stated = config.architectures = getattr(config, "architectures", None) or []
        for name in stated:
            if hasattr(transformers, name):
                return cls(config=config, make=getattr(transformers, name), kind=_kind(name))
        for name in HEADS:
            auto = getattr(transformers, name, None)
            if auto is not None and type(config) in auto._model_mapping:
                return cls(config=config, make=auto.from_config, kind=_kind(name))
        raise InputError(f"no head is known for {type(config).__name__}", hint='name one as "architectures"')

    def network(self) -> Logits:
        """The network with random weights, on the device of the context."""
        made = self.make(self.config)
        for part in made.modules():
            if hasattr(part, "warn_if_padding_and_no_attention_mask"):
                # It reads token ids back from the device in every step; ours have no padding.
                part.warn_if_padding_and_no_attention_mask = lambda *_: None
        usual = "pixel_values" if self.kind == "image" else "input_ids"
        both = (getattr(made, "main_input_name", usual), "decoder_input_ids")
        return Logits(made, both if getattr(self.config, "is_encoder_decoder", False) else both[:1])

    def inputs(self, names: tuple[str, ...], batch: int, length: int) -> list[Tensor]:
        """Random inputs on the device of the context, in the order of `names`."""
        config = self.config
        ids = torch.randint(getattr(config, "vocab_size", 1), (batch, length))
        if self.kind == "image":
            first = torch.randn(batch, config.num_channels, config.image_size, config.image_size)
        elif self.kind == "text":
            first = ids
        elif not hasattr(config, "num_mel_bins"):
            first = torch.randn(batch, WAVEFORM)
        elif names[0] == "input_features":  # channels before frames, of which the encoder joins two
            first = torch.randn(batch, config.num_mel_bins, 2 * config.max_source_positions)
        else:
            first = torch.randn(batch, config.max_length, config.num_mel_bins)
        return [first, *(ids for _ in names[1:])]

    def job(self, length: int, config: RunConfig, batch: int) -> Job:
        """One pass over sequences of that length, or a step of AdamW on them."""
        set_precision(config)
        with torch.device(config.device):
            model = self.network().to(config.device)
            inputs = self.inputs(model.inputs, batch, length)
            with torch.no_grad():
                shape = model(*inputs).shape  # (B, T, V) or (B, classes)
            labels = torch.randint(shape[-1], shape[:-1])
        if config.mode == "infer":
            return inference_job(model, tuple(inputs), config, batch)
        fused = config.recipe != "script" and config.device == "cuda"
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=fused)

        def loss_of(logits: Tensor) -> Tensor:
            return functional.cross_entropy(logits.flatten(0, -2), labels.flatten())

        return training_job(model, tuple(inputs), loss_of, optimizer, config, batch)


def from_config(name: str) -> Workload:
    """The workload of `hf:name`. Raises InputError where there is no such configuration or head."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers: Any = import_module("transformers")
    file = name.endswith(".json")
    if file:
        if not Path(name).is_file():
            raise InputError(f"there is no file {name}", hint=EXAMPLE)
        try:
            settings = transformers.AutoConfig.from_pretrained(name, local_files_only=True)
        except (OSError, ValueError) as error:  # no JSON, or of no kind of model that it knows
            problem = f"transformers cannot read {name}: {str(error).partition(chr(10))[0]}"
            raise InputError(problem, hint="give the config.json of a model, with its model_type") from error
    else:
        kind = getattr(transformers, name, None)
        if not (name.endswith("Config") and isinstance(kind, type)):
            raise InputError(f"transformers has no configuration class {name!r}", hint=EXAMPLE)
        settings = kind()
    source = Source.of(transformers, settings)
    limits = ("max_position_embeddings", "max_target_positions")
    length = min(TOKENS, *(getattr(settings, limit, None) or TOKENS for limit in limits))
    what, task, item = {
        "image": (f"{getattr(settings, 'image_size', '')} px", "image classification", "image"),
        "audio": ("speech", "audio", "clip"),
        "text": (f"{length} tokens", "language model", "sequence"),
    }[source.kind]
    parameters: int | None = None
    # Counted without memory for the weights; any library code may not know the meta device.
    with suppress(Exception), torch.device("meta"):
        parameters = sum(parameter.numel() for parameter in source.network().parameters())
    spec = WorkloadSpec(
        id=f"hf:{Path(name).name if file else name}",
        title=f"{settings.model_type} of transformers, {what}, random weights",
        task=task,
        item=item,
        parameters=parameters,
        default_batch=16,
        cpu_batch=1,
    )
    reference = f"hf:{Path(name).resolve()}" if file else None
    return Workload(spec=spec, build=partial(source.job, length), reference=reference)


def _kind(head: str) -> Literal["image", "audio", "text"]:
    """The kind of input of a network with this head."""
    if "ForImage" in head:
        return "image"
    return "audio" if any(word in head for word in ("ForCTC", "ForAudio", "ForSpeech")) else "text"
