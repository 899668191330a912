"""Whether intervals and verdicts hold: measurements of a made-up device whose true speed is known."""
