"""What each fault does to frames and commands."""

from __future__ import annotations

import math

import numpy as np
import pytest

from av_core.frames import geodetic_to_map
from av_core.types import (
    CameraImage,
    CameraModel,
    ControlCommand,
    GeoReference,
    GnssFix,
    ImuSample,
    RadarModel,
    RadarSweep,
    SensorFrame,
    Stamp,
)
from av_stack.faults.fault import parse_faults
from av_stack.faults.inject import DIRT_BGR, CommandDelay, FrameFaults

STEP_S = 0.05
FRONT = CameraModel("front", 64, 36, 1.0, 2.0, 0.0, 1.5)
REAR = CameraModel("rear", 64, 36, 1.0, -1.0, 0.0, 1.5)
RADAR = RadarModel("radar", 4.0, 0.0, 0.5, 0.0, 1.0, 0.1)


def frame(number: int) -> SensorFrame:
    """Its pictures are of one grey, twice the number of the frame and 50."""
    stamp = Stamp(number, number * STEP_S)
    grey = np.full((36, 64, 3), (50 + 2 * number) % 250, np.uint8)
    return SensorFrame(
        stamp,
        {camera.name: CameraImage(stamp, camera, grey) for camera in (FRONT, REAR)},
        GnssFix(stamp, 10.0, 20.0, 0.0),
        ImuSample(stamp, (0.0, 0.0, 9.81), (0.0, 0.0, 0.1), 0.0),
        8.0,
        radars={"radar": RadarSweep(stamp, RADAR, np.ones((3, 4)))},
    )


def seen(*texts: str, seed: int = 1, count: int = 40) -> list[SensorFrame]:
    faults = FrameFaults(parse_faults(texts), "front", seed)
    return [faults.alter(frame(number)) for number in range(count)]


def greys(frames: list[SensorFrame], camera: str = "front") -> list[int]:
    """The grey of each picture; -1 where there is none."""
    return [int(one.cameras[camera].bgr[0, 0, 0]) if camera in one.cameras else -1 for one in frames]


def moved_m(one: SensorFrame) -> tuple[float, float]:
    here = geodetic_to_map(one.gnss.latitude_deg, one.gnss.longitude_deg, GeoReference(10.0, 20.0))
    return float(here[0]), float(here[1])


def test_without_a_fault_that_is_on_frames_stay_as_they_are() -> None:
    texts = ["camera:black@5s", "gnss:jump@5s", "imu:bias@5s", "radar:off@5s", "control:delay@0s"]
    for number, one in enumerate(seen(*texts)):
        true = frame(number)
        assert (one.stamp, one.gnss, one.imu, set(one.radars)) == (true.stamp, true.gnss, true.imu, {"radar"})
        assert greys([one]) == greys([true])


def test_a_frozen_camera_repeats_its_last_picture_on_time() -> None:
    frames = seen("camera:freeze@0.5s-1s")
    assert greys(frames)[8:22] == [66, 68, *[68] * 10, 90, 92]
    assert all(one.cameras["front"].stamp == one.stamp for one in frames)


def test_a_camera_that_drops_out_sends_nothing() -> None:
    frames = seen("camera:drop@0.5s-1s")
    assert greys(frames)[9:21] == [68, *[-1] * 10, 90]
    assert greys(frames, "rear") == greys([frame(number) for number in range(40)])


def test_a_black_camera() -> None:
    assert greys(seen("camera:black@0.5s-1s"))[9:21] == [68, *[0] * 10, 90]


def test_late_pictures_keep_the_time_at_which_they_were_taken() -> None:
    frames = seen("camera:delay=0.2@0.5s")
    for number, one in enumerate(frames[10:], start=10):
        image = one.cameras["front"]
        assert image.stamp.time_s == pytest.approx((number - 4) * STEP_S)
        assert greys([one]) == [50 + 2 * (number - 4)]


def test_before_the_first_late_picture_arrives_there_is_none() -> None:
    assert greys(seen("camera:delay=0.2@0s", count=6)) == [-1, -1, -1, -1, 50, 52]


def test_noise_has_its_strength_and_differs_from_picture_to_picture() -> None:
    first, second = (one.cameras["front"].bgr.astype(float) for one in seen("camera:noise=10@1s")[30:32])
    assert first.std() == pytest.approx(10.0, rel=0.05)
    assert np.corrcoef(first.ravel(), second.ravel())[0, 1] == pytest.approx(0.0, abs=0.05)


def test_dirt_covers_its_share_and_stays_in_its_place() -> None:
    dirty = [(one.cameras["front"].bgr == DIRT_BGR).all(axis=2) for one in seen("camera:occlusion=80@1s")]
    assert not dirty[19].any()
    assert dirty[20].mean() == pytest.approx(0.8, abs=0.01)
    np.testing.assert_array_equal(dirty[20], dirty[39])


def test_gnss_without_a_fix_measures_nothing() -> None:
    one = seen("gnss:drop@1s")[20]
    assert math.isnan(one.gnss.latitude_deg)
    assert math.isnan(one.gnss.longitude_deg)


def test_gnss_noise_has_its_strength_along_both_axes() -> None:
    moved = np.array([moved_m(one) for one in seen("gnss:noise=15@0s", count=400)])
    assert moved.std(axis=0) == pytest.approx([15.0, 15.0], rel=0.12)
    assert np.abs(moved.mean(axis=0)).max() < 3.0


def test_a_gnss_jump_is_one_displacement_for_all_fixes() -> None:
    frames = seen("gnss:jump=20@1s-1.5s")
    moved = np.array([moved_m(one) for one in frames])
    assert np.hypot(*moved[[19, 30]].T) == pytest.approx([0.0, 0.0], abs=0.01)
    assert np.hypot(*moved[20:30].T) == pytest.approx([20.0] * 10, rel=0.005)
    assert np.ptp(moved[20:30], axis=0).max() < 1e-6


def test_imu_bias_and_silent_radars() -> None:
    frames = seen("imu:bias=0.03@1s", "radar:off@1s")
    assert frames[19].imu.gyro_radps == (0.0, 0.0, 0.1)
    assert frames[20].imu.gyro_radps == pytest.approx((0.0, 0.0, 0.13))
    assert (set(frames[19].radars), set(frames[20].radars)) == ({"radar"}, set())


def test_the_same_seed_gives_the_same_faults_whatever_came_before() -> None:
    texts = ("gnss:noise@0.5s", "camera:noise@0.5s", "camera:occlusion@0.7s")
    one, two, other = seen(*texts)[30], seen(*texts, "radar:off@0s")[30], seen(*texts, seed=2)[30]
    assert one.gnss == two.gnss
    np.testing.assert_array_equal(one.cameras["front"].bgr, two.cameras["front"].bgr)
    assert one.gnss != other.gnss


def obeyed(text: str) -> list[float | None]:
    """The throttle that arrives at each step, when the throttle given is a hundredth of the step's number."""
    delay = CommandDelay(parse_faults([text]))
    due = [delay.due(ControlCommand(number / 100, 0.0, 0.0), number * STEP_S) for number in range(10)]
    return [None if one is None else one.throttle for one in due]


def test_delayed_commands_arrive_in_their_order() -> None:
    assert obeyed("control:delay=0.1@0.2s-0.4s") == [0.0, 0.01, 0.02, 0.03, None, None, 0.04, 0.05, 0.08, 0.09]
    assert obeyed("control:delay=0.1@9s") == [number / 100 for number in range(10)]
