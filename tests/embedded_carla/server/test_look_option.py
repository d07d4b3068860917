"""The option --look through the real wheel: other colours of the same world, and the same picture every time."""

from __future__ import annotations

import queue
from typing import Any

import numpy as np

from tests.embedded_carla.conftest import run_server

LOOK = "3"
WAIT_S = 60.0


def pictures(client: Any) -> tuple[np.ndarray, np.ndarray]:
    """Colour and labels (90, 160, 4) from the first spawn point of a world that has just begun."""
    import carla

    world = client.reload_world()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, 0.05
    world.apply_settings(settings)
    place = world.get_map().get_spawn_points()[0]
    place.location.z += 1.5
    waiting: list[queue.SimpleQueue[Any]] = []
    sensors: list[Any] = []  # one without a reference is silent
    for kind in ("rgb", "semantic_segmentation"):
        blueprint = world.get_blueprint_library().find(f"sensor.camera.{kind}")
        for name, value in (("image_size_x", "160"), ("image_size_y", "90")):
            blueprint.set_attribute(name, value)
        sensors.append(world.spawn_actor(blueprint, carla.Transform(place.location, place.rotation)))
        waiting.append(queue.SimpleQueue())
        sensors[-1].listen(waiting[-1].put)
    world.tick()
    colour, labels = (
        np.frombuffer(one.get(timeout=WAIT_S).raw_data, np.uint8).reshape(90, 160, 4).copy() for one in waiting
    )
    for sensor in sensors:
        sensor.destroy()
    return colour, labels


def taken(*arguments: str, times: int) -> list[tuple[np.ndarray, np.ndarray]]:
    import carla

    with run_server(*arguments) as server:
        client = carla.Client("127.0.0.1", server.port)
        client.set_timeout(WAIT_S)
        return [pictures(client) for _ in range(times)]


def test_a_look_changes_the_colours_of_every_episode_and_nothing_else() -> None:
    (first, labels), (again, _) = taken("--look", LOOK, times=2)
    ((usual, usual_labels),) = taken(times=1)
    assert np.abs(first.astype(int) - again).mean() < 0.5  # clouds and leaves move while the world loads
    assert np.abs(first[..., :3].astype(int) - usual[..., :3]).mean() > 4.0
    assert np.mean(labels != usual_labels) < 0.005
