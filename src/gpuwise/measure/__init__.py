"""Measure: a child process holds the device and streams events, the parent watches and keeps.

`request` turns options into configurations, `prepare` refuses what cannot be measured, `session` runs the
rest, `child` and `engine` time it and search the batch, `assemble` and `checks` turn events into a judged
Measurement.
"""
