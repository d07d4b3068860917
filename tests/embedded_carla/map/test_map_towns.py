"""The scenery of CARLA's towns and of our own, judged by the wheel's own parser."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import carla
import numpy as np
import pytest

from embedded_carla.maps import MapLibrary
from embedded_carla.opendrive import parse
from embedded_carla.opendrive.network import RoadNetwork
from embedded_carla.scene import Scenery
from embedded_carla.scenery import build
from embedded_carla.scenery.grid import section_grids
from embedded_carla.scenery.junctions import gap_quads
from embedded_carla.scenery.surfaces import strips
from embedded_carla.types import SemanticTag

REAL = ("Town01", "Town02", "Town04", "Town10HD")
OWN = tuple(MapLibrary().names())
SURFACED = (
    carla.LaneType.Driving | carla.LaneType.Shoulder | carla.LaneType.Sidewalk | carla.LaneType.Parking
    | carla.LaneType.Biking | carla.LaneType.Median | carla.LaneType.Bidirectional
)  # fmt: skip


@dataclass(frozen=True)
class Town:
    network: RoadNetwork
    scenery: Scenery
    wheel: carla.Map


@pytest.fixture(scope="module", params=[*REAL, *OWN])
def town(request: pytest.FixtureRequest) -> Town:
    name = request.param
    if name in OWN:
        _, text = MapLibrary().load_text(name)
    else:
        data_dir: Path = request.getfixturevalue("data_dir")
        text = (data_dir / "maps" / f"{name}.xodr").read_text()
    network = parse(text, name)
    return Town(network, build(network), carla.Map(name, network.xodr_text))


def at(town: Town, x: float, y: float, z: float, kind: carla.LaneType = SURFACED) -> carla.Waypoint | None:
    return town.wheel.get_waypoint(carla.Location(x, y, z), project_to_road=False, lane_type=kind)


def banking(network: RoadNetwork, waypoint: carla.Waypoint) -> float:
    """How far superelevation lifts a waypoint's lane; CARLA's parser leaves superelevation out."""
    road, s = network.roads[waypoint.road_id], np.array([waypoint.s])
    if road.superelevation.is_zero():
        return 0.0
    centre, _, _ = road.lane_centre(road.sections[waypoint.section_id], waypoint.lane_id, s)
    return float(centre[0, 2] - road.elevation(s)[0])


def test_the_ground_lies_under_every_waypoint(town: Town) -> None:
    waypoints = town.wheel.generate_waypoints(5.0)
    location = [w.transform.location for w in waypoints]
    points = np.array([[p.x, p.y, p.z] for p in location])
    points[:, 2] += [banking(town.network, w) for w in waypoints]
    hit = town.scenery.ground.below(points + np.array([0.0, 0.0, 0.2]))
    assert np.all(hit.road >= 0)
    # Where connecting roads of one junction disagree on the height, the highest of them carries.
    assert np.quantile(np.abs(hit.z - points[:, 2]), 0.97) < 0.02
    assert np.median(np.abs(hit.z - points[:, 2])) < 0.005
    assert np.all(hit.z - points[:, 2] > -0.02)
    roads = np.isin(hit.tag, [SemanticTag.ROADS])
    assert roads.mean() > 0.999
    own = town.scenery.road_ids[hit.road] == [w.road_id for w in waypoints]
    inside = [not w.is_junction and 0.5 < w.s < town.network.roads[w.road_id].length_m - 0.5 for w in waypoints]
    assert own[inside].mean() > 0.98  # at its very ends a road shares its edge with the next


def test_the_terrain_never_covers_a_road_or_pavement(town: Town) -> None:
    quads = [m for m in town.scenery.meshes if m.tag in (SemanticTag.ROADS, SemanticTag.SIDEWALKS)]
    corners = np.concatenate([m.vertices[m.triangles.astype(int)].mean(axis=1) for m in quads if len(m.triangles)])
    soil, _ = town.scenery.ground.terrain(corners[:, :2].astype(float))  # type: ignore[attr-defined]
    faces_m = 0.65  # kerbs and skirts reach this far into the soil
    assert np.all(corners[:, 2] - soil > -faces_m)
    tops = np.concatenate([
        m.vertices[m.triangles.astype(int)].mean(axis=1)[np.abs(m.normals[m.triangles[:, 0].astype(int), 2]) > 0.5]
        for m in quads
    ])  # fmt: skip
    soil, _ = town.scenery.ground.terrain(tops[:, :2].astype(float))  # type: ignore[attr-defined]
    assert np.all(tops[:, 2] - soil > 0.01)


def footprint(placement: object) -> np.ndarray:
    """(n, 2) points over a placement's rectangle, at most 2 m apart."""
    pose, (length, width, _) = placement.transform, placement.size_m  # type: ignore[attr-defined]
    u = np.linspace(-length / 2, length / 2, int(length / 2) + 2)
    v = np.linspace(-width / 2, width / 2, int(width / 2) + 2)
    c, s = np.cos(np.radians(pose.yaw_deg)), np.sin(np.radians(pose.yaw_deg))
    a, b = np.meshgrid(u, v)
    return np.stack([pose.x + c * a - s * b, pose.y + s * a + c * b], axis=-1).reshape(-1, 2)


