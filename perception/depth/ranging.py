"""From a box in the picture to a place on the road: foot point and known size, fused by variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_stack.frames import intrinsics, optical_to_vehicle_rotation, rotation_matrix
from av_stack.types import CameraModel, Detection, Distance, ObjectKind, RangedObject
from perception.detection.classes import object_kind

Float = NDArray[np.float64]
Box = tuple[float, float, float, float]

EDGE_PX = 1.5
"""A box this near to the picture's edge may go on beyond it."""

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
ALIGNED_MAX_RAD, ACROSS_MIN_RAD = np.radians(25.0), np.radians(65.0)


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
    detections: tuple[Detection, ...] | list[Detection], camera: CameraModel, pitch_sigma_rad: float
) -> tuple[RangedObject, ...]:
    """The road users among `detections`, each with a place in the vehicle frame; `camera` as it looks at the road now.

    Those that neither foot point nor size can place are left out, as are boxes that are not finite or are empty.
    """
    boxes = [d.box_px for d in detections if object_kind(d.name) in OPAQUE and np.isfinite(d.box_px).all()]
    found = (range_object(one, camera, pitch_sigma_rad, boxes) for one in detections)
    return tuple(thing for thing in found if thing is not None)


def range_object(
    detection: Detection, camera: CameraModel, pitch_sigma_rad: float, others: Sequence[Box] = ()
) -> RangedObject | None:
    """One detection placed; None for lights and signs too. `others` are boxes of what may hide part of it."""
    kind = object_kind(detection.name)
    box = u0, v0, u1, v1 = detection.box_px
    if kind is None or not np.isfinite(box).all() or u1 - u0 < 1.0 or v1 - v0 < 1.0:
        return None
    size, focal = SIZES[kind], float(intrinsics(camera)[0, 0])
    covered = is_covered(box, others)
    foot, by_size = (None, None) if covered else _cues(kind, box, camera, pitch_sigma_rad)
    cut = hidden_distance(box, camera) if covered else below_distance(box, camera)
    stand = fuse([cue for cue in (foot, by_size, cut) if cue is not None])
    if stand is None or not RANGE_MIN_M <= stand.range_m <= RANGE_MAX_M:
        return None
    ray = _ray(camera, (u0 + u1) / 2.0, v1)
    depth_m = stand.range_m / float(np.hypot(ray[0], ray[1]))
    middle, is_whole = _middle_px(box, size, depth_m / focal, camera, _hidden_sides(box, others))
    turn = _turn(size, (u1 - u0) * depth_m / focal) if is_whole else None
    if turn is not None:  # the width that is seen is the nearest face's
        face_m = depth_m * max(1.0 - size.stand_m * _head_on(kind, turn) / stand.range_m, 0.5)
        turn = _turn(size, (u1 - u0) * face_m / focal)
    stand_m = size.stand_m * _head_on(kind, turn)
    # What the picture's lower edge cuts is placed by its nearest face already.
    near = stand.range_m if foot is None and not covered else max(stand.range_m - stand_m, RANGE_MIN_M)
    extent, extent_sigma = _extent(size, turn)
    ray = _ray(camera, middle, v1)
    bearing = float(np.arctan2(ray[1], ray[0]))
    centre = near + extent / 2.0
    if turn is not None:
        beside = _beside(float(np.tan(bearing)), near * float(np.cos(bearing)), extent, size, turn)
        ahead = near * float(np.cos(bearing)) + extent / 2.0
        bearing, centre = float(np.arctan2(beside, ahead)), float(np.hypot(beside, ahead))
    along = float(np.hypot(stand.sigma_m, extent_sigma / 2.0))
    pixel = centre * BOX_SIGMA_PX / focal
    across = pixel + (0.05 if is_whole else (size.length_m - size.width_m) / 4.0 + 0.2)
    # An edge at the picture's side stays there while the object goes on, and only the other one moves with it. Were its
    # place across the ray left open, a distance that is a little short would pull the object over to the ego's path.
    is_open = box[0] <= EDGE_PX and box[2] >= camera.width_px - 1.0 - EDGE_PX
    sideways = pixel + JITTER_MIN_M if is_whole else (2.0 if is_open else 0.5) * across
    axes = rotation_matrix(bearing, 0.0, 0.0)[:2, :2]
    return RangedObject(
        kind=kind,
        confidence=detection.confidence,
        box_px=box,
        x_m=camera.x_m + centre * float(np.cos(bearing)),
        y_m=camera.y_m + centre * float(np.sin(bearing)),
        covariance=axes @ np.diag([along**2, across**2]) @ axes.T,
        length_m=size.length_m,
        width_m=size.width_m,
        height_m=(v1 - v0) * depth_m / focal if by_size is not None else size.height_m,
        near_m=near,
        yaw_rad=_yaw(kind, bearing, turn),
        by_foot=foot,
        by_size=by_size,
        jitter=axes @ np.diag([stand.jitter_m**2 + pixel**2, sideways**2]) @ axes.T,
    )


