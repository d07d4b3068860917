"""The boundary to planning: tracks that cannot be are left out and counted, and no two have one id."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from av_core.types import Stamp
from planning.prediction.predictor import Predictor
from planning.prediction.sensible import sensible_tracks
from tests.control.vehicle_model import VehicleState
from tests.planning.closed_loop import ego_state, scene_of
from tests.planning.lanes_by_hand import join, key, straight
from tests.planning.test_traffic import vehicle

CAR = vehicle(3, 40.0, 0.0, 0.0, 5.0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e12])
@pytest.mark.parametrize("name", ["x_m", "y_m", "yaw_rad", "length_m", "width_m", "velocity_mps"])
def test_a_track_with_a_number_that_cannot_be_is_left_out(name: str, value: float) -> None:
    change: dict[str, Any] = {name: (value, 0.0) if name == "velocity_mps" else value}
    odd = replace(CAR, track_id=4, **change)
    tracks = sensible_tracks([odd, CAR])
    assert tracks.items == (CAR,)
    assert tracks.rejected == 1


@pytest.mark.parametrize("size_m", [0.0, -4.0, 150.0])
def test_a_body_without_size_or_larger_than_a_train_is_none(size_m: float) -> None:
    assert sensible_tracks([replace(CAR, length_m=size_m)]).rejected == 1


def test_of_several_with_one_id_each_stays_and_gets_its_own() -> None:
    items = [replace(CAR, x_m=10.0 * number, track_id=track_id) for number, track_id in enumerate((3, 3, 7, 3))]
    tracks = sensible_tracks(items)
    assert tracks.rejected == 0
    assert [item.track_id for item in tracks.items] == [3, 8, 7, 9]
    assert [item.x_m for item in tracks.items] == [0.0, 10.0, 20.0, 30.0]


def test_the_prediction_counts_what_it_left_out() -> None:
    ego = ego_state(VehicleState(0.0, 0.0, 0.0, 5.0), Stamp(0, 0.0))
    odd = replace(CAR, track_id=4, x_m=np.nan)
    prediction = Predictor(join([straight(key(0), 0, 0, 0, 200)])).predict(scene_of(ego, (odd, CAR), {}))
    assert prediction.rejected == 1
    assert [one.item.track_id for one in prediction.objects] == [3]
