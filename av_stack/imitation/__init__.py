"""Driving by imitation: `drives` records an expert for training, `agent` drives with the trained network."""
