"""BERT: question answering at 384 tokens (base and large), and pre-training of BERT-large.

Cost of one sequence of T tokens, L layers, width C:

- arithmetic, forward: 24 L C^2 T for the linear layers (12 C^2 weights a layer, 2 operations
  each), 4 L C T^2 for attention. Backward is twice forward. The word lookup is free.
- memory traffic, in units of C values a token and layer, flash attention and pointwise chains
  fused: query-key-value product 1 + 3, attention 3 + 1, projection 1 + 1, dropout-add-norm 2 + 1,
  expand 1 + 4, GELU 4 + 4, contract 4 + 1, dropout-add-norm 2 + 1: 34 forward, twice that backward.
- weights: inference reads them once; an AdamW step moves 28 bytes a parameter (weight, gradient,
  two moments read, three written) and the two passes 12 more.

Pre-training is Devlin et al. 2018 (arXiv:1810.04805), uncased, in the two phases of NVIDIA's scripts: 20 of
128 and 80 of 512 tokens are masked (max_predictions_per_seq), always that many here. Only they pass through
the head, whose decoder is the word embedding. The optimiser is AdamW; NVIDIA's scripts have LAMB, which also
takes the norm of each tensor: about 12 bytes a parameter and step more. Its P masked tokens over a
vocabulary of V add 2 P C^2 for the head's dense layer, 2 P C V for the decoder, 2 C^2 for the pooler, 4 C
for the next sentence; and the scores are written and read (2 P V), twice that backward.
"""

from __future__ import annotations

from dataclasses import dataclass

LEARNING_RATE, DECAY, DROPOUT = 1e-6, 0.01, 0.1
LAYER_NORM_EPS, INITIAL_STD = 1e-12, 0.02

TOKENS, TOY_TOKENS, TOY_MASKED = 384, 32, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class BertShape:
    """Sizes of one BERT variant; large unless said otherwise."""

    layers: int = 24
    hidden: int = 1024
    heads: int = 16
    words: int = 28_996  # Word pieces that are drawn; the cased vocabulary
    vocabulary: int = 29_000  # Rows of the embedding: the words, padded to a multiple of 8
    positions: int = 512


BASE, LARGE = BertShape(layers=12, hidden=768, heads=12), BertShape()
"""Of question answering: no pooler, the vocabulary padded to 29,000, as the public script does."""
UNCASED = BertShape(words=30_522, vocabulary=30_528)
"""Of pre-training; 336,226,108 parameters with the 30,522 uncased word pieces."""
TOY = BertShape(layers=2, hidden=64, heads=4, words=128, vocabulary=128, positions=TOY_TOKENS)
