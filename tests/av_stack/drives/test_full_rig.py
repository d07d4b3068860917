"""Perception over the full rig's five cameras on the real server: who stands round the car is seen by one of them."""

from __future__ import annotations

import math
from importlib.util import find_spec

import carla
import pytest

from av_core.frames import map_to_carla_points, map_to_carla_yaw, map_to_vehicle, vehicle_to_map
from av_core.types import Pose2D, StepResult
from av_stack.assembly import Settings, build_pipeline
from av_stack.mission import mission_route, world_spec
from av_stack.results.constraint_text import describe
from av_stack.run import DEFAULT_RIG
from av_stack.world.carla.client import connect
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address
from perception.detection.weights import COMPACT
from perception.device import build_backend
from scenarios.model import Scenario, load_scenario
from sim_configs.load import load_rig, load_stack

ROUND = ((14.0, 0.0), (1.4, 3.6), (-10.0, 0.3))
"""Ahead, beside and behind, in the vehicle frame."""


def park_round(address: Address, ego: Pose2D, z_m: float) -> list[int]:
    """Cars at `ROUND` of the ego; their ids."""
    client = connect(address)
    world = client.get_world()
    blueprint = world.get_blueprint_library().find("vehicle.audi.tt")
    yaw_deg, ids = float(map_to_carla_yaw(ego.yaw_rad)), []
    for x, y in map_to_carla_points(vehicle_to_map(ROUND, ego)).tolist():
        place = carla.Transform(carla.Location(x=x, y=y, z=z_m + 0.3), carla.Rotation(yaw=yaw_deg))
        ids.append(world.spawn_actor(blueprint, place).id)
    return ids


def places(step: StepResult) -> list[tuple[float, float]]:
    """Of the tracks, in the vehicle frame."""
    ego, objects = step.scene.ego, step.scene.objects
    pose = Pose2D(ego.x_m, ego.y_m, ego.yaw_rad)
    return [tuple(map_to_vehicle([thing.x_m, thing.y_m], pose).tolist()) for thing in objects]


@pytest.mark.skipif(find_spec("openvino") is None, reason="openvino is not installed")
def test_who_stands_round_the_car_is_seen(city_server: Address) -> None:
    scenario = load_scenario("town_drive")
    scenario = scenario.model_copy(update={"traffic": type(scenario.traffic)(vehicles=0), "walkers": ()})
    rig, stack = load_rig("full"), load_stack()
    world = CarlaWorld(city_server, world_spec(scenario, rig, "ClearNoon"))
    ids: list[int] = []
    try:
        truth = world.truth()
        ids = park_round(city_server, truth.ego, truth.ego_z_m)
        route = mission_route(world.lane_graph, scenario, stack.planning)
        settings = Settings(stack.planning, stack.control, rig.cameras, rig.radars)
        backend = build_backend(rig.cameras, COMPACT, "cpu")
        pipeline = build_pipeline(world.lane_graph, world.vehicle, route, settings, world.truth, (), backend)
        world.show_pictures(pipeline.begin)
        for _ in range(8):  # the ego stands: nobody applies the commands
            step = pipeline.step(world.tick())
        found = places(step)
        for at in ROUND:
            near = [place for place in found if math.hypot(place[0] - at[0], place[1] - at[1]) < 1.5]
            assert len(near) == 1, f"{at}: {found}"
        ahead = [thing for thing, (x, _) in zip(step.scene.objects, found, strict=True) if x > 10.0]
        assert all(thing.box_px is None for thing in step.scene.objects if thing not in ahead)
        assert any(thing.box_px is not None for thing in ahead)
        assert not describe(step.plan.constraint).startswith("camera")
    finally:
        client = connect(city_server)
        client.apply_batch_sync([carla.command.DestroyActor(one) for one in ids], False)
        world.close()


def test_a_scenario_need_not_name_a_rig() -> None:
    assert load_scenario("town_drive").ego.rig is None
    assert {name: len(load_rig(name).cameras) for name in DEFAULT_RIG.values()} == {"compact": 1, "full": 5}
    assert DEFAULT_RIG["cuda"] == "full"
    named = {**load_scenario("town_drive").model_dump(), "ego": {"rig": "full"}}
    assert Scenario.model_validate(named).ego.rig == "full"
