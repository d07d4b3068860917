"""Limits and names that the command line checks too, before it imports the models."""

from __future__ import annotations

SEED_MAX = 2**31 - 2
"""Largest allowed seed. CARLA keeps seeds as signed 32-bit integers, and one sensor gets the scenario's seed plus 1."""

RANDOM = "random"
"""Name of the suite whose routes are drawn at random, from a seed."""
