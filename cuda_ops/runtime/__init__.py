"""From a kernel's source to a launch: compile (NVRTC), cache on disk, load, launch."""
