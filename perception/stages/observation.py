"""`Observation`: what the earlier stages found in one tick; input of the stages for road users and traffic lights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from av_core.types import CameraDetections, CameraImage, Detection, EgoState, LaneEstimate, SensorFrame


@dataclass(frozen=True, slots=True)
class Observation:
    """The sensors' frame, the ego's state, the lanes, and the detections in each trusted picture, by camera.

    A camera without a picture, with a fault in its picture or without a detector has no entry in `detections`.
    """

    frame: SensorFrame
    ego: EgoState
    lanes: LaneEstimate
    detections: Mapping[str, Sequence[Detection]]

    def picture(self, camera: str) -> CameraImage | None:
        """The camera's picture, even one with a fault; None where it sent none."""
        return self.frame.cameras.get(camera)

    def trusted(self, camera: str) -> CameraDetections | None:
        """The camera's picture with its detections; None where it has none that can be trusted."""
        return (self.frame.cameras[camera], self.detections[camera]) if camera in self.detections else None
