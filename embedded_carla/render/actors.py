"""Actors of one tick as instances: bodies, wheels, riders, people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.frame import Camera
from embedded_carla.render.instances import F32, instance_block, pose_matrices
from embedded_carla.render.vehicle_shapes import wheel_outer
from embedded_carla.render.vehicle_sizes import TWO_WHEELED, vehicle_size
from embedded_carla.scene import ActorView
from embedded_carla.types import LightState, SemanticTag, Vector3

F64 = NDArray[np.float64]
CLOTHES = (
    (0.32, 0.05, 0.05),
    (0.05, 0.12, 0.30),
    (0.55, 0.54, 0.50),
    (0.03, 0.03, 0.035),
    (0.08, 0.20, 0.10),
    (0.50, 0.34, 0.06),
    (0.14, 0.145, 0.16),
    (0.28, 0.14, 0.28),
    (0.16, 0.30, 0.38),
    (0.70, 0.70, 0.68),
    (0.02, 0.035, 0.09),
    (0.18, 0.11, 0.06),
    (0.55, 0.20, 0.22),
    (0.06, 0.06, 0.07),
    (0.26, 0.28, 0.18),
    (0.62, 0.50, 0.36),
)
VEHICLE_TAGS = (SemanticTag.CAR, SemanticTag.TRUCK, SemanticTag.BUS, SemanticTag.MOTORCYCLE, SemanticTag.BICYCLE)
STANDING = 0.0  # the phase of who stands; who walks has one above it


class ActorSet:
    """The actors of one tick in arrays, shared by all cameras and the shadow map."""

    def __init__(self, actors: Sequence[ActorView]) -> None:
        self.views = list(actors)
        self.poses = pose_matrices([a.transform for a in actors])
        self.half = np.maximum(np.array([a.extent for a in actors]).reshape(-1, 3), 0.01)
        self.centre = self.poses[:, :3, 3] + self.poses[:, :3, 2] * self.half[:, 2:3]
        self.radius = np.linalg.norm(self.half, axis=1)
        n = len(actors)
        sizes = 2.0 * self.half
        walks = np.array([a.shape == "walker" for a in actors], dtype=bool)
        sizes[walks] = sizes[walks, 2:3]  # people keep their proportions: their box is as wide as their shoulders only
        phases = np.array([_gait_phase(a) for a in actors])
        self.block = instance_block(
            self.poses,
            sizes,
            np.array([_colour(a) for a in actors]).reshape(-1, 3),
            np.array([_share(a.seed) for a in actors]),
            np.array([float(a.tag) for a in actors]),
            np.array([float(a.actor_id & 0xFFFF) for a in actors]),
            np.array([float(a.lights & 0x7FFF) for a in actors]),
            np.zeros(n),
            phases,
        )

    def wheels(self, index: int) -> F32:
        """Instances of the wheels of actor `index`, turned and steered; in the order front left, front right, ..."""
        actor = self.views[index]
        layout = vehicle_size(actor.shape, actor.model)
        stretch = 2.0 * self.half[index] / layout.size
        radius, width = layout.wheel_radius * stretch[2], layout.wheel_width
        outer = wheel_outer(layout) * stretch[1]
        across = (0.0,) if layout.shape in TWO_WHEELED else (-outer + width / 2, outer - width / 2)
        places = [(x * stretch[0], y, k == 0) for k, x in enumerate(layout.axles) for y in across]
        local = np.zeros((len(places), 4, 4))
        for k, (x, y, steered) in enumerate(places):
            steer, turn = (actor.steer_rad if steered else 0.0), actor.phase_rad
            if k < len(actor.wheel_angles_rad):
                steer, turn = actor.wheel_angles_rad[k]
            local[k, :3, :3] = _turned(steer, turn)
            local[k, :3, 3], local[k, 3, 3] = (x, y, radius), 1.0
        n = len(places)
        row = self.block[index]
        return instance_block(
            self.poses[index] @ local,
            np.tile((2 * radius, width, 2 * radius), (n, 1)),
            np.ones((n, 3)),
            np.zeros(n),
            np.full(n, row[19]),
            np.full(n, row[20]),
            np.zeros(n),
            np.zeros(n),
            np.zeros(n),
        )

    def rider(self, index: int) -> F32:
        """The person on a two-wheeler: clothes coloured by the actor's seed."""
        row: F32 = self.block[index : index + 1].copy()
        row[0, 12:15] = CLOTHES[(self.views[index].seed * 7 + 3) % len(CLOTHES)]
        row[0, 19], row[0, 21] = float(SemanticTag.RIDER), 0.0
        return row

    def beams(self, camera: Camera, most: int) -> tuple[F64, F64]:
        """Headlights of the vehicles nearest the camera: positions and directions (n, 4), relative to the eye."""
        lit = [
            i
            for i, a in enumerate(self.views)
            if a.lights & (LightState.LOW_BEAM | LightState.HIGH_BEAM) and a.tag in VEHICLE_TAGS
        ]
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


def _turned(steer_rad: float, turn_rad: float) -> F64:
    """(3, 3): turned about its axle, then steered."""
    c, s = np.cos(turn_rad), np.sin(turn_rad)
    spin = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    c, s = np.cos(steer_rad), np.sin(steer_rad)
    turned: F64 = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ spin
    return turned


def _gait_phase(actor: ActorView) -> float:
    """The phase of a walker's steps above STANDING; 0 for who stands and for all that does not walk."""
    if actor.shape != "walker" or actor.phase_rad == STANDING:
        return STANDING
    return float(actor.phase_rad % (2 * np.pi)) + 1e-3


def _share(seed: int) -> float:
    """A number in 0 to 1 that neighbouring seeds do not share."""
    return ((seed * 2654435761) % (1 << 32)) / float(1 << 32)


def _colour(actor: ActorView) -> Vector3:
    """Paint of a vehicle; walkers, which have no colour attribute, are dressed by their seed."""
    return CLOTHES[(actor.seed * 5 + actor.seed // 16) % len(CLOTHES)] if actor.shape == "walker" else actor.colour
