"""The search in space and time, on roads of cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planning.local.lattice import (
    CELLS,
    CENTRE,
    COLUMN_M,
    COLUMNS,
    LAYERS,
    ONCOMING_LANE,
    OWN_LANE,
    RUNS_MAX,
    LatticePath,
    RoadCells,
    SearchMemory,
    search,
)

TOP_MPS = 12.0
WHOLE_ROAD = slice(0, COLUMNS)
OWN_SIDE = slice(0, CENTRE + 4)
MEMORY = SearchMemory()


@pytest.fixture
def memory() -> SearchMemory:
    return MEMORY


def zone(*, two_lanes: bool) -> np.ndarray:
    cells = np.zeros((CELLS, COLUMNS), dtype=np.uint8)
    cells[:, CENTRE - 1 : CENTRE + 2] = OWN_LANE
    if two_lanes:
        cells[:, CENTRE + 2 : CENTRE + 8] = ONCOMING_LANE
    return cells


def road(blocked: np.ndarray, *, two_lanes: bool = True, stop_m: float = 1e9) -> RoadCells:
    zeros = np.zeros(CELLS)
    return RoadCells(blocked, zone(two_lanes=two_lanes), np.full(CELLS, TOP_MPS), zeros, zeros, stop_m, 1e9)


def empty() -> np.ndarray:
    return np.zeros((LAYERS, CELLS, COLUMNS), dtype=np.uint8)


def standing(from_m: int, to_m: int, columns: slice) -> np.ndarray:
    blocked = empty()
    blocked[:, from_m:to_m, columns] = 1
    return blocked


def cells_driven(path: LatticePath) -> list[tuple[int, int, int]]:
    """(layer, cell, column) at the beginning and end of each step."""
    columns = np.rint(path.offset_m / COLUMN_M).astype(int) + CENTRE
    cells = np.minimum(path.along_m.astype(int), CELLS - 1)
    return [
        (layer, int(cells[row]), int(columns[row]))
        for layer in range(len(path.time_s) - 1)
        for row in (layer, layer + 1)
    ]


def test_a_free_road_is_driven_straight_on(memory: SearchMemory) -> None:
    path = search(road(empty()), CENTRE, 8.0, memory)
    assert path.is_complete
    assert not path.offset_m.any()
    assert path.speed_mps[5:].min() >= TOP_MPS - 1.0
    assert path.nodes < 2000


def test_a_brisk_ego_gains_four_mps2_in_its_start_after_the_first_step(memory: SearchMemory) -> None:
    slow = search(road(empty()), CENTRE, 0.0, memory)
    brisk = search(road(empty()), CENTRE, 0.0, memory, is_brisk=True)
    assert slow.speed_mps[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert brisk.speed_mps[:7].tolist() == [0, 1, 3, 5, 7, 9, 10]


def test_what_stands_in_the_lane_is_passed_on_the_other_side(memory: SearchMemory) -> None:
    path = search(road(standing(30, 45, OWN_SIDE)), CENTRE, 8.0, memory)
    assert path.is_complete
    beside = (path.along_m >= 30) & (path.along_m < 45)
    assert path.offset_m[beside].min() >= 2.0
    assert path.offset_m[path.along_m > 80].max(initial=0.0) == 0.0


def test_without_a_second_lane_it_waits(memory: SearchMemory) -> None:
    path = search(road(standing(30, 45, OWN_SIDE), two_lanes=False), CENTRE, 8.0, memory)
    assert path.is_complete
    assert path.along_m.max() < 30.0


def test_it_waits_for_oncoming_traffic_and_passes_after_it(memory: SearchMemory) -> None:
    blocked = standing(12, 27, OWN_SIDE)
    gone = LAYERS // 2
    for layer in range(gone):
        blocked[layer, max(0, 60 - 6 * layer) : 70 - 6 * layer + 10, CENTRE + 2 :] = 1
    path = search(road(blocked), CENTRE, 0.0, memory)
    assert path.is_complete
    assert path.along_m[gone] < 12.0
    passes = path.offset_m > 1.0
    assert not passes[: gone - 4].any()


def test_it_stays_before_its_stop(memory: SearchMemory) -> None:
    path = search(road(empty(), stop_m=40.0), CENTRE, 8.0, memory)
    assert path.is_complete
    assert path.along_m.max() <= 40.0


def test_every_search_of_a_long_drive_begins_anew(memory: SearchMemory) -> None:
    """Also those after the memory's numbers have all been used."""
    roads = [road(standing(30, 45, OWN_SIDE)), road(empty())]
    first = [search(one, CENTRE, 8.0, SearchMemory()) for one in roads]
    for n in range(2 * RUNS_MAX + 2):
        found, expected = search(roads[n % 2], CENTRE, 8.0, memory), first[n % 2]
        assert (found.cost, found.nodes, found.offset_m.tobytes()) == (
            expected.cost, expected.nodes, expected.offset_m.tobytes(),
        )  # fmt: skip


def test_no_way_at_all_is_told(memory: SearchMemory) -> None:
    path = search(road(standing(0, CELLS, WHOLE_ROAD)), CENTRE, 8.0, memory)
    assert not path.is_complete
    assert path.along_m.tolist() == [0.0]


boxes = st.tuples(
    st.integers(2, CELLS - 20),
    st.integers(1, 20),
    st.integers(0, COLUMNS - 1),
    st.integers(1, COLUMNS),
    st.integers(-8, 8),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(boxes, max_size=8), st.integers(0, 15), st.booleans())
def test_no_way_leads_through_anything(found: list[tuple[int, ...]], speed: int, two_lanes: bool) -> None:
    blocked = empty()
    for start, length, column, width, moves in found:
        for layer in range(LAYERS):
            low = start + moves * layer
            blocked[layer, max(low, 2) : max(low + length, 2), column : column + width] = 1
    cells = road(blocked, two_lanes=two_lanes)
    path = search(cells, CENTRE, float(speed), MEMORY)
    for layer, cell, column in cells_driven(path):
        assert not blocked[layer, cell, column]
        assert cells.zone[cell, column]
    assert (np.diff(path.along_m) >= 0.0).all()
    columns = np.abs(np.diff(path.offset_m)) / COLUMN_M
    assert (columns <= np.where(path.speed_mps[:-1] <= 9.0, 2.0, 1.0)).all()
    assert path.is_complete == (len(path.time_s) == LAYERS + 1 or path.along_m[-1] >= CELLS - 1)
