"""Pairs of an RGB and an instance segmentation camera on cars, for labelled pictures.

Does not import carla: the caller passes the module as `api`.
"""

from __future__ import annotations

import queue
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from av_core.types import CameraModel
from av_stack.world.carla_sensors import camera_attributes, camera_transform
from av_stack.world.carla_truth import rear_axle_x_m

KINDS = ("sensor.camera.rgb", "sensor.camera.instance_segmentation")


@dataclass(slots=True)
class View:
    """An RGB and an instance camera at one place on a car. Of `camera`, only size, field of view and name are valid."""

    carrier: Any
    camera: CameraModel
    sensors: tuple[Any, Any]
    waiting: tuple[queue.SimpleQueue[Any], queue.SimpleQueue[Any]] = field(
        default_factory=lambda: (queue.SimpleQueue(), queue.SimpleQueue())
    )


def spawn_view(world: Any, carrier: Any, camera: CameraModel, at: Any) -> View:
    """Spawn both cameras at the transform `at` in the carrier's own frame; the caller destroys them."""
    sensors = []
    for kind in KINDS:
        blueprint = world.get_blueprint_library().find(kind)
        for name, value in camera_attributes(camera).items():
            blueprint.set_attribute(name, value)
        sensors.append(world.spawn_actor(blueprint, at, attach_to=carrier))
    return View(carrier, camera, (sensors[0], sensors[1]))


def mounted(api: Any, carrier: Any, camera: CameraModel) -> Any:
    """Transform of a rig's camera in the frame of the car `carrier`."""
    return camera_transform(api, camera, rear_axle_x_m(carrier)[0])


def somewhere(api: Any, carrier: Any, rng: np.random.Generator) -> Any:
    """Random transform above the bonnet, from a small car's height to that of a lorry's windscreen; mostly level."""
    box = carrier.bounding_box
    at = api.Location(
        x=box.location.x + box.extent.x * float(rng.uniform(0.4, 1.0)),
        y=float(rng.uniform(-0.4, 0.4)),
        z=float(rng.uniform(1.2, 2.4)),
    )
    turned = rng.uniform() < 0.15
    rotation = api.Rotation(
        pitch=float(rng.uniform(-6.0, 3.0)),
        yaw=float(rng.uniform(-90.0, 90.0) if turned else rng.normal(0.0, 4.0)),
        roll=float(rng.normal(0.0, 1.0)),
    )
    return api.Transform(at, rotation)
