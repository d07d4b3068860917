"""Which drivers are expected to brake for an ego in their lane, and how far they then come."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from av_core.types import PredictedMode, PredictedObject
from planning.local.lattice import STEP_S
from planning.local.occupancy import TIMES_S, Body, EgoOnRoad, OnRoad
from planning.local.yielding import YIELD_MPS2, with_followers_slowing, with_yielding
from tests.planning.test_traffic import vehicle

BODY = Body(3.8, 1.0, 1.9)
OUT = EgoOnRoad(0.0, 2.0, 4.0)
"""An ego out of its lane; its front is at 3.8 m."""


def along(from_m: float, velocity_mps: float) -> OnRoad:
    """A car on the next lane with this velocity along the route."""
    zeros, s_m = np.zeros(len(TIMES_S)), from_m + velocity_mps * TIMES_S
    item = vehicle(1, from_m, 3.5, np.pi, abs(velocity_mps))
    modes = (PredictedMode(s_m, zeros + 3.5, zeros + np.pi),) if velocity_mps else ()
    return OnRoad(PredictedObject(item, modes), s_m, zeros + 3.5, zeros + 2.25, zeros + 0.95)


def expected(way: OnRoad, ego: EgoOnRoad = OUT) -> OnRoad:
    (found,) = with_yielding([way], ego, BODY)
    return found


def test_one_that_can_stop_brakes_after_a_second_and_stops_before_the_ego() -> None:
    found = expected(along(60.0, -11.0))
    assert found.s_m[2] == pytest.approx(60.0 - 11.0)
    assert float(found.s_m[-1]) == pytest.approx(60.0 - 11.0 - 11.0**2 / (2.0 * YIELD_MPS2))
    assert float(found.s_m[-1] - found.half_s_m[0]) > OUT.s_m + BODY.front_m
    assert (np.diff(found.s_m) <= 0.0).all()


@pytest.mark.parametrize("velocity_mps", [-11.0, 11.0, 0.0])
def test_others_drive_on_as_predicted(velocity_mps: float) -> None:
    """One that can no longer stop, one that drives away, and one that stands."""
    way = along(30.0, velocity_mps)
    assert expected(way) is way


def test_an_ego_still_in_its_lane_is_seen_a_second_later() -> None:
    found = expected(along(60.0, -11.0), replace(OUT, offset_m=0.5))
    assert found.s_m[4] == pytest.approx(60.0 - 22.0)


ASIDE = replace(OUT, offset_m=1.2)
"""An ego that has begun to reach into the lane beside."""


def slowed(way: OnRoad, ego: EgoOnRoad) -> OnRoad:
    (found,) = with_followers_slowing([way], ego, BODY, ego.offset_m)
    return found


def test_who_comes_from_behind_slows_down_to_a_walk_for_an_ego_that_pulls_out() -> None:
    found = slowed(along(-40.0, 11.0), ASIDE)
    speed_mps = np.diff(found.s_m) / STEP_S
    assert speed_mps[0] == pytest.approx(11.0)
    assert speed_mps[-1] == pytest.approx(ASIDE.speed_mps)
    assert np.diff(speed_mps).min() / STEP_S == pytest.approx(-2.0)


def test_it_sees_an_ego_in_its_lane_later_and_brakes_harder_for_an_impatient_one() -> None:
    way = along(-40.0, 11.0)
    out, in_lane = slowed(way, ASIDE), slowed(way, replace(ASIDE, offset_m=0.0))
    assert (in_lane.s_m >= out.s_m).all()
    assert in_lane.s_m[4] == pytest.approx(way.s_m[4])
    assert float(slowed(way, replace(ASIDE, impatience=1.0)).s_m[-1]) < float(out.s_m[-1])


@pytest.mark.parametrize("way", [along(10.0, 11.0), along(-40.0, 3.0), along(60.0, -11.0)])
def test_one_ahead_a_slower_one_and_an_oncoming_one_do_not_slow_down(way: OnRoad) -> None:
    assert slowed(way, ASIDE) is way
