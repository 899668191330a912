"""Statistics on step times: intervals, steadiness, comparison, scaling."""
