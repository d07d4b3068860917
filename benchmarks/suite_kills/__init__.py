"""Kills the processes of suites at random moments, and checks that every run is done exactly once."""
