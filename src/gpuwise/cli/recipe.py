"""The option `--recipe`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from gpuwise.model.recipe import RECIPES, Recipe


class RecipeChoice(click.Choice[Recipe]):
    """One of the recipes; a name of version 0.1 is answered with today's."""

    def __init__(self, recipes: Sequence[Recipe] = RECIPES) -> None:
        super().__init__(recipes)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Recipe:
        """Raises click.BadParameter."""
        if value == "parity":
            self.fail("the recipe parity is called script since version 0.2", param, ctx)
        return super().convert(value, param, ctx)
