"""Moves actors along a recording, interpolating between two frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.recorder.cast import Cast
from embedded_carla.recorder.format import RecordingError
from embedded_carla.recorder.packets import ROWS, PacketId, Rows
from embedded_carla.recorder.reader import Frame
from embedded_carla.recorder.roster import CM_PER_M
from embedded_carla.types import Float, Transform
from embedded_carla.world.actors import Actor, ActorKind
from embedded_carla.world.episode import Episode

_FAR_CM = 1e8


@dataclass(frozen=True, slots=True)
class _Poses:
    """Recorded poses of one frame: `location` (N, 3) m, `rotation_deg` (N, 3) pitch, yaw, roll."""

    ids: NDArray[np.uint32]
    location: Float
    rotation_deg: Float

    @staticmethod
    def of(frame: Frame) -> _Poses:
        rows = rows_of(frame, PacketId.POSITIONS)
        location, rotation = rows["location"].astype(np.float64), rows["rotation"].astype(np.float64)
        if not (np.isfinite(rotation).all() and (np.abs(location) < _FAR_CM).all()):
            raise RecordingError(f"is damaged in frame {frame.start.number}: an actor has no finite place")
        return _Poses(rows["actor"], location / CM_PER_M, rotation[:, [1, 2, 0]])


def rows_of(frame: Frame, packet: PacketId) -> NDArray[np.void]:
    """All rows of the frame's packets of that kind; empty when the frame has no such packet."""
    found = [p.rows for p in frame.packets(packet) if isinstance(p, Rows)]
    if len(found) == 1:
        return found[0]
    return np.concatenate([*found, np.zeros(0, ROWS[packet])])


class Motion:
    """Moves the actors of a cast along a recording."""

    def __init__(self, episode: Episode, cast: Cast) -> None:
        self._episode = episode
        self._cast = cast
        self._frame = -1
        self._version = -1

    def load(self, here: Frame, after: Frame | None) -> None:
        """Set the two frames between which the cast moves."""
        if self._frame == here.start.number and self._version == self._cast.version:
            return
        self._frame, self._version = here.start.number, self._cast.version
        now = _Poses.of(here)
        later = now if after is None else _Poses.of(after)
        self._now, self._change, self._turn = _between(now, later)
        self._index = {actor: i for i, actor in enumerate(now.ids.tolist())}
        self._find_velocities(here, 0.0 if after is None else after.start.elapsed_s - here.start.elapsed_s)
        self._group()

    def _find_velocities(self, here: Frame, gap_s: float) -> None:
        """Set the recorded velocities; without them, the displacement to the next frame divided by `gap_s`."""
        per_s = 1.0 / gap_s if gap_s > 0.0 else 0.0
        self._velocity: Float = self._change * per_s
        self._turn_rate: Float = np.zeros_like(self._turn)
        self._turn_rate[:, 2] = self._turn[:, 1] * per_s
        rows = rows_of(here, PacketId.KINEMATICS)
        velocity, turn_rate = rows["velocity"], rows["angular_velocity"]
        is_usable = np.isfinite(velocity).all(axis=1) & np.isfinite(turn_rate).all(axis=1)
        found = np.array([self._index.get(actor, -1) for actor in rows["actor"].tolist()], dtype=np.intp)
        is_usable &= found >= 0
        self._velocity[found[is_usable]], self._turn_rate[found[is_usable]] = velocity[is_usable], turn_rate[is_usable]

    def _group(self) -> None:
        cast = self._cast
        seen = [
            (self._index[recorded], actor)
            for recorded, actor in cast.actors.items()
            if recorded in self._index and recorded not in cast.free
        ]

        def rows(kind: ActorKind) -> tuple[NDArray[np.intp], NDArray[np.intp], Float]:
            chosen = [(i, a) for i, a in seen if a.kind is kind]
            return (
                np.array([i for i, _ in chosen], dtype=np.intp),
                np.array([a.slot for _, a in chosen], dtype=np.intp),
                np.array([a.box.extent[2] for _, a in chosen], dtype=np.float64),
            )

        self._vehicles, self._walkers = rows(ActorKind.VEHICLE), rows(ActorKind.WALKER)
        self._others = [(i, a) for i, a in seen if a.slot < 0 and a.parent is None]

    def place(self, share: float, speed: float, *, spectator: bool) -> None:
        """Set all poses at the fraction `share` of the way to the next frame.

        `speed` is the time factor of the replay; it scales the velocities.
        """
        location = self._now.location + share * self._change
        rotation = self._now.rotation_deg + share * self._turn
        for body, (index, slots, height) in (
            (self._episode.fleet, self._vehicles), (self._episode.crowd, self._walkers),
        ):  # fmt: skip
            if len(index):
                body.location[slots] = location[index]
                body.rotation_deg[slots] = rotation[index]
                body.velocity[slots] = self._velocity[index] * speed
                body.angular_velocity_degps[slots] = self._turn_rate[index] * speed
                if body is self._episode.crowd:
                    body.location[slots, 2] -= height
        for i, actor in self._others:
            if actor.kind is ActorKind.SPECTATOR and not spectator:
                continue
            pose = Transform(*location[i].tolist(), *rotation[i].tolist())
            if pose != actor.pose:
                self._episode.teleport(actor, pose)

    def pose_of(self, recorded: int) -> Transform | None:
        """The current pose of the actor that replays a recorded id."""
        actor: Actor | None = self._cast.actors.get(recorded)
        return None if actor is None else self._episode.pose_of(actor)


def _between(now: _Poses, later: _Poses) -> tuple[_Poses, Float, Float]:
    """`now`, and the displacement to `later`, (N, 3) m and deg; zero for an actor that is missing from `later`."""
    if len(now.ids) == len(later.ids) and (now.ids == later.ids).all():
        change, turn = later.location - now.location, later.rotation_deg - now.rotation_deg
    else:
        change, turn = np.zeros_like(now.location), np.zeros_like(now.rotation_deg)
        place = {int(actor): i for i, actor in enumerate(later.ids)}
        for i, actor in enumerate(now.ids):
            j = place.get(int(actor))
            if j is not None:
                change[i] = later.location[j] - now.location[i]
                turn[i] = later.rotation_deg[j] - now.rotation_deg[i]
    return now, change, np.remainder(turn + 180.0, 360.0) - 180.0
