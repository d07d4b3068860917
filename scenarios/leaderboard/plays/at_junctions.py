"""Walkers and cyclists who cross at a junction.

Times, speeds and distances are those of scenario_runner v0.9.16.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from av_core.errors import RouteError
from av_core.types import Pose2D
from scenarios.leaderboard.plays.crossings import WALKER
from scenarios.leaderboard.plays.play import (
    AT_ONCE_MPS2,
    BEGIN,
    END,
    Play,
    Values,
    begin,
    end,
    gone,
    quiet_begin,
    since,
    soon_at,
)
from scenarios.leaderboard.plays.right_of_way import passed_junction, red_then_green, release
from scenarios.leaderboard.plays.site import Site, on_map, pose_of
from scenarios.leaderboard.plays.turns import GREEN_AFTER_S
from scenarios.script.cycle_ways import cycle_way

GROUP = ((0.4, 1.5), (1.0, 2.5), (1.6, 0.5))
"""Where the walkers of a group stand: ahead of and to the right of the first place on the pavement, m."""

GROUP_WAITS_S = (0.0, 1.5)
"""Smallest and largest waiting time of a walker of a group."""

GROUP_MPS = (1.3, 2.0)
"""Smallest and largest speed of a walker of a group."""

GROUP_WALKS = 2.3
"""Length of the walk of a group, as a multiple of the distance to the middle of the ego's lane."""

GROUP_BEFORE_S, GROUP_CLOSE_M, BEFORE_JUNCTION_M = 3.5, 12.0, 0.5

ACROSS_MPS, CLOSE_M, DRIVE_ON_M = 1.8, 6.0, 40.0
CYCLIST_M, CYCLIST_BEFORE_S = 11.0, 1.8
WALKER_M, WALKER_BEFORE_S = 0.5, 2.2

CYCLISTS = ("vehicle.bh.crossbike", "vehicle.diamondback.century", "vehicle.gazelle.omafiets")
CYCLISTS_END_M = 40.0
"""Distance behind the junction at which a stream of cyclists ends."""


def group(site: Site, values: Values) -> Play:
    """Three walkers cross before the junction, one shortly after another. Each is removed at the end of its walk."""
    at, rng = site.junction.entry_m - BEFORE_JUNCTION_M, site.rng
    pavement_m = site.pavement_m(at, -1.0)
    actors: dict[str, Any] = {}
    walks: list[dict[str, Any]] = []
    for number, (ahead_m, right_m) in enumerate(GROUP):
        name, offset = f"walker_{number}", pavement_m + right_m
        wait_s, speed_mps = float(rng.uniform(*GROUP_WAITS_S)), float(rng.uniform(*GROUP_MPS))
        actors[name] = {
            "blueprint": f"walker.pedestrian.00{15 + number}",
            "place": site.place(at + ahead_m, -offset, 90.0),
        }
        distance_m = GROUP_WALKS * float(np.hypot(ahead_m, offset))
        cross = _cross(name, speed_mps, distance_m)
        when = {"after": {"event": "soon", "delay_s": wait_s}}
        walked = {"after": {"event": f"walk_{number}", "delay_s": distance_m / speed_mps}}
        walks.append({"name": f"walk_{number}", "when": when, "until": END, "do": [cross]})
        walks.append({"name": f"walked_{number}", "when": walked, "until": END, "do": [{"despawn": name}]})
    soon = since(BEGIN, soon_at({"place": site.place(at)}, GROUP_BEFORE_S, GROUP_CLOSE_M))
    over = end({"driven": {"event": "soon", "by_m": DRIVE_ON_M}}, gone(actors))
    free = [{"leave_space": {"within_m": site.junction.entry_m}}]
    events = [begin(site, free), {"name": "soon", "when": soon, "do": []}, *walks, over]
    return Play({"actors": actors, "events": events})


