"""Monitors the health of a rig's cameras, and says whose pictures can be trusted now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from av_core.types import SensorFrame
from perception.health.monitor import Health, HealthMonitor


@dataclass(frozen=True, slots=True)
class RigHealth:
    """Health of the front camera, and of the other monitored cameras by name; `trusted` have no fault now."""

    front: Health
    others: Mapping[str, Health]
    trusted: frozenset[str]


class RigHealthMonitor:
    """Monitors the camera `front` and the cameras `others`, by name; call `update` with every frame in order."""

    def __init__(self, front: str, others: Sequence[str] = ()) -> None:
        self._front = front
        self._monitors = {name: HealthMonitor() for name in (front, *others)}

    def update(self, frame: SensorFrame) -> RigHealth:
        """Health after the pictures of this frame."""
        time_s, speed_mps = frame.stamp.time_s, frame.wheel_speed_mps
        each = {name: one.update(frame.cameras.get(name), time_s, speed_mps) for name, one in self._monitors.items()}
        trusted = frozenset(name for name, health in each.items() if not health.faults)
        return RigHealth(each.pop(self._front), each, trusted)
