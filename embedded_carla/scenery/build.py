"""The order in which a scenery is made."""

from __future__ import annotations

import numpy as np

from embedded_carla.opendrive.network import RoadNetwork
from embedded_carla.scene import Boxes, Material, Scenery
from embedded_carla.scenery import markings, objects, surfaces, terrain
from embedded_carla.scenery.grid import section_grids
from embedded_carla.scenery.ground import SceneryGround
from embedded_carla.scenery.junctions import gap_quads
from embedded_carla.scenery.signals import controller_sequences, signal_sites
from embedded_carla.scenery.soup import QuadSoup
from embedded_carla.scenery.spawn import spawn_points
from embedded_carla.scenery.walkways import crosswalks, walkways
from embedded_carla.types import SemanticTag


def build(network: RoadNetwork, seed: int = 0) -> Scenery:
    """The scenery of a map in CARLA's left-handed frame; the same network and seed give the same scenery."""
    soup = QuadSoup()
    grids = section_grids(network)
    strips = surfaces.strips(grids)
    for strip in strips:
        surfaces.draw(strip, soup)
    gaps, gap_road = gap_quads(strips)
    soup.add_flat(Material.ASPHALT, SemanticTag.ROADS, gaps)
    markings.draw(grids, soup)

    triangles, tag, road = surfaces.ground_parts(strips)
    triangles = np.concatenate([triangles, surfaces.triangles_of(gaps)])
    tag = np.concatenate([tag, np.full(2 * len(gaps), SemanticTag.ROADS, dtype=np.uint8)])
    road = np.concatenate([road, np.repeat(gap_road, 2)])
    field, far = terrain.height_field(terrain.road_samples(strips), seed)
    terrain.draw(field, far, soup)
    ground = SceneryGround(triangles, tag, road, field)
    objects.draw(network, ground.index, soup)

    return Scenery(
        map_name=network.name,
        meshes=soup.meshes(),
        placements=(),
        colliders=Boxes(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros(0, dtype=np.uint8)),
        ground=ground,
        road_ids=np.array(list(network.roads), dtype=np.int64),
        road_speed_limit_kmh=np.array([road.speed_kmh for road in network.roads.values()]),
        signals=signal_sites(network),
        controller_sequences=controller_sequences(network),
        spawn_points=spawn_points(grids),
        walkways=walkways(strips),
        crosswalks=crosswalks(network),
    )
