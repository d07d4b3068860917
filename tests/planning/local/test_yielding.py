"""Which oncoming vehicles are expected to brake for an ego in their lane, and how far they then come."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from av_core.types import PredictedMode, PredictedObject
from planning.local.occupancy import TIMES_S, Body, EgoOnRoad, OnRoad
from planning.local.yielding import YIELD_MPS2, with_yielding
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
