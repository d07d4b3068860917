"""city_grid: blocks of 90 to 120 m with two arterials, lights, stop and yield signs, a hill and a roundabout."""

from __future__ import annotations

import math
from collections.abc import Sequence

from embedded_carla.maps.generator.alignment import Alignment, Corner, through
from embedded_carla.maps.generator.builder import Arm, TownBuilder, hermite, turn_of
from embedded_carla.maps.generator.cross_section import Profile
from embedded_carla.maps.generator.crossing import CORNER_RADIUS_M, STRAIGHT_M, Control, cross
from embedded_carla.maps.generator.model import Road, Town
from embedded_carla.maps.generator.roundabout import REACH_M, roundabout
from embedded_carla.maps.generator.signs import speed_sign

Node = tuple[int, int]  # column, row

_X_M = (0.0, 110.0, 215.0, 335.0, 425.0, 545.0)  # x of the columns
_Y_M = (0.0, 95.0, 200.0, 290.0, 400.0)  # y of the rows
_COLUMN_Z_M = (0.0, 0.0, 0.0, 2.0, 3.2, 2.2)
_ROW_Z_M = (0.0, 0.0, 0.0, 1.2, 0.0)
_ARTERIAL_COLUMN, _ARTERIAL_ROW = 2, 2
_CORNER_M = 22.0
_MISSING = {((3, 3), (3, 4))}  # left out: a long block with a T-junction on one side

ARTERIAL = Profile(lanes=2, lane_m=3.5, centre="solid solid", pavement_m=3.0)
STREET = Profile(lanes=1, lane_m=3.5, centre="broken")
LANE = Profile(lanes=1, lane_m=3.5, centre="solid", pavement_m=2.0)

_CONTROLS = {
    (2, 2): "lights_split", (1, 1): "lights", (2, 1): "lights", (3, 1): "lights", (1, 2): "lights",
    (3, 2): "lights", (4, 2): "lights", (2, 3): "lights", (4, 3): "lights",
    (2, 0): "lights", (2, 4): "lights", (0, 2): "lights", (5, 2): "lights",
    (1, 3): "all_stop", (3, 3): "stop", (1, 0): "yield", (4, 0): "stop", (3, 0): "stop", (0, 1): "stop",
    (0, 3): "yield", (5, 1): "yield", (5, 3): "stop", (1, 4): "stop", (4, 4): "yield",
}  # fmt: skip
_ROUNDABOUT: Node = (4, 1)
_SWINGS: dict[tuple[Node, Node], float] = {  # streets that bow to the left by this many metres
    ((2, 0), (3, 0)): -6.0, ((0, 1), (0, 2)): 6.0, ((1, 3), (1, 4)): 6.0, ((4, 2), (5, 2)): 6.0,
}  # fmt: skip


def build() -> Town:
    """Build the town; the result is the same each time."""
    town = TownBuilder(Town("city_grid", 49.0, 8.4))
    neighbours = _neighbours()
    junctions = sorted(n for n, others in neighbours.items() if len(others) > 2)
    arms: dict[Node, list[Arm]] = {n: [] for n in junctions}
    for chain in _chains(neighbours, junctions):
        road, profile = _street(town, chain)
        arms[chain[0]].append(Arm(road, "start", profile))
        arms[chain[-1]].append(Arm(road, "end", profile))
    for node in junctions:
        name = f"node {node[0]} {node[1]}"
        if node == _ROUNDABOUT:
            roundabout(town, name, _X_M[node[0]], _Y_M[node[1]], _z(node), arms[node])
        else:
            cross(town, name, arms[node], _control(node, arms[node]))
    return town.town


def _control(node: Node, arms: Sequence[Arm]) -> Control:
    """Control of a junction with the arms that get signs.

    At a T-junction these are the side street, at a four-way crossing the street along x.
    """
    if len(arms) == 4:
        minor = [i for i, arm in enumerate(arms) if abs(math.sin(arm.into.heading_rad)) < 0.5]
    else:
        minor = [
            i for i, arm in enumerate(arms)
            if all(abs(turn_of(arm, other)) > 0.5 for other in arms if other is not arm)
        ]  # fmt: skip
    return Control(_CONTROLS[node], tuple(minor))


