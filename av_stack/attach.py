"""Drives an ego that another program spawned, to a goal or along its lane: `attach`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import numpy as np

from av_core.errors import RouteError, WorldError
from av_core.frames import carla_to_map_points
from av_core.types import LaneGraph, LaneKey, Pose2D, Truth
from av_stack.assembly import Settings, build_pipeline
from av_stack.run import DEFAULT_RIG, STANDING_MPS, needed_weights
from av_stack.server_watchdog import ServerWatchdog
from av_stack.world.carla.attached import AttachedEgo
from av_stack.world.spec import Address
from perception.device import build_backend
from planning import PlanningConfig, Route, find_route, pose_on_lane
from sim_configs.load import load_rig, load_stack

LANE_AHEAD_M = 1000.0
"""Largest length of a route that follows the lane, where there is no goal."""

NEAR_END_M = 5.0
"""The ego has arrived when it stands within this distance of the route's end."""


def attach(
    address: Address,
    role: str,
    goal: tuple[float, float] | None,
    device: str,
    say: Callable[[str], None],
    abandon: Callable[[str, int], None],
) -> str:
    """Wait for the vehicle with this role, drive it, and release it; returns how the drive ended, in words.

    `goal` is a place (x, y) in CARLA's frame. When the server dies, another thread calls `abandon` with the error and
    the exit status; it must end the process, since the wheel would wait for its time-out. Raises WorldError where the
    server stays silent, RouteError where no route leads to the goal.
    """

    def lose_server() -> None:
        error = WorldError(f"the CARLA server at {address} went away (its connections are closed)")
        abandon(str(error), error.exit_status)

    # `beat` is never called, so the server is lost only when it closes its connections: it may be slow here.
    with closing(ServerWatchdog(address, lose_server)):
        return _attach(address, role, goal, device, say)


def _attach(
    address: Address, role: str, goal: tuple[float, float] | None, device: str, say: Callable[[str], None]
) -> str:
    say(f"waiting for a vehicle with the role {role} at {address}")
    rig, stack = load_rig(DEFAULT_RIG[device]), load_stack("default")
    ego = AttachedEgo(address, role, rig)
    with closing(ego):
        ego.equip()
        route = route_from(ego.lane_graph, ego.pose, goal, stack.planning)
        backend = build_backend(rig.cameras, needed_weights((), None, device), device)
        settings = Settings(stack.planning, stack.control, rig.cameras, rig.radars)
        pipeline = build_pipeline(ego.lane_graph, ego.vehicle, route, settings, _no_truth, (), backend)
        say(f"driving vehicle {ego.ego.id} ({ego.ego.type_id}) along a route of {route.length_m:.0f} m")
        while (frame := ego.tick()) is not None:
            step = pipeline.step(frame)
            ego.apply(step.command)
            is_near = step.plan.route_s_m > route.length_m - NEAR_END_M
            if is_near and abs(frame.wheel_speed_mps) < STANDING_MPS:
                return "arrived"
    return "the vehicle is gone"


def route_from(graph: LaneGraph, start: Pose2D, goal: tuple[float, float] | None, config: PlanningConfig) -> Route:
    """The route from `start` to the goal, or along the lane: at each fork the way that bends least."""
    if goal is not None:
        x_m, y_m = (float(value) for value in carla_to_map_points(goal))
        return find_route(graph, start, pose_on_lane(graph, x_m, y_m), (), config.route)
    via = _ends_ahead(graph, start)
    return find_route(graph, start, via[-1], via[:-1], config.route)


def _ends_ahead(graph: LaneGraph, start: Pose2D) -> list[Pose2D]:
    """The ends of the lanes ahead, without those in junctions, up to `LANE_AHEAD_M`."""
    key = _lane_at(graph, start)
    row = graph.lanes[key].curve.nearest(start.x_m, start.y_m)
    length_m = float(graph.lanes[key].length_m - graph.lanes[key].s_m[row])
    found = [_end_of(graph, key)]
    seen = {key}
    while length_m < LANE_AHEAD_M:
        ways = [way for way in graph.lanes[key].successors if way in graph.lanes and way not in seen]
        if not ways:
            break
        key = min(ways, key=lambda way: abs(float(graph.lanes[way].curve.yaw_rad[-1] - graph.lanes[way].yaw_rad[0])))
        seen.add(key)
        length_m += graph.lanes[key].length_m
        if not graph.lanes[key].is_junction:
            found.append(_end_of(graph, key))
    return found


def _lane_at(graph: LaneGraph, pose: Pose2D) -> LaneKey:
    """The nearest lane in the direction of `pose`."""

    def off_m(key: LaneKey) -> float:
        curve = graph.lanes[key].curve
        row = curve.nearest(pose.x_m, pose.y_m)
        turned = 1.0 - float(np.cos(curve.yaw_rad[row] - pose.yaw_rad))
        return float(np.hypot(curve.x_m[row] - pose.x_m, curve.y_m[row] - pose.y_m)) + 10.0 * turned

    nearest = min(graph.lanes, key=off_m)
    if off_m(nearest) > 6.0:
        raise RouteError(f"the vehicle is on no driving lane of {graph.name}")
    return nearest


def _end_of(graph: LaneGraph, key: LaneKey) -> Pose2D:
    lane = graph.lanes[key]
    x, y, yaw = lane.curve.pose_at(max(lane.length_m - 1.0, lane.length_m / 2))
    return Pose2D(float(x), float(y), float(yaw))


def _no_truth() -> Truth:
    raise RuntimeError("no oracle is used")
