"""Every command of a batch through the real wheel, and calls that no other test makes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.embedded_carla.server.calls.test_calls_vehicles import settled, ticks

carla = pytest.importorskip("carla")
C = carla.command
V = carla.Vector3D


def run(client: Any, *commands: Any) -> list[str]:
    """The errors of commands that are carried out before the next tick."""
    return [answer.error for answer in client.apply_batch_sync(list(commands), True)]


def test_commands_on_a_vehicle_do_what_the_calls_do(client: Any, sync_world: Any) -> None:
    car = settled(sync_world, "vehicle.tesla.model3")
    goal = sync_world.get_map().get_spawn_points()[20]
    assert run(client, C.ApplyTransform(car.id, goal)) == [""]
    assert car.get_location().distance(goal.location) < 0.2
    ticks(sync_world, 20)
    assert run(client, C.ApplyTargetVelocity(car.id, V(0.0, 0.0, 4.0))) == [""]
    assert car.get_velocity().z == pytest.approx(4.0 - 0.05 * 9.81, abs=0.1)
    mass = car.get_physics_control().mass
    assert run(client, C.ApplyImpulse(car.id, V(0.0, 0.0, mass)), C.SetEnableGravity(car.id, False)) == ["", ""]
    assert car.get_velocity().z == pytest.approx(5.0 - 0.05 * 9.81, abs=0.1)
    assert run(client, C.ApplyForce(car.id, V(0.0, 0.0, 20.0 * mass))) == [""]
    assert car.get_velocity().z == pytest.approx(6.0 - 0.05 * 9.81, abs=0.1)
    assert run(client, C.ApplyTargetAngularVelocity(car.id, V(0.0, 0.0, 30.0))) == [""]
    assert car.get_angular_velocity().z == pytest.approx(30.0, abs=0.1)
    assert run(client, C.ApplyAngularImpulse(car.id, V(0.0, 0.0, 1e8))) == [""]
    turned = car.get_angular_velocity().z
    assert turned > 31.0
    assert run(client, C.ApplyTorque(car.id, V(0.0, 0.0, 1e8 / 0.05))) == [
        ""
    ]  # the same turn again in a tick of 0.05 s
    assert car.get_angular_velocity().z - turned == pytest.approx(turned - 30.0, rel=0.05)
    assert run(client, C.SetSimulatePhysics(car.id, False)) == [""]
    assert car.get_velocity().length() == 0.0


def test_commands_that_set_a_state_are_read_back(client: Any, sync_world: Any) -> None:
    car = settled(sync_world, "vehicle.tesla.model3")
    lights = carla.VehicleLightState(carla.VehicleLightState.Fog | carla.VehicleLightState.LeftBlinker)
    control, physics = carla.VehicleControl(throttle=0.25, steer=-0.5), car.get_physics_control()
    physics.mass = 2345.0
    commands = (C.SetVehicleLightState(car.id, lights), C.ApplyVehicleControl(car.id, control))
    assert run(client, *commands, C.ApplyVehiclePhysicsControl(car.id, physics)) == [""] * 3
    assert car.get_light_state() == lights
    assert sync_world.get_vehicles_light_states() == {car.id: lights}
    assert (car.get_control().throttle, car.get_control().steer) == (0.25, -0.5)
    assert car.get_physics_control().mass == 2345.0
    slow = carla.VehicleAckermannControl(speed=3.0)
    assert run(client, C.ApplyVehicleAckermannControl(car.id, slow)) == [""]
    ticks(sync_world, 100)
    assert car.get_velocity().length() == pytest.approx(3.0, abs=0.8)


def test_commands_on_a_walker_move_it(client: Any, sync_world: Any) -> None:
    blueprint = sync_world.get_blueprint_library().filter("walker.pedestrian.*")[0]
    walker = None
    sync_world.set_pedestrians_seed(1)  # some places are beside a wall or a step
    while walker is None:
        place = sync_world.get_random_location_from_navigation()
        walker = sync_world.try_spawn_actor(blueprint, carla.Transform(place))
    ticks(sync_world, 20)
    start = walker.get_location()
    assert run(client, C.ApplyWalkerControl(walker.id, carla.WalkerControl(V(0.0, 1.0, 0.0), 1.2))) == [""]
    assert walker.get_control().speed == pytest.approx(1.2)
    ticks(sync_world, 9)
    assert walker.get_location().y - start.y > 0.2
    here = walker.get_location()
    feet = carla.Transform(carla.Location(here.x, here.y + 0.3, here.z - walker.bounding_box.extent.z))
    assert run(client, C.ApplyWalkerState(walker.id, feet, 1.0)) == [""]  # CARLA's place of a state is between the feet
    assert walker.get_location().distance(here + carla.Location(y=0.3)) < 0.15


def test_commands_that_cannot_be_carried_out_say_why_and_stop_no_other(client: Any, sync_world: Any) -> None:
    car = settled(sync_world, "vehicle.tesla.model3")
    light = sync_world.get_actors().filter("traffic.traffic_light*")[0]
    errors = run(
        client, C.DestroyActor(10**6), C.ApplyVehicleControl(light.id, carla.VehicleControl()),
        C.ApplyVehicleControl(car.id, carla.VehicleControl(brake=0.5)),
    )  # fmt: skip
    assert "1000000" in errors[0]
    assert "no vehicle" in errors[1]
    assert errors[2] == ""
    assert car.get_control().brake == 0.5


def test_street_lamps_are_read_back_by_their_manager(sync_world: Any) -> None:
    manager = sync_world.get_lightmanager()
    lamps = manager.get_all_lights()[:2]
    manager.set_day_night_cycle(False)
    manager.turn_on(lamps)
    manager.set_colors(lamps, [carla.Color(255, 0, 0), carla.Color(0, 255, 0)])
    manager.set_intensities(lamps, [10.0, 20.0])
    manager.set_light_groups(lamps, [carla.LightGroup.Building, carla.LightGroup.Street])
    ticks(sync_world, 3)
    assert manager.get_color(lamps) == [carla.Color(255, 0, 0), carla.Color(0, 255, 0)]
    assert manager.get_intensity(lamps) == [10.0, 20.0]
    assert manager.get_light_group(lamps) == [carla.LightGroup.Building, carla.LightGroup.Street]
    assert {lamp.id for lamp in manager.get_turned_on_lights()} == {lamp.id for lamp in lamps}
    state = carla.LightState(7.0, carla.Color(4, 5, 6), carla.LightGroup.Street, False)
    manager.set_light_states(lamps, [state, state])
    ticks(sync_world, 3)
    assert not manager.get_turned_on_lights()
    assert manager.get_intensity(lamps) == [7.0, 7.0]
    manager.set_day_night_cycle(True)
    ticks(sync_world, 3)


def test_lights_of_a_waypoint_and_of_a_junction_are_the_same(sync_world: Any) -> None:
    light = sync_world.get_actors().filter("traffic.traffic_light*")[0]
    before = light.get_stop_waypoints()[0].previous(10.0)[0]
    ahead = sync_world.get_traffic_lights_from_waypoint(before, 60.0)
    assert light.id in {actor.id for actor in ahead}
    junction = light.get_affected_lane_waypoints()[0].get_junction()
    there = {actor.id for actor in sync_world.get_traffic_lights_in_junction(junction.id)}
    assert {actor.id for actor in light.get_group_traffic_lights()} <= there
