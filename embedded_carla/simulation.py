"""State that outlives an episode: maps, settings, id counters, frame number, expected stream listeners."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from embedded_carla.handling import Handling
from embedded_carla.log import log
from embedded_carla.maps.build import LoadedMap
from embedded_carla.maps.loader import MapLoader
from embedded_carla.recorder.folder import RecordingFolder, default_folder
from embedded_carla.recorder.replayer import Replayer
from embedded_carla.recorder.writer import Recorder
from embedded_carla.sensing.drawing import Drawing
from embedded_carla.sensing.suite import SensorSuite
from embedded_carla.wire.codec import EpisodeSettings
from embedded_carla.wire.streaming import EPISODE_STREAM, QUIET_AFTER_LOAD_S, StreamHub
from embedded_carla.world.actors import ActorKind
from embedded_carla.world.episode import Episode
from embedded_carla.world.ids import ActorIds

DEFAULT_STEP_S = 0.05
"""Time step, s, of a synchronous world whose client has set no fixed delta."""

LISTENER_WAIT_S = 5.0
"""Longest time, s, that a frame waits for the connection of a sensor on which a client has just called `listen()`.

The wait is halved for each consecutive listener that did not come, so that a client cannot stop the world by listening
to sensor after sensor.
"""

MAX_REAL_STEP_S = 0.1
"""Longest time step, s, of an asynchronous world with a variable delta; a slower machine runs in slow motion."""


@dataclass(slots=True)
class Ids:
    """Counters of ids that are never reused, because clients cache by id for ever."""

    actor: ActorIds = field(default_factory=ActorIds)
    stream: Iterator[int] = field(default_factory=lambda: itertools.count(EPISODE_STREAM + 1))
    episode: Iterator[int] = field(default_factory=lambda: itertools.count(1))


@dataclass(slots=True)
class _Expected:
    """Number of connections expected on one stream, and until when (monotonic s) frames wait for them."""

    count: int
    until_s: float


class Simulation:
    """The world of one server, across map loads.

    `clock` gives monotonic seconds; it stamps messages and paces the asynchronous mode, and no decision of the
    simulated world depends on it. `recordings` is the folder of recordings, by default the user's own. `handling`
    applies to all vehicles, `look` (a seed) to all pictures.
    """

    def __init__(
        self, loader: MapLoader, hub: StreamHub, stream_port: int, map_name: str, seed: int,
        clock: Callable[[], float] = time.monotonic, recordings: Path | None = None,
        handling: Handling = Handling.CARLA, look: int = 0,
    ) -> None:  # fmt: skip
        self.loader = loader
        self.hub = hub
        self.stream_port = stream_port
        self.settings = EpisodeSettings()
        self.traffic_managers: dict[int, tuple[str, int]] = {}
        self.tick_requested = False
        self.answers_later = False  # whether calls may raise StillBuilding and be repeated by the server
        self.is_shared = False  # whether more than one client is connected
        self.left_episode_id: int | None = None  # the episode that the asking client has just left by a load
        self._expected: dict[int, _Expected] = {}  # expected listeners by stream id
        self._let_down: set[int] = set()  # streams whose listener did not come in time
        self._missed_in_a_row = 0  # consecutive listeners that did not connect in time
        self.is_heard_anew = False  # whether a sensor got a new listener since the last frame
        self._seed = seed
        self._handling = handling
        self._clock = clock
        self._ids = Ids()
        self._frame = 0
        self.map: LoadedMap = loader.load(map_name)
        self._drawing = Drawing(look)
        self.recordings = RecordingFolder(recordings or default_folder())
        self.replayer = Replayer(self._ids.actor)
        self.recorder = Recorder(clock, self.replayer.memory)
        self._begin_episode()

    def _begin_episode(self) -> None:
        self.recorder.stop()
        self.replayer.forget()
        self.episode = Episode(next(self._ids.episode), self.map, self._ids.actor, self._ids.stream, self._handling)
        self.sensors = SensorSuite(self.episode, self.hub, self.stream_port, self._seed, self._drawing)
        # The previous episode is garbage with reference cycles: collect it now. Then freeze the new episode, which
        # lives long, so that later collections do not search it.
        gc.unfreeze()
        gc.collect()
        gc.freeze()

    @property
    def frame(self) -> int:
        return self._frame

    def load_map(self, name: str, reset_settings: bool, *, client_knows: bool = True) -> None:
        """Begin a new episode on map `name` ("" for the current map). On MapError everything is left unchanged.

        Raises StillBuilding for a map that is not built yet when `answers_later` is set and other clients are
        connected: the map is then built in a separate process, which takes a little longer.

        `client_knows` is False when no client asked for the load (a replay changes the map). Clients then do not
        subscribe to a new episode stream and learn of the map from the next snapshot, so the stream is not kept quiet.
        """
        may_wait = not (self.answers_later and self.is_shared)
        self.map = self.loader.load(name, may_wait=may_wait) if name else self.map
        if reset_settings:
            self.settings = EpisodeSettings()
        self._begin_episode()
        self.hub.quiet_old_episode(self._clock(), QUIET_AFTER_LOAD_S if client_knows else 0.0)

    def step_s(self, real_s: float) -> float:
        """Simulated time, s, that the next tick advances; `real_s` is the real time since the last tick."""
        if self.settings.fixed_delta_seconds is not None:
            return self.settings.fixed_delta_seconds
        return DEFAULT_STEP_S if self.settings.synchronous_mode else min(max(real_s, 1e-3), MAX_REAL_STEP_S)

    def has_stream(self, stream_id: int) -> bool:
        """Whether the stream id belongs to the episode or to a sensor of it."""
        sensors = self.episode.actors.of_kind(ActorKind.SENSOR)
        return stream_id == EPISODE_STREAM or any(sensor.stream_id == stream_id for sensor in sensors)

    def expect_listener(self, stream_id: int) -> None:
        """Note that a client was told the address of a sensor's stream and will connect next."""
        if stream_id in self._let_down:
            return  # repeated requests without a connection must not stop the world
        wait_s = LISTENER_WAIT_S * 0.5**self._missed_in_a_row
        expected = self._expected.setdefault(stream_id, _Expected(0, self._clock() + wait_s))
        expected.count += 1

    def listener_came(self, stream_id: int) -> None:
        """Note that a connection has subscribed to this stream."""
        self.is_heard_anew = self.is_heard_anew or stream_id != EPISODE_STREAM
        self._let_down.discard(stream_id)
        expected = self._expected.get(stream_id)
        if expected is not None:
            self._missed_in_a_row = 0
            expected.count -= 1
            if expected.count == 0:
                del self._expected[stream_id]

    def awaits_listener(self) -> bool:
        """Whether the next frame should wait for an expected listener that has not connected yet."""
        if not self._expected:
            return False
        now_s = self._clock()
        self._expected = {stream: e for stream, e in self._expected.items() if self.has_stream(stream)}
        late = {stream for stream, e in self._expected.items() if now_s >= e.until_s}
        for stream in late:
            log(f"stream {stream}: nobody came to listen in time; not waited for again")
            del self._expected[stream]
            self._missed_in_a_row += 1
        if late:
            self._let_down = {stream for stream in self._let_down | late if self.has_stream(stream)}
        return bool(self._expected)

    def advance(self, delta_s: float) -> None:
        """Advance the world by one step without publishing anything."""
        self._frame += 1
        self.replayer.step(delta_s)
        self.episode.tick(self._frame, delta_s)
        self.replayer.settle()
        self.recorder.record(delta_s)

    def publish_state(self, delta_s: float) -> None:
        """Send the snapshot of the last step."""
        now_s = self._clock()
        self.hub.send_episode(
            self.episode.snapshot(now_s, delta_s, map_changed=False),
            lambda: self.episode.snapshot(now_s, delta_s, map_changed=True),
            now_s,
            may_drop=not self.settings.synchronous_mode,
        )

    def publish_owed_state(self) -> None:
        """Send the current state to clients whose snapshots were held back after a map load."""
        now_s = self._clock()
        self.hub.send_owed(self.episode.snapshot(now_s, self.episode.delta_s, map_changed=True), now_s)

    def publish_sensors(self) -> None:
        """Measure and send the sensors that are due and have a listener."""
        self.is_heard_anew = False
        self.sensors.publish(may_drop=not self.settings.synchronous_mode, rendering=not self.settings.no_rendering_mode)

    def close(self) -> None:
        self.recorder.stop()
        self.replayer.forget()
        self._drawing.close()
        self.loader.close()
