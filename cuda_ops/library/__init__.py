"""Ladders of CUDA operators: all versions of each operator, from the first to the fastest, can be run and timed."""
