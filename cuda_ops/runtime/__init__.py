"""Compile a kernel's source (NVRTC), cache it on disk, load it and launch it."""
