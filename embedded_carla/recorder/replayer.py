"""Plays a recording back into an episode.

The first tick after `play` shows the requested start time; each further tick advances by its length times the time
factor. So with the recording's own time steps, tick i of the replay shows frame i of the recording. Poses are
interpolated linearly between frames. From the tick after the last frame on, physics moves the actors again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from embedded_carla.errors import CommandError
from embedded_carla.log import log
from embedded_carla.recorder.cast import Cast, Memory
from embedded_carla.recorder.format import RecordingError
from embedded_carla.recorder.motion import Motion, rows_of
from embedded_carla.recorder.packets import ActorsAdded, PacketId, Rows, Wheels
from embedded_carla.recorder.reader import Extent, Frame, RecordingReader
from embedded_carla.recorder.signals import ReplayedLights
from embedded_carla.recorder.timeline import Timeline
from embedded_carla.types import Transform, VehicleControl, WalkerControl
from embedded_carla.world import spawning
from embedded_carla.world.actors import Actor, ActorKind
from embedded_carla.world.episode import Episode
from embedded_carla.world.ids import ActorIds
from embedded_carla.world.lamps import STREET_GROUP

ALL_DOORS = 6
MAX_TIME_FACTOR = 1000.0


@dataclass(slots=True)
class Options:
    """Settings of the client for the current and future replays; the defaults are CARLA's."""

    time_factor: float = 1.0
    ignore_hero: bool = False
    ignore_spectator: bool = True


@dataclass(frozen=True, slots=True)
class Request:
    """Arguments of `replay_file`. A negative `start_s` counts from the end; a `duration_s` of 0 plays to the end."""

    path: Path
    start_s: float = 0.0
    duration_s: float = 0.0
    follow: int = 0
    sensors: bool = False
    offset: Transform = field(default_factory=Transform)


@dataclass(slots=True)
class _Play:
    """State of one running replay."""

    request: Request
    episode: Episode
    timeline: Timeline
    cast: Cast
    motion: Motion
    lights: ReplayedLights
    time_s: float
    stop_s: float
    is_fresh: bool = True  # the next tick is the replay's first


