"""Builds a `Scenery` from a `RoadNetwork`: everything to draw, touch and obey, from the map text alone."""

from __future__ import annotations

from embedded_carla.scenery.build import build

__all__ = ["build"]
