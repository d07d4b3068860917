"""Coordinate transforms between the frames of the stack, and from and to CARLA's frame and geodetic positions.

The frames are those of `av_core.types`: map, vehicle and image, all ISO 8855 (right-handed, SI, radians). CARLA's
world is left-handed with y to the south, yaw clockwise, and degrees; the functions with `carla` in
their names convert from and to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from av_core.curve import ahead_and_left
from av_core.types import CameraModel, GeoReference, Pose2D

Float = NDArray[np.float64]

CARLA_EARTH_RADIUS_M = 6_378_137.0
"""Radius of the sphere that CARLA 0.9.16 projects (WGS84's equator), whatever ellipsoid the map names."""

CARLA_PROJECTION_SCALE = 0.9996
"""Scale on the central meridian that CARLA 0.9.16 applies, whatever `+k` the map names."""


def wrap_angle(angle_rad: ArrayLike) -> Float:
    """The same angle in [-pi, pi), elementwise."""
    wrapped = (np.asarray(angle_rad, dtype=np.float64) + np.pi) % (2.0 * np.pi) - np.pi
    # A tiny negative sum rounds up to exactly 2 pi in the modulo; this keeps the interval half open.
    return np.where(wrapped >= np.pi, wrapped - 2.0 * np.pi, wrapped)


# ---------------------------------------------------------------- CARLA <-> map


def carla_to_map_points(points: ArrayLike) -> Float:
    """Points (..., 2) or (..., 3) m in CARLA's world or actor frame -> right-handed frame; its own inverse."""
    mirrored = np.array(points, dtype=np.float64)
    mirrored[..., 1] *= -1.0
    return mirrored


def map_to_carla_points(points: ArrayLike) -> Float:
    """The inverse of `carla_to_map_points`."""
    return carla_to_map_points(points)


def carla_to_map_yaw(yaw_deg: ArrayLike) -> Float:
    """CARLA's yaw (deg, clockwise from east) -> map yaw (rad, counter-clockwise from east, wrapped)."""
    return wrap_angle(-np.radians(np.asarray(yaw_deg, dtype=np.float64)))


def map_to_carla_yaw(yaw_rad: ArrayLike) -> Float:
    """Map yaw (rad) -> CARLA's yaw in degrees, in (-180, 180]."""
    return -np.degrees(wrap_angle(yaw_rad))


def compass_to_map_yaw(compass_rad: ArrayLike) -> Float:
    """CARLA's IMU compass (rad, clockwise from north, north is CARLA's -y) -> map yaw (rad, wrapped)."""
    return wrap_angle(np.pi / 2.0 - np.asarray(compass_rad, dtype=np.float64))


def carla_to_radar_points(detections: ArrayLike) -> Float:
    """CARLA's radar detections (N, 4) -> the points of a `RadarSweep` (N, 4).

    A detection is velocity (m/s, positive away from the radar), azimuth (rad, positive to the right), altitude (rad,
    positive up) and depth (m, along the ray).
    """
    speed, right, up, depth = np.asarray(detections, dtype=np.float64).reshape(-1, 4).T
    return np.stack([depth, -right, up, speed], axis=1)


# ---------------------------------------------------------------- geodetic <-> map


def geodetic_to_map(latitude_deg: ArrayLike, longitude_deg: ArrayLike, geo: GeoReference) -> Float:
    """Latitude and longitude of a GNSS fix -> (..., 2) m in the map frame.

    Inverse of `carla.Map.transform_to_geolocation` of CARLA 0.9.16: a spherical transverse Mercator projection about
    `geo` (Snyder, Map Projections, USGS PP 1395, eq. 8-1 to 8-3). CARLA applies it to its own y, which points south, so
    latitude grows towards the south of the map, unless `geo` is on Earth.
    """
    lat = np.radians(np.asarray(latitude_deg, dtype=np.float64))
    dlon = np.radians(np.asarray(longitude_deg, dtype=np.float64) - geo.longitude_deg)
    scale_m = CARLA_EARTH_RADIUS_M * CARLA_PROJECTION_SCALE
    x = scale_m * np.arctanh(np.cos(lat) * np.sin(dlon))
    along = scale_m * (np.arctan2(np.tan(lat), np.cos(dlon)) - np.radians(geo.latitude_deg))
    return np.stack([x, along if geo.is_on_earth else -along], axis=-1)


def map_to_geodetic(points: ArrayLike, geo: GeoReference) -> tuple[Float, Float]:
    """Map points (..., 2) m -> (latitude_deg, longitude_deg); the inverse of `geodetic_to_map` (Snyder 8-6, 8-7)."""
    xy = np.asarray(points, dtype=np.float64)
    scale_m = CARLA_EARTH_RADIUS_M * CARLA_PROJECTION_SCALE
    east = xy[..., 0] / scale_m
    along = xy[..., 1] if geo.is_on_earth else -xy[..., 1]
    angle = along / scale_m + np.radians(geo.latitude_deg)
    latitude = np.degrees(np.arcsin(np.sin(angle) / np.cosh(east)))
    longitude = geo.longitude_deg + np.degrees(np.arctan2(np.sinh(east), np.cos(angle)))
    return latitude, longitude


# ---------------------------------------------------------------- map <-> vehicle


def vehicle_to_map(points: ArrayLike, pose: Pose2D) -> Float:
    """Points (..., 2) m in the frame of `pose` -> map frame."""
    xy = np.asarray(points, dtype=np.float64)
    c, s = np.cos(pose.yaw_rad), np.sin(pose.yaw_rad)
    return np.stack(
        [pose.x_m + c * xy[..., 0] - s * xy[..., 1], pose.y_m + s * xy[..., 0] + c * xy[..., 1]],
        axis=-1,
    )


def map_to_vehicle(points: ArrayLike, pose: Pose2D) -> Float:
    """Map points (..., 2) m -> frame of `pose`; the inverse of `vehicle_to_map`."""
    xy = np.asarray(points, dtype=np.float64)
    return np.stack(ahead_and_left(xy[..., 0] - pose.x_m, xy[..., 1] - pose.y_m, pose.yaw_rad), axis=-1)


# ---------------------------------------------------------------- vehicle <-> image


def rotation_matrix(yaw_rad: float, pitch_rad: float, roll_rad: float) -> Float:
    """(3, 3) rotation child -> parent for ISO 8855 angles: yaw about z, then pitch about y, then roll about x."""
    cy, sy = np.cos(yaw_rad), np.sin(yaw_rad)
    cp, sp = np.cos(pitch_rad), np.sin(pitch_rad)
    cr, sr = np.cos(roll_rad), np.sin(roll_rad)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def intrinsics(camera: CameraModel) -> Float:
    """(3, 3) pinhole matrix, px. Square pixels; the principal point is the middle of the image."""
    focal_px = camera.width_px / (2.0 * np.tan(camera.fov_x_rad / 2.0))
    return np.array(
        [
            [focal_px, 0.0, (camera.width_px - 1) / 2.0],
            [0.0, focal_px, (camera.height_px - 1) / 2.0],
            [0.0, 0.0, 1.0],
        ]
    )


def optical_to_vehicle_rotation(camera: CameraModel) -> Float:
    """(3, 3) rotation from the optical frame (x right, y down, z along the view) to the vehicle frame."""
    body_from_optical = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    body = rotation_matrix(camera.yaw_rad, camera.pitch_rad, camera.roll_rad)
    return np.asarray(body @ body_from_optical, dtype=np.float64)


def vehicle_to_image(points: ArrayLike, camera: CameraModel) -> tuple[Float, Float]:
    """Points (..., 3) m in the vehicle frame -> (pixels (..., 2) as (u, v), depth (...) m along the view).

    Pixels are NaN for points not in front of the camera; pixels outside the picture are returned as they are.
    """
    xyz = np.asarray(points, dtype=np.float64) - np.array([camera.x_m, camera.y_m, camera.z_m])
    optical = xyz @ optical_to_vehicle_rotation(camera)
    depth = optical[..., 2]
    in_front = depth > 1e-6
    safe_depth = np.where(in_front, depth, np.nan)
    k = intrinsics(camera)
    u = k[0, 0] * optical[..., 0] / safe_depth + k[0, 2]
    v = k[1, 1] * optical[..., 1] / safe_depth + k[1, 2]
    return np.stack([u, v], axis=-1), depth


def image_to_ground(pixels: ArrayLike, camera: CameraModel) -> Float:
    """Pixels (..., 2) as (u, v) -> (..., 2) m where their rays meet the plane z = 0 of the vehicle frame.

    NaN where the ray does not reach the ground (at or above the horizon).
    """
    uv = np.asarray(pixels, dtype=np.float64)
    k = intrinsics(camera)
    optical = np.stack(
        [(uv[..., 0] - k[0, 2]) / k[0, 0], (uv[..., 1] - k[1, 2]) / k[1, 1], np.ones(uv.shape[:-1])],
        axis=-1,
    )
    ray = optical @ optical_to_vehicle_rotation(camera).T
    down = -ray[..., 2]
    distance = camera.z_m / np.where(down > 1e-9, down, np.nan)
    return np.stack([camera.x_m + distance * ray[..., 0], camera.y_m + distance * ray[..., 1]], axis=-1)
