"""Makes box labels for training and evaluation from an instance image and the objects' poses.

A label is the box around the visible pixels of an object. The visible fraction of an object is the fraction of its 3-D
box that lies in the picture, times the unoccluded fraction of its silhouette in the picture. It decides whether the
object counts (`classes.HEIGHT_MIN_PX`, `classes.VISIBLE_MIN`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from perception.detection.classes import CLASSES, FILL, HEIGHT_MIN_PX, VISIBLE_MIN

Float = NDArray[np.float64]
NEAR_M = 0.1
"""Minimum depth of a projected point, m."""

TAGGED = {12: "pedestrian", 14: "car", 15: "truck", 16: "bus", 18: "motorcycle", 19: "bicycle"}
"""Class of each semantic tag of CARLA that marks a road user."""

UNOWNED_MIN_PX = 12
"""Minimum number of visible pixels of a road user that is not an actor, such as a parked car of the map."""

_GRID = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 6)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
_CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
"""Grid of 6 x 6 x 6 points in the cube from -1 to 1, and the cube's corners."""


@dataclass(frozen=True, slots=True)
class Thing:
    """An object that may appear in the picture.

    * `pose` (4, 4): transform from the frame of the object's box to the world; `half_m`: half its sizes, m.
    * `tag`: semantic tag of its pixels.
    * `instance`: its number in the instance image. None: it has no number, and every pixel with its tag inside its
      projected box belongs to it.
    * `face_m`: side of a flat square inside the box, m, for a sign or light whose exact height on the pole is unknown.
    * `number`: identifies the object among those of one moment.
    """

    name: str
    pose: Float
    half_m: tuple[float, float, float]
    tag: int
    instance: int | None = None
    face_m: float | None = None
    number: int = -1

    def __post_init__(self) -> None:
        if self.name not in CLASSES:
            raise ValueError(f"unknown class {self.name}; there are {', '.join(CLASSES)}")


@dataclass(frozen=True, slots=True)
class Pinhole:
    """A camera in the world.

    `pose` (4, 4) is the transform from the camera's frame (x forward, z up) to the world. `handed` is +1 if y points
    left, and -1 if it points right, as in CARLA.
    """

    width_px: int
    height_px: int
    fov_x_rad: float
    pose: Float
    handed: int = 1

    def project(self, points: Float) -> tuple[Float, Float]:
        """World points (N, 3) -> pixels (N, 2) as (u, v) and depth (N,) m; pixels are invalid behind the camera."""
        local = (points - self.pose[:3, 3]) @ self.pose[:3, :3]
        depth = local[:, 0]
        focal = 0.5 * self.width_px / np.tan(0.5 * self.fov_x_rad)
        safe = np.where(depth > NEAR_M, depth, 1.0)
        u = 0.5 * (self.width_px - 1) - self.handed * focal * local[:, 1] / safe
        v = 0.5 * (self.height_px - 1) - focal * local[:, 2] / safe
        return np.stack([u, v], axis=1), depth

    def holds(self, points: Float) -> NDArray[np.bool_]:
        """Which world points (N, 3) lie inside the picture."""
        pixels, depth = self.project(points)
        inside = (pixels > -0.5) & (pixels < np.array([self.width_px, self.height_px]) - 0.5)
        return np.asarray(inside.all(axis=1) & (depth > NEAR_M))


@dataclass(frozen=True, slots=True)
class Label:
    """The visible box of an object.

    * `box_px`: (u0, v0, u1, v1), the outer edges of the visible pixels.
    * `visible`: the visible fraction, 0 to 1; `number`: that of its `Thing`.
    """

    name: str
    box_px: tuple[float, float, float, float]
    visible: float
    distance_m: float
    number: int = -1

    @property
    def counts(self) -> bool:
        """Whether the object is high and visible enough to count."""
        return self.box_px[3] - self.box_px[1] >= HEIGHT_MIN_PX and self.visible >= VISIBLE_MIN


