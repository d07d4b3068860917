"""Compiles the source of kernels (NVRTC), caches it on disk, and loads and launches the kernels."""
