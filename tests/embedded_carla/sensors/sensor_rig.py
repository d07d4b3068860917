"""Short ways to mount sensors of the real wheel and to read what they send."""

from __future__ import annotations

import queue
from dataclasses import dataclass
from typing import Any

import carla
import numpy as np

WIDTH, HEIGHT = 160, 90
SIZE = {"image_size_x": str(WIDTH), "image_size_y": str(HEIGHT)}


@dataclass(slots=True)
class Mounted:
    """A sensor that is listened to."""

    actor: Any
    measured: queue.Queue[Any]

    def next(self) -> Any:
        return self.measured.get(timeout=10.0)


class Rig:
    """Sensors of one test; `end` stops and destroys them and what else was spawned."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self._mounted: list[Mounted] = []
        self._spawned: list[Any] = []

    def mount(self, type_id: str, pose: Any, parent: Any = None, **attributes: str) -> Mounted:
        blueprint = self.world.get_blueprint_library().find(type_id)
        for name, value in attributes.items():
            blueprint.set_attribute(name, value)
        mounted = Mounted(self.world.spawn_actor(blueprint, pose, attach_to=parent), queue.Queue())
        mounted.actor.listen(mounted.measured.put)
        self._mounted.append(mounted)
        return mounted

    def spawn(self, type_id: str, pose: Any) -> Any:
        actor = self.world.spawn_actor(self.world.get_blueprint_library().find(type_id), pose)
        self._spawned.append(actor)
        return actor

    def end(self) -> None:
        for mounted in self._mounted:
            mounted.actor.stop()
            mounted.actor.destroy()
        for actor in self._spawned:
            actor.destroy()


def bgra(image: Any) -> np.ndarray:
    """(H, W, 4) of a camera's message."""
    return np.frombuffer(image.raw_data, np.uint8).reshape(image.height, image.width, 4).copy()


def depth_m(image: Any) -> np.ndarray:
    """(H, W) as CARLA documents it."""
    b, g, r = np.moveaxis(bgra(image)[..., :3].astype(np.float64), -1, 0)
    return np.asarray((r + 256.0 * g + 65536.0 * b) / (2**24 - 1) * 1000.0)


def points(depth: np.ndarray, fov_deg: float = 90.0) -> np.ndarray:
    """(H, W, 4) homogeneous points in the camera's frame (x forward, y right, z up), seen at pixel centres."""
    height, width = depth.shape
    focal = width / 2.0 / np.tan(np.radians(fov_deg) / 2.0)
    u, v = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    return np.stack([depth, (u - width / 2) / focal * depth, (height / 2 - v) / focal * depth, np.ones_like(depth)], -1)


def pixels(at: np.ndarray, width: int, height: int, fov_deg: float = 90.0) -> np.ndarray:
    """(..., 2) column and row of points (..., 4) in the camera's frame: the pinhole."""
    focal = width / 2.0 / np.tan(np.radians(fov_deg) / 2.0)
    return np.stack([width / 2 + focal * at[..., 1] / at[..., 0], height / 2 - focal * at[..., 2] / at[..., 0]], -1)


def matrix(transform: Any) -> np.ndarray:
    return np.array(transform.get_matrix())


def ahead(pose: Any, forward_m: float, right_m: float = 0.0, up_m: float = 0.0) -> Any:
    """`pose` moved along its own axes."""
    place = pose.transform(carla.Location(forward_m, right_m, up_m))
    return carla.Transform(place, pose.rotation)
