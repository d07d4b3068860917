"""The two judges' verdicts side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from benchmarks.official_judge.compare import OFFICIAL_KINDS, OUR_KINDS, Pair, Verdict, summary, table
from benchmarks.official_judge.order import Order
from scenarios.judging.infraction_log import InfractionKind
from scenarios.suites import OBSTACLES

OFFICIAL = Verdict("Completed", 100.0, 70.0, {"red light": 1}, ("ran a red light",))


def pair(ours: Verdict, second: Verdict = OFFICIAL, official: Verdict = OFFICIAL) -> Pair:
    return Pair("7", "Accident", "Town10HD", "behavior", False, official, second, ours)


def test_equal_verdicts_and_what_differs() -> None:
    equal = pair(Verdict("arrived", 100.0, 70.4, {"red light": 1}, ()))
    assert equal.differences() == []
    assert pair(Verdict("arrived", 100.0, 60.0, {"red light": 1}, ())).differences() == ["score: 70.0 / 60.0"]
    other = pair(Verdict("arrived", 100.0, 100.0, {"stop sign": 2}, ()))
    assert other.differences() == ["red light: 1 / 0", "stop sign: 0 / 2"]
    early = pair(Verdict("blocked", 40.0, 28.0, {"red light": 1}, ()))
    assert early.differences() == ["completion: 100 / 40 %"]


def test_a_judge_that_looks_on_need_not_know_what_the_player_tells() -> None:
    """A scenario that ran out of time lowers the official score only; a stop sign has to be seen by both."""
    late = Verdict("Completed", 100.0, 49.0, {"red light": 1, "scenario time-out": 1}, ())
    seen = Verdict("ended by the evaluator", 100.0, 70.0, {"red light": 1}, ())
    assert pair(seen, seen, late).judges_differ() == []
    assert pair(seen, Verdict("ended by the evaluator", 100.0, 100.0, {}, ()), late).judges_differ() == [
        "red light: 1 / 0"
    ]
    assert pair(seen, seen, late).differences() == ["scenario time-out: 1 / 0"]


def test_an_evaluator_that_ends_a_little_earlier_is_none_of_the_differences() -> None:
    """Its route is shorter than ours, so the judge that looks on sees 98.6 % of ours when it ends."""
    early = Verdict("ended by the evaluator", 98.6, 69.0, {"red light": 1}, ())
    assert pair(OFFICIAL, early).judges_differ() == []


def test_a_skipped_scenario_is_told() -> None:
    skipped = replace(OFFICIAL, skipped=("'Accident_1' due to setup error: 'Accident'",))
    assert "| Completed, red light, scenario skipped |" in table([pair(OFFICIAL, official=skipped)])
    assert "plays 0 types" in summary([pair(OFFICIAL, official=skipped)])


def test_both_judges_use_the_same_words() -> None:
    assert set(OUR_KINDS) == {kind.value for kind in InfractionKind} - {InfractionKind.AGENT_ERROR.value}
    assert set(OUR_KINDS.values()) == set(OFFICIAL_KINDS.values())


def test_a_pair_is_read_back_and_shown() -> None:
    one = pair(Verdict("arrived", 100.0, 100.0, {}, ()))
    again = Pair.read(json.loads(json.dumps(one.plain())), "the light turned green")
    row = table([again]).splitlines()[2]
    assert row.startswith(
        "| 7 | Accident | Town10HD | behavior | no | Completed, red light | 70.0 | equal, 70.0 | 100.0 |"
    )
    assert row.endswith("| red light: 1 / 0 | the light turned green |")
    assert summary([one]).startswith("1 drives, in which the evaluator plays 1 types.")
    assert "in 1. Between its drives and ours, they are equal in 0; 0 differences have a" in summary([one])
    assert "1 differences have a named cause, 0 have none." in summary([again])


def test_an_order_passes_through_its_file(tmp_path: Path) -> None:
    """Without background traffic the scenario is otherwise the route's own."""
    maps = Path("embedded_carla/maps").resolve()
    alone = Order(str(OBSTACLES), "8", str(maps), str(tmp_path), "behavior", has_background=False)
    alone.write(tmp_path / "order.json")
    assert Order.read(tmp_path / "order.json") == alone
    scenario, whole = alone.scenario(), replace(alone, has_background=True).scenario()
    assert not scenario.traffic.background
    assert whole.traffic.background
    assert whole.parts == scenario.parts
