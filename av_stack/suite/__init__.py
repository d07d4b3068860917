"""Suites: many runs under one name, each in a process of its own, on this machine or on a Ray cluster."""
