"""The committed towns as the real wheel reads them: closed, smooth, with signals that govern lanes."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import carla
import numpy as np
import pytest

import embedded_carla
from embedded_carla.maps.generator import TOWNS
from embedded_carla.maps.generator.xml_writer import to_xodr

MAPS = Path(embedded_carla.__file__).parent / "maps"
STEP_M = 1.0


def _text(name: str) -> str:
    return (MAPS / f"{name}.xodr").read_text(encoding="utf-8")


@pytest.fixture(scope="module", params=sorted(TOWNS))
def town(request: pytest.FixtureRequest) -> carla.Map:
    name = request.param
    return carla.Map(name, _text(name))


@pytest.fixture(scope="module")
def waypoints(town: carla.Map) -> list[carla.Waypoint]:
    return town.generate_waypoints(2.0)


@pytest.mark.parametrize("name", sorted(TOWNS))
def test_committed_file_is_what_the_generator_writes(name: str) -> None:
    assert to_xodr(TOWNS[name]()) == _text(name)
    assert (MAPS / f"{name}.xodr").stat().st_size < 1_500_000


def _jump_deg(a: carla.Waypoint, b: carla.Waypoint) -> float:
    return abs((b.transform.rotation.yaw - a.transform.rotation.yaw + 180.0) % 360.0 - 180.0)


def test_every_lane_goes_on_smoothly(waypoints: list[carla.Waypoint]) -> None:
    """No dead end; along `next` the heading turns less than a 6 m radius would, and no step is longer or shorter
    than asked by more than the widening of a lane explains."""
    assert waypoints
    for w in waypoints:
        following = w.next(STEP_M)
        assert following, f"road {w.road_id} lane {w.lane_id} s {w.s:.1f} ends"
        for n in following:
            where = f"road {w.road_id} lane {w.lane_id} s {w.s:.1f} -> road {n.road_id} lane {n.lane_id}"
            assert _jump_deg(w, n) < math.degrees(STEP_M / 6.0), where
            gap = w.transform.location.distance(n.transform.location)
            assert gap == pytest.approx(STEP_M, abs=0.3), where


def test_lanes_join_where_roads_meet(town: carla.Map) -> None:
    """Each lane's last point is where its successors begin: within 5 cm, 1 degree of yaw and of pitch."""
    lengths = {
        int(r.get("id", "")): float(r.get("length", "")) for r in ElementTree.fromstring(_text(town.name)).iter("road")
    }
    starts = {(a.road_id, a.lane_id) for a, _ in town.get_topology()}
    for road, lane in sorted(starts):
        last = town.get_waypoint_xodr(road, lane, lengths[road] - 0.001 if lane < 0 else 0.001)
        assert last is not None
        following = last.next(0.01)
        assert following
        for n in following:
            where = f"road {road} lane {lane} -> road {n.road_id} lane {n.lane_id}"
            assert n.road_id != road, where
            assert last.transform.location.distance(n.transform.location) < 0.05, where
            assert _jump_deg(last, n) < 1.0, where
            pitch = last.transform.rotation.pitch - n.transform.rotation.pitch
            assert abs((pitch + 180.0) % 360.0 - 180.0) < 1.0, where
            assert n.lane_width == pytest.approx(last.lane_width, abs=0.02), where


def test_grades(town: carla.Map, waypoints: list[carla.Waypoint]) -> None:
    limit = {"city_grid": 0.04, "country_road": 0.08, "motorway": 0.05, "proving_ground": 0.04}[town.name]
    grades = [abs(math.tan(math.radians(w.transform.rotation.pitch))) for w in waypoints]
    assert 0.5 * limit < max(grades) < limit


