"""What is drawn before the server listens is all that first pictures need of the GL's compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_carla.maps.cache import default_folder
from embedded_carla.render.atmosphere import atmosphere
from embedded_carla.render.passes.mirror import FROM_PUDDLES
from embedded_carla.render.picture import features, has_sun
from embedded_carla.render.warm_up import COMMON, REST
from embedded_carla.types import WeatherParameters

FIRST_PICTURES = """
from dataclasses import replace
from embedded_carla.maps import MapLibrary
from embedded_carla.maps.loader import MapLoader
from embedded_carla.render import Renderer
from embedded_carla.render.warm_up import OUTPUTS
from embedded_carla.scene import CameraView
from embedded_carla.world.episode import DEFAULT_WEATHER
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

KERNELS = """
from numba.core.dispatcher import Dispatcher
compiled = []
compile_one = Dispatcher.compile
def told(self, signature):
    compiled.append((self.py_func.__module__, self.py_func.__qualname__, str(signature)))
    return compile_one(self, signature)
Dispatcher.compile = told
from embedded_carla import warm_up
warm_up._compile_kernels()
assert compiled
del compiled[:]

from embedded_carla.maps import MapLibrary
from embedded_carla.maps.loader import MapLoader
from embedded_carla.render import Renderer
from embedded_carla.scene import ActorView, CameraView
from embedded_carla.sensors.lidar import LidarScanner, LidarSpec
from embedded_carla.types import LightState, SemanticTag, WeatherParameters
loaded = MapLoader(MapLibrary([]), 0).load("city_grid")
renderer = Renderer(loaded.scenery)
points = loaded.scenery.spawn_points
lights = int(LightState.POSITION | LightState.LOW_BEAM)
cars = [
    ActorView(100 + i, "sedan", p, (2.3, 0.95, 0.75), (0.4, 0.1, 0.1), SemanticTag.CAR, lights, speed_mps=12.0)
    for i, p in enumerate(points[:8])
]
rain = WeatherParameters(sun_altitude_angle=-30.0, precipitation=80.0, wetness=90.0)
for weather in (WeatherParameters(sun_altitude_angle=45.0), rain):
    for actors in ((), cars):
        view = CameraView(160, 90, 90.0, points[9])
        renderer.render(view, actors, {}, weather, 0.0, rgb=True, depth=True, labels=True)
LidarScanner(LidarSpec(), seed=1).body(renderer, points[9], cars, {}, 0.0, 0.05)
renderer.close()
assert not compiled, compiled
"""


def programs_of(weather: WeatherParameters) -> set[tuple[object, ...]]:
    """What of the light and weather chooses shader programs: of the scene, and of what is drawn over it."""
    air = atmosphere(weather)
    return {("scene", *features(air), air.puddles >= FROM_PUDDLES), ("over", air.rain > 0.0)}


KNOWN = set[tuple[object, ...]]().union(*map(programs_of, (*COMMON, *REST)))


def test_every_preset_of_carla_is_compiled_beforehand() -> None:
    presets = pytest.importorskip("carla").WeatherParameters
    names = [name for name in dir(presets) if name[0].isupper()]
    assert len(names) > 20
    for name in names:
        given_by_carla = getattr(presets, name)
        weather = WeatherParameters(**{f.name: getattr(given_by_carla, f.name) for f in fields(WeatherParameters)})
        assert programs_of(weather) <= KNOWN, name


PERCENT = st.floats(0.0, 100.0)


@given(st.floats(-90.0, 90.0), PERCENT, PERCENT, PERCENT, PERCENT, PERCENT)
def test_every_weather_is_compiled_beforehand(
    altitude: float, clouds: float, rain: float, deposits: float, wetness: float, fog: float
) -> None:
    weather = WeatherParameters(
        cloudiness=clouds, precipitation=rain, precipitation_deposits=deposits, sun_altitude_angle=altitude,
        fog_density=fog, wetness=wetness,
    )  # fmt: skip
    air = atmosphere(weather)
    if has_sun(air) or air.night > 0.0:  # neither: a low sun behind thick clouds, between day and dusk
        assert programs_of(weather) <= KNOWN


def children(process: int) -> Iterator[int]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it has ended
            continue
        if int(parent) == process and state != "Z":
            yield int(stat.parent.name)


def is_running(process: int) -> bool:
    """Whether it exists and is no zombie, which nothing but its parent can remove."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc to see processes in")
def test_what_compiles_beside_a_server_ends_with_it(tmp_path: Path) -> None:
    for kept in default_folder().glob("*"):
        if not kept.name.startswith("weathers"):
            (tmp_path / kept.name).symlink_to(kept)
    environment = os.environ | {"EMBEDDED_CARLA_CACHE": str(tmp_path)}
    command = [sys.executable, "-m", "embedded_carla", "--port", "0", "--until-stdin-ends"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            assert b"listening" in server.stdout.readline()
            end_s = time.monotonic() + 10.0
            while not (beside := list(children(server.pid))) and time.monotonic() < end_s:
                time.sleep(0.05)
            assert len(beside) == 1
            server.terminate()
            assert server.wait(10) == 0
            end_s = time.monotonic() + 5.0  # the kernel ends a process of lowest priority when it comes to its turn
            while is_running(beside[0]) and time.monotonic() < end_s:
                time.sleep(0.05)
            assert not is_running(beside[0])
        finally:
            server.kill()


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


def test_no_picture_waits_for_a_kernel() -> None:
    """The kernels take tuples of arrays; the type of each array is part of what is compiled."""
    run = subprocess.run([sys.executable, "-c", KERNELS], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
