"""Ladders of CUDA operators: every version of each, from the first to the fastest, runnable and measured."""
