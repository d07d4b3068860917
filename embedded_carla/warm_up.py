"""Compiles the kernels and shaders of a tick and a first picture, or loads them from disk.

Command: `python -m embedded_carla.warm_up`. The first time on a machine this takes a while (numba and the GL compile);
afterwards a fraction of a second. The server does it before it listens, so that no client waits for a compiler in its
first tick or picture.
"""

from __future__ import annotations

import numpy as np

from embedded_carla.blueprints.vehicles import vehicle_blueprints
from embedded_carla.raytracing import kernel as raytracing
from embedded_carla.render import picture
from embedded_carla.render import warm_up as shaders
from embedded_carla.render.culling import occlusion, visibility
from embedded_carla.render.passes import sprite_rows
from embedded_carla.scene import Boxes, SignalSite, StopZone
from embedded_carla.scenery.ground import SceneryGround
from embedded_carla.scenery.heightfield import HeightField
from embedded_carla.sensors import depth_lookup, pixels, vehicle_boxes
from embedded_carla.types import Transform
from embedded_carla.world.bodies_kernel import gather
from embedded_carla.world.bounds import hold_within
from embedded_carla.world.collision.impacts import Body, DynamicBoxes, StaticBoxes, find_contacts, overlaps, resolve
from embedded_carla.world.signals.traffic_lights import TrafficLights
from embedded_carla.world.vehicles.fleet import VehicleFleet
from embedded_carla.world.walkers.crowd import WalkerCrowd


def warm_up() -> None:
    """Compile all numba kernels and all shaders."""
    _compile_kernels()
    shaders.warm_up()


def _compile_kernels() -> None:
    """Run every numba kernel once: two overlapping cars beside a wall and at a light take one step. No rendering."""
    triangle = np.array([[[-9.0, -9.0, 0.0], [9.0, -9.0, 0.0], [0.0, 9.0, 0.0]]])
    field = HeightField(np.array([-50.0, -50.0]), 50.0, np.zeros((3, 3)))
    ground = SceneryGround(triangle, np.ones(1, dtype=np.uint8), np.zeros(1, dtype=np.int32), field)
    fleet = VehicleFleet(ground)
    spec = next(b.vehicle for b in vehicle_blueprints() if b.vehicle is not None)
    for x in (0.0, 12.0):
        fleet.add(spec, Transform(x))
    fleet.step(0.05, 0.0)

    half = np.tile(spec.extent, (2, 1))
    boxes = DynamicBoxes.of((1, 2), np.zeros((2, 3)), fleet.rotation_deg[:2], half, fleet.velocity[:2])
    wall = StaticBoxes(Boxes(np.zeros((1, 3)), np.ones((1, 3)), np.zeros(1), np.zeros(1, dtype=np.uint8)))
    bodies = {i: Body(np.zeros(3), np.zeros(3), 0.0, 1.0, 1.0) for i in (1, 2)}
    resolve(find_contacts(boxes, wall), bodies)
    overlaps(DynamicBoxes.of((1,), np.zeros((1, 3)), fleet.rotation_deg[:1], half[:1], fleet.velocity[:1]), wall)
    zone = StopZone((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), 0.0)
    lights = TrafficLights([SignalSite("1", "traffic_light", Transform(), (zone,))], ())
    lights.governing(np.zeros((1, 3)))
    crowd = WalkerCrowd(ground)
    crowd.set_state(crowd.add(Transform()), Transform(0.1), 1.4)
    crowd.step(0.05)
    slots = np.arange(2)
    lights.governing_bodies(slots, fleet.location, fleet.rotation_deg, fleet.half_length_m)
    hold_within(fleet, slots)
    visibility.warm_up()
    occlusion.warm_up()
    sprite_rows.warm_up()
    picture.warm_up()
    pixels.warm_up()
    depth_lookup.warm_up()
    vehicle_boxes.warm_up()
    raytracing.warm_up()
    motion = np.empty((2, 15), dtype=np.float32)
    gather(
        slots, fleet.location, fleet.rotation_deg, fleet.velocity, fleet.angular_velocity_degps, fleet.acceleration,
        motion,
    )  # fmt: skip


if __name__ == "__main__":
    warm_up()
