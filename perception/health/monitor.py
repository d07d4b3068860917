"""Camera health monitor: detects black, frozen, torn, noisy, overexposed, covered, late and missing pictures.

All checks judge one picture and its difference to the last one, most of them on a small grey copy, so a fault is
detected in the first or second picture that has it; only a covered lens takes a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import cv2
import numpy as np
from numpy.typing import NDArray

from av_core.types import CameraImage, CameraModel, Image
from perception.health.confidence import UNWELL_BELOW, ConfidenceFilter
from perception.health.covered import CoverDetector
from perception.health.moved_blocks import is_moved_to_edge
from perception.health.tear_detection import RowCorrelations, has_tear, is_in_place, row_correlations

Float32 = NDArray[np.float32]

SMALL_PX = (160, 90)
BLACK_BRIGHT, BLACK_SPREAD = 10.0, 2.5
"""Maximum 99th percentile (grey levels) and standard deviation of a black picture. A night picture's percentile is
higher, and its lamps raise the deviation."""

WHITE_LEVEL, WHITE_SHARE = 250, 0.45
"""Grey level of an overexposed pixel, and the fraction of such pixels above which a picture is overexposed."""

NOISE_MAX = 14.0
"""Maximum standard deviation of pixel noise, grey levels; a camera by night has a few."""

NOISE_MASK = np.array([1.0, -2.0, 1.0])

BANDS, BAND_SPREAD_MIN = 6, 3.0
"""Number of horizontal bands checked for a shift, and the minimum texture (standard deviation) of a band."""

SHIFT_SHARE, RESPONSE_MIN = 0.0625, 0.35
"""Sideways shift, as a fraction of the width, and correlation response that mark a band of a torn picture. Not even a
car that turns on the spot shifts its picture so far in a twentieth of a second with bands still alike: none did in 1700
pictures of a town drive; nine in ten torn ones do."""

SHIFT_FOV_RAD = np.radians(60.0)
"""Angle of view for which `SHIFT_SHARE` holds: in a narrower camera the same turn is a larger fraction."""

SIDEWAYS_MIN_RAD = np.radians(45.0)
"""Minimum yaw of a sideways camera: vehicles passing close to it fill the picture and cross it at any speed, so bands
that shift are no sign of a tear."""

PERIOD_S = 0.05
"""Time between two pictures for which `SHIFT_SHARE` holds, s."""

STALE_SPEED_MPS, STALE_SHARE = 1.0, 0.2
"""Minimum speed for the stale-rows check, m/s, and the minimum fraction of identical rows at the bottom."""

FROZEN_SPEED_MPS, FROZEN_CHANGED = 0.5, 1e-6
"""Minimum speed for the frozen-picture check, m/s, and the maximum grey-level difference of equal pixels."""

LATE_S = 0.12
"""Age of a picture, s, from which it is late: two ticks of 0.05 s and some."""

STOP_AFTER_S = 1.0
"""Unhealthy time after which the car makes a safe stop, s."""


class Fault(str, Enum):
    MISSING = "missing"
    BLACK = "black"
    OVEREXPOSED = "overexposed"
    FROZEN = "frozen"
    TORN = "torn"
    NOISY = "noisy"
    COVERED = "covered"
    LATE = "late"
    IMPLAUSIBLE = "implausible"


PICTURE_FAULTS = tuple(fault for fault in Fault if fault not in (Fault.COVERED, Fault.LATE, Fault.IMPLAUSIBLE))
"""The faults that are found in two consecutive pictures, or by a missing picture."""


class Response(str, Enum):
    """Reaction of the drive to the camera's health."""

    DRIVE = "drive"
    SLOW = "slow down"
    STOP = "safe stop"


