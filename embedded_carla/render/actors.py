"""Instance data of one tick's actors: bodies, wheels, doors, riders, walkers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.actor_layout import ActorLayout, Identity, ShapeNumbers, identities
from embedded_carla.render.culling.visibility import Candidates
from embedded_carla.render.frame import Camera
from embedded_carla.render.instances import F32, Rows, bounds_of, pose_matrices
from embedded_carla.scene import ActorView
from embedded_carla.types import LightState

F64 = NDArray[np.float64]
STANDING = 0.0  # gait phase of a standing walker; a walking one has a larger phase
KEPT_LAYOUTS = 4
ROOM, ROOM_M = 1.2, 0.3  # factor and margin on the bounding sphere, for mirrors and limbs outside the box
BEAM_RANGE_M = 150.0
HEADLAMPS = LightState.LOW_BEAM | LightState.HIGH_BEAM


class ActorSet:
    """The actors of one tick as arrays, shared by all cameras and the shadow map."""

    def __init__(self, layout: ActorLayout, actors: Sequence[ActorView]) -> None:
        self.count = len(actors)
        self.poses = pose_matrices([a.transform for a in actors])
        self.half, self.radius = layout.half, layout.radius
        self.is_vehicle, self.seeds = layout.is_vehicle, layout.seeds
        self.centre = self.poses[:, :3, 3] + self.poses[:, :3, 2] * self.half[:, 2:3]
        self.lights = np.array([a.lights for a in actors], dtype=np.int64)
        self.speed_mps = np.array([a.speed_mps for a in actors])
        self.owner = owner = layout.owner  # of each row
        candidates = Candidates(
            self.centre[owner], self.radius[owner], layout.limits, layout.shapes, layout.casts, layout.shown
        )
        bounds = bounds_of(self.centre, ROOM * self.radius[:, None] + ROOM_M)[owner]
        self.rows = Rows(self._block(layout, actors), bounds, candidates)

    def _block(self, layout: ActorLayout, actors: Sequence[ActorView]) -> F32:
        block = layout.template.copy()
        rows = block[:, :12].reshape(-1, 3, 4)
        owner, stiff = layout.owner, layout.stiff
        turn, origin = self.poses[owner, :3, :3], self.poses[owner, :3, 3]
        rows[:stiff, :, :3] = turn[:stiff] * layout.sizes[:stiff, None, :]
        rows[:, :, 3] = origin
        block[: self.count, 21] = self.lights & 0x7FFF
        for i in layout.walkers:
            block[i, 23] = _gait_phase(actors[i])
        doors = layout.rolling
        for first, last, turns, place in (
            (stiff, doors, _wheel_turns, layout.place), (doors, len(block), _door_turns, layout.hinge),
        ):  # fmt: skip
            if first < last:
                own = slice(first, last)
                rows[own, :, :3] = turn[own] @ turns(layout, actors) * layout.sizes[own, None, :]
                rows[own, :, 3] += np.einsum("nij,nj->ni", turn[own], place)
        return block

    def beams(self, camera: Camera, most: int) -> tuple[F64, F64]:
        """Headlights of the `most` vehicles nearest the camera: positions and directions (n, 4), relative to the eye.

        Column 3 of the positions is the intensity.
        """
        lit = np.flatnonzero((self.lights & HEADLAMPS > 0) & self.is_vehicle)
        distance = np.linalg.norm(self.centre[lit] - camera.eye, axis=1)
        order = np.argsort(distance, kind="stable")[:most]
        chosen = lit[order[distance[order] < BEAM_RANGE_M]]
        m, half = self.poses[chosen], self.half[chosen]
        high = self.lights[chosen] & LightState.HIGH_BEAM > 0
        positions, directions = np.zeros((len(chosen), 4)), np.zeros((len(chosen), 4))
        nose = m[:, :3, 3] + m[:, :3, 0] * (half[:, :1] + 0.05) + m[:, :3, 2] * (0.9 * half[:, 2:])
        positions[:, :3], positions[:, 3] = nose - camera.eye, np.where(high, 60.0, 34.0)
        down = m[:, :3, 0] - m[:, :3, 2] * np.where(high, 0.015, 0.055)[:, None]
        directions[:, :3] = down / np.linalg.norm(down, axis=1, keepdims=True)
        return positions, directions


class ActorSets:
    """Builds the ActorSet of each tick; caches the last one and the last layouts."""

    def __init__(self, pool: ShapeNumbers) -> None:
        self._pool = pool
        self._layouts: list[tuple[list[Identity], ActorLayout]] = []
        self._actors: tuple[ActorView, ...] | None = None
        self._set: ActorSet | None = None

    def of(self, actors: Sequence[ActorView]) -> ActorSet:
        """The arrays of these actors, built once for all cameras of a tick."""
        key = tuple(actors)
        if self._set is None or key != self._actors:
            self._actors, self._set = key, ActorSet(self._layout(actors), actors)
        return self._set

    def _layout(self, actors: Sequence[ActorView]) -> ActorLayout:
        key = identities(actors)
        for known, layout in self._layouts:
            if known == key:
                return layout
        self._layouts = [(key, ActorLayout(self._pool, actors)), *self._layouts[: KEPT_LAYOUTS - 1]]
        return self._layouts[0][1]


def _wheel_turns(layout: ActorLayout, actors: Sequence[ActorView]) -> F64:
    """(W, 3, 3) rotation of each wheel: about its axle, then steering."""
    owner = layout.owner[layout.stiff : layout.rolling]
    steer = np.array([a.steer_rad for a in actors])[owner] * layout.steered
    spin = np.array([a.phase_rad for a in actors])[owner]
    for i, actor in enumerate(actors):
        if actor.wheel_angles_rad:
            posed = np.flatnonzero((owner == i) & (layout.number < len(actor.wheel_angles_rad)))
            angles = np.array(actor.wheel_angles_rad)[layout.number[posed]]
            steer[posed], spin[posed] = angles[:, 0], angles[:, 1]
    (c, s), (ct, st) = (np.cos(steer), np.sin(steer)), (np.cos(spin), np.sin(spin))
    turns = np.zeros((len(owner), 3, 3))
    turns[:, 0, 0], turns[:, 0, 1], turns[:, 0, 2] = c * ct, -s, c * st
    turns[:, 1, 0], turns[:, 1, 1], turns[:, 1, 2] = s * ct, c, s * st
    turns[:, 2, 0], turns[:, 2, 2] = -st, ct
    return turns


def _door_turns(layout: ActorLayout, actors: Sequence[ActorView]) -> F64:
    """(D, 3, 3) rotation of each open door about its hinge."""
    owner = layout.owner[layout.rolling :].tolist()
    angle = np.array([actors[i].door_angles_rad[k] for i, k in zip(owner, layout.door.tolist(), strict=True)])
    c, s = np.cos(angle), np.sin(angle) * layout.opens
    turns = np.zeros((len(owner), 3, 3))
    turns[:, 0, 0], turns[:, 0, 1], turns[:, 1, 0], turns[:, 1, 1], turns[:, 2, 2] = c, -s, s, c, 1.0
    return turns


def _gait_phase(actor: ActorView) -> float:
    """A walker's gait phase, rad: STANDING (0) when it stands, otherwise above it."""
    return STANDING if actor.phase_rad == STANDING else float(actor.phase_rad % (2 * np.pi)) + 1e-3
