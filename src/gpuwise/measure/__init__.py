"""Measure: a child process holds the device and streams events, the parent watches and keeps.

`plan` turns options into configurations, `session` runs them, `child` and `engine` time them,
`batch` searches the batch size, `assemble` and `gates` turn events into a judged Measurement.
"""
