"""Lists the names that the commands take: scenarios, suites, weathers, rigs and maps (`av-stack list`)."""

from __future__ import annotations

from pathlib import Path

from av_core.config import names_in
from av_stack.server_process import embedded_maps
from av_stack.world.carla.weather import weather_presets
from scenarios.limits import RANDOM
from scenarios.model import FOLDER as SCENARIOS
from scenarios.model import load_scenario
from scenarios.suites import RANDOM_ABOUT, SUITES
from sim_configs.load import FOLDER as CONFIGS
from sim_configs.load import load_rig

Row = tuple[str, str]
"""A name and one line that describes it."""


def listing(maps: Path | None = None) -> dict[str, list[Row]]:
    """The rows for each kind of name; `maps` is a folder with more maps."""
    return {
        "scenarios": [_scenario(name) for name in names_in(SCENARIOS)],
        "suites": [*((name, suite.about) for name, suite in SUITES.items()), (RANDOM, RANDOM_ABOUT)],
        "weathers": [
            *((name, "preset of CARLA") for name in weather_presets()),
            *((name, f"sim_configs/weather/{name}.yaml") for name in names_in(CONFIGS / "weather")),
        ],
        "rigs": [_rig(name) for name in names_in(CONFIGS / "rigs")],
        "maps": [(name, "") for name in embedded_maps(maps)],
    }


def _scenario(name: str) -> Row:
    drive = load_scenario(name)
    about = f"map {drive.map}, {drive.traffic.vehicles} vehicles, {len(drive.walkers)} walkers, {drive.weather_label}"
    return name, about


def _rig(name: str) -> Row:
    rig = load_rig(name)
    cameras = [f"{camera.name} {camera.width_px}x{camera.height_px}" for camera in rig.cameras]
    return name, ", ".join([*cameras, *(radar.name for radar in rig.radars)])
