"""Rays against the triangles of the scene, for sensors that send few of them: no picture is drawn."""
