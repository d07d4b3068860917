"""Chooses the controller's gains for a measured car, and writes them as a configuration of the stack."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from av_core.errors import WorldError
from av_stack.tuning.identify import Pedals, Steering, Tell, pedals, steering
from av_stack.world.carla.open_ground import OpenGround
from av_stack.world.spec import DEFAULT_STEP_S
from control.config import ControlConfig, LateralConfig
from control.margins import Margins, margins

SPEEDS_MPS = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0)
PHASE_MIN_DEG, GAIN_MIN = 45.0, 2.0
"""Least phase and gain margin at every speed; a gain margin of 2 is 6 dB."""

LOOK_AHEAD_STEP_S, LOOK_AHEAD_MAX_S = 0.05, 2.0


@dataclass(frozen=True, slots=True)
class Tuning:
    """The chosen configuration, the loop's margins by speed in m/s, and the measurements."""

    control: ControlConfig
    margins: dict[float, Margins]
    steering: Steering
    pedals: Pedals

    def as_yaml(self) -> str:
        """The settings as a stack configuration, with the margins in its comments."""
        lateral, longitudinal = self.control.lateral, self.control.longitudinal
        settings: dict[str, Any] = {
            "lateral": {
                "look_ahead_gain_s": lateral.look_ahead_gain_s,
                "latency_s": lateral.latency_s,
                "rear_slip_rad_per_mps2": lateral.rear_slip_rad_per_mps2,
                "understeer_rad_per_mps2": lateral.understeer_rad_per_mps2,
            },
            "longitudinal": {
                "throttle_free": longitudinal.throttle_free,
                "throttle_accel_mps2": [list(row) for row in longitudinal.throttle_accel_mps2],
                "brake_decel_mps2": [list(row) for row in longitudinal.brake_decel_mps2],
                "rolling_decel_mps2": longitudinal.rolling_decel_mps2,
                "drag_per_m": longitudinal.drag_per_m,
            },
        }
        notes = [
            f"#   {speed:g} m/s: phase {found.phase_deg:.0f} degrees, gain {found.gain:.1f}"
            for speed, found in self.margins.items()
        ]
        head = ["# Gains of av-stack tune, with the stability margins of the steering loop:", *notes]
        return "\n".join(head) + "\n" + yaml.safe_dump({"control": settings}, sort_keys=False, default_flow_style=None)


def tune(ground: OpenGround, tell: Tell) -> Tuning:
    """Measure the car, and choose the gains. Raises WorldError where it cannot be measured or steered."""
    turning, pressing = steering(ground, tell), pedals(ground, tell)
    base = ControlConfig()
    lateral = base.lateral.model_copy(
        update={
            "latency_s": round(base.lateral.latency_s + turning.delay_s, 3),
            "rear_slip_rad_per_mps2": round(turning.rear_slip_rad_per_mps2, 5),
            "understeer_rad_per_mps2": round(turning.understeer_rad_per_mps2, 5),
        }
    )
    longitudinal = base.longitudinal.model_copy(
        update={
            "throttle_free": round(pressing.throttle_free, 3),
            "throttle_accel_mps2": pressing.throttle_accel_mps2,
            "brake_decel_mps2": pressing.brake_decel_mps2,
            "rolling_decel_mps2": round(pressing.rolling_decel_mps2, 3),
            "drag_per_m": round(pressing.drag_per_m, 6),
        }
    )
    delay_s = turning.delay_s + 0.5 * DEFAULT_STEP_S
    lateral, found = with_margins(lateral, ground.vehicle.wheelbase_m, delay_s)
    return Tuning(base.model_copy(update={"lateral": lateral, "longitudinal": longitudinal}), found, turning, pressing)


def with_margins(
    lateral: LateralConfig, wheelbase_m: float, delay_s: float
) -> tuple[LateralConfig, dict[float, Margins]]:
    """(the configuration with the shortest look-ahead that keeps the margins at every speed, its margins by speed).

    No look-ahead is shorter than the default. Raises WorldError if none keeps the margins.
    """
    tried = lateral.look_ahead_gain_s
    while tried <= LOOK_AHEAD_MAX_S:
        config = lateral.model_copy(
            update={
                "look_ahead_gain_s": round(tried, 3),
                "look_ahead_max_m": max(lateral.look_ahead_max_m, 40.0 * tried),
            }
        )
        found = {speed: margins(config, wheelbase_m, speed, delay_s) for speed in SPEEDS_MPS}
        if all(each.phase_deg >= PHASE_MIN_DEG and each.gain >= GAIN_MIN for each in found.values()):
            return config, found
        tried += LOOK_AHEAD_STEP_S
    raise WorldError(f"no gains are stable with the steering's delay of {delay_s:.2f} s on this server")


def write(tuning: Tuning, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(tuning.as_yaml())
