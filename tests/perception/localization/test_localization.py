"""The localizer on simulated drives with the sensor noise of the CARLA Leaderboard 2."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from av_core.frames import map_to_vehicle, wrap_angle
from av_core.types import (
    EgoState,
    LaneEstimate,
    LaneGraph,
    LaneKey,
    LaneLine,
    MarkingColour,
    MarkingKind,
    Pose2D,
    Stamp,
)
from av_stack.faults.fault import parse_fault
from av_stack.faults.inject import FrameFaults
from perception.health.monitor import Response
from perception.localization.localizer import LocalizationConfig, Localizer
from tests.perception.simulated_drives import Noise, Sample, drive_lane, two_way_road

TOWN_PIECES = [(60.0, 0.0), (19.0, 1 / 12), (80.0, 0.0), (31.0, -1 / 20), (100.0, 0.0), (16.0, 1 / 10), (60.0, 0.0)]
TOWN = two_way_road(TOWN_PIECES)
START = two_way_road([(60.0, 0.0), (19.0, 1 / 12)])
FORTH = LaneKey(1, 0, -1)


def line(offset_m: float, colour: MarkingColour = MarkingColour.YELLOW, confidence: float = 0.9) -> LaneLine:
    """A straight line parallel to the car at `offset_m`."""
    return LaneLine((offset_m, 0.0, 0.0), 4.0, 25.0, MarkingKind.BROKEN, colour, confidence)


def lines_seen(pose: Pose2D, graph: LaneGraph, stamp: Stamp, rng: np.random.Generator) -> LaneEstimate:
    """The left line of the forth lane as a good detector sees it."""
    lane = graph.lanes[FORTH]
    normal = np.column_stack([-np.sin(lane.yaw_rad), np.cos(lane.yaw_rad)])
    border = map_to_vehicle(lane.points[:, :2] + normal * lane.width_m[:, None] / 2.0, pose)
    near = border[(border[:, 0] > 3.0) & (border[:, 0] < 16.0) & (np.abs(border[:, 1]) < 8.0)]
    if len(near) < 8:
        return LaneEstimate(stamp, None, None)
    coefficients = np.polynomial.polynomial.polyfit(near[:, 0], near[:, 1], 2)
    coefficients[0] += rng.normal(0.0, 0.03)
    seen = LaneLine(
        (float(coefficients[0]), float(coefficients[1]), float(coefficients[2])),
        3.0, 16.0, MarkingKind.BROKEN, MarkingColour.YELLOW, 0.9,
    )  # fmt: skip
    return LaneEstimate(stamp, seen, None)


def errors(states: list[EgoState], samples: list[Sample]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """(N, 4): along, across, yaw, speed."""
    rows = []
    for state, sample in zip(states, samples, strict=True):
        along, across = map_to_vehicle([state.x_m, state.y_m], sample.pose)
        yaw = float(wrap_angle(state.yaw_rad - sample.pose.yaw_rad))
        rows.append((along, across, yaw, state.speed_mps - sample.speed_mps))
    return np.array(rows)


def drive(graph: LaneGraph, seed: int, noise: Noise, with_lanes: bool = False) -> tuple[list[EgoState], list[Sample]]:
    rng = np.random.default_rng(seed)
    localizer = Localizer(graph)
    samples = list(drive_lane(graph.lanes[FORTH], rng, noise))
    states = []
    for sample in samples:
        lanes = lines_seen(sample.pose, graph, sample.frame.stamp, rng) if with_lanes else None
        states.append(localizer.update(sample.frame, lanes))
    return states, samples


NOISES = [Noise(), Noise(slip_s2pm=0.006, wheel_scale=-0.005), Noise(gyro_bias_radps=0.003)]


@pytest.mark.parametrize("noise", NOISES)
def test_without_lanes_the_car_is_within_a_quarter_metre(noise: Noise) -> None:
    states, samples = drive(TOWN, 0, noise)
    settled = errors(states, samples)[400:]
    along, across, yaw, speed = np.sqrt((settled**2).mean(axis=0))
    assert across < 0.15
    assert along < 0.20
    assert yaw < math.radians(0.5)
    assert speed < 0.05


@pytest.mark.parametrize("noise", NOISES)
def test_one_line_keeps_the_car_within_a_tenth(noise: Noise) -> None:
    states, samples = drive(TOWN, 1, noise, with_lanes=True)
    across = errors(states, samples)[100:, 1]
    assert float(np.sqrt((across**2).mean())) < 0.10
    assert float(np.abs(across).max()) < 0.3


def test_lanes_help_in_the_first_seconds() -> None:
    """Before GNSS has averaged out, the line already tells where the car is."""
    alone: list[np.ndarray] = []
    seen: list[np.ndarray] = []
    for seed in range(3):
        for with_lanes, found in ((False, alone), (True, seen)):
            states, samples = drive(START, seed, Noise(), with_lanes)
            found.append(errors(states, samples)[20:100, 1])
    assert np.sqrt(np.mean(np.square(seen))) < 0.7 * np.sqrt(np.mean(np.square(alone)))


def test_the_covariance_is_honest() -> None:
    """Normalised estimation error squared over independent drives (Bar-Shalom et al. 2001, ch. 5.4).

    The mean over 8 drives must not exceed its 99.9 % bound, nor may the filter be so timid that it means nothing.
    """
    pieces = [(60.0, 0.0), (19.0, 1 / 12), (80.0, 0.0)]
    road = two_way_road(pieces)
    means = []
    for seed in range(8):
        states, samples = drive(road, 100 + seed, Noise())
        late = slice(len(states) // 2, None, 50)
        values = []
        for state, sample in zip(states[late], samples[late], strict=True):
            error = np.array([state.x_m - sample.pose.x_m, state.y_m - sample.pose.y_m])
            values.append(error @ np.linalg.solve(state.covariance[:2, :2], error))
        means.append(np.mean(values))
    assert float(np.mean(means)) < chi2.ppf(0.999, 2 * 8) / 8
    assert float(np.mean(means)) > 0.4


def test_standing_still_averages_gnss() -> None:
    first = next(iter(drive_lane(TOWN.lanes[FORTH], np.random.default_rng(0), Noise())))
    localizer = Localizer(TOWN)
    rng = np.random.default_rng(5)
    for number in range(200):
        stamp = Stamp(number, number * 0.05)
        gnss = replace(
            first.frame.gnss,
            latitude_deg=1.75 / 111_275.0 + rng.normal(0.0, 5e-6),
            longitude_deg=rng.normal(0.0, 5e-6),
        )
        at_rest = replace(first.frame.imu, accel_mps2=(0.0, 0.0, 9.81))
        state = localizer.update(replace(first.frame, stamp=stamp, gnss=gnss, imu=at_rest, wheel_speed_mps=0.0))
    assert math.hypot(state.x_m, state.y_m + 1.75) < 0.15
    assert abs(state.speed_mps) < 0.02


def settled_localizer(graph: LaneGraph, y_m: float, sigma_frames: int = 60) -> tuple[Localizer, EgoState]:
    """A localizer that has stood at (50, y_m), facing east, with perfect GNSS; its estimate is exact."""
    first = next(iter(drive_lane(graph.lanes[FORTH], np.random.default_rng(0), Noise(0.0, 0.0, 0.0, 0.0, 0.0))))
    localizer = Localizer(graph)
    for number in range(sigma_frames):
        gnss = replace(first.frame.gnss, latitude_deg=-y_m * 8.98674754e-06, longitude_deg=50.0 * 8.98674754e-06)
        frame = replace(first.frame, stamp=Stamp(number, number * 0.05), gnss=gnss, wheel_speed_mps=0.0)
        state = localizer.update(frame)
    return localizer, state


def corrected(
    settled: tuple[Localizer, EgoState], left: LaneLine | None, right: LaneLine | None = None, times: int = 60
) -> float:
    """Where (y_m) seeing these lines in each frame moves the estimate while the car stands without GNSS."""
    localizer, state = settled
    first = next(iter(drive_lane(ROAD.lanes[FORTH], np.random.default_rng(0), Noise(0.0, 0.0, 0.0, 0.0, 0.0))))
    gnss = replace(first.frame.gnss, latitude_deg=math.nan, longitude_deg=math.nan)
    for number in range(state.stamp.frame + 1, state.stamp.frame + 1 + times):
        stamp = Stamp(number, number * 0.05)
        frame = replace(first.frame, stamp=stamp, gnss=gnss, wheel_speed_mps=0.0)
        state = localizer.update(frame, LaneEstimate(stamp, left, right))
    return state.y_m


ROAD = two_way_road([(200.0, 0.0)])


def test_a_line_pulls_towards_what_it_says() -> None:
    settled = settled_localizer(ROAD, -1.75)
    assert settled[1].y_m == pytest.approx(-1.75, abs=0.01)
    assert corrected(settled, line(1.85)) == pytest.approx(-1.85, abs=0.05)


@pytest.mark.parametrize(
    ("left", "why"),
    [
        (line(3.6), "no marking is near there"),
        (line(1.85, colour=MarkingColour.WHITE), "the map's line is yellow"),
        (replace(line(1.85), kind=MarkingKind.KERB), "the map has paint there, no kerb"),
        (line(1.85, confidence=0.2), "the detector does not believe in it itself"),
    ],
)
def test_a_line_that_is_not_the_maps_is_left_out(left: LaneLine, why: str) -> None:
    assert corrected(settled_localizer(ROAD, -1.75), left) == pytest.approx(-1.75, abs=0.01), why


def test_unmarked_road_takes_no_line() -> None:
    settled = settled_localizer(two_way_road([(200.0, 0.0)], middle=MarkingKind.NONE), -1.75)
    assert corrected(settled, line(1.85)) == pytest.approx(-1.75, abs=0.01)


def test_a_kerb_is_enough() -> None:
    graph = two_way_road([(200.0, 0.0)], middle=MarkingKind.NONE, side=MarkingKind.KERB)
    kerb = LaneLine((-1.65, 0.0, 0.0), 4.0, 25.0, MarkingKind.KERB, MarkingColour.UNKNOWN, 0.9)
    assert corrected(settled_localizer(graph, -1.75), None, kerb) == pytest.approx(-1.85, abs=0.05)


def test_between_two_lines_that_both_could_be_it_none_is_chosen() -> None:
    """Right after the start GNSS knows the place to half a metre: a line halfway between two is no evidence."""
    lane = ROAD.lanes[FORTH]
    narrow = replace(lane, width_m=np.full(len(lane.points), 0.8), left_colour=lane.right_colour,
                     right_marking=lane.left_marking)  # fmt: skip
    graph = LaneGraph("narrow", {FORTH: narrow}, (), ROAD.geo)
    settled = settled_localizer(graph, -1.75, sigma_frames=1)
    after = corrected(settled, line(0.05, MarkingColour.WHITE), times=1)
    assert after == pytest.approx(settled[1].y_m, abs=1e-9)


def test_height_and_slope_come_from_the_map() -> None:
    hill = two_way_road([(200.0, 0.0)], grade=0.08)
    _, state = settled_localizer(hill, -1.75)
    assert state.z_m == pytest.approx(4.0, abs=0.05)
    assert state.pitch_rad == pytest.approx(math.atan(0.08), abs=1e-6)


def test_gnss_that_jumps_for_a_moment_is_ignored_and_for_long_is_followed_by_a_standing_ego() -> None:
    localizer, state = settled_localizer(ROAD, -1.75)
    first = next(iter(drive_lane(ROAD.lanes[FORTH], np.random.default_rng(0), Noise(0.0))))
    jumped = replace(first.frame.gnss, latitude_deg=0.0, longitude_deg=150.0 * 8.98674754e-06)
    for number in range(60, 63):
        frame = replace(first.frame, stamp=Stamp(number, number * 0.05), gnss=jumped, wheel_speed_mps=0.0)
        state = localizer.update(frame)
    assert state.x_m == pytest.approx(50.0, abs=0.1)
    for number in range(63, 80):
        frame = replace(first.frame, stamp=Stamp(number, number * 0.05), gnss=jumped, wheel_speed_mps=0.0)
        state = localizer.update(frame)
    assert state.x_m == pytest.approx(150.0, abs=0.1)


@pytest.mark.parametrize(
    "text", ["gnss:noise@5s", "gnss:noise=5@5s", "gnss:jump@5s", "gnss:jump@5s-10s", "gnss:drop@5s"]
)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_driving_ego_follows_no_gnss_that_is_noisy_or_jumps(text: str, seed: int) -> None:
    """Wheels, IMU and lane lines carry the position on; also when it stops at the end, which noise must not reset."""
    samples = list(drive_lane(TOWN.lanes[FORTH], np.random.default_rng(seed), Noise()))
    faults, rng = FrameFaults([parse_fault(text)], "front", seed), np.random.default_rng(9)
    localizer = Localizer(TOWN)
    states, is_well = [], []
    for sample in samples:
        frame = faults.alter(sample.frame)
        states.append(localizer.update(frame, lines_seen(sample.pose, TOWN, frame.stamp, rng)))
        is_well.append(localizer.gnss.response is Response.DRIVE)
    assert np.abs(errors(states, samples))[:, 1].max() < 1.0
    assert np.abs(errors(states, samples))[20:, 0].max() < 1.0
    first = next(number for number, sample in enumerate(samples) if sample.frame.stamp.time_s >= 5.0)
    assert all(is_well[:first])
    assert not any(is_well[first + 5 : first + 90])
    assert is_well[-1] is (text == "gnss:jump@5s-10s")


def test_gnss_and_imu_alone_find_speed_and_place_without_a_map() -> None:
    """As in a recording of a vehicle whose bus was not recorded; the lane lines have nothing to be matched with."""
    samples = list(drive_lane(TOWN.lanes[FORTH], np.random.default_rng(2), Noise()))
    localizer = Localizer(replace(TOWN, lanes={}))
    states = []
    for sample in samples:
        lanes = LaneEstimate(sample.frame.stamp, line(1.0), line(-1.0))
        states.append(localizer.update(replace(sample.frame, wheel_speed_mps=math.nan), lanes))
    error = np.abs(errors(states, samples))[100:]
    assert error[:, :2].max() < 1.0
    assert error[:, 3].max() < 1.0
    assert {state.z_m for state in states} == {0.0}


def test_antenna_arm_is_taken_off() -> None:
    samples = list(drive_lane(TOWN.lanes[FORTH], np.random.default_rng(3), Noise(0.0, 0.0, 0.0, 0.0, 0.0)))
    localizer = Localizer(TOWN, LocalizationConfig(gnss_arm_m=(1.5, 0.5)))
    worst = 0.0
    for sample in samples[:600]:
        c, s = math.cos(sample.pose.yaw_rad), math.sin(sample.pose.yaw_rad)
        x, y = sample.pose.x_m + c * 1.5 - s * 0.5, sample.pose.y_m + s * 1.5 + c * 0.5
        gnss = replace(sample.frame.gnss, latitude_deg=-y * 8.98674754e-06, longitude_deg=x * 8.98674754e-06)
        state = localizer.update(replace(sample.frame, gnss=gnss))
        worst = max(worst, math.hypot(state.x_m - sample.pose.x_m, state.y_m - sample.pose.y_m))
    assert worst < 0.1


def test_time_must_go_on() -> None:
    localizer, _ = settled_localizer(ROAD, -1.75, sigma_frames=3)
    first = next(iter(drive_lane(ROAD.lanes[FORTH], np.random.default_rng(0), Noise())))
    with pytest.raises(ValueError, match="time went from"):
        localizer.update(first.frame)


ANY = st.floats(allow_nan=True, allow_infinity=True)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(ANY, ANY, ANY, ANY, ANY, ANY), min_size=1, max_size=8))
def test_broken_sensors_leave_the_estimate_finite(readings: list[tuple[float, ...]]) -> None:
    localizer, _ = settled_localizer(ROAD, -1.75, sigma_frames=2)
    first = next(iter(drive_lane(ROAD.lanes[FORTH], np.random.default_rng(0), Noise())))
    for number, (lat, lon, accel, gyro, yaw, wheel) in enumerate(readings, start=2):
        stamp = Stamp(number, number * 0.05)
        frame = replace(
            first.frame,
            stamp=stamp,
            gnss=replace(first.frame.gnss, latitude_deg=lat, longitude_deg=lon),
            imu=replace(first.frame.imu, accel_mps2=(accel, 0.0, 9.8), gyro_radps=(0.0, 0.0, gyro), yaw_rad=yaw),
            wheel_speed_mps=wheel,
        )
        state = localizer.update(frame, LaneEstimate(stamp, line(lat), line(lon)))
        assert np.isfinite([state.x_m, state.y_m, state.yaw_rad, state.speed_mps, state.yaw_rate_radps]).all()
        assert np.isfinite(state.covariance).all()


def test_same_inputs_same_estimate() -> None:
    one, _ = drive(START, 7, Noise(), with_lanes=True)
    two, _ = drive(START, 7, Noise(), with_lanes=True)
    assert [(s.x_m, s.y_m, s.yaw_rad) for s in one] == [(s.x_m, s.y_m, s.yaw_rad) for s in two]
