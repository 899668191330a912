"""The nouns of gpuwise: frozen dataclasses without I/O, the unit in each name, None = unknown.

A file a noun family: `gpu` what a card is, `workload` what can be measured, `run` what was
asked and what was found, `result` what was measured, `answer` what follows from it.
"""
