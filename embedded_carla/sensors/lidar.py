"""The ray-cast LiDAR: rays are looked up in depth pictures rendered around the sensor.

Message body: horizontal angle f32 (rad), number of channels u32, number of points of each channel u32; then for each
point x, y, z and intensity f32, in the sensor's frame (x forward, y right, z up), grouped by channel from the top down.
The semantic LiDAR sends x, y, z and cosine of incidence f32, actor id u32 and tag u32 for each point instead.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from embedded_carla.errors import EmbeddedCarlaError
from embedded_carla.render import Renderer, Shot
from embedded_carla.scene import ActorView, CameraView
from embedded_carla.sensors.depth_lookup import depth_at, other_pixel
from embedded_carla.sensors.vehicle_boxes import VehicleBoxes
from embedded_carla.types import SemanticTag, SignalColour, Transform, WeatherParameters

F64 = NDArray[np.float64]
RAY_CAST = "sensor.lidar.ray_cast"
RAY_CAST_SEMANTIC = "sensor.lidar.ray_cast_semantic"
MOST_POINTS = 2_000_000
"""Maximum number of rays in a measurement; further rays are not cast."""

FARTHEST_M = 1000.0  # maximum range; a larger range attribute is reduced to it
FACE_WIDTH_PX = 512
HEIGHT_STEP_PX = 32  # picture heights are multiples of it, because buffers are kept for each picture size
STEEP_FACE_DEG = 89.9  # below 90, where yaw and roll are degenerate (gimbal lock)
FACE_YAWS_DEG = (0.0, 90.0, 180.0, -90.0)
HALF_YAWS_DEG = (-45.0, 45.0)  # faces for rays up to 90 degrees to both sides: two pictures instead of three
SIDE_TILT_DEG = 60.0  # limit of the four side faces; steeper rays use the face up or down


@dataclass(frozen=True, slots=True)
class LidarSpec:
    """The blueprint's attributes, with CARLA's defaults; angles in degrees, range in metres."""

    channels: int = 32
    range_m: float = 10.0
    points_per_second: int = 56000
    rotation_frequency_hz: float = 10.0
    upper_fov_deg: float = 10.0
    lower_fov_deg: float = -30.0
    horizontal_fov_deg: float = 360.0
    atmosphere_attenuation_rate: float = 0.004
    dropoff_general_rate: float = 0.45
    dropoff_intensity_limit: float = 0.8
    dropoff_zero_intensity: float = 0.4
    noise_stddev_m: float = 0.0

    @staticmethod
    def from_attributes(attributes: Mapping[str, str]) -> LidarSpec:
        """From a blueprint's attributes, by CARLA's names. Raises EmbeddedCarlaError naming one out of bounds."""
        a, d = attributes, LidarSpec()
        spec = LidarSpec(
            int(float(a.get("channels", d.channels))), float(a.get("range", d.range_m)),
            int(float(a.get("points_per_second", d.points_per_second))),
            float(a.get("rotation_frequency", d.rotation_frequency_hz)),
            float(a.get("upper_fov", d.upper_fov_deg)), float(a.get("lower_fov", d.lower_fov_deg)),
            float(a.get("horizontal_fov", d.horizontal_fov_deg)),
            float(a.get("atmosphere_attenuation_rate", d.atmosphere_attenuation_rate)),
            float(a.get("dropoff_general_rate", d.dropoff_general_rate)),
            float(a.get("dropoff_intensity_limit", d.dropoff_intensity_limit)),
            float(a.get("dropoff_zero_intensity", d.dropoff_zero_intensity)),
            float(a.get("noise_stddev", d.noise_stddev_m)),
        )  # fmt: skip
        for name, value, low, high in (
            ("channels", spec.channels, 1, 1024), ("upper_fov", spec.upper_fov_deg, -90.0, 90.0),
            ("lower_fov", spec.lower_fov_deg, -90.0, 90.0), ("range", spec.range_m, 0.0, math.inf),
            ("horizontal_fov", spec.horizontal_fov_deg, 0.0, 360.0),
            ("points_per_second", spec.points_per_second, 0, 20_000_000),
            ("rotation_frequency", spec.rotation_frequency_hz, 0.0, 1000.0),
        ):  # fmt: skip
            if not low <= value <= high:
                raise EmbeddedCarlaError(f"lidar attribute {name} is {value:g}; it must lie in {low:g} to {high:g}")
        # Scripts for early versions of CARLA give the range in centimetres, so it may be very large.
        return replace(spec, range_m=min(spec.range_m, FARTHEST_M))


@dataclass(frozen=True, slots=True)
class _Returns:
    """The rays that hit something: `points` (N, 3) in the sensor's frame; all other fields have N rows.

    `cos_incidence` is the cosine between the reversed ray and the surface normal, 1 if it was not requested.
    """

    points: F64
    channel: NDArray[np.int64]
    distance_m: F64
    direction: F64
    tag: NDArray[np.uint8]
    instance: NDArray[np.uint16]
    cos_incidence: F64


class LidarScanner:
    """One LiDAR; keeps its current horizontal angle. `seed` determines noise and drop-off."""

    def __init__(self, spec: LidarSpec, kind: str = RAY_CAST, seed: int = 0) -> None:
        self.spec = spec
        self.kind = kind
        self._angle_deg = 0.0
        self._rng = np.random.default_rng(seed)

    def body(
        self,
        renderer: Renderer,
        transform: Transform,
        actors: Sequence[ActorView],
        lights: Mapping[str, SignalColour],
        time_s: float,
        dt_s: float,
    ) -> bytes:
        """The message body of the rays fired in the last `dt_s` seconds, with the sensor at `transform`."""
        directions, channel = self._rays(dt_s)
        if self.kind == RAY_CAST_SEMANTIC:
            hits = cast(renderer, transform, actors, lights, time_s, directions, channel, self.spec.range_m, True)
            return self._semantic(hits, {a.instance: a.actor_id for a in actors})
        fired = self._rng.random(len(channel)) >= self.spec.dropoff_general_rate
        directions, channel = directions[fired], channel[fired]
        hits = cast(renderer, transform, actors, lights, time_s, directions, channel, self.spec.range_m)
        return self._intensities(hits)

    def _rays(self, dt_s: float) -> tuple[F64, NDArray[np.int64]]:
        """(N, 3) unit directions in the sensor's frame and their channels (N,); advances the horizontal angle."""
        s = self.spec
        per_channel = min(round(s.points_per_second * dt_s / s.channels), MOST_POINTS // s.channels)
        sweep, whole = s.rotation_frequency_hz * s.horizontal_fov_deg * dt_s, max(s.horizontal_fov_deg, 1e-9)
        steps = (self._angle_deg + sweep * np.arange(per_channel) / max(per_channel, 1)) % whole
        yaw = np.radians(steps - s.horizontal_fov_deg / 2.0)
        self._angle_deg = (self._angle_deg + sweep) % whole
        pitch = np.radians(np.linspace(s.upper_fov_deg, s.lower_fov_deg, s.channels))
        cp = np.cos(pitch)[:, None]
        rays = np.stack(np.broadcast_arrays(cp * np.cos(yaw), cp * np.sin(yaw), np.sin(pitch)[:, None]), axis=-1)
        return rays.reshape(-1, 3), np.repeat(np.arange(s.channels), per_channel)

    def _head(self, channel: NDArray[np.int64]) -> bytes:
        counts = np.bincount(channel, minlength=self.spec.channels).astype("<u4")
        return struct.pack("<fI", np.radians(self._angle_deg), self.spec.channels) + counts.tobytes()

    def _intensities(self, hits: _Returns) -> bytes:
        s, rng, n = self.spec, self._rng, len(hits.distance_m)
        intensity = np.exp(-s.atmosphere_attenuation_rate * hits.distance_m)
        slope = s.dropoff_zero_intensity / s.dropoff_intensity_limit if s.dropoff_intensity_limit > 0 else 0.0
        chance = np.where(intensity < s.dropoff_intensity_limit, s.dropoff_zero_intensity - slope * intensity, 0.0)
        kept = rng.random(n) >= chance
        shift = rng.normal(0.0, s.noise_stddev_m, n) if s.noise_stddev_m > 0 else np.zeros(n)
        points = hits.points + hits.direction * shift[:, None]
        cloud: NDArray[np.float32] = np.concatenate([points, intensity[:, None]], axis=1)[kept].astype("<f4")
        return self._head(hits.channel[kept]) + cloud.tobytes()

    def _semantic(self, hits: _Returns, actor_ids: Mapping[int, int]) -> bytes:
        cloud = np.zeros(len(hits.distance_m), dtype=[("p", "<f4", 3), ("cos", "<f4"), ("id", "<u4"), ("tag", "<u4")])
        cloud["p"], cloud["tag"] = hits.points, hits.tag
        cloud["cos"] = hits.cos_incidence
        numbers, where = np.unique(hits.instance, return_inverse=True)
        ids = np.array([actor_ids.get(number, 0) for number in numbers.tolist()], dtype=np.uint32)
        cloud["id"] = ids[where]
        return self._head(hits.channel) + cloud.tobytes()


def cast(
    renderer: Renderer, transform: Transform, actors: Sequence[ActorView], lights: Mapping[str, SignalColour],
    time_s: float, directions: F64, channel: NDArray[np.int64], range_m: float, with_incidence: bool = False,
) -> _Returns:  # fmt: skip
    """Cast rays (N, 3), unit vectors in the frame of `transform`, and return the first hits within `range_m`.

    Each ray is looked up in a depth picture. If the four surrounding pixels show the same object, inverse depth is
    interpolated, which is exact on planes. At an object's edge the nearest pixel is used, which places the edge within
    half a pixel (0.1 degree). Hits on vehicles are clamped to their bounding boxes.
    """
    faces, of_ray = _faces(directions)
    distance, cosine = np.full(len(directions), np.inf), np.ones(len(directions))
    tag, instance = np.zeros(len(directions), np.uint8), np.zeros(len(directions), np.uint16)
    rotation = transform.matrix()[:3, :3]
    boxes = VehicleBoxes(actors, np.array(transform.location))
    looks = []
    for k, (turn, half_width) in enumerate(faces):
        mine = np.flatnonzero(of_ray == k)
        if len(mine):
            looks.append((mine, *_face(transform, turn, half_width, directions[mine])))
    shots = [Shot(view, actors, depth=True, labels=True, far_m=range_m) for _, view, *_ in looks]
    pictures = renderer.render_all(shots, lights, WeatherParameters(), time_s)
    for (mine, view, forward, column, row), picture in zip(looks, pictures, strict=True):
        assert picture.depth_m is not None
        assert picture.tag is not None
        assert picture.instance is not None
        nearest_row, nearest_column = np.rint(row).astype(int), np.rint(column).astype(int)
        distance[mine] = depth_at(picture.depth_m, picture.tag, picture.instance, row, column) / forward
        in_world = directions[mine] @ rotation.T
        enter, leave = boxes.spans(picture.instance[nearest_row, nearest_column], in_world)
        beside = np.flatnonzero(enter > leave)  # rays within half a pixel outside a vehicle's outline
        if len(beside):
            at = other_pixel(picture.instance, row[beside], column[beside])
            nearest_row[beside], nearest_column[beside] = at
            distance[mine[beside]] = picture.depth_m[at] / forward[beside]
            enter[beside], leave[beside] = boxes.spans(picture.instance[at], in_world[beside])
        distance[mine] = np.where(enter > leave, np.inf, np.clip(distance[mine], enter, leave))
        tag[mine] = picture.tag[nearest_row, nearest_column]
        instance[mine] = picture.instance[nearest_row, nearest_column]
        if with_incidence:
            seen = renderer.normals(view, actors, WeatherParameters(), time_s, far_m=range_m)
            normal = seen[nearest_row, nearest_column, 2::-1] / 127.5 - 1.0
            normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-6)
            cosine[mine] = np.abs(np.sum(normal * in_world, axis=1))
    hit = (distance <= range_m) & (tag != SemanticTag.SKY)
    points = directions[hit] * distance[hit, None]
    return _Returns(points, channel[hit], distance[hit], directions[hit], tag[hit], instance[hit], cosine[hit])


