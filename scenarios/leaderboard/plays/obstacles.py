"""Obstacles in the ego's lane: accidents, parked cars, road works, slow bicycles, a door that opens.

Distances and offsets are those of scenario_runner v0.9.16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scenarios.leaderboard.plays.play import BEGIN, CARS, END, Play, Values, begin, end, gone, side_of, since, soon_at
from scenarios.leaderboard.plays.site import Site

NEAR_M = 50.0
"""The ego is near the obstacle from this distance on."""

DOOR_HALF_WIDTH_M = 0.94
"""Half the width of the parked car with the door."""

DOOR_SPACE_M = 20.0
"""The background traffic up to so far behind the car with the door goes: the simulator's traffic sees no open doors."""

PASSED_M = 50.0
"""The scenario ends when the ego has passed the obstacle by this distance."""

FLOW_AFTER_S = 5.0
"""Oncoming traffic starts, or traffic of the ego's direction slows down, so long after the ego has come near."""

FLOW_MIN_M, FLOW_M_PER_KMH = 30.0, 1.5
"""Oncoming traffic starts and ends at the first distance plus the second times its speed from the obstacle."""


def accident(site: Site, values: Values) -> Play:
    """A police car with its beacons on, and two crashed cars 10 m and 16 m behind it."""
    start = values["distance"]
    offset = 0.6 * side_of(values) * site.half_lane_m(start)
    actors = {
        "police": {"blueprint": "vehicle.dodge.charger_police_2020", "place": site.place(start, offset)},
        "first": {"blueprint": "vehicle.audi.tt", "place": site.place(start + 10.0, offset)},
        "second": {"blueprint": "vehicle.seat.leon", "place": site.place(start + 16.0, offset)},
        "sign": {"blueprint": "static.prop.trafficwarning", "place": site.place(0.0, _kerb(site, 0.0))},
    }
    return _obstacle(site, actors, "police", "second", [{"lights": {"actor": "police", "emergency": True}}])


def parked(site: Site, values: Values) -> Play:
    """A badly parked car with its hazard lights on."""
    start = values["distance"]
    offset = 0.7 * side_of(values) * site.half_lane_m(start)
    actors = {
        "parked": {"blueprint": "vehicle.seat.leon", "place": site.place(start, offset)},
        "sign": {"blueprint": "static.prop.trafficwarning", "place": site.place(0.0, _kerb(site, 0.0))},
    }
    return _obstacle(site, actors, "parked", "parked", [{"lights": {"actor": "parked", "hazard": True}}])


def construction(site: Site, values: Values) -> Play:
    """A warning sign, and behind it cones around debris: four every 2 m along the lane, three every 1 m across."""
    start, side = values["distance"], side_of(values)
    half = site.half_lane_m(start)
    actors = {
        "sign": {"blueprint": "static.prop.trafficwarning", "place": site.place(start - 5.0, side * 0.5 * half)},
        "debris": {"blueprint": "static.prop.dirtdebris02", "place": site.place(start + 3.0, side * 0.4 * half)},
    }
    rows = [(2.0 * i, 0.1) for i in range(4)] + [(0.0, 0.1 + 1.0 * i / half) for i in range(1, 3)]
    rows += [(6.0, 0.1 + 1.0 * i / half) for i in range(1, 3)]
    for number, (along, share) in enumerate(rows):
        place = site.place(start + along, side * (share - 0.3) * half)
        actors[f"cone_{number}"] = {"blueprint": "static.prop.constructioncone", "place": place}
    return _obstacle(site, actors, "sign", "cone_3", [])


def bicycles(site: Site, values: Values) -> Play:
    """Two bicycles, 9 m apart, that ride at the right edge of the lane and then stop."""
    start = values["distance"]
    offset = -0.55 * site.half_lane_m(start)
    names = {"first": start + 9.0, "second": start}
    actors = {
        name: {"blueprint": "vehicle.diamondback.century", "place": site.place(at, offset)}
        for name, at in names.items()
    }
    end = values["bicycle_drive_distance"]
    ride = [
        {
            "drive": {
                "actor": name,
                "through": [site.place(at + 0.1 * part * end, offset) for part in range(1, 11)],
                "speed_mps": values["bicycle_speed"] / 3.6,
            }
        }
        for name, at in names.items()
    ]
    return _obstacle(site, actors, "second", "first", ride)


