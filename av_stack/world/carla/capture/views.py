"""Pairs of an RGB and an instance segmentation camera on cars, for labelled pictures."""

from __future__ import annotations

import queue
from dataclasses import dataclass, field
from typing import cast

import carla
import numpy as np

from av_core.types import CameraModel
from av_stack.world.carla.sensors import camera_attributes, camera_transform
from av_stack.world.carla.truth import rear_axle_x_m

KINDS = ("sensor.camera.rgb", "sensor.camera.instance_segmentation")


@dataclass(slots=True)
class View:
    """An RGB and an instance camera at one place on a car. Of `camera`, only size, field of view and name are valid."""

    carrier: carla.Vehicle
    camera: CameraModel
    sensors: tuple[carla.Sensor, carla.Sensor]
    waiting: tuple[queue.SimpleQueue[carla.Image], queue.SimpleQueue[carla.Image]] = field(
        default_factory=lambda: (queue.SimpleQueue(), queue.SimpleQueue())
    )


def spawn_view(world: carla.World, carrier: carla.Vehicle, camera: CameraModel, at: carla.Transform) -> View:
    """Spawn both cameras at the transform `at` in the carrier's own frame; the caller destroys them."""
    sensors = []
    for kind in KINDS:
        blueprint = world.get_blueprint_library().find(kind)
        for name, value in camera_attributes(camera).items():
            blueprint.set_attribute(name, value)
        sensors.append(cast("carla.Sensor", world.spawn_actor(blueprint, at, attach_to=carrier)))
    return View(carrier, camera, (sensors[0], sensors[1]))


def mounted(carrier: carla.Vehicle, camera: CameraModel) -> carla.Transform:
    """Transform of a rig's camera in the frame of the car `carrier`."""
    return camera_transform(camera, rear_axle_x_m(carrier)[0])


def somewhere(carrier: carla.Vehicle, rng: np.random.Generator) -> carla.Transform:
    """Random transform above the bonnet, from a small car's height to that of a lorry's windscreen; mostly level."""
    box = carrier.bounding_box
    at = carla.Location(
        x=box.location.x + box.extent.x * float(rng.uniform(0.4, 1.0)),
        y=float(rng.uniform(-0.4, 0.4)),
        z=float(rng.uniform(1.2, 2.4)),
    )
    turned = rng.uniform() < 0.15
    rotation = carla.Rotation(
        pitch=float(rng.uniform(-6.0, 3.0)),
        yaw=float(rng.uniform(-90.0, 90.0) if turned else rng.normal(0.0, 4.0)),
        roll=float(rng.normal(0.0, 1.0)),
    )
    return carla.Transform(at, rotation)
