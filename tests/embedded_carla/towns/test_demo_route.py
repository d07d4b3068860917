"""city_grid holds a drive worth showing: long, with turns, lights and a lane change, along lanes that connect."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import carla
import networkx as nx
import pytest

import embedded_carla

FILE = Path(embedded_carla.__file__).parent / "maps" / "city_grid.xodr"
# x, y in CARLA's frame: the start, points on the way and the end
PLACES = (
    (55.0, -93.25),
    (111.75, -147.5),
    (380.0, -198.25),
    (426.75, -245.0),
    (275.0, -291.75),
    (162.5, -96.75),
    (55.0, -96.75),
)
Key = tuple[int, int, int]


def _key(w: carla.Waypoint) -> Key:
    return (w.road_id, w.section_id, w.lane_id)


@pytest.fixture(scope="module")
def town() -> carla.Map:
    return carla.Map("city_grid", FILE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def route(town: carla.Map) -> list[tuple[carla.Waypoint, carla.Waypoint]]:
    """The lanes driven, each as its first waypoint and the next lane's."""
    lanes = {_key(a): (a, b) for a, b in town.get_topology()}
    graph = nx.DiGraph()
    for a, b in town.get_topology():
        graph.add_edge(_key(a), _key(b), weight=a.transform.location.distance(b.transform.location))
    for w in town.generate_waypoints(4.0):
        for side, way in ((w.get_left_lane(), carla.LaneChange.Left), (w.get_right_lane(), carla.LaneChange.Right)):
            if w.lane_change & way and side and side.lane_type == carla.LaneType.Driving:
                graph.add_edge(_key(w), _key(side), weight=20.0)
    keys = [_key(town.get_waypoint(carla.Location(x, y, 0.0))) for x, y in PLACES]
    path = [keys[0]]
    for here, there in pairwise(keys):
        path += nx.shortest_path(graph, here, there, "weight")[1:]
    return [lanes[key] for key in path]


def _turn_deg(lane: tuple[carla.Waypoint, carla.Waypoint]) -> float:
    return (lane[1].transform.rotation.yaw - lane[0].transform.rotation.yaw + 180.0) % 360.0 - 180.0


def test_is_long_and_turns(route: list[tuple[carla.Waypoint, carla.Waypoint]]) -> None:
    length = sum({a.road_id: len(a.next_until_lane_end(1.0)) for a, _ in route[1:-1]}.values())
    changes = sum(x[0].road_id == y[0].road_id for x, y in pairwise(route))
    turns = [_turn_deg(lane) for lane in route if lane[0].is_junction and abs(_turn_deg(lane)) > 45.0]
    assert length > 1000.0
    assert len(turns) >= 4
    assert min(turns) < -45.0 < 45.0 < max(turns)
    assert changes >= 1


def test_meets_lights(town: carla.Map, route: list[tuple[carla.Waypoint, carla.Waypoint]]) -> None:
    governed = {mark.road_id for mark in town.get_all_landmarks_of_type("1000001")}
    junctions = [a.junction_id for a, _ in route if a.is_junction and a.road_id in governed]
    assert len(set(junctions)) >= 4


def test_two_lane_arterial_and_hill(route: list[tuple[carla.Waypoint, carla.Waypoint]]) -> None:
    assert any(abs(a.lane_id) == 2 and not a.is_junction for a, _ in route)
    heights = [a.transform.location.z for a, _ in route]
    assert max(heights) - min(heights) > 2.0
