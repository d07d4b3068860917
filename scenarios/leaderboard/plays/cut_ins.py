"""Cars that pull out, or change lanes, just before the ego.

Times, speeds and distances are those of scenario_runner v0.9.16.
"""

from __future__ import annotations

from av_core.errors import RouteError
from scenarios.leaderboard.plays.play import BEGIN, Play, Values, begin, end, gone, side_of, since, soon_at
from scenarios.leaderboard.plays.site import Site

PULL_OUT_AT_M, HIDDEN_BY_M = 35.0, 28.0
PULL_OUT_MPS, PULL_OUT_M = 20.0 / 3.6, 30.0

PULL_AWAY_MPS2 = 3.5
"""Acceleration of a car that CARLA's BasicAgent drives, at its largest throttle of 0.75."""

QUEUE_GAP_M, QUEUE_AHEAD, QUEUE_BEHIND = 11.0, 3, 2

SPACE_M = 10.0
"""Background traffic on the ego's lane is removed up to this distance behind the parked car."""

PULL_OUT_SPACE_M = 20.0
"""Additional distance of the background traffic ahead while a parked car pulls out between it and the ego."""

QUEUE_SPACE_M = 30.0
"""The same distance for a car that turns out of a queue."""

USUAL_SPACE = {"traffic_ahead": {"space_m": 0.0}}


def pulls_out(site: Site, values: Values) -> Play:
    """A car at the kerb, hidden behind another one, drives into the ego's lane and 30 m along it."""
    side = side_of(values)
    offset = side * site.parking_m(PULL_OUT_AT_M, side)
    actors = {
        "blocker": {"blueprint": "vehicle.nissan.patrol", "place": site.place(HIDDEN_BY_M, offset)},
        "cutter": {"blueprint": "vehicle.seat.leon", "place": site.place(PULL_OUT_AT_M, offset)},
    }
    way = [site.place(PULL_OUT_AT_M + 6.0, 0.5 * offset), site.place(PULL_OUT_AT_M + 12.0)]
    way += [site.place(PULL_OUT_AT_M + 20.0), site.place(PULL_OUT_AT_M + PULL_OUT_M)]
    drive = {"drive": {"actor": "cutter", "through": way, "speed_mps": PULL_OUT_MPS}}
    passed = {"passed": {"actor": "cutter", "by_m": 10.0}}
    space = {"traffic_ahead": {"space_m": PULL_OUT_SPACE_M}}
    events = [
        begin(site, [{"leave_space": {"within_m": PULL_OUT_AT_M + SPACE_M}}]),
        {"name": "pull_out", "when": since(BEGIN, soon_at({"actor": "cutter"}, 2.35, 10.0)), "do": [space, drive]},
        end({"any": [passed, {"after": {"event": "pull_out", "delay_s": 15.0}}]}, [*gone(actors), USUAL_SPACE]),
    ]
    return Play({"actors": actors, "events": events})


def out_of_a_queue(site: Site, values: Values) -> Play:
    """A car turns sharply out of a queue that stands in the next lane, and drives on at the ego's speed."""
    at, side = values["distance"], side_of(values)
    if not site.has_lane_beside(at, side):
        raise RouteError(f"there is no lane of the ego's direction to the {values['direction']} {at:.0f} m on")
    offset = side * 2.0 * site.half_lane_m(at)
    names = {
        "cutter" if i == 0 else f"queue_{i + QUEUE_BEHIND}": at + QUEUE_GAP_M * i
        for i in range(-QUEUE_BEHIND, QUEUE_AHEAD + 1)
    }
    actors = {
        name: {"blueprint": "vehicle.seat.leon", "place": site.place(where, offset)} for name, where in names.items()
    }
    way = [site.place(at + 3.0, 0.5 * offset)] + [site.place(at + ahead_m) for ahead_m in (7.0, 30.0, 60.0)]
    change = {
        "drive": {
            "actor": "cutter",
            "through": way,
            "ego_share": 1.0,
            "fixed": True,
            "acceleration_mps2": PULL_AWAY_MPS2,
        }
    }
    space = {"traffic_ahead": {"space_m": QUEUE_SPACE_M}}
    closed, open_again = ({"lane_traffic": {"comes": comes, "side": values["direction"]}} for comes in (False, True))
    on = {"follow_lane": {"actor": "cutter", "speed_mps": 60.0 / 3.6, "yields": True}}
    events = [
        begin(site, [{"leave_space": {"within_m": at + QUEUE_GAP_M * (QUEUE_BEHIND + QUEUE_AHEAD + 1)}}]),
        {
            "name": "change",
            "when": since(BEGIN, soon_at({"actor": "cutter"}, 2.7, 15.0)),
            "do": [space, closed, change],
        },
        {"name": "on", "when": {"after": {"event": "change", "delay_s": 3.0}}, "do": [on]},
        end({"after": {"event": "change", "delay_s": 10.0}}, [*gone(actors), USUAL_SPACE, open_again]),
    ]
    return Play({"actors": actors, "events": events})
