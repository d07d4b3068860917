"""CARLA's AI walkers, the real wheel's crowd on a real server: they walk on pavements and crosswalks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from embedded_carla import opendrive
from embedded_carla.maps import MapLibrary
from embedded_carla.maps.build import LoadedMap
from embedded_carla.maps.loader import MapLoader
from embedded_carla.scenery.grid import section_grids
from embedded_carla.scenery.surfaces import ASPHALT, strips
from embedded_carla.types import SemanticTag
from tests.embedded_carla.conftest import run_server

SCRIPT = Path(__file__).parent / "walk.py"
WALKERS, TICKS = 15, 700


def walked(town: str, folders: list[Path], factor: float, ticks: int = TICKS) -> dict[str, Any]:
    """What the script prints; it must end well."""
    arguments = [argument for folder in folders for argument in ("--maps", str(folder))]
    with run_server("--map", town, *arguments) as server:
        run = subprocess.run(
            [sys.executable, str(SCRIPT), str(server.port), str(WALKERS), str(ticks), str(factor)],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
    assert run.returncode == 0, f"the wheel ended with {run.returncode}: {run.stderr[-2000:]}"
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def way_m(track: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each walker went."""
    return np.asarray(np.linalg.norm(np.diff(track[:, :, :2], axis=1), axis=2).sum(axis=1))


def road_shares(loaded: LoadedMap, points: NDArray[np.float64]) -> tuple[float, float]:
    """Shares of points on crosswalks, and in the carriageway beside them (a metre is a crosswalk's lengthened end)."""
    sections = strips(section_grids(opendrive.parse(loaded.xodr_text, loaded.name)))
    pavement, road = (
        shapely.union_all(shapely.make_valid(shapely.polygons(np.concatenate([s.quads() for s in kind])[..., :2])))
        for kind in (
            [s for s in sections if s.surface.tag == SemanticTag.SIDEWALKS],
            [s for s in sections if s.surface == ASPHALT],
        )
    )
    crossings = shapely.union_all([shapely.Polygon(c[:, :2]).buffer(1.0) for c in loaded.scenery.crosswalks])
    shapely.prepare([pavement, road, crossings])
    at = shapely.points(points)
    in_road = shapely.contains(road, at) & ~shapely.contains(pavement, at)
    on_crossing = shapely.contains(crossings, at)
    return float(np.mean(in_road & on_crossing)), float(np.mean(in_road & ~on_crossing))


@pytest.mark.parametrize("town", ["city_grid", "Town10HD"])
def test_walkers_walk_and_cross_where_they_may(town: str, request: pytest.FixtureRequest) -> None:
    folders = [] if town == "city_grid" else [request.getfixturevalue("data_dir") / "maps"]
    track = np.array(walked(town, folders, 0.0)["track"])
    assert len(track) >= WALKERS - 2
    assert np.median(way_m(track)) > 0.8 * 1.4 * 0.05 * TICKS
    loaded = MapLoader(MapLibrary(folders), 0).load(town)
    crossing, astray = road_shares(loaded, track[..., :2].reshape(-1, 2))
    assert crossing > 0.005
    assert astray < 0.002
    feet = track[:, 40:, :3].reshape(-1, 3)  # after the first steps, all have come down from where they were spawned
    above = feet[:, 2] - loaded.scenery.ground.below(feet + np.array([0.0, 0.0, 0.3])).z
    assert np.quantile(np.abs(above), 0.97) < 0.01
    assert np.abs(above).max() < 0.25  # in mid step over a kerb
    step = np.linalg.norm(np.diff(track[:, :, :2], axis=1), axis=2)
    assert step.max() < 0.15
    assert np.median(np.abs(track[:, 1:, 3] - step / 0.05)) < 0.02


def test_walkers_without_crosswalks_cross_the_road_when_told_to(data_dir: Path) -> None:
    """Town01 has none; with a cross factor walkers take the road."""
    loaded = MapLoader(MapLibrary([data_dir / "maps"]), 0).load("Town01")
    folders = [data_dir / "maps"]
    crossing, keeping = (
        road_shares(loaded, np.array(walked("Town01", folders, factor, ticks)["track"])[..., :2].reshape(-1, 2))[1]
        for factor, ticks in ((1.0, 1600), (0.0, 400))
    )
    assert crossing > 0.01
    assert keeping < 0.002


def test_a_map_without_pavements_does_no_harm() -> None:
    found = walked("motorway", [], 0.0, ticks=60)
    assert not found["location"]
    track = np.array(found["track"])
    assert np.all(way_m(track) < 1.0)
