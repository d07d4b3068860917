"""Experiments behind what the pages of the operator library say; none is part of `benchmarks.gpu.everything`."""
