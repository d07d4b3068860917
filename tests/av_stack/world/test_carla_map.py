"""The lane graph agrees with the wheel's own map, on CARLA's real towns."""

from __future__ import annotations

from pathlib import Path

import carla
import numpy as np
import pytest

from av_core.frames import wrap_angle
from av_core.lane_points import nearest_lane
from av_core.types import LaneGraph, MarkingKind, SignalKind
from av_stack.world.carla.map import lane_graph
from av_stack.world.carla.map.start import waypoint_of_start

TOWNS = ("Town01", "Town02", "Town04", "Town10HD")


@pytest.fixture(scope="module", params=TOWNS)
def town(request: pytest.FixtureRequest, data_dir: Path) -> tuple[carla.Map, LaneGraph]:
    text = (data_dir / "maps" / f"{request.param}.xodr").read_text()
    carla_map = carla.Map(request.param, text)
    return carla_map, lane_graph(carla_map)


def test_lanes_join_without_gaps(town: tuple[carla.Map, LaneGraph]) -> None:
    _, graph = town
    for lane in graph.lanes.values():
        for key in lane.successors:
            after = graph.lanes[key]
            assert np.linalg.norm(lane.points[-1] - after.points[0]) < 0.05
            assert abs(wrap_angle(lane.yaw_rad[-1] - after.yaw_rad[0])) < np.radians(10.0)
            assert lane.key in after.predecessors


def test_every_edge_of_carlas_topology_is_there(town: tuple[carla.Map, LaneGraph]) -> None:
    carla_map, graph = town
    starts = {(w.road_id, w.section_id, w.lane_id) for edge in carla_map.get_topology() for w in edge}
    known = {(key.road_id, key.section, key.lane_id) for key in graph.lanes}
    assert starts <= known


def test_geometry_is_what_waypoints_say(town: tuple[carla.Map, LaneGraph]) -> None:
    """Each of CARLA's waypoints lies on the lane that bears its name, and looks the same way."""
    carla_map, graph = town
    by_name = {(key.road_id, key.section, key.lane_id): lane for key, lane in graph.lanes.items()}
    for waypoint in carla_map.generate_waypoints(25.0):
        lane = by_name[(waypoint.road_id, waypoint.section_id, waypoint.lane_id)]
        at = waypoint.transform.location
        distance = np.hypot(lane.points[:, 0] - at.x, lane.points[:, 1] + at.y)
        nearest = int(np.argmin(distance))
        assert distance[nearest] < 0.75
        assert abs(wrap_angle(lane.yaw_rad[nearest] + np.radians(waypoint.transform.rotation.yaw))) < 0.3
        assert lane.width_m[nearest] == pytest.approx(waypoint.lane_width, abs=0.3)


def test_neighbours_lie_beside(town: tuple[carla.Map, LaneGraph]) -> None:
    _, graph = town
    for lane in graph.lanes.values():
        for neighbour, sign in ((lane.left, 1.0), (lane.right, -1.0)):
            if neighbour is None:
                continue
            middle = len(lane.s_m) // 2
            offset = graph.lanes[neighbour].points[:, :2] - lane.points[middle, :2]
            nearest = offset[np.argmin(np.hypot(*offset.T))]
            yaw = lane.yaw_rad[middle]
            assert sign * (-np.sin(yaw) * nearest[0] + np.cos(yaw) * nearest[1]) > 1.0


def test_traffic_lights_govern_the_entries_of_junctions(town: tuple[carla.Map, LaneGraph]) -> None:
    carla_map, graph = town
    lights = {signal.signal_id for signal in graph.signals if signal.kind is SignalKind.TRAFFIC_LIGHT}
    assert lights == {landmark.id for landmark in carla_map.get_all_landmarks_of_type("1000001")}
    for signal in graph.signals:
        assert 0.0 <= signal.stop_s_m <= graph.lanes[signal.lane].length_m


