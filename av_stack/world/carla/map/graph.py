"""Converts a `carla.Map` into a `LaneGraph`, once, so that nothing else in the stack needs CARLA to know the road.

The map's OpenDRIVE text says which lanes exist; their geometry and markings come from waypoints, so that the graph
agrees with CARLA.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import carla
import numpy as np
from lxml import etree
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from av_core.curve import arc_lengths
from av_core.errors import ConfigError, WorldError
from av_core.types import (
    Float,
    GeoReference,
    Lane,
    LaneGraph,
    LaneKey,
    MarkingColour,
    MarkingKind,
    Signal,
    SignalKind,
)
from av_stack.world.carla.client import first_line
from av_stack.world.carla.map.cache import kept
from av_stack.world.carla.map.side_lanes import side_lanes
from av_stack.world.carla.map.tracks import (
    END_GAP_M,
    SPACING_M,
    has_position,
    lane_key,
    lane_line,
    lane_spans,
    lane_successors,
    lane_track,
)

CURVATURE_SIGMA_M = 2.0
"""Standard deviation of the Gaussian that smooths the curvature."""

MAP_MAX_BYTES = 64 * 1024 * 1024  # the limit of the embedded server
DEFAULT_LIMIT_MPS = 30.0 / 3.6  # the limit of a CARLA vehicle before it passes any sign

_KINDS = {
    "NONE": MarkingKind.NONE,
    "Solid": MarkingKind.SOLID,
    "SolidBroken": MarkingKind.SOLID,
    "BrokenSolid": MarkingKind.SOLID,
    "SolidSolid": MarkingKind.SOLID_SOLID,
    "Broken": MarkingKind.BROKEN,
    "BrokenBroken": MarkingKind.BROKEN,
    "BottsDots": MarkingKind.BROKEN,
    "Curb": MarkingKind.KERB,
}
_COLOURS = {"Standard": MarkingColour.WHITE, "White": MarkingColour.WHITE, "Yellow": MarkingColour.YELLOW}
_SIGNALS = {"1000001": SignalKind.TRAFFIC_LIGHT, "206": SignalKind.STOP, "205": SignalKind.YIELD}


def read_lane_graph(path: Path) -> LaneGraph:
    """The lane graph of an OpenDRIVE file, in the file's own frame; `planning.find_route` can search it offline.

    Raises ConfigError where the file cannot be read, is larger than `MAP_MAX_BYTES`, or is no map with lanes.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAP_MAX_BYTES + 1)
        if len(data) > MAP_MAX_BYTES:
            raise ConfigError(f"{path}: larger than {MAP_MAX_BYTES >> 20} MiB, the most that is allowed")
        return lane_graph(carla.Map(path.stem, data.decode("utf-8-sig")))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not text in UTF-8") from None
    except (RuntimeError, WorldError) as error:
        raise ConfigError(f"{path}: not a usable OpenDRIVE map: {first_line(error)}") from None


def lane_graph_of_text(xodr: str, name: str = "map") -> LaneGraph:
    """The lane graph of an OpenDRIVE text, in its own frame. Raises WorldError where it is no map with lanes."""
    try:
        return lane_graph(carla.Map(name, xodr))
    except (RuntimeError, etree.XMLSyntaxError) as error:
        raise WorldError(f"map {name}: no usable OpenDRIVE text: {first_line(error)}") from None


def lane_graph(carla_map: carla.Map) -> LaneGraph:
    """The driving lanes, side lanes and signals of `carla_map` in the map frame, from the cache if it was read before.

    Speed limits are those of the road types (`<type><speed>`). A lane on a road without one takes the lowest limit of
    the lanes it joins, or 30 km/h if none is known. Lanes on which CARLA gives a position that is not a number are left
    out. Raises WorldError when the map has no driving lane.
    """
    xodr = carla_map.to_opendrive()
    return kept(carla_map.name, xodr, lambda: read_anew(carla_map, xodr))


