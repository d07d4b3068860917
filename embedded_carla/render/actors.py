"""Actors of one tick as instances: bodies, wheels, riders, people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render import scenery_shapes, vehicle_shapes, walker_shapes, wheel_shapes
from embedded_carla.render.frame import Camera
from embedded_carla.render.geometry import Shape
from embedded_carla.render.instances import F32, InstancedShape, instance_block, object_program, pose_matrices
from embedded_carla.render.programs import Programs
from embedded_carla.scene import ActorView
from embedded_carla.types import LightState, SemanticTag

F64 = NDArray[np.float64]
FINE_PX = 26.0  # radius on screen above which an actor is drawn in detail
LEAST_PX = 0.7
LIMB_SWING_RAD = 0.55
CLOTHES = (
    (0.32, 0.05, 0.05), (0.05, 0.12, 0.30), (0.55, 0.54, 0.50), (0.04, 0.04, 0.045), (0.08, 0.20, 0.10),
    (0.50, 0.34, 0.06), (0.20, 0.21, 0.23), (0.28, 0.14, 0.28), (0.16, 0.30, 0.38),
)  # fmt: skip
VEHICLE_TAGS = (SemanticTag.CAR, SemanticTag.TRUCK, SemanticTag.BUS, SemanticTag.MOTORCYCLE, SemanticTag.BICYCLE)


class ActorSet:
    """The actors of one tick in arrays, shared by all cameras and the shadow map."""

    def __init__(self, actors: Sequence[ActorView]) -> None:
        self.views = list(actors)
        self.poses = pose_matrices([a.transform for a in actors])
        self.half = np.maximum(np.array([a.extent for a in actors]).reshape(-1, 3), 0.01)
        self.centre = self.poses[:, :3, 3] + self.poses[:, :3, 2] * self.half[:, 2:3]
        self.radius = np.linalg.norm(self.half, axis=1)
        n = len(actors)
        limbs = [LIMB_SWING_RAD * np.sin(a.phase_rad) if a.shape == "walker" else 0.0 for a in actors]
        self.block = instance_block(
            self.poses, 2.0 * self.half, np.array([_colour(a) for a in actors]).reshape(-1, 3),
            np.array([(a.seed % 1009) / 1009.0 for a in actors]), np.array([float(a.tag) for a in actors]),
            np.array([float(a.actor_id & 0xFFFF) for a in actors]),
            np.array([float(a.lights & 0x7FFF) for a in actors]),
            np.zeros(n), np.array(limbs),
        )  # fmt: skip
        self.shape_of = [a.shape for a in actors]

    def wheels(self, index: int) -> F32:
        """Instances of the wheels of actor `index`, turned and steered."""
        actor = self.views[index]
        layout = wheel_shapes.wheel_layout(actor.shape)
        length, width, height = 2.0 * self.half[index]
        radius = layout.radius * height
        sides = (-1.0, 1.0) if layout.half_track > 0 else (0.0,)
        places = [(x * length, s * (width / 2 - layout.width_m / 2 - 0.01), k == 0) for k, x in enumerate(layout.axles)
                  for s in sides]  # fmt: skip
        local = np.zeros((len(places), 4, 4))
        spin = np.array([[np.cos(actor.phase_rad), 0.0, np.sin(actor.phase_rad)], [0.0, 1.0, 0.0],
                         [-np.sin(actor.phase_rad), 0.0, np.cos(actor.phase_rad)]])  # fmt: skip
        c, s = np.cos(actor.steer_rad), np.sin(actor.steer_rad)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        for k, (x, y, steered) in enumerate(places):
            local[k, :3, :3] = turn @ spin if steered else spin
            local[k, :3, 3], local[k, 3, 3] = (x, y, radius), 1.0
        n = len(places)
        row = self.block[index]
        return instance_block(
            self.poses[index] @ local, np.tile((2 * radius, layout.width_m, 2 * radius), (n, 1)), np.ones((n, 3)),
            np.zeros(n), np.full(n, row[19]), np.full(n, row[20]), np.zeros(n), np.zeros(n), np.zeros(n),
        )  # fmt: skip

    def rider(self, index: int) -> F32:
        """The person on a two-wheeler: clothes coloured by the actor's seed."""
        row: F32 = self.block[index : index + 1].copy()
        row[0, 12:15] = np.random.default_rng(self.views[index].seed + 1).uniform(0.05, 0.6, 3)
        row[0, 19], row[0, 21] = float(SemanticTag.RIDER), 0.0
        return row

    def beams(self, camera: Camera, most: int) -> tuple[F64, F64]:
        """Headlights of the vehicles nearest the camera: positions and directions (n, 4), relative to the eye."""
        lit = [i for i, a in enumerate(self.views)
               if a.lights & (LightState.LOW_BEAM | LightState.HIGH_BEAM) and a.tag in VEHICLE_TAGS]  # fmt: skip
        distance = np.linalg.norm(self.centre[lit] - camera.eye, axis=1) if lit else np.zeros(0)
        chosen = [lit[k] for k in np.argsort(distance, kind="stable")[:most] if distance[k] < 150.0]
        positions, directions = np.zeros((len(chosen), 4)), np.zeros((len(chosen), 4))
        for k, i in enumerate(chosen):
            m = self.poses[i]
            high = bool(self.views[i].lights & LightState.HIGH_BEAM)
            nose = m[:3, 3] + m[:3, 0] * (self.half[i, 0] + 0.05) + m[:3, 2] * 0.45 * 2 * self.half[i, 2]
            down = 0.015 if high else 0.055
            direction = m[:3, 0] - m[:3, 2] * down
            positions[k] = (*(nose - camera.eye), 60.0 if high else 34.0)
            directions[k, :3] = direction / np.linalg.norm(direction)
        return positions, directions


