"""Predict the speed, memory and power of a step on a GPU that was not measured."""