def read_anew(carla_map: carla.Map, xodr: str) -> LaneGraph:
    """The graph of `carla_map`, whose OpenDRIVE text is `xodr`, without the cache."""
    root = etree.fromstring(xodr.encode())
    spans = {span.key: span for span in lane_spans(root, ("driving",))}
    tracks = {key: lane_track(carla_map, span) for key, span in spans.items()}
    tracks = {key: track for key, track in tracks.items() if all(map(has_position, track))}
    if not tracks:
        raise WorldError(f"map {carla_map.name} has no driving lane")
    successors = {key: lane_successors(track[-1], tracks) for key, track in tracks.items()}
    predecessors: dict[LaneKey, list[LaneKey]] = {key: [] for key in tracks}
    for key, nexts in successors.items():
        for other in nexts:
            predecessors[other].append(key)
    limits = _spread_limits({key: spans[key].limit_mps for key in tracks}, successors, predecessors)
    lanes = {
        key: replace(
            _lane(key, track, tracks.keys()),
            speed_limit_mps=limits[key],
            successors=tuple(successors[key]),
            predecessors=tuple(predecessors[key]),
        )
        for key, track in tracks.items()
    }
    signals = tuple(_signals(carla_map, lanes, tracks))
    return LaneGraph(carla_map.name, lanes, signals, _geo_reference(carla_map), side_lanes(carla_map, root))


def _lane(key: LaneKey, track: list[carla.Waypoint], known: Collection[LaneKey]) -> Lane:
    """The lane without the fields that need its neighbours along the road: limit, successors, predecessors."""
    points, yaw_rad = lane_line(track)
    s_m = arc_lengths(points[:, 0], points[:, 1])
    change = np.array([int(waypoint.lane_change) for waypoint in track])
    left, left_change = _neighbour(
        [w.get_left_lane() for w in track], (change & int(carla.LaneChange.Left)) > 0, key, known
    )
    right, right_change = _neighbour(
        [w.get_right_lane() for w in track], (change & int(carla.LaneChange.Right)) > 0, key, known
    )
    left_kind, left_colour = _markings([waypoint.left_lane_marking for waypoint in track])
    right_kind, right_colour = _markings([waypoint.right_lane_marking for waypoint in track])
    return Lane(
        key=key,
        points=points,
        s_m=s_m,
        yaw_rad=yaw_rad,
        curvature_1pm=_curvature(s_m, yaw_rad),
        width_m=np.array([waypoint.lane_width for waypoint in track]),
        speed_limit_mps=DEFAULT_LIMIT_MPS,
        is_junction=bool(track[0].is_junction),
        successors=(),
        predecessors=(),
        left=left,
        right=right,
        left_change=left_change,
        right_change=right_change,
        left_marking=left_kind,
        right_marking=right_kind,
        left_colour=left_colour,
        right_colour=right_colour,
        junction_id=int(track[0].junction_id) if track[0].is_junction else None,
    )


def _curvature(s_m: Float, yaw_rad: Float) -> Float:
    """d(yaw)/ds, smoothed because it jumps at OpenDRIVE's lane widths and arcs."""
    if s_m[-1] < SPACING_M:
        return np.full(len(s_m), (yaw_rad[-1] - yaw_rad[0]) / max(s_m[-1], END_GAP_M))
    spacing = s_m[-1] / (len(s_m) - 1)
    smooth = gaussian_filter1d(np.gradient(yaw_rad, s_m), CURVATURE_SIGMA_M / spacing, mode="nearest")
    return np.asarray(smooth, dtype=np.float64)


def _neighbour(
    beside: list[carla.Waypoint | None], allowed: NDArray[np.bool_], key: LaneKey, known: Collection[LaneKey]
) -> tuple[LaneKey | None, NDArray[np.bool_]]:
    """The lane that a change may legally reach, and where; only lanes in the same direction count."""
    keys = [lane_key(waypoint) if waypoint is not None else None for waypoint in beside]
    same = [k is not None and k in known and (k.lane_id > 0) == (key.lane_id > 0) for k in keys]
    legal = allowed & np.array(same, dtype=bool)
    return (keys[int(np.argmax(legal))] if legal.any() else None), legal


