"""The walkers' mesh: sound as Detour wants it, where the pavements and crosswalks are, and connected across them."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from embedded_carla import navigation, opendrive
from embedded_carla.maps import MapLibrary
from embedded_carla.maps.build import LoadedMap
from embedded_carla.maps.loader import MapLoader
from embedded_carla.types import SemanticTag
from tests.embedded_carla.navigation.detour_file import CROSSWALK, FLAGS, GRASS, ROAD, SIDEWALK, File, Polygon, read

OWN = ("city_grid", "country_road")
Corner = tuple[float, ...]
REAL = ("Town01", "Town04", "Town10HD")


@cache
def map_of(name: str, folder: Path | None = None) -> LoadedMap:
    return MapLoader(MapLibrary([folder] if folder else []), 0).load(name)


@cache
def file_of(name: str, folder: Path | None = None) -> File:
    return read(map_of(name, folder).navigation)


@pytest.fixture(params=[*OWN, *REAL])
def town(request: pytest.FixtureRequest) -> tuple[str, Path | None]:
    """A map's name and the folder that it lies in."""
    if request.param in OWN:
        return request.param, None
    return request.param, request.getfixturevalue("data_dir") / "maps"


def component_of(file: File, areas: set[int]) -> dict[int, int]:
    """The connected component of each polygon of these areas."""
    found: dict[int, int] = {}
    for start, polygon in enumerate(file.polygons):
        if start in found or polygon.area not in areas:
            continue
        stack = [start]
        while stack:
            i = stack.pop()
            if i >= 0 and i not in found and file.polygons[i].area in areas:
                found[i] = start
                stack += file.polygons[i].neighbours
    return found


def test_polygons_are_convex_and_meet_edge_to_edge(town: tuple[str, Path | None]) -> None:
    file = file_of(*town)
    borders = [edges_of(polygon) for polygon in file.polygons]
    for i, polygon in enumerate(file.polygons):
        assert is_convex_clockwise(polygon), f"polygon {i}"
        assert polygon.flags == FLAGS[polygon.area]
        for (a, b), j in borders[i].items():
            if j >= 0:
                assert borders[j][(b, a)] == i


def edges_of(polygon: Polygon) -> dict[tuple[Corner, Corner], int]:
    """Its edges, and the neighbour over each."""
    corners: list[Corner] = [tuple(c) for c in polygon.corners.tolist()]
    return dict(zip(zip(corners, corners[1:] + corners[:1], strict=True), polygon.neighbours, strict=True))


def is_convex_clockwise(polygon: Polygon) -> bool:
    """Up to the tenth of a millimetre to which coordinates are written."""
    edges = [(b[0] - a[0], b[1] - a[1]) for a, b in edges_of(polygon)]
    turns = (
        (ux * vy - uy * vx) / max(math.hypot(ux, uy), math.hypot(vx, vy))
        for (ux, uy), (vx, vy) in zip(edges, edges[1:] + edges[:1], strict=True)
    )
    return polygon.doubled_area < 0.0 and max(turns) < 1e-4


def test_the_fans_cover_their_polygons_and_mark_their_borders(town: tuple[str, Path | None]) -> None:
    file = file_of(*town)
    for polygon, triangles in zip(file.polygons, file.details, strict=True):
        marked = set()
        for a, b, c, flags in triangles:
            for edge, bit in (((a, b), 1), ((b, c), 4), ((c, a), 16)):
                if flags & bit:
                    marked.add(edge)
        count = len(polygon.corners)
        assert marked == {(i, (i + 1) % count) for i in range(count)}


def test_the_tree_finds_every_polygon_by_any_of_its_points(town: tuple[str, Path | None]) -> None:
    file = file_of(*town)
    tree = file.tree
    rng = np.random.default_rng(0)
    for wanted in rng.choice(len(file.polygons), 60).tolist():
        corners = file.polygons[wanted].corners
        point = (rng.dirichlet(np.ones(len(corners))) @ corners)[[0, 2, 1]]
        at = ((point - tree.origin) * tree.scale).astype(np.int64)
        low, high = at & 0xFFFE, (at + 1) | 1
        node, found = 0, set()
        while node < len(tree.index):
            overlaps = np.all(low <= tree.boxes[node, 1]) and np.all(high >= tree.boxes[node, 0])
            if tree.index[node] >= 0 and overlaps:
                found.add(int(tree.index[node]))
            node += 1 if overlaps or tree.index[node] >= 0 else -int(tree.index[node])
        assert wanted in found
        assert len(found) < 0.2 * len(file.polygons)