@dataclass(frozen=True, slots=True)
class Health:
    """State of one sensor: its `faults`, a `confidence` in [0, 1] and for how long it has been unhealthy."""

    faults: tuple[Fault, ...]
    confidence: float
    unwell_s: float

    @property
    def response(self) -> Response:
        """The drive's response to this health."""
        if self.unwell_s >= STOP_AFTER_S:
            return Response.STOP
        return Response.SLOW if self.confidence < UNWELL_BELOW else Response.DRIVE

    def __str__(self) -> str:
        return ", ".join(fault.value for fault in self.faults) or ("well" if self.confidence == 1.0 else "recovering")


WELL = Health((), 1.0, 0.0)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture at `time_s` in the forms that the checks compare: `grey` (H, W), its `small` copy, and its rows."""

    time_s: float
    grey: Image
    small: Float32
    correlations: RowCorrelations


class HealthMonitor:
    """Monitors one camera; call `update` once per tick with its picture, or None where it sent none."""

    def __init__(self) -> None:
        self._last: Float32 | None = None
        self._is_frozen = False
        self._whole: Picture | None = None
        self._confidence = ConfidenceFilter()
        self._cover = CoverDetector()

    def update(self, image: CameraImage | None, time_s: float, speed_mps: float) -> Health:
        """Health after this picture.

        The second faulty picture in a row makes the camera unhealthy, which slows the car.
        """
        if image is None or image.bgr.size == 0:
            faults: tuple[Fault, ...] = (Fault.MISSING,)
        else:
            grey = np.asarray(cv2.cvtColor(image.bgr, cv2.COLOR_BGR2GRAY), dtype=np.uint8)
            now = Picture(time_s, grey, _small(grey), row_correlations(grey))
            small, far = now.small, shift_share(image.camera)
            faults = find_faults(now, self._last, self._whole, speed_mps, far)
            if time_s - image.stamp.time_s > LATE_S:
                faults = (*faults, Fault.LATE)
            # A car that stopped for a frozen camera still has one until its picture changes.
            if self._is_frozen and Fault.FROZEN not in faults and is_same(small, self._last):
                faults = (*faults, Fault.FROZEN)
            self._is_frozen = Fault.FROZEN in faults
            if self._cover.update(small, time_s, speed_mps) and Fault.FROZEN not in faults:
                faults = (*faults, Fault.COVERED)
            self._last = small
            if Fault.TORN not in faults:
                self._whole = now
        self._confidence.update(bool(faults), time_s)
        return Health(faults, self._confidence.confidence, self._confidence.unwell_s)


def find_faults(
    now: Picture, last: Float32 | None, whole: Picture | None, speed_mps: float, far_share: float = SHIFT_SHARE
) -> tuple[Fault, ...]:
    """Faults of the picture `now`, compared with earlier pictures.

    `last` is the small copy of the picture before, `whole` the last picture that was not torn; `far_share` is from
    `shift_share`.
    """
    checks = {
        Fault.BLACK: is_black(now.small),
        Fault.OVEREXPOSED: float(np.mean(now.small >= WHITE_LEVEL)) > WHITE_SHARE,
        Fault.FROZEN: abs(speed_mps) > FROZEN_SPEED_MPS and is_same(now.small, last),
        Fault.TORN: whole is not None and is_torn(now, whole, speed_mps, far_share),
        Fault.NOISY: noise_level(now.grey) > NOISE_MAX,
    }
    return tuple(fault for fault, found in checks.items() if found)


def is_black(grey: Float32) -> bool:
    """Whether nothing in the picture is bright, or it is one flat grey."""
    return bool(np.percentile(grey, 99) < BLACK_BRIGHT or float(grey.std()) < BLACK_SPREAD)


def is_same(grey: Float32, last: Float32 | None) -> bool:
    """Whether two pictures are identical; those of a moving car differ at least by their noise."""
    if last is None or last.shape != grey.shape:
        return False
    return float(np.abs(grey - last).max()) <= FROZEN_CHANGED


def shift_share(camera: CameraModel) -> float:
    """Fraction of its width by which no intact picture of `camera` shifts sideways in `PERIOD_S`.

    Infinite for a sideways camera, where a shift tells nothing.
    """
    if abs(math.sin(camera.yaw_rad)) >= math.sin(SIDEWAYS_MIN_RAD):
        return math.inf
    return SHIFT_SHARE * max(float(SHIFT_FOV_RAD) / camera.fov_x_rad, 1.0)


def is_torn(now: Picture, whole: Picture, speed_mps: float, far_share: float = SHIFT_SHARE) -> bool:
    """Whether a part of the picture does not belong to the rest: a stale lower part, or a part shifted sideways.

    `whole` is an earlier picture that is not torn. Between two pictures a scene shifts little sideways; the limit grows
    with the time between them. A band is out of place if it correlates well with the earlier picture only at a larger
    shift (phase correlation: Kuglin and Hines, 1975), and the picture is torn if all rows between the band and an edge
    moved with it. The lower part is stale if it equals the earlier picture's: the road right ahead of a moving car
    never looks the same twice. Bands without texture cannot be judged and are skipped.
    """
    if now.grey.shape != whole.grey.shape:
        return False
    height, width = now.small.shape
    is_judged = height >= 4 * BANDS and width >= 16
    return is_judged and (
        _has_stale_foot(now.small, whole.small, speed_mps)
        or _is_shifted(now, whole, far_share)
        or has_tear(now.correlations, whole.correlations, far_share)
    )


def _has_stale_foot(grey: Float32, last: Float32, speed_mps: float) -> bool:
    same = np.abs(grey - last).max(axis=1) <= FROZEN_CHANGED
    stale = int(np.argmin(same[::-1])) if not same.all() else 0
    return abs(speed_mps) > STALE_SPEED_MPS and stale >= STALE_SHARE * len(grey)


def _is_shifted(now: Picture, whole: Picture, far_share: float) -> bool:
    height, width = now.small.shape
    high = height // BANDS
    window = cv2.createHanningWindow((width, high), cv2.CV_32F)
    far = far_share * width * max((now.time_s - whole.time_s) / PERIOD_S, 1.0)
    for top in range(0, BANDS * high, high):
        # phaseCorrelate writes to its input
        before, band = (picture.small[top : top + high].copy() for picture in (whole, now))
        if min(float(before.std()), float(band.std())) < BAND_SPREAD_MIN:
            continue
        (shift, _), response = cv2.phaseCorrelate(before, band, window)
        is_moved = abs(shift) > far and response > RESPONSE_MIN
        # puddles that reflect the sky and flow towards the car mislead phase correlation
        if (
            is_moved
            and not is_in_place(now.small, whole.small, top, top + high, far / width)
            and is_moved_to_edge(now.grey, whole.grey, shift / width)
        ):
            return True
    return False


def noise_level(grey: Image) -> float:
    """Standard deviation of pixel noise, grey levels.

    The filter mask ignores flat areas and straight edges (Immerkaer, "Fast noise variance estimation", CVIU 64 (2),
    1996); the median of its response ignores texture.
    """
    rows = grey[::2] if grey.shape[0] > 16 else grey
    if min(rows.shape) < 3:
        return 0.0
    answer = np.asarray(cv2.sepFilter2D(rows, cv2.CV_16S, NOISE_MASK, NOISE_MASK), dtype=np.int16)
    size = np.abs(answer[1:-1:2, 1:-1:2]).ravel()
    return median_of_counts(np.bincount(size)) / (0.6745 * 6.0)


def median_of_counts(counts: NDArray[np.intp]) -> float:
    """The median of whole numbers; `counts` (N,) says how often each number from 0 to N - 1 occurs."""
    up_to = np.cumsum(counts)
    middle = (up_to[-1] - 1) // 2, up_to[-1] // 2
    return float(np.searchsorted(up_to, middle, side="right").mean())


def _small(grey: Image) -> Float32:
    height, width = grey.shape
    size = (min(SMALL_PX[0], width), min(SMALL_PX[1], height))
    return np.asarray(cv2.resize(grey, size, interpolation=cv2.INTER_AREA), dtype=np.float32)
