"""Shows recorded traffic light states during a replay."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from embedded_carla.recorder.cast import Cast
from embedded_carla.recorder.motion import rows_of
from embedded_carla.recorder.packets import PacketId
from embedded_carla.recorder.reader import Frame
from embedded_carla.types import SignalColour
from embedded_carla.world.actors import ActorKind
from embedded_carla.world.episode import Episode

_LONGEST_PHASE_S = 3600.0


class ReplayedLights:
    """Controls the traffic lights of a cast: colour and elapsed time come from the recording, and their clocks stop."""

    def __init__(self, episode: Episode, cast: Cast) -> None:
        self._episode = episode
        self._cast = cast
        self._held: dict[str, bool] = {}  # light -> whether it was frozen before
        self._shown: list[str] = []
        self._rows: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._elapsed_s: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
        self._frozen: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)

    def show(self, here: Frame) -> None:
        """Set colours, times and freezing from the frame."""
        lights = self._episode.roadside.lights
        states = [
            (actor, is_frozen, elapsed, colour)
            for actor_id, is_frozen, elapsed, colour in rows_of(here, PacketId.LIGHT_STATES).tolist()
            if (actor := self._cast.actors.get(actor_id)) is not None and actor.kind is ActorKind.TRAFFIC_LIGHT
        ]
        for actor, *_ in states:  # before any light is frozen, because freezing one freezes its group
            if actor.signal_id not in self._held:
                self._held[actor.signal_id] = lights.is_frozen(actor.signal_id)
        rows, elapsed_s, frozen = [], [], []
        for actor, is_frozen, elapsed, colour in states:
            lights.freeze(actor.signal_id, True)
            lights.set_state(actor.signal_id, SignalColour(min(colour, SignalColour.UNKNOWN)))
            rows.append(actor.row)
            elapsed_s.append(min(max(elapsed, 0.0), _LONGEST_PHASE_S) if math.isfinite(elapsed) else 0.0)
            frozen.append(is_frozen)
        self._shown = [actor.signal_id for actor, *_ in states]
        self._rows = np.array(rows, dtype=np.intp)
        self._elapsed_s, self._frozen = np.array(elapsed_s, dtype=np.float32), np.array(frozen, dtype=np.uint8)

    def write(self, since_s: float) -> None:
        """After a tick, write the recorded state into the snapshot; `since_s` has passed since the frame."""
        records = self._episode.table.lights
        records["elapsed_s"][self._rows] = self._elapsed_s + since_s * (self._frozen == 0)
        records["frozen"][self._rows] = self._frozen != 0

    def release(self) -> None:
        """Start the lights' own clocks again, from the recorded state."""
        lights = self._episode.roadside.lights
        elapsed_s = dict(zip(self._shown, self._elapsed_s.tolist(), strict=True))
        for signal_id in sorted(
            self._shown, key=lights.state
        ):  # the active light comes last, because the last one decides for its group
            lights.take_up(signal_id, elapsed_s[signal_id])
        for signal_id, was_frozen in self._held.items():
            lights.freeze(signal_id, was_frozen)
        self._held.clear()
        self._shown = []
        self._rows = self._rows[:0]
        self._elapsed_s, self._frozen = self._elapsed_s[:0], self._frozen[:0]
        self._episode.roadside.refresh()
