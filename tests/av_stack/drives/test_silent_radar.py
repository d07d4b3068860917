"""A radar falls silent while the car drives: the plan names it, and the drive goes on at a moderate speed."""

from __future__ import annotations

from dataclasses import replace

from av_stack.assembly import Settings, build_pipeline
from av_stack.mission import mission_route, world_spec
from av_stack.results.constraint_text import describe
from av_stack.world.carla.weather import weather_presets
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address
from perception.device import PerceptionBackend
from perception.lanes.detector import LaneDetector
from planning.fallback import CAUTIOUS_MPS
from scenarios.model import load_scenario
from sim_configs.load import load_rig, load_stack, load_weather

SILENT = "radar_front_left"


def test_the_drive_goes_on_without_a_radar(city_server: Address) -> None:
    scenario = load_scenario("town_drive")
    rig, stack = load_rig("compact"), load_stack(scenario.ego.stack)
    weather = load_weather(scenario.weather, weather_presets())
    world = CarlaWorld(city_server, replace(world_spec(scenario, rig, weather), traffic_vehicles=0))
    sees_nothing = PerceptionBackend(LaneDetector(), lambda image: ())
    try:
        route = mission_route(world.lane_graph, scenario, stack.planning)
        settings = Settings(stack.planning, stack.control, rig.cameras, rig.radars)
        pipeline = build_pipeline(
            world.lane_graph, world.vehicle, route, settings, world.truth, ("lights",), sees_nothing
        )
        told: list[str] = []
        for tick in range(70):
            frame = world.tick()
            if tick >= 20:
                frame = replace(frame, radars={name: frame.radars[name] for name in frame.radars if name != SILENT})
            step = pipeline.step(frame)
            world.apply(step.command)
            told.append(describe(step.plan.constraint))
        speed_mps = world.truth().ego_speed_mps
    finally:
        world.close()
    reported = [SILENT in text for text in told]
    assert not any(reported[:20])
    assert reported[22], "told in the third tick at the latest"
    assert all(reported[22:])
    assert told[-1] == f"sensor {SILENT} missing: slower"
    assert 2.0 < speed_mps < CAUTIOUS_MPS + 0.5
