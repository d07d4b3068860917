"""Injects faults into sensor frames and commands."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

import cv2
import numpy as np

from av_core.frames import map_to_geodetic
from av_core.types import CameraImage, ControlCommand, GeoReference, Image, SensorFrame
from av_stack.faults.fault import (
    CAMERA_BLACK,
    CAMERA_DELAY,
    CAMERA_DROP,
    CAMERA_FREEZE,
    CAMERA_NOISE,
    CAMERA_OCCLUSION,
    CONTROL_DELAY,
    GNSS_DROP,
    GNSS_JUMP,
    GNSS_NOISE,
    IMU_BIAS,
    RADAR_OFF,
    Fault,
    FaultKind,
)

DIRT_BGR = (28, 36, 44)
DIRT_CELLS = (5, 9)
"""Colour of dirt on a lens; rows and columns of the random field that shapes it."""

EARLY_S = 1e-6
"""Tolerance of times that are sums of steps, s."""

_Effect = Callable[[Fault, SensorFrame], SensorFrame]


class FrameFaults:
    """Alters the frames of one drive with `faults`; call `alter` with every frame in order.

    Faults of the camera affect `camera`. The same seed gives the same frames. Faults of the control and the server
    leave frames alone.
    """

    def __init__(self, faults: Sequence[Fault], camera: str, seed: int) -> None:
        self._faults, self._camera, self._seed = tuple(faults), camera, seed
        self._sent: CameraImage | None = None
        late = [fault.strength for fault in faults if fault.kind is CAMERA_DELAY]
        self._keep_s = max(late, default=0.0)
        self._taken: deque[CameraImage] = deque()
        self._effects: dict[FaultKind, _Effect] = {
            CAMERA_FREEZE: self._freeze,
            CAMERA_DROP: self._drop,
            CAMERA_BLACK: lambda _, frame: self._redraw(frame, np.zeros_like),
            CAMERA_NOISE: self._add_noise,
            CAMERA_DELAY: self._delay,
            CAMERA_OCCLUSION: self._cover,
            GNSS_DROP: lambda _, frame: _move_fix(frame, np.nan, np.nan),
            GNSS_NOISE: self._scatter_fix,
            GNSS_JUMP: self._displace_fix,
            IMU_BIAS: _bias_gyro,
            RADAR_OFF: lambda _, frame: replace(frame, radars={}),
        }

    def alter(self, frame: SensorFrame) -> SensorFrame:
        """The frame as the faulty sensors deliver it."""
        self._remember(frame)
        for fault in self._faults:
            if fault.kind in self._effects and fault.is_on(frame.stamp.time_s + EARLY_S):
                frame = self._effects[fault.kind](fault, frame)
        self._sent = frame.cameras.get(self._camera, self._sent)
        return frame

    def _remember(self, frame: SensorFrame) -> None:
        """Keep the pictures that a delay will need."""
        if not self._keep_s or self._camera not in frame.cameras:
            return
        self._taken.append(frame.cameras[self._camera])
        while len(self._taken) > 1 and self._taken[1].stamp.time_s <= frame.stamp.time_s - self._keep_s + EARLY_S:
            self._taken.popleft()

    def _rng(self, fault: Fault, frame: SensorFrame | None = None) -> np.random.Generator:
        """Random numbers of this fault, and of this frame if one is given."""
        number = 0 if frame is None else frame.stamp.frame + 1
        return np.random.default_rng((self._seed, self._faults.index(fault), max(number, 0)))

    def _redraw(self, frame: SensorFrame, change: Callable[[Image], Image]) -> SensorFrame:
        image = frame.cameras.get(self._camera)
        return frame if image is None else self._show(frame, replace(image, bgr=change(image.bgr)))

    def _show(self, frame: SensorFrame, image: CameraImage) -> SensorFrame:
        return replace(frame, cameras={**frame.cameras, self._camera: image})

    def _freeze(self, _: Fault, frame: SensorFrame) -> SensorFrame:
        """A frozen camera sends on time; only the content is old."""
        sent = self._sent
        return frame if sent is None else self._redraw(frame, lambda _: sent.bgr.copy())

    def _drop(self, _: Fault, frame: SensorFrame) -> SensorFrame:
        return replace(frame, cameras={name: one for name, one in frame.cameras.items() if name != self._camera})

    def _add_noise(self, fault: Fault, frame: SensorFrame) -> SensorFrame:
        def add(bgr: Image) -> Image:
            noise = self._rng(fault, frame).normal(0.0, fault.strength, bgr.shape)
            return np.clip(bgr + noise, 0.0, 255.0).astype(np.uint8)

        return self._redraw(frame, add)

    def _delay(self, fault: Fault, frame: SensorFrame) -> SensorFrame:
        """A late picture keeps the stamp of when it was taken; before the first one arrives there is none."""
        arrived = [one for one in self._taken if one.stamp.time_s <= frame.stamp.time_s - fault.strength + EARLY_S]
        return self._show(frame, arrived[-1]) if arrived else self._drop(fault, frame)

    def _cover(self, fault: Fault, frame: SensorFrame) -> SensorFrame:
        """Dirt stays where it is, and lets no light through."""

        def cover(bgr: Image) -> Image:
            field = self._rng(fault).random(DIRT_CELLS)
            height, width = bgr.shape[:2]
            spread = cv2.resize(field, (width, height), interpolation=cv2.INTER_CUBIC)
            dirty = spread <= np.percentile(spread, fault.strength)
            covered = bgr.copy()
            covered[dirty] = DIRT_BGR
            return covered

        return self._redraw(frame, cover)

    def _scatter_fix(self, fault: Fault, frame: SensorFrame) -> SensorFrame:
        x_m, y_m = self._rng(fault, frame).normal(0.0, fault.strength, 2)
        return _move_fix(frame, float(x_m), float(y_m))

    def _displace_fix(self, fault: Fault, frame: SensorFrame) -> SensorFrame:
        """The direction is random, but the same in every frame."""
        bearing_rad = self._rng(fault).uniform(0.0, 2.0 * np.pi)
        return _move_fix(
            frame, fault.strength * float(np.cos(bearing_rad)), fault.strength * float(np.sin(bearing_rad))
        )


class CommandDelay:
    """Delays the commands of one drive with those `faults` that delay the control."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._faults = tuple(fault for fault in faults if fault.kind is CONTROL_DELAY)
        self._waiting: deque[tuple[float, ControlCommand]] = deque()

    def due(self, command: ControlCommand, time_s: float) -> ControlCommand | None:
        """The command to apply now, when the stack gives `command` at `time_s`; None to keep the last one."""
        delay_s = max((fault.strength for fault in self._faults if fault.is_on(time_s + EARLY_S)), default=0.0)
        if not delay_s:
            self._waiting.clear()
            return command
        self._waiting.append((time_s + delay_s, command))
        arrived = None
        while self._waiting and self._waiting[0][0] <= time_s + EARLY_S:
            _, arrived = self._waiting.popleft()
        return arrived


def _move_fix(frame: SensorFrame, x_m: float, y_m: float) -> SensorFrame:
    """The frame with its GNSS fix displaced in the map frame, m; with a fix of NaN if a distance is NaN."""
    fix = frame.gnss
    here = GeoReference(fix.latitude_deg, fix.longitude_deg)
    latitude, longitude = map_to_geodetic((x_m, y_m), here)
    return replace(frame, gnss=replace(fix, latitude_deg=float(latitude), longitude_deg=float(longitude)))


def _bias_gyro(fault: Fault, frame: SensorFrame) -> SensorFrame:
    roll, pitch, yaw = frame.imu.gyro_radps
    return replace(frame, imu=replace(frame.imu, gyro_radps=(roll, pitch, yaw + fault.strength)))
