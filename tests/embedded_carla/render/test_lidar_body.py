"""The LiDAR's points lie on the world's surfaces, in the sensor's frame."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest

from embedded_carla.errors import EmbeddedCarlaError
from embedded_carla.render import Renderer
from embedded_carla.scene import ActorView
from embedded_carla.sensors.lidar import RAY_CAST_SEMANTIC, LidarScanner, LidarSpec
from embedded_carla.types import SemanticTag, Transform

PLAIN = LidarSpec(
    channels=16, range_m=60.0, points_per_second=320_000, rotation_frequency_hz=20.0, dropoff_general_rate=0.0,
    dropoff_intensity_limit=0.0, dropoff_zero_intensity=0.0,
)  # fmt: skip
MOUNT = Transform(-150.0, 0.0, 1.8, 0.0, 25.0)
BOX = ActorView(77, "crate", Transform(-150.0, 10.0, 0.0), (1.0, 1.0, 1.5), (1, 0, 0), SemanticTag.STATIC)


def scan(renderer: Renderer, scanner: LidarScanner, mount: Transform = MOUNT, dt_s: float = 0.05) -> bytes:
    return scanner.body(renderer, mount, [BOX], {}, 0.0, dt_s)


def points(body: bytes, width: int = 4) -> tuple[float, np.ndarray, np.ndarray]:
    angle, channels = struct.unpack_from("<fI", body)
    counts = np.frombuffer(body, "<u4", channels, 8)
    cloud = np.frombuffer(body, "<f4", offset=8 + 4 * channels).reshape(-1, width)
    assert counts.sum() == len(cloud)
    return angle, counts, cloud


def test_points_lie_on_the_flat_road_and_on_the_box(renderer: Renderer) -> None:
    _, counts, cloud = points(scan(renderer, LidarScanner(PLAIN)))
    world = np.c_[cloud[:, :3].astype(float), np.ones(len(cloud))] @ MOUNT.matrix().T
    on_road = (np.abs(world[:, 1]) < 6.3) & (world[:, 2] < 0.4)
    assert on_road.sum() > 2000
    assert np.abs(world[on_road, 2]).max() < 0.02
    on_box = (np.abs(world[:, 0] + 150) < 1.3) & (world[:, 1] > 8) & (world[:, 1] < 9.5) & (world[:, 2] > 0.3)
    assert on_box.sum() > 20
    assert np.abs(world[on_box, 1] - 9.0).max() < 0.02
    assert np.linalg.norm(cloud[:, :3], axis=1).max() <= 60.0
    assert np.allclose(cloud[:, 3], np.exp(-0.004 * np.linalg.norm(cloud[:, :3], axis=1)), atol=1e-5)
    assert (counts[-4:] == 1000).all()  # the lowest beams all meet the ground


def test_channels_run_from_the_top_down(renderer: Renderer) -> None:
    _, counts, cloud = points(scan(renderer, LidarScanner(PLAIN)))
    pitch = np.degrees(np.arctan2(cloud[:, 2], np.hypot(cloud[:, 0], cloud[:, 1])))
    channel = np.repeat(np.arange(16), counts)
    assert np.allclose(pitch, np.linspace(10.0, -30.0, 16)[channel], atol=1e-2)


def test_a_step_covers_its_share_of_the_turn(renderer: Renderer) -> None:
    slow = LidarScanner(replace(PLAIN, rotation_frequency_hz=5.0))
    seen = []
    for _ in range(4):
        angle, _, cloud = points(scan(renderer, slow))
        seen.append(np.degrees(np.arctan2(cloud[:, 1], cloud[:, 0])))
    assert angle == pytest.approx(0.0)
    assert all(np.ptp(yaw) < 91 for yaw in seen)
    assert np.ptp(np.concatenate(seen)) > 355


def test_horizontal_fov_limits_the_sweep(renderer: Renderer) -> None:
    narrow = LidarScanner(replace(PLAIN, horizontal_fov_deg=60.0))
    _, _, cloud = points(scan(renderer, narrow))
    yaw = np.degrees(np.arctan2(cloud[:, 1], cloud[:, 0]))
    assert -30.1 < yaw.min() < -29
    assert 29 < yaw.max() < 30.1


def test_drop_off_and_noise_follow_the_attributes_and_the_seed(renderer: Renderer) -> None:
    noisy = replace(PLAIN, dropoff_general_rate=0.45, noise_stddev_m=0.1)
    first, again, other = (scan(renderer, LidarScanner(noisy, seed=s)) for s in (1, 1, 2))
    assert first == again
    assert first != other
    full = len(points(scan(renderer, LidarScanner(PLAIN)))[2])
    _, _, cloud = points(first)
    assert len(cloud) == pytest.approx(0.55 * full, rel=0.03)
    pitch = np.arctan2(cloud[:, 2], np.hypot(cloud[:, 0], cloud[:, 1]))
    lowest = pitch < np.radians(-29)
    spread = np.linalg.norm(cloud[lowest, :3], axis=1) - 1.8 / np.sin(np.radians(30))
    assert spread.std() == pytest.approx(0.1, rel=0.1)


def test_semantic_points_carry_object_and_tag(renderer: Renderer) -> None:
    _, _, cloud = points(scan(renderer, LidarScanner(PLAIN, RAY_CAST_SEMANTIC)), 6)
    raw = cloud.view("<u4")
    assert SemanticTag.ROADS in raw[:, 5]
    box = raw[:, 4] == 77
    assert box.sum() > 20
    assert (raw[box, 5] == SemanticTag.STATIC).all()


def test_attributes_are_read_and_checked() -> None:
    spec = LidarSpec.from_attributes({"channels": "64", "range": "85", "upper_fov": "2", "noise_stddev": "0.02"})
    assert (spec.channels, spec.range_m, spec.upper_fov_deg, spec.noise_stddev_m) == (64, 85.0, 2.0, 0.02)
    assert spec.dropoff_general_rate == 0.45
    with pytest.raises(EmbeddedCarlaError, match="upper_fov is 95"):
        LidarSpec.from_attributes({"upper_fov": "95"})
