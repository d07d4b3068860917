"""Every vehicle or walker of the library around one LiDAR, up in the air where nothing else is."""

from __future__ import annotations

import math
import queue
from typing import Any

import carla
import numpy as np

HEIGHT_M = 300.0
SEMANTIC = np.dtype([("place", "<f4", 3), ("cosine", "<f4"), ("id", "<u4"), ("tag", "<u4")])
RADIUS_M, STOREY_M = 22.0, 8.0
PER_STOREY = 14
LIDAR = {
    "channels": "64", "range": "60", "points_per_second": str(64 * 1440 * 20), "rotation_frequency": "20",
    "upper_fov": "45", "lower_fov": "-6", "dropoff_general_rate": "0", "dropoff_intensity_limit": "0",
    "dropoff_zero_intensity": "0",
}  # fmt: skip


def surround(world: Any, type_ids: list[str], radius_m: float = RADIUS_M, storey_m: float = STOREY_M) -> list[Any]:
    """Spawn one of each type with its side to the middle; they stay where they are."""
    library, actors = world.get_blueprint_library(), []
    for k, type_id in enumerate(type_ids):
        turn, z = 2.0 * math.pi * (k % PER_STOREY) / PER_STOREY, HEIGHT_M + storey_m * (k // PER_STOREY)
        place = carla.Location(radius_m * math.cos(turn), radius_m * math.sin(turn), z)
        actor = world.spawn_actor(
            library.find(type_id), carla.Transform(place, carla.Rotation(yaw=90.0 + math.degrees(turn)))
        )
        actor.set_simulate_physics(False)
        actors.append(actor)
    return actors


def measure(world: Any, type_id: str, ticks: int = 2) -> Any:
    """What a LiDAR in the middle measures in the last of these ticks."""
    blueprint = world.get_blueprint_library().find(type_id)
    for name, value in LIDAR.items():
        if blueprint.has_attribute(name):
            blueprint.set_attribute(name, value)
    lidar = world.spawn_actor(blueprint, carla.Transform(carla.Location(0.0, 0.0, HEIGHT_M + 1.0)))
    measured: queue.Queue[Any] = queue.Queue()
    lidar.listen(measured.put)
    for _ in range(ticks):
        frame = world.tick()
        data = measured.get(timeout=30.0)
        assert data.frame == frame
    lidar.stop()
    lidar.destroy()
    return data


def semantic_cloud(measured: Any) -> np.ndarray:
    """(N,) of SEMANTIC."""
    return np.frombuffer(measured.raw_data, SEMANTIC)


def plain_cloud(measured: Any) -> np.ndarray:
    """(N, 4) x, y, z, intensity."""
    return np.frombuffer(measured.raw_data, "<f4").reshape(-1, 4).copy()
