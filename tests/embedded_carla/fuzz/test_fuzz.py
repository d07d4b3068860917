"""A short run of what `make fuzz` does at length."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.embedded_carla.fuzz.run_fuzz import run
from tests.embedded_carla.fuzz.steady import LAST_TICKS

MESSAGES = 2000
MOST_GROWTH = 0.5  # rendering begins within so few messages


def test_two_thousand_hostile_messages(tmp_path: Path) -> None:
    pytest.importorskip("carla")
    found = run(MESSAGES, 7, tmp_path, told=False, slow=False)
    assert not found.faults
    assert found.messages == MESSAGES
    assert found.errors > MESSAGES / 10
    assert found.thrown > 10
    assert found.growth < MOST_GROWTH
    assert found.steady["ticks"] >= LAST_TICKS
