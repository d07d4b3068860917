"""Builds a `Scenery` from a `RoadNetwork`: surfaces, collision boxes, signals and spawn points, from the map alone."""

from __future__ import annotations

from embedded_carla.scenery.build import build

__all__ = ["build"]
