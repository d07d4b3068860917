"""The ego itself: noise on its commands, traffic ahead that brakes, a start between parked cars.

Times, speeds and distances are those of scenario_runner v0.9.16.
"""

from __future__ import annotations

from typing import Any

from scenarios.leaderboard.plays.lane_walk import walk_back
from scenarios.leaderboard.plays.play import BEGIN, CARS, END, Play, Values, begin, end, gone, side_of, since
from scenarios.leaderboard.plays.site import Site, on_map

DEBRIS_M = (14.0, 48.0, 74.0)
DEBRIS_WITHIN_M = 2.0
NOISE = {"throttle": {"mean": 0.03, "deviation": 0.01}, "steer": {"mean": 0.055, "deviation": 0.015}}
LOST_M = 110.0
"""Distance from the trigger, along the route, at which the scenario with debris ends."""

STOPPED_S, GO_ON_M = 10.0, 15.0

SIDE_M = 50.0
"""Distance after which the car that drives past the ego's parking place is removed."""

PAST_FRONT_M = 15.0
"""The ego has left its parking place when it is this far past the car parked in front of it."""

STREAM_BEFORE_M, STREAM_AFTER_M = 80.0, 100.0
STREAM_GAP_SHARE = 1.4
"""The largest gap of the stream, as a multiple of the smallest."""


def control_loss(site: Site, values: Values) -> Play:
    """Debris on the road; near each piece, noise is added to the ego's throttle and steering."""
    actors = {
        f"debris_{number}": {"blueprint": "static.prop.dirtdebris01", "place": site.place(at)}
        for number, at in enumerate(DEBRIS_M)
    }
    events: list[dict[str, Any]] = [begin(site)]
    for number, at in enumerate(DEBRIS_M):
        place, slip = {"place": site.place(at)}, f"slip_{number}"
        near = since(BEGIN, {"distance": {**place, "below_m": DEBRIS_WITHIN_M}})
        far = since(slip, {"distance": {**place, "above_m": DEBRIS_WITHIN_M}})
        events.append({"name": slip, "when": near, "until": END, "do": [{"disturb": NOISE}]})
        events.append({"name": f"grip_{number}", "when": far, "do": [{"end_disturbance": {}}]})
    events.append(end({"route_m": site.trigger_m + LOST_M}, [{"end_disturbance": {}}, *gone(actors)]))
    return Play({"actors": actors, "events": events})


def hard_brake(site: Site, values: Values) -> Play:
    """The background traffic ahead brakes to a stop, and drives on after 10 s."""
    go_on = {"after": {"event": BEGIN, "delay_s": STOPPED_S}}
    events = [
        begin(site, [{"stop_traffic": {}}]),
        {"name": "go_on", "when": go_on, "do": [{"start_traffic": {}}]},
        end({"driven": {"event": "go_on", "by_m": GO_ON_M}}, []),
    ]
    return Play({"events": events})


def parking_exit(site: Site, values: Values) -> Play:
    """The ego starts between two parked cars, and has to merge into a lane with traffic."""
    side, front_m = side_of(values), values["front_vehicle_distance"]
    behind = walk_back(site.graph, site.spot(0.0), values["behind_vehicle_distance"], through_junctions=True)
    start = walk_back(site.graph, site.spot(0.0), STREAM_BEFORE_M, through_junctions=True)
    stop = site.spot_ahead(site.spot(0.0), STREAM_AFTER_M)
    offset = side * site.parking_m(0.0, side)
    actors = {
        "front": {"blueprint": "vehicle.dodge.charger_2020", "place": site.place(front_m, offset)},
        "behind": {"blueprint": "vehicle.mini.cooper_s_2021", "place": on_map(behind.beside(offset))},
        "beside": {"blueprint": "vehicle.lincoln.mkz_2020", "place": site.place(0.0)},
    }
    gap_m = max(values["flow_distance"], 8.0)
    flow = {
        "start": on_map(start.pose),
        "end": on_map(stop.pose),
        "speed_mps": site.limit_mps(),
        "gap_m": [gap_m, STREAM_GAP_SHARE * gap_m],
        "blueprints": list(CARS),
        "yields": "always",
        "clears": True,
    }
    away = {"driven": {"of": "beside", "event": BEGIN, "by_m": SIDE_M}}
    events = [
        begin(site, [{"follow_lane": {"actor": "beside", "speed_mps": site.limit_mps(), "yields": True}}]),
        {"name": "away", "when": away, "do": [{"despawn": "beside"}]},
        end({"route_m": site.trigger_m + front_m + PAST_FRONT_M}, [*gone(actors), {"clear_flow": "stream"}]),
    ]
    events[0]["do"].append({"start_flow": "stream"})
    script = {"actors": actors, "flows": {"stream": flow}, "events": events, "ego_place": site.place(0.0, offset)}
    return Play(script)
