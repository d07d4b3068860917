"""Compiled (numba) kernel for `ranging.py`: range cues of each box, their fusion, and the object's position."""

from __future__ import annotations

import math

import numpy as np
from numba import float64, int64
from numpy.typing import NDArray

from av_core.compiled import compiled, inner
from av_core.types import Float
from perception.depth.ranging_types import KINDS, LENSES, Cue, Footprint, Hidden, Kind, Lens, Rows

Numbers = NDArray[np.int64]

X, Y, HEIGHT, NEAR, YAW, FOOT, SIZE = 0, 1, 2, 3, 4, slice(5, 8), slice(8, 11)
VALUES = 11
"""Columns of the values from `range_boxes`: centre of the footprint, m; height, m; range of the nearest point, m; yaw,
rad, NaN where unknown; cues by foot point and by size, each range, sigma, jitter as in `Distance`."""

BOX_SIGMA_PX = 1.0
"""Standard deviation of a box's edge, px."""

ROAD_SIGMA_M = 0.04
"""Standard deviation of the road's height under the object against the ego's ground plane, m, at distance zero."""

ROAD_SLOPE_SIGMA = 0.0015
"""Growth of the road height's standard deviation per metre of range."""

KERB_SIGMA_M = 0.12
"""Standard deviation of the height a pedestrian stands at, m: pavements are as likely as the road."""

COVER_MIN = 0.9
"""A nearer box may hide an object's foot if it covers at least this fraction of the foot line and ends lower."""

COVER_DOWN_PX = 2.0
"""Minimum distance by which such a box ends lower than the object's box, px."""

COVERED_SIGMA = 0.25
"""Standard deviation of the range of such an object, as a fraction of the range.

In three of ten such cases the foot is hidden indeed, and the object appears up to twice as far away."""

ROAD_STEP_M, AHEAD_MIN = 4.0, 0.3
"""Spacing of the road height samples, m, and the minimum forward component of a ray for which they are used."""

JITTER_MIN_M = 0.05
"""Minimum per-picture standard deviation across the ray, m."""

RANGE_MIN_M, RANGE_MAX_M = 0.5, 150.0
"""Range limits, m; a box beyond them is not placed."""

DISAGREE = 9.0
"""Chi-squared per degree of freedom above which cues contradict one another."""

ALIGNED_MAX_RAD, ACROSS_MIN_RAD = math.radians(25.0), math.radians(65.0)
"""Turn against the ray up to which an object counts as aligned with it, and from which as across it; in between its yaw
is unknown."""

NAN = math.nan


@inner
def ray(lens: Lens, u: float, v: float) -> tuple[float, float, float]:
    """Direction of a pixel's ray in the vehicle frame, with length 1 along the camera's axis."""
    a, b = (u - lens.middle_u) / lens.focal_px, (v - lens.middle_v) / lens.focal_px
    return (
        a * lens.rx + b * lens.dx + lens.fx,
        a * lens.ry + b * lens.dy + lens.fy,
        a * lens.rz + b * lens.dz + lens.fz,
    )


@inner
def ground_length_and_drop(lens: Lens, u: float, v: float) -> tuple[float, float]:
    """Ground length of the pixel's ray, and how far the ray sinks over it."""
    x, y, z = ray(lens, u, v)
    return math.hypot(x, y), -z


@inner
def ray_road_intersection(lens: Lens, u: float, v: float, rises_m: Float) -> tuple[float, float]:
    """(range along the ground at which a pixel's ray meets the road, its slope against it); NaN where it does not.

    `rises_m` (K,) is the road's height above the ego's plane every `ROAD_STEP_M` ahead of the ego's origin, empty for a
    flat road; beyond the last sample the road continues parallel to the plane.
    """
    x, y, z = ray(lens, u, v)
    along = math.hypot(x, y)
    sink, ahead = -z / along, x / along
    gone_m, above_m = 0.0, lens.z_m
    if len(rises_m) and ahead > AHEAD_MIN:
        for k in range(len(rises_m)):
            range_m = (k * ROAD_STEP_M - lens.x_m) / ahead
            if range_m > gone_m:
                left_m = lens.z_m - rises_m[k] - sink * range_m
                if left_m <= 0.0:
                    steep = (above_m - left_m) / (range_m - gone_m)
                    return gone_m + above_m / steep, steep
                gone_m, above_m = range_m, left_m
    if -z < 1e-4 or lens.z_m <= 0.0:
        return NAN, NAN
    return gone_m + above_m * along / -z, sink