def face_depth_m(thing: RangedObject, camera: CameraModel) -> float:
    """How far along the view the side of the thing is that the camera sees: between its nearest corner and its middle.

    Not positive for what is beside the camera or behind it.
    """
    centre = float(np.hypot(thing.x_m - camera.x_m, thing.y_m - camera.y_m))
    if centre <= 0.0:
        return 0.0
    level = np.array([thing.x_m - camera.x_m, thing.y_m - camera.y_m]) / centre
    forward = optical_to_vehicle_rotation(camera)[:2, 2]
    return float(level @ forward) * (thing.near_m + 0.15 * (centre - thing.near_m))


def is_covered(box: Box, others: Sequence[Box]) -> bool:
    """Whether a nearer box covers the line on which `box` stands."""
    for other in others:
        if other[3] <= box[3] + COVER_DOWN_PX or other[1] >= box[3] - 1.0:
            continue
        if min(box[2], other[2]) - max(box[0], other[0]) >= COVER_MIN * (box[2] - box[0]):
            return True
    return False


def hidden_distance(box: Box, camera: CameraModel) -> Distance | None:
    """Of a box whose foot a nearer one may hide: where it would stand if that were not so, and nearer if it is."""
    foot = foot_distance(box, camera, 0.0)
    if foot is None:
        return None
    return Distance(foot.range_m, COVERED_SIGMA * foot.range_m, COVERED_SIGMA * foot.range_m)


def _cues(
    kind: ObjectKind, box: Box, camera: CameraModel, pitch_sigma_rad: float
) -> tuple[Distance | None, Distance | None]:
    """What foot point and size tell of where the object stands."""
    kerb = KERB_SIGMA_M if kind is ObjectKind.PEDESTRIAN else 0.0
    return foot_distance(box, camera, pitch_sigma_rad, kerb), size_distance(box, SIZES[kind], camera)


def foot_distance(
    box: Box, camera: CameraModel, pitch_sigma_rad: float, raised_sigma_m: float = 0.0
) -> Distance | None:
    """Where the box's lower edge meets the road; None where the picture ends above it or it lies at the horizon.

    `raised_sigma_m` is how far above or below the road the object may stand.
    """
    if box[3] >= camera.height_px - 1.0 - EDGE_PX:
        return None
    ray = _ray(camera, (box[0] + box[2]) / 2.0, box[3])
    down = -float(ray[2])
    if down < 1e-4 or camera.z_m <= 0.0:
        return None
    flat = float(np.hypot(ray[0], ray[1]))
    range_m = camera.z_m * flat / down
    per_rad = range_m**2 / camera.z_m
    pixel_rad = BOX_SIGMA_PX / float(intrinsics(camera)[1, 1])
    road = float(np.hypot(ROAD_SIGMA_M + ROAD_SLOPE_SIGMA * range_m, raised_sigma_m)) / camera.z_m * range_m
    jitter = per_rad * pixel_rad
    return Distance(range_m, float(np.sqrt(jitter**2 + (per_rad * pitch_sigma_rad) ** 2 + road**2)), jitter)


def below_distance(box: Box, camera: CameraModel) -> Distance | None:
    """Of a box that the picture's lower edge cuts: somewhere nearer than the road that this edge shows."""
    if box[3] < camera.height_px - 1.0 - EDGE_PX:
        return None
    ray = _ray(camera, (box[0] + box[2]) / 2.0, camera.height_px - 1.0)
    if ray[2] > -1e-3 or camera.z_m <= 0.0:
        return None
    range_m = camera.z_m * float(np.hypot(ray[0], ray[1])) / -float(ray[2])
    return Distance(0.65 * range_m, 0.25 * range_m, 0.05 * range_m)


def size_distance(box: Box, size: Size, camera: CameraModel) -> Distance | None:
    """How far away something stands that is this high and looks this high; None where the box is cut above or below."""
    if not _sees_all(box, camera):
        return None
    height_px = box[3] - box[1]
    focal = float(intrinsics(camera)[1, 1])
    ray = _ray(camera, (box[0] + box[2]) / 2.0, box[3])
    range_m = focal * size.height_m / height_px * float(np.hypot(ray[0], ray[1]))
    # Foot and roof are not at one distance: where the roof is higher than the camera that makes the object look lower.
    gap = (camera.z_m / size.height_m - 1.0) * (size.roof_m - size.stand_m)
    range_m = max(range_m + gap, 0.5 * range_m)
    jitter = np.sqrt(2.0) * BOX_SIGMA_PX / height_px
    relative = np.hypot(size.height_sigma_m / size.height_m, jitter)
    return Distance(range_m, range_m * float(relative), range_m * float(jitter))


