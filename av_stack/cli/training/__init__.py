"""The commands that make networks: `dataset`, `train` and `export`."""
