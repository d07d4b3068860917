"""Locates detected road users in the vehicle frame from their boxes: foot point and known size, fused by variance.

`ranging_kernel` contains the compiled computation: for ten boxes, Python's calls would take most of the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from struct import Struct

import numpy as np

from av_core.types import CameraModel, Detection, Distance, Float, ObjectKind, RangedObject
from perception.depth.ranging_kernel import range_boxes
from perception.depth.ranging_types import KIND, LENS, VIEWS, Lens, Rows, Size
from perception.depth.view import EDGE_PX, View

OPAQUE = (ObjectKind.CAR, ObjectKind.TRUCK, ObjectKind.BUS)
"""Kinds that hide what is behind them; between a cycle's wheels and beside a person's legs the road remains visible."""

SIZES = {
    ObjectKind.CAR: Size(4.6, 1.95, 1.58, 0.20, 0.6, 1.05, 1.3),
    ObjectKind.TRUCK: Size(7.5, 2.7, 3.2, 0.8, 1.2, 1.3, 0.8),
    ObjectKind.BUS: Size(10.3, 2.5, 3.4, 0.4, 1.0, 2.0, 0.2),
    ObjectKind.MOTORCYCLE: Size(2.1, 0.83, 1.57, 0.12, 0.3, 0.35, 0.6),
    ObjectKind.BICYCLE: Size(1.75, 0.62, 1.7, 0.15, 0.2, 0.4, 0.7),
    ObjectKind.PEDESTRIAN: Size(0.5, 0.5, 1.7, 0.17, 0.1, 0.25, 0.25),
}
"""Size of each kind; `Size` documents the fields."""

FLAT = np.zeros(0)
"""`rises_m` of a flat road."""

_KINDS = tuple(SIZES)
_NUMBERS = {kind.value: number for number, kind in enumerate(_KINDS)}
_SHAPES = {kind.value: (kind, size.length_m, size.width_m) for kind, size in SIZES.items()}
"""Kind, length and width by the class names of road users."""


def _kind_table() -> Rows:
    """The rows of `KIND`, in the order of `SIZES`."""
    turns = np.linspace(0.0, np.pi / 2.0, VIEWS)
    table = np.zeros(len(SIZES), KIND)
    for row, (kind, size) in zip(table, SIZES.items(), strict=True):
        for name, value in size._asdict().items():
            row[name] = value
        row["turns_rad"], row["widths_m"] = turns, size.length_m * np.sin(turns) + size.width_m * np.cos(turns)
        row["rising"] = np.argmax(row["widths_m"]) + 1
        row["is_round"], row["is_opaque"] = kind is ObjectKind.PEDESTRIAN, kind in OPAQUE
    return table


_TABLE = _kind_table()
_LENS_BYTES = Struct(f"{len(Lens._fields)}d")


def range_objects(
    detections: Sequence[Detection], camera: CameraModel, pitch_sigma_rad: float, rises_m: Float = FLAT
) -> tuple[RangedObject, ...]:
    """Road users among `detections` with positions in the vehicle frame; `camera` has its present attitude to the road.

    `rises_m` (K,) is the road's height above the ego's ground plane, every `ROAD_STEP_M` ahead; empty for a flat road.

    Boxes that neither foot point nor size can place are left out, as are boxes that are not finite or are empty.
    """
    seen = [one for one in detections if one.name in _NUMBERS]
    if not seen:
        return ()
    boxes = np.array([one.box_px for one in seen], dtype=np.float64)
    kinds = np.array([_NUMBERS[one.name] for one in seen])
    rows, spreads, jitters = range_boxes(boxes, kinds, _TABLE, _lens_row(View.of(camera)), pitch_sigma_rad, rises_m)
    out = []
    for one, row, covariance, jitter in zip(seen, rows.tolist(), spreads, jitters, strict=True):
        x, y, height, near, yaw, foot, foot_sigma, foot_jitter, by_size, size_sigma, size_jitter = row
        if math.isnan(x):
            continue
        kind, length, width = _SHAPES[one.name]
        out.append(
            RangedObject(
                kind=kind,
                confidence=one.confidence,
                box_px=one.box_px,
                x_m=x,
                y_m=y,
                covariance=covariance,
                length_m=length,
                width_m=width,
                height_m=height,
                near_m=near,
                yaw_rad=None if math.isnan(yaw) else yaw,
                jitter=jitter,
                by_foot=None if math.isnan(foot) else Distance(foot, foot_sigma, foot_jitter),
                by_size=None if math.isnan(by_size) else Distance(by_size, size_sigma, size_jitter),
            )
        )
    return tuple(out)


def face_depth_m(thing: RangedObject, view: View) -> float:
    """Depth along the camera's axis of the side that the camera sees, between the nearest corner and the middle.

    Not positive for an object beside the camera or behind it.
    """
    ahead, left = thing.x_m - view.x_m, thing.y_m - view.y_m
    centre = math.hypot(ahead, left)
    if centre <= 0.0:
        return 0.0
    along = (ahead * view.forward[0] + left * view.forward[1]) / centre
    return along * (thing.near_m + 0.15 * (centre - thing.near_m))


def _lens_row(view: View) -> Rows:
    """The camera as an array (1,) of `LENS`, packed in the order of the fields of `Lens`.

    As bytes, since numpy would spend more time on each number's type than on all the rest.
    """
    packed = _LENS_BYTES.pack(
        (view.width_px - 1) / 2.0, (view.height_px - 1) / 2.0, view.focal_px, view.x_m, view.y_m, view.z_m,
        *view.right, *view.down, *view.forward,
        view.height_px - 1.0 - EDGE_PX, view.width_px - 1.0 - EDGE_PX, EDGE_PX, view.height_px,
    )  # fmt: skip
    return np.frombuffer(bytearray(packed), LENS)
