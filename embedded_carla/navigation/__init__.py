"""The navigation mesh on which CARLA's client lets its AI walkers walk.

The client simulates the crowd; the server only provides the areas where people may walk, in Detour's own format.
"""

from __future__ import annotations

from embedded_carla.navigation.areas import Area, levels
from embedded_carla.navigation.detour import encode
from embedded_carla.navigation.polygons import PolygonMesh, mesh
from embedded_carla.opendrive.network import RoadNetwork
from embedded_carla.scenery.grid import section_grids
from embedded_carla.scenery.surfaces import strips
from embedded_carla.scenery.walkways import crosswalks

__all__ = ["Area", "PolygonMesh", "build", "encode"]


def build(network: RoadNetwork) -> PolygonMesh:
    """The mesh of a map's pavements and crosswalks, and of the roads beside them; empty if there are no pavements."""
    return mesh(levels(strips(section_grids(network)), crosswalks(network)))
