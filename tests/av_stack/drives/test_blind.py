"""The camera fails while the car drives: it slows at once and after a second stops in its lane with hazard lights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from av_core.frames import map_to_vehicle
from av_core.types import CameraImage, SensorFrame
from av_stack.assembly import DETECTOR_ORACLES, Settings, build_pipeline
from av_stack.mission import mission_route, world_spec
from av_stack.results.constraint_text import describe
from av_stack.world.carla.weather import weather_presets
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address
from scenarios.model import load_scenario
from sim_configs.load import load_rig, load_stack, load_weather

STEP_S = 0.05


def blinded(frame: SensorFrame, how: str) -> SensorFrame:
    if how == "missing":
        return replace(frame, cameras={})
    image = frame.cameras["front"]
    return replace(frame, cameras={"front": CameraImage(image.stamp, image.camera, np.zeros_like(image.bgr))})


@pytest.mark.parametrize("how", ["black", "missing"])
def test_a_camera_that_fails_for_good_ends_in_a_safe_stop(city_server: Address, how: str) -> None:
    scenario = load_scenario("town_drive")
    rig, stack = load_rig("compact"), load_stack(scenario.ego.stack)
    world = CarlaWorld(city_server, world_spec(scenario, rig, load_weather(scenario.weather, weather_presets())))
    try:
        route = mission_route(world.lane_graph, scenario, stack.planning)
        settings = Settings(stack.planning, stack.control, rig.cameras, rig.radars)
        pipeline = build_pipeline(world.lane_graph, world.vehicle, route, settings, world.truth, DETECTOR_ORACLES)
        blind: list[tuple[float, bool, str]] = []  # speed, hazard lights, what bound the speed
        for _ in range(400):
            frame = world.tick()
            moving = blind or world.truth().ego_speed_mps > 6.0
            step = pipeline.step(blinded(frame, how) if moving else frame)
            world.apply(step.command)
            truth = world.truth()
            assert truth.collisions == ()
            if moving:
                blind.append((truth.ego_speed_mps, step.command.lights.hazard, describe(step.plan.constraint)))
            if moving and abs(truth.ego_speed_mps) < 0.05 and len(blind) > 20:
                break
        ego = truth.ego
    finally:
        world.close()
    told = [how in constraint for _, _, constraint in blind]
    assert any(told[:2])  # within two pictures
    lit = [lights for _, lights, _ in blind]
    assert lit.index(True) * STEP_S == pytest.approx(1.0, abs=0.11)
    assert all(lit[lit.index(True) :])
    assert blind[-1][0] < 0.05
    assert len(blind) * STEP_S < 6.0
    offsets = map_to_vehicle(np.column_stack([route.curve.x_m, route.curve.y_m]), ego)
    assert np.abs(offsets[np.argmin(np.hypot(*offsets.T)), 1]) < 0.4  # still in the middle of its lane
