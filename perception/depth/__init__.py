"""Metric depth from one camera: the ground plane, known object sizes, and the parallax of the car's own motion."""
