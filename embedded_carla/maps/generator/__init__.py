"""Generates the project's own towns from a few numbers: `python -m embedded_carla.maps.generator` writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from embedded_carla.maps.generator import city_grid, country_road, motorway, proving_ground
from embedded_carla.maps.generator.model import Town

TOWNS: Mapping[str, Callable[[], Town]] = {
    "city_grid": city_grid.build,
    "country_road": country_road.build,
    "motorway": motorway.build,
    "proving_ground": proving_ground.build,
}
