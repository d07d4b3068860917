"""Quickest plans of YOLO26's convolutions, measured: `benchmarks/gpu_convolutions.py` writes this file."""

GPU, PROCESSORS = "", 0
PLANS: dict[tuple[int, ...], tuple[str, int]] = {}