def test_each_lane_is_left_and_reached_without_end(town: carla.Map) -> None:
    """The lanes form one strongly connected net: from any, every other can be reached."""
    forward: dict[tuple[int, int, int], set[tuple[int, int, int]]] = {}
    for w in town.generate_waypoints(1.0):
        key = (w.road_id, w.section_id, w.lane_id)
        forward.setdefault(key, set())
        forward[key] |= {(n.road_id, n.section_id, n.lane_id) for n in w.next(1.1)} - {key}
        for side, change in ((w.get_left_lane(), carla.LaneChange.Left), (w.get_right_lane(), carla.LaneChange.Right)):
            if side and side.lane_type == carla.LaneType.Driving and w.lane_change & change:
                forward[key].add((side.road_id, side.section_id, side.lane_id))
    backward: dict[tuple[int, int, int], set[tuple[int, int, int]]] = {k: set() for k in forward}
    for key, others in forward.items():
        for other in others:
            backward.setdefault(other, set()).add(key)
    start = next(iter(forward))
    for net in (forward, backward):
        seen, todo = {start}, [start]
        while todo:
            for other in net.get(todo.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        assert seen >= set(forward), sorted(set(forward) - seen)[:5]


def test_opposite_lanes_do_not_overlap(waypoints: list[carla.Waypoint]) -> None:
    """Outside junctions, oncoming traffic on the same level passes at least 3 m aside."""
    outside = [w for w in waypoints if not w.is_junction][::3]
    points = np.array([[w.transform.location.x, w.transform.location.y, w.transform.location.z] for w in outside])
    heading = np.radians([w.transform.rotation.yaw for w in outside])
    for i, w in enumerate(outside):
        oncoming = np.flatnonzero(np.cos(heading - heading[i]) < -0.5)
        delta = points[oncoming] - points[i]
        across = np.abs(-np.sin(heading[i]) * delta[:, 0] + np.cos(heading[i]) * delta[:, 1])
        along = np.abs(np.cos(heading[i]) * delta[:, 0] + np.sin(heading[i]) * delta[:, 1])
        bad = oncoming[(along < 3.5) & (across < 3.0) & (np.abs(delta[:, 2]) < 3.0)]
        assert not len(bad), (w.road_id, w.lane_id, [(outside[b].road_id, outside[b].lane_id) for b in bad])


def test_every_signal_governs_a_lane(town: carla.Map, waypoints: list[carla.Waypoint]) -> None:
    """What the file declares, a vehicle on some lane finds ahead of it, facing its way and beside the road."""
    root = ElementTree.fromstring(_text(town.name))
    declared = {node.get("id") for node in root.iter("signal")}
    found: Counter[str] = Counter()
    for w in waypoints:
        for mark in w.get_landmarks(12.0, False):
            found[mark.id] += 1
            turned = (mark.transform.rotation.yaw - mark.waypoint.transform.rotation.yaw + 180.0) % 360.0 - 180.0
            assert abs(turned) < 5.0, mark.id
            assert mark.get_lane_validities(), mark.id
            under = town.get_waypoint(mark.transform.location, project_to_road=False)
            height = abs(under.transform.location.z - mark.transform.location.z) if under else 99.0
            assert under is None or height > 4.0, f"signal {mark.id} stands on road {under.road_id}"
    assert set(found) == declared


@pytest.mark.parametrize("name", ["city_grid", "proving_ground"])
def test_lights_take_turns(name: str) -> None:
    """Every light belongs to one controller, every controller to one junction; there, crossing streets
    never have green together, and each approach has a crosswalk and a stop line."""
    root = ElementTree.fromstring(_text(name))
    lights = {str(s.get("id")) for s in root.iter("signal") if s.get("type") == "1000001"}
    controlled = [str(c.get("signalId")) for c in root.iter("control")]
    assert sorted(controlled) == sorted(lights)
    listed = [str(c.get("id")) for j in root.iter("junction") for c in j.iter("controller")]
    assert sorted(listed) == sorted(str(c.get("id")) for c in root.findall("controller"))

    town = carla.Map(name, _text(name))
    yaw = {mark.id: mark.transform.rotation.yaw for mark in town.get_all_landmarks_of_type("1000001")}
    for controller in root.findall("controller"):
        first, *others = (yaw[str(c.get("signalId"))] for c in controller)
        assert all(abs(math.sin(math.radians(other - first))) < 0.5 for other in others)

    objects = Counter(o.get("name") for o in root.iter("object"))
    stops = sum(s.get("type") == "206" for s in root.iter("signal"))
    assert objects["ContinentalCrosswalk"] == len(lights)
    assert objects["StopLine"] == len(lights) + stops
    assert len(town.get_crosswalks()) == 5 * len(lights)


def test_pavements_go_on_round_every_corner() -> None:
    """Each pavement of city_grid continues at its end within 5 cm, so that people can walk for ever."""
    town = carla.Map("city_grid", _text("city_grid"))
    pavements = 0
    for road in ElementTree.fromstring(_text("city_grid")).iter("road"):
        for lane in (int(str(n.get("id"))) for n in road.iter("lane") if n.get("type") == "sidewalk"):
            end = float(str(road.get("length"))) - 0.001 if lane < 0 else 0.001
            last = town.get_waypoint_xodr(int(str(road.get("id"))), lane, end)
            assert last is not None
            following = last.next(0.01)
            assert len(following) == 1, (road.get("id"), lane)
            assert last.transform.location.distance(following[0].transform.location) < 0.05, (road.get("id"), lane)
            pavements += 1
    assert pavements > 150
