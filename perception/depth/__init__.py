"""Metric depth from one camera: the ground plane, known sizes, and the parallax of the car's own motion."""