def label_things(
    things: Sequence[Thing], camera: Pinhole, instances: NDArray[np.integer], tags: NDArray[np.integer]
) -> list[Label]:
    """Labels of all `things` with at least one visible pixel, including those that do not count.

    `instances` and `tags` (H, W) are each pixel's instance number and semantic tag.
    """
    spans = ndimage.find_objects(instances)
    out = []
    for thing in things:
        if thing.instance is not None:
            span = spans[thing.instance - 1] if 0 < thing.instance <= len(spans) else None
            if span is None:
                continue
            mask = instances[span] == thing.instance
        else:
            span = _projected_span(thing, camera)
            if span is None:
                continue
            mask = tags[span] == thing.tag
        label = _label(thing, camera, mask, span)
        if label is not None:
            out.append(label)
    return out


def label_unowned(instances: NDArray[np.integer], tags: NDArray[np.integer], known: Collection[int]) -> list[Label]:
    """Labels of the road users that are not among the `known` instances, such as the parked cars of CARLA's maps.

    They are not actors, so their distance and visible fraction are unknown; none of these labels counts.
    """
    is_unowned = np.isin(tags, list(TAGGED)) & ~np.isin(instances, list(known))
    out = []
    for number in np.unique(instances[is_unowned]).tolist():
        rows, columns = np.nonzero(is_unowned & (instances == number))
        if len(rows) >= UNOWNED_MIN_PX:
            box = (float(columns.min()), float(rows.min()), float(columns.max()) + 1.0, float(rows.max()) + 1.0)
            out.append(Label(TAGGED[int(tags[rows[0], columns[0]])], box, 0.0, 0.0))
    return out


def _label(thing: Thing, camera: Pinhole, mask: NDArray[np.bool_], span: tuple[slice, slice]) -> Label | None:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return None
    top, left = span[0].start, span[1].start
    box = (left + columns[0], top + rows[0], left + columns[-1] + 1, top + rows[-1] + 1)
    within = float(camera.holds(_world(thing, _GRID)).mean())
    area = _hull_area(thing, camera) if thing.face_m is None else _face_area(thing.face_m, thing, camera)
    seen = min(float(mask.sum()) / max(FILL.get(thing.name, 1.0) * area, 1.0), 1.0)
    distance = float(np.linalg.norm(thing.pose[:3, 3] - camera.pose[:3, 3]))
    edges = (float(box[0]), float(box[1]), float(box[2]), float(box[3]))
    return Label(thing.name, edges, within * seen, distance, thing.number)


def _world(thing: Thing, unit: Float) -> Float:
    return np.asarray((unit * thing.half_m) @ thing.pose[:3, :3].T + thing.pose[:3, 3])


def _hull_area(thing: Thing, camera: Pinhole) -> float:
    """Area, px, of the hull of the part of the object's box that lies in the picture."""
    points = _world(thing, _GRID)
    pixels, depth = camera.project(points)
    pixels = pixels[depth > NEAR_M]
    if len(pixels) < 3:
        return 0.0
    cut = np.clip(pixels, [-0.5, -0.5], [camera.width_px - 0.5, camera.height_px - 0.5])
    return float(cv2.contourArea(cv2.convexHull(cut.astype(np.float32))))


def _face_area(side_m: float, thing: Thing, camera: Pinhole) -> float:
    """Area, px, of a square of side `side_m` that faces the camera at the object's distance."""
    _, depth = camera.project(thing.pose[None, :3, 3])
    focal = 0.5 * camera.width_px / np.tan(0.5 * camera.fov_x_rad)
    return float((side_m * focal / max(depth[0], NEAR_M)) ** 2)


def _projected_span(thing: Thing, camera: Pinhole) -> tuple[slice, slice] | None:
    """Rows and columns of the object's projected box, one pixel wider on each side; None if it is out of view."""
    pixels, depth = camera.project(_world(thing, _CORNERS))
    if (depth <= NEAR_M).any():
        return None
    (u0, v0), (u1, v1) = np.floor(pixels.min(axis=0)) - 1, np.ceil(pixels.max(axis=0)) + 2
    columns = slice(int(max(u0, 0)), int(min(u1, camera.width_px)))
    rows = slice(int(max(v0, 0)), int(min(v1, camera.height_px)))
    if columns.start >= columns.stop or rows.start >= rows.stop:
        return None
    return rows, columns
