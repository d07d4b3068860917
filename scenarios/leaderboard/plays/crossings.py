"""Walkers who step into the road before the ego.

Times, speeds and distances are those of scenario_runner v0.9.16.
"""

from __future__ import annotations

from typing import Any

from scenarios.leaderboard.plays.play import (
    AT_ONCE_MPS2,
    BEGIN,
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

PASSED_M = 20.0
"""The scenario ends when the ego is so far past the place of the walk."""

CLOSE_M = 6.0
"""A walker starts at this distance at the latest, however slow the ego is."""

SECONDS_PER_5_DEG = 0.1
"""A walk at an angle takes longer: by this time for each 5 degrees."""


def behind_object(site: Site, values: Values) -> Play:
    """A walker behind an object on the pavement."""
    at, side = values["distance"], side_of(values)
    offset = side * site.pavement_m(at, side)
    blocker = {"blueprint": values["blocker_model"], "place": site.place(at - 1.5, offset)}
    return _crossing(site, values, offset, blocker, 2.1, offset * side + site.pavement_m(at, -side))


def behind_parked_car(site: Site, values: Values) -> Play:
    """A walker behind a car that is parked at the kerb."""
    at, side = values["distance"], side_of(values)
    offset = side * site.pavement_m(at, side)
    parked = site.place(at - 3.5, side * site.parking_m(at - 3.5, side))
    blocker = {"blueprint": "vehicle.nissan.patrol", "place": parked}
    return _crossing(site, values, offset, blocker, 2.15, 8.0)


def _crossing(
    site: Site, values: Values, offset: float, blocker: dict[str, Any], before_s: float, distance_m: float
) -> Play:
    """The walker goes across the road once the ego would be there in `before_s`, or is very close."""
    at, side, angle = values["distance"], side_of(values), values["crossing_angle"]
    walker = {"blueprint": WALKER, "place": site.place(at, offset, -side * (90.0 + angle))}
    start_s = before_s + SECONDS_PER_5_DEG * (angle // 5.0)
    walk = {
        "cross": {"actor": "walker", "speed_mps": WALK_MPS, "distance_m": distance_m, "acceleration_mps2": AT_ONCE_MPS2}
    }
    actors = {"walker": walker, "blocker": blocker}
    soon = since(BEGIN, soon_at({"place": site.place(at)}, start_s, CLOSE_M))
    events = [
        begin(site),
        {"name": "walk", "when": soon, "do": [walk]},
        end({"route_m": site.trigger_m + at + PASSED_M}, gone(actors)),
    ]
    return Play({"actors": actors, "events": events})
