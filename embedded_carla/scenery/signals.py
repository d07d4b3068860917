"""Sites of traffic lights and signs: their places, the lanes that they govern, and the order of lights at junctions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import carla
import numpy as np

from embedded_carla.opendrive.network import DRIVABLE, Link, Road, RoadNetwork, RoadObject, Signal, Validity
from embedded_carla.opendrive.read import KMH
from embedded_carla.scene import SignalSite, StopZone
from embedded_carla.types import Transform, wrapped_deg

KINDS = {"1000001": "traffic_light", "206": "stop", "205": "yield", "274": "speed_limit"}
ZONE_HALF_LENGTH_M = 1.75
ZONE_HALF_HEIGHT_M = 1.5
ZONE_OF_LANE = 0.95  # share of the lane's half width
STOP_LINE_REACH_M = 12.0  # a stop line at most this far before the junction ends the lane's zone
SPEED_OBJECT = re.compile(r"speed_(\d+)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Approach:
    """The end of a lane, in driving direction, at station `s_m` of its road."""

    road: int
    lane: int
    s_m: float


def signal_sites(network: RoadNetwork) -> tuple[SignalSite, ...]:
    """One site per signal id (lights, stop, yield, speed limits), with a zone on every lane that must obey it."""
    controller_of = {s: c for c, signals in network.controllers.items() for s in signals}
    junction_of = {c: j.junction_id for j in network.junctions.values() for c in j.controllers}
    approaches = _approaches(network)
    lines = _stop_lines(network)
    landmarks = _landmark_poses(network)
    out = []
    for signal in network.signals.values():
        kind = KINDS.get(signal.kind)
        if kind is None:
            continue
        zones: list[StopZone] = []
        if kind != "speed_limit":
            zones = [_zone(network, lines, approach) for approach in approaches[signal.signal_id]]
        controller = controller_of.get(signal.signal_id, "")
        junction = str(junction_of[controller]) if controller in junction_of else _junction_of(network, signal)
        value = signal.value * KMH.get(signal.unit or "km/h", 1.0) if kind == "speed_limit" else 0.0
        out.append(
            SignalSite(
                signal.signal_id, kind, _pose(network, signal, landmarks), tuple(zones), controller, junction, value
            )
        )
    known = {site.signal_id for site in out}
    out.extend(site for site in _speed_objects(network, landmarks) if site.signal_id not in known)
    return tuple(out)


def controller_sequences(network: RoadNetwork) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """For each junction, the controllers that switch at least one light, in the order of their turns."""
    out = []
    for junction in network.junctions.values():
        controllers = tuple(c for c in junction.controllers if network.controllers.get(c))
        if controllers:
            out.append((str(junction.junction_id), controllers))
    return tuple(out)


def _landmark_poses(network: RoadNetwork) -> dict[str, Transform]:
    """The pose of each landmark in clients: the wheel's parser moves some landmarks off the carriageway."""
    if not network.signals and not any(SPEED_OBJECT.match(item.name) for item in network.objects):
        return {}
    out = {}
    for landmark in carla.Map(network.name, network.xodr_text).get_all_landmarks():
        at, yaw_deg = landmark.transform.location, landmark.transform.rotation.yaw
        out[landmark.id] = Transform(at.x, at.y, at.z, 0.0, wrapped_deg(yaw_deg), 0.0)
    return out


def _pose(network: RoadNetwork, item: Signal | RoadObject, landmarks: Mapping[str, Transform]) -> Transform:
    """The actor's pose: as spawned by CARLA (the landmark's yaw plus 90 degrees), but at the road's height."""
    signal_id = item.signal_id if isinstance(item, Signal) else item.object_id
    point, heading = network.roads[item.road].point(item.s_m, item.t_m)
    x, y, yaw_deg = float(point[0]), -float(point[1]), -float(np.degrees(heading + item.heading_rad))
    if item.orientation == "+":
        yaw_deg += 180.0
    if signal_id in landmarks:
        x, y, yaw_deg = landmarks[signal_id].x, landmarks[signal_id].y, landmarks[signal_id].yaw_deg
    return Transform(x, y, float(point[2]), 0.0, wrapped_deg(yaw_deg + 90.0), 0.0)


def _junction_of(network: RoadNetwork, signal: Signal) -> str:
    """The junction of a signal without controller: that of its own road, or of a road that refers to the signal."""
    roads = [signal.road, *(r.road for r in network.references if r.signal_id == signal.signal_id)]
    inside = [network.roads[i].junction for i in roads if network.roads[i].junction != -1]
    return str(inside[0]) if inside else ""


def _approaches(network: RoadNetwork) -> dict[str, list[Approach]]:
    """The lane ends that each signal governs, without duplicates, by signal id."""
    found: dict[str, dict[tuple[int, int], Approach]] = defaultdict(dict)
    placed = ((s.signal_id, s.road, s.s_m, s.orientation, s.validities) for s in network.signals.values())
    referred = ((r.signal_id, r.road, r.s_m, r.orientation, r.validities) for r in network.references)
    for signal_id, road_id, s_m, orientation, validities in (*placed, *referred):
        road = network.roads[road_id]
        for lane in _governed(road, s_m, orientation, validities):
            for approach in _entries(network, road, lane, s_m):
                if approach.lane in network.roads[approach.road].section_at(approach.s_m).lanes:
                    found[signal_id].setdefault((approach.road, approach.lane), approach)
    return {s: list(found[s].values()) for s in network.signals}


