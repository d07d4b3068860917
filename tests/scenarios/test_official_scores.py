"""Our two score formulas give what the Leaderboard's own program gave.

`benchmarks.official_judge.official_score` wrote the file.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scenarios.judging.score import Infractions, score_20, score_21

OFFICIAL = json.loads((Path(__file__).parent / "data" / "official_scores.json").read_text())


def test_a_thousand_lists_of_infractions_score_as_on_the_leaderboard() -> None:
    assert len(OFFICIAL["rows"]) == 1000
    for row in OFFICIAL["rows"]:
        case = dict(zip(OFFICIAL["columns"], row, strict=True))
        completion, official_20, official_21 = (
            case.pop(name) for name in ("completion_percent", "score_20", "score_21")
        )
        infractions = Infractions(**case)
        assert score_20(completion / 100.0, infractions) == pytest.approx(official_20, rel=0.0, abs=1e-9), case
        assert score_21(completion / 100.0, infractions) == pytest.approx(official_21, rel=0.0, abs=1e-9), case


def test_the_lists_reach_every_kind_of_infraction() -> None:
    for number, name in enumerate(OFFICIAL["columns"][1:-2], start=1):
        assert 300 < sum(bool(row[number]) for row in OFFICIAL["rows"]) < 800, name


def test_a_drive_without_infractions_scores_its_route_completion() -> None:
    assert score_20(1.0, Infractions()) == score_21(1.0, Infractions()) == 100.0
    assert score_20(0.5, Infractions()) == score_21(0.5, Infractions()) == 50.0


def test_penalties_of_both_versions() -> None:
    """The examples of one, two and five vehicles hit."""
    for count, of_20, of_21 in ((1, 60.0, 58.82), (2, 36.0, 41.67), (5, 7.776, 22.22)):
        infractions = Infractions(collisions_vehicle=count)
        assert score_20(1.0, infractions) == pytest.approx(of_20, abs=0.005)
        assert score_21(1.0, infractions) == pytest.approx(of_21, abs=0.005)
