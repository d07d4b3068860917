"""The examples of docs/library.md run as they stand, and say something true."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "library.md").read_text()
EXAMPLES = dict(re.findall(r"^## ([^\n]+)\n.*?```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))

EXPECTED = {
    "Lanes on one picture": r"^\+4\.9\d m .*\n\+1\.6\d m at 10 m ahead, \w+, confidence 0\.9\d\n-1\.6\d m ",
    "A camera whose lens bends straight lines": r"^pitch 0\.03\d rad, yaw [+-]0\.00\d rad, left line \+1\.6\d m$",
    "Objects on a picture of any size": r"(car|traffic light|pedestrian)",
    "A route on an OpenDRIVE map": r"^\d{3} m in \d+ s at the speed limits\n100 m ahead of the start: 48\.999\d+, 8\.",
    "A PID controller": r"^(9\.[5-9]|10\.[0-5]) m/s$",
    "Operators": r"before \d+, after \d+",
    "Operators of a network": r"^\(1, 256, 12, 20\), each round's mean: ",
}


def test_every_section_has_an_example() -> None:
    assert set(EXAMPLES) == set(re.findall(r"^## ([^\n]+)", PAGE, re.MULTILINE)) == set(EXPECTED)


@pytest.mark.parametrize("title", EXAMPLES)
def test_example(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(EXAMPLES[title], f"docs/library.md: {title}", "exec"), {})
    assert re.search(EXPECTED[title], said.getvalue().strip(), re.MULTILINE), said.getvalue()
