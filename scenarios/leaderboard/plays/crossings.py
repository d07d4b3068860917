"""Walkers who step into the road before the ego.

Times, speeds and distances are those of scenario_runner v0.9.16.
"""

from __future__ import annotations

from typing import Any

from scenarios.leaderboard.plays.play import (
    AT_ONCE_MPS2,
    BEGIN,
    END,
    Play,
    Values,
    begin,
    end,
    gone,
    side_of,
    since,
    soon_at,
)
from scenarios.leaderboard.plays.site import Site

WALK_MPS = 2.0
WALKER = "walker.pedestrian.0015"

DRIVE_ON_M = 40.0
"""Distance that the ego drives after the walk until the scenario ends."""

CLOSE_M = 6.0
"""A walker starts at the latest when the ego is this near, however slow it is."""

SECONDS_PER_5_DEG = 0.1
"""Time by which a walk starts earlier for each 5 degrees of its angle to the road, because it takes longer."""

SPACE_M = 10.0
"""Background traffic on the ego's lane is removed up to this distance behind the object that hides the walker."""

BEHIND_M = 0.5
"""Distance of a walker behind the object that hides him."""

HALF_LENGTHS_M = {
    "static.prop.vendingmachine": 0.44,
    "static.prop.foodcart": 1.14,
    "static.prop.container": 0.97,
    "static.prop.busstoplb": 0.95,
}
"""Half the length of the objects that may hide a walker, by blueprint, as a CARLA server reports it."""

OTHER_HALF_M = 1.0
"""Assumed half length of all other objects."""

PARKED, PARKED_HALF_M = "vehicle.nissan.patrol", 2.3
PARKED_WALK_M = 8.0


def behind_object(site: Site, values: Values) -> Play:
    """A walker behind an object, both in the middle of the pavement."""
    at, side, model = values["distance"], side_of(values), values["blocker_model"]
    offset = site.pavement_m(at, side)
    turn_deg = 0.0 if model.startswith("vehicle") else -90.0
    actors = {
        "walker": _walker(site, values, at + HALF_LENGTHS_M.get(model, OTHER_HALF_M) + BEHIND_M, offset),
        "blocker": {"blueprint": model, "place": site.place(at, side * offset, turn_deg)},
    }
    space = {"crossing_space": {"place": site.place(at, 2.0 * site.half_lane_m(at))}}
    return _crossing(site, values, actors, at, 2.1, 2.0 * offset, [space])


def behind_parked_car(site: Site, values: Values) -> Play:
    """A walker behind a parked car, both a lane's width beside the ego's lane."""
    at, side = values["distance"], side_of(values)
    offset = 2.0 * site.half_lane_m(at)
    walker_m = at + PARKED_HALF_M + BEHIND_M
    actors = {
        "walker": _walker(site, values, walker_m, offset),
        "blocker": {"blueprint": PARKED, "place": site.place(at, side * offset)},
    }
    return _crossing(site, values, actors, walker_m, 2.15, PARKED_WALK_M, [])


def _walker(site: Site, values: Values, ahead_m: float, offset_m: float) -> dict[str, Any]:
    side = side_of(values)
    return {
        "blueprint": WALKER,
        "place": site.place(ahead_m, side * offset_m, -side * (90.0 + values["crossing_angle"])),
    }


def _crossing(
    site: Site,
    values: Values,
    actors: dict[str, Any],
    meeting_m: float,
    before_s: float,
    distance_m: float,
    first: list[dict[str, Any]],
) -> Play:
    """The script of a walker who crosses the road; `actors` are the walker and the object that hides him.

    The walk starts when the ego would reach `meeting_m` in `before_s`, or when it is nearer than `CLOSE_M`. The walk is
    `distance_m` long. The actions `first` are done right before it.
    """
    start_s = before_s + SECONDS_PER_5_DEG * (values["crossing_angle"] // 5.0)
    walk = {
        "cross": {"actor": "walker", "speed_mps": WALK_MPS, "distance_m": distance_m, "acceleration_mps2": AT_ONCE_MPS2}
    }
    soon = since(BEGIN, soon_at({"place": site.place(meeting_m)}, start_s, CLOSE_M))
    walked = {"after": {"event": "walk", "delay_s": distance_m / WALK_MPS}}
    events = [
        begin(site, [{"leave_space": {"within_m": values["distance"] + SPACE_M}}]),
        {"name": "walk", "when": soon, "until": END, "do": [*first, walk]},
        {"name": "walked", "when": walked, "do": gone(actors)},
        end({"driven": {"event": "walked", "by_m": DRIVE_ON_M}}, []),
    ]
    return Play({"actors": actors, "events": events})
