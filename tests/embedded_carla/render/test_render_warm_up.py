"""What is drawn before the server listens is all that first pictures need of the GL's compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FIRST_PICTURES = """
from dataclasses import replace
from embedded_carla.maps import MapLibrary
from embedded_carla.render import Renderer
from embedded_carla.render.warm_up import OUTPUTS
from embedded_carla.scene import CameraView
from embedded_carla.world.episode import DEFAULT_WEATHER
from embedded_carla.world.loader import MapLoader
loaded = MapLoader(MapLibrary([]), 0).load("city_grid")
renderer = Renderer(loaded.scenery)
start = loaded.scenery.spawn_points[0]
for yaw, fog in ((0.0, 0.0), (90.0, 2.0)):
    weather = replace(DEFAULT_WEATHER, fog_density=fog)
    view = CameraView(160, 90, 90.0, replace(start, z=start.z + 2.0, yaw_deg=start.yaw_deg + yaw))
    for rgb, depth, labels in OUTPUTS:
        renderer.render(view, (), {}, weather, 0.0, rgb=rgb, depth=depth, labels=labels)
renderer.close()
"""


def test_no_first_picture_waits_for_a_compiler(tmp_path: Path) -> None:
    environment = os.environ | {"MESA_SHADER_CACHE_DIR": str(tmp_path)}

    def compiled_by(*arguments: str) -> set[Path]:
        before = set(tmp_path.rglob("*"))
        subprocess.run([sys.executable, *arguments], env=environment, timeout=240, check=True)
        return {path for path in set(tmp_path.rglob("*")) - before if path.is_file()}

    first = compiled_by("-m", "embedded_carla.render.warm_up")
    if not first:
        pytest.skip("this GL keeps no compiled shaders where Mesa does")
    assert not compiled_by("-c", FIRST_PICTURES)
