"""Input from the host: what worker processes prepare, and how a batch reaches the step.

Images    stored as decoded pixels (256 x 256, uint8), as prepared data sets keep them: a random part of
          8 to 100 % of the area, scaled bilinearly to the network's size, half of them mirrored
          (Szegedy et al. 2014). Nothing is decompressed: a pipeline that decodes JPEG needs several
          times as many workers. Pixels travel as uint8 and are normalised on the device.
Questions, Text   windows of a tokenised corpus, as language-model training reads them from a file that
          is mapped to memory. Nothing is tokenised on the fly.

The pixels and tokens themselves are random, and always the same few.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import Dataset

Sample = tuple[Tensor, ...]

STORED, STORED_SIDE = 64, 256
CORPUS = 2**20
ENDLESS = 2**40
# Of the pixels of ImageNet, as torchvision's weights expect them.
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """`samples` makes one item on the host; `place` writes a batch of them, already on the device, to
    where the step reads it."""

    samples: Dataset[Sample]
    place: Callable[[Sample], None]


class Endless(Dataset[Sample]):
    """As many samples as are asked for."""

    def __len__(self) -> int:
        return ENDLESS


class Images(Endless):
    """(3, side, side) pixels and a label."""

    def __init__(self, side: int, classes: int) -> None:
        self._side, self._classes = side, classes
        self._stored = torch.randint(256, (STORED, 3, STORED_SIDE, STORED_SIDE), dtype=torch.uint8)

    def __getitem__(self, index: int) -> Sample:
        share, left, top = torch.rand(3).tolist()
        # The area is drawn evenly, so the side is its root.
        part = max(1, round(STORED_SIDE * (0.08 + 0.92 * share) ** 0.5))
        x, y = round(left * (STORED_SIDE - part)), round(top * (STORED_SIDE - part))
        picture = self._stored[index % STORED, :, y : y + part, x : x + part].float()
        scaled = functional.interpolate(picture[None], (self._side, self._side), mode="bilinear")[0]
        mirrored = scaled.flip(2) if index % 2 else scaled
        return mirrored.round().to(torch.uint8), torch.tensor(index % self._classes)


class Text(Endless):
    """(tokens + 1,) consecutive tokens of a corpus."""

    def __init__(self, vocabulary: int, tokens: int) -> None:
        self._tokens = tokens
        self._corpus = torch.randint(vocabulary, (CORPUS,), dtype=torch.int32)

    def __getitem__(self, index: int) -> Sample:
        at = int(torch.randint(CORPUS - self._tokens - 1, ()))
        return (self._corpus[at : at + self._tokens + 1].long(),)


class Questions(Endless):
    """(tokens,) of a question and a paragraph, (tokens,) which of the two, start and end of the answer."""

    def __init__(self, vocabulary: int, tokens: int) -> None:
        self._tokens, self._text = tokens, Text(vocabulary, tokens)

    def __getitem__(self, index: int) -> Sample:
        words = self._text[index][0][:-1]
        question, start, end = (int(torch.randint(self._tokens, ())) for _ in range(3))
        segments = (torch.arange(self._tokens) >= question).long()
        return words, segments, torch.tensor(start), torch.tensor(end)


def image_feed(images: Tensor, labels: Tensor | None, classes: int) -> Feed:
    """New pixels in `images` (B, 3, S, S), normalised, and labels where there are any."""
    mean, deviation = (
        torch.tensor(each, device=images.device).view(1, 3, 1, 1) for each in (MEAN, DEVIATION)
    )
    scale, shift = (1 / (255 * deviation)).to(images.dtype), (-mean / deviation).to(images.dtype)

    def place(batch: Sample) -> None:
        images.copy_(batch[0]).mul_(scale).add_(shift)
        if labels is not None:
            labels.copy_(batch[1])

    return Feed(samples=Images(images.shape[-1], classes), place=place)


def question_feed(words: Tensor, segments: Tensor, answers: tuple[Tensor, ...], vocabulary: int) -> Feed:
    """New words and segments, (B, T) each, and the answers' places, (B,) each, where there are any."""

    def place(batch: Sample) -> None:
        for target, new in zip((words, segments, *answers), batch, strict=False):
            target.copy_(new)

    return Feed(samples=Questions(vocabulary, words.shape[1]), place=place)


def text_feed(inputs: Tensor, targets: Tensor, vocabulary: int) -> Feed:
    """New tokens, (B, T), and as targets the same one position on."""

    def place(batch: Sample) -> None:
        inputs.copy_(batch[0][:, :-1])
        targets.copy_(batch[0][:, 1:])

    return Feed(samples=Text(vocabulary, inputs.shape[1]), place=place)
