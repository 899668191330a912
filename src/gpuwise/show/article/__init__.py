"""Two GPUs head to head, from facts alone: each figure has a source or is computed from some that have."""

from gpuwise.show.article.whole import article

__all__ = ["article"]
