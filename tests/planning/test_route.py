from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from av_core.errors import RouteError
from av_core.types import LaneGraph, LaneKey, Pose2D, Signal, SignalKind, Stamp
from planning import find_route
from planning.astar import shortest_path
from planning.config import RouteConfig
from planning.reference_path import Route, lane_points
from planning.route import LaneSearch, RouteTracker
from tests.control.vehicle_model import VehicleState
from tests.planning.closed_loop import ego_state
from tests.planning.lanes_by_hand import beside, chain, end_of, join, key, straight

CONFIG = RouteConfig()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.floats(0.02, 0.3))
def test_a_star_costs_what_networkx_says(seed: int, count: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    at = rng.uniform(0, 100, (count, 2))
    graph = nx.DiGraph()
    graph.add_nodes_from(range(count))
    for a in range(count):
        for b in range(count):
            if a != b and rng.random() < density:
                graph.add_edge(a, b, weight=float(np.hypot(*(at[a] - at[b])) * rng.uniform(1.0, 3.0)))
    found = shortest_path(
        0,
        count - 1,
        lambda node: [(other, data["weight"]) for other, data in graph[node].items()],
        lambda node: float(np.hypot(*(at[node] - at[count - 1]))),
    )
    if not nx.has_path(graph, 0, count - 1):
        assert found is None
        return
    assert found is not None
    path, cost = found
    assert cost == pytest.approx(nx.shortest_path_length(graph, 0, count - 1, "weight"))
    assert cost == pytest.approx(nx.path_weight(graph, path, "weight"))


def random_grid(seed: int) -> LaneGraph:
    """Streets on a grid, some of them missing, with two lanes each and lane changes on some stretches."""
    rng = np.random.default_rng(seed)
    lanes = []
    number = 0
    for i in range(4):
        for j in range(4):
            for yaw in (0.0, np.pi / 2, np.pi, -np.pi / 2):
                if rng.random() < 0.25:
                    continue
                x, y = 100.0 * i, 100.0 * j
                limit = float(rng.choice([8.0, 14.0, 25.0]))
                right = straight(key(number), x, y, yaw, 100.0, limit)
                left = straight(key(number, -2), x - 3.5 * np.sin(yaw), y + 3.5 * np.cos(yaw), yaw, 100.0, limit)
                lanes += beside(right, left, float(rng.uniform(0, 60)), float(rng.uniform(50, 100)))
                number += 1
    # Streets follow each other with any turn, lane by lane: geometry does not matter to the search.
    linked = []
    for lane in lanes:
        after = [
            other.key
            for other in lanes
            if other.key.lane_id == lane.key.lane_id
            and np.hypot(*(other.points[0, :2] - lane.points[-1, :2])) < 8.0
            and np.cos(other.yaw_rad[0] - lane.yaw_rad[0]) > -0.5
        ]
        linked.append(replace(lane, successors=tuple(after)))
    return LaneGraph("grid", {lane.key: lane for lane in linked}, (), chain([("straight", 10, 0)]).geo)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_route_cost_on_lane_graphs_equals_networkx(seed: int) -> None:
    graph = random_grid(seed)
    rng = np.random.default_rng(seed + 1)
    keys = list(graph.lanes)
    first, last = keys[rng.integers(len(keys))], keys[rng.integers(len(keys))]
    ends = [(first, float(rng.uniform(5, 45))), (last, float(rng.uniform(50, 95)))]
    search = LaneSearch(graph, CONFIG, ends)
    start, goal = search.node(*ends[0]), search.node(*ends[1])
    check = nx.DiGraph()
    stack, seen = [start], {start}
    while stack:
        node = stack.pop()
        for other, cost in search.edges(node):
            check.add_edge(
                node, other, weight=min(cost, check.get_edge_data(node, other, {"weight": np.inf})["weight"])
            )
            if other not in seen:
                seen.add(other)
                stack.append(other)
    poses = []
    for name, s in ends:
        lane = graph.lanes[name]
        x, y, _ = lane_points(lane, np.array([s]))[0]
        poses.append(Pose2D(float(x), float(y), float(lane.yaw_rad[0])))
    if goal not in seen:
        with pytest.raises(RouteError, match="start to goal"):
            find_route(graph, poses[0], poses[1])
        return
    route = find_route(graph, poses[0], poses[1])
    assert route.cost_s == pytest.approx(nx.shortest_path_length(check, start, goal, "weight"))


def two_lanes(allowed_from: float, allowed_to: float) -> LaneGraph:
    return join(beside(straight(key(0), 0, 0, 0, 200), straight(key(0, -2), 0, 3.5, 0, 200), allowed_from, allowed_to))


def test_lane_change_where_it_is_allowed_and_smooth() -> None:
    route = find_route(two_lanes(60.0, 130.0), Pose2D(5, 0, 0), Pose2D(190, 3.5, 0))
    changing = route.s_m[route.is_change]
    assert 55.0 - 1 <= changing.min() < changing.max() <= 125.0 + 1
    assert 20.0 <= changing.max() - changing.min() <= 70.0
    assert route.curve.y_m[0] == pytest.approx(0.0, abs=0.05)
    assert route.curve.y_m[-1] == pytest.approx(3.5, abs=0.05)
    assert np.abs(route.curve.curvature_1pm).max() < 0.02
    assert np.abs(np.diff(route.curve.curvature_1pm)).max() < 0.002
    assert [piece.change_from for piece in route.pieces] == [None, key(0), None]


def test_lane_change_needs_room() -> None:
    with pytest.raises(RouteError, match="start to goal"):
        find_route(two_lanes(60.0, 75.0), Pose2D(5, 0, 0), Pose2D(190, 3.5, 0))


def test_errors_name_the_pose() -> None:
    graph = two_lanes(0.0, 200.0)
    with pytest.raises(RouteError, match=r"start \(5\.0, 50\.0, 0 deg\) is on no lane"):
        find_route(graph, Pose2D(5, 50, 0), Pose2D(100, 0, 0))
    with pytest.raises(RouteError, match=r"goal .* is on no lane"):
        find_route(graph, Pose2D(5, 0, 0), Pose2D(100, 0, np.pi))
    with pytest.raises(RouteError, match="via point 1"):
        find_route(graph, Pose2D(5, 0, 0), Pose2D(100, 0, 0), [Pose2D(50, 90, 0)])


def test_via_leads_another_way() -> None:
    route = find_route(two_lanes(0.0, 200.0), Pose2D(5, 0, 0), Pose2D(190, 0, 0), [Pose2D(90, 3.5, 0)])
    assert sum(piece.change_from is not None for piece in route.pieces) == 2
    assert float(np.interp(90, route.curve.x_m, route.curve.y_m)) == pytest.approx(3.5, abs=0.1)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("straight"), st.floats(5, 80), st.just(0.0)),
            st.tuples(st.just("arc"), st.floats(6, 60), st.floats(0.3, 1.57)),
            st.tuples(st.just("arc"), st.floats(6, 60), st.floats(-1.57, -0.3)),
        ),
        min_size=1,
        max_size=6,
    )
)
@example([("arc", 6.0, -1.5625), ("arc", 6.0, -1.5625)])
@example([("arc", 6.0, 0.3227), ("straight", 24.98, 0.0), ("arc", 8.559, 0.4)])  # short sharp bends at both ends
@example([("arc", 6.0, 0.3426), ("arc", 45.52, -0.6403), ("arc", 6.0, 0.3779)])
@example([("arc", 6.0, 0.3)])  # shorter than the bends that smoothing rounds off
def test_path_keeps_to_the_lane_centre_and_turns_smoothly(parts: list[tuple[str, float, float]]) -> None:
    graph = chain(parts)
    lanes = list(graph.lanes.values())
    route = find_route(graph, Pose2D(0, 0, 0), Pose2D(*end_of(lanes[-1])))
    offset = centre_offset(graph, route)
    assert offset.max() <= 0.05
    assert np.all(np.diff(route.s_m) > 0)
    # A whole number of steps fits the length, so a short route's steps differ from the nominal spacing; and smoothing
    # may move a point by its greatest offset, of which the ends of a tight bend take most: they stay where they are.
    fitting_m = 0.5 * CONFIG.spacing_m**2 / route.length_m
    assert np.abs(np.diff(route.s_m) - CONFIG.spacing_m).max() < fitting_m + CONFIG.smoothing_max_offset_m
    sharpest = max([1 / size for shape, size, _ in parts if shape == "arc"], default=0.0)
    assert np.abs(route.curve.curvature_1pm).max() <= 1.35 * sharpest + 0.01
    turn = sum(angle for _, _, angle in parts)
    assert route.curve.yaw_rad[-1] - route.curve.yaw_rad[0] == pytest.approx(turn, abs=0.05)


