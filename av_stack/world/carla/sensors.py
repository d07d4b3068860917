"""The ego's sensors in CARLA: spawned with noise, read in step with the tick, converted to the stack's frames once."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

import carla
import cv2
import numpy as np

from av_core.errors import WorldError
from av_core.frames import carla_to_radar_points, compass_to_map_yaw
from av_core.types import (
    CameraImage,
    CameraModel,
    CollisionEvent,
    Float,
    GnssFix,
    Image,
    ImuSample,
    RadarModel,
    RadarSweep,
    Rig,
    SensorFrame,
    Stamp,
)
from av_stack.world.base import PictureWatch

ASK_EVERY_S = 1.0
"""Time between two checks whether a sensor without data still exists."""


class Framed(Protocol):
    """Data that name the tick they were measured in."""

    @property
    def frame(self) -> int: ...


T = TypeVar("T", bound=Framed)

RADAR = "sensor.other.radar"
RADAR_TIMEOUT_S = 5.0
"""Time after which a radar counts as silent; it begins when the data of all cameras have arrived."""

Listen = Callable[[carla.Sensor, Callable[[Any], None]], None]


@dataclass(frozen=True, slots=True)
class _Picture:
    """A camera's picture from one tick."""

    frame: int
    bgr: Image


@dataclass(frozen=True, slots=True)
class _Sweep:
    """A radar's points from one tick, as in `RadarSweep`."""

    frame: int
    points: Float


@dataclass(slots=True)
class _Watched:
    """Holds the function that receives each picture on arrival, until the sensors are stopped."""

    watch: PictureWatch | None = None


