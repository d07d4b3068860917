"""`av-stack tune`: what it measures on a real server, and the file that it writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from av_core.errors import WorldError
from av_stack.cli.main import app
from av_stack.tuning.tune import GAIN_MIN, PHASE_MIN_DEG, with_margins
from control.config import LateralConfig
from sim_configs.load import load_stack


def test_the_tyres_of_the_server_are_found_and_written_for_the_stack(tmp_path: Path) -> None:
    """The server's car has 10.8 and 19.4 for its axles' stiffness over load, and brakes with a car's grip."""
    out = tmp_path / "car.yaml"
    done = CliRunner().invoke(app, ["tune", "--handling", "tyres", "--out", str(out)])
    assert done.exit_code == 0, done.output
    control = load_stack(str(out)).control
    assert control.lateral.understeer_rad_per_mps2 == pytest.approx((1 / 10.8 - 1 / 19.4) / 9.81, rel=0.1)
    assert control.lateral.rear_slip_rad_per_mps2 == pytest.approx(1 / 19.4 / 9.81, rel=0.1)
    assert control.lateral.latency_s == LateralConfig().latency_s  # this server's wheels answer within the step
    assert all(8.5 < decel < 10.5 for _, decel in control.longitudinal.brake_decel_mps2)
    assert control.longitudinal.throttle_free < 0.15
    assert "phase" in out.read_text()


def test_a_later_answer_of_the_steering_costs_look_ahead() -> None:
    quick, _ = with_margins(LateralConfig(), 2.85, 0.025)
    late, found = with_margins(LateralConfig(), 2.85, 0.1)
    assert late.look_ahead_gain_s > quick.look_ahead_gain_s
    assert all(each.phase_deg >= PHASE_MIN_DEG and each.gain >= GAIN_MIN for each in found.values())


def test_a_steering_that_answers_too_late_is_refused() -> None:
    with pytest.raises(WorldError, match="no gains are stable"):
        with_margins(LateralConfig(), 2.85, 0.6)


def test_the_file_has_to_be_yaml(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["tune", "--out", str(tmp_path)])
    assert "expected a file that ends in .yaml" in str(done.exception)
