"""Stage that determines the states of the traffic lights: `CameraLights` from pictures, `OracleLights` from the truth.

Both are `LightSource`s: `update` takes the `Observation` of a tick and returns signal id -> `TrafficLightView`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import pi
from typing import Protocol

from av_core.types import CameraModel, LaneGraph, TrafficLightView, Truth
from perception.lights.oracle import LightOracle
from perception.lights.reader import LightReader
from perception.stages.observation import Observation

AHEAD_MAX_RAD = pi / 4.0
"""Cameras whose yaw is below this angle read the traffic lights."""


def looks_ahead(camera: CameraModel) -> bool:
    """Whether a camera's yaw is small enough to read traffic lights ahead."""
    return abs(camera.yaw_rad) < AHEAD_MAX_RAD


class LightSource(Protocol):
    """Determines the states of traffic lights; call `update` with the observation of every tick in order."""

    @property
    def cameras(self) -> Sequence[CameraModel]:
        """The cameras whose detections it needs."""
        ...

    def update(self, seen: Observation) -> Mapping[str, TrafficLightView]:
        """Signal id -> state, for the map's lights ahead whose state is known."""
        ...


class CameraLights:
    """Reads the lights from the first of `cameras`, and from the others that look ahead."""

    def __init__(self, cameras: Sequence[CameraModel], graph: LaneGraph) -> None:
        first, *others = cameras
        self.cameras = (first, *filter(looks_ahead, others))
        self._reader = LightReader(graph)

    def update(self, seen: Observation) -> Mapping[str, TrafficLightView]:
        front, *others = (seen.trusted(camera.name) for camera in self.cameras)
        image, detections = (None, ()) if front is None else front
        return self._reader.update(seen.ego, detections, image, others)


class OracleLights:
    """Oracle: the simulator's light states near the ego. `truth` returns the truth of the tick that is observed."""

    cameras: Sequence[CameraModel] = ()

    def __init__(self, graph: LaneGraph, truth: Callable[[], Truth]) -> None:
        self._oracle, self._truth = LightOracle(graph), truth

    def update(self, seen: Observation) -> Mapping[str, TrafficLightView]:
        return self._oracle.update(self._truth())


class NoLights:
    """Returns no states, for drives without a map: a light in a picture then belongs to no signal."""

    cameras: Sequence[CameraModel] = ()

    def update(self, seen: Observation) -> Mapping[str, TrafficLightView]:
        return {}