class SensorRig:
    """All sensors of one ego; `read` returns the measurements of exactly one tick.

    `rear_axle_x_m` is the x of the vehicle frame's origin in the actor's own frame. `listen(sensor, callback)` starts a
    sensor's stream.

    A sensor's callback must not hold a reference to an actor, nor to data that a sensor sent. A thread of the client
    releases the callback after the stream has ended. If that released the last reference to the client, the client's
    threads would be ended from one of them, which aborts the process.
    """

    def __init__(
        self, world: carla.World, ego: carla.Vehicle, rig: Rig, listen: Listen, *, rear_axle_x_m: float, seed: int
    ) -> None:
        self._rig = rig
        self._gnss: queue.SimpleQueue[carla.GnssMeasurement] = queue.SimpleQueue()
        self._imu: queue.SimpleQueue[carla.IMUMeasurement] = queue.SimpleQueue()
        self._collisions: queue.SimpleQueue[carla.CollisionEvent] = queue.SimpleQueue()
        self._contacts: list[carla.CollisionEvent] = []  # arrived, but not yet given
        self._pictures: dict[str, queue.SimpleQueue[_Picture]] = {c.name: queue.SimpleQueue() for c in rig.cameras}
        self._sweeps: dict[str, queue.SimpleQueue[_Sweep]] = {r.name: queue.SimpleQueue() for r in rig.radars}
        self._silent: set[str] = set()  # radars that sent nothing for the last tick
        self.actors: list[carla.Sensor] = []
        self._watched = _Watched()
        library = world.get_blueprint_library()

        def attach(kind: str, at: carla.Transform, attributes: dict[str, str], listener: Callable[[Any], None]) -> None:
            blueprint = library.find(kind)
            for name, value in attributes.items():
                blueprint.set_attribute(name, value)
            sensor = cast("carla.Sensor", world.spawn_actor(blueprint, at, attach_to=ego))
            self.actors.append(sensor)
            listen(sensor, listener)

        origin = carla.Transform(carla.Location(x=rear_axle_x_m))
        attach("sensor.other.gnss", origin, self._gnss_attributes(seed), self._gnss.put)
        attach("sensor.other.imu", origin, self._imu_attributes(seed + 1), self._imu.put)
        attach("sensor.other.collision", origin, {}, self._collisions.put)
        for camera in rig.cameras:
            at = camera_transform(camera, rear_axle_x_m)
            attach("sensor.camera.rgb", at, camera_attributes(camera), self._picture_listener(camera.name))
        for number, radar in enumerate(rig.radars):
            at = radar_transform(radar, rear_axle_x_m)
            attach(RADAR, at, radar_attributes(radar, seed + 2 + number), _sweep_listener(self._sweeps[radar.name]))

    def read(
        self,
        frame: int,
        stamp: Stamp,
        wheel_speed_mps: float,
        timeout_s: float,
        is_gone: Callable[[], bool] = lambda: False,
    ) -> SensorFrame:
        """The measurements of tick `frame`, stamped.

        WorldError names a sensor that sends no data for `timeout_s`, or until `is_gone` says that none will come. A
        radar without data for `RADAR_TIMEOUT_S` has no sweep, and is not waited for again until it has sent one: the
        drive goes on without it.
        """
        deadline = time.monotonic() + timeout_s
        gnss = take("gnss", self._gnss, frame, deadline, is_gone)
        imu = take("imu", self._imu, frame, deadline, is_gone)
        pictures = {
            name: take(f"camera {name}", each, frame, deadline, is_gone) for name, each in self._pictures.items()
        }
        sweeps = self._take_sweeps(frame, is_gone)
        return SensorFrame(
            stamp=stamp,
            cameras={c.name: CameraImage(stamp, c, pictures[c.name].bgr) for c in self._rig.cameras},
            gnss=_gnss(stamp, gnss),
            imu=_imu(stamp, imu),
            wheel_speed_mps=wheel_speed_mps,
            radars={r.name: RadarSweep(stamp, r, sweeps[r.name]) for r in self._rig.radars if r.name in sweeps},
        )

    def _take_sweeps(self, frame: int, is_gone: Callable[[], bool]) -> dict[str, Float]:
        """The points of tick `frame` of each radar that sends them."""
        points, deadline = dict[str, Float](), time.monotonic() + RADAR_TIMEOUT_S
        for name, waiting in self._sweeps.items():
            try:
                points[name] = take(name, waiting, frame, 0.0 if name in self._silent else deadline, is_gone).points
            except WorldError:
                continue
        self._silent = self._sweeps.keys() - points.keys()
        return points

    def collisions(self, first: int, before: int, stamp_of: Callable[[int], Stamp]) -> tuple[CollisionEvent, ...]:
        """Contacts of the ego in the ticks after `first` and before `before`, each once, with the stamp of its tick.

        Contacts of the tick `before` may not have arrived yet, so they are left for the next call. All earlier ones
        have arrived: the embedded server sends them before the measurements of `before`, and the client's single thread
        keeps the order. A CARLA server may send a contact later; a later call then returns it.
        """
        while not self._collisions.empty():
            self._contacts.append(self._collisions.get())
        due, self._contacts = split_contacts(self._contacts, first, before)
        return tuple(_collision(event, stamp_of(event.frame)) for event in due)

    def show_pictures(self, watch: PictureWatch) -> None:
        """Call `watch` with each picture on arrival, in a thread of the client."""
        self._watched.watch = watch

    def stop(self) -> None:
        """Close the streams and discard unread data; needs no answer from the server."""
        for sensor in self.actors:
            if sensor.is_listening():
                sensor.stop()
        self._watched.watch = None
        self._contacts.clear()
        queues: list[queue.SimpleQueue[Any]] = [self._gnss, self._imu, self._collisions, *self._pictures.values()]
        queues += self._sweeps.values()
        for waiting in queues:
            while not waiting.empty():
                waiting.get()

    def _picture_listener(self, camera: str) -> Callable[[carla.Image], None]:
        """Callback for a camera's data, which runs in a thread of the client."""
        put, watched = self._pictures[camera].put, self._watched

        def take_in(data: carla.Image) -> None:
            picture = _Picture(data.frame, _bgr(data))
            try:
                if watched.watch is not None:
                    watched.watch(camera, picture.bgr)
            finally:
                put(picture)

        return take_in

    def _gnss_attributes(self, seed: int) -> dict[str, str]:
        noise = self._rig.noise
        return {
            "noise_lat_stddev": repr(noise.gnss_deg),
            "noise_lon_stddev": repr(noise.gnss_deg),
            "noise_alt_stddev": repr(noise.gnss_altitude_m),
            "noise_seed": str(seed),
        }

    def _imu_attributes(self, seed: int) -> dict[str, str]:
        noise = self._rig.noise
        attributes = {f"noise_accel_stddev_{axis}": repr(noise.accel_mps2) for axis in "xyz"}
        attributes |= {f"noise_gyro_stddev_{axis}": repr(noise.gyro_radps) for axis in "xyz"}
        return attributes | {"noise_seed": str(seed)}


