"""Records an episode to a file, one frame after each tick."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from embedded_carla.errors import CommandError
from embedded_carla.log import log
from embedded_carla.recorder import capture
from embedded_carla.recorder.cast import Memory
from embedded_carla.recorder.format import pack, pack_header, pack_rows
from embedded_carla.recorder.packets import (
    ROWS,
    ActorAdded,
    ActorsAdded,
    FrameEnd,
    FrameStart,
    Header,
    PacketId,
    PhysicsControls,
    Seconds,
)
from embedded_carla.recorder.roster import Roster, added
from embedded_carla.world.actors import Actor
from embedded_carla.world.episode import Episode

_FRAME_END = pack(FrameEnd())


class Recorder:
    """Writes one file at a time.

    `clock` returns real time, s, for the additional data; `memory` gets every recorded actor. A frame is written after
    the next tick, which gives its duration. So if the server is killed, only the last frame is missing in the file.
    """

    def __init__(self, clock: Callable[[], float], memory: Memory) -> None:
        self._clock = clock
        self._memory = memory
        self._file: BinaryIO | None = None

    @property
    def is_on(self) -> bool:
        return self._file is not None

    def start(self, path: Path, map_name: str, episode: Episode, *, additional: bool) -> None:
        """Begin a file, and end the current one if any. Raises CommandError if the file cannot be written."""
        self.stop()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
            self._file = open(os.open(path, flags, 0o644), "wb", buffering=0)  # noqa: SIM115 - open until `stop`
            self._file.write(pack_header(Header(1, int(time.time()), map_name)))
        except OSError as error:
            self.stop()
            raise CommandError(f"cannot record to {path}: {error.strerror}") from error
        self._path, self._episode, self._additional = path, episode, additional
        self._began_s = self._clock()
        self._frame = FrameStart(0, -1.0, 0.0)
        self._body = b""
        self._collisions = 0
        self._doors: dict[int, int] = {}
        self._lamps = capture.LampWatch()
        self._roster: Roster | None = None
        self._early = [added(actor, episode.pose_of(actor)) for actor in episode.actors]

    def stop(self) -> None:
        """End the file; does nothing when none is open."""
        if self._file is not None:
            self._write_frame(-1.0)
        if self._file is not None:
            self._file.close()
            self._file = None

    def record(self, delta_s: float) -> None:
        """Record the state after a tick of `delta_s`."""
        if self._file is None:
            return
        self._write_frame(delta_s)
        elapsed_s = self._frame.elapsed_s + delta_s if self._frame.number else 0.0
        self._frame = FrameStart(self._frame.number + 1, -1.0, elapsed_s)
        self._body = b"".join(self._packets())

    def _write_frame(self, duration_s: float) -> None:
        """Write the last frame to the file; a full disk ends the recording, not the server."""
        if not self._frame.number or self._file is None:
            return
        start = pack(FrameStart(self._frame.number, duration_s, self._frame.elapsed_s))
        try:
            data = memoryview(start + self._body + _FRAME_END)
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            log(f"recording {self._path} ended at {self._frame.elapsed_s:.2f} s: {error.strerror}")
            self._file.close()
            self._file = None

    # ------------------------------------------------------------ one frame

    def _packets(self) -> Iterator[bytes]:
        """The packets of one frame, in CARLA's order."""
        episode = self._episode
        yield pack(Seconds(PacketId.VISUAL_TIME, episode.time_s))
        come, gone = self._changes()
        assert self._roster is not None
        roster = self._roster
        yield pack(ActorsAdded(tuple(come)))
        yield pack_rows(PacketId.ACTORS_REMOVED, np.array(gone, dtype=ROWS[PacketId.ACTORS_REMOVED]))
        yield pack_rows(PacketId.PARENTS, capture.parents(come, roster))
        hits = capture.collisions(episode, roster, self._collisions)
        self._collisions += len(hits)
        yield pack_rows(PacketId.COLLISIONS, hits)
        yield pack_rows(PacketId.POSITIONS, capture.positions(episode, roster))
        yield pack_rows(PacketId.LIGHT_STATES, capture.light_states(episode, roster))
        yield pack_rows(PacketId.VEHICLE_CONTROLS, capture.vehicle_controls(episode, roster))
        yield pack_rows(PacketId.WALKER_SPEEDS, capture.walker_speeds(episode, roster))
        yield pack_rows(PacketId.VEHICLE_LIGHTS, capture.vehicle_lights(roster))
        yield from self._changed_scene(roster)
        yield capture.wheels(episode, roster)
        yield pack_rows(PacketId.BIKERS, capture.bikers(episode, roster))
        here = [roster.actors[event.actor] for event in come if event.actor in roster.actors]
        for actor in here:
            self._memory.note(actor)
        if self._additional:
            yield from self._additional_data(here, roster)

    def _changes(self) -> tuple[list[ActorAdded], list[tuple[int]]]:
        """Actors that appeared and ids that disappeared since the last frame; updates the roster."""
        old, episode = self._roster, self._episode
        if old is not None and old.is_still(episode):
            return [], []
        new = self._roster = Roster.of(episode)
        if old is None:
            known = {event.actor: event for event in self._early}
            come = [*self._early, *(added(a, a.pose) for i, a in new.actors.items() if i not in known)]
            return come, [(i,) for i in known if i not in new.actors]
        come = [added(a, episode.pose_of(a)) for i, a in new.actors.items() if old.actors.get(i) is not a]
        return come, [(i,) for i, a in old.actors.items() if new.actors.get(i) is not a]

    def _changed_scene(self, roster: Roster) -> Iterator[bytes]:
        lamps = self._lamps.changed(self._episode)
        if len(lamps):
            yield pack_rows(PacketId.SCENE_LIGHTS, lamps)
        yield pack_rows(PacketId.VEHICLE_DOORS, capture.doors(roster, self._doors))

    def _additional_data(self, here: list[Actor], roster: Roster) -> Iterator[bytes]:
        """The packets that CARLA writes with additional data."""
        yield pack_rows(PacketId.KINEMATICS, capture.kinematics(self._episode, roster))
        yield pack_rows(PacketId.BOUNDING_BOXES, capture.boxes(here))
        if len(volumes := capture.trigger_volumes(here)):
            yield pack_rows(PacketId.TRIGGER_VOLUMES, volumes)
        yield pack(Seconds(PacketId.PLATFORM_TIME, self._clock() - self._began_s))
        if controls := capture.physics_controls(self._episode, here):
            yield pack(PhysicsControls(controls))
        if len(times := capture.light_times(self._episode, here)):
            yield pack_rows(PacketId.LIGHT_TIMES, times)
