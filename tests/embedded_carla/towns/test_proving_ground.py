"""What proving_ground has and the other towns lack, as the real wheel reads it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import carla
import pytest

import embedded_carla

TEXT = (Path(embedded_carla.__file__).parent / "maps" / "proving_ground.xodr").read_text(encoding="utf-8")
NO_PARKING_M = 12.0


@pytest.fixture(scope="module")
def town() -> carla.Map:
    return carla.Map("proving_ground", TEXT)


def on(town: carla.Map, road: int, lane: int, s_m: float) -> carla.Waypoint:
    found = town.get_waypoint_xodr(road, lane, s_m)
    assert found is not None
    return found


def lanes(kind: str, *, inside: bool) -> list[tuple[int, int, float]]:
    """Road, lane and length of all lanes of a type, inside or outside junctions."""
    found = []
    for road in ElementTree.fromstring(TEXT).iter("road"):
        if (road.get("junction") != "-1") == inside:
            ids = [int(str(lane.get("id"))) for lane in road.iter("lane") if lane.get("type") == kind]
            found += [(int(str(road.get("id"))), lane_id, float(str(road.get("length")))) for lane_id in ids]
    return found


def test_bicycle_lanes_go_straight_on_across_crossings(town: carla.Map) -> None:
    """Three of the five streets' ends at crossings lead on: both ways at three crossings."""
    crossed = 0
    for road, lane, length_m in lanes("biking", inside=False):
        last = on(town, road, lane, length_m - 0.001 if lane < 0 else 0.001)
        following = [w for w in last.next(0.01) if w.lane_type == carla.LaneType.Biking]
        assert len(following) <= 1
        for w in following:
            assert w.is_junction
            assert last.transform.location.distance(w.transform.location) < 0.05
            beyond = w.next(40.0)
            assert [other.lane_type for other in beyond] == [carla.LaneType.Biking]
            turned = (beyond[0].transform.rotation.yaw - last.transform.rotation.yaw + 180.0) % 360.0 - 180.0
            assert abs(turned) < 1.0
            crossed += 1
    assert crossed == len(lanes("biking", inside=True)) == 6


def test_parking_lanes_end_before_junctions(town: carla.Map) -> None:
    """They are 2.2 m wide along the street, and the pavement takes their place where it ends."""
    streets = lanes("parking", inside=False)
    assert len(streets) == 6
    assert not lanes("parking", inside=True)
    for road, lane, length_m in streets:
        widths = [
            on(town, road, lane, s_m).lane_width
            for s_m in (1.0, NO_PARKING_M - 0.5, length_m / 2.0, length_m - NO_PARKING_M + 0.5, length_m - 1.0)
        ]
        assert widths == pytest.approx([0.0, 0.0, 2.2, 0.0, 0.0], abs=0.02)


def test_a_street_has_three_lanes_each_way(town: carla.Map) -> None:
    at = town.get_waypoint(carla.Location(350.0, -141.75, 0.0))
    assert at is not None
    lanes_there = [at]
    while (beside := lanes_there[-1].get_right_lane()) and beside.lane_type == carla.LaneType.Driving:
        lanes_there.append(beside)
    assert len(lanes_there) == 3
    assert at.lane_change & carla.LaneChange.Right
    assert not at.lane_change & carla.LaneChange.Left


def test_slip_roads_leave_and_join_the_expressway(town: carla.Map) -> None:
    """From the lane that opens before the exit one comes to the country road, and from there back to the expressway."""
    exits = town.get_waypoint(carla.Location(100.0, -551.25, 0.0)).next(200.0)
    assert [w.lane_width for w in exits] == pytest.approx([3.5])
    assert exits[0].transform.location.y > -540.0
    entry = town.get_waypoint(carla.Location(401.75, -450.0, 0.0)).next(445.0)
    assert [w.transform.location.y for w in entry] == pytest.approx([-554.75], abs=1.0)