def test_limits_and_marks_of_known_roads(data_dir: Path) -> None:
    """Town01: 25 mph everywhere, a broken centre line; Town04's motorway: 65 mph."""
    town01 = lane_graph(carla.Map("Town01", (data_dir / "maps" / "Town01.xodr").read_text()))
    assert {round(lane.speed_limit_mps, 3) for lane in town01.lanes.values()} == {round(25 * 0.44704, 3)}
    kinds = [kind for lane in town01.lanes.values() if not lane.is_junction for kind in lane.left_marking]
    assert kinds.count(MarkingKind.BROKEN) > 0.9 * len(kinds)
    town04 = lane_graph(carla.Map("Town04", (data_dir / "maps" / "Town04.xodr").read_text()))
    assert max(lane.speed_limit_mps for lane in town04.lanes.values()) == pytest.approx(65 * 0.44704)
    assert any(lane.left is not None for lane in town04.lanes.values())


ONE_ROAD = """<?xml version="1.0"?><OpenDRIVE><header revMajor="1" revMinor="4" name="" version="1"/>
<road name="" length="50" id="1" junction="-1"><planView>
<geometry s="0" x="0" y="0" hdg="0" length="50"><line/></geometry></planView><lanes><laneSection s="0">
<center><lane id="0" type="none"/></center>
<right><lane id="-1" type="driving"><width sOffset="0" a="3.5" b="0" c="0" d="0"/></lane></right>
</laneSection></lanes></road>
<road name="" length="50" id="2" junction="-1"><planView>
<geometry s="0" x="0" y="50" hdg="0" length="50"><spiral curvStart="0.01" curvEnd="0.01"/></geometry></planView>
<lanes><laneSection s="0"><center><lane id="0" type="none"/></center>
<right><lane id="-1" type="driving"><width sOffset="0" a="3.5" b="0" c="0" d="0"/></lane></right>
</laneSection></lanes></road></OpenDRIVE>"""


def test_lanes_without_markings_are_kept_and_lanes_without_positions_left_out() -> None:
    """CARLA gives None for a marking that is not recorded, and NaN along a spiral of constant curvature."""
    graph = lane_graph(carla.Map("OneRoad", ONE_ROAD))
    (lane,) = graph.lanes.values()
    assert lane.key.road_id == 1
    assert set(lane.left_marking) == set(lane.right_marking) == {MarkingKind.NONE}
    assert np.isfinite(lane.points).all()


def test_a_route_starts_on_the_lane_that_it_was_planned_on(town: tuple[carla.Map, LaneGraph]) -> None:
    """Also on Town04's bridges, where CARLA's search at the height 0 finds the road below."""
    carla_map, graph = town
    rng = np.random.default_rng(5)
    lanes = [lane for lane in graph.lanes.values() if not lane.is_junction and lane.length_m > 10.0]
    for number in rng.choice(len(lanes), 100):
        lane = lanes[int(number)]
        x, y, _ = lane.points[int(rng.integers(5, len(lane.points) - 5))]
        nearest, row = nearest_lane(graph, float(x), float(y))
        found = waypoint_of_start(carla_map, graph, float(x), -float(y))
        at = found.transform.location
        assert (found.road_id, found.lane_id) == (nearest.key.road_id, nearest.key.lane_id)
        assert np.allclose((at.x, -at.y, at.z), nearest.points[row], atol=0.75)


def test_a_start_on_a_bridge_is_on_the_bridge(data_dir: Path) -> None:
    carla_map = carla.Map("Town04", (data_dir / "maps" / "Town04.xodr").read_text())
    assert carla_map.get_waypoint(carla.Location(x=-18.4, y=16.5)).road_id == 47
    found = waypoint_of_start(carla_map, lane_graph(carla_map), -18.4, 16.5)
    assert found.road_id == 39
    assert found.transform.location.z == pytest.approx(10.7, abs=0.1)
