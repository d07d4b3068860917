"""Folders in the layouts of comma2k19 and of KITTI's raw data: what is read of them, and how a bad one ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from av_core.errors import ConfigError
from av_core.types import Float, Image, SensorFrame
from av_stack.foreign.assemble import disabled
from av_stack.foreign.kinds import Kind, kind_of
from av_stack.foreign.measured import placed_on_earth
from av_stack.foreign.opening import SourceOptions, open_foreign
from av_stack.foreign.source import ForeignSource
from perception.localization.localizer import Localizer

PICTURES, SPEED_MPS, YAW_RAD, TURN_RADPS = 12, 10.0, math.radians(30.0), 0.01
LATITUDE_DEG, LONGITUDE_DEG, ALTITUDE_M = 49.011, 8.4229, 112.8
RADIUS_M = 6378137.0
RECTIFIED, RAW = (1242, 375), (1392, 512)
CALIBRATION = """calib_time: 09-Jan-2012 13:57:47
corner_dist: 9.950000e-02
S_02: 1.392000e+03 5.120000e+02
K_02: 9.597910e+02 0.0 6.960217e+02 0.0 9.569251e+02 2.241806e+02 0.0 0.0 1.0
D_02: -3.691481e-01 1.968681e-01 1.353473e-03 5.677587e-04 -6.770705e-02
S_rect_02: 1.242000e+03 3.750000e+02
P_rect_02: 7.215377e+02 0.0 6.095593e+02 4.485728e+01 0.0 7.215377e+02 1.728540e+02 2.163791e-01 0.0 0.0 1.0 2.7e-03
"""
IDENTITY = "1.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 1.0"
IMU_TO_VELODYNE = f"calib_time: 25-May-2012 16:47:16\nR: {IDENTITY}\nT: -8.086759e-01 3.195559e-01 -7.997231e-01\n"
VELODYNE_TO_CAMERA = """calib_time: 15-Mar-2012 11:37:16
R: 0.0 -1.0 0.0 0.0 0.0 -1.0 1.0 0.0 0.0
T: -4.069766e-03 -7.631618e-02 -2.717806e-01
"""


def at(time_s: float) -> tuple[float, float]:
    """Latitude and longitude after so much time, straight on."""
    way_m = SPEED_MPS * time_s
    north, east = way_m * math.sin(YAW_RAD), way_m * math.cos(YAW_RAD)
    latitude = LATITUDE_DEG + math.degrees(north / RADIUS_M)
    return latitude, LONGITUDE_DEG + math.degrees(east / (RADIUS_M * math.cos(math.radians(LATITUDE_DEG))))


def picture(size: tuple[int, int], number: int) -> Image:
    bgr = np.full((size[1], size[0], 3), 90, dtype=np.uint8)
    cv2.putText(bgr, str(number), (60, 200), cv2.FONT_HERSHEY_SIMPLEX, 4.0, (255, 255, 255), 8)
    return bgr


def kitti(folder: Path, size: tuple[int, int] = RECTIFIED, calibration: str = CALIBRATION) -> Path:
    """A drive in the folder of its day: pictures and measurements at 10 Hz."""
    drive = folder / "2011_09_26" / "2011_09_26_drive_0001_sync"
    for name in ("image_02", "oxts"):
        (drive / name / "data").mkdir(parents=True)
        lines = [f"2011-09-26 13:02:{25 + number // 10}.{number % 10}64389445\n" for number in range(PICTURES)]
        (drive / name / "timestamps.txt").write_text("".join(lines))
    for number in range(PICTURES):
        cv2.imwrite(str(drive / "image_02" / "data" / f"{number:010d}.png"), picture(size, number))
        latitude, longitude = at(0.1 * number)
        numbers = [latitude, longitude, ALTITUDE_M, 0.02, 0.01, YAW_RAD, 5.0, 8.66, SPEED_MPS, 0.0, 0.0]
        numbers += [0.1, 0.2, 9.8] * 2 + [0.0, 0.0, TURN_RADPS] * 2 + [0.05, 0.01, 4, 10, 4, 4, 0]
        text = " ".join(map(repr, numbers))
        (drive / "oxts" / "data" / f"{number:010d}.txt").write_text(f"{text}\n")
    (drive.parent / "calib_cam_to_cam.txt").write_text(calibration)
    (drive.parent / "calib_imu_to_velo.txt").write_text(IMU_TO_VELODYNE)
    (drive.parent / "calib_velo_to_cam.txt").write_text(VELODYNE_TO_CAMERA)
    return drive


def on_earth(latitude_deg: float, longitude_deg: float) -> tuple[Float, Float]:
    """The position, Earth-centred and fixed, and the axes forward, right, down as columns."""
    flattening = 1.0 / 298.257223563
    squared = flattening * (2.0 - flattening)
    lat, lon = math.radians(latitude_deg), math.radians(longitude_deg)
    across = RADIUS_M / math.sqrt(1.0 - squared * math.sin(lat) ** 2)
    up = np.array([math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)])
    east = np.array([-math.sin(lon), math.cos(lon), 0.0])
    north = np.cross(up, east)
    position = (across + ALTITUDE_M) * up - np.array([0.0, 0.0, squared * across * math.sin(lat)])
    ahead = math.cos(YAW_RAD) * east + math.sin(YAW_RAD) * north
    return position, np.column_stack([ahead, np.cross(ahead, up), -up])


def quaternion(axes: Float) -> list[float]:
    """w, x, y, z of the rotation whose matrix is `axes`."""
    w = 0.5 * math.sqrt(max(1.0 + float(np.trace(axes)), 1e-12))
    x, y, z = (axes[2, 1] - axes[1, 2], axes[0, 2] - axes[2, 0], axes[1, 0] - axes[0, 1])
    return [w, x / (4.0 * w), y / (4.0 * w), z / (4.0 * w)]


def comma2k19(folder: Path, with_pose: bool = True) -> Path:
    """A segment: pictures at 20 Hz, IMU at 100 Hz, CAN at 50 Hz, on the clock of the device."""
    segment = folder / "b0c9d2329ad1606b|2018-08-02--08-34-47" / "40"
    segment.mkdir(parents=True)
    with av.open(str(segment / "video.hevc"), "w", format="hevc") as container:
        stream = container.add_stream(
            "libx265", rate=20, options={"preset": "ultrafast", "x265-params": "log-level=none"}
        )
        stream.width, stream.height, stream.pix_fmt = 1164, 874, "yuv420p"
        for number in range(PICTURES):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture((1164, 874), number), format="bgr24")))
        container.mux(stream.encode())
    times = 1000.0 + 0.05 * np.arange(PICTURES)
    placed = [on_earth(*at(time - 1000.0)) for time in times.tolist()]
    if with_pose:
        poses = {
            "frame_times": times,
            "frame_positions": np.array([position for position, _ in placed]),
            "frame_orientations": np.array([quaternion(axes) for _, axes in placed]),
        }
        write_arrays(segment / "global_pose", poses)
    for kind, name, values, step_s in (
        ("CAN", "speed", [[SPEED_MPS]], 0.02),
        ("IMU", "accelerometer", [[0.1, -0.2, -9.8]], 0.01),
        ("IMU", "gyro", [[0.0, 0.0, -TURN_RADPS]], 0.01),
    ):
        measured = np.arange(999.9, times[-1] + step_s, step_s)
        arrays = {"t": measured, "value": np.repeat(np.array(values), len(measured), axis=0)}
        write_arrays(segment / "processed_log" / kind / name, arrays)
    return segment


def write_arrays(folder: Path, arrays: dict[str, Float]) -> None:
    """As the data set has them: numpy's format, without a suffix."""
    folder.mkdir(parents=True)
    for name, numbers in arrays.items():
        with (folder / name).open("wb") as file:
            np.save(file, numbers)


