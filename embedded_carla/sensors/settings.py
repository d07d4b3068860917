"""Settings of the sensors that the renderer serves, read from their attributes and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from embedded_carla.errors import CommandError
from embedded_carla.sensors import cameras, lidar, radar
from embedded_carla.sensors.development import Development
from embedded_carla.sensors.lens import Lens
from embedded_carla.wire.codec import ActorDescription

LIDARS = (lidar.RAY_CAST, lidar.RAY_CAST_SEMANTIC)
LARGEST_PX = 8192
MOST_PX = 7680 * 4320  # 8K: 133 MB for each picture
WIDEST_DEG = 179.0


class SensorAttributes(Protocol):
    """A sensor's type and attributes; the world's actors have them."""

    @property
    def type_id(self) -> str: ...

    @property
    def description(self) -> ActorDescription: ...

    def number(self, name: str, default: float) -> float:
        """Numeric attribute `name`, or `default` if it is missing or not a number."""


@dataclass(frozen=True, slots=True)
class CameraSettings:
    """A camera's settings, read from its attributes; they never change."""

    width_px: int
    height_px: int
    fov_deg: float
    lens: Lens
    development: Development
    blur: tuple[float, float]

    @staticmethod
    def of(sensor: SensorAttributes) -> CameraSettings:
        """Read a camera's attributes. Raises CommandError naming an attribute out of bounds."""
        width, height = int(sensor.number("image_size_x", 800)), int(sensor.number("image_size_y", 600))
        fov_deg = sensor.number("fov", 90.0)
        for name, value, low, high in (
            ("image_size_x", width, 1, LARGEST_PX), ("image_size_y", height, 1, LARGEST_PX),
            ("fov", fov_deg, 0.1, WIDEST_DEG),
        ):  # fmt: skip
            if not low <= value <= high:
                raise CommandError(f"{sensor.type_id}: {name} is {value:g}; it must lie in {low:g} to {high:g}")
        if width * height > MOST_PX:
            raise CommandError(f"{sensor.type_id}: {width} x {height} pixels; at most {MOST_PX} are possible")
        effects = is_on(sensor, "enable_postprocess_effects", "true")
        manual = sensor.description.value("exposure_mode", "histogram") == "manual"
        intensity = min(max(sensor.number("motion_blur_intensity", 0.0), 0.0), 1.0) if effects else 0.0
        return CameraSettings(
            width, height, fov_deg, Lens.of(sensor.number), Development.of(sensor.number, manual, effects),
            (intensity, sensor.number("motion_blur_max_distortion", 0.35)),
        )  # fmt: skip


def check_attributes(sensor: SensorAttributes) -> None:
    """Raise EmbeddedCarlaError naming an attribute with which `sensor` cannot measure."""
    if sensor.type_id in cameras.KINDS:
        CameraSettings.of(sensor)
    elif sensor.type_id in LIDARS:
        lidar_spec(sensor)
    elif sensor.type_id == radar.RADAR:
        radar.RadarSpec.of(sensor.number)


def lidar_spec(sensor: SensorAttributes) -> lidar.LidarSpec:
    """The settings of a LiDAR. Raises EmbeddedCarlaError naming an attribute out of bounds."""
    return lidar.LidarSpec.from_attributes({name: value for name, _, value in sensor.description.attributes})


def is_on(sensor: SensorAttributes, name: str, default: str) -> bool:
    """Whether the attribute `name` is "true", in any case of letters."""
    return sensor.description.value(name, default).lower() == "true"
