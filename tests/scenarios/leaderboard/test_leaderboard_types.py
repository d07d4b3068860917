"""The table of scenario types is complete and consistent, and docs/scenarios.md shows it as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.leaderboard.parameters import Shape
from scenarios.leaderboard.types import BENCH2DRIVE_ONLY, LEADERBOARD_2, TYPES, ScenarioType
from scenarios.leaderboard.types_page import types_table

PAGE = Path(__file__).parents[3] / "docs" / "scenarios.md"


def test_there_are_all_types() -> None:
    assert (len(LEADERBOARD_2), len(BENCH2DRIVE_ONLY), len(TYPES)) == (38, 8, 46)


@pytest.mark.parametrize("entry", TYPES.values(), ids=TYPES)
def test_parameters_are_consistent(entry: ScenarioType) -> None:
    assert entry.about.endswith(".")
    assert entry.about.count(". ") == 0
    names = [parameter.name for parameter in entry.parameters]
    assert len(set(names)) == len(names)
    for parameter in entry.parameters:
        assert (parameter.shape is Shape.WORD) == (parameter.unit == "")
        assert parameter.is_required == (parameter.shape is Shape.LOCATION)
        if parameter.words:
            assert parameter.default in parameter.words
        elif not parameter.is_required and parameter.shape is not Shape.WORD:
            assert parameter.allowed is not None
            ends = parameter.default if isinstance(parameter.default, tuple) else (parameter.default,)
            assert all(parameter.allowed[0] <= float(end or 0.0) <= parameter.allowed[1] for end in ends)


def test_the_page_shows_the_table() -> None:
    assert types_table() in PAGE.read_text(), "renew it: python -m scenarios.leaderboard.types_page"
