"""What counts as a stop at a red light."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from av_core.types import LightState, ObjectKind, TrackedObject
from scenarios.judging.encounters import Encounters
from scenarios.judging.geometry import StopLines
from tests.scenarios.judged_drives import STEP_S, tick_of

LINE = StopLines(("7",), np.array([[30.0, 0.0]]), np.array([0.0]), np.array([1.75]))


def car(x_m: float, speed_mps: float) -> TrackedObject:
    return TrackedObject(57, ObjectKind.CAR, x_m, 0.0, 0.0, (speed_mps, 0.0), 4.5, 1.9, 1.5)


def stops_at_red(*stretches: tuple[float, float, LightState, Sequence[TrackedObject]]) -> int:
    """Stops over stretches of (seconds, ego speed, state of the light 30 m ahead, other road users)."""
    encounters = Encounters(LINE)
    for seconds, speed_mps, state, objects in stretches:
        for _ in range(round(seconds / STEP_S)):
            encounters.update(tick_of(speed_mps=speed_mps, objects=objects, lights={"7": state}))
    return encounters.stops_at_red


def test_a_stand_behind_a_parked_car_is_no_stop_at_red() -> None:
    """However often the light behind the parked car changes."""
    parked = [car(12.0, 0.0)]
    cycle = [(15.0, 0.0, LightState.RED, parked), (10.0, 0.0, LightState.GREEN, parked)]
    assert stops_at_red((2.0, 5.0, LightState.RED, parked), *3 * cycle) == 0


def test_a_car_parked_right_before_the_line_is_no_queue() -> None:
    assert stops_at_red((15.0, 0.0, LightState.RED, [car(31.0, 0.0)])) == 0


def test_the_first_at_the_line_stops_once_however_often_the_light_changes() -> None:
    stand = [(15.0, 0.0, LightState.RED, ()), (3.0, 0.0, LightState.GREEN, ())]
    assert stops_at_red(*2 * stand) == 1
    assert stops_at_red(*stand, (2.0, 5.0, LightState.GREEN, ()), *stand) == 2


def test_a_queue_counts_when_the_vehicle_ahead_has_moved_on() -> None:
    queued, leaving = [car(12.0, 0.0)], [car(13.0, 2.0)]
    waiting = (15.0, 0.0, LightState.RED, queued)
    assert stops_at_red(waiting) == 0
    assert stops_at_red(waiting, (0.5, 0.0, LightState.GREEN, leaving), (2.0, 3.0, LightState.GREEN, leaving)) == 1