def _faces(directions: F64) -> tuple[list[tuple[Transform, float]], NDArray[np.int64]]:
    """(the faces to render as (camera rotation, tangent of half the width), the face index (N,) of each ray)."""
    yaw_deg = np.degrees(np.arctan2(directions[:, 1], directions[:, 0]))
    if len(yaw_deg) and 45.0 < np.abs(yaw_deg).max() < 90.0:
        faces = [(Transform(yaw_deg=yaw), 1.0) for yaw in HALF_YAWS_DEG]
        of_ray = (yaw_deg >= 0.0).astype(np.int64)
    else:
        faces = [(Transform(yaw_deg=yaw), 1.0) for yaw in FACE_YAWS_DEG]
        of_ray = np.floor((yaw_deg + 45.0) / 90.0).astype(np.int64) % 4
    steepest = np.tan(np.radians(SIDE_TILT_DEG))
    x, y, z = np.abs(directions[:, 0]), np.abs(directions[:, 1]), directions[:, 2]
    rise = z / np.maximum(np.maximum(x, y), 1e-12)
    for way, steep in ((STEEP_FACE_DEG, rise > steepest), (-STEEP_FACE_DEG, rise < -steepest)):
        of_ray[steep] = len(faces)
        faces.append((Transform(pitch_deg=way), 1.0 / steepest))
    return faces, of_ray


def _face(transform: Transform, turn: Transform, half_width: float, rays: F64) -> tuple[CameraView, F64, F64, F64]:
    """The camera of one face, and for each ray its forward component and its column and row in pixel centres."""
    local = rays @ turn.matrix()[:3, :3]
    forward, right, up = local[:, 0], local[:, 1] / local[:, 0], local[:, 2] / local[:, 0]
    focal_px = FACE_WIDTH_PX / 2.0 / half_width
    reach = max(float(np.abs(up).max()), 0.05)
    height_px = HEIGHT_STEP_PX * int(np.ceil((2.0 * reach * focal_px + 2.0) / HEIGHT_STEP_PX))
    fov_deg = 2.0 * float(np.degrees(np.arctan(half_width)))
    view = CameraView(FACE_WIDTH_PX, height_px, fov_deg, transform @ turn)
    column = right * focal_px + FACE_WIDTH_PX / 2.0 - 0.5
    row = height_px / 2.0 - up * focal_px - 0.5
    return view, forward, np.clip(column, 0.0, FACE_WIDTH_PX - 1.0), np.clip(row, 0.0, height_px - 1.0)