def centre_offset(graph: LaneGraph, route: Route) -> np.ndarray:
    """Distance of the route's points from the lane centres, outside lane changes."""
    lanes = [graph.lanes[name] for name in dict.fromkeys(route.lanes)]
    centre = np.concatenate(
        [lane_points(lane, np.linspace(0, lane.length_m, int(lane.length_m * 50) + 2)) for lane in lanes]
    )
    at = np.column_stack([route.curve.x_m, route.curve.y_m])[~route.is_change]
    return np.asarray(cKDTree(centre[:, :2]).query(at)[0])


def test_signals_lie_along_the_route() -> None:
    lanes = [
        straight(key(0), 0, 0, 0, 80),
        straight(key(1), 80, 0, 0, 20, junction=True),
        straight(key(2), 100, 0, 0, 50),
    ]
    signals = [
        Signal("12", SignalKind.TRAFFIC_LIGHT, key(1), 0.0),
        Signal("13", SignalKind.STOP, key(2), 40.0),
        Signal("99", SignalKind.STOP, key(0), 3.0),
    ]
    route = find_route(join(lanes, signals), Pose2D(10, 0, 0), Pose2D(150, 0, 0))
    assert [(s.signal_id, round(s.stop_s_m, 1)) for s in route.signals] == [("12", 70.0), ("13", 130.0)]


