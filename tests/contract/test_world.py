"""What `World` promises, held against every world: CARLA on a server process, a list, and a recording on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from av_core.types import CameraModel, ControlCommand, Image, RadarModel, Rig
from av_stack.world.base import World
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.factory import open_recorded, open_world
from av_stack.world.spec import Address, WorldSpec
from tests.contract.list_world import ListWorld, recorded, write_recording

START = (423.2, -375.5)
CAMERAS = tuple(CameraModel(name, 160, 90, float(np.radians(60.0)), 2.1, 0.0, 1.6) for name in ("front", "second"))
RADARS = tuple(RadarModel(side, 3.9, y_m, 0.6, y_m, 1.5, 0.1) for side, y_m in (("on_left", 0.95), ("on_right", -0.95)))
SPEC = WorldSpec("city_grid", START, (START, (423.2, -275.0)), Rig(CAMERAS, radars=RADARS), seed=3, traffic_vehicles=1)
LENGTH = 30
"""Ticks in the recording."""

GO = ControlCommand(0.7, 0.0, 0.0)
Opener = Callable[[], World]


@pytest.fixture(scope="module")
def recording(city_server: Address) -> ListWorld:
    with closing(open_world(city_server, SPEC)) as world:
        return recorded(world, LENGTH)


@pytest.fixture(scope="module")
def file(recording: ListWorld, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recording(recording.from_the_start(), Rig(CAMERAS), tmp_path_factory.mktemp("drive") / "drive.mcap")


@pytest.fixture(scope="module", params=["CARLA", "list", "recording"])
def opener(request: pytest.FixtureRequest, city_server: Address) -> Opener:
    """Opens the world of this run of the suite, from its start."""
    if request.param == "CARLA":
        return lambda: open_world(city_server, SPEC)
    taken: ListWorld = request.getfixturevalue("recording")
    path: Path = request.getfixturevalue("file")
    return taken.from_the_start if request.param == "list" else lambda: open_recorded(path)


@pytest.fixture(scope="module")
def world(opener: Opener) -> Iterator[World]:
    with closing(opener()) as world:
        yield world


def test_what_stays_the_same_is_there_before_the_first_tick(world: World) -> None:
    assert world.server_version.startswith("0.9.16")
    assert world.lane_graph.lanes
    assert "<OpenDRIVE>" in world.map_text
    assert 3.0 < world.vehicle.length_m < 6.0
    before = world.lane_graph, world.vehicle, world.server_version, world.map_text
    world.tick()
    assert world.lane_graph is before[0]
    assert (world.vehicle, world.server_version, world.map_text) == before[1:]


def test_a_tick_is_one_step_and_everything_in_it_bears_its_stamp(world: World) -> None:
    last = None
    for _ in range(4):
        frame, truth = world.tick(), world.truth()
        assert frame is not None
        assert set(frame.cameras) == {camera.name for camera in CAMERAS}
        assert set(frame.radars) == {radar.name for radar in RADARS}
        assert all(len(sweep.points) > 20 for sweep in frame.radars.values())
        stamps = {sweep.stamp for sweep in frame.radars.values()}
        stamps |= {frame.gnss.stamp, frame.imu.stamp, truth.stamp, *(image.stamp for image in frame.cameras.values())}
        assert stamps == {frame.stamp}
        if last is not None:
            assert frame.stamp.frame == last.frame + 1
            assert frame.stamp.time_s == pytest.approx(last.time_s + SPEC.step_s)
        last = frame.stamp


def test_commands_are_taken_between_ticks(world: World) -> None:
    for _ in range(3):
        world.apply(GO)
        assert world.tick() is not None


def test_pictures_are_shown_before_the_tick_that_returns_them(world: World) -> None:
    shown: list[tuple[str, Image]] = []
    world.show_pictures(lambda camera, bgr: shown.append((camera, bgr)))
    for _ in range(3):
        frame = world.tick()
        assert frame is not None
        assert sorted(camera for camera, _ in shown) == sorted(frame.cameras)
        for camera, bgr in shown:
            assert bgr is frame.cameras[camera].bgr
            assert bgr.shape == (90, 160, 3)
        shown.clear()


def test_a_world_ends_for_good_or_never(opener: Opener) -> None:
    with closing(opener()) as world:
        ticks = [world.tick() for _ in range(LENGTH + 3)]
    count = sum(frame is not None for frame in ticks)
    assert count in (LENGTH, LENGTH + 3)
    assert all(frame is not None for frame in ticks[:count])
    assert (count < len(ticks)) == (not isinstance(world, CarlaWorld))


def test_closing_twice_leaves_a_world_opened_since_alone(opener: Opener) -> None:
    world = opener()
    world.tick()
    world.close()
    with closing(opener()) as later:
        world.close()
        assert later.tick() is not None
