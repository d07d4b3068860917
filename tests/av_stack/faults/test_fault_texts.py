"""Faults in the words of `--fault`: what they mean, and what is said of those that mean nothing."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from av_core.errors import ConfigError
from av_stack.cli import app
from av_stack.faults.fault import (
    CAMERA_FREEZE,
    CAMERA_OCCLUSION,
    GNSS_NOISE,
    KINDS,
    RADAR_OFF,
    Fault,
    check_faults,
    parse_fault,
    parse_faults,
)


@pytest.mark.parametrize(("text", "fault"), [
    ("camera:freeze@12s", Fault(CAMERA_FREEZE, 0.0, 12.0)),
    ("camera:freeze@12", Fault(CAMERA_FREEZE, 0.0, 12.0)),
    ("camera:occlusion@2.5s-4s", Fault(CAMERA_OCCLUSION, 80.0, 2.5, 4.0)),
    ("gnss:noise=7.5@0s", Fault(GNSS_NOISE, 7.5, 0.0)),
    (" radar:off@1s-2 ", Fault(RADAR_OFF, 0.0, 1.0, 2.0)),
])  # fmt: skip
def test_what_a_text_means(text: str, fault: Fault) -> None:
    assert parse_fault(text) == fault
    assert parse_fault(str(fault)) == fault


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_has_a_fault_without_end_at_its_usual_strength(kind: object) -> None:
    name = next(one for one in KINDS if one is kind).name
    fault = parse_fault(f"{name}@3s")
    assert (fault.kind, fault.from_s, fault.until_s) == (kind, 3.0, math.inf)
    assert not fault.is_on(2.99)
    assert fault.is_on(3.0)


@pytest.mark.parametrize(("text", "said"), [
    ("camera:melt@3s", "no such kind; kinds are camera:freeze, camera:drop"),
    ("camera:freeze", "it has to be KIND[=STRENGTH]@FROM[-UNTIL]"),
    ("camera:freeze@soon", "it has to be KIND"),
    ("camera:freeze@-3s", "it has to be KIND"),
    ("camera:freeze=2@3s", "camera:freeze has no strength"),
    ("camera:freeze@5s-5s", "it has to end after it begins"),
    ("camera:occlusion=120@5s", "has to be above 0 and at most 100 %"),
    ("gnss:noise=0@5s", "has to be above 0 and at most 1000 m"),
    ("server:kill@5s-6s", "server:kill has no end"),
    ("", "it has to be KIND"),
])  # fmt: skip
def test_a_text_that_means_nothing_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_fault(text)
    assert said in str(raised.value)
    assert str(raised.value).startswith("--fault ")
    assert "\n" not in str(raised.value)


def test_two_faults_of_one_kind_must_not_overlap() -> None:
    assert len(parse_faults(["gnss:jump@3s-5s", "gnss:jump=5@5s", "gnss:noise@3s"])) == 3
    with pytest.raises(ConfigError, match="overlaps with"):
        parse_faults(["gnss:jump@3s", "gnss:jump=5@5s"])


@pytest.mark.parametrize(("text", "said"), [
    ("camera:black@1s", "there is no camera"),
    ("radar:off@1s", "no radar is used"),
    ("server:kill@1s", "only an embedded server"),
])  # fmt: skip
def test_what_a_drive_lacks_cannot_fail(text: str, said: str) -> None:
    faults = [parse_fault(text)]
    with pytest.raises(ConfigError, match=said):
        check_faults(faults, has_cameras=False, has_radars=False, has_own_server=False)
    check_faults(faults, has_cameras=True, has_radars=True, has_own_server=True)


def test_the_command_refuses_a_wrong_fault_before_it_starts_anything(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["run", "town_drive", "--out", str(tmp_path / "out"), "--fault", "camera:melt@3s"])
    assert isinstance(done.exception, ConfigError)
    assert not (tmp_path / "out").exists()
