"""Networks of transformers from a configuration: a local `config.json` or a class with its defaults.

`hf:./llama-1b.json`, `hf:BertConfig`. Random weights; the hub is never asked. The head is the one
that the configuration names (`architectures`), else masked, causal or encoder-decoder language
modelling, image classification or speech. Tokens (at most 512 a sequence), images, speech and labels are
random; AdamW.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.errors import InputError
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import WorkloadSpec
from gpuwise.workloads.job import Job, inference_job, set_precision, training_job
from gpuwise.workloads.workload import Workload

TOKENS = 512
HEADS = (
    *("AutoModelForMaskedLM", "AutoModelForCausalLM"),
    *("AutoModelForSeq2SeqLM", "AutoModelForImageClassification"),
    *("AutoModelForSpeechSeq2Seq", "AutoModelForCTC", "AutoModelForAudioClassification"),
)
WAVEFORM = 16_000
"""Samples of one second of speech."""
EXAMPLE = "hf:BertConfig, or hf:./config.json"


class Logits(nn.Module):
    """A network that takes tensors in the order of `inputs` and returns its logits alone."""

    def __init__(self, network: nn.Module, inputs: tuple[str, ...]) -> None:
        super().__init__()
        self.network = network
        self.inputs = inputs

    def forward(self, *values: Tensor) -> Tensor:
        logits: Tensor = self.network(**dict(zip(self.inputs, values, strict=True))).logits
        return logits


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A configuration and the class that makes its network."""

    config: Any
    make: Callable[[Any], Any]
    kind: Literal["image", "audio", "text"]
    """What the network reads."""

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


def from_config(name: str) -> Workload:
    """The workload of `hf:name`."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers: Any = import_module("transformers")
    file = name.endswith(".json")
    source = _source(transformers, _config(transformers, name, file))
    stated = ("max_position_embeddings", "max_target_positions")
    length = min(TOKENS, *(getattr(source.config, name, None) or TOKENS for name in stated))
    what, task, item = {
        "image": (f"{getattr(source.config, 'image_size', '')} px", "image classification", "image"),
        "audio": ("speech", "audio", "clip"),
        "text": (f"{length} tokens", "language model", "sequence"),
    }[source.kind]
    spec = WorkloadSpec(
        id=f"hf:{Path(name).name if file else name}",
        version=1,
        title=f"{source.config.model_type} of transformers, {what}, random weights",
        task=task,
        item=item,
        modes=("train", "infer"),
        parameters=_parameters(source),
        default_batch=16,
        cpu_batch=1,
    )
    return Workload(
        spec=spec,
        build=lambda config, batch: _build(source, length, config, batch),
        reference=f"hf:{Path(name).resolve()}" if file else None,
    )


def _config(transformers: Any, name: str, file: bool) -> Any:
    if file:
        if not Path(name).is_file():
            raise InputError(f"there is no file {name}", hint=EXAMPLE)
        return transformers.AutoConfig.from_pretrained(name, local_files_only=True)
    kind = getattr(transformers, name, None)
    if not (name.endswith("Config") and isinstance(kind, type)):
        raise InputError(f"transformers has no configuration class {name!r}", hint=EXAMPLE)
    return kind()


def _source(transformers: Any, config: Any) -> Source:
    config.use_cache = False
    stated = config.architectures = getattr(config, "architectures", None) or []
    for name in stated:
        if hasattr(transformers, name):
            return Source(config=config, make=getattr(transformers, name), kind=_kind(name))
    for name in HEADS:
        auto = getattr(transformers, name, None)
        if auto is not None and type(config) in auto._model_mapping:
            return Source(config=config, make=auto.from_config, kind=_kind(name))
    raise InputError(f"no head is known for {type(config).__name__}", hint='name one as "architectures"')


def _kind(head: str) -> Literal["image", "audio", "text"]:
    """What a network with this head reads."""
    if "ForImage" in head:
        return "image"
    return "audio" if any(word in head for word in ("ForCTC", "ForAudio", "ForSpeech")) else "text"


def _parameters(source: Source) -> int | None:
    """Counted without memory for the weights; None where the network cannot be made so."""
    try:
        with torch.device("meta"):
            network = source.network()
    except Exception:  # noqa: BLE001  any library code may not know the meta device
        return None
    return sum(parameter.numel() for parameter in network.parameters())


def _build(source: Source, length: int, config: RunConfig, batch: int) -> Job:
    set_precision(config)
    with torch.device(config.device):
        model = source.network()
        inputs = source.inputs(model.inputs, batch, length)
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