def fuse(cues: list[Distance]) -> Distance | None:
    """The weighted mean by inverse variance; where the cues contradict one another its sigma grows with their gap."""
    if not cues:
        return None
    weight = np.array([1.0 / cue.sigma_m**2 for cue in cues])
    ranges = np.array([cue.range_m for cue in cues])
    mean = float((weight * ranges).sum() / weight.sum())
    chi2 = float((weight * (ranges - mean) ** 2).sum())
    variance = 1.0 / float(weight.sum())
    if len(cues) > 1 and chi2 > DISAGREE * (len(cues) - 1):
        variance *= chi2 / (len(cues) - 1)
    jitter = float(np.sqrt((weight**2 * np.square([cue.jitter_m for cue in cues])).sum()) / weight.sum())
    return Distance(mean, float(np.sqrt(variance)), jitter)


def _ray(camera: CameraModel, u: float, v: float) -> Float:
    """(3,) in the vehicle frame, of length one along the optical axis."""
    k = intrinsics(camera)
    optical = np.array([(u - k[0, 2]) / k[0, 0], (v - k[1, 2]) / k[1, 1], 1.0])
    return np.asarray(optical_to_vehicle_rotation(camera) @ optical)


def _sees_all(box: Box, camera: CameraModel) -> bool:
    return box[1] > EDGE_PX and box[3] < camera.height_px - 1.0 - EDGE_PX


def _turn(size: Size, apparent_m: float) -> float:
    """Angle in [0, pi / 2] between the object's axis and the ray under which it looks `apparent_m` wide."""
    angles = np.linspace(0.0, np.pi / 2.0, 31)
    widths = size.length_m * np.sin(angles) + size.width_m * np.cos(angles)
    rising = int(np.argmax(widths)) + 1
    # Beyond the broadest look the width falls a little again: that ambiguity is left to the side view.
    if apparent_m >= 0.97 * size.length_m:
        return float(np.pi / 2.0)
    return float(np.interp(apparent_m, widths[:rising], angles[:rising]))


def _hidden_sides(box: Box, others: Sequence[Box]) -> tuple[bool, bool]:
    """Whether a nearer box hides the left and the right edge."""
    left = right = False
    for other in others:
        if other[3] <= box[3] + COVER_DOWN_PX or min(box[3], other[3]) - max(box[1], other[1]) < 0.5 * (
            box[3] - box[1]
        ):
            continue
        left |= other[0] < box[0] - 1.0 and box[0] - 2.0 <= other[2] < box[2]
        right |= other[2] > box[2] + 1.0 and box[0] < other[0] <= box[2] + 2.0
    return left, right


def _head_on(kind: ObjectKind, turn: float | None) -> float:
    """How much of the way from the nearest face to where it stands lies along the ray; people are round."""
    if kind is ObjectKind.PEDESTRIAN:
        return 1.0
    return 0.6 if turn is None else float(np.cos(turn))


def _middle_px(
    box: Box, size: Size, metres_per_px: float, camera: CameraModel, hidden: tuple[bool, bool]
) -> tuple[float, bool]:
    """Column of the object's middle, and whether the box is whole. Of one that the picture's side cuts, or that
    something hides on one side, the edge that is seen moves as the object does, and its middle lies half a usual width
    beyond."""
    half_px = (size.length_m + size.width_m) / 4.0 / metres_per_px
    cut_left = box[0] <= EDGE_PX or hidden[0]
    cut_right = box[2] >= camera.width_px - 1.0 - EDGE_PX or hidden[1]
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
    if turn is None:
        return (size.length_m + size.width_m) / 2.0, (size.length_m - size.width_m) / 2.0 + 0.1
    width = float(np.clip(size.length_m * np.sin(turn) + size.width_m * np.cos(turn), size.width_m, size.length_m))
    mixed = (size.length_m - width) * (width - size.width_m) / max((size.length_m - size.width_m) ** 2, 1e-6)
    return size.length_m + size.width_m - width, float(size.length_sigma_m * np.cos(turn) + 0.3 + 4.0 * mixed)


def _beside(tangent: float, near_m: float, extent_m: float, size: Size, turn: float) -> float:
    """How far left the middle is of a footprint that begins `near_m` ahead and whose box's middle lies at `tangent`.

    Of an object to the side one edge of the box is its near corner, the other its far one, so the box's middle is not
    where the object's is.
    """
    half = (size.length_m * np.sin(turn) + size.width_m * np.cos(turn)) / 2.0
    near, far = 1.0 / near_m, 1.0 / (near_m + extent_m)
    out = (abs(tangent) - half / 2.0 * (near - far)) / ((near + far) / 2.0)
    if out < half:
        out = min(abs(tangent) * near_m, half)
    return float(np.copysign(out, tangent))


def _yaw(kind: ObjectKind, bearing_rad: float, turn: float | None) -> float | None:
    if turn is None or kind is ObjectKind.PEDESTRIAN or ALIGNED_MAX_RAD < turn < ACROSS_MIN_RAD:
        return None
    return bearing_rad + (turn if turn >= ACROSS_MIN_RAD else 0.0)
