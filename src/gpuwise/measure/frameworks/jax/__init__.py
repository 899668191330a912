"""JAX: the reference networks in plain JAX, compiled by XLA (`jax.jit`) or run operation by operation."""
