"""Streams of vehicles: spawns them at the start of a way, moves them along it, removes them at its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from av_core.curve import Curve
from av_core.orders import ClearTraffic, Destroy, Order, Spawn
from av_core.types import Pose2D
from scenarios.script.model import FlowTable
from scenarios.script.motion import Motion
from scenarios.script.situation import Situation, distance_m
from scenarios.script.ways import LaneWay

END_M = 2.0
"""A vehicle nearer than this to the end of the flow's path is removed."""

PATIENCE_TICKS = 3
"""Number of ticks after which a vehicle counts as not spawned because its place was taken."""

CLEAR_EVERY_S = 1.0
"""Time between two removals of the background traffic on the path of a flow with `clears`."""

CLEAR_WITHIN_M = 3.0
"""Distance from the points of the path within which background traffic is removed."""

CLEAR_STEP_M = 4.0
"""Distance between these points along the path."""


@dataclass(slots=True)
class _Car:
    name: str
    motion: Motion
    unseen_ticks: int = 0


class Flow:
    """One flow of vehicles along the path `way`; `is_on` says whether it spawns new ones.

    When it stops, the vehicles that it has spawned drive on to the end of the path.
    """

    def __init__(self, name: str, table: FlowTable, way: LaneWay, rng: np.random.Generator) -> None:
        self._name, self._table, self._rng = name, table, rng
        self._way = _beside(way.curve, table.offset_m)
        self._is_junction = way.is_junction
        self._start = self._pose(0.0)
        self._cars: list[_Car] = []
        self._last: str | None = None
        self._count = 0
        self._gap_m = 0.0
        self._yields = table.yields == "always"
        self._cleared_s = -np.inf
        self._is_to_fill = table.on
        self.is_on = table.on

    def start(self) -> None:
        """Spawn vehicles from now on."""
        self._is_to_fill = not self.is_on
        self.is_on = True

    def stop(self) -> None:
        """Spawn no more vehicles."""
        self.is_on = False

    def clear(self) -> Iterator[Order]:
        """Stop the flow, and give the orders that remove its vehicles."""
        self.stop()
        yield from (Destroy(car.name) for car in self._cars)
        self._cars.clear()
        self._last = None

    def step(self, now: Situation) -> Iterator[Order]:
        """The orders of one tick."""
        self._notice_hits(now)
        if self.is_on and self._table.clears:
            yield from self._clear_traffic(now)
        if self.is_on and self._is_to_fill:
            yield from self._fill()
        self._is_to_fill = False
        yield from self._drive(now)
        if self.is_on and self._has_room(now):
            yield self._next(0.0)

    def _notice_hits(self, now: Situation) -> None:
        """After the first collision of one of them, all vehicles yield."""
        if self._table.yields == "after_collision" and any(car.name in now.hit for car in self._cars):
            self._yields = True
            for car in self._cars:
                car.motion.yields = True

    def _clear_traffic(self, now: Situation) -> Iterator[Order]:
        if now.time_s >= self._cleared_s + CLEAR_EVERY_S:
            self._cleared_s = now.time_s
            along = np.arange(0.0, self._way.length_m, CLEAR_STEP_M)
            yield ClearTraffic(tuple(self._pose(float(s)) for s in along), CLEAR_WITHIN_M)

    def _fill(self) -> Iterator[Order]:
        """Put vehicles all along the way."""
        if self._table.filled == "no":
            return
        s_m = self._draw_gap_m()
        while s_m < self._way.length_m - END_M:
            if self._table.filled == "everywhere" or not self._is_junction[self._way.row_at(s_m)]:
                yield self._next(s_m)
                s_m += self._gap_m
            else:
                s_m += 1.0
        self._last = None

    def _drive(self, now: Situation) -> Iterator[Order]:
        for car in list(self._cars):
            actor = now.actors.get(car.name)
            if actor is None:
                car.unseen_ticks += 1
                if car.unseen_ticks > PATIENCE_TICKS:
                    self._remove(car)
                continue
            order = car.motion.step(car.name, actor, now)
            if car.motion.left_m < END_M:
                self._remove(car)
                yield Destroy(car.name)
            else:
                yield order

    def _remove(self, car: _Car) -> None:
        self._cars.remove(car)
        if self._last == car.name:
            self._last = None

    def _has_room(self, now: Situation) -> bool:
        """Whether the last vehicle spawned at the start of the path is far enough from it for the next one."""
        if self._last is None:
            return True
        last = now.actors.get(self._last)
        return last is not None and distance_m(last.pose, self._start) >= self._gap_m

    def _next(self, s_m: float) -> Spawn:
        """The order that spawns one more vehicle, `s_m` along the path."""
        self._count += 1
        self._gap_m = self._draw_gap_m()
        speed_mps = self._table.speed_mps
        motion = Motion(
            self._way,
            lambda _: speed_mps,
            np.inf,
            stops_at_end=False,
            yields=self._yields,
            start_s_m=s_m,
            start_mps=speed_mps,
        )
        car = _Car(f"{self._name}_{self._count}", motion)
        self._cars.append(car)
        self._last = car.name
        blueprint = self._table.blueprints[int(self._rng.integers(len(self._table.blueprints)))]
        return Spawn(car.name, blueprint, self._pose(s_m), is_needed=False)

    def _draw_gap_m(self) -> float:
        return float(self._rng.uniform(*self._table.gap_m))

    def _pose(self, s_m: float) -> Pose2D:
        x, y, yaw = self._way.pose_at(s_m)
        return Pose2D(float(x), float(y), float(yaw))


def _beside(curve: Curve, offset_m: float) -> Curve:
    """The curve moved to the left."""
    if offset_m == 0.0:
        return curve
    x, y, _ = curve.pose_at(curve.s_m, offset_m)
    return Curve.through(x, y)