def read(path: Path) -> tuple[ForeignSource, list[SensorFrame]]:
    source = open_foreign(path, kind_of(path), SourceOptions())
    frames = list(source.frames())
    source.close()
    return source, frames


def check_motion(source: ForeignSource, frames: Sequence[SensorFrame], step_s: float) -> None:
    """The ego is found to go straight on from the origin at its speed, as it was written."""
    assert source.problem is None
    assert source.lacks == {}
    assert "localization" not in disabled(source)
    assert [frame.stamp.time_s for frame in frames] == pytest.approx([step_s * n for n in range(PICTURES)], abs=1e-5)
    for frame in frames:
        assert frame.wheel_speed_mps == pytest.approx(SPEED_MPS)
        assert frame.imu.accel_mps2 == pytest.approx((0.1, 0.2, 9.8))
        assert frame.imu.gyro_radps == pytest.approx((0.0, 0.0, TURN_RADPS))
        assert frame.imu.yaw_rad == pytest.approx(YAW_RAD, abs=1e-6)
        assert frame.gnss.altitude_m == pytest.approx(ALTITUDE_M, abs=0.01)
        latitude, longitude = at(frame.stamp.time_s)
        assert frame.gnss.latitude_deg == pytest.approx(latitude, abs=1e-7)
        assert frame.gnss.longitude_deg == pytest.approx(longitude, abs=1e-7)
    assert source.graph is not None
    localizer = Localizer(source.graph)
    egos = [localizer.update(frame, None) for frame in frames]
    way_m = SPEED_MPS * frames[-1].stamp.time_s
    assert egos[-1].x_m == pytest.approx(way_m * math.cos(YAW_RAD), abs=0.3)
    assert egos[-1].y_m == pytest.approx(way_m * math.sin(YAW_RAD), abs=0.3)


