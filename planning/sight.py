"""Computes how near the ego may come to a traffic light before its cameras lose sight of it.

`sight_limits` takes a route, the positions of the lights and the cameras. It returns the last arc length from which a
camera still shows the light. Cameras look neither straight up nor far to the side. So a light beside its stop line
leaves the picture before the ego is at the line, and the ego waits further back (`signals`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from av_core.frames import map_to_vehicle, vehicle_to_image
from av_core.types import CameraModel, Pose2D, SignalKind
from planning.reference_path import Route

Place = tuple[str, int]
"""A signal on the route: its id, and the arc length of its stop line rounded to 1 m."""

HEAD_LOW_M, HEAD_HIGH_M = 2.5, 3.8
"""Lower and upper edge of a signal head on a post, above the road."""

MARGIN_PX = 12.0
"""Margin to the picture's edge within which a head does not count as seen.

With it, a head that counts as seen is still wholly in the picture half a metre nearer.
"""

REACH_M, STEP_M = 25.0, 0.25
"""The last `REACH_M` before the stop line are searched for a view of the light, in steps of `STEP_M`."""

NEAR_M = 1.0
"""A head at a smaller depth does not count as seen."""


def sight_limits(
    route: Route, posts: Mapping[str, tuple[float, float]], cameras: Sequence[CameraModel], front_m: float
) -> dict[Place, float]:
    """Largest arc length of the ego's origin at which one of `cameras` still shows a light, by id and place.

    `posts` are the positions of the lights, (x, y) m in the map frame. Left out are lights that stay in view until the
    ego's front, `front_m` ahead of its origin, is at their stop line, and lights that are nowhere in view in the
    last `REACH_M` before it.
    """
    found: dict[Place, float] = {}
    for signal in route.signals:
        if signal.kind is not SignalKind.TRAFFIC_LIGHT or signal.signal_id not in posts:
            continue
        at_line = signal.stop_s_m - front_m
        for s_m in np.arange(at_line, max(at_line - REACH_M, 0.0), -STEP_M).tolist():
            if any(_is_seen(route, s_m, signal.stop_s_m, posts[signal.signal_id], camera) for camera in cameras):
                if s_m < at_line:
                    found[signal.signal_id, round(signal.stop_s_m)] = s_m
                break
    return found


def _is_seen(route: Route, s_m: float, stop_s_m: float, post: tuple[float, float], camera: CameraModel) -> bool:
    """Whether the head on `post` is in the picture from `s_m`. The post's foot is assumed as high as the stop line."""
    x, y, yaw = (float(value) for value in route.curve.pose_at(s_m))
    z, line_z = route.curve.interpolate(np.array([s_m, stop_s_m]), route.z_m).tolist()
    slope = (line_z - z) / max(stop_s_m - s_m, 1.0)
    ahead, left = map_to_vehicle(np.array(post), Pose2D(x, y, yaw))
    foot = line_z - z - slope * ahead
    pixels, depth = vehicle_to_image([[ahead, left, foot + high] for high in (HEAD_LOW_M, HEAD_HIGH_M)], camera)
    if float(depth.min()) < NEAR_M:
        return False
    inside = (pixels >= MARGIN_PX) & (pixels <= np.array([camera.width_px, camera.height_px]) - 1.0 - MARGIN_PX)
    return bool(inside.all())
