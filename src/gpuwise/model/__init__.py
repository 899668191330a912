"""The nouns of gpuwise: frozen dataclasses without I/O, the unit in each name, None = unknown.

A file a noun family: `gpu` what a card is and costs, `question` what was asked and how it is run, `result`
what was measured and the record of a speed of any origin, `judgement` what to get and which claims hold.
"""
