"""Open doors of vehicles and the openings that they leave, as unit shapes scaled to the vehicle's box."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.shapes.geometry import Colour, Shape, ShapeBuilder
from embedded_carla.render.shapes.parts import Part
from embedded_carla.render.shapes.vehicles.car_hull import GLASS, WHITE
from embedded_carla.render.shapes.vehicles.car_styles import style_of
from embedded_carla.render.shapes.vehicles.door_frames import BELT, DoorFrame, door_frames
from embedded_carla.render.shapes.vehicles.sizes import VehicleSize, vehicle_size
from embedded_carla.render.shapes.vehicles.trucks_and_buses import FIRE_RED

F64 = NDArray[np.float64]
OUT_M = 0.032
"""Distance of an open door's skin from the hull, m, so that it hides the handles and glass of the closed door."""

OPENING_OUT_M = 0.025
THICK_M = 0.09
INSIDE = (0.045, 0.045, 0.050)
TRIM = (0.010, 0.010, 0.011)
HOLLOW = (0.008, 0.008, 0.009)
SEAT = (0.055, 0.055, 0.060)


def door(shape: str, model: str, number: int) -> Shape:
    """A door's panel and window, in the frame of its hinge on the ground, closed."""
    size, frame = vehicle_size(shape, model), door_frames(shape, model)[number]
    b, out = ShapeBuilder(), frame.side
    skin = _moved(frame, OUT_M)
    lining = _moved(frame, OUT_M - THICK_M)
    paint, part = _paint(size)
    _sheet(b, skin, out, (paint, part), (GLASS, Part.GLASS))
    _sheet(b, lining, -out, (INSIDE, Part.FIXED), (GLASS, Part.GLASS))
    edge = np.concatenate([skin[0], skin[1:, -1], skin[-1, -2::-1], skin[-2:0:-1, 0]])
    inner = np.concatenate([lining[0], lining[1:, -1], lining[-1, -2::-1], lining[-2:0:-1, 0]])
    following = np.roll(np.arange(len(edge)), -1)
    rim = np.stack([edge, edge[following], inner[following], inner], axis=1)
    b.skin(rim if out > 0 else rim[:, ::-1], TRIM, Part.FIXED)
    return _scaled(b, size, frame.hinge)


def opening(shape: str, model: str, number: int) -> Shape:
    """The dark hole that an open door leaves, with the seat behind it, in the vehicle's frame."""
    size, frame = vehicle_size(shape, model), door_frames(shape, model)[number]
    b, out = ShapeBuilder(), frame.side
    hole = _moved(frame, OPENING_OUT_M)
    _sheet(b, hole, out, (HOLLOW, Part.FIXED), (HOLLOW, Part.FIXED))
    b.part = Part.FIXED
    for corners in _seat(frame):
        b.polygon(corners if out > 0 else corners[::-1], SEAT)
    return _scaled(b, size, (0.0, 0.0))


def _moved(frame: DoorFrame, out_m: float) -> F64:
    """The door's cross-sections, moved outwards."""
    moved: F64 = frame.rings + np.array([0.0, frame.side * out_m, 0.0])
    return moved


def _paint(size: VehicleSize) -> tuple[Colour, Part]:
    style = style_of(size.shape, size.model)
    if "firetruck" in size.model:
        return FIRE_RED, Part.LACQUER
    if size.shape == "truck":
        return WHITE, Part.PAINT
    if style.doors_white:
        return (0.75, 0.75, 0.76), Part.LACQUER
    return (WHITE, Part.PAINT) if style.own is None else (style.own, Part.LACQUER)


def _sheet(b: ShapeBuilder, rings: F64, out: float, panel: tuple[Colour, Part], window: tuple[Colour, Part]) -> None:
    """Add the surface through the cross-sections `rings` (S, 5, 3), front to rear, that faces the side `out`."""
    quads, colours, parts = [], [], []
    for i in range(len(rings) - 1):
        for k in range(rings.shape[1] - 1):
            corners = np.stack([rings[i, k], rings[i + 1, k], rings[i + 1, k + 1], rings[i, k + 1]])
            quads.append(corners if out > 0 else corners[::-1])
            colour, part = window if k >= BELT else panel
            colours.append(colour)
            parts.append(part)
    b.skin(np.array(quads), np.array(colours), np.array(parts, dtype=float))


def _seat(frame: DoorFrame) -> tuple[list[tuple[float, float, float]], ...]:
    """Backrest and cushion, just outside the hole; on the right side the corners are counter-clockwise from outside."""
    front, rear = float(frame.rings[0, 0, 0]), float(frame.rings[-1, 0, 0])
    low = frame.z_m[0]
    belt = float(frame.rings[:, BELT, 2].min())
    y = frame.side * (float(np.abs(frame.rings[:, BELT, 1]).max()) + OPENING_OUT_M + 0.004)
    length, knee = front - rear, low + 0.45 * (belt - low)
    back = [
        (rear + 0.30 * length, y, knee), (rear + 0.06 * length, y, belt),
        (rear + 0.20 * length, y, belt), (rear + 0.42 * length, y, knee),
    ]  # fmt: skip
    cushion = [
        (rear + 0.34 * length, y, knee - 0.14), (rear + 0.30 * length, y, knee),
        (rear + 0.72 * length, y, knee), (rear + 0.74 * length, y, knee - 0.14),
    ]  # fmt: skip
    return back, cushion


def _scaled(b: ShapeBuilder, size: VehicleSize, hinge: tuple[float, float]) -> Shape:
    shape = b.build()
    shape.vertices[:, 0:2] -= np.asarray(hinge, dtype=np.float32)
    scale = np.asarray(size.size, dtype=np.float32)
    shape.vertices[:, 0:3] /= scale
    shape.vertices[:, 3:6] *= scale
    shape.vertices[:, 3:6] /= np.maximum(np.linalg.norm(shape.vertices[:, 3:6], axis=1, keepdims=True), 1e-12)
    return shape
