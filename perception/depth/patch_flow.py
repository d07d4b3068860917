"""How each object moves past the camera, from how its picture grew: its whole patch laid onto an earlier look.

Corners followed from picture to picture drift, and far away there are few. The patch is laid straight onto a picture of
up to a second ago, with every pixel that has a gradient, so that nothing adds up on the way. What comes nearer grows by
the ratio of the distances: 1 - growth is how far it went ahead, over its distance now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from av_stack.frames import intrinsics, optical_to_vehicle_rotation, rotation_matrix
from av_stack.types import CameraModel, Float, Image
from perception.boxes import Box, overlap
from perception.depth.object_flow import BoxFlow, lens_of, level_points, normalised, turned_points
from perception.depth.patch_match import Match, Region, match, pyramid

SPAN_PICTURES = 12
PYRAMID_LEVELS = 3
INSET = 0.06
SIDE_MIN_PX = 10.0
BORDER_PX = 2.0
COVERED_MAX = 0.05
"""How much of a box a nearer one may cover."""

LIKENESS_MIN = 0.8
GONE_PICTURES = 4
FITS_MIN = 0.45
"""Overlap of a patch's frame with its box: with less it has slid off."""

OBJECTS_MAX = 8


@dataclass(frozen=True, slots=True)
class _Picture:
    """A picture of the past: its pyramid, its age, and how the camera has turned since (rays then to rays now)."""

    number: int
    grey: list[Image]
    age_s: float
    turn: Float


@dataclass(frozen=True, slots=True)
class _Look:
    """Where an object was in the picture of that number."""

    number: int
    region: Region


