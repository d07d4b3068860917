"""Paint that is an object in the file: crossings, stop lines, single lines, hatched regions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from embedded_carla.opendrive.network import RoadNetwork, RoadObject
from embedded_carla.scene import F64, Material
from embedded_carla.scenery.ground import TriangleIndex
from embedded_carla.scenery.soup import QuadSoup, face_normals, ribbon
from embedded_carla.scenery.walkways import outline
from embedded_carla.types import SemanticTag

LIFT_M = 0.008  # height of paint above the road
BAR_M, BAR_GAP_M = 0.5, 0.5  # widths of a crossing's bars and of the gaps between them
RAIL_M = 0.2  # width of a crossing's rails
LINE_M = 0.125  # width of a painted line
STOP_LINE_M = 0.4
DASHES_M = {"dashedshort": (1.0, 1.0), "dashed": (3.0, 4.5)}  # (dash, gap) by the beginning of an object's name
HATCH_M, HATCH_GAP_M = 0.3, 1.2  # widths of a hatched region's bars and of the gaps between them


def draw(network: RoadNetwork, surface: TriangleIndex, soup: QuadSoup) -> None:
    """Add every painted object, laid on `surface`."""
    for item in network.objects:
        quads = _painted(network, item)
        if len(quads) == 0:
            continue
        z, _ = surface.below(quads.reshape(-1, 3))
        quads[..., 2] = np.where(np.isfinite(z).reshape(-1, 4), z.reshape(-1, 4), quads[..., 2]) + LIFT_M
        crossing = item.kind == "crosswalk"
        yellow = "yellow" in item.name.lower()
        material = Material.CROSSWALK if crossing else Material.MARKING_YELLOW if yellow else Material.MARKING_WHITE
        soup.add(material, SemanticTag.ROAD_LINES, quads, face_normals(quads), quads[..., :2].copy())


def _painted(network: RoadNetwork, item: RoadObject) -> F64:
    """Quads (n, 4, 3) of an object's paint; none for an object that is not paint."""
    name = item.name.lower()
    shape = outline(network, item) if len(item.outline) > 1 else np.zeros((0, 3))
    if item.kind == "crosswalk" and len(shape) > 2:
        return _crosswalk(name, shape)
    if name.startswith("stopline"):
        return _stop_line(network, item, shape)
    if len(shape) > 2 and name.endswith("region"):
        return _pieces(_bars(shape, _turned(_long_axis(shape), np.pi / 4.0), HATCH_M, HATCH_GAP_M))
    if len(shape) > 1 and name.startswith(("solid", "dashed")):
        return _line(name, shape)
    return np.zeros((0, 4, 3))


def _crosswalk(name: str, shape: F64) -> F64:
    """Quads of a crossing: "simple" ones have two rails, "ladder" ones rails and bars, all others bars."""
    axis = _long_axis(shape)
    parts: list[F64] = []
    if not name.startswith("simple"):
        parts.extend(_bars(shape, axis, BAR_M, BAR_GAP_M))
    if name.startswith(("simple", "ladder")):
        parts.extend(_rails(shape, axis))
    return _pieces(parts)


def _pieces(parts: list[F64] | Iterator[F64]) -> F64:
    found = list(parts)
    return np.stack(found) if found else np.zeros((0, 4, 3))


def _long_axis(shape: F64) -> F64:
    """Unit vector (2,) along the longest edge."""
    edges = np.roll(shape, -1, axis=0)[:, :2] - shape[:, :2]
    longest = edges[np.argmax(np.linalg.norm(edges, axis=1))]
    return np.asarray(longest / np.linalg.norm(longest))


def _turned(axis: F64, angle: float) -> F64:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * axis[0] - s * axis[1], s * axis[0] + c * axis[1]])


def _bars(shape: F64, axis: F64, width_m: float, gap_m: float) -> Iterator[F64]:
    """Bars across `axis`, clipped to the (convex) shape."""
    across = np.array([-axis[1], axis[0]])
    u, z = shape[:, :2] @ axis, float(shape[:, 2].mean())
    count = max(int((np.ptp(u) + gap_m) / (width_m + gap_m)), 1)
    first = 0.5 * (u.min() + u.max()) - 0.5 * (count * (width_m + gap_m) - gap_m)
    for k in range(count):
        ends = [_span(shape, axis, across, first + k * (width_m + gap_m) + side) for side in (0.0, width_m)]
        if any(end is None for end in ends):
            continue
        corners = []
        for (low, high), start in zip((e for e in ends if e), (0.0, width_m), strict=True):
            along = axis * (first + k * (width_m + gap_m) + start)
            corners.append((np.append(along + across * low, z), np.append(along + across * high, z)))
        yield np.stack([corners[0][0], corners[0][1], corners[1][1], corners[1][0]])


