"""Sensors in the world: what each measures of an episode, when, and what it sends."""
