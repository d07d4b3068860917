"""Streams of vehicles: spawns them at the start of a way, moves them along it, removes them at its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from av_core.curve import Curve
from av_core.orders import Destroy, Order, Spawn
from av_core.types import Pose2D
from scenarios.script.model import FlowTable
from scenarios.script.motion import Motion
from scenarios.script.situation import Situation, distance_m

END_M = 2.0
"""A vehicle so near to the end of the way is removed."""

PATIENCE_TICKS = 3
"""Ticks after which a vehicle that was not spawned, since its place was taken, is given up."""


@dataclass(slots=True)
class _Car:
    name: str
    motion: Motion
    unseen_ticks: int = 0


class Flow:
    """One flow on its way; `is_on` says whether it spawns vehicles. Those on their way drive on when it stops."""

    def __init__(self, name: str, table: FlowTable, way: Curve, rng: np.random.Generator) -> None:
        self._name, self._table, self._way, self._rng = name, table, way, rng
        x, y, yaw = way.pose_at(0.0)
        self._start = Pose2D(float(x), float(y), float(yaw))
        self._cars: list[_Car] = []
        self._count = 0
        self._gap_m = 0.0
        self.is_on = table.on

    def step(self, now: Situation) -> Iterator[Order]:
        """The orders of one tick."""
        for car in list(self._cars):
            actor = now.actors.get(car.name)
            if actor is None:
                car.unseen_ticks += 1
                if car.unseen_ticks > PATIENCE_TICKS:
                    self._cars.remove(car)
                continue
            order = car.motion.step(car.name, actor, now)
            if car.motion.left_m < END_M:
                self._cars.remove(car)
                yield Destroy(car.name)
            else:
                yield order
        if self.is_on and self._has_room(now):
            yield self._next()

    def _has_room(self, now: Situation) -> bool:
        last = now.actors.get(self._cars[-1].name) if self._cars else None
        if self._cars and last is None:
            return False
        return last is None or distance_m(last.pose, self._start) >= self._gap_m

    def _next(self) -> Spawn:
        self._count += 1
        self._gap_m = float(self._rng.uniform(*self._table.gap_m))
        speed_mps = self._table.speed_mps
        motion = Motion(self._way, lambda _: speed_mps, np.inf, is_walker=False, stops_at_end=False)
        car = _Car(f"{self._name}_{self._count}", motion)
        self._cars.append(car)
        blueprint = self._table.blueprints[int(self._rng.integers(len(self._table.blueprints)))]
        return Spawn(car.name, blueprint, self._start, is_needed=False)
