"""The benchmarks of `make bench`, one module each; every module also runs alone and prints one JSON object."""
