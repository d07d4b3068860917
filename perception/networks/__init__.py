"""Tools for networks of any kind: weights stored in eight bits, receptive fields, quantization."""
