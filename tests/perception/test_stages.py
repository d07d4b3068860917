"""The stages of perception over a rig: which pictures count, what is detected, where objects and lights come from."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from av_core.types import (
    CameraImage,
    CameraModel,
    Detection,
    EgoState,
    GnssFix,
    Image,
    ImuSample,
    LaneEstimate,
    LightState,
    ObjectKind,
    Pose2D,
    SensorFrame,
    Stamp,
    TrackedObject,
    Truth,
)
from perception.detection.oracle import oracle_objects
from perception.device import PerceptionBackend
from perception.health.monitor import WELL, Fault
from perception.lanes.detector import LaneDetector
from perception.map_index import MapIndex
from perception.stages.detection import CameraDetector
from perception.stages.ego import OracleEgo, VehicleFrame
from perception.stages.health import RigHealthMonitor
from perception.stages.lights import AHEAD_MAX_RAD, CameraLights, OracleLights, looks_ahead
from perception.stages.objects import CameraObjects, OracleObjects
from perception.stages.observation import Observation
from tests.perception.simulated_drives import two_way_road

YAWS = {"front": 0.0, "narrow": 0.0, "left": math.pi / 2, "right": -math.pi / 2, "rear": math.pi}
CAMERAS = tuple(CameraModel(name, 64, 36, 1.0, 2.0, 0.0, 1.5, yaw_rad=yaw) for name, yaw in YAWS.items())
STAMP = Stamp(3, 0.15)
CAR = Detection("car", (10.0, 10.0, 20.0, 20.0), 0.9)


def picture(camera: CameraModel) -> CameraImage:
    noise = np.random.default_rng(len(camera.name)).integers(60, 66, (36, 64, 3), dtype=np.uint8)
    noise[:, ::8] = 200
    return CameraImage(STAMP, camera, noise)


def frame_of(*names: str) -> SensorFrame:
    cameras = {camera.name: picture(camera) for camera in CAMERAS if camera.name in names}
    imu = ImuSample(STAMP, (0.0, 0.0, 9.8), (0.0, 0.0, 0.0), 0.0)
    return SensorFrame(STAMP, cameras, GnssFix(STAMP, 0.0, 0.0, 0.0), imu, 0.0)


def observed(frame: SensorFrame, *detected: str) -> Observation:
    ego = EgoState(STAMP, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0, np.eye(4))
    return Observation(frame, ego, LaneEstimate(STAMP, None, None), dict.fromkeys(detected, (CAR,)))


def test_a_camera_is_trusted_while_its_picture_has_no_fault() -> None:
    monitor = RigHealthMonitor("front", ("left", "rear"))
    well = monitor.update(frame_of("front", "left", "rear", "narrow"))
    assert well.trusted == {"front", "left", "rear"}
    assert set(well.others) == {"left", "rear"}
    partly = monitor.update(frame_of("front", "rear"))
    assert partly.trusted == {"front", "rear"}
    assert partly.others["left"].faults == (Fault.MISSING,)
    blind = monitor.update(frame_of("left", "rear"))
    assert blind.front.faults == (Fault.MISSING,)
    assert blind.trusted == {"left", "rear"}


@given(st.sets(st.sampled_from(list(YAWS))), st.sets(st.sampled_from(list(YAWS))))
def test_the_detector_runs_on_its_own_cameras_where_they_are_trusted(own: set[str], trusted: set[str]) -> None:
    begun: list[str] = []

    def begin(camera: str, _bgr: Image) -> None:
        begun.append(camera)

    backend = PerceptionBackend(LaneDetector(), lambda image: (CAR,), begin)
    detector, frame = CameraDetector(sorted(own), backend), frame_of(*YAWS)
    for name, image in frame.cameras.items():
        detector.begin(name, image.bgr)
    assert set(begun) == own
    assert detector.update(frame, trusted) == dict.fromkeys(own & trusted, (CAR,))


def test_cameras_need_a_detector() -> None:
    without = PerceptionBackend(LaneDetector(), None)
    assert CameraDetector((), without).update(frame_of("front"), {"front"}) == {}
    with pytest.raises(ValueError, match="no detector is given for the cameras front, left"):
        CameraDetector(("front", "left"), without)


def test_a_picture_with_a_fault_is_there_but_not_trusted() -> None:
    frame = frame_of("front", "left")
    seen = observed(frame, "left")
    assert seen.picture("front") is frame.cameras["front"]
    assert seen.trusted("front") is None
    assert seen.picture("rear") is None
    assert seen.trusted("rear") is None
    trusted = seen.trusted("left")
    assert trusted is not None
    assert trusted[0] is frame.cameras["left"]
    assert trusted[1] == (CAR,)


def test_lights_are_read_from_the_first_camera_and_those_that_look_ahead() -> None:
    graph = two_way_road([(60.0, 0.0)])
    assert [camera.name for camera in CameraLights(CAMERAS, graph).cameras] == ["front", "narrow"]
    assert not looks_ahead(CameraModel("one", 64, 36, 1.0, 2.0, 0.0, 1.5, yaw_rad=-AHEAD_MAX_RAD))
    blind = CameraLights(CAMERAS, graph).update(observed(frame_of("front", "narrow")))
    assert blind == {}


def test_objects_are_located_without_any_picture() -> None:
    graph = two_way_road([(60.0, 0.0)])
    source = CameraObjects(CAMERAS, MapIndex(graph))
    assert source.cameras == CAMERAS
    assert source.update(observed(frame_of())) == ()


def test_oracles_ask_for_the_truth_of_the_tick_and_need_no_camera() -> None:
    graph = two_way_road([(60.0, 0.0)])
    car = TrackedObject(9, ObjectKind.CAR, 20.0, 0.0, 0.0, (3.0, 0.0), 4.0, 2.0, 1.5)
    truths = [
        Truth(STAMP, Pose2D(0.0, 0.0, 0.0), 0.0, 5.0, objects, {"a": LightState.RED}, ()) for objects in ((car,), ())
    ]
    waiting = list(truths)
    objects = OracleObjects("front", lambda: waiting.pop(0))
    assert tuple(objects.cameras) == tuple(OracleLights(graph, lambda: truths[0]).cameras) == ()
    with_box = objects.update(observed(frame_of("front")))
    assert with_box == oracle_objects(truths[0], camera=CAMERAS[0])
    assert with_box[0].box_px is not None
    assert objects.update(observed(frame_of())) == ()
    assert OracleLights(graph, lambda: truths[0]).update(observed(frame_of())) == {}


def test_without_gnss_and_map_objects_are_relative_to_the_vehicle() -> None:
    """Nothing is measured but pictures: every other number is NaN."""
    unknown = math.nan
    camera = CameraModel("front", 640, 360, math.radians(60.0), 2.1, 0.0, 1.6)
    box = Detection("car", (310.0, 180.0, 340.0, 205.0), 0.9)
    source, objects = VehicleFrame(), CameraObjects([camera], None)
    bgr = np.random.default_rng(0).integers(0, 255, (360, 640, 3), dtype=np.uint8)
    for number in range(8):
        stamp = Stamp(number, 0.05 * number)
        imu = ImuSample(stamp, (unknown,) * 3, (unknown,) * 3, unknown)
        gnss = GnssFix(stamp, unknown, unknown, unknown)
        frame = SensorFrame(stamp, {"front": CameraImage(stamp, camera, bgr)}, gnss, imu, unknown)
        ego = source.update(frame)
        seen = objects.update(Observation(frame, ego, LaneEstimate(stamp, None, None), {"front": (box,)}))
    assert (ego.x_m, ego.y_m, ego.yaw_rad, ego.speed_mps, ego.yaw_rate_radps) == (0.0,) * 5
    assert [thing.kind for thing in seen] == [ObjectKind.CAR]
    assert 20.0 < seen[0].x_m < 60.0
    assert seen[0].speed_mps < 1.0


def test_the_oracle_of_the_ego_tells_the_truth_whatever_the_sensors_measure() -> None:
    truths = [
        Truth(Stamp(1, 0.05), Pose2D(20.0, -1.75, math.pi - 0.01), 0.5, 4.0, (), {}, ()),
        Truth(Stamp(2, 0.10), Pose2D(20.2, -1.75, 0.01 - math.pi), 0.5, 4.1, (), {}, ()),
    ]
    oracle = OracleEgo(two_way_road([(100.0, 0.0)]), lambda: truths[0])
    blind = SensorFrame(STAMP, {}, GnssFix(STAMP, math.nan, math.nan, math.nan), frame_of().imu, math.nan)
    first = oracle.update(blind)
    del truths[0]
    second = oracle.update(blind)
    assert (first.accel_mps2, first.yaw_rate_radps) == (0.0, 0.0)
    assert (second.x_m, second.y_m, second.yaw_rad, second.speed_mps) == (20.2, -1.75, 0.01 - math.pi, 4.1)
    assert second.accel_mps2 == pytest.approx(2.0)
    assert second.yaw_rate_radps == pytest.approx(0.4)  # across the heading's jump from pi to -pi
    assert not second.covariance.any()
    assert oracle.gnss == WELL
