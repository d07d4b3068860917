"""Finds where the ego goes too near to a traffic light to see it: up to which arc length it is in a camera's picture.

Cameras look neither straight up nor far to the side, so a light beside its stop line leaves the picture before the ego
is at the line. The ego then has to wait further back (`signals`).
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
    """Arc length up to which the ego's origin may go before the last of `cameras` loses a light, by id and place.

    `posts` are the positions of the lights, (x, y) m in the map frame. The result leaves out lights that are in view up
    to their stop line, `front_m` ahead of the origin, and lights that are nowhere in view in the last `REACH_M` before
    it.
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
    x, y, z, yaw = (float(np.interp(s_m, route.s_m, row)) for row in (route.x_m, route.y_m, route.z_m, route.yaw_rad))
    line_z = float(np.interp(stop_s_m, route.s_m, route.z_m))
    slope = (line_z - z) / max(stop_s_m - s_m, 1.0)
    ahead, left = map_to_vehicle(np.array(post), Pose2D(x, y, yaw))
    foot = line_z - z - slope * ahead
    pixels, depth = vehicle_to_image([[ahead, left, foot + high] for high in (HEAD_LOW_M, HEAD_HIGH_M)], camera)
    if float(depth.min()) < NEAR_M:
        return False
    inside = (pixels >= MARGIN_PX) & (pixels <= np.array([camera.width_px, camera.height_px]) - 1.0 - MARGIN_PX)
    return bool(inside.all())
