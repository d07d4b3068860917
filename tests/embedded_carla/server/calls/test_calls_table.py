"""The table of calls in the documentation and the registry name the same methods."""

from __future__ import annotations

import re
from pathlib import Path

from embedded_carla.handlers import METHODS

PAGE = Path(__file__).parents[4] / "docs" / "embedded-carla" / "calls.md"
ROW = re.compile(r"^\| `(\w+)` \|([^|]*)\|([^|]*)\|$", re.MULTILINE)


def test_every_method_has_its_row_and_every_row_its_method() -> None:
    rows = [name for name, _, _ in ROW.findall(PAGE.read_text())]
    assert len(rows) == len(set(rows))
    assert set(rows) == set(METHODS)


def test_every_row_says_what_the_call_does() -> None:
    for name, here, _ in ROW.findall(PAGE.read_text()):
        assert here.strip(), name


def test_what_is_refused_says_why() -> None:
    for name, here, why in ROW.findall(PAGE.read_text()):
        assert here.strip() != "refused" or why.strip(), name