def _span(shape: F64, axis: F64, across: F64, u: float) -> tuple[float, float] | None:
    """Positions across the axis at which the line at `u` along the axis enters and leaves the shape."""
    a, b = shape[:, :2], np.roll(shape, -1, axis=0)[:, :2]
    ua, ub = a @ axis, b @ axis
    crosses = (ua - u) * (ub - u) < 0.0
    if np.count_nonzero(crosses) < 2:
        return None
    share = (u - ua[crosses]) / (ub[crosses] - ua[crosses])
    v = (a[crosses] @ across) + share * ((b[crosses] - a[crosses]) @ across)
    return float(v.min()), float(v.max())


def _rails(shape: F64, axis: F64) -> Iterator[F64]:
    """Yield a line inside each edge that runs along the axis."""
    centre = shape[:, :2].mean(axis=0)
    for a, b in zip(shape, np.roll(shape, -1, axis=0), strict=True):
        edge = b[:2] - a[:2]
        length = float(np.linalg.norm(edge))
        if length < 1.0 or abs(edge @ axis) < 0.8 * length:
            continue
        inward = np.array([-edge[1], edge[0]]) / length * RAIL_M
        if inward @ (centre - a[:2]) < 0.0:
            inward = -inward
        shift = np.append(inward, 0.0)
        yield np.stack([a, b, b + shift, a + shift])


def _stop_line(network: RoadNetwork, item: RoadObject, shape: F64) -> F64:
    """A bar along the outline; without an outline, a bar of the object's length and width."""
    if len(shape) > 1:
        # An outline may be a line or a thin rectangle; in both cases the bar joins its two most distant corners.
        distance = np.linalg.norm(shape[:, None, :2] - shape[None, :, :2], axis=2)
        i, j = np.unravel_index(int(np.argmax(distance)), distance.shape)
        return _ribbon_along(np.stack([shape[i], shape[j]]), STOP_LINE_M)
    long, wide = max(item.length_m, item.width_m), min(item.length_m, item.width_m)
    if long < 0.5:
        return np.zeros((0, 4, 3))
    origin, heading = network.roads[item.road].point(item.s_m, item.t_m)
    angle = heading + item.heading_rad + (0.0 if item.length_m >= item.width_m else np.pi / 2.0)
    half = 0.5 * long * np.array([np.cos(angle), np.sin(angle), 0.0])
    ends = np.stack([origin - half, origin + half]) * np.array([1.0, -1.0, 1.0])
    return _ribbon_along(ends, wide if wide > 0.05 else STOP_LINE_M)


def _line(name: str, shape: F64) -> F64:
    """A painted line along the outline's corners, dashed when its name says so."""
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(shape[:, :2], axis=0), axis=1))])
    dash = next((pattern for key, pattern in DASHES_M.items() if name.startswith(key)), None)
    spans = [(0.0, float(length[-1]))]
    if dash is not None:
        starts = np.arange(0.0, length[-1], sum(dash))
        spans = [(float(a), float(min(a + dash[0], length[-1]))) for a in starts]
    parts = []
    for start, end in spans:
        s = np.unique(np.concatenate([[start, end], length[(length > start) & (length < end)]]))
        if end - start > 0.05:
            points = np.stack([np.interp(s, length, shape[:, k]) for k in range(3)], axis=1)
            parts.append(_ribbon_along(points, LINE_M))
    return np.concatenate(parts) if parts else np.zeros((0, 4, 3))


def _ribbon_along(points: F64, width_m: float) -> F64:
    ahead = np.gradient(points[:, :2], axis=0)
    ahead /= np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-9)
    side = np.column_stack([-ahead[:, 1], ahead[:, 0], np.zeros(len(points))]) * 0.5 * width_m
    return ribbon(points + side, points - side)
