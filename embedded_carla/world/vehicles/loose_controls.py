"""Vehicles spawned with `sticky_control` false: a control lasts one tick, unless an autopilot is on (CARLA's rule)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from embedded_carla.world.actors import Actor


class LooseControls:
    """The vehicles whose controls do not stick, and which of them were controlled since the last tick."""

    def __init__(self) -> None:
        self._vehicles: dict[int, Actor] = {}
        self._controlled: set[int] = set()
        self._on_autopilot: set[int] = set()

    def add(self, vehicle: Actor) -> None:
        """Register a new vehicle; one whose controls stick is ignored."""
        if vehicle.description.value("sticky_control", "true").lower() == "false":
            self._vehicles[vehicle.actor_id] = vehicle

    def forget(self, vehicle: Actor) -> None:
        """Drop a destroyed vehicle."""
        for known in (self._controlled, self._on_autopilot):
            known.discard(vehicle.actor_id)
        self._vehicles.pop(vehicle.actor_id, None)

    def note(self, ids: Iterable[int]) -> None:
        """Note that these vehicles were given a control for the next tick."""
        if self._vehicles:
            self._controlled.update(ids)

    def set_autopilot(self, vehicle: Actor, enabled: bool) -> None:
        """Let vehicles on autopilot keep their controls, since a TrafficManager may run slower than the world."""
        (self._on_autopilot.add if enabled else self._on_autopilot.discard)(vehicle.actor_id)

    def expire(self) -> Iterator[Actor]:
        """Yield the vehicles whose control has expired, and start a new tick."""
        for actor_id, vehicle in self._vehicles.items():
            if actor_id not in self._controlled and actor_id not in self._on_autopilot:
                yield vehicle
        self._controlled.clear()
