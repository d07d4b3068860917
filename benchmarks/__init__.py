"""The benchmarks of `make bench`, one module or package each; each also runs alone and prints one JSON object."""