def test_nothing_procedural_stands_on_a_road_or_pavement(town: Town) -> None:
    checked = 0
    for placement in town.scenery.placements:
        if placement.prototype in ("building", "house", "tree_broadleaf", "tree_conifer"):
            points = footprint(placement)
        elif placement.prototype == "street_lamp":
            points = np.array([[placement.transform.x, placement.transform.y]])
        else:
            continue
        checked += 1
        over = np.column_stack([points, np.full(len(points), 100.0)])  # the highest surface, whatever its level
        assert np.all(town.scenery.ground.below(over).road < 0), placement
        if checked % 20:
            continue  # the wheel's search is slow: every 20th placement is enough to know that both agree
        corners = points[[0, -1, len(points) // 2]]
        z = placement.transform.z
        assert all(at(town, x, y, z) is None for x, y in corners.tolist()), placement
    assert checked > 50
    assert len(town.scenery.placements) <= 4000


def test_lights_agree_with_the_wheels_landmarks(town: Town) -> None:
    """Each light's zones cover exactly the lanes that lead into the lanes its landmarks name."""
    landmarks = [m for m in town.wheel.get_all_landmarks() if m.type in ("1000001", "205", "206")]
    wanted: dict[str, set[tuple[int, int]]] = {m.id: set() for m in landmarks}
    for landmark in landmarks:
        pose = next(s.pose for s in town.scenery.signals if s.signal_id == landmark.id)
        place, yaw = landmark.transform.location, landmark.transform.rotation.yaw
        assert np.hypot(pose.x - place.x, pose.y - place.y) < 0.02
        assert abs((pose.yaw_deg - yaw - 90.0 + 180.0) % 360.0 - 180.0) < 0.1
        for first, last in landmark.get_lane_validities():
            for lane in range(first, last + 1):
                here = town.wheel.get_waypoint_xodr(landmark.road_id, lane, landmark.s)
                while here is not None and here.is_junction:
                    here = next(iter(here.previous(0.5)), None)
                if here is not None and here.lane_type == carla.LaneType.Driving:
                    wanted[landmark.id].add((here.road_id, here.lane_id))
    for site in town.scenery.signals:
        if site.kind == "speed_limit":
            continue
        covered = set()
        for zone in site.stop_zones:
            x, y, z = zone.centre
            waypoint = at(town, x, y, z, carla.LaneType.Driving)
            assert waypoint is not None
            assert not waypoint.is_junction
            turn = waypoint.transform.rotation.yaw - zone.yaw_deg
            assert abs((turn + 180.0) % 360.0 - 180.0) < 8.0
            assert 0.4 < zone.half[1] / waypoint.lane_width < 0.5
            covered.add((waypoint.road_id, waypoint.lane_id))
        assert covered == wanted[site.signal_id], site.signal_id


def test_spawn_points_stand_on_driving_lanes_apart_from_each_other(town: Town) -> None:
    points = town.scenery.spawn_points
    assert len(points) >= 20
    for p in points:
        waypoint = at(town, p.x, p.y, p.z, carla.LaneType.Driving)
        assert waypoint is not None
        assert not waypoint.is_junction
        assert 0.25 < p.z - waypoint.transform.location.z < 0.55
        assert abs((waypoint.transform.rotation.yaw - p.yaw_deg + 180.0) % 360.0 - 180.0) < 10.0
    xyz = np.array([p.location for p in points])
    distance = np.linalg.norm(xyz[:, None] - xyz[None], axis=2) + 100.0 * np.eye(len(xyz))
    assert distance.min() > 5.0


def test_pavements_are_raised_and_walkable(town: Town) -> None:
    walkways = town.scenery.walkways
    if not any(
        lane.kind == "sidewalk" for r in town.network.roads.values() for s in r.sections for lane in s.lanes.values()
    ):
        assert walkways == ()
        return
    points = np.concatenate(walkways)
    hit = town.scenery.ground.below(points + np.array([0.0, 0.0, 0.3]))
    assert (hit.tag == SemanticTag.SIDEWALKS).mean() > 0.98
    assert np.quantile(np.abs(hit.z - points[:, 2]), 0.98) < 0.02


def test_every_controller_is_in_a_junctions_sequence(town: Town) -> None:
    listed = {c for _, controllers in town.scenery.controller_sequences for c in controllers}
    used = {s.controller_id for s in town.scenery.signals if s.controller_id}
    assert used <= listed


def test_what_fills_the_gaps_in_junctions_is_level_with_the_lanes(town: Town) -> None:
    """A wheel that leaves a lane there feels no step: the ground is as high as the mean of points on both sides."""
    gaps, _ = gap_quads(strips(section_grids(town.network)))
    if town.scenery.map_name == "Town04":
        pytest.skip("the connecting roads of its junctions disagree on the height by centimetres")
    centre = gaps.mean(axis=1) + np.array([0.0, 0.0, 0.1])
    ground = town.scenery.ground
    here = ground.below(centre)
    sunken = np.zeros(len(centre), dtype=np.bool_)
    for turn in np.radians((0.0, 45.0, 90.0, 135.0)):
        for reach_m in (0.75, 1.5, 2.5):
            step = reach_m * np.array([np.cos(turn), np.sin(turn), 0.0])
            sides = [ground.below(centre + step), ground.below(centre - step)]
            asphalt = np.logical_and(*(side.tag == SemanticTag.ROADS for side in sides))
            sunken |= asphalt & (np.abs(0.5 * (sides[0].z + sides[1].z) - here.z - 0.01) < 0.004)
    assert not sunken.any()


DRIVEN = (
    carla.LaneType.Driving | carla.LaneType.Bidirectional | carla.LaneType.Entry | carla.LaneType.Exit
    | carla.LaneType.OnRamp | carla.LaneType.OffRamp
)  # fmt: skip
BY_RULE = ("guard_rail", "street_lamp", "bench", "house", "building", "tree", "bush", "prop ")


def gap_m(town: Town, place: np.ndarray) -> float:
    """From a point (3,) to the edge of the nearest driving lane of its level, as the wheel has the lanes."""
    location = carla.Location(*(float(v) for v in place))
    waypoint = town.wheel.get_waypoint(location, lane_type=DRIVEN)
    assert waypoint is not None
    centre = waypoint.transform.location
    if abs(centre.z - location.z) > 2.5:
        return float("inf")
    aside = float(np.hypot(centre.x - location.x, centre.y - location.y))
    return aside - 0.5 * float(waypoint.lane_width)


def test_what_is_placed_by_rule_keeps_clear_of_driving_lanes(town: Town) -> None:
    """Posts, the ends of lamps' arms and the sides of rails, 0.5 m from any lane."""
    near, count = [], 0
    for placement in town.scenery.placements:
        if not placement.prototype.startswith(BY_RULE):
            continue
        length, width, _ = placement.size_m
        reach = {"street_lamp": (0.0, length), "guard_rail": (-0.5 * length, 0.0, 0.5 * length)}
        sides = (-0.5 * width, 0.5 * width) if placement.prototype == "guard_rail" else (0.0,)
        pose = placement.transform.matrix()
        for x in reach.get(placement.prototype, (0.0,)):
            for y in sides:
                count += 1
                gap = gap_m(town, (pose @ np.array([x, y, 0.0, 1.0]))[:3])
                if gap < 0.48:  # the wheel's lanes and the drawn ones differ by the sagitta of their chords
                    near.append((placement.prototype, round(placement.transform.x), round(placement.transform.y), gap))
    assert count > 50
    assert near == []