def _neighbours() -> dict[Node, list[Node]]:
    columns, rows = len(_X_M), len(_Y_M)
    near: dict[Node, list[Node]] = {(i, j): [] for i in range(columns) for j in range(rows)}
    for i, j in near:
        for other in ((i + 1, j), (i, j + 1)):
            if other in near and ((i, j), other) not in _MISSING:
                near[i, j].append(other)
                near[other].append((i, j))
    return near


def _chains(neighbours: dict[Node, list[Node]], junctions: Sequence[Node]) -> list[list[Node]]:
    """Every street once, as its nodes from one junction to the next."""
    chains: list[list[Node]] = []
    taken: set[tuple[Node, Node]] = set()
    for start in junctions:
        for first in neighbours[start]:
            if (start, first) in taken:
                continue
            chain = [start, first]
            while chain[-1] not in junctions:
                chain.append(next(n for n in neighbours[chain[-1]] if n != chain[-2]))
            taken |= {(start, first), (chain[-1], chain[-2])}
            chains.append(chain)
    return chains


def _z(node: Node) -> float:
    return _COLUMN_Z_M[node[0]] + _ROW_Z_M[node[1]]


def _lanes_of(a: Node, b: Node) -> Profile:
    """Profile of a street. It belongs to the whole row or column, so that it goes straight across each junction."""
    if a[1] == b[1]:
        return ARTERIAL if a[1] == _ARTERIAL_ROW else STREET
    return ARTERIAL if a[0] == _ARTERIAL_COLUMN else (LANE if a[0] in (1, 4) else STREET)


def _setback(node: Node, other: Node) -> float:
    """Distance between the node's middle and the end of the street from `other`, m."""
    if node == _ROUNDABOUT:
        return REACH_M
    crosses_arterial = node[0] == _ARTERIAL_COLUMN if node[1] == other[1] else node[1] == _ARTERIAL_ROW
    return STRAIGHT_M + CORNER_RADIUS_M + (ARTERIAL.lane_m if crosses_arterial else 0.0)


def _street(town: TownBuilder, chain: Sequence[Node]) -> tuple[Road, Profile]:
    profile = _lanes_of(chain[0], chain[1])
    alignment = _alignment(chain)
    kmh = {ARTERIAL: 50.0, STREET: 40.0, LANE: 30.0}[profile]
    elevation = hermite(alignment.length_m, _z(chain[0]), _z(chain[-1]))
    road = town.street(f"{chain[0]} to {chain[-1]}", alignment, profile, kmh, elevation)
    edge = profile.half_m
    speed_sign(town, road, 14.0, edge, kmh, profile.lanes)
    speed_sign(town, road, alignment.length_m - 14.0, edge, kmh, profile.lanes, left=True)
    return road, profile


def _alignment(chain: Sequence[Node]) -> Alignment:
    corners = [Corner(_X_M[i], _Y_M[j], _CORNER_M) for i, j in chain]
    if len(chain) == 2 and (chain[0], chain[1]) in _SWINGS:
        corners[1:1] = _swing(corners[0], corners[1], _SWINGS[chain[0], chain[1]])
    whole = through(corners)
    return whole.between(_setback(chain[0], chain[1]), whole.length_m - _setback(chain[-1], chain[-2]))


def _swing(a: Corner, b: Corner, left_m: float) -> list[Corner]:
    """Three corners that bend a straight street `left_m` to the left in its middle, and back."""
    dx, dy = b.x - a.x, b.y - a.y
    length = math.hypot(dx, dy)
    aside = (-dy / length * left_m, dx / length * left_m)
    shares = ((0.23, 0.0), (0.5, 1.0), (0.77, 0.0))
    return [Corner(a.x + u * dx + v * aside[0], a.y + u * dy + v * aside[1], 60.0) for u, v in shares]
