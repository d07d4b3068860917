"""Finds places for a type of scenario on a map: `find_places` gives routes with one scenario each, or a reason."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from av_core.errors import ConfigError
from av_core.suggest import did_you_mean
from av_core.types import LaneGraph
from scenarios.leaderboard.placing.junctions import junction_places
from scenarios.leaderboard.placing.merges import merge_places
from scenarios.leaderboard.placing.needs import (
    Candidate,
    ChangeNeeds,
    JunctionNeeds,
    MergeNeeds,
    Missing,
    Option,
    StretchNeeds,
)
from scenarios.leaderboard.placing.roads import RoadView
from scenarios.leaderboard.placing.stretches import lane_changes, stretches
from scenarios.leaderboard.placing.table import NEEDS
from scenarios.leaderboard.placing.verify import Placed, route_of, verified
from scenarios.leaderboard.routes import LeaderboardRoute

POOL = 40
"""Largest number of candidates from which the places are chosen."""

APART_MIN_M = 30.0
"""Least distance between the triggers of two places of one type."""


@dataclass(frozen=True, slots=True)
class Places:
    """The places that were found for a scenario type on a map: routes with their planned lengths.

    If there is none, `refusal` is a sentence that says why, and `lacks` names what the map lacks; else both are empty.
    """

    type_name: str
    map_name: str
    routes: tuple[LeaderboardRoute, ...]
    lengths_m: tuple[float, ...]
    refusal: str = ""
    lacks: str = ""


def check_type(type_name: str) -> None:
    """Raise ConfigError for a type that does not exist."""
    if type_name not in NEEDS:
        raise ConfigError(
            f"unknown type {type_name!r:.80}{did_you_mean(type_name, tuple(NEEDS))}; `av-stack scenarios types` lists "
            "them all"
        )


def find_places(type_name: str, graph: LaneGraph, seed: int, count: int) -> Places:
    """Up to `count` places, spread over the map; the same for the same seed.

    Raises ConfigError for a type that does not exist.
    """
    check_type(type_name)
    view = RoadView(graph)
    rng = np.random.default_rng([seed, zlib.crc32(type_name.encode())])
    options = _options(view, type_name, rng)
    missing: Counter[Missing] = Counter()
    wrong: Counter[str] = Counter()
    chosen: list[Placed] = []
    while len(chosen) < count and (pool := _draw(options, missing)):
        while pool and len(chosen) < count:
            candidate = pool.pop(_farthest(view, pool, chosen))
            found = verified(graph, route_of(view, type_name, candidate, len(chosen) + 1), candidate.way.length_m)
            if isinstance(found, str):
                wrong[found] += 1
            elif _is_apart(found, chosen):
                chosen.append(found)
    routes, lengths_m = tuple(placed.route for placed in chosen), tuple(placed.length_m for placed in chosen)
    if routes:
        return Places(type_name, graph.name, routes, lengths_m)
    lacks, refusal = _refusal(type_name, graph.name, missing, wrong)
    return Places(type_name, graph.name, (), (), refusal, lacks)


def _draw(options: Iterator[Option], missing: Counter[Missing]) -> list[Candidate]:
    """The next candidates, at most `POOL`; adds to `missing` the needs that the other options fail."""
    pool: list[Candidate] = []
    for option in options:
        if isinstance(option, Missing):
            missing[option] += 1
        else:
            pool.append(option)
            if len(pool) >= POOL:
                break
    return pool


def _options(view: RoadView, type_name: str, rng: np.random.Generator) -> Iterator[Option]:
    needs = NEEDS[type_name]
    if isinstance(needs, StretchNeeds):
        return stretches(view, needs, rng)
    if isinstance(needs, ChangeNeeds):
        return lane_changes(view, needs, rng)
    if isinstance(needs, JunctionNeeds):
        return junction_places(view, needs, rng)
    assert isinstance(needs, MergeNeeds)
    return merge_places(view, needs, rng)


def _farthest(view: RoadView, pool: list[Candidate], chosen: list[Placed]) -> int:
    """The candidate that is farthest from all chosen places; the first where there are none."""
    taken = [(p.route.scenarios[0].trigger.x_m, -p.route.scenarios[0].trigger.y_m) for p in chosen]
    if not taken:
        return 0
    poses = [candidate.way.pose(view, candidate.trigger_m) for candidate in pool]
    nearest_m = [min(math.hypot(pose.x_m - x, pose.y_m - y) for x, y in taken) for pose in poses]
    return int(np.argmax(nearest_m))


def _is_apart(placed: Placed, chosen: list[Placed]) -> bool:
    here = placed.route.scenarios[0].trigger
    others = [other.route.scenarios[0].trigger for other in chosen]
    return all(math.hypot(here.x_m - o.x_m, here.y_m - o.y_m) >= APART_MIN_M for o in others)


_WHERE = {StretchNeeds: "road", ChangeNeeds: "road", JunctionNeeds: "junction", MergeNeeds: "road"}


def _refusal(type_name: str, map_name: str, missing: Counter[Missing], wrong: Counter[str]) -> tuple[str, str]:
    """(what the map lacks, a sentence about it).

    The map lacks the need that its best places fail. If places fulfil all needs, but `wrong` was found with them, the
    sentence names that.
    """
    if wrong:
        found = wrong.most_common(1)[0][0]
        return found, f"{map_name} has places for {type_name}, but {found}"
    needs = NEEDS[type_name]
    what = _WHERE[type(needs)]
    if not missing:
        return f"a {what}", f"{map_name} has no {what}; {type_name} needs one"
    closest = max(missing, key=lambda option: option.number).number
    words = [word for word in needs.words[: closest + 1] if word]
    listed = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    return f"a {what} with {listed}", f"{map_name} has no {what} with {listed}; {type_name} needs one"