def take(
    name: str,
    waiting: queue.SimpleQueue[T],
    frame: int,
    deadline: float,
    is_gone: Callable[[], bool] = lambda: False,
) -> T:
    """The data of sensor `name` for `frame`; older data are discarded.

    Raises WorldError if the sensor sends none by `deadline` (monotonic seconds), is gone, or skips the frame.
    """
    while True:
        left_s = deadline - time.monotonic()
        try:
            data = waiting.get(timeout=max(0.001, min(left_s, ASK_EVERY_S)))
        except queue.Empty:
            if left_s > ASK_EVERY_S and not is_gone():
                continue
            raise WorldError(f"sensor {name} stays silent at frame {frame}") from None
        if data.frame == frame:
            return data
        if data.frame > frame:
            raise WorldError(f"sensor {name} skipped frame {frame}: its next data are of frame {data.frame}")


def split_contacts(contacts: Sequence[T], first: int, before: int) -> tuple[list[T], list[T]]:
    """(contacts of the ticks after `first` and before `before`, contacts of later ticks), each in order of arrival."""
    due = [contact for contact in contacts if first < contact.frame < before]
    return due, [contact for contact in contacts if contact.frame >= before]


def camera_transform(camera: CameraModel, rear_axle_x_m: float) -> carla.Transform:
    """Where a camera is in the frame of the actor that it is mounted on."""
    return carla.Transform(
        carla.Location(x=camera.x_m + rear_axle_x_m, y=-camera.y_m, z=camera.z_m),
        carla.Rotation(
            pitch=-float(np.degrees(camera.pitch_rad)),
            yaw=-float(np.degrees(camera.yaw_rad)),
            roll=float(np.degrees(camera.roll_rad)),
        ),
    )


def camera_attributes(camera: CameraModel) -> dict[str, str]:
    """Attributes of a CARLA camera blueprint for this camera."""
    return {
        "image_size_x": str(camera.width_px),
        "image_size_y": str(camera.height_px),
        "fov": repr(float(np.degrees(camera.fov_x_rad))),
    }


def radar_transform(radar: RadarModel, rear_axle_x_m: float) -> carla.Transform:
    """Where a radar is in the frame of the actor that it is mounted on."""
    return carla.Transform(
        carla.Location(x=radar.x_m + rear_axle_x_m, y=-radar.y_m, z=radar.z_m),
        carla.Rotation(yaw=-float(np.degrees(radar.yaw_rad))),
    )


def radar_attributes(radar: RadarModel, seed: int) -> dict[str, str]:
    """Attributes of a CARLA radar blueprint for this radar."""
    return {
        "horizontal_fov": repr(float(np.degrees(radar.fov_x_rad))),
        "vertical_fov": repr(float(np.degrees(radar.fov_y_rad))),
        "range": repr(radar.range_m),
        "points_per_second": str(radar.points_per_second),
        "noise_seed": str(seed),
    }


def _sweep_listener(waiting: queue.SimpleQueue[_Sweep]) -> Callable[[carla.RadarMeasurement], None]:
    """Callback for a radar's data, which runs in a thread of the client."""
    put = waiting.put

    def take_in(data: carla.RadarMeasurement) -> None:
        detections = np.frombuffer(data.raw_data, dtype=np.float32)
        put(_Sweep(data.frame, carla_to_radar_points(detections)))

    return take_in


def _bgr(data: carla.Image) -> Image:
    bgra = np.frombuffer(data.raw_data, dtype=np.uint8).reshape(data.height, data.width, 4)
    return np.asarray(cv2.cvtColor(bgra, cv2.COLOR_BGRA2BGR), dtype=np.uint8)


def _collision(event: carla.CollisionEvent, stamp: Stamp) -> CollisionEvent:
    impulse = event.normal_impulse
    return CollisionEvent(
        stamp=stamp,
        other_id=event.other_actor.id,
        other=event.other_actor.type_id,
        impulse_ns=float(np.linalg.norm((impulse.x, impulse.y, impulse.z))),
    )


def _gnss(stamp: Stamp, data: carla.GnssMeasurement) -> GnssFix:
    return GnssFix(stamp, data.latitude, data.longitude, data.altitude)


def _imu(stamp: Stamp, data: carla.IMUMeasurement) -> ImuSample:
    """Convert an IMU sample; mirroring y flips the sign of lateral accelerations and of rates about x and z."""
    accel, gyro = data.accelerometer, data.gyroscope
    return ImuSample(
        stamp=stamp,
        accel_mps2=(accel.x, -accel.y, accel.z),
        gyro_radps=(-gyro.x, gyro.y, -gyro.z),
        yaw_rad=float(compass_to_map_yaw(data.compass)),
    )
