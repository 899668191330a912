"""The hands: one file per verb, no arithmetic. `print` alone writes to the terminal."""
