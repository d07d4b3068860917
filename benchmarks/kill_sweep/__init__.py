"""Ends drives at many moments and on full disks, and checks what they leave: `python -m benchmarks.kill_sweep`."""
