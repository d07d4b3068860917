"""Stage that locates road users: `CameraObjects` from pictures, `OracleObjects` from the simulator's truth.

Both are `ObjectSource`s: `update` takes the `Observation` of a tick and returns the `TrackedObject`s around the ego.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from av_core.types import CameraModel, TrackedObject, Truth
from perception.detection.oracle import oracle_objects
from perception.map_index import MapIndex
from perception.objects import ObjectPerception
from perception.scene import along_lanes
from perception.stages.observation import Observation


class ObjectSource(Protocol):
    """Locates road users; call `update` with the observation of every tick in order."""

    @property
    def cameras(self) -> Sequence[CameraModel]:
        """The cameras whose detections it needs."""
        ...

    def update(self, seen: Observation) -> Sequence[TrackedObject]:
        """The road users around the ego, on the map."""
        ...


class CameraObjects:
    """Ranges and tracks what is detected in `cameras`, the first of which looks ahead.

    Without pictures that can be trusted, the tracks are predicted. Without the map's `index`, the road counts as flat,
    and no lane tells how vehicles drive.
    """

    def __init__(self, cameras: Sequence[CameraModel], index: MapIndex | None) -> None:
        self.cameras = tuple(cameras)
        self._index = index
        self._perception = ObjectPerception(use_parallax=False, index=index)

    def update(self, seen: Observation) -> Sequence[TrackedObject]:
        front, *others = (camera.name for camera in self.cameras)
        sighting = self._perception.update(
            seen.picture(front),
            seen.ego,
            seen.frame,
            seen.lanes,
            seen.detections.get(front, ()),
            [seen.trusted(name) for name in others],
        )
        return sighting.tracked if self._index is None else along_lanes(sighting.tracked, self._index)


class OracleObjects:
    """Oracle: the simulator's road users within range; those in the picture of the camera `front` carry their box.

    `truth` returns the truth of the tick that is observed.
    """

    cameras: Sequence[CameraModel] = ()

    def __init__(self, front: str, truth: Callable[[], Truth]) -> None:
        self._front, self._truth = front, truth

    def update(self, seen: Observation) -> Sequence[TrackedObject]:
        image = seen.picture(self._front)
        return oracle_objects(self._truth(), camera=None if image is None else image.camera)
