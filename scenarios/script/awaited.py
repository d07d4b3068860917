"""Actors that have to be spawned during a drive, and are tried again where their place is taken."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from av_core.types import ActorTruth, Pose2D

AGAIN_S = 1.0
"""Time between two tries to spawn an actor whose place is taken."""

OFFSETS_M = (0.0, 1.0, -1.0, 2.0, -2.0)
"""Distances ahead of an actor's place at which it is tried, one after the other."""


class Awaited:
    """The actors that were tried, but are not spawned yet; `name in awaited` tells whether one of them is `name`."""

    def __init__(self) -> None:
        self._tries: dict[str, tuple[float, int]] = {}  # time of the last try, and number of tries

    def __contains__(self, name: object) -> bool:
        return name in self._tries

    def __len__(self) -> int:
        return len(self._tries)

    def forget(self, name: str) -> None:
        """Do not try this actor again."""
        self._tries.pop(name, None)

    def place(self, name: str, place: Pose2D, time_s: float) -> Pose2D:
        """The pose, near `place`, at which to try the actor now; call it once for each try."""
        _, tries = self._tries.get(name, (0.0, 0))
        self._tries[name] = (time_s, tries + 1)
        ahead_m = OFFSETS_M[tries % len(OFFSETS_M)]
        cos, sin = math.cos(place.yaw_rad), math.sin(place.yaw_rad)
        return Pose2D(place.x_m + ahead_m * cos, place.y_m + ahead_m * sin, place.yaw_rad)

    def due(self, there: Mapping[str, ActorTruth], time_s: float) -> Iterator[str]:
        """The names of the actors to try again now; actors that are in `there` are forgotten."""
        for name, (tried_s, _) in list(self._tries.items()):
            if name in there:
                self.forget(name)
            elif time_s >= tried_s + AGAIN_S:
                yield name