@inner
def foot_cue(box: Float, lens: Lens, pitch_sigma_rad: float, raised_sigma_m: float, rises_m: Float) -> Cue:
    """Range from the foot point, where the box's lower edge meets the road.

    None where the picture's lower edge cuts the box, or the foot point lies at the horizon. `raised_sigma_m` is the
    standard deviation of the object's height above or below the road.
    """
    range_m, steep = ray_road_intersection(lens, (box[0] + box[2]) / 2.0, box[3], rises_m)
    if box[3] >= lens.low_px or math.isnan(range_m):
        return Cue(NAN, NAN, NAN)
    per_rad = range_m / steep
    road = math.hypot(ROAD_SIGMA_M + ROAD_SLOPE_SIGMA * range_m, raised_sigma_m) / steep
    jitter = per_rad * BOX_SIGMA_PX / lens.focal_px
    return Cue(range_m, math.sqrt(jitter**2 + (per_rad * pitch_sigma_rad) ** 2 + road**2), jitter)


@inner
def occluded_foot_cue(box: Float, lens: Lens, rises_m: Float) -> Cue:
    """Range of a box whose foot a nearer box may hide: as if visible, with a wide sigma, since it may be nearer."""
    range_m = foot_cue(box, lens, 0.0, 0.0, rises_m).range_m
    return Cue(range_m, COVERED_SIGMA * range_m, COVERED_SIGMA * range_m)


@inner
def truncated_cue(box: Float, lens: Lens) -> Cue:
    """Range of a box cut by the picture's lower edge: nearer than the road that this edge shows."""
    along, down = ground_length_and_drop(lens, (box[0] + box[2]) / 2.0, lens.height_px - 1.0)
    if box[3] < lens.low_px or down < 1e-3 or lens.z_m <= 0.0:
        return Cue(NAN, NAN, NAN)
    range_m = lens.z_m * along / down
    return Cue(0.65 * range_m, 0.25 * range_m, 0.05 * range_m)


@inner
def size_cue(box: Float, kind: Kind, lens: Lens) -> Cue:
    """Range from the known height and the box's height; none where the picture cuts the box above or below."""
    if box[1] <= lens.edge_px or box[3] >= lens.low_px:
        return Cue(NAN, NAN, NAN)
    height_px = box[3] - box[1]
    along, _ = ground_length_and_drop(lens, (box[0] + box[2]) / 2.0, box[3])
    range_m = lens.focal_px * kind.height_m / height_px * along
    # Foot and roof are at different distances; a roof above the camera therefore makes the object look lower.
    gap = (lens.z_m / kind.height_m - 1.0) * (kind.roof_m - kind.stand_m)
    range_m = max(range_m + gap, 0.5 * range_m)
    jitter = math.sqrt(2.0) * BOX_SIGMA_PX / height_px
    return Cue(range_m, range_m * math.hypot(kind.height_sigma_m / kind.height_m, jitter), range_m * jitter)


@compiled("UniTuple(float64, 3)(float64[:, :])")
def fuse_cues(cues: Float) -> tuple[float, float, float]:
    """Mean of cues (N, 3) weighted by inverse variance -> (range, sigma, jitter); NaN rows are left out.

    Where the cues contradict one another, sigma grows with their gap.
    """
    total = mean = chi2 = jitter = 0.0
    count = 0
    for i in range(len(cues)):
        if not math.isnan(cues[i, 0]):
            weight = 1.0 / (cues[i, 1] * cues[i, 1])
            total += weight
            mean += weight * cues[i, 0]
            jitter += (weight * cues[i, 2]) ** 2
            count += 1
    if count == 0:
        return NAN, NAN, NAN
    mean /= total
    for i in range(len(cues)):
        if not math.isnan(cues[i, 0]):
            chi2 += ((cues[i, 0] - mean) / cues[i, 1]) ** 2
    variance = 1.0 / total
    if count > 1 and chi2 > DISAGREE * (count - 1):
        variance *= chi2 / (count - 1)
    return mean, math.sqrt(variance), math.sqrt(jitter) / total


