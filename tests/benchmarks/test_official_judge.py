"""The two judges' verdicts side by side."""

from __future__ import annotations

import json

from benchmarks.official_judge.compare import OFFICIAL_KINDS, OUR_KINDS, Pair, Verdict, table
from scenarios.judging.infraction_log import InfractionKind


def pair(ours: Verdict) -> Pair:
    official = Verdict("Completed", 100.0, 70.0, {"red light": 1}, ("ran a red light",))
    return Pair("7", "Accident", "Town10HD", official, ours)


def test_equal_verdicts_and_what_differs() -> None:
    equal = pair(Verdict("arrived", 100.0, 70.4, {"red light": 1}, ()))
    assert equal.differences() == []
    assert pair(Verdict("arrived", 100.0, 60.0, {"red light": 1}, ())).differences() == ["score: 70.0 / 60.0"]
    other = pair(Verdict("arrived", 100.0, 100.0, {"stop sign": 2}, ()))
    assert other.differences() == ["red light: 1 / 0", "stop sign: 0 / 2"]


def test_both_judges_use_the_same_words() -> None:
    assert set(OUR_KINDS) == {kind.value for kind in InfractionKind} - {InfractionKind.AGENT_ERROR.value}
    assert set(OUR_KINDS.values()) == set(OFFICIAL_KINDS.values())


def test_a_pair_is_read_back_and_shown() -> None:
    one = pair(Verdict("arrived", 100.0, 100.0, {}, ()))
    again = Pair.read(json.loads(json.dumps(one.plain())), "the light turned green")
    text = table([again])
    assert (
        "| 7 | Accident | Town10HD | Completed | 70.0 | arrived | 100.0 | red light: 1 / 0 | the light turned" in text
    )
