"""Frames: round trips, and agreement with what the real wheel computes."""

from __future__ import annotations

import math
from pathlib import Path

import carla
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core import frames
from av_core.types import CameraModel, GeoReference, Pose2D

ANGLES = st.floats(-math.pi, math.pi)
METRES = st.floats(-5000.0, 5000.0)
DEGREES = st.floats(-180.0, 180.0)
FRONT = CameraModel("front", 640, 360, math.radians(60.0), 1.5, 0.0, 1.5)


@settings(deadline=None)
@given(st.floats(-1e6, 1e6))
def test_wrapped_angle_is_the_same_direction(angle: float) -> None:
    wrapped = float(frames.wrap_angle(angle))
    assert -math.pi <= wrapped < math.pi
    assert math.cos(wrapped - angle) == pytest.approx(1.0, abs=1e-9)


def test_wrapped_angle_at_the_seam() -> None:
    np.testing.assert_allclose(frames.wrap_angle([math.pi, -math.pi, 3 * math.pi]), -math.pi)
    assert float(frames.wrap_angle(np.nextafter(-math.pi, -4.0))) < math.pi


@settings(deadline=None)
@given(st.tuples(METRES, METRES, METRES), DEGREES)
def test_carla_round_trip(point: tuple[float, float, float], yaw_deg: float) -> None:
    assert tuple(frames.map_to_carla_points(frames.carla_to_map_points(point))) == point
    back_deg = float(frames.map_to_carla_yaw(frames.carla_to_map_yaw(yaw_deg)))
    assert math.cos(math.radians(back_deg - yaw_deg)) == pytest.approx(1.0, abs=1e-9)


@settings(deadline=None)
@given(METRES, METRES, DEGREES)
def test_carla_forward_vector_turns_into_map_yaw(x: float, y: float, yaw_deg: float) -> None:
    ahead = carla.Transform(carla.Location(x=x, y=y), carla.Rotation(yaw=yaw_deg)).get_forward_vector()
    yaw_rad = float(frames.carla_to_map_yaw(yaw_deg))
    mirrored = frames.carla_to_map_points([ahead.x, ahead.y])
    np.testing.assert_allclose(mirrored, [math.cos(yaw_rad), math.sin(yaw_rad)], atol=1e-5)


def test_a_radars_azimuth_turns_to_the_left() -> None:
    """CARLA's velocity, azimuth to the right, altitude and depth become range, azimuth, elevation and range rate."""
    points = frames.carla_to_radar_points(
        np.array([[-3.0, 0.2, 0.05, 40.0], [1.0, -0.1, -0.02, 7.0]], dtype=np.float32)
    )
    assert points == pytest.approx(np.array([[40.0, -0.2, 0.05, -3.0], [7.0, 0.1, -0.02, 1.0]]))
    assert frames.carla_to_radar_points(np.zeros(0, dtype=np.float32)).shape == (0, 4)


def test_compass_points_north_along_map_y() -> None:
    np.testing.assert_allclose(
        frames.compass_to_map_yaw([0.0, math.pi / 2, math.pi]), [math.pi / 2, 0.0, -math.pi / 2], atol=1e-12
    )


@settings(deadline=None)
@given(DEGREES, st.floats(-89.0, 89.0), DEGREES)
def test_rotation_matrix_is_the_mirror_of_carlas(yaw_deg: float, pitch_deg: float, roll_deg: float) -> None:
    transform = carla.Transform(carla.Location(), carla.Rotation(pitch=pitch_deg, yaw=yaw_deg, roll=roll_deg))
    mirror = np.diag([1.0, -1.0, 1.0])
    expected = mirror @ np.array(transform.get_matrix())[:3, :3] @ mirror
    # CARLA's pitch is positive with the nose up, that of ISO 8855 with the nose down; roll is the same.
    got = frames.rotation_matrix(
        float(frames.carla_to_map_yaw(yaw_deg)), -math.radians(pitch_deg), math.radians(roll_deg)
    )
    np.testing.assert_allclose(got, expected, atol=2e-5)


@settings(deadline=None)
@given(METRES, METRES, st.floats(-70.0, 70.0), st.floats(-175.0, 175.0))
def test_geodetic_round_trip(x: float, y: float, lat: float, lon: float) -> None:
    geo = GeoReference(lat, lon)
    back = frames.geodetic_to_map(*frames.map_to_geodetic([x, y], geo), geo)
    np.testing.assert_allclose(back, [x, y], atol=1e-5)


