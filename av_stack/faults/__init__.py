"""Faults of sensors, control and server that are injected into a drive, and the state that each must lead to."""
