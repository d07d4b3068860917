"""Drives with one fault each, held to the table of the states that faults have to lead to."""