@inner
def orientation_from_width(kind: Kind, apparent_m: float) -> float:
    """Angle in [0, pi / 2] between the object's axis and the ray at which its apparent width is `apparent_m`."""
    # The width falls a little from the broadest view to the side view; where two angles fit, the side view is taken.
    if apparent_m >= 0.97 * kind.length_m:
        return math.pi / 2.0
    widths, turns = kind.widths_m[: kind.rising], kind.turns_rad
    i = int(np.searchsorted(widths, apparent_m, side="right"))
    if i == 0 or i == len(widths):
        return float(turns[max(i - 1, 0)])
    share = (apparent_m - widths[i - 1]) / (widths[i] - widths[i - 1])
    return float(turns[i - 1] + share * (turns[i] - turns[i - 1]))


@inner
def along_ray_share(is_round: bool, turn_rad: float) -> float:
    """Fraction of the way from the nearest face to the foot point that lies along the ray; 1 for round pedestrians."""
    if is_round:
        return 1.0
    return 0.6 if math.isnan(turn_rad) else math.cos(turn_rad)


@inner
def centre_column_px(box: Float, kind: Kind, metres_per_px: float, lens: Lens, hidden: Hidden) -> tuple[float, bool]:
    """(column of the object's middle, whether both sides are visible).

    Where the picture's side or another object hides one side, the visible edge moves with the object, and the middle
    lies half a mean width beyond it.
    """
    half_px = (kind.length_m + kind.width_m) / 4.0 / metres_per_px
    cut_left, cut_right = box[0] <= lens.edge_px or hidden.left, box[2] >= lens.right_px or hidden.right
    middle = (box[0] + box[2]) / 2.0
    if cut_left and not cut_right:
        middle = min(middle, box[2] - half_px)
    elif cut_right and not cut_left:
        middle = max(middle, box[0] + half_px)
    return middle, not (cut_left or cut_right)


@inner
def footprint_extent(kind: Kind, turn_rad: float) -> tuple[float, float]:
    """(length along the ray, its sigma) of the footprint, m; the mean of length and width where the turn is unknown.

    Between end view and side view it falls linearly with the apparent width. The rectangle's exact rule would turn a
    pixel into metres near the broadest view.
    """
    length, broad = kind.length_m, kind.width_m
    if math.isnan(turn_rad):
        return (length + broad) / 2.0, (length - broad) / 2.0 + 0.1
    width = min(max(length * math.sin(turn_rad) + broad * math.cos(turn_rad), broad), length)
    mixed = (length - width) * (width - broad) / max((length - broad) ** 2, 1e-6)
    return length + broad - width, kind.length_sigma_m * math.cos(turn_rad) + 0.3 + 4.0 * mixed


@inner
def lateral_offset_m(tangent: float, near_m: float, extent_m: float, kind: Kind, turn_rad: float) -> float:
    """Lateral offset, m, of a footprint's centre that begins `near_m` ahead, from its box's middle at `tangent`.

    For an object to the side, one edge of the box is its near corner and the other its far one, so the box's middle is
    not the object's.
    """
    half = (kind.length_m * math.sin(turn_rad) + kind.width_m * math.cos(turn_rad)) / 2.0
    near, far = 1.0 / near_m, 1.0 / (near_m + extent_m)
    out = (abs(tangent) - half / 2.0 * (near - far)) / ((near + far) / 2.0)
    if out < half:
        out = min(abs(tangent) * near_m, half)
    return math.copysign(out, tangent)


@inner
def wrap_angle(angle_rad: float) -> float:
    """The angle wrapped to [-pi, pi]."""
    return angle_rad - 2.0 * math.pi * round(angle_rad / (2.0 * math.pi))


