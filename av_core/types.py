"""The data types that flow through the stack, one frozen dataclass each: import all of them from here.

* `sensor_types`: the ego's sensors (`Rig`) and what they measure in a tick (`SensorFrame`);
* `map_types`: lanes and signals (`LaneGraph`);
* `perception_types`: what is estimated from both (`Scene`);
* `prediction_types`: what other road users may do next (`Prediction`);
* `plan_types`: what the stack decides (`Plan`, `ControlCommand`);
* `truth_types`: what the simulator knows (`Truth`).

Frames (ISO 8855, right-handed, SI, radians):

* **map**: the OpenDRIVE frame of the town, x east, y north, z up. CARLA's world has y mirrored. `av_core.frames`
  converts for `av_stack.world`, and for `av_stack.mission`, which reads a scenario's places.
* **vehicle**: origin on the ground below the centre of the rear axle, x forward, y left, z up.
* **image**: u right, v down, px, origin at the centre of the top-left pixel.
"""

from __future__ import annotations

from av_core.constraint import Constraint, ConstraintKind
from av_core.map_types import (
    GeoReference,
    Lane,
    LaneGraph,
    LaneKey,
    MarkingColour,
    MarkingKind,
    SideKind,
    SideLane,
    Signal,
    SignalKind,
)
from av_core.perception_types import (
    CameraDetections,
    Detection,
    Distance,
    EgoState,
    LaneEstimate,
    LaneLine,
    LightState,
    ObjectKind,
    RangedObject,
    Scene,
    SeenMotion,
    TrackedObject,
    TrafficLightView,
)
from av_core.plan_types import (
    Behaviour,
    Cause,
    CauseKind,
    ControlCommand,
    Decision,
    DriveState,
    Indicator,
    Manoeuvre,
    Plan,
    Pose2D,
    StepResult,
    VehicleLights,
    VehicleParameters,
)
from av_core.prediction_types import PredictedMode, PredictedObject, Prediction
from av_core.sensor_types import (
    CameraImage,
    CameraModel,
    Float,
    GnssFix,
    Image,
    ImuSample,
    RadarModel,
    RadarSweep,
    Rig,
    SensorFrame,
    SensorNoise,
    Stamp,
)
from av_core.trajectory import Trajectory
from av_core.truth_types import ActorTruth, CollisionEvent, Truth

__all__ = [
    "ActorTruth",
    "Behaviour",
    "CameraDetections",
    "CameraImage",
    "CameraModel",
    "Cause",
    "CauseKind",
    "CollisionEvent",
    "Constraint",
    "ConstraintKind",
    "ControlCommand",
    "Decision",
    "Detection",
    "Distance",
    "DriveState",
    "EgoState",
    "Float",
    "GeoReference",
    "GnssFix",
    "Image",
    "ImuSample",
    "Indicator",
    "Lane",
    "LaneEstimate",
    "LaneGraph",
    "LaneKey",
    "LaneLine",
    "LightState",
    "Manoeuvre",
    "MarkingColour",
    "MarkingKind",
    "ObjectKind",
    "Plan",
    "Pose2D",
    "PredictedMode",
    "PredictedObject",
    "Prediction",
    "RadarModel",
    "RadarSweep",
    "RangedObject",
    "Rig",
    "Scene",
    "SeenMotion",
    "SensorFrame",
    "SensorNoise",
    "SideKind",
    "SideLane",
    "Signal",
    "SignalKind",
    "Stamp",
    "StepResult",
    "TrackedObject",
    "TrafficLightView",
    "Trajectory",
    "Truth",
    "VehicleLights",
    "VehicleParameters",
]
