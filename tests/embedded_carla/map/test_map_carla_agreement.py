"""The parser against the parser of the real wheel, on real towns."""

from __future__ import annotations

from pathlib import Path

import carla
import numpy as np
import pytest

from embedded_carla.opendrive import parse

TOWNS = ("Town01", "Town02", "Town04", "Town10HD")


@pytest.mark.parametrize("town", TOWNS)
def test_waypoints_agree_with_the_wheel(data_dir: Path, town: str) -> None:
    text = (data_dir / "maps" / f"{town}.xodr").read_text()
    network = parse(text, town)
    waypoints = [w for w in carla.Map(town, text).generate_waypoints(8.0) if w.lane_id != 0]
    assert len(waypoints) > 200
    worst_m, worst_width_m, worst_yaw = 0.0, 0.0, 0.0
    for waypoint in waypoints:
        road = network.roads[waypoint.road_id]
        section = road.sections[waypoint.section_id]
        centre, heading, width = road.lane_centre(section, waypoint.lane_id, np.array([waypoint.s]))
        at = waypoint.transform.location
        worst_m = max(worst_m, float(np.linalg.norm(centre[0] - [at.x, -at.y, at.z])))
        worst_width_m = max(worst_width_m, abs(float(width[0]) - waypoint.lane_width))
        forward = np.radians(-waypoint.transform.rotation.yaw) + (np.pi if waypoint.lane_id > 0 else 0.0)
        worst_yaw = max(worst_yaw, abs(np.angle(np.exp(1j * (forward - heading[0])))))
    assert worst_m < 0.02
    assert worst_width_m < 0.001
    assert np.degrees(worst_yaw) < 3.0  # CARLA turns the waypoint with the lane's own border