def _governed(road: Road, s_m: float, orientation: str, validities: Iterable[Validity]) -> Iterator[int]:
    """Driving lanes at `s_m` that a signal is for.

    The validity "0 to 0" means none: CARLA's towns then use references.
    """
    spans = list(validities) or [Validity(-100, 100)]
    for lane in road.section_at(s_m).lanes.values():
        meant = any(v.first <= lane.lane_id <= v.last for v in spans)
        # A validity gives the lanes. Without one, the orientation gives their sign, as in CARLA's own parser.
        against = (orientation == "+" and lane.lane_id < 0) or (orientation == "-" and lane.lane_id > 0)
        if lane.lane_id and meant and lane.kind in DRIVABLE and not (against and not list(validities)):
            yield lane.lane_id


def _entries(network: RoadNetwork, road: Road, lane: int, s_m: float) -> list[Approach]:
    """The places where traffic on a lane must wait: at the signal; on a connecting road, at the junction's entry."""
    if road.junction == -1:
        return [Approach(road.road_id, lane, s_m)]
    junction = network.junctions.get(road.junction)
    out = []
    start = "start" if lane < 0 else "end"
    link = road.predecessor if lane < 0 else road.successor
    for connection in junction.connections if junction else ():
        if connection.connecting != road.road_id or connection.contact != start:
            continue
        for incoming_lane, connecting_lane in connection.lanes:
            incoming = network.roads[connection.incoming]
            if connecting_lane == _entry_lane(road, lane) and incoming_lane:
                out.append(Approach(incoming.road_id, incoming_lane, incoming.length_m if incoming_lane < 0 else 0.0))
    if not out and link is not None and link.kind == "road" and link.target in network.roads:
        out = _by_link(network.roads[link.target], link, road, lane)
    return out


def _entry_lane(road: Road, lane: int) -> int:
    """Id of the lane in the first section that leads to `lane`, found by following the links of the sections back."""
    return lane if len(road.sections) == 1 else _trace(road, lane)


def _trace(road: Road, lane: int) -> int:
    sections = road.sections if lane > 0 else tuple(reversed(road.sections))
    for section in sections[:-1]:
        here = section.lanes.get(lane)
        onward = None if here is None else (here.successor if lane > 0 else here.predecessor)
        lane = lane if onward is None else onward
    return lane


def _by_link(target: Road, link: Link, road: Road, lane: int) -> list[Approach]:
    """The approach on the linked road, from road and lane links alone; none if that road is in a junction."""
    section = road.sections[0] if lane < 0 else road.sections[-1]
    entry = section.lanes.get(_entry_lane(road, lane))
    linked = None if entry is None else (entry.predecessor if lane < 0 else entry.successor)
    if linked is None or target.junction != -1:
        return []
    return [Approach(target.road_id, linked, target.length_m if link.contact == "end" else 0.0)]


def _zone(network: RoadNetwork, lines: dict[int, list[RoadObject]], approach: Approach) -> StopZone:
    """Stop zone over the last metres of an approach, ending at the stop line or the junction."""
    road = network.roads[approach.road]
    sign = -1.0 if approach.lane < 0 else 1.0  # direction of s against the traffic
    end = _line_before(road, lines.get(approach.road, []), approach, sign)
    room = end if approach.lane < 0 else road.length_m - end
    half_length = min(ZONE_HALF_LENGTH_M, max(0.5 * room, 0.1))  # no longer than its road, which may be very short
    middle = float(np.clip(end + sign * half_length, 0.0, road.length_m))
    section = road.section_at(middle)
    if approach.lane not in section.lanes:
        section = road.section_at(approach.s_m)
    centre, heading, width = road.lane_centre(section, approach.lane, np.array([middle]))
    travel = heading[0] + (0.0 if approach.lane < 0 else np.pi)
    x, y, z = centre[0]
    half = (half_length, max(0.5 * ZONE_OF_LANE * float(width[0]), 0.1), ZONE_HALF_HEIGHT_M)
    return StopZone(
        (float(x), -float(y), float(z) + ZONE_HALF_HEIGHT_M - 0.2), half, wrapped_deg(-float(np.degrees(travel)))
    )  # fmt: skip


def _stop_lines(network: RoadNetwork) -> dict[int, list[RoadObject]]:
    out: dict[int, list[RoadObject]] = defaultdict(list)
    for item in network.objects:
        if item.name.lower().startswith("stopline"):
            out[item.road].append(item)
    return out


def _line_before(road: Road, lines: Iterable[RoadObject], approach: Approach, sign: float) -> float:
    """Station of the stop line that belongs to the approach, or the approach's own end if there is none."""
    section = road.section_at(approach.s_m)
    if approach.lane not in section.lanes:
        return approach.s_m
    ids, t = road.borders(section, np.array([approach.s_m]))
    i = ids.index(approach.lane)
    for line in lines:
        reach = 0.5 * max(line.length_m, line.width_m)
        beside = t[i + 1, 0] < line.t_m + reach - 0.5 and t[i, 0] > line.t_m - reach + 0.5
        if beside and 0.0 <= sign * (line.s_m - approach.s_m) <= STOP_LINE_REACH_M:
            return line.s_m
    return approach.s_m


def _speed_objects(network: RoadNetwork, landmarks: Mapping[str, Transform]) -> Iterator[SignalSite]:
    """Speed limits of CARLA's towns, which are objects with names such as Speed_30; the wheel reads them too."""
    for item in network.objects:
        match = SPEED_OBJECT.match(item.name)
        if match is not None:
            pose = _pose(network, item, landmarks)
            yield SignalSite(item.object_id, "speed_limit", pose, (), "", "", float(match.group(1)))
