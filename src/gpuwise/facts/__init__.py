"""The facts: the catalog, prices, published speeds and recipes, each value with its source."""