def door(site: Site, values: Values) -> Play:
    """A car parked at the kerb, which opens the door on the side of the traffic just before the ego comes."""
    start, side = values["distance"], side_of(values)
    offset = side * site.beside_traffic_m(start, side, DOOR_HALF_WIDTH_M)
    actors = {"parked": {"blueprint": "vehicle.dodge.charger_2020", "place": site.place(start, offset)}}
    opened = {"open_door": {"actor": "parked", "door": "front_left" if side < 0.0 else "front_right"}}
    play = _obstacle(site, actors, "parked", "parked", [{"leave_space": {"within_m": start + DOOR_SPACE_M}}])
    soon = since(BEGIN, soon_at({"actor": "parked"}, 3.0, 10.0))
    play.script["events"].insert(1, {"name": "door", "when": soon, "do": [opened, {"stop_traffic": {"behind": True}}]})
    play.script["events"][-1]["do"].append({"start_traffic": {}})
    return play


def one_way(obstacle: Callable[[Site, Values], Play]) -> Callable[[Site, Values], Play]:
    """The same obstacle where a lane in the ego's direction is free, and its traffic slows down."""

    def play(site: Site, values: Values) -> Play:
        made = obstacle(site, values)
        slow = {
            "name": "slow",
            "when": {"after": {"event": "near", "delay_s": FLOW_AFTER_S}},
            "until": END,
            "do": [{"cap_traffic": {"speed_mps": values["speed"] / 3.6}}],
        }
        made.script["events"].insert(-1, slow)
        made.script["events"][-1]["do"].append({"cap_traffic": {}})
        return made

    return play


def two_ways(obstacle: Callable[[Site, Values], Play]) -> Callable[[Site, Values], Play]:
    """The same obstacle where the way round leads through the oncoming lane, on which cars come."""

    def play(site: Site, values: Values) -> Play:
        made = obstacle(site, values)
        at, limit_mps = values["distance"], site.limit_mps()
        reach = FLOW_MIN_M + FLOW_M_PER_KMH * 3.6 * limit_mps
        ahead = min(reach, site.free_of_junctions_m(at, back=False))
        behind = min(reach, site.free_of_junctions_m(at, back=True))
        gap = values["frequency"]
        made.script["flows"] = {
            "oncoming": {
                "start": site.oncoming(at + ahead),
                "end": site.oncoming(at - behind),
                "speed_mps": limit_mps,
                "gap_m": list(gap) if isinstance(gap, tuple) else [gap, gap],
                "blueprints": list(CARS),
                "yields": "always",
                "clears": True,
            }
        }
        start = {
            "name": "flow",
            "when": {"after": {"event": "near", "delay_s": FLOW_AFTER_S}},
            "until": END,
            "do": [{"start_flow": "oncoming"}],
        }
        made.script["events"].insert(-1, start)
        made.script["events"][-1]["do"].append({"clear_flow": "oncoming"})
        return Play(made.script, {**made.part, "allows_oncoming_lane": True})

    return play


def _kerb(site: Site, ahead_m: float) -> float:
    """Offset of something that stands at the right edge of the road."""
    return -(site.pavement_m(ahead_m, -1.0) - 0.4)


def _obstacle(site: Site, actors: dict[str, Any], first: str, last: str, at_start: list[dict[str, Any]]) -> Play:
    """The events of an obstacle that begins with one actor and ends with another."""
    near = since(BEGIN, {"distance": {"actor": first, "below_m": NEAR_M}})
    events = [
        begin(site, at_start),
        {"name": "near", "when": near, "do": []},
        end({"passed": {"actor": last, "by_m": PASSED_M}}, gone(actors)),
    ]
    return Play({"actors": actors, "events": events})