def cyclist(site: Site, values: Values) -> Play:
    """A cyclist crosses behind the junction, from the right."""
    at = site.junction.exit_m + CYCLIST_M
    offset = site.pavement_m(at, -1.0)
    who = {"blueprint": "vehicle.diamondback.century", "place": site.place(at, -offset, 90.0)}
    return _crosses(site, at, who, 2.0 * offset, CYCLIST_BEFORE_S)


def walker(site: Site, values: Values) -> Play:
    """A walker crosses right behind the junction: from the right if the ego turns left there, else from the left."""
    at = site.junction.exit_m + WALKER_M
    side = -1.0 if site.junction.turn_rad > 0.0 else 1.0
    offset = site.pavement_m(at, side)
    who = {"blueprint": WALKER, "place": site.place(at, side * offset, -side * 90.0)}
    return _crosses(site, at, who, offset + site.pavement_m(at, -side), WALKER_BEFORE_S)


def bicycles(site: Site, values: Values) -> Play:
    """The ego turns across a bicycle lane; the cyclists on it give way to nobody."""
    way = cycle_way(site.graph, pose_of(values["start_actor_flow"]), "start_actor_flow")
    inside = np.flatnonzero(way.is_junction)
    behind = np.flatnonzero(~way.is_junction[inside[0] :]) if len(inside) else inside
    if len(behind) == 0:
        raise RouteError("the bicycle lane of start_actor_flow does not lead through a junction")
    end_m = float(way.curve.s_m[inside[0] + behind[0]]) + CYCLISTS_END_M
    flow = {
        "start": on_map(_pose(way.curve.pose_at(0.0))),
        "end": on_map(_pose(way.curve.pose_at(min(end_m, way.curve.length_m)))),
        "speed_mps": values["flow_speed"],
        "gap_m": list(values["source_dist_interval"]),
        "blueprints": list(CYCLISTS),
        "filled": "outside_junctions",
        "lane": "cycle",
    }
    has_lights = bool(site.junction.other_lights(()))
    first, then = red_then_green(site) if has_lights else ([], [])
    green = {"after": {"event": BEGIN, "delay_s": GREEN_AFTER_S}}
    change = [{"name": "change", "when": green, "until": END, "do": then}] if then else []
    over = [{"clear_flow": "bicycles"}, *(release(site.junction) if has_lights else [])]
    start = quiet_begin(site, [*first, {"start_flow": "bicycles"}], others_wait=True)
    events = [start, *change, end(passed_junction(site), over)]
    return Play({"flows": {"bicycles": flow}, "events": events})


def _crosses(site: Site, at_m: float, who: dict[str, Any], distance_m: float, before_s: float) -> Play:
    """Someone crosses the road just before the ego comes, and is removed afterwards; the ego drives on."""
    soon = since(BEGIN, soon_at({"place": site.place(at_m)}, before_s, CLOSE_M))
    walk = _cross("crossing", ACROSS_MPS, distance_m)
    crossed = {"after": {"event": "cross", "delay_s": distance_m / ACROSS_MPS}}
    space = {"crossing_space": {"place": site.place(at_m, 2.0 * site.half_lane_m(at_m))}}
    events = [
        begin(site),
        {"name": "cross", "when": soon, "until": END, "do": [space, walk]},
        {"name": "crossed", "when": crossed, "do": [{"despawn": "crossing"}]},
        end({"driven": {"event": "crossed", "by_m": DRIVE_ON_M}}, []),
    ]
    return Play({"actors": {"crossing": who}, "events": events})


def _cross(name: str, speed_mps: float, distance_m: float) -> dict[str, Any]:
    return {
        "cross": {"actor": name, "speed_mps": speed_mps, "distance_m": distance_m, "acceleration_mps2": AT_ONCE_MPS2}
    }


def _pose(at: tuple[object, object, object]) -> Pose2D:
    x, y, yaw = (float(value) for value in at)  # type: ignore[arg-type]
    return Pose2D(x, y, yaw)
