"""Runs today's stack on the inputs of a recorded drive, and compares what it decides with what was decided then."""