@inner
def turn_against_ray(kind: Kind, wide_px: float, focal_px: float, depth_m: float, range_m: float) -> float:
    """Rotation against the ray, rad, of an object whose whole width is visible and whose foot is at `range_m`."""
    turn = orientation_from_width(kind, wide_px * depth_m / focal_px)
    # the visible width is the nearest face's
    face_m = depth_m * max(1.0 - kind.stand_m * along_ray_share(kind.is_round, turn) / range_m, 0.5)
    return orientation_from_width(kind, wide_px * face_m / focal_px)


@inner
def locate_footprint(box: Float, kind: Kind, lens: Lens, stand: Cue, is_face: bool, hidden: Hidden) -> Footprint:
    """Position of the object whose foot (its nearest side if `is_face`) is at `stand`."""
    focal, wide_px = lens.focal_px, box[2] - box[0]
    depth = stand.range_m / ground_length_and_drop(lens, (box[0] + box[2]) / 2.0, box[3])[0]
    middle, is_whole = centre_column_px(box, kind, depth / focal, lens, hidden)
    turn = turn_against_ray(kind, wide_px, focal, depth, stand.range_m) if is_whole else NAN
    near = stand.range_m
    if not is_face:
        near = max(stand.range_m - kind.stand_m * along_ray_share(kind.is_round, turn), RANGE_MIN_M)
    extent, extent_sigma = footprint_extent(kind, turn)
    x, y, _ = ray(lens, middle, box[3])
    bearing, centre = math.atan2(y, x), near + extent / 2.0
    if is_whole:
        heading = math.atan2(lens.fy, lens.fx)
        aside = bearing - heading
        beside = lateral_offset_m(math.tan(aside), near * math.cos(aside), extent, kind, turn)
        ahead = near * math.cos(aside) + extent / 2.0
        bearing, centre = wrap_angle(heading + math.atan2(beside, ahead)), math.hypot(beside, ahead)
    pixel = centre * BOX_SIGMA_PX / focal
    across = pixel + (0.05 if is_whole else (kind.length_m - kind.width_m) / 4.0 + 0.2)
    # An edge at the picture's side stays there while the object moves; only the other edge moves with the object. A
    # free position across the ray would let a slightly short distance pull the object over to the ego's path.
    is_open = box[0] <= lens.edge_px and box[2] >= lens.right_px
    sideways = pixel + JITTER_MIN_M if is_whole else (2.0 if is_open else 0.5) * across
    along, along_jitter = math.hypot(stand.sigma_m, extent_sigma / 2.0), math.hypot(stand.jitter_m, pixel)
    return Footprint(depth, near, centre, bearing, turn, along, across, along_jitter, sideways)


@inner
def find_hidden(box: Float, others: Float) -> Hidden:
    """Whether nearer ones of `others` (boxes that end lower) cover the foot line of `box`, or one of its sides."""
    covered = left = right = False
    highest = (box[1] + box[3]) / 2.0  # a hiding box covers at least the lower half of the box's height
    for i in range(len(others)):
        other = others[i]
        if not other[3] > box[3] + COVER_DOWN_PX:
            continue
        share = min(box[2], other[2]) - max(box[0], other[0])
        covered |= other[1] < box[3] - 1.0 and share >= COVER_MIN * (box[2] - box[0])
        if other[1] <= highest:
            left |= other[0] < box[0] - 1.0 and box[0] - 2.0 <= other[2] < box[2]
            right |= other[2] > box[2] + 1.0 and box[0] < other[0] <= box[2] + 2.0
    return Hidden(covered, left, right)


@inner
def fill_covariance(out: Float, c: float, s: float, along_m: float, across_m: float) -> None:
    """Write the covariance (2, 2) of standard deviations along and across a ray of cosine `c` and sine `s`."""
    a, b = along_m**2, across_m**2
    out[0, 0], out[1, 1] = c * c * a + s * s * b, s * s * a + c * c * b
    out[0, 1] = out[1, 0] = c * s * (a - b)


@inner
def estimate_yaw(is_round: bool, bearing_rad: float, turn_rad: float) -> float:
    """Yaw of an object that is aligned with the ray or across it; NaN for others and for pedestrians."""
    if math.isnan(turn_rad) or is_round or ALIGNED_MAX_RAD < turn_rad < ACROSS_MIN_RAD:
        return NAN
    return bearing_rad + (turn_rad if turn_rad >= ACROSS_MIN_RAD else 0.0)


