"""Boxes in the picture."""

from __future__ import annotations

Box = tuple[float, float, float, float]
"""u0, v0, u1, v1 in pixels, in the image frame."""


def overlap(a: Box, b: Box) -> float:
    """Intersection over union of two boxes; 0 for empty ones."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0.0 or height <= 0.0:
        return 0.0
    both = width * height
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)
