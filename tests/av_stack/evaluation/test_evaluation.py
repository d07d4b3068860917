"""The common table, and the scores of lanes against lines that are known."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from av_core.types import (
    CameraModel,
    GeoReference,
    Lane,
    LaneEstimate,
    LaneGraph,
    LaneKey,
    LaneLine,
    MarkingColour,
    MarkingKind,
    Pose2D,
    Stamp,
)
from av_stack.evaluation.lanes import MISSED_M, LaneEvaluation, TrueLine, score_line, true_lines
from av_stack.evaluation.table import Figure, markdown, write_figures
from perception.map_index import MapIndex

CAMERA = CameraModel("front", 640, 360, math.radians(60.0), 2.1, 0.0, 1.6, math.radians(2.0))


def straight_map(length_m: float = 100.0) -> MapIndex:
    n = int(length_m) + 1
    x = np.linspace(0.0, length_m, n)
    zero, solid, white = np.zeros(n), (MarkingKind.SOLID,) * n, (MarkingColour.WHITE,) * n
    key = LaneKey(1, 0, -1)
    lane = Lane(
        key, np.column_stack([x, zero, zero]), x, zero, zero, zero + 3.5, 14.0, False, (), (), None, None,
        zero.astype(bool), zero.astype(bool), solid, solid, white, white,
    )  # fmt: skip
    return MapIndex(LaneGraph("straight", {key: lane}, (), GeoReference(0.0, 0.0)))


def line(y_m: float, slope: float = 0.0, confidence: float = 0.95) -> LaneLine:
    return LaneLine((y_m, slope, 0.0), 4.0, 30.0, MarkingKind.SOLID, MarkingColour.WHITE, confidence)


def test_the_maps_own_lines_seen_from_the_ego() -> None:
    left, right = true_lines(straight_map(), Pose2D(20.0, 0.25, 0.0))
    assert left is not None
    assert right is not None
    np.testing.assert_allclose(left.points[:, 1], 1.5, atol=1e-6)
    np.testing.assert_allclose(right.points[:, 1], -2.0, atol=1e-6)
    assert left.points[-1, 0] == 30.0
    assert true_lines(straight_map(), Pose2D(90.0, 0.0, 0.0)) == (None, None)  # the road ends before it counts


def test_a_line_right_on_the_truth_scores_full_and_one_beside_it_by_its_offset() -> None:
    truth = TrueLine(np.column_stack([np.arange(5.0, 31.0), np.full(26, 1.75)]), "solid", "white")
    perfect = score_line(line(1.75), truth, CAMERA)
    assert perfect.error_m == pytest.approx(0.0, abs=1e-9)
    assert perfect.hits == perfect.rows > 10
    beside = score_line(line(2.05), truth, CAMERA)
    assert beside.error_m == pytest.approx(0.3)
    assert 0 < beside.hits < beside.rows  # near rows are more than 10 px off, far ones are not
    assert score_line(None, truth, CAMERA).hits == 0


def test_figures_count_what_is_missed_as_half_a_lane() -> None:
    evaluation, index = LaneEvaluation(), straight_map()
    both = LaneEstimate(Stamp(0, 0.0), line(1.80), line(-1.75))
    for _ in range(4):
        evaluation.add("ClearNoon", both, Pose2D(20.0, 0.0, 0.0), index, CAMERA)
        evaluation.add("Fog", LaneEstimate(Stamp(0, 0.0), None, None), Pose2D(20.0, 0.0, 0.0), index, CAMERA)
    values = {(f.name, f.group): f for f in evaluation.figures()}
    clear = values["lateral error at 10 m, median", "ClearNoon"]
    assert clear.value == pytest.approx(0.025)
    assert clear.is_met
    assert values["lateral error at 10 m, median", "Fog"].value == MISSED_M
    assert not values["lateral error at 10 m, median", "mean of the weathers"].is_met
    assert values["TuSimple accuracy", "all"].value == pytest.approx(0.5)


def test_tables_say_what_is_met(tmp_path: Path) -> None:
    figures = [Figure("a", "x", "all", 0.1, "m", 3, 0.2), Figure("a", "y", "all", 0.1, "", 3, 0.2, True)]
    assert [f.is_met for f in figures] == [True, False]
    assert Figure("a", "z", "all", float("nan"), goal=1.0).is_met is False
    text = markdown([*figures, Figure("b", "free", "all", 5.0)])
    assert text.count("\n") == 5
    assert "**no**" in text
    write_figures(figures, {"cores": 2}, tmp_path, "table")
    assert json.loads((tmp_path / "table.json").read_text())["figures"][1]["is_met"] is False
    assert (tmp_path / "table.md").read_text() == markdown(figures)
