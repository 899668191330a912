"""Scores of the predictor, the chooser and the audit on data. No part of the product imports it."""
