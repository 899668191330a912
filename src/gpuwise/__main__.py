"""`python -m gpuwise` is `gpuwise`."""

from gpuwise.cli.main import run

run()