def test_a_drive_of_kitti_is_read_with_its_calibration(tmp_path: Path) -> None:
    path = kitti(tmp_path)
    assert kind_of(path) is Kind.KITTI
    source, frames = read(path)
    check_motion(source, frames, 0.1)
    camera = source.optics.camera
    assert camera.fov_x_rad == pytest.approx(2.0 * math.atan(1242 / (2.0 * 721.5377)))
    assert camera.z_m == 1.65
    assert camera.x_m == pytest.approx(0.2717806 + 0.8086759)
    assert camera.y_m == pytest.approx(-0.004069766 - 0.3195559)
    assert frames[0].cameras["front"].bgr.shape == (375, 1242, 3)


def test_pictures_of_kitti_as_they_were_taken_have_another_lens(tmp_path: Path) -> None:
    source, _ = read(kitti(tmp_path, RAW))
    assert source.optics.camera.fov_x_rad == pytest.approx(2.0 * math.atan(1392 / (2.0 * 959.791)))


def test_what_is_wrong_in_a_drive_of_kitti_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"pictures of 640x480 px, but calib_cam_to_cam.txt is for 1242x375 and 1392x"
    ):
        read(kitti(tmp_path / "size", (640, 480)))
    path = kitti(tmp_path / "drive")
    (path / "oxts" / "data" / f"{3:010d}.txt").unlink()
    (path / "oxts" / "data" / f"{9:010d}.txt").write_text("49.0 8.4\n")
    source, frames = read(path)
    assert len(frames) == 8
    assert source.problem is not None
    assert source.problem.endswith("0000000009.txt: expected 30 numbers")
    assert "1 pictures have no measurement of oxts beside them, and are left out" in source.notes
    (path / "oxts" / "timestamps.txt").unlink()
    source, frames = read(path)
    assert len(frames) == PICTURES
    assert set(source.lacks) == {"GNSS", "IMU", "wheels"}


def test_a_segment_of_comma2k19_is_read_with_its_pose(tmp_path: Path) -> None:
    path = comma2k19(tmp_path)
    assert kind_of(path) is Kind.COMMA2K19
    source, frames = read(path)
    check_motion(source, frames, 0.05)
    camera = source.optics.camera
    assert camera.fov_x_rad == pytest.approx(2.0 * math.atan(1164 / (2.0 * 910.0)))
    assert camera.z_m == 1.22
    assert any("the data set's own global_pose" in note for note in source.notes)


def test_a_segment_without_its_pose_has_only_pictures_and_speed(tmp_path: Path) -> None:
    source, frames = read(comma2k19(tmp_path, with_pose=False))
    assert len(frames) == PICTURES
    assert source.lacks == {"GNSS": "no global_pose", "IMU": "no global_pose"}
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "video.hevc").write_bytes(b"no video")
    with pytest.raises(ConfigError, match=r"video.hevc: "):
        read(tmp_path / "none")


@pytest.mark.parametrize(("latitude", "longitude"), [(0.0, 0.0), (49.0, 8.4), (-33.9, 151.2), (37.5, -122.3)])
def test_a_place_on_earth_is_found_again(latitude: float, longitude: float) -> None:
    position, axes = on_earth(latitude, longitude)
    place = placed_on_earth(position, axes[:, 0])
    assert place.latitude_deg == pytest.approx(latitude, abs=1e-8)
    assert place.longitude_deg == pytest.approx(longitude, abs=1e-8)
    assert place.altitude_m == pytest.approx(ALTITUDE_M, abs=1e-3)
    assert place.yaw_rad == pytest.approx(YAW_RAD, abs=1e-9)
