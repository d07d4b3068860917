"""Benchmark of the operator library."""
