"""Measurements of networks: detectors on one set of pictures, receptive fields, quantization."""