def test_areas_lie_on_what_they_are_named_after(town: tuple[str, Path | None]) -> None:
    """Points all over the mesh, and the drawn ground under them: its kind, and its height."""
    file, ground = file_of(*town), map_of(*town).scenery.ground
    rng = np.random.default_rng(0)
    fans = [(p.corners[[0, k, k + 1]], p.area) for p in file.polygons for k in range(1, len(p.corners) - 1)]
    triangles, kind = np.array([t for t, _ in fans]), np.array([a for _, a in fans])
    size = np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)
    chosen = rng.choice(len(fans), 5000, p=size / size.sum())
    at = np.einsum("ij,ijk->ik", rng.dirichlet(np.ones(3), 5000), triangles[chosen])
    kind = kind[chosen]
    hit = ground.below(at + np.array([0.0, 0.0, 0.3]))
    error = np.abs(hit.z - at[:, 2])
    assert np.mean(hit.tag[kind == SIDEWALK] == SemanticTag.SIDEWALKS) > 0.995
    assert np.quantile(error[kind == SIDEWALK], 0.99) < 0.05
    assert error.max() < 0.25  # a kerb, and what lies below it
    assert set(hit.tag[kind == ROAD].tolist()) <= {
        SemanticTag.ROADS, SemanticTag.SIDEWALKS, SemanticTag.TERRAIN,  # up to the walker's half width from a kerb
    }  # fmt: skip


@pytest.mark.parametrize(("name", "crossed"), [("city_grid", 0.9), ("Town04", 0.9), ("Town10HD", 0.95)])
def test_crosswalks_join_the_blocks(name: str, crossed: float, request: pytest.FixtureRequest) -> None:
    folder = None if name in OWN else request.getfixturevalue("data_dir") / "maps"
    file = file_of(name, folder)
    blocks, joined = component_of(file, {SIDEWALK}), component_of(file, {SIDEWALK, CROSSWALK, GRASS})
    assert len(set(blocks.values())) > 2 * len(set(joined.values()))
    area: dict[int, float] = {}
    for i, part in joined.items():
        area[part] = area.get(part, 0.0) - file.polygons[i].doubled_area
    assert max(area.values()) > crossed * sum(area.values())
    for part in set(component_of(file, {CROSSWALK}).values()):  # no crosswalk ends in the road
        ends = {i for i in joined if component_of_one(file, part) & set(file.polygons[i].neighbours)}
        assert sum(file.polygons[i].area == SIDEWALK for i in ends) >= 2


def component_of_one(file: File, start: int) -> set[int]:
    """The crosswalk that polygon `start` belongs to."""
    found, stack = set[int](), [start]
    while stack:
        i = stack.pop()
        if i >= 0 and i not in found and file.polygons[i].area == CROSSWALK:
            found.add(i)
            stack += file.polygons[i].neighbours
    return found


def test_with_roads_every_pavement_is_reached(town: tuple[str, Path | None]) -> None:
    """What walkers with a cross factor may use: CARLA's older towns have no crosswalk at all."""
    whole = component_of(file_of(*town), {SIDEWALK, CROSSWALK, ROAD, GRASS})
    assert len(set(whole.values())) == 1


def test_nobody_walks_on_the_motorway() -> None:
    assert map_of("motorway").navigation == b""


def test_the_same_map_gives_the_same_bytes() -> None:
    network = opendrive.parse(MapLibrary().load_text("country_road")[1], "country_road")
    assert navigation.encode(navigation.build(network)) == map_of("country_road").navigation


def test_the_files_name_changes_with_its_content() -> None:
    """Clients keep a file for ever under its name."""
    names = {map_of(name).navigation_file for name in OWN}
    assert len(names) == len(OWN)
    changed = replace(map_of("country_road"), navigation=b"other").navigation_file
    assert changed not in names
    assert map_of("country_road").navigation_file in names
