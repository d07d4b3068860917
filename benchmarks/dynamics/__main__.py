"""Driving dynamics of the server's vehicles: acceleration, braking, steady circles, step steer and slopes.

`python -m benchmarks.dynamics [--out FOLDER]` tests one model of each vehicle class. It prints the figures as JSON and
writes `dynamics.json` and the curves as PNG to the folder, by default `out/dynamics`. It runs the server's physics on a
plane, without a server.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dynamics import plots
from benchmarks.dynamics.drives import (
    Curve,
    brake,
    circle,
    launch,
    roll_down,
    spec_of,
    stand_across,
    step_steer,
)

MODELS = {
    "car": "vehicle.lincoln.mkz_2020",
    "electric car": "vehicle.tesla.model3",
    "small car": "vehicle.nissan.micra",
    "van": "vehicle.mercedes.sprinter",
    "truck": "vehicle.carlamotors.european_hgv",
    "bus": "vehicle.mitsubishi.fusorosa",
    "motorcycle": "vehicle.yamaha.yzf",
    "bicycle": "vehicle.diamondback.century",
}
SPEEDS_KMH = (50, 80, 100)
ROADS = {"dry": (0.0, 0.0), "wetness 100": (100.0, 0.0), "wetness 100, deposits 100": (100.0, 100.0)}
SLOPES_DEG = (2.0, 5.0, 10.0)


def reached_s(curve: Curve, kmh: float) -> float | None:
    """Time at which the speed was first reached, s; None if never."""
    speeds = 3.6 * curve["speed_mps"]
    if speeds.max() < kmh:
        return None
    i = int(np.argmax(speeds >= kmh))
    share = (kmh - speeds[i - 1]) / (speeds[i] - speeds[i - 1])
    return float(curve["time_s"][i - 1] + share * (curve["time_s"][i] - curve["time_s"][i - 1]))


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return round(value, 3) if isinstance(value, float) else value


def measure(type_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run all test drives of one model; returns (figures, curves)."""
    spec = spec_of(type_id)
    start, turn = launch(spec), circle(spec)
    steer = step_steer(spec, turn.curve)
    stops = {road: {kmh: brake(spec, kmh, *water) for kmh in SPEEDS_KMH} for road, water in ROADS.items()}
    figures: dict[str, Any] = {"model": type_id}
    for kmh in (25, 50, 80, 97, 100):
        figures[f"0_{kmh}_kmh_s"] = reached_s(start, kmh)
    figures["top_speed_kmh"] = 3.6 * float(start["speed_mps"].max())
    figures["stop_m"] = {
        road: {f"{kmh}_kmh": float(stop["distance_m"][-1]) for kmh, stop in by_speed.items()}
        for road, by_speed in stops.items()
    }
    figures |= turn.figures | steer.figures
    figures["rolls_down_mps2"] = {f"{deg:g}_deg": roll_down(spec, deg) for deg in SLOPES_DEG}
    figures["roll_across_deg"] = {f"{deg:g}_deg": stand_across(spec, deg) for deg in SLOPES_DEG}
    return figures, {"launch": start, "stops": stops, "circle": turn.curve, "step": steer.curve}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dynamics", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/dynamics"), help="folder for JSON and PNG")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    measured = {name: measure(type_id) for name, type_id in MODELS.items()}
    figures = {name: rounded(found) for name, (found, _) in measured.items()}
    curves = {name: drawn for name, (_, drawn) in measured.items()}
    (folder / "dynamics.json").write_text(json.dumps(figures, indent=2) + "\n")
    plots.draw_all(folder, curves)
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
