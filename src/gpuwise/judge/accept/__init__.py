"""Acceptance test: are these cards as good as they should be, as their neighbours, as their fleet?

`card` says what a card is and which of its speeds are compared, `reference` what with; `condition` and
`speed` find issues and judge a host, `bundle` reads and writes files, `fleet` judges many hosts.
"""
