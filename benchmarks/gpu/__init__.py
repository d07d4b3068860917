"""Benchmarks of the CUDA operators, of whole frames and of the network, each beside its peers; they need a GPU."""
