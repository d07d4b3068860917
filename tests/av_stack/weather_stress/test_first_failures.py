"""A whole search over two drives, with thresholds in place of the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from av_stack.weather_stress.drive_figures import PASSES
from av_stack.weather_stress.figures import LIGHTS_KEPT, LINES_KEPT, USERS_KEPT, Figure
from av_stack.weather_stress.first_failures import first_of, points_of, search_limits
from av_stack.weather_stress.parameters import Search
from av_stack.weather_stress.study import KINDS, Kind, Measured, Wanted
from av_stack.weather_stress.weathers import Point, Unit, units
from scenarios.model import load_scenario

FOG = Search("fog_density", 0.0, 100.0)
LIMITS = {LINES_KEPT: (30.0, 40.0), USERS_KEPT: (60.0, 60.0), LIGHTS_KEPT: (200.0, 200.0), PASSES: (90.0, 200.0)}
"""The fog beyond which a figure falls, for the two drives."""


class MadeStudy:
    """Stands for a study: each figure falls to 0 beyond its fog."""

    def __init__(self, kinds: tuple[Kind, ...] = KINDS) -> None:
        self.kinds = kinds
        self.units: Sequence[Unit] = units([load_scenario("parked_car")], 2)
        self.measured: dict[tuple[str, Point], Measured] = {}
        self.rounds: list[Sequence[Wanted]] = []

    def at(self, unit: Unit, point: Point) -> Measured:
        return self.measured.setdefault((unit.name, point), Measured())

    def run_round(self, wanted: Sequence[Wanted]) -> None:
        self.rounds.append(wanted)
        for one in wanted:
            [(_, fog)] = one.point
            measured = self.at(one.unit, one.point)
            assert one.kind not in measured.folders  # nothing is run twice
            measured.folders[one.kind] = Path(one.kind)
            number = self.units.index(one.unit)
            of_kind = (name for name in LIMITS if (name == PASSES) == (one.kind == "drive"))
            measured.take(Figure(name, float(float(fog) <= LIMITS[name][number]), 20) for name in of_kind)


def test_each_module_gets_its_limit_and_the_first_one_comes_first() -> None:
    study = MadeStudy()
    limits = {limit.module: limit for limit in search_limits(study, FOG)}
    assert list(limits)[:3] == ["lanes", "detector", "drive"]
    lanes = limits["lanes"].interval
    assert lanes is not None
    assert lanes.mean == pytest.approx(35.0, abs=1.6)
    for one, fog in zip(limits["lanes"].limits, LIMITS[LINES_KEPT], strict=True):
        assert one.kept is not None
        assert one.missed is not None
        assert one.kept <= fog < one.missed
    assert limits["lights"].interval is None
    assert limits["lights"].never == 2
    assert limits["drive"].never == 1
    assert limits["depth"].unknown == limits["localization"].unknown == 2
    for unit in study.units:
        assert first_of([one for limit in limits.values() for one in limit.limits if one.unit == unit.name]) == [
            "lanes"
        ]


def test_modules_share_their_looks() -> None:
    study = MadeStudy()
    search_limits(study, FOG)
    kinds = Counter(one.kind for wanted in study.rounds for one in wanted)
    assert kinds["look"] <= 2 * 11  # five of the scan and three for each of two limits
    assert kinds["drive"] <= 2 * 8
    assert len(points_of(study, FOG)) <= kinds["look"] + kinds["drive"]


def test_two_searches_make_the_same_rounds() -> None:
    rounds = []
    for _ in range(2):
        study = MadeStudy()
        search_limits(study, FOG)
        rounds.append([[(one.unit.name, one.point, one.kind) for one in wanted] for wanted in study.rounds])
    assert rounds[0] == rounds[1]


def test_looks_alone_give_the_modules_limits() -> None:
    study = MadeStudy(("look",))
    limits = search_limits(study, FOG)
    assert {one.kind for wanted in study.rounds for one in wanted} == {"look"}
    assert "drive" not in [limit.module for limit in limits]
    assert limits[0].module == "lanes"
