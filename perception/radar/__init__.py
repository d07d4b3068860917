"""Radar: from sweeps to returns on the map with their speed over ground, and groups of moving returns."""