def test_tracker_keeps_its_place_where_the_route_crosses_itself() -> None:
    graph = chain([("straight", 60, 0), ("arc", 20, 1.5 * np.pi), ("straight", 60, 0)])
    lanes = list(graph.lanes.values())
    route = find_route(graph, Pose2D(0, 0, 0), Pose2D(*end_of(lanes[-1])))
    tracker = RouteTracker(route)
    rng = np.random.default_rng(3)
    for i in range(0, len(route.s_m), 2):
        side = float(rng.normal(0, 0.3))
        x, y, yaw = (float(value) for value in route.curve.pose_at(route.s_m[i], side))
        state = VehicleState(x, y, yaw + 0.1, 10.0)
        progress = tracker.update(ego_state(state, Stamp(i, 0.1 * i)))
        assert progress.s_m == pytest.approx(float(route.s_m[i]), abs=0.6)
        assert progress.cross_track_m == pytest.approx(side, abs=0.06)
        assert progress.heading_error_rad == pytest.approx(0.1, abs=0.05)


def test_tracker_begins_at_the_start_of_a_route_that_ends_there() -> None:
    """On a loop through Town02 the ego's rear axle was nearer to the end: it believed that it had arrived."""
    graph = chain([("arc", 60.0, np.pi), ("arc", 60.0, np.pi)])
    last = list(graph.lanes.values())[-1].curve
    goal, axle = (tuple(map(float, last.pose_at(last.length_m - before_m))) for before_m in (2.7, 1.4))
    route = find_route(graph, Pose2D(0, 0, 0), Pose2D(*goal))
    assert route.length_m > 300.0
    assert RouteTracker(route).update(ego_state(VehicleState(axle[0], axle[1], axle[2], 0.0), Stamp(0, 0.0))).s_m < 1.0


@pytest.mark.parametrize("town", ["Town01", "Town02", "Town04", "Town10HD"])
def test_routes_on_carlas_towns_keep_to_the_lanes(town: str, data_dir: Path) -> None:
    import carla

    from av_stack.world.carla.map import lane_graph

    text = (data_dir / "maps" / f"{town}.xodr").read_text()
    graph = lane_graph(carla.Map(town, text))
    rng = np.random.default_rng(5)
    keys: list[LaneKey] = [k for k, lane in graph.lanes.items() if lane.length_m > 15 and not lane.is_junction]
    found = 0
    for _ in range(12):
        poses = []
        for number in rng.integers(len(keys), size=2):
            lane = graph.lanes[keys[number]]
            i = len(lane.points) // 2
            poses.append(Pose2D(float(lane.points[i, 0]), float(lane.points[i, 1]), float(lane.yaw_rad[i])))
        try:
            route = find_route(graph, poses[0], poses[1])
        except RouteError:
            continue
        found += 1
        assert centre_offset(graph, route).max() <= 0.05 + 0.01
        assert np.abs(route.curve.curvature_1pm).max() < 0.5
        assert np.isfinite(route.curve.curvature_1pm).all()
    assert found >= 8
