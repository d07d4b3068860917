"""Walkers: a struct of arrays and its compiled loops."""