@inner
def is_box(box: Float) -> bool:
    """Whether the box is finite and at least a pixel each way."""
    return bool(np.isfinite(box).all()) and box[2] - box[0] >= 1.0 and box[3] - box[1] >= 1.0


@inner
def opaque_boxes(boxes: Float, kinds: Numbers, table: Rows) -> Float:
    """The valid ones of `boxes` whose kind is opaque."""
    out, count = np.empty_like(boxes), 0
    for i in range(len(boxes)):
        if table[kinds[i]].is_opaque and is_box(boxes[i]):
            out[count] = boxes[i]
            count += 1
    return out[:count]


@inner
def fill_cues(
    out: Float, box: Float, kind: Kind, lens: Lens, is_covered: bool, pitch_sigma_rad: float, rises_m: Float
) -> None:
    """Write the cues by foot point, by size and of a cut box to the rows of `out` (3, 3)."""
    foot, by_size, cut = Cue(NAN, NAN, NAN), Cue(NAN, NAN, NAN), occluded_foot_cue(box, lens, rises_m)
    if not is_covered:
        foot = foot_cue(box, lens, pitch_sigma_rad, KERB_SIGMA_M if kind.is_round else 0.0, rises_m)
        by_size, cut = size_cue(box, kind, lens), truncated_cue(box, lens)
    for k, cue in enumerate((foot, by_size, cut)):
        out[k, 0], out[k, 1], out[k, 2] = cue.range_m, cue.sigma_m, cue.jitter_m


@compiled((float64[:, :], int64[:], KINDS, LENSES, float64, float64[:]))
def range_boxes(
    boxes: Float, kinds: Numbers, table: Rows, lenses: Rows, pitch_sigma_rad: float, rises_m: Float
) -> tuple[Float, Float, Float]:
    """Position of each of `boxes` (N, 4): values (N, VALUES), covariances and their per-picture part (N, 2, 2).

    NaN where a box is invalid or no cue places it. `kinds` (N,) index the rows of `table`; boxes of opaque kinds may
    hide part of another. `lenses` (1,) is the camera. `rises_m` is as in `ray_road_intersection`.
    """
    lens, cues, others = lenses[0], np.empty((3, 3)), opaque_boxes(boxes, kinds, table)
    out = np.full((len(boxes), VALUES), NAN)
    spread, jitter = np.full((len(boxes), 2, 2), NAN), np.full((len(boxes), 2, 2), NAN)
    for i in range(len(boxes)):
        box, kind = boxes[i], table[kinds[i]]
        if not is_box(box):
            continue
        hidden = find_hidden(box, others)
        fill_cues(cues, box, kind, lens, hidden.foot, pitch_sigma_rad, rises_m)
        range_m, sigma_m, jitter_m = fuse_cues(cues)
        if not RANGE_MIN_M <= range_m <= RANGE_MAX_M:
            continue
        # A box cut by the picture's lower edge is already ranged to its nearest face.
        is_face = math.isnan(cues[0, 0]) and not hidden.foot
        place = locate_footprint(box, kind, lens, Cue(range_m, sigma_m, jitter_m), is_face, hidden)
        c, s = math.cos(place.bearing_rad), math.sin(place.bearing_rad)
        out[i, X], out[i, Y] = lens.x_m + place.centre_m * c, lens.y_m + place.centre_m * s
        is_sized = not math.isnan(cues[1, 0])
        out[i, HEIGHT] = (box[3] - box[1]) * place.depth_m / lens.focal_px if is_sized else kind.height_m
        out[i, NEAR], out[i, YAW] = place.near_m, estimate_yaw(kind.is_round, place.bearing_rad, place.turn_rad)
        out[i, FOOT], out[i, SIZE] = cues[0], cues[1]
        fill_covariance(spread[i], c, s, place.along_m, place.across_m)
        fill_covariance(jitter[i], c, s, place.along_jitter_m, place.across_jitter_m)
    return out, spread, jitter
