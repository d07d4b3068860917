"""Bounding boxes of CARLA as poses and half sizes."""

from __future__ import annotations

import carla
import numpy as np
from numpy.typing import NDArray

Extent = tuple[float, float, float]
"""Half the length, width and height of a box, m."""


def pose_of(box: carla.BoundingBox) -> NDArray[np.float64]:
    """(4, 4) pose of a box in the frame it is given in: the actor's own, or the world's for the heads of a light."""
    return np.array(carla.Transform(box.location, box.rotation).get_matrix())


def box_of(actor: carla.Actor) -> tuple[NDArray[np.float64], Extent]:
    """(pose in the actor's own frame, half sizes) of an actor's bounding box; calls the server."""
    box = actor.bounding_box
    return pose_of(box), (box.extent.x, box.extent.y, box.extent.z)
