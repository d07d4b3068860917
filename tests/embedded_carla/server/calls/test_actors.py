"""Actors through the real wheel."""

from __future__ import annotations

from typing import Any

import pytest

carla = pytest.importorskip("carla")


def spawn(world: Any, type_id: str, point: int = 0, dz: float = 0.0) -> Any:
    pose = world.get_map().get_spawn_points()[point]
    pose.location.z += dz
    return world.spawn_actor(world.get_blueprint_library().find(type_id), pose)


def settle(world: Any, ticks: int = 20) -> None:
    for _ in range(ticks):
        world.tick()


def test_a_car_spawns_drives_and_is_destroyed(sync_world: Any) -> None:
    car = spawn(sync_world, "vehicle.tesla.model3")
    settle(sync_world)
    start = car.get_location()
    car.apply_control(carla.VehicleControl(throttle=0.8))
    settle(sync_world, 40)
    assert car.get_control().throttle == pytest.approx(0.8)
    assert car.get_velocity().length() > 3.0
    assert car.get_location().distance(start) > 3.0
    assert car.get_speed_limit() == 40.0  # the first spawn point lies on a one-lane street
    assert car.destroy()
    sync_world.tick()
    assert car.id not in [a.id for a in sync_world.get_actors()]
    assert not car.is_alive


def test_two_cars_cannot_stand_in_one_place_but_above_each_other(sync_world: Any) -> None:
    spawn(sync_world, "vehicle.tesla.model3")
    with pytest.raises(RuntimeError, match="Spawn failed because of collision at spawn position"):
        spawn(sync_world, "vehicle.audi.tt")
    pose = sync_world.get_map().get_spawn_points()[0]
    blueprint = sync_world.get_blueprint_library().find("vehicle.audi.tt")
    assert sync_world.try_spawn_actor(blueprint, pose) is None
    pose.location.z -= 50.0
    below = sync_world.spawn_actor(blueprint, pose)
    below.set_simulate_physics(False)
    sync_world.tick()
    assert below.get_location().z == pytest.approx(pose.location.z, abs=1e-3)


def test_attributes_and_boxes_come_from_the_blueprint(sync_world: Any) -> None:
    blueprint = sync_world.get_blueprint_library().find("vehicle.mitsubishi.fusorosa")
    blueprint.set_attribute("role_name", "hero")
    bus = sync_world.spawn_actor(blueprint, sync_world.get_map().get_spawn_points()[5])
    sync_world.tick()
    assert bus.attributes["role_name"] == "hero"
    assert bus.attributes["base_type"] == "bus"
    extent = bus.bounding_box.extent
    assert (extent.x, extent.y, extent.z) == pytest.approx((5.136, 1.972, 2.126), abs=1e-3)
    assert bus.semantic_tags == [16]
    (found,) = sync_world.get_actors([bus.id])
    assert found.type_id == bus.type_id


def test_the_mirrors_of_a_bus_belong_to_its_box_and_hit_nobody(sync_world: Any) -> None:
    """CARLA's bus is wider than a lane with its mirrors: it would meet all who come towards it."""
    library, place = sync_world.get_blueprint_library(), sync_world.get_map().get_spawn_points()[5]
    bus = sync_world.spawn_actor(library.find("vehicle.mitsubishi.fusorosa"), place)
    sync_world.tick()
    car, half_m = library.find("vehicle.audi.tt"), 0.997
    beside = bus.bounding_box.extent.y + half_m
    for gap_m, is_free in ((-0.35, False), (-0.15, True)):
        at = place.transform(carla.Location(y=beside + gap_m))
        spawned = sync_world.try_spawn_actor(car, carla.Transform(at, place.rotation))
        assert (spawned is not None) == is_free


def test_a_batch_spawns_attaches_and_reports_each_failure(client: Any, sync_world: Any) -> None:
    library, points = sync_world.get_blueprint_library(), sync_world.get_map().get_spawn_points()
    car, gnss = library.find("vehicle.audi.a2"), library.find("sensor.other.gnss")
    make, later = carla.command, carla.command.FutureActor
    answers = client.apply_batch_sync(
        [
            make.SpawnActor(car, points[10])
            .then(make.ApplyVehicleControl(later, carla.VehicleControl(throttle=1.0)))
            .then(make.SetVehicleLightState(later, carla.VehicleLightState(carla.VehicleLightState.LowBeam))),
            make.SpawnActor(car, points[10]),
            make.DestroyActor(999_999),
        ],
        True,
    )
    assert not answers[0].error
    assert "collision" in answers[1].error
    assert "999999" in answers[2].error
    spawned = sync_world.get_actor(answers[0].actor_id)
    assert spawned.get_light_state() == carla.VehicleLightState.LowBeam
    settle(sync_world, 10)
    assert spawned.get_velocity().length() > 0.5
    (answer,) = client.apply_batch_sync([make.SpawnActor(gnss, carla.Transform(), spawned)], True)
    assert sync_world.get_actor(answer.actor_id).parent.id == spawned.id


def test_an_attached_sensor_rides_along(sync_world: Any) -> None:
    car = spawn(sync_world, "vehicle.tesla.model3")
    place = carla.Transform(carla.Location(x=2.0, z=1.5), carla.Rotation(yaw=90.0))
    camera = sync_world.spawn_actor(sync_world.get_blueprint_library().find("sensor.camera.rgb"), place, attach_to=car)
    car.apply_control(carla.VehicleControl(throttle=1.0))
    settle(sync_world, 30)
    expected = car.get_transform().transform(carla.Location(x=2.0, z=1.5))
    assert camera.get_location().distance(expected) < 0.01
    assert (camera.get_transform().rotation.yaw - car.get_transform().rotation.yaw) % 360 == pytest.approx(
        90.0, abs=0.5
    )
    car.destroy()
    sync_world.tick()
    assert camera.is_alive


