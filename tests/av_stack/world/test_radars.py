"""The radars on a real server: sweeps in the stack's frames, and a drive that outlives one of them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import carla
import numpy as np
import pytest

from av_core.frames import map_to_carla_points, map_to_carla_yaw, map_to_vehicle
from av_core.types import EgoState, Pose2D, SensorFrame, Truth
from av_stack.world.carla import sensors
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address, WorldSpec
from perception.radar.returns import locate_returns
from sim_configs.load import load_rig

START = (111.75, -147.5)
RIG = load_rig("compact")
SPEED_MPS = 7.0


@pytest.fixture
def world(city_server: Address) -> Iterator[CarlaWorld]:
    world = CarlaWorld(city_server, WorldSpec("city_grid", START, (START,), RIG))
    yield world
    world.close()


def spawn(world: CarlaWorld, pose: Pose2D) -> carla.Vehicle:
    server = world.episode.world
    x, y = (float(value) for value in map_to_carla_points(np.array([pose.x_m, pose.y_m])))
    at = carla.Transform(carla.Location(x=x, y=y, z=0.3), carla.Rotation(yaw=float(map_to_carla_yaw(pose.yaw_rad))))
    car = server.spawn_actor(server.get_blueprint_library().find("vehicle.tesla.model3"), at)
    assert isinstance(car, carla.Vehicle)
    return car


def believed(frame: SensorFrame, truth: Truth) -> EgoState:
    ego = truth.ego
    return EgoState(frame.stamp, ego.x_m, ego.y_m, ego.yaw_rad, truth.ego_speed_mps, 0.0, 0.0, np.eye(4))


@pytest.mark.parametrize(("ahead_m", "left_m", "radar"), [
    (14.0, 3.5, "radar_front_left"), (-12.0, 3.5, "radar_rear_left"), (-10.0, 0.0, "radar_rear_right"),
])  # fmt: skip
def test_a_car_at_a_known_place_returns_its_place_and_speed(
    world: CarlaWorld, ahead_m: float, left_m: float, radar: str
) -> None:
    """It drives towards the ego's front or away from its rear, so the range rate's sign shows."""
    ego = world.truth().ego
    c, s = math.cos(ego.yaw_rad), math.sin(ego.yaw_rad)
    yaw = ego.yaw_rad + math.pi
    car = spawn(world, Pose2D(ego.x_m + c * ahead_m - s * left_m, ego.y_m + s * ahead_m + c * left_m, yaw))
    try:
        car.enable_constant_velocity(carla.Vector3D(x=SPEED_MPS))
        for _ in range(4):
            frame = world.tick()
        truth = world.truth()
        there = next(each for each in truth.objects if each.track_id == car.id)
        place = map_to_vehicle([there.x_m, there.y_m], truth.ego)
        sweep = frame.radars[radar]
        returns = locate_returns([sweep], believed(frame, truth))
        of_car = np.hypot(*(returns.place_m - [there.x_m, there.y_m]).T) < 2.6
        moving = returns.is_moving
        assert (of_car & moving).sum() >= 2
        assert not (moving & ~of_car).any(), "only the car moves"
        assert returns.radial_mps[of_car & moving] == pytest.approx(
            (returns.sight @ there.velocity_mps)[of_car & moving], abs=0.2
        )
        rate = sweep.points[np.flatnonzero(of_car & moving)[0], 3]
        assert rate < -5.0 if ahead_m > 0.0 else rate > 5.0
        assert np.sign(place[1]) == np.sign(left_m) or left_m == 0.0
    finally:
        car.destroy()


def test_a_silent_radar_is_left_out_and_the_others_go_on(world: CarlaWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensors, "RADAR_TIMEOUT_S", 0.5)
    names = {radar.name for radar in RIG.radars}
    assert set(world.tick().radars) == names
    radars = [actor for actor in world._sensors.actors if actor.type_id == sensors.RADAR]
    radars[1].stop()
    for _ in range(3):
        frame = world.tick()
    assert set(frame.radars) == names - {RIG.radars[1].name}
    assert all(sweep.stamp == frame.stamp for sweep in frame.radars.values())
