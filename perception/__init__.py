"""Perception: lanes, localization, road users, traffic lights and camera health from the ego's own sensors."""
