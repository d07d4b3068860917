"""The search of a limit: it ends, it brackets the first failure, and it needs few weathers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from av_stack.weather_stress.search import RESOLUTION, SCAN, Bracket, bracket, next_fraction

MOST = len(SCAN) + 3
"""Three bisections divide a quarter of the range by eight."""


def searched(misses: Callable[[float], bool], known: dict[float, bool] | None = None) -> dict[float, bool]:
    """The outcomes of a whole search."""
    outcomes = dict(known or {})
    while (fraction := next_fraction(outcomes)) is not None:
        assert fraction not in outcomes
        outcomes[fraction] = misses(fraction)
        assert len(outcomes) <= MOST + len(known or {})
    return outcomes


@given(st.floats(0.0, 1.0))
def test_the_limit_is_bracketed_to_the_resolution(limit: float) -> None:
    outcomes = searched(lambda fraction: fraction > limit)
    found = bracket(outcomes)
    assert found.kept is not None
    assert found.kept <= limit
    if found.missed is None:
        assert limit == 1.0
    else:
        assert limit < found.missed
        assert found.missed - found.kept <= RESOLUTION


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_the_weathers_of_another_module_change_no_limit(limit: float, other: float) -> None:
    """Where more harsh weather is never better."""
    alone = bracket(searched(lambda fraction: fraction > limit))
    known = {fraction: fraction > limit for fraction in searched(lambda fraction: fraction > other)}
    assert bracket(searched(lambda fraction: fraction > limit, known)) == alone


@given(st.sets(st.integers(0, 32)))
def test_a_search_ends_whatever_fails(missed: set[int]) -> None:
    outcomes = searched(lambda fraction: round(fraction * 32) in missed)
    found = bracket(outcomes)
    if found.missed is not None:
        assert outcomes[found.missed]
        assert not any(is_missed for fraction, is_missed in outcomes.items() if fraction < found.missed)


def test_a_failure_before_better_weather_is_found() -> None:
    """With the sun just above the horizon a camera is dazzled; bisection between the ends alone would pass over it."""
    found = bracket(searched(lambda fraction: 0.4 < fraction < 0.6))
    assert found == Bracket(0.375, 0.40625)
    assert found.middle == pytest.approx(0.390625)


def test_the_ends_are_told() -> None:
    assert searched(lambda _: True) == {0.0: True}
    assert bracket({0.0: True}) == Bracket(None, 0.0)
    assert bracket({0.0: True}).middle == 0.0
    assert set(searched(lambda _: False)) == set(SCAN)
    assert bracket(searched(lambda _: False)) == Bracket(1.0, None)
    assert bracket(searched(lambda _: False)).middle is None