def test_on_earth_north_is_up() -> None:
    """10 m to the north are 9e-5 degrees; CARLA's maps are upside down."""
    earth, carla = GeoReference(49.0, 8.0, is_on_earth=True), GeoReference(49.0, 8.0)
    np.testing.assert_allclose(frames.geodetic_to_map(49.00009, 8.0, earth), [0.0, 10.0], atol=0.05)
    np.testing.assert_allclose(frames.geodetic_to_map(49.00009, 8.0, carla), [0.0, -10.0], atol=0.05)
    assert frames.map_to_geodetic([3.0, 10.0], earth)[0] > 49.0
    np.testing.assert_allclose(
        frames.geodetic_to_map(*frames.map_to_geodetic([30.0, -70.0], earth), earth), [30.0, -70.0], atol=1e-6
    )


@pytest.mark.parametrize("origin", [(0.0, 0.0), (42.0, 2.0), (-33.5, 151.0)])
def test_geodetic_agrees_with_the_wheel(data_dir: Path, origin: tuple[float, float]) -> None:
    text = (data_dir / "maps" / "Town02.xodr").read_text()
    text = text.replace("+lat_0=0 +lon_0=0", f"+lat_0={origin[0]} +lon_0={origin[1]}")
    town = carla.Map("Town02", text)
    geo = GeoReference(*origin)
    for x, y in [(0.0, 0.0), (193.7, 12.5), (-411.0, 305.25), (1500.0, -2500.0)]:
        fix = town.transform_to_geolocation(carla.Location(x=x, y=y, z=1.5))
        expected = frames.carla_to_map_points([x, y])
        np.testing.assert_allclose(frames.geodetic_to_map(fix.latitude, fix.longitude, geo), expected, atol=0.002)
        np.testing.assert_allclose(
            frames.map_to_geodetic(expected, geo), (fix.latitude, fix.longitude), rtol=0, atol=2e-8
        )


@settings(deadline=None)
@given(METRES, METRES, ANGLES, METRES, METRES)
def test_vehicle_round_trip(x: float, y: float, yaw: float, px: float, py: float) -> None:
    pose = Pose2D(x, y, yaw)
    np.testing.assert_allclose(frames.map_to_vehicle(frames.vehicle_to_map([px, py], pose), pose), [px, py], atol=1e-8)


def test_vehicle_axes() -> None:
    pose = Pose2D(10.0, 20.0, math.pi / 2)
    np.testing.assert_allclose(frames.vehicle_to_map([[1.0, 0.0], [0.0, 1.0]], pose), [[10, 21], [9, 20]], atol=1e-12)


CAMERAS = st.builds(
    CameraModel,
    name=st.just("any"),
    width_px=st.integers(16, 2000),
    height_px=st.integers(16, 1200),
    fov_x_rad=st.floats(0.3, 2.2),
    x_m=st.floats(-2.0, 3.0),
    y_m=st.floats(-1.0, 1.0),
    z_m=st.floats(0.3, 4.0),
    pitch_rad=st.floats(-0.4, 0.6),
    yaw_rad=ANGLES,
    roll_rad=st.floats(-0.3, 0.3),
)


@settings(deadline=None)
@given(CAMERAS, st.floats(-60.0, 60.0), st.floats(-30.0, 30.0))
def test_ground_point_seen_is_found_again(camera: CameraModel, x: float, y: float) -> None:
    pixel, depth = frames.vehicle_to_image([x, y, 0.0], camera)
    if depth < 0.3:
        return
    np.testing.assert_allclose(frames.image_to_ground(pixel, camera), [x, y], atol=1e-5)


def test_projection_of_known_points() -> None:
    """A point on the optical axis falls on the principal point; left is smaller u, up is smaller v."""
    points = [[11.5, 0.0, 1.5], [11.5, 1.0, 1.5], [11.5, 0.0, 2.5], [-5.0, 0.0, 1.5]]
    pixels, depth = frames.vehicle_to_image(points, FRONT)
    focal = 320.0 / math.tan(math.radians(30.0))
    np.testing.assert_allclose(pixels[:3], [[319.5, 179.5], [319.5 - focal / 10, 179.5], [319.5, 179.5 - focal / 10]])
    np.testing.assert_allclose(depth[:3], 10.0)
    assert np.isnan(pixels[3]).all()


def test_edges_of_the_picture_span_the_field_of_view() -> None:
    """Pixel edges, half a pixel outside the outermost centres, lie at half the field of view."""
    edge = frames.image_to_ground([[-0.5, 300.0], [639.5, 300.0]], FRONT)
    np.testing.assert_allclose(np.abs(edge[:, 1]) / (edge[:, 0] - FRONT.x_m), math.tan(math.radians(30.0)))


def test_no_ground_above_the_horizon() -> None:
    assert np.isnan(frames.image_to_ground([[100.0, 179.5], [100.0, 20.0]], FRONT)).all()


def test_nose_down_camera_sees_nearer_ground() -> None:
    level = frames.image_to_ground([319.5, 300.0], FRONT)[0]
    down = frames.image_to_ground([319.5, 300.0], CameraModel("d", 640, 360, FRONT.fov_x_rad, 1.5, 0, 1.5, 0.1))[0]
    assert down < level
