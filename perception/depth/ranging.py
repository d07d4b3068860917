"""From a box in the picture to a place on the road: foot point and known size, fused by variance."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from av_stack.types import CameraModel, Detection, Distance, Float, ObjectKind, RangedObject
from perception.depth.view import EDGE_PX, Box, View
from perception.detection.classes import object_kind

BOX_SIGMA_PX = 1.0
ROAD_SIGMA_M = 0.04
"""The road under the object is not quite the plane under the ego."""

ROAD_SLOPE_SIGMA = 0.0015
KERB_SIGMA_M = 0.12
"""People stand on pavements as often as on the road."""

COVER_MIN, COVER_DOWN_PX, COVERED_SIGMA = 0.9, 2.0, 0.25
"""A nearer box that covers this much of the line on which an object stands may hide its foot: in three of ten cases it
does, and the object looks up to twice as far away. The sigma is a share of the distance."""

OPAQUE = (ObjectKind.CAR, ObjectKind.TRUCK, ObjectKind.BUS)
"""Between the wheels of a cycle and beside a person's legs the road behind is seen."""

JITTER_MIN_M = 0.05
RANGE_MIN_M, RANGE_MAX_M = 0.5, 150.0
DISAGREE = 9.0
ALIGNED_MAX_RAD, ACROSS_MIN_RAD = math.radians(25.0), math.radians(65.0)


@dataclass(frozen=True, slots=True)
class Size:
    """Mean sizes of a kind and the standard deviation of its height and length, over CARLA's blueprints.

    What looks lowest of an object is where its nearest wheels stand, `stand_m` behind its nearest face, and what looks
    highest is the edge of its roof, `roof_m` behind that face.
    """

    length_m: float
    width_m: float
    height_m: float
    height_sigma_m: float
    length_sigma_m: float
    stand_m: float
    roof_m: float


SIZES = {
    ObjectKind.CAR: Size(4.6, 1.95, 1.58, 0.20, 0.6, 1.05, 1.3),
    ObjectKind.TRUCK: Size(7.5, 2.7, 3.2, 0.8, 1.2, 1.3, 0.8),
    ObjectKind.BUS: Size(10.3, 2.5, 3.4, 0.4, 1.0, 2.0, 0.2),
    ObjectKind.MOTORCYCLE: Size(2.1, 0.83, 1.57, 0.12, 0.3, 0.35, 0.6),
    ObjectKind.BICYCLE: Size(1.75, 0.62, 1.7, 0.15, 0.2, 0.4, 0.7),
    ObjectKind.PEDESTRIAN: Size(0.5, 0.5, 1.7, 0.17, 0.1, 0.25, 0.25),
}


def range_objects(
    detections: Sequence[Detection], camera: CameraModel, pitch_sigma_rad: float
) -> tuple[RangedObject, ...]:
    """The road users among `detections`, each with a place in the vehicle frame; `camera` as it looks at the road now.

    Those that neither foot point nor size can place are left out, as are boxes that are not finite or are empty.
    """
    view = View.of(camera)
    boxes = [d.box_px for d in detections if object_kind(d.name) in OPAQUE and _is_finite(d.box_px)]
    found = [range_object(one, view, pitch_sigma_rad, boxes) for one in detections]
    return tuple(thing for thing in found if thing is not None)


