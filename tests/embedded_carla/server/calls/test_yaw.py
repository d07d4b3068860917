"""Yaws that clients read lie in (-180, 180] degrees, as Unreal's rotators do."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_carla.types import Transform, wrapped_deg

carla = pytest.importorskip("carla")


def turned(place: Any, yaw_deg: float) -> Any:
    return carla.Transform(place, carla.Rotation(yaw=yaw_deg))


@pytest.mark.parametrize("type_id", ["vehicle.audi.tt", "walker.pedestrian.0001", "static.prop.barrel"])
@pytest.mark.parametrize(
    ("given_deg", "told_deg"), [(180.0, 180.0), (-180.0, 180.0), (270.0, -90.0), (-540.0, 180.0), (-179.5, -179.5)]
)
def test_a_yaw_comes_back(sync_world: Any, type_id: str, given_deg: float, told_deg: float) -> None:
    place = carla.Location(0.0, 0.0, 50.0)  # in free fall nothing turns it
    actor = sync_world.spawn_actor(sync_world.get_blueprint_library().find(type_id), turned(place, given_deg))
    for _ in range(3):
        sync_world.tick()
        assert actor.get_transform().rotation.yaw == pytest.approx(told_deg, abs=1e-4)
    actor.set_simulate_physics(False)
    actor.set_transform(turned(place, given_deg))
    sync_world.tick()
    assert actor.get_transform().rotation.yaw == pytest.approx(told_deg, abs=1e-4)


@pytest.mark.parametrize(("car_deg", "sensor_deg"), [(90.0, 90.0), (-90.0, -90.0), (180.0, 0.0), (0.0, -180.0)])
def test_an_attached_sensor_that_looks_along_minus_x(sync_world: Any, car_deg: float, sensor_deg: float) -> None:
    library, place = sync_world.get_blueprint_library(), carla.Location(0.0, 0.0, 50.0)
    car = sync_world.spawn_actor(library.find("vehicle.audi.tt"), turned(place, car_deg))
    sensor = sync_world.spawn_actor(
        library.find("sensor.other.imu"), turned(carla.Location(), sensor_deg), attach_to=car
    )
    sync_world.tick()
    assert sensor.get_transform().rotation.yaw == pytest.approx(180.0, abs=1e-4)


def test_the_maps_own_things(sync_world: Any) -> None:
    poses = [*sync_world.get_map().get_spawn_points(), *(actor.get_transform() for actor in sync_world.get_actors())]
    yaws = [pose.rotation.yaw for pose in poses]
    assert min(yaws) > -180.0
    assert max(yaws) <= 180.0
    assert 180.0 in yaws  # the town has streets along the axes


def test_what_rounds_to_minus_180_on_the_wire_is_180() -> None:
    assert wrapped_deg(-179.999999) == 180.0
    assert wrapped_deg(-179.999) == -179.999
    assert Transform.from_matrix(Transform(yaw_deg=-180.0).matrix()).yaw_deg == 180.0
