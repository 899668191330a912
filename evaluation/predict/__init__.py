"""Scores of predictions on public measurements, and the fits that the shipped parameters come from."""
