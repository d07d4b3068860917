"""Robustness test: ends drives at many moments and on full disks, and checks the files that they leave."""
