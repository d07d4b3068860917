"""Measures detectors on pictures of CARLA's own renderer."""
