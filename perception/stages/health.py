"""Monitors the health of a rig's cameras and radars, and says which of them can be trusted now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from av_core.types import SensorFrame
from perception.health.monitor import Health, HealthMonitor
from perception.health.radar import RadarMonitor


@dataclass(frozen=True, slots=True)
class RigHealth:
    """Health of the front camera, and of the other monitored sensors by name.

    `trusted` are the names of the sensors without a fault now.
    """

    front: Health
    others: Mapping[str, Health]
    trusted: frozenset[str]


class RigHealthMonitor:
    """Monitors the camera `front`, the cameras `others` and the `radars`; call `update` with every frame in order."""

    def __init__(self, front: str, others: Sequence[str] = (), radars: Sequence[str] = ()) -> None:
        self._front = front
        self._radars = {name: RadarMonitor() for name in radars}
        self._monitors = {name: HealthMonitor() for name in (front, *others)}

    def update(self, frame: SensorFrame) -> RigHealth:
        """Health after the pictures and sweeps of this frame."""
        time_s, speed_mps = frame.stamp.time_s, frame.wheel_speed_mps
        each = {name: one.update(frame.cameras.get(name), time_s, speed_mps) for name, one in self._monitors.items()}
        each |= {name: one.update(frame.radars.get(name), time_s) for name, one in self._radars.items()}
        trusted = frozenset(name for name, health in each.items() if not health.faults)
        return RigHealth(each.pop(self._front), each, trusted)
