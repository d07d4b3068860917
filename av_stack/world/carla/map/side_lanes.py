"""The lanes beside the driving lanes of a `carla.Map`: parking and bicycle lanes, shoulders and pavements."""

from __future__ import annotations

from typing import Any

import carla
import numpy as np

from av_core.curve import arc_lengths
from av_core.types import LaneKey, SideKind, SideLane
from av_stack.world.carla.map.tracks import has_position, lane_line, lane_spans, lane_successors, lane_track

_KINDS = {
    "parking": SideKind.PARKING,
    "biking": SideKind.BICYCLE,
    "shoulder": SideKind.SHOULDER,
    "sidewalk": SideKind.PAVEMENT,
}

SPACING_M = {SideKind.PARKING: 2.0, SideKind.BICYCLE: 2.0, SideKind.SHOULDER: 5.0, SideKind.PAVEMENT: 5.0}
"""Distance between points of a side lane."""


def side_lanes(carla_map: carla.Map, root: Any) -> dict[LaneKey, SideLane]:
    """All side lanes that the OpenDRIVE text `root` has; those without a position in CARLA are left out."""
    spans = {span.key: span for span in lane_spans(root, _KINDS)}
    tracks = {key: lane_track(carla_map, span, SPACING_M[_KINDS[span.kind]]) for key, span in spans.items()}
    tracks = {key: track for key, track in tracks.items() if all(map(has_position, track))}
    found = {}
    for key, track in tracks.items():
        points, yaw_rad = lane_line(track)
        found[key] = SideLane(
            key=key,
            kind=_KINDS[spans[key].kind],
            points=points,
            s_m=arc_lengths(points[:, 0], points[:, 1]),
            yaw_rad=yaw_rad,
            width_m=np.array([waypoint.lane_width for waypoint in track]),
            is_junction=bool(track[0].is_junction),
            successors=tuple(lane_successors(track[-1], tracks)),
        )
    return found
