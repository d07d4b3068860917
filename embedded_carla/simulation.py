"""What outlives an episode: the maps, the settings, the ids, the frame number, and who listens."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from embedded_carla.codec import EpisodeSettings
from embedded_carla.log import log
from embedded_carla.recorder.folder import RecordingFolder, default_folder
from embedded_carla.recorder.replayer import Replayer
from embedded_carla.recorder.writer import Recorder
from embedded_carla.streaming import EPISODE_STREAM, QUIET_AFTER_LOAD_S, StreamHub
from embedded_carla.types import Handling
from embedded_carla.world.actors import ActorKind
from embedded_carla.world.drawing import Drawing
from embedded_carla.world.episode import Episode
from embedded_carla.world.ids import ActorIds
from embedded_carla.world.loader import LoadedMap, MapLoader
from embedded_carla.world.sensing import SensorSuite

DEFAULT_STEP_S = 0.05
"""The step of a synchronous world whose client has set no fixed delta."""

LISTENER_WAIT_S = 5.0
"""How long a frame waits for the connection of a sensor that a client has just begun to listen to; half as long for
each one in a row that did not come, so that nobody holds the world up with sensor after sensor."""

MAX_REAL_STEP_S = 0.1
"""The longest step of an asynchronous world with a variable delta; a slower machine runs in slow motion."""


@dataclass(slots=True)
class Ids:
    """Sources of numbers that are never given twice: clients cache by id for ever."""

    actor: ActorIds = field(default_factory=ActorIds)
    stream: Iterator[int] = field(default_factory=lambda: itertools.count(EPISODE_STREAM + 1))
    episode: Iterator[int] = field(default_factory=lambda: itertools.count(1))


@dataclass(slots=True)
class _Expected:
    """So many connections to one stream are to come, and are waited for until then (monotonic)."""

    count: int
    until_s: float


class Simulation:
    """One server's world across map loads.

    `clock` gives monotonic seconds; it stamps messages and paces the asynchronous mode, and no decision of the
    simulated world depends on it. `recordings` is the folder of recordings, the user's own by default.
    `handling` is that of all vehicles.
    """

    def __init__(
        self, loader: MapLoader, hub: StreamHub, stream_port: int, map_name: str, seed: int,
        clock: Callable[[], float] = time.monotonic, recordings: Path | None = None,
        handling: Handling = Handling.CARLA,
    ) -> None:  # fmt: skip
        self.loader = loader
        self.hub = hub
        self.stream_port = stream_port
        self.settings = EpisodeSettings()
        self.traffic_managers: dict[int, tuple[str, int]] = {}
        self.tick_requested = False
        self.answers_later = False  # whether calls may raise StillBuilding, to be asked again
        self.is_shared = False  # whether several clients want answers
        self._expected: dict[int, _Expected] = {}  # listeners, by stream
        self._let_down: set[int] = set()  # streams whose listener did not come in time
        self._missed_in_a_row = 0  # such listeners since the last one that came
        self.is_heard_anew = False  # whether anybody has begun to listen to a sensor since the last frame
        self._seed = seed
        self._handling = handling
        self._clock = clock
        self._ids = Ids()
        self._frame = 0
        self.map: LoadedMap = loader.load(map_name)
        self._drawing = Drawing()
        self.recordings = RecordingFolder(recordings or default_folder())
        self.replayer = Replayer(self._ids.actor)
        self.recorder = Recorder(clock, self.replayer.memory)
        self._begin_episode()

    def _begin_episode(self) -> None:
        self.recorder.stop()
        self.replayer.forget()
        self.episode = Episode(next(self._ids.episode), self.map, self._ids.actor, self._ids.stream, self._handling)
        self.sensors = SensorSuite(self.episode, self.hub, self.stream_port, self._seed, self._drawing)
        # The last episode is garbage with cycles; the new one lives long and need not be searched at every collection.
        gc.unfreeze()
        gc.collect()
        gc.freeze()

    @property
    def frame(self) -> int:
        return self._frame

    def load_map(self, name: str, reset_settings: bool, *, client_knows: bool = True) -> None:
        """Begin a new episode on map `name` ("" for the present one). Raises MapError and leaves all as it was.

        Where the simulation `answers_later` and other clients want answers, it raises StillBuilding for a map that is
        new: it is built beside, which takes a little longer.

        A client that has not asked for it (`client_knows` is False) does not look for a new episode's stream: it
        learns of the map from the next snapshot.
        """
        may_wait = not (self.answers_later and self.is_shared)
        self.map = self.loader.load(name, may_wait=may_wait) if name else self.map
        if reset_settings:
            self.settings = EpisodeSettings()
        self._begin_episode()
        self.hub.quiet_old_episode(self._clock(), QUIET_AFTER_LOAD_S if client_knows else 0.0)

    def step_s(self, real_s: float) -> float:
        """How far the next tick advances the world; `real_s` is the time since the last one."""
        if self.settings.fixed_delta_seconds is not None:
            return self.settings.fixed_delta_seconds
        return DEFAULT_STEP_S if self.settings.synchronous_mode else min(max(real_s, 1e-3), MAX_REAL_STEP_S)

    def has_stream(self, stream_id: int) -> bool:
        """Whether anything is, or could be, sent on this stream."""
        sensors = self.episode.actors.of_kind(ActorKind.SENSOR)
        return stream_id == EPISODE_STREAM or any(sensor.stream_id == stream_id for sensor in sensors)

    def expect_listener(self, stream_id: int) -> None:
        """A client was told where a sensor's stream is: it connects next."""
        if stream_id in self._let_down:
            return  # nobody holds the world up by asking again and again
        wait_s = LISTENER_WAIT_S * 0.5**self._missed_in_a_row
        expected = self._expected.setdefault(stream_id, _Expected(0, self._clock() + wait_s))
        expected.count += 1

    def listener_came(self, stream_id: int) -> None:
        """A connection said that it listens to this stream."""
        self.is_heard_anew = self.is_heard_anew or stream_id != EPISODE_STREAM
        self._let_down.discard(stream_id)
        expected = self._expected.get(stream_id)
        if expected is not None:
            self._missed_in_a_row = 0
            expected.count -= 1
            if expected.count == 0:
                del self._expected[stream_id]

    def awaits_listener(self) -> bool:
        """Whether a connection that the next frame should not miss is still to come."""
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
        """One step of the world, without telling anyone."""
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
        """Send the present state to clients that were left in peace when it came about."""
        now_s = self._clock()
        self.hub.send_owed(self.episode.snapshot(now_s, self.episode.delta_s, map_changed=True), now_s)

    def publish_sensors(self) -> None:
        """Measure and send what is listened to and due."""
        self.is_heard_anew = False
        self.sensors.publish(may_drop=not self.settings.synchronous_mode, rendering=not self.settings.no_rendering_mode)

    def close(self) -> None:
        self.recorder.stop()
        self.replayer.forget()
        self._drawing.close()
        self.loader.close()
