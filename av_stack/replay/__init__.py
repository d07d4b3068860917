"""Runs today's stack on the inputs of a recorded drive, and compares its decisions with the recorded ones."""