class ActorShapes:
    """Unit shapes of actors on the GPU, made when first seen."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._made: dict[tuple[str, bool], InstancedShape] = {}

    def _shape(self, name: str, fine: bool) -> InstancedShape:
        key = (name, fine)
        if key not in self._made:
            self._made[key] = InstancedShape(self._ctx, make_shape(name, fine))
        return self._made[key]

    def draw(self, programs: Programs, camera: Camera, actors: ActorSet, defines: tuple[str, ...]) -> None:
        """Draw all actors that the camera sees."""
        if not actors.views:
            return
        program = object_program(programs, "object", defines)
        distance = np.linalg.norm(actors.centre - camera.eye, axis=1)
        radius_px = actors.radius / np.maximum(distance, 0.5) * camera.focal_px
        seen = camera.sees(actors.centre, actors.radius) & (radius_px > LEAST_PX)
        self._draw(program, actors, seen & (radius_px > FINE_PX), True)
        self._draw(program, actors, seen & (radius_px <= FINE_PX), False)

    def cast(self, program: Any, actors: ActorSet, chosen: NDArray[np.bool_]) -> None:
        """Draw the chosen ones into the shadow map, coarsely."""
        self._draw(program, actors, chosen, False)

    def _draw(self, program: Any, actors: ActorSet, chosen: NDArray[np.bool_], fine: bool) -> None:
        groups: dict[str, list[F32]] = {}
        for i in np.flatnonzero(chosen):
            shape = actors.shape_of[i]
            groups.setdefault(shape, []).append(actors.block[i : i + 1])
            if actors.views[i].tag not in VEHICLE_TAGS:
                continue
            two = shape in wheel_shapes.TWO_WHEELED
            if fine:
                groups.setdefault("thin_wheel" if two else "wheel", []).append(actors.wheels(int(i)))
            if two:
                groups.setdefault("rider", []).append(actors.rider(int(i)))
        for name, blocks in groups.items():
            self._shape(name, fine).draw(program, np.concatenate(blocks))

    def release(self) -> None:
        for shape in self._made.values():
            shape.release()
        self._made.clear()


def _colour(actor: ActorView) -> tuple[float, float, float]:
    """Paint of a vehicle; walkers, which have no colour attribute, are dressed by their seed."""
    return CLOTHES[actor.seed % len(CLOTHES)] if actor.shape == "walker" else actor.colour


def make_shape(name: str, fine: bool) -> Shape:
    """The unit shape that draws `name`; a shape not known is a box."""
    if name == "walker":
        return walker_shapes.walker(fine)
    single = {
        "wheel": wheel_shapes.wheel, "thin_wheel": wheel_shapes.thin_wheel, "rider": walker_shapes.rider,
    }  # fmt: skip
    if name in single:
        return single[name]()
    if name in wheel_shapes.WHEELS:
        return vehicle_shapes.body(name, fine)
    for kind, make in (("cone", scenery_shapes.cone), ("bench", scenery_shapes.bench)):
        if kind in name:  # props carry CARLA's names: "trafficcone01", "bench02"
            return make()
    return scenery_shapes.box()
