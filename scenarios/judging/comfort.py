"""Comfort of a drive: jerk, and the share of time within the bounds that Bench2Drive took from nuPlan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from av_core.types import Float
from scenarios.judging.tick import Tick

SAMPLE_S = 0.1
"""Time between two samples."""

WINDOW = 20
"""Number of samples in a window; each window is comfortable or not."""

SMOOTHING, ORDER = 7, 2
"""Window length (samples) and polynomial order of the Savitzky-Golay filter."""

_FIT = np.linalg.pinv(np.vander(np.arange(float(SMOOTHING)), ORDER + 1))
_VALUES: Float = np.vander(np.arange(float(SMOOTHING)), ORDER + 1) @ _FIT
"""(SMOOTHING, SMOOTHING) matrix: from the samples of a window to the values of the polynomial fitted to them."""

_SLOPES: Float = np.vander(np.arange(float(SMOOTHING)), ORDER) * np.arange(ORDER, 0, -1) @ _FIT[:-1] / SAMPLE_S
"""(SMOOTHING, SMOOTHING) matrix: from the samples of a window to the slopes of that polynomial, per second."""

BOUNDS = {
    "longitudinal_acceleration": (-4.05, 2.40),
    "lateral_acceleration": (-4.89, 4.89),
    "jerk": (-8.37, 8.37),
    "longitudinal_jerk": (-4.13, 4.13),
    "yaw_rate": (-0.95, 0.95),
    "yaw_acceleration": (-1.93, 1.93),
}
"""Bounds of comfort, in m, s and rad."""


@dataclass(frozen=True, slots=True)
class Comfort:
    """Comfort of a drive: its jerk, and the shares in [0, 1] of its 2 s windows that keep all bounds, and each bound.

    `efficiency_percent` is the ego's speed in percent of the traffic's speed, averaged over the quarters of the route;
    None if the ego finished no quarter.
    """

    longitudinal_jerk_max_mps3: float
    longitudinal_jerk_rms_mps3: float
    lateral_jerk_max_mps3: float
    lateral_jerk_rms_mps3: float
    comfortable_share: float
    shares: Mapping[str, float]
    efficiency_percent: float | None


class Ride:
    """Records speed and heading at 10 Hz."""

    def __init__(self) -> None:
        self._samples: list[tuple[float, float, float]] = []  # time s, speed m/s, heading rad

    def update(self, tick: Tick) -> None:
        if not self._samples or tick.time_s - self._samples[-1][0] > SAMPLE_S - 1e-6:
            self._samples.append((tick.time_s, tick.speed_mps, tick.truth.ego.yaw_rad))

    def figures(self, percent_of_traffic: tuple[float, ...]) -> Comfort | None:
        """The comfort of the ride; None for one of less than 0.7 s.

        `percent_of_traffic` holds the ego's speed in percent of the traffic's for each quarter of the route.
        """
        if len(self._samples) < SMOOTHING:
            return None
        time_s, speed_mps, yaw_rad = np.array(self._samples).T
        motion = _motion(time_s, speed_mps, yaw_rad)
        forward = slopes(motion[0])
        sideways = slopes(motion[1])
        inside = comfortable(motion)
        return Comfort(
            longitudinal_jerk_max_mps3=float(np.abs(forward).max()),
            longitudinal_jerk_rms_mps3=float(np.sqrt(np.mean(forward**2))),
            lateral_jerk_max_mps3=float(np.abs(sideways).max()),
            lateral_jerk_rms_mps3=float(np.sqrt(np.mean(sideways**2))),
            comfortable_share=float(np.mean(np.all(list(inside.values()), axis=0))),
            shares={name: float(np.mean(good)) for name, good in inside.items()},
            efficiency_percent=float(np.mean(percent_of_traffic)) if percent_of_traffic else None,
        )


def comfortable(motion: Float) -> dict[str, NDArray[np.bool_]]:
    """For each bound and window (W,), whether all samples of the window lie within it.

    `motion` (3, N) is longitudinal and lateral acceleration, m/s2, and yaw rate, rad/s, at 10 Hz. Samples after the
    last whole window do not count; a drive of less than one window is one.
    """
    size = min(WINDOW, motion.shape[1])
    windows = motion[:, : motion.shape[1] // size * size].reshape(3, -1, size)
    forward, sideways, turning = (smoothed(values) for values in windows)
    values = {
        "longitudinal_acceleration": forward,
        "lateral_acceleration": sideways,
        "jerk": slopes(smoothed(np.hypot(windows[0], windows[1]))),
        "longitudinal_jerk": slopes(forward),
        "yaw_rate": turning,
        "yaw_acceleration": slopes(turning),
    }
    return {name: np.all((BOUNDS[name][0] < v) & (v < BOUNDS[name][1]), axis=-1) for name, v in values.items()}


def _motion(time_s: Float, speed_mps: Float, yaw_rad: Float) -> Float:
    """Longitudinal and lateral acceleration at the rear axle, where a car does not slip sideways, and yaw rate."""
    yaw_rate = np.gradient(np.unwrap(yaw_rad), time_s)
    return np.stack([np.gradient(speed_mps, time_s), speed_mps * yaw_rate, yaw_rate])


def smoothed(values: Float) -> Float:
    """`values` (..., N) of at least 7 samples, smoothed along the last axis."""
    return _filtered(values, _VALUES)


def slopes(values: Float) -> Float:
    """Change of `values` (..., N) per second, smoothed as in `smoothed`."""
    return _filtered(values, _SLOPES)


def _filtered(values: Float, rows: Float) -> Float:
    """`values` (..., N) after the Savitzky-Golay filter, like `scipy.signal.savgol_filter`, whose import takes 0.6 s.

    Each value comes from a parabola fitted to the 7 samples around it. The first three values come from the parabola of
    the first 7 samples, the last three from that of the last 7.
    """
    middle = SMOOTHING // 2
    first = np.einsum("...j,ij->...i", values[..., :SMOOTHING], rows[:middle])
    inner = np.einsum("...ij,j->...i", sliding_window_view(values, SMOOTHING, axis=-1), rows[middle])
    last = np.einsum("...j,ij->...i", values[..., -SMOOTHING:], rows[middle + 1 :])
    return np.concatenate([first, inner, last], axis=-1)
