"""Which cells of the search a car beside the ego takes."""

from __future__ import annotations

import numpy as np
import pytest

from av_core.types import Float
from planning.local.lattice import CELLS, CENTRE, COLUMNS, LAYERS
from planning.local.occupancy import TIGHT, Body, EgoOnRoad, take_cells
from tests.planning.local.test_yielding import along

BODY = Body(3.8, 1.0, 1.9)
TURNS_M = np.clip(0.2 * (np.arange(CELLS) - 5.0), 0.0, 1.0)
"""The offsets of a path that leads 1 m aside in 5 m."""


def taken(shift_m: Float, ego_mps: float) -> bool:
    """Whether a car on the next lane, as fast as the ego and beside it, takes a cell of the path."""
    blocked = np.zeros((LAYERS, CELLS, COLUMNS), dtype=np.uint8)
    take_cells(blocked, EgoOnRoad(0.0, 0.0, ego_mps), shift_m, [along(3.0, ego_mps)], BODY, TIGHT)
    return bool(blocked[:2, 5:11, CENTRE].any())


@pytest.mark.parametrize("ego_mps", [3.0, 8.0, 15.0])
def test_an_ego_that_turns_towards_a_car_reaches_farther_with_its_front_corner(ego_mps: float) -> None:
    assert taken(TURNS_M, ego_mps)
    assert not taken(np.full(CELLS, float(TURNS_M.max())), ego_mps), "as far aside, but parallel"
