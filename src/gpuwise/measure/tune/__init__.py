"""Search for the fastest recipe of a workload on this machine."""
