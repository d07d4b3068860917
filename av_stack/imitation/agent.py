"""The agent that drives by imitation: a network computes path and target speed, the stack's controllers follow them.

Its inputs are the picture of one camera, the wheel speed, and the route on the map, placed by a position from GNSS, IMU
and wheels. It gets no lanes, road users, lights or signs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from av_core.types import Float, Indicator, LaneGraph, Pose2D, SensorFrame, VehicleParameters
from av_stack.agents.base import AgentStep
from av_stack.imitation.following import PathFollower
from av_stack.imitation.geometry import seen_from
from av_stack.imitation.pointer import RoutePointer
from control import ControlConfig
from control.lights import choose_lights
from perception.imitation.driver import ImitationDriver
from perception.imitation.samples import PATH_AHEAD_M
from planning import Route


class ImitationAgent:
    """Drives along `route`; the network `driver` computes path and target speed from the pictures of `camera`.

    If a picture is missing, the ego stops on the last path.
    """

    def __init__(
        self,
        driver: ImitationDriver,
        camera: str,
        graph: LaneGraph,
        vehicle: VehicleParameters,
        route: Route,
        control: ControlConfig,
    ) -> None:
        self._driver, self._camera = driver, camera
        self._pointer = RoutePointer(graph, route)
        self._follower = PathFollower(vehicle, control)
        self._path_m: Float = np.array([[s, 0.0] for s in PATH_AHEAD_M])

    def step(self, frame: SensorFrame) -> AgentStep:
        ego, points = self._pointer.update(frame)
        target_mps = 0.0
        image = frame.cameras.get(self._camera)
        if image is not None:
            route_m = seen_from(points, Pose2D(ego.x_m, ego.y_m, ego.yaw_rad))
            self._path_m, target_mps = self._driver.decide(image.bgr, frame.wheel_speed_mps, route_m)
        command = self._follower.step(ego, self._path_m, target_mps)
        lights = choose_lights(command.brake, Indicator.OFF, is_view_poor=False, is_stopping_safely=False)
        return AgentStep(replace(command, lights=lights))

    def close(self) -> None:
        """Nothing to release."""