def test_teleports_and_velocities_act(sync_world: Any) -> None:
    car = spawn(sync_world, "vehicle.tesla.model3")
    settle(sync_world)
    goal = sync_world.get_map().get_spawn_points()[40]
    car.set_transform(goal)
    car.set_simulate_physics(False)
    sync_world.tick()
    assert car.get_location().distance(goal.location) < 1e-3
    car.set_simulate_physics(True)
    forward = goal.get_forward_vector()
    car.set_target_velocity(carla.Vector3D(8 * forward.x, 8 * forward.y, 0.0))
    sync_world.tick()
    assert car.get_velocity().length() == pytest.approx(8.0, abs=0.5)
    car.enable_constant_velocity(carla.Vector3D(5.0, 0.0, 0.0))
    settle(sync_world, 20)
    assert car.get_velocity().length() == pytest.approx(5.0, abs=0.1)
    car.disable_constant_velocity()
    car.set_simulate_physics(False)
    sync_world.tick()
    stood = car.get_location()
    assert car.get_velocity().length() == car.get_angular_velocity().length() == 0.0  # as CARLA tells it
    car.set_simulate_physics(True)
    settle(sync_world, 5)
    assert car.get_location().distance(stood) < 0.1  # it begins from rest


def test_physics_control_comes_back_and_acts(sync_world: Any) -> None:
    car = spawn(sync_world, "vehicle.tesla.model3")
    control = car.get_physics_control()
    assert control.mass == pytest.approx(1845.0)
    assert len(control.wheels) == 4
    wheelbase_m = (control.wheels[0].position - control.wheels[2].position).length() / 100
    assert wheelbase_m == pytest.approx(2.875, abs=0.01)
    control.mass = 4000.0
    car.apply_physics_control(control)
    sync_world.tick()
    assert car.get_physics_control().mass == pytest.approx(4000.0)
    settle(sync_world)
    car.add_impulse(carla.Vector3D(0.0, 8000.0, 0.0) if abs(car.get_transform().rotation.yaw) > 45 else
                    carla.Vector3D(8000.0, 0.0, 0.0))  # fmt: skip
    sync_world.tick()
    assert car.get_velocity().length() == pytest.approx(2.0, abs=0.4)


def test_a_walker_walks_where_it_is_told(sync_world: Any) -> None:
    walker = spawn(sync_world, "walker.pedestrian.0002", 7, 1.0)
    settle(sync_world, 30)
    start = walker.get_location()
    walker.apply_control(carla.WalkerControl(carla.Vector3D(1.0, 0.0, 0.0), 1.5, False))
    settle(sync_world, 40)
    assert walker.get_location().x - start.x == pytest.approx(3.0, abs=0.4)
    assert walker.get_control().speed == pytest.approx(1.5)
    assert walker.get_transform().rotation.yaw == pytest.approx(0.0, abs=1.0)


def test_a_car_knows_the_light_it_stands_at(sync_world: Any) -> None:
    light = sync_world.get_actors().filter("traffic.traffic_light*")[0]
    light.set_state(carla.TrafficLightState.Red)
    light.freeze(True)
    stop = light.get_stop_waypoints()[0].transform
    car = spawn(sync_world, "vehicle.tesla.model3", 20)
    back = stop.get_forward_vector()
    stop.location -= 3.0 * back
    stop.location.z += 0.1
    car.set_transform(stop)
    settle(sync_world, 5)
    assert car.is_at_traffic_light()
    assert car.get_traffic_light().id == light.id
    assert car.get_traffic_light_state() == carla.TrafficLightState.Red
    stop.location -= 40.0 * back
    car.set_transform(stop)
    settle(sync_world, 2)
    assert not car.is_at_traffic_light()
    light.freeze(False)


def test_the_box_of_an_actor_that_another_client_destroyed_is_zero(server: Any, sync_world: Any) -> None:
    """An error here ends a client's whole process: nobody catches it in the TrafficManager's thread."""
    other = carla.Client("127.0.0.1", server.port)
    other.set_timeout(10.0)
    car = spawn(sync_world, "vehicle.tesla.model3")
    sync_world.tick()
    seen_by_other = other.get_world().get_actor(car.id)
    assert seen_by_other.bounding_box.extent.x > 2.0
    car.destroy()
    assert seen_by_other.bounding_box.extent.x == 0.0


def test_friction_triggers_act_where_they_stand(sync_world: Any) -> None:
    car = spawn(sync_world, "vehicle.tesla.model3")
    settle(sync_world)
    blueprint = sync_world.get_blueprint_library().find("static.trigger.friction")
    blueprint.set_attribute("friction", "0.35")
    for axis in "xyz":
        blueprint.set_attribute(f"extent_{axis}", "20000.0")
    speeds = []
    for slippery in (False, True):
        if slippery:
            car.set_target_velocity(carla.Vector3D())
            sync_world.spawn_actor(blueprint, car.get_transform())
            sync_world.tick()
        car.apply_control(carla.VehicleControl(throttle=1.0))
        settle(sync_world, 20)
        speeds.append(car.get_velocity().length())
        car.apply_control(carla.VehicleControl())
    assert speeds[0] > 4.0
    assert 0.8 < speeds[1] / (0.35 * 9.81 * 1.0) < 1.0  # a second of what the tyres can hold