class Replayer:
    """Runs at most one replay at a time."""

    def __init__(self, ids: ActorIds) -> None:
        self.options = Options()
        self.memory = Memory()
        self._ids = ids
        self._play: _Play | None = None
        self._ours: set[int] = set()  # ids of actors that replays have created in this episode
        self._last: tuple[Path, int, dict[int, Actor]] | None = None  # file, date, actors by recorded id

    @property
    def is_on(self) -> bool:
        return self._play is not None

    def play(self, request: Request, episode: Episode) -> tuple[str, str]:
        """Begin a replay. Returns (CARLA's answer, a line for the log or "").

        Raises RecordingError. If the beginning of the file is damaged, the world is not changed.
        """
        self.stop(keep=False)
        with RecordingReader(request.path) as reader:
            extent, date_s = reader.extent(), reader.header.date_s
        start_s, stop_s = _span(request, extent)
        timeline = Timeline(request.path)
        self._remove_props(episode)
        cast = Cast(
            episode, self._ids, self.memory, self._earlier(request.path, date_s), self._ours,
            sensors=request.sensors, ignore_hero=self.options.ignore_hero,
        )  # fmt: skip
        play = _Play(
            request, episode, timeline, cast, Motion(episode, cast), ReplayedLights(episode, cast), start_s, stop_s
        )
        try:
            self._events(play, timeline.here)
            self._go_to(play, start_s)
        except RecordingError:
            self._end(play, keep=False)
            raise
        self._play = play
        self._last = (request.path, date_s, cast.actors)
        return self._answer(play, extent), "; ".join(sorted(set(cast.failed.values())))

    def _earlier(self, path: Path, date_s: int) -> Mapping[int, Actor]:
        if self._last is None or self._last[:2] != (path, date_s):
            return {}
        return self._last[2]

    def _remove_props(self, episode: Episode) -> None:
        """Remove props, as CARLA does: the recording creates its own."""
        for actor in episode.actors.of_kind(ActorKind.PROP):
            if actor.type_id.startswith("static.prop"):
                self.memory.note(actor)
                spawning.destroy(episode, actor.actor_id)

    def _answer(self, play: _Play, extent: Extent) -> str:
        lines = [
            f"Total time recorded: {extent.total_s:g}",
            f"Replaying from {play.time_s:g} s - {play.stop_s:g} s ({extent.total_s:g} s) "
            f"at {self.options.time_factor:.1f}x",
        ]
        if self.options.ignore_hero:
            lines.append("Ignoring Hero vehicle")
        if self.options.ignore_spectator:
            lines.append("Ignoring Spectator camera")
        if play.cast.failed:
            lines.append(f"Not created: {', '.join(sorted(play.cast.failed))}")
        return "\n".join(lines) + "\n"

    # ------------------------------------------------------------ time

    def step(self, delta_s: float) -> None:
        """Before a tick of `delta_s`, set the actors to their recorded state at the tick's end."""
        play = self._play
        if play is None:
            return
        if play.time_s >= play.stop_s and not play.is_fresh:
            self.stop(keep=True)
            return
        if not play.is_fresh:
            play.time_s = min(play.time_s + delta_s * self.options.time_factor, play.stop_s)
        play.is_fresh = False
        try:
            self._go_to(play, play.time_s)
        except RecordingError as error:
            log(f"replay ended at {play.time_s:.2f} s: {play.request.path} {error}")
            self.stop(keep=True)

    def settle(self) -> None:
        """After a tick and before its snapshot, write the traffic lights' recorded state."""
        if self._play is not None:
            play = self._play
            play.lights.write(max(play.time_s - play.timeline.here.start.elapsed_s, 0.0))

    def stop(self, *, keep: bool) -> None:
        """End the replay; without `keep`, the actors created for it are destroyed."""
        if self._play is not None:
            play, self._play = self._play, None
            self._end(play, keep=keep)

    def forget(self) -> None:
        """Drop all state when the episode ends and its actors are gone."""
        if self._play is not None:
            self._play.timeline.close()
        self._play = self._last = None
        self._ours.clear()

    def _end(self, play: _Play, *, keep: bool) -> None:
        play.timeline.close()
        play.lights.release()
        play.cast.forget_dead()
        for recorded, actor in tuple(play.cast.actors.items()):
            if not keep and recorded in play.cast.made:
                play.cast.remove(recorded)
            elif recorded not in play.cast.free:
                _release_to_physics(play.episode, actor, play.cast.had_physics(recorded))

    def _go_to(self, play: _Play, time_s: float) -> None:
        for frame in play.timeline.until(time_s):
            self._events(play, frame)
        play.cast.forget_dead()
        here = play.timeline.here
        play.motion.load(here, play.timeline.after)
        play.motion.place(
            play.timeline.share(time_s), self.options.time_factor, spectator=not self.options.ignore_spectator
        )
        play.lights.show(here)
        _apply_controls(play, here)
        self._follow(play)

    def _events(self, play: _Play, frame: Frame) -> None:
        """Apply the one-time events of a frame when it begins."""
        cast = play.cast
        cast.begin_frame()
        for packet in frame.packets(*_EVENTS):
            if isinstance(packet, ActorsAdded):
                for event in packet.actors:
                    cast.add(event)
            elif isinstance(packet, Rows):
                _EVENT[packet.packet](play, packet)

    def _follow(self, play: _Play) -> None:
        if play.request.follow:
            pose = play.motion.pose_of(play.request.follow)
            if pose is not None:
                play.episode.teleport(play.episode.spectator, pose @ play.request.offset)


def _span(request: Request, extent: Extent) -> tuple[float, float]:
    """Start and end time of the replay, s."""
    if not (math.isfinite(request.start_s) and math.isfinite(request.duration_s)):
        raise CommandError("replay_file: start and duration must be finite numbers of seconds")
    start_s = request.start_s if request.start_s >= 0.0 else max(extent.total_s + request.start_s, 0.0)
    stop_s = start_s + request.duration_s if request.duration_s > 0.0 else extent.total_s
    return min(start_s, extent.total_s), min(stop_s, extent.total_s)


