"""The best recipes known: shipped with gpuwise as it measured them, and found on this machine."""

from gpuwise.facts.recipes.book import exchange, find, keep, same_software

__all__ = ["exchange", "find", "keep", "same_software"]