def _markings(markings: list[carla.LaneMarking | None]) -> tuple[tuple[MarkingKind, ...], tuple[MarkingColour, ...]]:
    """Kinds and colours of a lane's markings; CARLA gives None where the map has no record of one."""
    known = [(str(marking.type), str(marking.color)) if marking is not None else ("NONE", "") for marking in markings]
    kinds = tuple(_KINDS.get(kind, MarkingKind.UNKNOWN) for kind, _ in known)
    return kinds, tuple(_COLOURS.get(colour, MarkingColour.UNKNOWN) for _, colour in known)


def _spread_limits(
    known: dict[LaneKey, float | None],
    successors: dict[LaneKey, list[LaneKey]],
    predecessors: dict[LaneKey, list[LaneKey]],
) -> dict[LaneKey, float]:
    """Give lanes without a speed limit the lowest one of the lanes they join, repeatedly until all have one."""
    limits = {key: limit for key, limit in known.items() if limit is not None}
    open_keys = [key for key in known if key not in limits]
    while open_keys:
        found = {}
        for key in open_keys:
            beside = [limits[other] for other in (*successors[key], *predecessors[key]) if other in limits]
            if beside:
                found[key] = min(beside)
        if not found:
            found = dict.fromkeys(open_keys, DEFAULT_LIMIT_MPS)
        limits.update(found)
        open_keys = [key for key in open_keys if key not in limits]
    return limits


def _signals(
    carla_map: carla.Map, lanes: dict[LaneKey, Lane], tracks: dict[LaneKey, list[carla.Waypoint]]
) -> Iterator[Signal]:
    """One `Signal` for each governed lane.

    CARLA's towns place signals on the connecting roads, a few metres past the entry, so that each movement has its own.
    The line to stop at is where that road starts.
    """
    seen: set[tuple[str, LaneKey]] = set()
    for landmark in carla_map.get_all_landmarks():
        kind = _SIGNALS.get(str(landmark.type))
        if kind is None:
            continue
        for key, road_s in _governed(carla_map, landmark, lanes):
            if (landmark.id, key) in seen:
                continue
            seen.add((landmark.id, key))
            lane, track = lanes[key], tracks[key]
            stop_s_m = 0.0
            if not lane.is_junction:
                stop_s_m = float(np.interp(road_s, *_ascending([w.s for w in track], lane.s_m)))
            post = landmark.transform.location
            yield Signal(landmark.id, kind, key, stop_s_m, (float(post.x), -float(post.y)))


def _ascending(road_s: list[float], s_m: Float) -> tuple[Float, Float]:
    values = np.asarray(road_s)
    return (values, s_m) if values[0] < values[-1] else (values[::-1], s_m[::-1])


def _governed(
    carla_map: carla.Map, landmark: carla.Landmark, lanes: dict[LaneKey, Lane]
) -> Iterator[tuple[LaneKey, float]]:
    """(lane, position along the road) of each lane that a landmark governs."""
    for low, high in landmark.get_lane_validities():
        for lane_id in range(min(low, high), max(low, high) + 1):
            s = max(float(landmark.s), END_GAP_M)
            waypoint = carla_map.get_waypoint_xodr(landmark.road_id, lane_id, s) if lane_id else None
            if waypoint is None:  # a signal at the very end of its road
                waypoint = carla_map.get_waypoint_xodr(landmark.road_id, lane_id, s - 0.1) if lane_id else None
            if waypoint is not None and lane_key(waypoint) in lanes:
                yield lane_key(waypoint), float(waypoint.s)


def _geo_reference(carla_map: carla.Map) -> GeoReference:
    origin = carla_map.transform_to_geolocation(carla.Location())
    return GeoReference(float(origin.latitude), float(origin.longitude))
