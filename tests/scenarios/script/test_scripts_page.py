"""The page on scripts names exactly the keys that there are, and its example can be played."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from scenarios.expectations import Expectations
from scenarios.script.actions import Action
from scenarios.script.conditions import Condition
from scenarios.script.model import FlowTable, PartTable
from tests.scenarios.script.stage import Stage, driving, script

PAGE = (Path(__file__).parents[3] / "docs" / "scripts.md").read_text()


def keys_of(section: str) -> set[str]:
    """The keys in the first column of the table in a section of the page."""
    text = PAGE.split(f"\n## {section}")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return {key for cell in cells for key in re.findall(r"`(\w+)", cell)}


@pytest.mark.parametrize(
    ("section", "model"),
    [
        ("Conditions: `when`", Condition),
        ("Actions: `do`", Action),
        ("Flows", FlowTable),
        ("Parts", PartTable),
        ("What a drive has to achieve", Expectations),
    ],
)
def test_the_page_names_every_key(section: str, model: type) -> None:
    assert keys_of(section) == set(model.model_fields)  # type: ignore[attr-defined]


def test_the_example_plays() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    example = yaml.safe_load(text)
    expected = Expectations.model_validate(example.pop("expect"))
    assert script(example).events[0].name == "step_out"
    stage = Stage(example, driving(8.0)).play(20.0)
    assert set(stage.engine.fired_s) == set(expected.events)
    assert stage.actors["person"].pose.y_m == pytest.approx(-3.6 + 12.0, abs=0.3)
