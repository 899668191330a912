"""Which GPU to buy or rent for a piece of work, why, and what would change the answer.

A need (`need`) meets speeds (`speeds`) and prices: every combination is a candidate with its cost
(`candidates`), keeps the limits or not (`fit`), and has its place (`decide`, `explain`). Only `speeds` asks
the predictor; all the rest are pure functions of their arguments.
"""
