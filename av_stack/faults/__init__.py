"""Faults of sensors, control and server that a drive is given on purpose, and the state that each has to lead to."""
