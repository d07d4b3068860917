"""Driving by imitation: a network that gives the path and the speed from a picture, the own speed and route points."""
