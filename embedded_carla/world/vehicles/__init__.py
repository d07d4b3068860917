"""Vehicles: their dynamics, drivetrains, controls and parameters."""
