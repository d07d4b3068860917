"""Builds a map's scenery: surfaces, paint, terrain, then the objects beside the roads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from embedded_carla.errors import MapError
from embedded_carla.opendrive.network import RoadNetwork
from embedded_carla.scene import F64, Material, Scenery, SignalSite
from embedded_carla.scenery import horizon, markings, objects, surfaces, terrain
from embedded_carla.scenery.grid import SectionGrid, section_grids
from embedded_carla.scenery.ground import SceneryGround
from embedded_carla.scenery.junctions import BELOW_LANES_M, gap_quads
from embedded_carla.scenery.roadside.buildings import place_buildings
from embedded_carla.scenery.roadside.furniture import place_guard_rails, place_lamps, place_signals
from embedded_carla.scenery.roadside.room import Room, frontages, make_room
from embedded_carla.scenery.roadside.street_furniture import furnish
from embedded_carla.scenery.roadside.vegetation import plant
from embedded_carla.scenery.signals import SPEED_OBJECT, controller_sequences, signal_sites
from embedded_carla.scenery.soup import QuadSoup
from embedded_carla.scenery.spawn import spawn_points
from embedded_carla.scenery.surfaces import Strip
from embedded_carla.scenery.walkways import crosswalks, walkways
from embedded_carla.types import SemanticTag

MOST_BUILDINGS = 1200
MOST_TREES = 1600
ROUND_SIGN_TOWNS = ("Town01", "Town02")  # their speed limit signs are not in the American style


def build(network: RoadNetwork, seed: int = 0) -> Scenery:
    """The scenery of a map in CARLA's left-handed frame; the same network and seed give the same scenery."""
    soup = QuadSoup()
    grids = section_grids(network)
    strips = surfaces.strips(grids)
    for strip in strips:
        surfaces.draw(strip, soup)
    gaps, gap_road = gap_quads(strips)
    soup.add_flat(Material.ASPHALT_PLAIN, SemanticTag.ROADS, gaps)
    markings.draw(grids, soup)

    triangles, tag, road = surfaces.ground_parts(strips)
    triangles = np.concatenate([triangles, surfaces.triangles_of(gaps)])
    tag = np.concatenate([tag, np.full(2 * len(gaps), SemanticTag.ROADS, dtype=np.uint8)])
    road = np.concatenate([road, np.repeat(gap_road, 2)])
    lift_m = np.repeat([0.0, BELOW_LANES_M], [len(road) - 2 * len(gaps), 2 * len(gaps)])
    try:
        field, far = terrain.height_field(terrain.road_samples(strips), seed)
    except MapError as error:
        raise MapError(f"map {network.name}: {error}") from error
    terrain.draw(field, far, soup)
    horizon.draw(field, seed, soup)
    ground = SceneryGround(triangles, tag, road, field, lift_m)
    objects.draw(network, ground.index, soup)

    sites = signal_sites(network)
    # In CARLA's towns, speed limits are objects; their signs are American except in the first two towns.
    limits = () if network.name.startswith(ROUND_SIGN_TOWNS) else network.objects
    american = frozenset(item.object_id for item in limits if SPEED_OBJECT.match(item.name))
    room, lamps = _furnish(strips, grids, gaps, ground, sites, american, seed)
    return Scenery(
        map_name=network.name,
        meshes=soup.meshes(),
        placements=tuple(room.placements),
        colliders=room.colliders(),
        ground=ground,
        road_ids=np.array(list(network.roads), dtype=np.int64),
        road_speed_limit_kmh=np.array([road.speed_kmh for road in network.roads.values()]),
        signals=sites,
        controller_sequences=controller_sequences(network),
        spawn_points=spawn_points(grids),
        walkways=walkways(strips),
        crosswalks=crosswalks(network),
        lamps=lamps,
    )


def _furnish(
    strips: Sequence[Strip], grids: Sequence[SectionGrid], gaps: F64, ground: SceneryGround,
    sites: Sequence[SignalSite], american: frozenset[str], seed: int,
) -> tuple[Room, F64]:  # fmt: skip
    """Place everything beside the roads: first the objects of the file, then lamps, houses and trees."""
    room = make_room(strips, grids, gaps, ground.terrain)
    sides = list(frontages(grids))
    place_signals(sites, ground, room, american)
    place_guard_rails(strips, ground, room)
    lamps = place_lamps(sides, room, np.random.default_rng([seed, 1]))
    place_buildings(sides, room, np.random.default_rng([seed, 2]), len(room.placements) + MOST_BUILDINGS)
    plant(sides, room, np.random.default_rng([seed, 3]), MOST_TREES)
    furnish(sides, room, np.random.default_rng([seed, 4]))
    return room, lamps