class PatchFlow:
    """Call `update` with each picture of one camera in order and the boxes found in it."""

    def __init__(self) -> None:
        self._camera: CameraModel | None = None
        self._number = 0
        self._pictures: dict[int, _Picture] = {}
        self._objects: list[list[_Look]] = []

    def update(
        self,
        bgr: Image,
        camera: CameraModel,
        dt_s: float,
        turned_rad: tuple[float, float, float],
        boxes: Sequence[Box],
    ) -> tuple[BoxFlow | None, ...]:
        """One answer a box, None where its patch tells nothing; arguments as of `ObjectFlow.update`."""
        grey = np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY), dtype=np.uint8)
        is_other = self._camera is None or lens_of(self._camera) != lens_of(camera)
        if is_other or dt_s <= 0.0 or not np.isfinite(turned_rad).all():
            self._pictures, self._objects = {}, []
        self._camera, self._number = camera, self._number + 1
        self._age(dt_s, turned_rad, camera)
        self._pictures[self._number] = _Picture(self._number, pyramid(grey, PYRAMID_LEVELS), 0.0, np.eye(3))
        chosen = worth_matching(boxes, camera)
        found: list[BoxFlow | None] = [None] * len(boxes)
        objects: list[list[_Look]] = []
        free = [looks for looks in self._objects if looks[-1].number >= self._number - GONE_PICTURES]
        for i in chosen:
            looks = self._of(boxes[i], free, camera)
            if looks is not None:
                free.remove(looks)
                found[i], looks = self._matched(looks, boxes[i], camera)
            objects.append(looks or [_Look(self._number, _inset(boxes[i]))])
        self._objects = objects + free
        return tuple(found)

    def _age(self, dt_s: float, turned_rad: tuple[float, float, float], camera: CameraModel) -> None:
        roll, pitch, yaw = turned_rad
        optical = optical_to_vehicle_rotation(camera)
        turn = optical.T @ rotation_matrix(yaw, pitch, roll).T @ optical
        self._pictures = {
            n: _Picture(n, old.grey, old.age_s + dt_s, turn @ old.turn)
            for n, old in self._pictures.items()
            if n >= self._number - SPAN_PICTURES
        }
        kept = ([look for look in looks if look.number in self._pictures] for looks in self._objects)
        self._objects = [looks for looks in kept if looks]

    def _of(self, box: Box, objects: list[list[_Look]], camera: CameraModel) -> list[_Look] | None:
        """The object whose patch, carried on, is where the box is."""
        shared = [overlap(_frame(self._carried(looks[-1], camera)), box) for looks in objects]
        best = max(range(len(objects)), key=lambda n: shared[n], default=None)
        return objects[best] if best is not None and shared[best] >= FITS_MIN else None

    def _carried(self, look: _Look, camera: CameraModel) -> Region:
        """Where a patch would be now if only the camera had turned; where it was, if that is behind the camera."""
        at = turned_points(normalised(np.array([look.region[:2]]), camera), self._pictures[look.number].turn)[0]
        if not np.isfinite(at).all():
            return look.region
        k = intrinsics(camera)
        u, v = k[0, 0] * at[0] + k[0, 2], k[1, 1] * at[1] + k[1, 2]
        return Region(float(u), float(v), look.region.width, look.region.height)

    def _matched(self, looks: list[_Look], box: Box, camera: CameraModel) -> tuple[BoxFlow | None, list[_Look] | None]:
        """(how it moved since the oldest look that is still like it, its looks with the one of now)"""
        guess, now = self._carried(looks[-1], camera), self._pictures[self._number].grey
        for look in dict.fromkeys((looks[0], looks[len(looks) // 2], looks[-1])):
            seen = match(self._pictures[look.number].grey, look.region, now, guess)
            if seen is None or seen.likeness < LIKENESS_MIN or overlap(_frame(seen.region), box) < FITS_MIN:
                continue
            return self._moved(look, seen, camera), [*looks, _Look(self._number, seen.region)]
        return None, None

    def _moved(self, look: _Look, seen: Match, camera: CameraModel) -> BoxFlow | None:
        before = self._pictures[look.number]
        ray = normalised(np.array([look.region[:2]]), camera)
        then = level_points(turned_points(ray, before.turn), camera)[0]
        now = level_points(normalised(np.array([seen.region[:2]]), camera), camera)[0]
        # What a turn of the camera moves outwards grows by it: a turned picture's areas change by 1 / ahead^3.
        ahead = float(before.turn[2] @ np.append(ray[0], 1.0))
        if ahead <= 0.0:
            return None
        growth, focal = float(np.exp(seen.growth)) * ahead**1.5, float(intrinsics(camera)[0, 0])
        # right = now - growth * then, forward = 1 - growth
        slopes = np.array([[1.0 / focal, -growth * then[0]], [0.0, -growth]])
        covariance = slopes @ seen.covariance[np.ix_([0, 2], [0, 2])] @ slopes.T
        moved = np.array([now[0] - growth * then[0], 1.0 - growth])
        if not (np.isfinite(moved).all() and np.isfinite(covariance).all()):
            return None
        return BoxFlow(before.age_s, self._number - look.number, moved, covariance)


def worth_matching(boxes: Sequence[Box], camera: CameraModel) -> list[int]:
    """Numbers of the largest boxes that are whole, large enough and not covered."""
    usable = []
    for i, box in enumerate(boxes):
        if not np.isfinite(box).all() or min(box[2] - box[0], box[3] - box[1]) < SIDE_MIN_PX:
            continue
        right, low = camera.width_px - 1.0 - BORDER_PX, camera.height_px - 1.0 - BORDER_PX
        if box[0] < BORDER_PX or box[1] < BORDER_PX or box[2] > right or box[3] > low:
            continue
        if not any(_covers(other, box) for other in boxes if np.isfinite(other).all()):
            usable.append(i)
    return sorted(usable, key=lambda i: -boxes[i][3])[:OBJECTS_MAX]


def _covers(other: Box, box: Box) -> bool:
    """Whether a nearer box hides a part of this one."""
    if other[3] <= box[3]:
        return False
    across, down = min(other[2], box[2]) - max(other[0], box[0]), min(other[3], box[3]) - max(other[1], box[1])
    return across > 0.0 and down > 0.0 and across * down > COVERED_MAX * (box[2] - box[0]) * (box[3] - box[1])


def _inset(box: Box) -> Region:
    share = 1.0 - 2.0 * INSET
    return Region(
        (box[0] + box[2]) / 2.0, (box[1] + box[3]) / 2.0, share * (box[2] - box[0]), share * (box[3] - box[1])
    )


def _frame(region: Region) -> Box:
    du, dv = region.width / (2.0 - 4.0 * INSET), region.height / (2.0 - 4.0 * INSET)
    return region.u - du, region.v - dv, region.u + du, region.v + dv
