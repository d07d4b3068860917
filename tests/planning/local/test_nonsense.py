"""Any tracks at all, sense or nonsense: there is always a plan, and it never drives into what stands before the ego."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.types import ObjectKind, Pose2D, Stamp, TrackedObject
from tests.control.vehicle_model import VehicleState
from tests.planning.closed_loop import CAR, ScenePlanner, ego_state, scene_of
from tests.planning.lanes_by_hand import join, key, straight

ROAD = join([straight(key(0), 0, 0, 0, 200), straight(key(0, 1), 200, 3.5, np.pi, 200)])
FRONT_M = CAR.rear_axle_to_centre_m + 0.5 * CAR.length_m

places = st.floats(-20.0, 220.0) | st.sampled_from([np.nan, np.inf, -np.inf, 1e12])
offsets = st.floats(-8.0, 8.0) | st.sampled_from([np.nan, 1e9])
speeds = st.floats(-40.0, 40.0) | st.sampled_from([0.0, np.nan, np.inf])
sizes = st.floats(0.1, 15.0)


@st.composite
def tracks(draw: st.DrawFn) -> tuple[TrackedObject, ...]:
    count = draw(st.integers(0, 6))
    return tuple(
        TrackedObject(
            number,
            draw(st.sampled_from(list(ObjectKind))),
            draw(places),
            draw(offsets),
            draw(st.floats(-4.0, 4.0)),
            (draw(speeds), draw(speeds)),
            draw(sizes),
            draw(sizes),
            1.5,
        )
        for number in range(count)
    )


@settings(max_examples=60, deadline=None)
@given(tracks(), st.floats(0.0, 20.0), st.floats(0.0, 150.0), st.floats(-1.0, 4.5))
def test_there_is_always_a_plan(objects: tuple[TrackedObject, ...], speed: float, x: float, y: float) -> None:
    planner = ScenePlanner(ROAD)
    planner.navigate(Pose2D(0, 0, 0), Pose2D(190, 0, 0))
    for frame in range(0, 200, 50):
        stamp = Stamp(frame, frame * 0.05)
        ego = ego_state(VehicleState(x, y, 0.0, speed), stamp)
        plan = planner.plan(scene_of(ego, objects, {}))
        assert np.isfinite(plan.trajectory.curve.x_m).all()
        assert np.isfinite(plan.trajectory.speed_mps).all()
        assert (plan.trajectory.speed_mps >= 0.0).all()
