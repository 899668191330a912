"""Statistics on step times: intervals, steadiness, comparison. Standard library only."""

from gpuwise.stats.compare import Condition, compare, pair, parse_condition, reproduced, unpaired, violations
from gpuwise.stats.interval import mean_of_runs, ratio, ratio_of, throughput
from gpuwise.stats.steady import drift, settled

__all__ = [
    "Condition",
    "compare",
    "drift",
    "mean_of_runs",
    "pair",
    "parse_condition",
    "ratio",
    "ratio_of",
    "reproduced",
    "settled",
    "throughput",
    "unpaired",
    "violations",
]
