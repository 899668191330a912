"""Statistics on step times: intervals, steadiness, comparison. Standard library only."""

from gpuwise.stats.compare import (
    Condition,
    compare,
    pair,
    parse_condition,
    reproduced,
    run_to_run,
    unpaired,
    violations,
)
from gpuwise.stats.interval import ratio_of, throughput
from gpuwise.stats.steady import drift, enough, settled, stalls

__all__ = [
    "Condition",
    "compare",
    "drift",
    "enough",
    "pair",
    "parse_condition",
    "ratio_of",
    "reproduced",
    "run_to_run",
    "settled",
    "stalls",
    "throughput",
    "unpaired",
    "violations",
]
