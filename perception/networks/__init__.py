"""Tools for neural networks: receptive fields, quantization, pruning, and weights files in eight bits."""
