"""Measures driving by imitation: in towns held back, with trained networks or with the expert's own labels."""
