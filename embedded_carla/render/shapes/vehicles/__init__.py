"""Shapes of vehicles: bodies, wheels and riders."""
