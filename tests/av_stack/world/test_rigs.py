"""The rigs load, and every camera of the full one sends its picture, each looking its own way."""

from __future__ import annotations

import itertools

import numpy as np

from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address, WorldSpec
from sim_configs.load import load_rig


def test_the_full_rig_looks_everywhere(city_server: Address) -> None:
    rig = load_rig("full")
    shapes = {camera.name: (camera.height_px, camera.width_px, 3) for camera in rig.cameras}
    assert shapes["front"] == (720, 1280, 3)
    assert {name: shape for name, shape in shapes.items() if name != "front"} == dict.fromkeys(
        ("front_narrow", "left", "right", "rear"), (360, 640, 3)
    )
    fov_deg = {camera.name: round(float(np.degrees(camera.fov_x_rad))) for camera in rig.cameras}
    assert fov_deg == {"front": 90, "front_narrow": 30, "left": 90, "right": 90, "rear": 90}
    start = (111.75, -147.5)
    world = CarlaWorld(city_server, WorldSpec("city_grid", start, (start,), rig))
    try:
        frame = world.tick()
    finally:
        world.close()
    assert {name: image.bgr.shape for name, image in frame.cameras.items()} == shapes
    pictures = [image.bgr[:360, :640].astype(float) for image in frame.cameras.values()]
    assert all(picture.std() > 15.0 for picture in pictures)
    for one, other in itertools.combinations(pictures, 2):
        assert np.abs(one - other).mean() > 5.0
