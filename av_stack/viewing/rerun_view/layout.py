"""The layout of Rerun's window: camera, road around the ego, whole map, and the plots over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import rerun.blueprint as rrb

from av_core.types import Rig
from av_stack.viewing.rerun_view import entities as names

ABOVE_SHARE = 1.1
"""Height of the eye above the map, as a share of the map's larger side."""

EGO_EYE_M = (-22.0, 0.0, 26.0)
"""First position of the viewpoint that follows the ego, relative to the ego's start: behind and above it."""


def layout(rig: Rig, roads: Mapping[str, Any], heading_rad: float) -> rrb.Blueprint:
    """The layout for a drive with these cameras on these roads; `heading_rad` is the ego's at the route's begin."""
    pictures = [
        rrb.Spatial2DView(origin=f"{names.CAMERA}/{camera.name}", name=f"camera {camera.name}")
        for camera in rig.cameras
    ]
    around, whole = _around_ego(roads, heading_rad), _whole_map(roads)
    seen = rrb.Vertical(rrb.Tabs(*pictures), rrb.Horizontal(around, whole), row_shares=[1, 1])
    plots = rrb.Vertical(
        _plot(names.SPEED, "speed, km/h"),
        _plot(names.LATERAL, "lateral error, m (positive left)"),
        _plot(names.CONTROL, "throttle, brake, steer"),
        rrb.StateTimelineView(origin=names.STATES, name="what limits the speed; health"),
        rrb.Tabs(
            _plot(names.STAGES, "time of each stage, ms"),
            _plot(names.CONFIDENCE, "confidence"),
            rrb.TextLogView(origin=names.WORDS, name="words"),
        ),
        row_shares=[3, 2, 3, 2, 3],
    )
    shown = rrb.Horizontal(seen if pictures else rrb.Vertical(around, whole), plots, column_shares=[3, 2])
    return rrb.Blueprint(
        shown,
        rrb.TimePanel(state="collapsed", timeline=names.TIME),
        rrb.SelectionPanel(state="collapsed"),
        rrb.BlueprintPanel(state="collapsed"),
        auto_views=False,
    )


def _plot(origin: str, title: str) -> rrb.TimeSeriesView:
    return rrb.TimeSeriesView(origin=origin, name=title)


def _around_ego(roads: Mapping[str, Any], heading_rad: float) -> rrb.Spatial3DView:
    """The view of the road around the ego; the viewpoint follows the ego."""
    start = np.asarray(roads["route"][0] if roads["route"] else (0.0, 0.0))
    ahead, _, up = EGO_EYE_M
    eye = (float(start[0] + ahead * np.cos(heading_rad)), float(start[1] + ahead * np.sin(heading_rad)), up)
    return rrb.Spatial3DView(
        origin=names.WORLD,
        name="plan and tracks",
        eye_controls=rrb.EyeControls3D(
            position=eye, look_target=(*start.tolist(), 0.0), eye_up=(0.0, 0.0, 1.0), tracking_entity=names.EGO
        ),
        line_grid=False,
    )


def _whole_map(roads: Mapping[str, Any]) -> rrb.Spatial3DView:
    """All roads around the route from above, north up, with the way driven so far."""
    route = np.asarray(roads["route"], dtype=np.float64).reshape(-1, 2)
    low, high = (route.min(axis=0), route.max(axis=0)) if len(route) else (np.zeros(2), np.zeros(2))
    middle = (low + high) / 2
    height_m = ABOVE_SHARE * max(float((high - low).max()), 100.0)
    return rrb.Spatial3DView(
        origin=names.WORLD,
        name="map and way driven",
        eye_controls=rrb.EyeControls3D(
            position=(float(middle[0]), float(middle[1]), height_m),
            look_target=(float(middle[0]), float(middle[1]), 0.0),
            eye_up=(0.0, 1.0, 0.0),
        ),
        line_grid=False,
        overrides={
            names.DRIVEN: rrb.VisibleTimeRanges(
                timeline=names.TIME, start=rrb.TimeRangeBoundary.infinite(), end=rrb.TimeRangeBoundary.cursor_relative()
            )
        },
    )