def _removed(play: _Play, packet: Rows) -> None:
    for actor in packet.rows["actor"].tolist():
        play.cast.remove(actor)


def _attached(play: _Play, packet: Rows) -> None:
    for child, parent in packet.rows.tolist():
        play.cast.attach(child, parent)


def _doors(play: _Play, packet: Rows) -> None:
    for recorded, door, is_open in packet.rows.tolist():
        actor = play.cast.actors.get(recorded)
        if actor is not None and door <= ALL_DOORS:
            bits = (1 << ALL_DOORS) - 1 if door == ALL_DOORS else 1 << door
            play.episode.doors.set(actor, actor.doors | bits if is_open else actor.doors & ~bits)


def _scene_lights(play: _Play, packet: Rows) -> None:
    for lamp, intensity, colour, is_on, group in packet.rows.tolist():
        if group == STREET_GROUP and all(map(math.isfinite, (intensity, *colour))):
            red, green, blue = (min(max(c, 0.0), 1.0) * 255.0 for c in colour[:3])
            play.episode.lamps.set(
                lamp, is_on=bool(is_on), intensity=max(intensity, 0.0), colour=(red, green, blue), group=group
            )


_EVENT = {
    PacketId.ACTORS_REMOVED: _removed,
    PacketId.PARENTS: _attached,
    PacketId.SCENE_LIGHTS: _scene_lights,
    PacketId.VEHICLE_DOORS: _doors,
}
_EVENTS = (PacketId.ACTORS_ADDED, *_EVENT)


def _apply_controls(play: _Play, here: Frame) -> None:
    """Apply recorded controls, lights and wheel angles to vehicles."""
    episode, moved = play.episode, play.cast.actors
    for recorded, steer, throttle, brake, hand_brake, gear in rows_of(here, PacketId.VEHICLE_CONTROLS).tolist():
        actor = _moved_vehicle(play, recorded)
        if actor is not None and all(map(math.isfinite, (steer, throttle, brake))):
            gear = min(max(gear, -1), 9)
            control = VehicleControl(throttle, steer, brake, bool(hand_brake), gear < 0, False, gear)
            episode.control_vehicle(actor, control)
            fleet = episode.fleet
            fleet.steer_rad[actor.slot] = math.radians(steer * fleet.spec(actor.slot).steer_max_deg)
    for recorded, lights in rows_of(here, PacketId.VEHICLE_LIGHTS).tolist():
        actor = _moved_vehicle(play, recorded)
        if actor is not None:
            actor.lights = lights
    for packet in here.packets(PacketId.WHEELS):
        assert isinstance(packet, Wheels)
        for vehicle in packet.vehicles:
            actor = moved.get(vehicle.actor)
            if actor is not None and actor.kind is ActorKind.VEHICLE and vehicle.wheels:
                _, steer, turn = vehicle.wheels[0]
                if math.isfinite(steer) and math.isfinite(turn):
                    episode.fleet.steer_rad[actor.slot] = math.radians(steer)
                    episode.fleet.wheel_phase_rad[actor.slot] = math.radians(-turn) % (2 * math.pi)


def _moved_vehicle(play: _Play, recorded: int) -> Actor | None:
    actor = play.cast.actors.get(recorded)
    return actor if actor is not None and actor.kind is ActorKind.VEHICLE and recorded not in play.cast.free else None


def _release_to_physics(episode: Episode, actor: Actor, physics: bool) -> None:
    """Return the actor to physics: restore its physics state, stop it and release its controls."""
    if actor.kind is ActorKind.VEHICLE:
        episode.fleet.physics[actor.slot] = physics
        episode.fleet.set_velocity(actor.slot, (0.0, 0.0, 0.0))
        episode.fleet.set_angular_velocity_degps(actor.slot, (0.0, 0.0, 0.0))
        episode.control_vehicle(actor, VehicleControl())
    elif actor.kind is ActorKind.WALKER:
        episode.crowd.physics[actor.slot] = physics
        episode.crowd.set_velocity(actor.slot, (0.0, 0.0, 0.0))
        episode.crowd.angular_velocity_degps[actor.slot] = np.zeros(3)
        episode.control_walker(actor, WalkerControl())
