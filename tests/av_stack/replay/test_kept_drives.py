"""Today's stack decides in the drives that the project keeps what it decided when they were made.

Where it is to decide otherwise, `python -m benchmarks.replay kept` makes them anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from av_stack.replay.report import ReplayReport
from av_stack.replay.session import ReplayOptions, replay
from benchmarks.replay.kept import FOLDER, KEPT, REFERENCE_EVERY_STEPS, RULES, drive_file, reference_file
from control.lateral import LateralController

ROOT = Path(__file__).parents[3]
BYTES_MAX = 300_000
RUN = ("localization", "lights", "prediction", "planning", "control")


def replayed(name: str, modules: tuple[str, ...] = ()) -> ReplayReport:
    reference = reference_file(ROOT / FOLDER, name)
    options = ReplayOptions(modules, is_compared=True, reference=reference, rules=RULES)
    return replay(drive_file(ROOT / FOLDER, name), options)


@pytest.mark.parametrize("name", KEPT)
def test_a_kept_drive_is_decided_as_it_was(name: str) -> None:
    done = replayed(name)
    assert done.modules == RUN
    assert done.is_equal, "\n".join(done.lines())
    assert done.comparison is not None
    assert done.steps >= 60
    assert done.comparison.steps >= done.steps // REFERENCE_EVERY_STEPS


def test_another_decision_is_told() -> None:
    """By a hundredth of the steering's range, ten times the tolerance."""
    steer = LateralController.step
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LateralController, "step", lambda *arguments: steer(*arguments) + 0.01)
        done = replayed("country_road", ("prediction", "planning", "control"))
    assert not done.is_equal
    assert done.comparison is not None
    assert {found.field for found in done.comparison.fields} == {"command.steer"}


def test_the_kept_drives_are_small_and_no_others_are_there() -> None:
    files = sorted((ROOT / FOLDER).iterdir())
    assert files == sorted(make(ROOT / FOLDER, name) for name in KEPT for make in (drive_file, reference_file))
    assert sum(path.stat().st_size for path in files) < BYTES_MAX