def range_object(
    detection: Detection, view: View, pitch_sigma_rad: float, others: Sequence[Box] = ()
) -> RangedObject | None:
    """One detection placed; None for lights and signs too. `others` are boxes of what may hide part of it."""
    kind, box = object_kind(detection.name), detection.box_px
    if kind is None or not _is_finite(box) or box[2] - box[0] < 1.0 or box[3] - box[1] < 1.0:
        return None
    size = SIZES[kind]
    lower = [other for other in others if other[3] > box[3] + COVER_DOWN_PX]  # what stands nearer
    covered = is_covered(box, lower)
    foot, by_size = (None, None) if covered else _cues(kind, box, view, pitch_sigma_rad)
    cut = hidden_distance(box, view) if covered else below_distance(box, view)
    stand = fuse([cue for cue in (foot, by_size, cut) if cue is not None])
    if stand is None or not RANGE_MIN_M <= stand.range_m <= RANGE_MAX_M:
        return None
    is_face = foot is None and not covered  # what the picture's lower edge cuts is placed by its nearest face already
    place = _place(kind, box, view, stand, is_face, _hidden_sides(box, lower))
    c, s = math.cos(place.bearing_rad), math.sin(place.bearing_rad)
    return RangedObject(
        kind=kind,
        confidence=detection.confidence,
        box_px=box,
        x_m=view.x_m + place.centre_m * c,
        y_m=view.y_m + place.centre_m * s,
        covariance=_spread(c, s, place.along_m, place.across_m),
        length_m=size.length_m,
        width_m=size.width_m,
        height_m=(box[3] - box[1]) * place.depth_m / view.focal_px if by_size is not None else size.height_m,
        near_m=place.near_m,
        yaw_rad=_yaw(kind, place.bearing_rad, place.turn_rad),
        by_foot=foot,
        by_size=by_size,
        jitter=_spread(c, s, place.along_jitter_m, place.across_jitter_m),
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the footprint's centre lies from below the camera, `near_m` where it begins, `depth_m` along the view of
    where it stands; standard deviations along and across the ray, and those of what is new in each picture."""

    depth_m: float
    near_m: float
    centre_m: float
    bearing_rad: float
    turn_rad: float | None
    along_m: float
    across_m: float
    along_jitter_m: float
    across_jitter_m: float


def _place(kind: ObjectKind, box: Box, view: View, stand: Distance, is_face: bool, hidden: tuple[bool, bool]) -> _Place:
    """The object that stands at `stand` (its nearest side if `is_face`) and whose sides may be `hidden`."""
    size, focal = SIZES[kind], view.focal_px
    depth = stand.range_m / view.flat((box[0] + box[2]) / 2.0, box[3])[0]
    middle, is_whole = _middle_px(box, size, depth / focal, view, hidden)
    turn = _turn(kind, (box[2] - box[0]) * depth / focal) if is_whole else None
    if turn is not None:  # the width that is seen is the nearest face's
        face = depth * max(1.0 - size.stand_m * _head_on(kind, turn) / stand.range_m, 0.5)
        turn = _turn(kind, (box[2] - box[0]) * face / focal)
    near = stand.range_m if is_face else max(stand.range_m - size.stand_m * _head_on(kind, turn), RANGE_MIN_M)
    extent, extent_sigma = _extent(size, turn)
    ray = view.ray(middle, box[3])
    bearing, centre = math.atan2(ray[1], ray[0]), near + extent / 2.0
    if turn is not None:
        heading = math.atan2(view.forward[1], view.forward[0])
        aside = bearing - heading
        beside = _beside(math.tan(aside), near * math.cos(aside), extent, size, turn)
        ahead = near * math.cos(aside) + extent / 2.0
        bearing, centre = _wrapped(heading + math.atan2(beside, ahead)), math.hypot(beside, ahead)
    pixel = centre * BOX_SIGMA_PX / focal
    across = pixel + (0.05 if is_whole else (size.length_m - size.width_m) / 4.0 + 0.2)
    # An edge at the picture's side stays there while the object goes on, and only the other one moves with it. Were its
    # place across the ray left open, a distance that is a little short would pull the object over to the ego's path.
    is_open = box[0] <= EDGE_PX and view.cuts_right(box)
    sideways = pixel + JITTER_MIN_M if is_whole else (2.0 if is_open else 0.5) * across
    along, along_jitter = math.hypot(stand.sigma_m, extent_sigma / 2.0), math.hypot(stand.jitter_m, pixel)
    return _Place(depth, near, centre, bearing, turn, along, across, along_jitter, sideways)


def face_depth_m(thing: RangedObject, view: View) -> float:
    """How far along the view the side of the thing is that the camera sees: between its nearest corner and its middle.

    Not positive for what is beside the camera or behind it.
    """
    ahead, left = thing.x_m - view.x_m, thing.y_m - view.y_m
    centre = math.hypot(ahead, left)
    if centre <= 0.0:
        return 0.0
    along = (ahead * view.forward[0] + left * view.forward[1]) / centre
    return along * (thing.near_m + 0.15 * (centre - thing.near_m))


def is_covered(box: Box, lower: Sequence[Box]) -> bool:
    """Whether one of the boxes that end `lower` covers the line on which `box` stands."""
    for other in lower:
        if other[1] < box[3] - 1.0 and min(box[2], other[2]) - max(box[0], other[0]) >= COVER_MIN * (box[2] - box[0]):
            return True
    return False


def hidden_distance(box: Box, view: View) -> Distance | None:
    """Of a box whose foot a nearer one may hide: where it would stand if that were not so, and nearer if it is."""
    foot = foot_distance(box, view, 0.0)
    if foot is None:
        return None
    return Distance(foot.range_m, COVERED_SIGMA * foot.range_m, COVERED_SIGMA * foot.range_m)


def _cues(kind: ObjectKind, box: Box, view: View, pitch_sigma_rad: float) -> tuple[Distance | None, Distance | None]:
    """What foot point and size tell of where the object stands."""
    kerb = KERB_SIGMA_M if kind is ObjectKind.PEDESTRIAN else 0.0
    return foot_distance(box, view, pitch_sigma_rad, kerb), size_distance(box, SIZES[kind], view)


def foot_distance(box: Box, view: View, pitch_sigma_rad: float, raised_sigma_m: float = 0.0) -> Distance | None:
    """Where the box's lower edge meets the road; None where the picture ends above it or it lies at the horizon.

    `raised_sigma_m` is how far above or below the road the object may stand.
    """
    if view.cuts_below(box):
        return None
    flat, down = view.flat((box[0] + box[2]) / 2.0, box[3])
    if down < 1e-4 or view.z_m <= 0.0:
        return None
    range_m = view.z_m * flat / down
    per_rad = range_m**2 / view.z_m
    road = math.hypot(ROAD_SIGMA_M + ROAD_SLOPE_SIGMA * range_m, raised_sigma_m) / view.z_m * range_m
    jitter = per_rad * BOX_SIGMA_PX / view.focal_px
    return Distance(range_m, math.sqrt(jitter**2 + (per_rad * pitch_sigma_rad) ** 2 + road**2), jitter)


def below_distance(box: Box, view: View) -> Distance | None:
    """Of a box that the picture's lower edge cuts: somewhere nearer than the road that this edge shows."""
    if not view.cuts_below(box):
        return None
    flat, down = view.flat((box[0] + box[2]) / 2.0, view.height_px - 1.0)
    if down < 1e-3 or view.z_m <= 0.0:
        return None
    range_m = view.z_m * flat / down
    return Distance(0.65 * range_m, 0.25 * range_m, 0.05 * range_m)


def size_distance(box: Box, size: Size, view: View) -> Distance | None:
    """How far away something stands that is this high and looks this high; None where the box is cut above or below."""
    if box[1] <= EDGE_PX or view.cuts_below(box):
        return None
    height_px = box[3] - box[1]
    range_m = view.focal_px * size.height_m / height_px * view.flat((box[0] + box[2]) / 2.0, box[3])[0]
    # Foot and roof are not at one distance: where the roof is higher than the camera that makes the object look lower.
    gap = (view.z_m / size.height_m - 1.0) * (size.roof_m - size.stand_m)
    range_m = max(range_m + gap, 0.5 * range_m)
    jitter = math.sqrt(2.0) * BOX_SIGMA_PX / height_px
    relative = math.hypot(size.height_sigma_m / size.height_m, jitter)
    return Distance(range_m, range_m * relative, range_m * jitter)


def fuse(cues: Sequence[Distance]) -> Distance | None:
    """The weighted mean by inverse variance; where the cues contradict one another its sigma grows with their gap."""
    if not cues:
        return None
    total = mean = chi2 = jitter = 0.0
    for cue in cues:
        weight = cue.sigma_m**-2.0
        total += weight
        mean += weight * cue.range_m
        jitter += (weight * cue.jitter_m) ** 2
    mean /= total
    for cue in cues:
        chi2 += ((cue.range_m - mean) / cue.sigma_m) ** 2
    variance, others = 1.0 / total, len(cues) - 1
    if others and chi2 > DISAGREE * others:
        variance *= chi2 / others
    return Distance(mean, math.sqrt(variance), math.sqrt(jitter) / total)


def _is_finite(box: Box) -> bool:
    return all(map(math.isfinite, box))


def _spread(c: float, s: float, along_m: float, across_m: float) -> Float:
    """Covariance (2, 2) of standard deviations along and across a ray of cosine `c` and sine `s`."""
    a, b = along_m**2, across_m**2
    mixed = c * s * (a - b)
    return np.array([[c * c * a + s * s * b, mixed], [mixed, s * s * a + c * c * b]])


def _looks(size: Size) -> tuple[list[float], list[float]]:
    """Widths that rise up to the broadest look, and the angles in [0, pi / 2] under which the object looks so wide."""
    angles = np.linspace(0.0, np.pi / 2.0, 31)
    widths = size.length_m * np.sin(angles) + size.width_m * np.cos(angles)
    rising = int(np.argmax(widths)) + 1
    return widths[:rising].tolist(), angles[:rising].tolist()


_LOOKS = {kind: _looks(size) for kind, size in SIZES.items()}


def _turn(kind: ObjectKind, apparent_m: float) -> float:
    """Angle in [0, pi / 2] between the object's axis and the ray under which it looks `apparent_m` wide."""
    # Beyond the broadest look the width falls a little again: that ambiguity is left to the side view.
    if apparent_m >= 0.97 * SIZES[kind].length_m:
        return math.pi / 2.0
    widths, angles = _LOOKS[kind]
    i = bisect_right(widths, apparent_m)
    if i in (0, len(widths)):
        return angles[max(i - 1, 0)]
    share = (apparent_m - widths[i - 1]) / (widths[i] - widths[i - 1])
    return angles[i - 1] + share * (angles[i] - angles[i - 1])


def _hidden_sides(box: Box, lower: Sequence[Box]) -> tuple[bool, bool]:
    """Whether one of the boxes that end `lower` hides the left and the right edge."""
    left = right = False
    highest = (box[1] + box[3]) / 2.0  # it hides half of the box's height at least
    for other in lower:
        if other[1] <= highest:
            left |= other[0] < box[0] - 1.0 and box[0] - 2.0 <= other[2] < box[2]
            right |= other[2] > box[2] + 1.0 and box[0] < other[0] <= box[2] + 2.0
    return left, right


def _head_on(kind: ObjectKind, turn: float | None) -> float:
    """How much of the way from the nearest face to where it stands lies along the ray; people are round."""
    if kind is ObjectKind.PEDESTRIAN:
        return 1.0
    return 0.6 if turn is None else math.cos(turn)


def _middle_px(box: Box, size: Size, metres_per_px: float, view: View, hidden: tuple[bool, bool]) -> tuple[float, bool]:
    """Column of the object's middle, and whether the box is whole. Of one that the picture's side cuts, or that
    something hides on one side, the edge that is seen moves as the object does, and its middle lies half a usual width
    beyond."""
    half_px = (size.length_m + size.width_m) / 4.0 / metres_per_px
    cut_left = box[0] <= EDGE_PX or hidden[0]
    cut_right = view.cuts_right(box) or hidden[1]
    middle = (box[0] + box[2]) / 2.0
    if cut_left and not cut_right:
        middle = min(middle, box[2] - half_px)
    elif cut_right and not cut_left:
        middle = max(middle, box[0] + half_px)
    return middle, not (cut_left or cut_right)


def _extent(size: Size, turn: float | None) -> tuple[float, float]:
    """(length along the ray, its sigma) of the footprint; an average one where the turn is not known.

    Between end-on and broadside it falls as the looks' width grows: straight rather than by the rectangle's rule,
    which near the broadest look would make metres out of a pixel.
    """
    length, broad = size.length_m, size.width_m
    if turn is None:
        return (length + broad) / 2.0, (length - broad) / 2.0 + 0.1
    width = min(max(length * math.sin(turn) + broad * math.cos(turn), broad), length)
    mixed = (length - width) * (width - broad) / max((length - broad) ** 2, 1e-6)
    return length + broad - width, size.length_sigma_m * math.cos(turn) + 0.3 + 4.0 * mixed


def _beside(tangent: float, near_m: float, extent_m: float, size: Size, turn: float) -> float:
    """How far left the middle is of a footprint that begins `near_m` ahead and whose box's middle lies at `tangent`.

    Of an object to the side one edge of the box is its near corner, the other its far one, so the box's middle is not
    where the object's is.
    """
    half = (size.length_m * math.sin(turn) + size.width_m * math.cos(turn)) / 2.0
    near, far = 1.0 / near_m, 1.0 / (near_m + extent_m)
    out = (abs(tangent) - half / 2.0 * (near - far)) / ((near + far) / 2.0)
    if out < half:
        out = min(abs(tangent) * near_m, half)
    return math.copysign(out, tangent)


def _wrapped(angle_rad: float) -> float:
    return math.remainder(angle_rad, 2.0 * math.pi)


def _yaw(kind: ObjectKind, bearing_rad: float, turn: float | None) -> float | None:
    if turn is None or kind is ObjectKind.PEDESTRIAN or ALIGNED_MAX_RAD < turn < ACROSS_MIN_RAD:
        return None
    return bearing_rad + (turn if turn >= ACROSS_MIN_RAD else 0.0)
