"""What notebooks ask of a value: its HTML. Rendered by `report`, which is found when it is asked for."""

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
