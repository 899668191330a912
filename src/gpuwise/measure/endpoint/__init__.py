"""Measure a running server by its OpenAI-compatible API: client, load and summary."""
