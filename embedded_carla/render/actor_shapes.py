"""Unit shapes of actors on the GPU, in three levels of detail, and drawing a tick's actors with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.actors import VEHICLE_TAGS, ActorSet
from embedded_carla.render.frame import Camera
from embedded_carla.render.geometry import Shape
from embedded_carla.render.instances import F32, InstancedShape, object_program
from embedded_carla.render.programs import Programs
from embedded_carla.render.prop_shapes import prop
from embedded_carla.render.rider_shapes import rider
from embedded_carla.render.vehicle_shapes import FAR, body
from embedded_carla.render.vehicle_sizes import TWO_WHEELED, TYPICAL, vehicle_size
from embedded_carla.render.walker_shapes import CHILD_BELOW_M, walker
from embedded_carla.render.wheel_shapes import RIM_KINDS, thin_wheel, wheel
from embedded_carla.scene import ActorView

LEVEL_PX = (42.0, 13.0)  # radius on screen above which level 0, level 1 is drawn
LEAST_PX = 0.7
Key = tuple[str, str, int]  # kind, model or number, level


class ActorShapes:
    """Shapes are made when first seen."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._made: dict[Key, InstancedShape] = {}

    def _shape(self, key: Key) -> InstancedShape:
        if key not in self._made:
            self._made[key] = InstancedShape(self._ctx, make_shape(*key))
        return self._made[key]

    def draw(self, programs: Programs, camera: Camera, actors: ActorSet, defines: tuple[str, ...]) -> None:
        """What of `actors` the camera sees."""
        if not actors.views:
            return
        distance = np.linalg.norm(actors.centre - camera.eye, axis=1)
        radius_px = actors.radius / np.maximum(distance, 0.5) * camera.focal_px
        seen = camera.sees(actors.centre, actors.radius) & (radius_px > LEAST_PX)
        level = np.full(len(actors.views), FAR)
        level[radius_px > LEVEL_PX[1]] = 1
        level[radius_px > LEVEL_PX[0]] = 0
        near_first = np.argsort(distance, kind="stable")
        self._draw(object_program(programs, "object", defines), actors, near_first[seen[near_first]], level)

    def cast(self, program: Any, actors: ActorSet, chosen: NDArray[np.bool_]) -> None:
        """Draw the chosen ones into the shadow map, coarsely."""
        level = np.full(len(actors.views), FAR)
        self._draw(program, actors, np.flatnonzero(chosen), level)

    def _draw(self, program: Any, actors: ActorSet, chosen: NDArray[np.intp], level: NDArray[np.intp]) -> None:
        groups: dict[Key, list[F32]] = {}
        for i in chosen:
            actor, detail = actors.views[i], int(level[i])
            row = actors.block[i : i + 1]
            groups.setdefault(body_key(actor, detail), []).append(row)
            if actor.tag not in VEHICLE_TAGS:
                continue
            shape = vehicle_size(actor.shape, actor.model).shape
            if detail == 0:
                kind = ("thin_wheel", "", 0) if shape in TWO_WHEELED else ("wheel", str(actor.seed % RIM_KINDS), 0)
                groups.setdefault(kind, []).append(actors.wheels(int(i)))
            if shape in TWO_WHEELED:
                groups.setdefault((f"rider {actor.shape}", actor.model, detail), []).append(actors.rider(int(i)))
        for key, blocks in groups.items():
            self._shape(key).draw(program, np.concatenate(blocks))

    def release(self) -> None:
        for shape in self._made.values():
            shape.release()
        self._made.clear()


def body_key(actor: ActorView, level: int) -> Key:
    """Which shape draws an actor."""
    if actor.shape != "walker":
        return (actor.shape, actor.model, level)
    age = "child" if 2.0 * actor.extent[2] < CHILD_BELOW_M else "adult"
    return (age, str(actor.seed % 10), level)


def make_shape(kind: str, model: str, level: int) -> Shape:
    """The unit shape of a kind: a vehicle's shape, "adult", "child", "rider SHAPE", "wheel", or a prop's name."""
    if kind in ("adult", "child"):
        return walker(int(model), kind == "child", level)
    if kind == "wheel":
        return wheel(int(model))
    if kind == "thin_wheel":
        return thin_wheel()
    if kind.startswith("rider "):
        return rider(vehicle_size(kind.removeprefix("rider "), model), level)
    if kind in TYPICAL:
        return body(kind, model, level)
    return prop(kind)
