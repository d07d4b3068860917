"""CARLA's handling beside the published models of a CARLA car: turn, throttle and brake.

`python -m benchmarks.handling [--out FOLDER]` prints the figures as JSON and writes `handling.json` and the curves as
PNG to the folder, by default `out/handling`. It drives the server's own physics on a plane, without a server.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.handling import models, plots
from benchmarks.handling.drives import modelled, pedals, turn
from embedded_carla.types import VehicleControl

STEERS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
TURN_MPS = (5.0, 10.0, 15.0)
THROTTLES = (0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
REACHED_S = 5.0
BRAKE_MPS = (5.0, 10.0, 15.0, 20.0, 25.0)
DRIVE_STEPS, BRAKE_STEPS = 200, 80


def turns(at_mps: float) -> dict[str, list[float]]:
    found = [turn(steer, at_mps) for steer in STEERS]
    return {
        "steer": list(STEERS),
        "yaw_rate_degps": [degps for degps, _ in found],
        "speed_mps": [speed for _, speed in found],
        "published_yaw_rate_degps": [math.degrees(models.turn_radps(at_mps, steer)) for steer in STEERS],
    }


def drive(throttle: float) -> dict[str, list[float]]:
    return {
        "speed_mps": pedals(VehicleControl(throttle=throttle), 0.0, DRIVE_STEPS),
        "pdm_lite_mps": modelled(lambda v: models.driven_mps(v, throttle), 0.0, DRIVE_STEPS),
        "world_on_rails_mps": modelled(lambda v: models.rails_driven_mps(v, throttle), 0.0, DRIVE_STEPS),
    }


def brake(from_mps: float) -> dict[str, list[float]]:
    return {
        "speed_mps": pedals(VehicleControl(brake=1.0), from_mps, BRAKE_STEPS),
        "pdm_lite_mps": modelled(models.braked_mps, from_mps, BRAKE_STEPS),
        "world_on_rails_mps": modelled(models.rails_braked_mps, from_mps, BRAKE_STEPS),
    }


def table(curves: Mapping[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    """Of each test the server's figure and PDM-Lite's: deg/s at half of the steering, m/s after 5 s, m to a stop."""
    half, reached = STEERS.index(0.5), round(REACHED_S / models.STEP_S)
    return {
        "yaw_rate_at_half_steer_degps": {
            at: {"server": of["yaw_rate_degps"][half], "pdm_lite": of["published_yaw_rate_degps"][half]}
            for at, of in curves["turn"].items()
        },
        "speed_after_5_s_mps": {
            throttle: {"server": of["speed_mps"][reached], "pdm_lite": of["pdm_lite_mps"][reached]}
            for throttle, of in curves["throttle"].items()
        },
        "stop_m": {
            start: {"server": distance_m(of["speed_mps"]), "pdm_lite": distance_m(of["pdm_lite_mps"])}
            for start, of in curves["brake"].items()
        },
    }


def distance_m(speeds_mps: Sequence[float]) -> float:
    """The way over these steps, by the trapezium rule."""
    return models.STEP_S * sum((before + after) / 2.0 for before, after in pairwise(speeds_mps))


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(value, 3) if isinstance(value, float) else value


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.handling", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/handling"), help="folder for JSON and PNG")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    curves: dict[str, Any] = {
        "model": models.MODEL,
        "step_s": models.STEP_S,
        "turn": {f"{at:g}_mps": turns(at) for at in TURN_MPS},
        "throttle": {f"{throttle:g}": drive(throttle) for throttle in THROTTLES},
        "brake": {f"{start:g}_mps": brake(start) for start in BRAKE_MPS},
    }
    plots.draw_all(folder, curves)
    figures = rounded({"table": table(curves), **curves})
    (folder / "handling.json").write_text(json.dumps(figures) + "\n")
    print(json.dumps(figures["table"], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
