"""The nouns of gpuwise: frozen dataclasses without I/O, the unit in each name, None = unknown.

A file a noun family: `gpu` what a card is and costs, `question` what was asked and how it is run, `result`
what was measured and the record of a speed of any origin, `judgement` what to get and which claims hold.
"""

from __future__ import annotations

from importlib import import_module


class Shown:
    """A value that a notebook can show."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """HTML with a table, and a chart where vl-convert is installed; nothing is loaded before."""
        # By name: the nouns import nothing of what shows them.
        html: str = import_module("gpuwise.show.notebook").html(self)
        return html
